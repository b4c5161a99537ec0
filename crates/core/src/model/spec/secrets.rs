//! The secrets of an update. The service replaces the whole set (control-plane reference §6), so existing secrets are sent
//! again, and removed ones are listed.

use super::DeploymentSpec;
use crate::model::Note;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

/// The secrets that an update sends.
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
    let mut wrong = Vec::new();
    if given.is_empty() && spec.remove_secrets.is_empty() && !spec.replace_secrets {
        return Ok(Merged {
            list: None,
            notes: Vec::new(),
        });
    }
    let today: Vec<(&str, Option<&str>)> = match &record["secrets"] {
        Value::Array(items) => items.iter().map(|item| (name(item), value(item))).collect(),
        _ if spec.replace_secrets => Vec::new(),
        _ => {
            wrong.push(
                "the server doesn't list the existing secrets, so they can't be kept: give all of them, with replace_secrets"
                    .to_string(),
            );
            return Err(wrong);
        }
    };
    let is_given = |name: &str| given.iter().any(|(other, _)| other == name);
    let place = |name: &str| spec.document.place(&format!("secrets.{name}"));
    for name in &spec.remove_secrets {
        if is_given(name) {
            wrong.push(format!(
                "{}the secret {name} is both set and removed",
                place(name)
            ));
        } else if !today.iter().any(|(other, _)| other == name) {
            wrong.push(format!("there is no secret {name} to remove"));
        }
    }
    let goes =
        |name: &str| spec.replace_secrets || spec.remove_secrets.iter().any(|other| other == name);
    let kept: Vec<_> = today
        .iter()
        .filter(|(name, _)| !is_given(name) && !goes(name))
        .collect();
    let unreadable: Vec<&str> = kept
        .iter()
        .filter(|(_, value)| value.is_none())
        .map(|(name, _)| *name)
        .collect();
    if !unreadable.is_empty() {
        wrong.push(format!(
            "the server doesn't return the values of {}, so they can't be kept in the new set: give all \
             secrets, with replace_secrets",
            unreadable.join(", ")
        ));
    }
    if kept.is_empty() && given.is_empty() && !today.is_empty() {
        wrong.push(
            "the last secret can't be removed: the service treats an empty list as no change"
                .to_string(),
        );
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    // In the order of today, the new ones after them.
    let mut all: Vec<Value> = Vec::new();
    let given_value = |name: &str| {
        given
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, v)| v.expose_secret())
    };
    for (name, value) in &today {
        if let Some(value) = given_value(name).or(value.filter(|_| !goes(name))) {
            all.push(json!({"name": name, "value": value}));
        }
    }
    let new = given
        .iter()
        .filter(|(name, _)| !today.iter().any(|(other, _)| other == name));
    all.extend(new.map(|(name, value)| json!({"name": name, "value": value.expose_secret()})));
    let all = Value::from(all);
    if all.as_array().is_some_and(Vec::is_empty) || all == plain(&record["secrets"]) {
        return Ok(Merged {
            list: None,
            notes: Vec::new(),
        });
    }
    let mut notes = Vec::new();
    let removed: Vec<&str> = today
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| goes(name) && !is_given(name))
        .collect();
    if !removed.is_empty() {
        notes.push(Note::warning(format!(
            "These secrets are removed: {}.",
            removed.join(", ")
        )));
    }
    let words = |what: &str, names: Vec<&str>| {
        (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")))
    };
    let (mut added, mut changed) = (Vec::new(), Vec::new());
    let mut same: Vec<&str> = kept.iter().map(|(name, _)| *name).collect();
    for (name, new) in given {
        match today.iter().find(|(other, _)| other == name) {
            None => added.push(name.as_str()),
            Some((_, Some(old))) if *old == new.expose_secret() => same.push(name),
            Some(_) => changed.push(name.as_str()),
        }
    }
    let same = (!same.is_empty()).then(|| format!("{} unchanged", same.len()));
    let parts = [words("added", added), words("changed", changed), same];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    notes.push(Note::fact(format!(
        "The whole set of secrets is sent: {}.",
        parts.join("; ")
    )));
    Ok(Merged {
        list: Some(all),
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
fn plain(secrets: &Value) -> Value {
    let all = secrets.as_array().into_iter().flatten();
    all.map(|item| json!({"name": item["name"], "value": item["value"]}))
        .collect()
}
