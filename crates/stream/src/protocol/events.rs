//! The payloads of events that are no messages: of runs, graphs, tools, nodes, checkpoints and callbacks.

use super::{MessageOrigin, Number, Text};
use crate::Outcome;
use runtail_core::json::Peek;
use serde::Deserialize;

/// `metadata`: a run started, or, on thread streams of the Python server, finished (`{"status": "run_done"}`). JavaScript
/// servers don't send the attempt.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Metadata<'a> {
    pub run_id: Text<'a>,
    pub status: Text<'a>,
    pub attempt: Number,
}

impl Metadata<'_> {
    /// Returns the number of the attempt, from 1.
    pub fn attempt(&self) -> u64 {
        self.attempt
            .0
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or(1)
            .max(1)
    }

    /// Returns whether the run has finished.
    pub fn is_done(&self) -> bool {
        self.status.is("run_done")
    }
}

/// `lifecycle` and `tools` of the v2 protocol: the phase that a graph or a tool entered.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Phase<'a> {
    pub event: Text<'a>,
    pub error: Option<Peek<'a>>,
    pub message: Option<Peek<'a>>,
    pub tool_call_id: Text<'a>,
    pub tool_name: Text<'a>,
}

impl Phase<'_> {
    /// Returns whether the run, or the graph of a namespace, began.
    pub fn is_begin(&self) -> bool {
        matches!(self.event.as_str(), "running" | "started")
    }

    /// Returns how the run, or the graph of a namespace, ended.
    pub fn outcome(&self) -> Option<Outcome> {
        Some(match self.event.as_str() {
            "completed" => Outcome::Success,
            "failed" => Outcome::Error,
            "interrupted" => Outcome::Interrupted,
            _ => return None,
        })
    }
}

/// `tasks`, and the payload of `debug` with the types `task` and `task_result`: a node started or ended. Only a start has
/// `triggers`, and only an end has `result`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Task<'a> {
    pub id: Text<'a>,
    pub name: Text<'a>,
    /// The node's input, in a start.
    pub input: Option<Peek<'a>>,
    pub triggers: Option<Peek<'a>>,
    pub result: Option<Peek<'a>>,
    /// Present in every end, usually null.
    pub error: Option<Peek<'a>>,
    pub interrupts: Option<Peek<'a>>,
}

impl Task<'_> {
    /// Returns whether the event is the start of the task, not its result.
    pub fn is_start(&self) -> bool {
        self.triggers.is_some() && self.result.is_none() && self.error.is_none()
    }
}

/// `debug`: the type (`task`, `task_result`, `checkpoint`), the step, the server's timestamp and the payload of that type.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Debug<'a> {
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub step: Number,
    pub timestamp: Text<'a>,
    pub payload: Option<Peek<'a>>,
}

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

/// One interrupt, in an `__interrupt__` list, in a task, or in `input.requested` of the v2 protocol, which names the fields
/// `interrupt_id` and `payload`.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Interrupt<'a> {
    #[serde(alias = "interrupt_id")]
    pub id: Text<'a>,
    #[serde(alias = "payload")]
    pub value: Option<Peek<'a>>,
    /// The JSON schema of the answer.
    pub response_schema: Option<Peek<'a>>,
}

/// `events`: one LangChain callback of a chain, a model or a tool, named `on_<kind>_<phase>`.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Callback<'a> {
    pub event: Text<'a>,
    pub name: Text<'a>,
    /// The id of this call, not of the graph's run.
    pub run_id: Text<'a>,
    pub tags: Option<Peek<'a>>,
    pub metadata: Option<MessageOrigin<'a>>,
    pub data: Option<Peek<'a>>,
}

/// `usage_metadata` of a message, and `usage` of a message in the v2 protocol, which has the same fields.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct UsageMetadata {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub total_tokens: Option<u64>,
    pub input_token_details: Option<Details>,
    pub output_token_details: Option<Details>,
}

/// A breakdown of the tokens.
#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
pub(crate) struct Details {
    pub cache_read: Option<u64>,
    pub reasoning: Option<u64>,
}
