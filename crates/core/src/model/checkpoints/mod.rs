//! The checkpoints of a thread, from its history (acting reference §5): facts without values, their tree, and its drawing.

mod edit;
mod graph;
mod split;
#[cfg(test)]
mod tests;
mod tree;
mod wrote;

pub use edit::{StateProblem, changed_values, state_document};
pub use graph::{Cell as GraphCell, GraphRow};
pub use split::Split;
pub use tree::{CheckpointTree, Parent, StepOutcome};
pub use wrote::change_summary;

use super::{StateFacts, summary_of};
use crate::json::{self, Fields, Peek};
use crate::text;
use jiff::Timestamp;
use std::borrow::Cow;

/// Maximum tasks and next nodes kept of a checkpoint.
const MAX_TASKS: usize = 64;
/// Maximum bytes of a kept text.
const MAX_TEXT: usize = 200;
/// Maximum bytes of a kept result, which is enough for a line.
const MAX_RESULT: usize = 1 << 10;
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
    /// What changed since the checkpoint before it, on one line, where no task tells: of a state edit, and of a step whose tasks the
    /// server doesn't name, as `langgraph dev` does with the node that joins several edges. Empty where it isn't known.
    pub changed: String,
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
    /// Its id; empty if the server gives none.
    pub id: String,
    pub node: String,
    /// Why it failed.
    pub error: Option<String>,
    /// Whether it failed by itself, rather than being stopped because a sibling failed.
    pub is_failed: bool,
    pub has_result: bool,
    /// What it wrote, on one line; empty where only the fact is known.
    pub wrote: String,
    /// The start of its result, as JSON; empty if there is none, or if it was left out.
    pub result: Box<str>,
    /// The first text that it wrote: of an input, what was said.
    pub text: Option<String>,
    /// What it asks, on one line.
    pub asks: Option<String>,
    /// The namespace of its subgraph, while that waits.
    pub subgraph: Option<String>,
}

impl Checkpoint {
    /// Reads an entry of a history, or a state. Values are skipped. Returns `None` for anything without a checkpoint's id.
    pub fn read(json: &str) -> Option<Checkpoint> {
        let entry = Fields::read(json).ok()?;
        let facts = StateFacts::of(&entry);
        let is_id = |id: &String| !id.is_empty() && id.len() <= MAX_ID;
        let id = facts.checkpoint_id.filter(is_id)?;
        // Only objects are among the facts, too.
        let more = entry.items("tasks").filter_map(Peek::object);
        let tasks = facts.tasks.iter().zip(more).take(MAX_TASKS);
        let tasks = tasks.map(|(task, more)| {
            let result = more.get("result").map(Peek::text);
            CheckpointTask {
                id: Some(&task.id)
                    .filter(|id| is_id(id))
                    .cloned()
                    .unwrap_or_default(),
                node: cut(&task.node),
                error: task.error.as_deref().map(cut),
                is_failed: task.is_failed(),
                has_result: task.has_result,
                wrote: result.map(wrote::summary).unwrap_or_default(),
                result: text::head(result.unwrap_or_default(), MAX_RESULT).into(),
                text: result.and_then(wrote::first_text),
                asks: (!task.questions.is_empty()).then(|| asks(&task.questions)),
                subgraph: more.inner("checkpoint").text("checkpoint_ns").filter(is_id),
            }
        });
        let new_messages = entry.get("new_messages").filter(|list| list.is_list());
        Some(Checkpoint {
            tasks: tasks.collect(),
            parent: facts
                .parent_id
                .or_else(|| entry.text("parent_checkpoint_id"))
                .filter(is_id),
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
            writes: writes(&entry.inner("metadata").inner("writes")),
            new_messages: new_messages.map(|messages| messages.items().count()),
            changed: cut(&entry.text("changed").unwrap_or_default()),
            id,
        })
    }

    /// Reads a history. Entries that are no checkpoints are skipped.
    pub fn read_all(json: &str) -> Vec<Checkpoint> {
        let rows: Vec<Peek<'_>> = json::from_str(json).unwrap_or_default();
        Checkpoint::read_rows(&rows.into_iter().map(Peek::text).collect::<Vec<_>>())
    }

    /// Reads entries of a history. Those that are no checkpoints are skipped.
    pub fn read_rows(rows: &[&str]) -> Vec<Checkpoint> {
        let rows = rows.iter().copied();
        let mut all: Vec<(Checkpoint, Option<&str>)> = rows
            .filter_map(|row| Some((Checkpoint::read(row)?, values(row))))
            .collect();
        for at in 0..all.len() {
            let (entry, after) = &all[at];
            let is_parent = |(of, _): &&(Checkpoint, _)| Some(&of.id) == entry.parent.as_ref();
            let Some((parent, before)) = all.iter().find(is_parent) else {
                continue;
            };
            let is_untold = entry.source == "update"
                || entry.source == "loop" && parent.tasks.is_empty() && entry.writes.is_empty();
            if let (Some(before), Some(after), true) = (before, after, is_untold) {
                all[at].0.changed = change_summary(before, after);
            }
        }
        all.into_iter().map(|(entry, _)| entry).collect()
    }
}

/// Returns the values of an entry of a history, as JSON.
fn values(row: &str) -> Option<&str> {
    let values = Peek::of(row).get("values")?;
    values.is_object().then_some(values.text())
}

/// Reads `writes` of a checkpoint's metadata: an object with what each node wrote.
fn writes(nodes: &Fields<'_>) -> Vec<CheckpointWrite> {
    let named = nodes.0.iter().filter(|(node, _)| !node.is_empty());
    let write = |(node, value): &(Cow<'_, str>, Peek<'_>)| CheckpointWrite {
        node: cut(node),
        wrote: Some(value)
            .filter(|value| !value.is_null())
            .map(|value| wrote::summary(value.text()))
            .unwrap_or_default(),
    };
    named.take(MAX_TASKS).map(write).collect()
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
