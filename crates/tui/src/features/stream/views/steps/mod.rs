//! The Steps view: one row for each task, from the stream and from the checkpoints of the thread, and the difference between two
//! states.

mod actions;
mod difference;
mod load;
mod rows;
mod tab;

pub use actions::act_on_checkpoint;
pub(super) use actions::with_state;
pub use rows::{SHORT_TOOK, is_input, node_width};
pub use tab::StepsTab;

use super::View;
use crate::features::stream::viewer::Viewer;
use crate::session::checkpoints::CheckpointState;
use crate::widgets::jobs::{JobProgress, PendingJob};
use crate::widgets::line::Line;
use crate::widgets::scroll::{LinePos, Place};
use difference::StateDifference;
use jiff::Timestamp;
use load::Loading;
use rows::StepColumns;
use runtail_core::model::{Checkpoint, CheckpointTree, Parent};
use runtail_core::text;
use runtail_stream::Seq;
use runtail_stream::projection::{Projections, RecordedAs, StepRow, StepState, Steps};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Bytes of states that are kept in addition to the shown ones.
const MAX_KEPT_STATES: usize = 8 << 20;

/// The steps of a thread, as far as they are known.
#[derive(Debug, Default)]
pub struct StepsState {
    /// The checkpoints that were loaded in pages; empty before the first page.
    pages: Arc<CheckpointTree>,
    loading: Loading,
    states: States,
    steps: Steps,
    /// What the rows were joined from.
    joined: Option<JoinedFrom>,
    /// How often they were joined.
    joins: u64,
    /// The indexes of the rows that no fold hides.
    visible: Vec<usize>,
    /// The bars whose nested rows are visible.
    unfolded: HashSet<u64>,
    columns: StepColumns,
    /// The row under the cursor.
    cursor: Option<usize>,
    /// A checkpoint to move to once it has a row.
    wanted: Option<String>,
    /// The base of the difference; `None` for the checkpoint before the cursor's.
    base: Option<String>,
    difference: StateDifference,
    /// Whether the difference is shown below the rows.
    is_open: bool,
    /// Whether the difference has the focus.
    is_in_difference: bool,
    /// What to do with a state once it is loaded.
    awaited: Option<(String, Purpose)>,
    /// Whether the server has no call for the state at a checkpoint.
    lacks_states: bool,
    /// Whether the oldest visible row is near the top of the window.
    is_near_start: bool,
    /// The columns and lines of the view.
    size: (usize, usize),
    /// The lines above and below the rows.
    around: (Vec<Line>, Vec<Line>),
}

/// Why a state is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To show it in all views, this one first.
    Show(View),
    Edit,
    /// To edit it, and run from there.
    EditAndRun,
}

/// The versions of what rows are joined from.
#[derive(Debug)]
struct JoinedFrom {
    tree: Arc<CheckpointTree>,
    /// The counters of the timeline, and its first bar.
    timeline: (u64, u64, u64, u64),
    /// The end of the updates, and the revision of the status.
    others: (u64, u64),
    until: Option<Timestamp>,
}

impl JoinedFrom {
    fn of(tree: &Arc<CheckpointTree>, of: &Projections, until: Option<Timestamp>) -> JoinedFrom {
        let (timeline, updates) = (&of.timeline, of.updates.rows());
        JoinedFrom {
            tree: tree.clone(),
            timeline: (
                timeline.shape(),
                timeline.changes(),
                timeline.generation(),
                timeline.bars().evicted(),
            ),
            others: (
                updates.evicted() + updates.len() as u64,
                of.status.revision(),
            ),
            until,
        }
    }

    fn is_same(&self, other: &JoinedFrom) -> bool {
        Arc::ptr_eq(&self.tree, &other.tree)
            && (self.timeline, self.others, self.until)
                == (other.timeline, other.others, other.until)
    }
}

/// The states that were loaded, least recently used first.
#[derive(Debug, Default)]
struct States {
    loaded: Vec<(String, Arc<CheckpointState>)>,
    failed: HashMap<String, String>,
}

impl States {
    fn get(&self, id: &str) -> Option<&Arc<CheckpointState>> {
        self.loaded
            .iter()
            .find(|(known, _)| known == id)
            .map(|(_, state)| state)
    }

    /// Keeps a state, and drops the oldest ones that are neither shown nor small.
    fn keep(&mut self, id: String, state: Arc<CheckpointState>, shown: &[String]) {
        self.loaded.retain(|(known, _)| *known != id);
        self.loaded.push((id, state));
        let mut room = MAX_KEPT_STATES;
        for at in (0..self.loaded.len()).rev() {
            let (id, state) = &self.loaded[at];
            if shown.contains(id) {
                continue;
            }
            match room.checked_sub(state.text().len()) {
                Some(rest) => room = rest,
                None => drop(self.loaded.remove(at)),
            }
        }
    }
}

impl StepsState {
    /// Returns the memory of the loaded checkpoints, of their states and of the rows, in bytes.
    pub fn bytes(&self) -> usize {
        let states = self.states.loaded.iter();
        states.map(|(_, state)| state.text().len()).sum::<usize>()
            + self.pages.len() * 768
            + std::mem::size_of_val(self.steps.rows())
    }

    /// Returns the rows, those in folds included.
    pub fn steps(&self) -> &Steps {
        &self.steps
    }

    /// Returns the row of an entry.
    pub fn row(&self, key: u64) -> Option<&StepRow> {
        let at = self.visible.get(usize::try_from(key).ok()?)?;
        self.steps.rows().get(*at)
    }

    /// Returns the row under the cursor.
    fn current(&self) -> Option<&StepRow> {
        self.steps.rows().get(self.cursor?)
    }

    /// Returns the checkpoints with rows.
    fn tree(&self) -> &CheckpointTree {
        self.steps.tree()
    }

    /// Returns all loaded checkpoints, also while the rows are those up to one of them.
    pub(super) fn all(&self) -> &CheckpointTree {
        match self.pages.is_empty() {
            true => self.tree(),
            false => &self.pages,
        }
    }

    /// Returns the name of a checkpoint: its step. Steps of several branches have the same number, so with another branch its
    /// id follows.
    fn step_name(&self, id: &str) -> String {
        let at = self.all().find(id);
        let step = at.and_then(|at| self.all().entries()[at].step);
        match (step, at.is_some_and(|at| self.all().is_current(at))) {
            (Some(step), true) => format!("step {step}"),
            (Some(step), false) => format!("step {step} ({})", text::short_id(id)),
            (None, _) => format!("checkpoint {}", text::short_id(id)),
        }
    }

    /// Returns the index of the checkpoint under the cursor.
    fn under_cursor(&self) -> Option<usize> {
        self.current()?.checkpoint
    }

    fn entry_under_cursor(&self) -> Option<&Arc<Checkpoint>> {
        self.tree().entries().get(self.under_cursor()?)
    }

    /// Returns the id of the checkpoint under the cursor: the one that its row led to, else the one before it.
    pub fn id_under_cursor(&self) -> Option<&str> {
        self.entry_under_cursor().map(|entry| &*entry.id)
    }

    /// Returns the base of the difference: A, else the checkpoint before the cursor's. An empty id is the empty state before
    /// the first checkpoint.
    fn base_id(&self) -> Option<&str> {
        if let Some(base) = &self.base {
            return Some(base);
        }
        let entry = self.entry_under_cursor()?;
        Some(match self.tree().parent(self.under_cursor()?) {
            Parent::None => "",
            Parent::At(_) | Parent::NotLoaded => entry.parent.as_deref().unwrap_or_default(),
        })
    }

    /// Returns the ids of the two states of the difference: the old and the new one.
    fn pair(&self) -> Option<(String, String)> {
        Some((
            self.base_id()?.to_string(),
            self.id_under_cursor()?.to_string(),
        ))
    }

    /// Drops what would be opened once it is loaded.
    fn await_nothing(&mut self) {
        self.awaited = None;
        self.forget_details();
    }

    /// Moves to a checkpoint once it has a row. Returns false if it is not loaded.
    pub fn go_to(&mut self, id: &str) -> bool {
        let is_known = self.pages.is_empty() || self.pages.find(id).is_some();
        self.wanted = is_known.then(|| id.to_string());
        is_known
    }

    /// Shows the difference between a checkpoint and the one before it.
    pub fn show_difference(&mut self, id: &str) {
        (self.is_open, self.base) = (true, None);
        self.go_to(id);
    }

    /// Returns whether the states at checkpoints can be loaded.
    pub fn has_states(&self) -> bool {
        !self.tree().is_empty() && !self.lacks_states && !self.loading.is_recorded
    }

    /// Returns the run that wrote a checkpoint, if it wrote more of them later.
    fn run_that_continued(&self, id: &str) -> Option<String> {
        let entries = self.tree().entries();
        let entry = &entries[self.tree().find(id)?];
        let run = entry.run_id.clone()?;
        let is_later =
            |other: &Arc<Checkpoint>| other.id > entry.id && other.run_id.as_ref() == Some(&run);
        entries.iter().any(is_later).then_some(run)
    }

    pub fn work(&self) -> Option<&PendingJob> {
        self.difference.work()
    }

    pub fn work_mut(&mut self) -> Option<&mut PendingJob> {
        self.difference.work_mut()
    }

    /// Applies the progress of a comparison.
    pub fn on_job_part(&mut self, number: u64, part: &JobProgress) {
        self.difference.on_job_part(number, part);
    }

    /// Joins the rows again when another log is shown.
    pub fn forget(&mut self) {
        self.joined = None;
    }

    /// Compares the two states once both are loaded.
    fn compare(&mut self) {
        let Some((old, new)) = self.pair().filter(|_| self.is_open) else {
            return;
        };
        let empty: Arc<str> = "{}".into();
        let values = |id: &str| match id {
            "" => Some(empty.clone().into()),
            id => self.states.get(id).map(|state| state.values()),
        };
        match (values(&old), values(&new)) {
            (Some(before), Some(after)) => self.difference.compare((old, new), before, after),
            _ => self.difference.clear_unless(&(old, new)),
        }
    }

    /// Lists the rows that no fold hides.
    fn fold_rows(&mut self) {
        self.visible.clear();
        let mut at = 0;
        while let Some(row) = self.steps.rows().get(at) {
            self.visible.push(at);
            let is_folded = row.bar.is_none_or(|bar| !self.unfolded.contains(&bar));
            at += 1 + if is_folded { row.nested } else { 0 };
        }
    }

    /// Returns the entry of a row, or of the row that hides it.
    fn key_of(&self, row: usize) -> u64 {
        let after = self.visible.partition_point(|at| *at <= row);
        after.saturating_sub(1) as u64
    }

    /// Joins the rows if anything changed, and keeps the cursor on its row. Returns whether entries were renumbered.
    fn join(&mut self, of: &Projections, until: Option<Timestamp>, place: &mut Place) -> bool {
        let is_shown_checkpoint = of.status.as_of().is_some();
        let tree = match self.pages.is_empty() || is_shown_checkpoint {
            true => of.status.tree(),
            false => &self.pages,
        };
        let from = JoinedFrom::of(tree, of, until);
        if self
            .joined
            .as_ref()
            .is_some_and(|known| known.is_same(&from))
        {
            return false;
        }
        let steps = Steps::join(tree.clone(), of, until);
        let old = std::mem::replace(&mut self.steps, steps);
        self.joined = Some(from);
        self.joins += 1;
        let spots =
            [place.cursor, place.top].map(|spot| self.visible.get(spot.key as usize).copied());
        self.fold_rows();
        self.columns = StepColumns::of(&self.steps);
        for (spot, row) in [&mut place.cursor, &mut place.top].into_iter().zip(spots) {
            let same = row.and_then(|row| same_row(&old, row, &self.steps));
            if let Some(row) = same {
                *spot = LinePos::of(self.key_of(row));
            }
        }
        true
    }

    /// Returns the entry of the next or previous question, failure or branch point.
    fn next_of_interest(&self, from: u64, forward: bool) -> Option<u64> {
        let is_wanted = |key: &u64| {
            self.row(*key).is_some_and(|row| {
                let is_open = matches!(row.state, StepState::Asked | StepState::Failed);
                is_open
                    || row.question.is_some()
                    || row
                        .checkpoint
                        .is_some_and(|at| self.tree().is_branch_point(at))
            })
        };
        let end = self.visible.len() as u64;
        match forward {
            true => (from + 1..end).find(is_wanted),
            false => (0..from.min(end)).rev().find(is_wanted),
        }
    }
}

/// Returns the index of the row of other steps that is about the same task.
fn same_row(old: &Steps, row: usize, new: &Steps) -> Option<usize> {
    let row = old.rows().get(row)?;
    let id = |steps: &Steps, row: &StepRow| -> Option<(String, usize)> {
        let (at, nth) = match row.recorded? {
            RecordedAs::Task(at, nth) | RecordedAs::Write(at, nth) => (at, nth),
            RecordedAs::Whole(at) => (at, 0),
        };
        Some((steps.tree().entries().get(at)?.id.clone(), nth))
    };
    if let Some((id, nth)) = id(old, row) {
        let at = new.tree().find(&id)?;
        let is_same = |new: &StepRow| match new.recorded {
            Some(RecordedAs::Task(of, n) | RecordedAs::Write(of, n)) => (of, n) == (at, nth),
            Some(RecordedAs::Whole(of)) => of == at,
            None => false,
        };
        return new.rows().iter().position(is_same);
    }
    let is_same = |new: &StepRow| {
        new.bar.is_some() && new.bar == row.bar
            || new.bar.is_none() && new.written.is_some() && new.written == row.written
    };
    new.rows().iter().position(is_same)
}

impl Viewer {
    /// Joins the rows if anything changed. Returns how often they were joined.
    pub fn join_steps(&mut self) -> u64 {
        let until = self.records_until();
        let slot = &mut self.slots[View::Steps as usize];
        let steps = &mut self.views.steps;
        if steps.join(&self.projections, until, &mut slot.place) {
            slot.forget();
        }
        steps.joins
    }

    /// Returns the time up to which the records are shown: during time travel that of the shown event.
    fn records_until(&self) -> Option<Timestamp> {
        let playhead = self.playhead()?;
        let newest = self.event_log.newest_seq();
        playhead.time.filter(|_| playhead.at < newest)
    }

    /// Returns the event of a row: what it wrote, else the first that mentions it, else the snapshot with its record.
    pub fn seq_of_step(&self, row: &StepRow) -> Seq {
        row.place().unwrap_or_else(|| self.seq_of_records())
    }

    /// Returns the snapshot with the newest records, else the newest event.
    pub fn seq_of_records(&self) -> Seq {
        let loaded = self.projections.status.loaded();
        loaded.map_or(self.event_log.last_seq(), |loaded| loaded.seq)
    }
}
