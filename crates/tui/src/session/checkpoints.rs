//! What the Steps view requests from a server, and what it receives.

use runtail_core::json::Peek;
use runtail_core::model::{Checkpoint, StateFacts};
use runtail_core::text;
use runtail_stream::projection::index::Excerpt;
use std::ops::Range;
use std::sync::Arc;

/// Tasks with the state of a subgraph that are named, and the bytes of a name.
const MAX_NESTED: usize = 3;
const MAX_NAME: usize = 60;

/// A request of the Steps view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryRequest {
    /// Up to `limit` checkpoints, newest first, before this one.
    Page {
        before: Option<String>,
        limit: usize,
    },
    /// The state at a checkpoint.
    State { checkpoint: String },
    /// The state at a checkpoint, with those of the subgraphs that wait there.
    Details { checkpoint: String },
}

/// A page of a history.
#[derive(Debug, Clone, Default)]
pub struct CheckpointPage {
    /// The checkpoints without values, in the server's order.
    pub checkpoints: Vec<Checkpoint>,
    /// Whether the server has none before these.
    pub is_last: bool,
}

/// The state at a checkpoint with the states of its waiting subgraphs.
#[derive(Debug, Clone)]
pub struct CheckpointDetails {
    pub text: Arc<str>,
    /// The tasks that have the state of a subgraph, by their place in the list, with their names.
    pub nested: Vec<(usize, String)>,
    /// Why the states of subgraphs are missing, a sentence each.
    pub missing: Vec<String>,
}

impl CheckpointDetails {
    pub fn new(text: Arc<str>, missing: Vec<String>) -> CheckpointDetails {
        let tasks = Peek::of(&text)
            .get("tasks")
            .into_iter()
            .flat_map(Peek::items);
        let name = |(at, task): (usize, Peek<'_>)| {
            task.get("state").filter(|state| state.is_object())?;
            let name = task.get("name").and_then(Peek::string).unwrap_or_default();
            Some((at, text::head(&name, MAX_NAME).to_string()))
        };
        let nested = tasks
            .enumerate()
            .filter_map(name)
            .take(MAX_NESTED)
            .collect();
        CheckpointDetails {
            text,
            nested,
            missing,
        }
    }
}

/// The state at a checkpoint, as received.
#[derive(Debug)]
pub struct CheckpointState {
    text: Arc<str>,
    values: Range<usize>,
}

impl CheckpointState {
    /// Reads a state. Returns `None` for the answer that servers give for an unknown checkpoint: an empty state without a
    /// source and without a time (acting reference §5).
    pub fn read(text: Arc<str>) -> Option<CheckpointState> {
        StateFacts::read(&text).ok().filter(StateFacts::is_saved)?;
        // The values are a part of the text, so their place follows from the addresses.
        let values = Peek::of(&text)
            .get("values")
            .filter(|values| !values.is_null());
        let values = values.map(Peek::text).unwrap_or_default();
        let from = (values.as_ptr() as usize)
            .checked_sub(text.as_ptr() as usize)
            .filter(|_| !values.is_empty());
        let values = from.map_or(0..0, |from| from..from + values.len());
        Some(CheckpointState { text, values })
    }

    /// Returns the whole state.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns its values.
    pub fn values(&self) -> Excerpt {
        let values = Excerpt::new(self.text.clone(), self.values.clone())
            .filter(|values| !values.is_empty());
        values.unwrap_or_else(|| Arc::<str>::from("{}").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_and_unknown_checkpoints_have_no_state() {
        let state = CheckpointState::read(
            r#"{"next":[], "values": {"a":[1]} ,"metadata":{"source":"loop"}}"#.into(),
        )
        .unwrap();
        assert_eq!(state.values().as_str(), r#"{"a":[1]}"#);
        let none =
            CheckpointState::read(r#"{"values":null,"created_at":"2026-11-22T03:00:00Z"}"#.into())
                .unwrap();
        assert_eq!(none.values().as_str(), "{}");
        let unknown = r#"{"values":{},"next":[],"metadata":null,"created_at":null,"checkpoint":{"checkpoint_id":"nope"}}"#;
        assert!(CheckpointState::read(unknown.into()).is_none());
        // Aegra has empty metadata.
        assert!(
            CheckpointState::read(
                unknown
                    .replace(r#""metadata":null"#, r#""metadata":{}"#)
                    .into()
            )
            .is_none()
        );
        assert!(CheckpointState::read("[]".into()).is_none());
    }
}
