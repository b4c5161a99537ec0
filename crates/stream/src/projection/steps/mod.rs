//! The steps of a thread: a row for each task. Joins what checkpoints tell of it with what its stream told, so that a row is the
//! same whether it was seen live or is read from the records later.
//!
//! Tasks are joined by their ids. Updates have none, so they are joined by run, node and order.

mod join;
mod records;
#[cfg(test)]
mod tests;

use super::Projections;
use crate::{Namespace, Seq};
use jiff::{SignedDuration, Timestamp};
use runtail_core::model::{Checkpoint, CheckpointTree, GraphRow};
use std::sync::Arc;

/// What began a step: the source of the checkpoint before it, or of an edit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StepSource {
    Input,
    #[default]
    Loop,
    Fork,
    /// An edit of the state.
    Update,
}

impl StepSource {
    /// Returns the server's word.
    pub fn word(self) -> &'static str {
        match self {
            StepSource::Input => "input",
            StepSource::Loop => "loop",
            StepSource::Fork => "fork",
            StepSource::Update => "update",
        }
    }
}

/// What became of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StepState {
    /// It would run next.
    Next,
    Running,
    #[default]
    Done,
    /// It asked, and had no answer.
    Asked,
    Failed,
    /// It was cancelled, or its end is unknown.
    Stopped,
}

/// What a checkpoint's record has of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedAs {
    /// A task of the checkpoint, by its index.
    Task(usize, usize),
    /// What a node wrote into the checkpoint, by its index.
    Write(usize, usize),
    /// The checkpoint itself: an edit, or a step whose task is unknown.
    Whole(usize),
}

/// Where a row is in the tree of branches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Rails {
    /// The index of its checkpoint's row in the drawing of the tree.
    row: usize,
    /// Whether the branches that begin at its checkpoint begin in this row.
    is_last: bool,
    /// Whether it stands beside those branches.
    is_beside: bool,
}

/// A row: one task.
#[derive(Debug, Clone, Default)]
pub struct StepRow {
    /// The run that executed it last, if known.
    pub run_id: Option<Arc<str>>,
    /// Its step by the server's numbering; `None` until it is known.
    pub step: Option<i64>,
    /// The node; empty if unknown. Of an edit `edit`.
    pub node: Arc<str>,
    /// The namespace of the node's graph.
    pub ns: Namespace,
    pub source: StepSource,
    pub state: StepState,
    /// What it asked, on one line.
    pub question: Option<Box<str>>,
    /// Why it failed, on one line.
    pub error: Option<Box<str>>,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// Whether its times are those of its step, in which other tasks ran, too.
    pub is_estimated: bool,
    /// The index of the checkpoint that it led to, or else of the one before it.
    pub checkpoint: Option<usize>,
    /// What the records have of it.
    pub recorded: Option<RecordedAs>,
    /// The event with what it wrote, or with its question.
    pub written: Option<Seq>,
    /// The first and the last event that mention it.
    pub seqs: Option<(Seq, Seq)>,
    /// Its bar in the timeline.
    pub bar: Option<u64>,
    /// The number of rows after it that are nested in it: those of its subgraph.
    pub nested: usize,
    rails: Option<Rails>,
}

impl StepRow {
    /// Returns its duration, if known.
    pub fn took(&self) -> Option<SignedDuration> {
        Some(self.ended?.duration_since(self.started?)).filter(|took| !took.is_negative())
    }

    /// Returns the event to go to: the one with what it wrote, else the first that mentions it.
    pub fn place(&self) -> Option<Seq> {
        self.written.or(Some(self.seqs?.0))
    }

    /// Returns whether its checkpoint is the one before it, so that a run from there runs it again.
    pub fn is_open(&self) -> bool {
        match self.recorded {
            Some(RecordedAs::Task(before, _)) => self.checkpoint == Some(before),
            _ => false,
        }
    }

    /// Returns whether it asked, and a later run answered.
    pub fn is_answered(&self) -> bool {
        self.question.is_some() && self.state != StepState::Asked
    }
}

/// The steps of a thread, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    rows: Vec<StepRow>,
    tree: Arc<CheckpointTree>,
    /// The rows with events, by the event to go to.
    by_seq: Vec<(Seq, usize)>,
}

impl Steps {
    /// Joins the checkpoints of a thread with its stream. `until` leaves out what the records have of later times.
    pub fn join(
        tree: Arc<CheckpointTree>,
        projections: &Projections,
        until: Option<Timestamp>,
    ) -> Steps {
        let rows = join::rows(&tree, projections, until);
        let mut by_seq: Vec<(Seq, usize)> = rows
            .iter()
            .enumerate()
            .filter_map(|(at, row)| Some((row.place()?, at)))
            .collect();
        by_seq.sort_unstable();
        Steps { rows, tree, by_seq }
    }

    /// Returns the rows.
    pub fn rows(&self) -> &[StepRow] {
        &self.rows
    }

    /// Returns the checkpoints that they were joined with.
    pub fn tree(&self) -> &Arc<CheckpointTree> {
        &self.tree
    }

    /// Returns the row of an event, or else the last one before it.
    pub fn at_seq(&self, seq: Seq) -> Option<usize> {
        let after = self.by_seq.partition_point(|(known, _)| *known <= seq);
        let found = self.by_seq.get(after.saturating_sub(1))?;
        Some(found.1)
    }

    /// Returns the checkpoint that a row led to, or else the one before it.
    pub fn checkpoint(&self, row: &StepRow) -> Option<&Arc<Checkpoint>> {
        self.tree.entries().get(row.checkpoint?)
    }

    /// Returns the start of what a row wrote, as JSON, if the records have it.
    pub fn result(&self, row: &StepRow) -> Option<&str> {
        let RecordedAs::Task(at, task) = row.recorded? else {
            return None;
        };
        let task = self.tree.entries().get(at)?.tasks.get(task)?;
        Some(&*task.result).filter(|json| !json.is_empty())
    }

    /// Returns what a node wrote in words, if older servers name only that.
    pub fn summary(&self, row: &StepRow) -> Option<&str> {
        let RecordedAs::Write(at, write) = row.recorded? else {
            return None;
        };
        Some(&self.tree.entries().get(at)?.writes.get(write)?.wrote)
    }

    /// Returns the run that asked the question of a row, if another one executed it after an answer.
    pub fn asked_by(&self, row: &StepRow) -> Option<Arc<str>> {
        let [_, asked] = records::runs_of(&self.tree, row);
        asked
    }

    /// Returns whether a row is on the branch of the newest checkpoint.
    pub fn is_current(&self, row: &StepRow) -> bool {
        row.checkpoint.is_none_or(|at| self.tree.is_current(at))
    }

    /// Returns what stands before and after the mark of a row in the tree of branches.
    pub fn rails(&self, row: &StepRow) -> (String, String) {
        let Some(rails) = row.rails else {
            return Default::default();
        };
        let rows = self.tree.rows();
        let Some(drawn) = rows.get(rails.row) else {
            return Default::default();
        };
        let above = rails.row.checked_sub(1).and_then(|at| rows.get(at));
        let join: Option<&GraphRow> =
            above.filter(|join| join.entry.is_none() && (rails.is_last || rails.is_beside));
        drawn.upward(join, rails.is_beside)
    }
}
