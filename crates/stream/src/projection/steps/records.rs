//! The rows that the checkpoints of a thread tell of.

use super::{Rails, RecordedAs, StepRow, StepSource, StepState};
use crate::Interner;
use jiff::Timestamp;
use runtail_core::model::{CheckpointTask, CheckpointTree, Parent};
use std::sync::Arc;

/// Reads the rows from the checkpoints.
pub(super) struct Reader<'a> {
    pub tree: &'a CheckpointTree,
    /// Later checkpoints are left out.
    pub until: Option<Timestamp>,
    /// Whether a run is active, so that the tasks of the newest checkpoint are executed.
    pub is_active: bool,
    /// Returns when a run began.
    pub began: &'a dyn Fn(&str) -> Option<Timestamp>,
    pub names: Interner,
}

impl Reader<'_> {
    /// Returns the rows, oldest first.
    pub fn rows(&mut self) -> Vec<StepRow> {
        let mut drawn = vec![0; self.tree.len()];
        for (row, at) in self.tree.rows().iter().enumerate() {
            if let Some(at) = at.entry {
                drawn[at] = row;
            }
        }
        let mut rows = Vec::with_capacity(self.tree.len());
        for at in (0..self.tree.len()).rev() {
            if !self.is_shown(at) {
                continue;
            }
            let first = rows.len();
            self.push_written(at, &mut rows);
            let written = rows.len();
            self.push_open(at, &mut rows);
            let is_unseen = rows.len() == first && !self.has_step(at);
            if rows.len() == first && (is_unseen || self.tree.is_branch_point(at)) {
                rows.push(self.own(at));
            }
            for (nth, row) in rows.iter_mut().enumerate().skip(first) {
                row.rails = Some(Rails {
                    row: drawn[at],
                    is_last: nth + 1 == written.max(first + 1),
                    is_beside: nth >= written.max(first + 1),
                });
            }
        }
        rows
    }

    fn is_shown(&self, at: usize) -> bool {
        let written = self.tree.entries()[at].at;
        written
            .zip(self.until)
            .is_none_or(|(at, until)| at <= until)
    }

    /// Returns whether the step after a checkpoint wrote another one that is shown.
    fn has_step(&self, at: usize) -> bool {
        let is_step = |child: &usize| self.tree.is_of_nodes(*child) && self.is_shown(*child);
        self.tree.children(at).iter().any(is_step)
    }

    fn source(&self, at: usize) -> StepSource {
        match &*self.tree.entries()[at].source {
            "input" => StepSource::Input,
            "fork" => StepSource::Fork,
            _ => StepSource::Loop,
        }
    }

    /// Returns the row of a checkpoint without the task that wrote it.
    fn own(&mut self, at: usize) -> StepRow {
        let entry = &self.tree.entries()[at];
        let (node, source) = match &*entry.source {
            "input" => ("__start__", StepSource::Input),
            "fork" => ("fork", StepSource::Fork),
            "update" => ("edit", StepSource::Update),
            _ => ("", StepSource::Loop),
        };
        StepRow {
            run_id: entry.run_id.as_deref().map(|id| self.names.get(id)),
            step: entry.step,
            node: self.names.get(node),
            source,
            ended: entry.at,
            checkpoint: Some(at),
            recorded: Some(RecordedAs::Whole(at)),
            ..StepRow::default()
        }
    }

    /// Adds the tasks that wrote a checkpoint.
    fn push_written(&mut self, at: usize, rows: &mut Vec<StepRow>) {
        if matches!(&*self.tree.entries()[at].source, "input" | "fork") {
            return;
        }
        let row = self.own(at);
        if row.source == StepSource::Update {
            return rows.push(row);
        }
        let entry = self.tree.entries()[at].clone();
        let before = match self.tree.parent(at) {
            Parent::At(before) => Some(before),
            Parent::None | Parent::NotLoaded => None,
        };
        let source = before.map_or(StepSource::Loop, |before| self.source(before));
        let row = StepRow {
            started: before.and_then(|before| self.started(before, entry.run_id.as_deref())),
            source,
            ..row
        };
        let tasks: Vec<usize> = self
            .tree
            .tasks_before(at)
            .iter()
            .map(|(nth, _)| *nth)
            .collect();
        for nth in &tasks {
            let before = before.unwrap_or_default();
            let task = &self.tree.entries()[before].tasks[*nth];
            let asked = task.asks.as_deref().map(Box::from);
            rows.push(StepRow {
                node: self.names.get(&task.node),
                // Its answer began another run.
                started: match asked.is_some() {
                    true => self.tree.entries()[before].at,
                    false => row.started,
                },
                question: asked,
                recorded: Some(RecordedAs::Task(before, *nth)),
                is_estimated: tasks.len() > 1,
                ..row.clone()
            });
        }
        if !tasks.is_empty() {
            return;
        }
        for (nth, write) in entry.writes.iter().enumerate() {
            rows.push(StepRow {
                node: self.names.get(&write.node),
                recorded: Some(RecordedAs::Write(at, nth)),
                is_estimated: entry.writes.len() > 1,
                ..row.clone()
            });
        }
        if entry.writes.is_empty() {
            let node = if source == StepSource::Input {
                "__start__"
            } else {
                ""
            };
            let node = self.names.get(node);
            rows.push(StepRow { node, ..row });
        }
    }

    /// Returns when the tasks of a checkpoint began in a run.
    fn started(&self, before: usize, run: Option<&str>) -> Option<Timestamp> {
        let before = &self.tree.entries()[before];
        match run.filter(|run| before.run_id.as_deref() != Some(*run)) {
            Some(run) => (self.began)(run).max(before.at),
            None => before.at,
        }
    }

    /// Adds the tasks of a checkpoint whose step has not ended: those that failed, asked, run or would run next.
    fn push_open(&mut self, at: usize, rows: &mut Vec<StepRow>) {
        if self.has_step(at) {
            return;
        }
        let entry = self.tree.entries()[at].clone();
        // What the record has of the step happened later.
        let is_later = self.tree.has_step_after(at);
        let is_newest = at == 0 || is_later;
        for (nth, task) in entry.tasks.iter().enumerate() {
            let state = match is_later {
                true => StepState::Running,
                false => open_state(task),
            };
            let state = match state {
                StepState::Next if is_newest && self.is_active => StepState::Running,
                // It never ran there.
                StepState::Next if !is_newest => continue,
                state => state,
            };
            let is_over = state != StepState::Next && state != StepState::Running;
            rows.push(StepRow {
                run_id: entry.run_id.as_deref().map(|id| self.names.get(id)),
                step: entry.step.map(|step| step.saturating_add(1)),
                node: self.names.get(&task.node),
                source: self.source(at),
                state,
                question: task.asks.as_deref().filter(|_| is_over).map(Box::from),
                error: task.error.as_deref().filter(|_| is_over).map(Box::from),
                started: entry.at.filter(|_| state != StepState::Next),
                checkpoint: Some(at),
                recorded: Some(RecordedAs::Task(at, nth)),
                ..StepRow::default()
            });
        }
    }
}

/// Returns the state of a task of a step that has not ended.
fn open_state(task: &CheckpointTask) -> StepState {
    match &task.error {
        _ if task.has_result => StepState::Done,
        Some(_) if task.is_failed => StepState::Failed,
        Some(_) => StepState::Stopped,
        None if task.asks.is_some() => StepState::Asked,
        None => StepState::Next,
    }
}

/// Returns the checkpoint's task of a row, if it has one.
pub(super) fn task_of<'a>(tree: &'a CheckpointTree, row: &StepRow) -> Option<&'a CheckpointTask> {
    match row.recorded? {
        RecordedAs::Task(at, task) => tree.entries().get(at)?.tasks.get(task),
        RecordedAs::Write(..) | RecordedAs::Whole(_) => None,
    }
}

/// Returns the runs that may have executed a row: the one that wrote its checkpoint, and the one that asked there.
pub(super) fn runs_of(tree: &CheckpointTree, row: &StepRow) -> [Option<Arc<str>>; 2] {
    let asked = match row.recorded {
        Some(RecordedAs::Task(at, _)) if row.question.is_some() => tree
            .entries()
            .get(at)
            .and_then(|entry| entry.run_id.as_deref()),
        _ => None,
    };
    let asked = asked.filter(|run| row.run_id.as_deref() != Some(*run));
    [row.run_id.clone(), asked.map(Arc::from)]
}
