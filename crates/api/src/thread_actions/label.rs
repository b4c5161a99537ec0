//! Names and stars of threads, which are kept in their metadata. Every server merges a `PATCH` into it (acting reference §4).

use super::{StartError, StartFailure, Step, ThreadPlan, unfit};
use crate::{AgentServer, ApiError, Kind, PlanError};
use reqwest::Method;
use runtail_core::model::{NAME_KEY, Note, Preview, STAR_KEY, compare};
use runtail_core::text::{self, short_id};
use serde_json::{Map, Value, json};

/// Maximum number of characters of a name.
const MAX_NAME: usize = 200;

/// A change of a thread's name or star.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThreadLabel {
    /// The new name; empty removes it. None leaves it as it is.
    pub name: Option<String>,
    /// Whether the thread is starred. None leaves it as it is.
    pub starred: Option<bool>,
}

impl ThreadLabel {
    /// Returns the metadata to send.
    fn metadata(&self) -> Map<String, Value> {
        let mut metadata = Map::new();
        if let Some(name) = &self.name {
            // A server keeps a key forever, so a removed name is null.
            let name = Some(name.trim()).filter(|name| !name.is_empty());
            metadata.insert(NAME_KEY.into(), json!(name));
        }
        if let Some(starred) = self.starred {
            metadata.insert(STAR_KEY.into(), starred.into());
        }
        metadata
    }
}

/// A label that is to be sent.
#[derive(Clone)]
pub(super) struct LabelWrite {
    pub thread: String,
    pub metadata: Map<String, Value>,
    /// The values of the same keys in the preview.
    pub before: Map<String, Value>,
}

impl AgentServer {
    pub(super) async fn plan_label(
        &self,
        thread: &str,
        label: &ThreadLabel,
    ) -> Result<ThreadPlan, PlanError> {
        if label
            .name
            .as_ref()
            .is_some_and(|name| name.chars().count() > MAX_NAME)
        {
            return Err(unfit(format!(
                "The name is longer than {MAX_NAME} characters."
            )));
        }
        let metadata = label.metadata();
        let before = self.label_of(thread, &metadata).await?;
        let is_same = |(key, value): (&String, &Value)| match (
            before.get(key).unwrap_or(&Value::Null),
            value,
        ) {
            (Value::Null, Value::Null | Value::Bool(false)) => true,
            (known, value) => known == value,
        };
        if metadata.iter().all(is_same) {
            return Err(PlanError::Nothing(
                "The thread has this name and star already.".into(),
            ));
        }
        let url = self.url(&Method::PATCH, &["threads", thread])?;
        let body = json!({ "metadata": metadata });
        let notes = vec![
            Note::fact("Kept in the thread's metadata: everyone who uses this server sees it."),
            Note::fact(
                "Other metadata stays as it is. The server counts this as a change of the thread.",
            ),
        ];
        let verb = match (&label.name, label.starred) {
            (Some(name), _) if name.trim().is_empty() => "Remove the name of",
            (Some(_), _) => "Name",
            (None, Some(false)) => "Remove the star of",
            (None, _) => "Star",
        };
        let preview = Preview {
            title: format!("{verb} thread {}", short_id(thread)),
            changes: compare(&json!({ "metadata": before }), &body),
            ..self.preview(thread, Method::PATCH, &url, Some(&body), notes)
        };
        let step = Step::Label(LabelWrite {
            thread: thread.into(),
            metadata,
            before,
        });
        Ok(ThreadPlan {
            preview,
            choice: None,
            step,
        })
    }

    /// Reads the values that a label would replace.
    async fn label_of(
        &self,
        thread: &str,
        keys: &Map<String, Value>,
    ) -> Result<Map<String, Value>, ApiError> {
        let row = self.thread(thread).await?;
        let metadata = row.metadata.as_ref().and_then(Value::as_object);
        let known = |key: &String| Some((key.clone(), metadata?.get(key)?.clone()));
        Ok(keys.keys().filter_map(known).collect())
    }

    /// Checks the thread again and sends the label. Returns the thread's name and star as the server has them.
    pub(super) async fn write_label(&self, write: &LabelWrite) -> Result<(), StartError> {
        let now = self.label_of(&write.thread, &write.metadata).await;
        let now = now.map_err(StartError::unchecked)?;
        if now != write.before {
            let detail = "the thread's name or star was changed by someone else; nothing was sent"
                .to_string();
            return Err(StartError::changed(
                self.refused_here(&write.thread, detail),
            ));
        }
        match self
            .patch_thread(&write.thread, &json!({ "metadata": write.metadata }))
            .await
        {
            Ok(row) => {
                let is_kept = |(key, value): (&String, &Value)| row["metadata"][key] == *value;
                if write.metadata.iter().all(is_kept) {
                    return Ok(());
                }
                let detail = format!(
                    "the server answered, but did not keep {}",
                    text::clean(&keys_of(&write.metadata))
                );
                Err(StartError {
                    failure: StartFailure::Refused,
                    error: self.refused_here(&write.thread, detail),
                })
            }
            Err(error) if error.may_lack_call() && error.kind != Kind::NotFound => {
                Err(StartError {
                    failure: StartFailure::NotOffered,
                    error,
                })
            }
            Err(error) => Err(StartError::sent(
                error,
                "it was sent once and may have been done; look at the thread's name before you repeat it",
            )),
        }
    }
}

fn keys_of(metadata: &Map<String, Value>) -> String {
    metadata
        .keys()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}
