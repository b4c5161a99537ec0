//! Names and stars of threads, which are kept in their metadata. Every server merges a `PATCH` into it (acting reference §4).

use super::plan::on_thread;
use crate::prelude::*;
use runtail_core::model::{NAME_KEY, STAR_KEY};

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

impl AgentServer {
    pub(super) async fn plan_label(
        &self,
        thread: &str,
        label: &ThreadLabel,
    ) -> Result<Draft, PlanError> {
        if label
            .name
            .as_ref()
            .is_some_and(|name| name.chars().count() > MAX_NAME)
        {
            return refuse(format!("The name is longer than {MAX_NAME} characters."));
        }
        let metadata = label.metadata();
        let row = self.thread_row(thread).await?;
        let is_same =
            |(key, value): (&String, &Value)| match (&row["metadata"][key.as_str()], value) {
                (Value::Null, Value::Null | Value::Bool(false)) => true,
                (known, value) => known == value,
            };
        if metadata.iter().all(is_same) {
            return nothing("The thread has this name and star already.");
        }
        let known = |(key, _): (&String, &Value)| (key.clone(), row["metadata"][key].clone());
        let before: Map<String, Value> = metadata.iter().map(known).collect();
        let parts = metadata
            .keys()
            .map(|key| format!("/metadata/{key}"))
            .collect();
        let body = json!({ "metadata": metadata });
        let changes = compare(&json!({ "metadata": before }), &body);
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
        let path = ["threads", thread];
        let kind = StepKind::Label(thread.into());
        Ok(Draft {
            changes,
            guard: Guard::at(self, &path, row, Condition::Parts(parts)),
            steps: vec![Step::new(self, Method::PATCH, &path, Some(body), kind)?],
            ..on_thread(format!("{verb} thread {}", short_id(thread)), thread, notes)
        })
    }

    pub(crate) async fn label_thread(
        &self,
        thread: &str,
        body: &Value,
    ) -> Result<Acted, StartError> {
        let row = match self.patch_thread(thread, body).await {
            Ok(row) => row,
            Err(error) if error.may_lack_call() && error.kind != Kind::NotFound => {
                return Err(StartFailure::NotOffered.with_error(error));
            }
            Err(error) => {
                let check = "it was sent once and may have been done; look at the thread's name before you repeat it";
                return Err(StartError::sent(error).or_check(check));
            }
        };
        let sent = body["metadata"].as_object().into_iter().flatten();
        let lost = sent.filter(|(key, value)| row["metadata"][key.as_str()] != **value);
        let lost: Vec<&str> = lost.map(|(key, _)| key.as_str()).collect();
        if lost.is_empty() {
            return Ok(Acted::Labeled);
        }
        let lost = text::clean(&lost.join(", ")).into_owned();
        let detail = format!("the server answered, but did not keep {lost}");
        Err(StartFailure::Refused.with_error(self.refused_here(thread, detail)))
    }
}
