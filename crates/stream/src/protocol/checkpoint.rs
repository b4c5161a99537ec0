//! Checkpoints: the state of a thread after a step.

use super::Number;
use runtail_core::json::Peek;
use serde::Deserialize;

/// `checkpoints`, the payload of `debug` with the type `checkpoint`, and the state in a `state_update`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Checkpoint<'a> {
    /// JavaScript servers send the step here, without metadata.
    step: Number,
    metadata: Option<CheckpointMetadata>,
    #[serde(borrow)]
    pub values: Option<Peek<'a>>,
    #[serde(borrow)]
    pub next: Option<Peek<'a>>,
    /// Python servers list the next tasks with their ids.
    #[serde(borrow)]
    pub tasks: Option<Peek<'a>>,
}

#[derive(Debug, Deserialize)]
struct CheckpointMetadata {
    #[serde(default)]
    step: Number,
}

impl Checkpoint<'_> {
    /// Returns the number of the finished step.
    pub fn step(&self) -> Option<i64> {
        self.metadata
            .as_ref()
            .and_then(|metadata| metadata.step.0)
            .or(self.step.0)
    }
}

/// `state_update` on a thread's stream: the state after an edit or a run.
#[derive(Debug, Deserialize)]
pub(crate) struct StateUpdate<'a> {
    #[serde(borrow)]
    pub state: Peek<'a>,
}
