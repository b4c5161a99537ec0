//! The exact bodies of `POST /v2/deployments` and `PATCH /v2/deployments/{id}` (contract §4, control-plane reference §6).

use super::check::{Findings, IMMUTABLE};
use super::{DeploymentSpec, Installation, secrets};
use crate::model::{Change, NewRevision, Note, compare};
use secrecy::SecretString;
use serde_json::{Map, Value, json};

/// A request body and its changes.
pub struct Draft {
    /// The body, secrets included.
    pub body: Value,
    pub changes: Vec<Change>,
    /// Whether it creates a new revision.
    pub revision: NewRevision,
    pub notes: Vec<Note>,
    /// The source of the new revision.
    pub made_from: Value,
    /// The parts of the record that it is about, as JSON pointers.
    pub parts: Vec<String>,
}

/// Secrets that were fetched, by the path of their field.
pub type Fetched = Vec<(Vec<String>, SecretString)>;

impl DeploymentSpec {
    /// The body that creates it.
    ///
    /// # Errors
    /// All reasons why the service would reject it.
    pub fn create(&self, at: Installation, fetched: &Fetched) -> Result<Draft, Vec<String>> {
        let Findings { wrong, notes } = self.check_create(at);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let mut body = self.document.fields.clone();
        // These two are required even if they are empty.
        for table in ["source_config", "source_revision_config"] {
            body.entry(table).or_insert_with(|| json!({}));
        }
        body.insert("secrets".into(), secrets::list(&named(fetched)));
        let body = Value::Object(body);
        Ok(Draft {
            // There is nothing today that it could differ from.
            changes: Vec::new(),
            revision: NewRevision::Yes("a new deployment starts with its first revision".into()),
            notes,
            made_from: body["source_revision_config"].clone(),
            parts: Vec::new(),
            body,
        })
    }

    /// Returns the body of an update. Unchanged fields are not sent, except a `source_revision_config`, which is always sent as
    /// given, because the same branch or tag may refer to something newer.
    ///
    /// # Errors
    /// All reasons why the service would reject it or silently drop a secret.
    pub fn update(
        &self,
        record: &Value,
        at: Installation,
        fetched: &Fetched,
    ) -> Result<Draft, Vec<String>> {
        let Findings {
            mut wrong,
            mut notes,
        } = self.check_update(record, at);
        let merged = secrets::merge(self, record, &named(fetched))
            .map_err(|mut more| wrong.append(&mut more));
        let (true, Ok(merged)) = (wrong.is_empty(), merged) else {
            return Err(wrong);
        };
        let mut body = Map::new();
        let mut parts = Vec::new();
        for (field, wanted) in &self.document.fields {
            match (field.as_str(), wanted) {
                ("name" | "source", _) => {}
                ("source_config" | "source_revision_config", Value::Object(wanted)) => {
                    let today = &record[field];
                    let is_sent = |(name, wanted): &(&String, &Value)| {
                        field == "source_revision_config"
                            || !IMMUTABLE.contains(&name.as_str())
                                && !is_same(&today[name.as_str()], wanted)
                    };
                    let sent = wanted.iter().filter(is_sent);
                    let sent: Map<String, Value> = sent
                        .map(|(name, wanted)| (name.clone(), wanted.clone()))
                        .collect();
                    parts.extend(sent.keys().map(|name| format!("/{field}/{name}")));
                    if !sent.is_empty() {
                        body.insert(field.clone(), sent.into());
                    }
                }
                // About the next revision, not part of the record.
                ("revision_source" | "tracked_packages", _) => {
                    body.insert(field.clone(), wanted.clone());
                }
                (name, _) if is_same(&record[name], wanted) => {}
                (name, _) => {
                    parts.push(format!("/{name}"));
                    body.insert(field.clone(), wanted.clone());
                }
            }
        }
        if let Some(list) = merged.list {
            parts.push("/secrets".into());
            body.insert("secrets".into(), list);
        }
        notes.extend(merged.notes);
        let body = Value::Object(body);
        let after = applied(record, &body);
        let changes = compare(record, &after);
        let source = &body["source_revision_config"];
        if !source.is_null()
            && compare(
                &record["source_revision_config"],
                &after["source_revision_config"],
            )
            .is_empty()
        {
            notes.push(Note::fact(
                "The source is unchanged, so its current content is deployed again. Remove source_revision_config \
                         to avoid a new revision.",
            ));
        }
        for command in ["install_command", "build_command"] {
            if !body["source_config"][command].is_null() {
                notes.push(Note::fact(format!(
                    "{command} takes effect at the next build."
                )));
            }
        }
        let mut made_from = after["source_revision_config"].clone();
        if let Some(made_from) = made_from.as_object_mut() {
            // Which commit that is, only the build says.
            made_from.remove("repo_commit_sha");
            if record["source"] == "github" {
                made_from.remove("image_uri");
            }
        }
        Ok(Draft {
            changes,
            revision: NewRevision::of_update(&body),
            notes,
            made_from,
            parts,
            body,
        })
    }
}

/// Whether a value is as it is wanted: nulls and missing fields are the same, and so are 1 and 1.0.
pub(super) fn is_same(today: &Value, wanted: &Value) -> bool {
    compare(today, wanted).is_empty()
}

/// The secrets of the set, by name.
fn named(fetched: &Fetched) -> Vec<(String, SecretString)> {
    let name =
        |(at, secret): &(Vec<String>, SecretString)| Some((at.last()?.clone(), secret.clone()));
    fetched.iter().filter_map(name).collect()
}

/// The record as it is after an update: fields of the two tables one by one, everything else as a whole.
fn applied(record: &Value, body: &Value) -> Value {
    let mut after = record.clone();
    for (field, value) in body.as_object().into_iter().flatten() {
        match (field.as_str(), value) {
            ("revision_source" | "tracked_packages", _) => {}
            ("source_config" | "source_revision_config", Value::Object(fields)) => {
                if !after[field].is_object() {
                    after[field] = json!({});
                }
                for (name, value) in fields {
                    after[field][name] = value.clone();
                }
            }
            _ => after[field] = value.clone(),
        }
    }
    after
}
