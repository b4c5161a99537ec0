//! Checkpoints: the state of a thread after a step.

use super::Number;
use runtail_core::json::Peek;
use serde::Deserialize;

/// `checkpoints`, the payload of `debug` with the type `checkpoint`, and the state in a `state_update`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Checkpoint<'a> {
    /// JavaScript servers send the step here, without metadata.
    step: Number,
    metadata: Option<CheckpointMetadata>,
    pub values: Option<Peek<'a>>,
    pub next: Option<Peek<'a>>,
    /// Python servers list the next tasks with their ids.
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
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct StateUpdate<'a> {
    pub state: Peek<'a>,
}
