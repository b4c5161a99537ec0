//! The History view: the checkpoints of a thread as a tree, and the difference between two of them.

mod actions;
mod difference;
mod load;
mod rows;
mod view;

pub(super) use actions::{HistoryTab, act_on_checkpoint};

use super::find::next_where;
use super::views::View;
use crate::session::checkpoints::CheckpointState;
use crate::widgets::area::{Area, below, inside};
use crate::widgets::jobs::{JobProgress, PendingJob};
use crate::widgets::selection::Selection;
use difference::StateDifference;
use load::Loading;
use runtail_core::model::{Checkpoint, CheckpointTree, Parent};
use std::collections::HashMap;
use std::sync::Arc;

/// Minimum height for a heading above the rows.
const MIN_HEIGHT_HEADING: u16 = 6;
/// Bytes of states that are kept in addition to the shown ones.
const MAX_KEPT_STATES: usize = 8 << 20;

/// The history of a thread, as far as it is loaded.
#[derive(Debug, Default)]
pub struct History {
    tree: CheckpointTree,
    /// The row of each checkpoint in the drawing.
    row_of: Vec<usize>,
    loading: Loading,
    states: States,
    /// The checkpoint under the cursor.
    cursor: Selection,
    /// The base of the difference; `None` for the checkpoint before the cursor's.
    base: Option<String>,
    /// The first visible row.
    top: usize,
    difference: StateDifference,
    /// Whether the difference is shown below the tree, where there is no room beside it.
    is_open_below: bool,
    /// Whether the difference has the focus.
    is_in_difference: bool,
    /// What to do with a state once it is loaded.
    awaited: Option<(String, Purpose)>,
    /// Whether the server has no call for the state at a checkpoint.
    lacks_states: bool,
    /// The text to search for.
    search: String,
    /// The areas of the last layout.
    panes: Panes,
}

/// Why a state is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To show it in all views, this one first.
    Show(View),
    Edit,
    /// To edit it, and run from there.
    EditAndRun,
}

/// The areas of the view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Panes {
    /// The frames of the tree and of the difference, if they are side by side and have room for them.
    frames: Option<[Area; 2]>,
    heading: Option<Area>,
    columns: Option<Area>,
    /// The lines above the rows.
    above: u16,
    rows: Area,
    difference_heading: Option<Area>,
    difference: Option<Area>,
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

impl History {
    /// Returns the number of loaded checkpoints.
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// Returns the memory of the loaded states, in bytes.
    pub fn bytes(&self) -> usize {
        self.states
            .loaded
            .iter()
            .map(|(_, state)| state.text().len())
            .sum::<usize>()
            + self.len() * 512
    }

    /// Returns the index of the checkpoint under the cursor.
    pub fn under_cursor(&self) -> Option<usize> {
        self.tree.find(self.cursor.selected.as_deref()?)
    }

    /// Returns the id of the checkpoint under the cursor.
    pub fn id_under_cursor(&self) -> Option<&str> {
        self.entry_under_cursor().map(|entry| &*entry.id)
    }

    fn entry_under_cursor(&self) -> Option<&Arc<Checkpoint>> {
        self.tree.entries().get(self.under_cursor()?)
    }

    /// Returns the base of the difference: A, else the checkpoint before the cursor's. An empty id is the empty state before
    /// the first checkpoint.
    fn base_id(&self) -> Option<&str> {
        if let Some(base) = &self.base {
            return Some(base);
        }
        let entry = self.entry_under_cursor()?;
        Some(match self.tree.parent(self.under_cursor()?) {
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

    /// Uses another set of checkpoints. The cursor stays on its checkpoint.
    fn set_checkpoints(&mut self, checkpoints: impl IntoIterator<Item = Arc<Checkpoint>>) {
        // The distance of the cursor from the top of the window stays, too. Above the newest one there is room for newer ones.
        let offset = self
            .cursor_row()
            .filter(|row| *row > 0)
            .map(|row| row.saturating_sub(self.top));
        self.tree = CheckpointTree::new(checkpoints);
        self.row_of = vec![0; self.tree.len()];
        for (row, entry) in self
            .tree
            .rows()
            .iter()
            .enumerate()
            .filter_map(|(row, drawn)| Some((row, drawn.entry?)))
        {
            self.row_of[entry] = row;
        }
        self.cursor.clamp(&self.ids(), usize::MAX);
        if let (Some(offset), Some(row)) = (offset, self.cursor_row()) {
            self.top = row.saturating_sub(offset);
        }
    }

    fn ids(&self) -> Vec<String> {
        self.tree
            .entries()
            .iter()
            .map(|entry| entry.id.clone())
            .collect()
    }

    fn cursor_row(&self) -> Option<usize> {
        self.row_of.get(self.under_cursor()?).copied()
    }

    fn set_cursor(&mut self, entry: usize) {
        self.cursor.select(&self.ids(), usize::MAX, entry);
        self.difference.reset_scroll();
        self.await_nothing();
        self.scroll_to_cursor();
    }

    /// Drops what would be opened once it is loaded.
    fn await_nothing(&mut self) {
        self.awaited = None;
        self.forget_details();
    }

    fn scroll_to_cursor(&mut self) {
        let height = usize::from(self.panes.rows.h);
        let Some(row) = self.cursor_row().filter(|_| height > 0) else {
            return;
        };
        // The rows of the first checkpoint include the line about what is loaded.
        let last = if row + 1 == self.tree.rows().len() {
            self.tree.rows().len() + self.footer_height()
        } else {
            row + 1
        };
        self.top = self.top.clamp(last.saturating_sub(height).min(row), row);
    }

    /// Moves the cursor to a checkpoint, or begins there once the first page is loaded. Returns false if it is not loaded.
    pub fn go_to(&mut self, id: &str) -> bool {
        self.is_in_difference = false;
        if self.tree.is_empty() {
            self.cursor.selected = Some(id.to_string());
            return true;
        }
        self.tree
            .find(id)
            .map(|entry| self.set_cursor(entry))
            .is_some()
    }

    /// Moves the cursor by checkpoints, or scrolls the difference if it has the focus.
    pub fn step(&mut self, lines: isize) {
        if self.is_in_difference {
            return self.difference.scroll(lines);
        }
        let Some(at) = self.under_cursor() else {
            return;
        };
        let to = at
            .saturating_add_signed(lines)
            .min(self.tree.len().saturating_sub(1));
        self.set_cursor(to);
    }

    /// Moves to the newest or to the oldest loaded checkpoint.
    pub fn to_edge(&mut self, is_start: bool) {
        if self.is_in_difference {
            return self.difference.scroll(if is_start {
                isize::MIN / 2
            } else {
                isize::MAX / 2
            });
        }
        if !self.tree.is_empty() {
            self.set_cursor(if is_start { 0 } else { self.tree.len() - 1 });
        }
    }

    /// Moves the cursor to a line of the view.
    pub fn point_at(&mut self, line: usize) {
        let Some(row) = line
            .checked_sub(self.panes.above.into())
            .filter(|line| *line < usize::from(self.panes.rows.h))
        else {
            return;
        };
        if let Some(entry) = self
            .tree
            .rows()
            .get(self.top + row)
            .and_then(|row| row.entry)
        {
            self.is_in_difference = false;
            self.set_cursor(entry);
        }
    }

    /// Returns the number of lines on a page.
    pub fn height(&self) -> usize {
        let area = self
            .panes
            .difference
            .filter(|_| self.is_in_difference)
            .unwrap_or(self.panes.rows);
        area.h.into()
    }

    /// Returns whether the difference is visible.
    pub fn shows_difference(&self) -> bool {
        self.panes.difference.is_some()
    }

    /// Computes the areas of the view. `is_titled`: whether something else has its title, so that it is one half of two views.
    fn panes_in(&self, area: Area, is_titled: bool) -> Panes {
        let parts = match (area.is_wide(), self.is_open_below) {
            (true, _) => Some(area.columns((area.w * 9 / 20).max(60))),
            (false, true) => Some(area.lines(area.h / 2)),
            (false, false) => None,
        };
        let (left, right) = (
            parts.map_or(area, |[left, _]| left),
            parts.map(|[_, right]| right),
        );
        let has_frames = area.is_wide() && area.is_high() && !is_titled;
        if let Some(right) = right.filter(|_| has_frames) {
            let rows = inside(left);
            return Panes {
                frames: Some([left, right]),
                heading: None,
                columns: Some(Area { h: 1, ..rows }),
                above: 2,
                rows: below(rows, 1),
                difference_heading: None,
                difference: Some(inside(right)),
            };
        }
        let has_columns = left.h >= MIN_HEIGHT_HEADING;
        let has_heading = has_columns && !is_titled;
        let lines = |area: Area, y: u16, h: u16| below(area, y).lines(h)[0];
        let above = u16::from(has_heading) + u16::from(has_columns);
        Panes {
            frames: None,
            heading: has_heading.then(|| lines(left, 0, 1)),
            columns: has_columns.then(|| lines(left, above - 1, 1)),
            above,
            rows: lines(left, above, left.h.saturating_sub(above)),
            difference_heading: right.map(|right| lines(right, 0, 1)),
            difference: right.map(|right| lines(right, 1, right.h.saturating_sub(1))),
        }
    }

    /// Returns what Enter does, for the footer.
    pub fn open_label(&self) -> &'static str {
        if self.shows_difference() {
            "go there"
        } else {
            "difference"
        }
    }

    /// Returns whether the states at checkpoints can be loaded.
    pub fn has_states(&self) -> bool {
        !self.is_empty() && !self.lacks_states && !self.loading.is_recorded
    }

    /// Returns whether the cursor is at the newest checkpoint.
    pub fn is_at_head(&self) -> bool {
        self.under_cursor() == Some(0)
    }

    /// Returns whether there are branches to compare with the one under the cursor.
    pub fn has_other_branch(&self) -> bool {
        self.under_cursor()
            .is_some_and(|at| self.tree.split(at).is_some())
    }

    /// Returns the run that wrote a checkpoint, if it wrote more of them later.
    fn run_that_continued(&self, id: &str) -> Option<String> {
        let entry = &self.tree.entries()[self.tree.find(id)?];
        let run = entry.run_id.clone()?;
        let is_later =
            |other: &Arc<Checkpoint>| other.id > entry.id && other.run_id.as_ref() == Some(&run);
        self.tree.entries().iter().any(is_later).then_some(run)
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

    /// Adjusts the layout to the area of the view.
    pub fn lay_out(&mut self, area: Area, is_titled: bool) {
        self.panes = self.panes_in(area, is_titled);
        if !self.shows_difference() {
            self.is_in_difference = false;
        }
        self.scroll_to_cursor();
        let rows = self.tree.rows().len() + self.footer_height();
        self.top = self
            .top
            .min(rows.saturating_sub(usize::from(self.panes.rows.h)));
        self.difference.height = self.panes.difference.map_or(0, |area| area.h.into());
        self.compare();
    }

    /// Compares the two states once both are loaded.
    fn compare(&mut self) {
        let Some((old, new)) = self.pair().filter(|_| self.shows_difference()) else {
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

    /// Moves to the next or previous question, failure or branch point, or to the next entry with the searched text. Returns
    /// whether there is one.
    fn next_of_interest(&mut self, forward: bool) -> bool {
        let Some(at) = self.under_cursor() else {
            return false;
        };
        let is_wanted = |entry: &usize| match self.search.is_empty() {
            true => {
                self.tree.outcome(*entry) != runtail_core::model::StepOutcome::Good
                    || self.tree.is_branch_point(*entry)
            }
            false => self.matches(*entry),
        };
        let found = next_where(self.tree.len(), at, forward, is_wanted);
        found.map(|entry| self.set_cursor(entry)).is_some()
    }

    /// Returns whether a checkpoint's row or its state, if that is loaded, has the searched text.
    fn matches(&self, entry: usize) -> bool {
        let Some(checkpoint) = self.tree.entries().get(entry) else {
            return false;
        };
        let wanted = self.search.to_lowercase();
        let contains = |text: &str| text.to_lowercase().contains(&wanted);
        contains(&self.tree.wrote(entry))
            || self.tree.writers(entry).iter().any(|node| contains(node))
            || contains(&checkpoint.id)
            || self
                .states
                .get(&checkpoint.id)
                .is_some_and(|state| contains(state.values().as_str()))
    }

    /// Returns the searched text.
    pub fn searched(&self) -> &str {
        &self.search
    }

    /// Searches for a text, and moves to its first entry from the cursor on.
    pub fn search(&mut self, text: &str) {
        self.search = text.to_string();
        let Some(at) = self.under_cursor().filter(|_| !text.is_empty()) else {
            return;
        };
        if !self.matches(at) && !self.next_of_interest(true) {
            self.next_of_interest(false);
        }
    }
}
