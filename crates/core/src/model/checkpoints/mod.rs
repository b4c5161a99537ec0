//! The checkpoints of a thread, from its history (acting reference §5): facts without values, their tree, and its drawing.

mod edit;
mod graph;
mod split;
#[cfg(test)]
mod tests;
mod tree;
mod wrote;

pub use edit::{StateProblem, changed_values, object_fields, state_document};
pub use graph::{Cell as GraphCell, GraphRow};
pub use split::Split;
pub use tree::{CheckpointTree, Parent, StepOutcome};

use super::{StateFacts, summary_of};
use crate::text;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Maximum tasks and next nodes kept of a checkpoint.
const MAX_TASKS: usize = 64;
/// Maximum bytes of a kept text.
const MAX_TEXT: usize = 200;
/// Maximum bytes of an id. Longer ones are no ids, and cutting one could make two equal.
const MAX_ID: usize = 256;

/// A checkpoint without its values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Checkpoint {
    pub id: String,
    /// The id of the checkpoint before it; none for the first one of a branch without a past.
    pub parent: Option<String>,
    /// What wrote it: `input`, `loop`, `update` or `fork`, as the server says.
    pub source: String,
    pub step: Option<i64>,
    /// The nodes that would run next.
    pub next: Vec<String>,
    /// The tasks of the step after it.
    pub tasks: Vec<CheckpointTask>,
    /// The run that wrote it; none for a state edit.
    pub run_id: Option<String>,
    /// When it was written.
    pub at: Option<Timestamp>,
    /// What wrote its values, if the server says so. Only older servers do.
    pub writes: Vec<CheckpointWrite>,
    /// How many messages it has more than the one before it. Only snapshots in recordings know this.
    pub new_messages: Option<usize>,
}

/// What a node wrote into a checkpoint.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckpointWrite {
    pub node: String,
    /// What it wrote, on one line; empty where only the fact is known.
    pub wrote: String,
}

/// A task of the step after a checkpoint.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckpointTask {
    pub node: String,
    /// Why it failed.
    pub error: Option<String>,
    /// Whether it failed by itself, rather than being stopped because a sibling failed.
    pub is_failed: bool,
    pub has_result: bool,
    /// What it wrote, on one line; empty where only the fact is known.
    pub wrote: String,
    /// The first text that it wrote: of an input, what was said.
    pub text: Option<String>,
    /// What it asks, on one line.
    pub asks: Option<String>,
    /// The namespace of its subgraph, while that waits.
    pub subgraph: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Entry<'a> {
    #[serde(borrow)]
    tasks: Option<&'a RawValue>,
    #[serde(borrow)]
    parent_checkpoint_id: Option<&'a RawValue>,
    #[serde(borrow)]
    new_messages: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TaskEntry<'a> {
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    checkpoint: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Subgraph {
    checkpoint_ns: String,
}

impl Checkpoint {
    /// Reads an entry of a history, or a state. Values are skipped. Returns `None` for anything without a checkpoint's id.
    pub fn read(json: &str) -> Option<Checkpoint> {
        let facts = StateFacts::read(json).ok()?;
        let entry: Entry<'_> = serde_json::from_str(json).unwrap_or_default();
        let is_id = |id: &String| !id.is_empty() && id.len() <= MAX_ID;
        let id = facts.checkpoint_id.filter(is_id)?;
        let listed = entry
            .parent_checkpoint_id
            .and_then(|raw| serde_json::from_str(raw.get()).ok());
        let tasks: Vec<&RawValue> = entry
            .tasks
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        // Only objects are among the facts, too.
        let tasks = tasks.into_iter().filter(|raw| raw.get().starts_with('{'));
        let more = tasks.map(|raw| serde_json::from_str(raw.get()).unwrap_or_default());
        let tasks =
            facts
                .tasks
                .iter()
                .zip(more)
                .take(MAX_TASKS)
                .map(|(task, more): (_, TaskEntry<'_>)| {
                    let result = more.result.map(RawValue::get).filter(|raw| *raw != "null");
                    let subgraph = more
                        .checkpoint
                        .and_then(|raw| serde_json::from_str::<Subgraph>(raw.get()).ok());
                    CheckpointTask {
                        node: cut(&task.node),
                        error: task.error.as_deref().map(cut),
                        is_failed: task.is_failed(),
                        has_result: task.has_result,
                        wrote: result.map(wrote::summary).unwrap_or_default(),
                        text: result.and_then(wrote::first_text),
                        asks: (!task.questions.is_empty()).then(|| asks(&task.questions)),
                        subgraph: subgraph.map(|at| at.checkpoint_ns).filter(is_id),
                    }
                });
        let new_messages = entry
            .new_messages
            .and_then(|raw| serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok());
        Some(Checkpoint {
            tasks: tasks.collect(),
            parent: facts.parent_id.or(listed).filter(is_id),
            source: cut(&facts.source),
            step: facts.step,
            next: facts
                .next
                .iter()
                .take(MAX_TASKS)
                .map(|node| cut(node))
                .collect(),
            run_id: facts.run_id.filter(is_id),
            at: facts.created_at,
            writes: entry
                .metadata
                .map(|raw| writes(raw.get()))
                .unwrap_or_default(),
            new_messages: new_messages.map(|messages| messages.len()),
            id,
        })
    }

    /// Reads a history. Entries that are no checkpoints are skipped.
    pub fn read_all(json: &str) -> Vec<Checkpoint> {
        let rows: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
        rows.into_iter()
            .filter_map(|row| Checkpoint::read(row.get()))
            .collect()
    }
}

/// Reads `writes` of a checkpoint's metadata: an object with what each node wrote.
fn writes(metadata: &str) -> Vec<CheckpointWrite> {
    let fields = object_fields(metadata).unwrap_or_default();
    let writes = fields.iter().find(|(name, _)| name == "writes");
    let nodes = writes
        .and_then(|(_, raw)| object_fields(raw.get()).ok())
        .unwrap_or_default();
    let write = |(node, raw): &(String, &RawValue)| CheckpointWrite {
        node: cut(node),
        wrote: Some(raw.get())
            .filter(|raw| *raw != "null")
            .map(wrote::summary)
            .unwrap_or_default(),
    };
    nodes
        .iter()
        .filter(|(node, _)| !node.is_empty())
        .take(MAX_TASKS)
        .map(write)
        .collect()
}

/// Returns what questions ask, in a few words.
fn asks(questions: &[super::Question]) -> String {
    let actions: usize = questions
        .iter()
        .map(|question| question.actions().len())
        .sum();
    match (actions, questions) {
        (2.., _) => format!("{actions} actions"),
        (_, [_]) => cut(&summary_of(questions)),
        _ => format!("{} questions", questions.len()),
    }
}

/// Returns the start of a text as one line.
fn cut(source: &str) -> String {
    let short = text::head(source, MAX_TEXT);
    let line = short.split_whitespace().collect::<Vec<_>>().join(" ");
    if short.len() < source.len() {
        format!("{line}…")
    } else {
        line
    }
}
