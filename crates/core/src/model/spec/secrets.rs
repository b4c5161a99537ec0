//! The secrets of an update. The service replaces the whole set (control-plane reference §6), so existing secrets are sent
//! again, and removed ones are listed.

use super::DeploymentSpec;
use crate::model::Note;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

/// The secrets that an update sends.
#[derive(Default)]
pub(super) struct Merged {
    /// The whole new set; nothing where it would be the same.
    pub list: Option<Value>,
    /// What a person has to know of it.
    pub notes: Vec<Note>,
}

/// A list of secrets as it is sent.
pub(super) fn list(given: &[(String, SecretString)]) -> Value {
    given
        .iter()
        .map(|(name, value)| json!({"name": name, "value": value.expose_secret()}))
        .collect()
}

/// The set that the deployment has today, changed as it is wanted.
///
/// # Errors
/// Every reason why that cannot be sent.
pub(super) fn merge(
    spec: &DeploymentSpec,
    record: &Value,
    given: &[(String, SecretString)],
) -> Result<Merged, Vec<String>> {
    if given.is_empty() && spec.remove_secrets.is_empty() && !spec.replace_secrets {
        return Ok(Merged::default());
    }
    let today: Vec<(&str, Option<&str>)> = match &record["secrets"] {
        Value::Array(items) => items.iter().map(|item| (name(item), value(item))).collect(),
        _ if spec.replace_secrets => Vec::new(),
        _ => {
            let why = "the server doesn't list the existing secrets, so they can't be kept: give all of them, with replace_secrets";
            return Err(vec![why.to_string()]);
        }
    };
    let new_of = |name: &str| {
        let new = given.iter().find(|(other, _)| other == name);
        new.map(|(_, value)| value.expose_secret())
    };
    let old_of = |name: &str| today.iter().find(|(other, _)| *other == name);
    let mut wrong = Vec::new();
    for name in &spec.remove_secrets {
        if new_of(name).is_some() {
            let place = spec.document.place(&format!("secrets.{name}"));
            wrong.push(format!("{place}the secret {name} is both set and removed"));
        } else if old_of(name).is_none() {
            wrong.push(format!("there is no secret {name} to remove"));
        }
    }
    let goes =
        |name: &str| spec.replace_secrets || spec.remove_secrets.iter().any(|other| other == name);
    let (mut all, mut same) = (Vec::new(), 0);
    let [mut unreadable, mut removed, mut added, mut changed] = [const { Vec::<&str>::new() }; 4];
    // In the order of today, the new ones after them.
    for (name, old) in &today {
        let new = new_of(name);
        match (new, old) {
            (Some(_), _) => {}
            _ if goes(name) => {
                removed.push(*name);
                continue;
            }
            (None, None) => unreadable.push(*name),
            (None, Some(_)) => same += 1,
        }
        all.push(json!({"name": name, "value": new.or(*old)}));
    }
    for (name, new) in given {
        match old_of(name) {
            None => {
                added.push(name.as_str());
                all.push(json!({"name": name, "value": new.expose_secret()}));
            }
            Some((_, Some(old))) if *old == new.expose_secret() => same += 1,
            Some(_) => changed.push(name.as_str()),
        }
    }
    if !unreadable.is_empty() {
        wrong.push(format!(
            "the server doesn't return the values of {}, so they can't be kept in the new set: give all \
             secrets, with replace_secrets",
            unreadable.join(", ")
        ));
    }
    if all.is_empty() && !today.is_empty() {
        let why = "the last secret can't be removed: the service treats an empty list as no change";
        wrong.push(why.to_string());
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    if all.is_empty() || plain(&record["secrets"]) == *all {
        return Ok(Merged::default());
    }
    let mut notes = Vec::new();
    if !removed.is_empty() {
        let names = removed.join(", ");
        notes.push(Note::warning(format!(
            "These secrets are removed: {names}."
        )));
    }
    let mut parts: Vec<String> = [("added", added), ("changed", changed)]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what} {}", names.join(", ")))
        .collect();
    parts.extend((same > 0).then(|| format!("{same} unchanged")));
    notes.push(Note::fact(format!(
        "The whole set of secrets is sent: {}.",
        parts.join("; ")
    )));
    Ok(Merged {
        list: Some(all.into()),
        notes,
    })
}

fn name(item: &Value) -> &str {
    item["name"].as_str().unwrap_or_default()
}

/// The value of a secret, where the server really shows it. A mask that is taken for one would be stored in its place, so
/// whatever may be a mask counts as one.
fn value(item: &Value) -> Option<&str> {
    item["value"].as_str().filter(|value| !is_masked(value))
}

fn is_masked(value: &str) -> bool {
    let word = value
        .trim_matches(|c: char| "[]<>() ".contains(c))
        .to_lowercase();
    value.is_empty()
        || ["***", "•", "●", "…"]
            .iter()
            .any(|mark| value.contains(mark))
        || ["redacted", "hidden", "masked"].contains(&word.as_str())
        || value.chars().all(|c| "*xX".contains(c))
}

/// Secrets without what else the server says of them.
fn plain(secrets: &Value) -> Vec<Value> {
    let all = secrets.as_array().into_iter().flatten();
    all.map(|item| json!({"name": item["name"], "value": item["value"]}))
        .collect()
}
