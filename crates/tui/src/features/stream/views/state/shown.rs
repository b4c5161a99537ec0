//! What the State view shows: a state of the event log as a tree, and its changes.

use crate::features::stream::views::row_at;
use crate::widgets::diff_view::{Base, Comparison};
use crate::widgets::jobs::{JobProgress, PendingJob};
use crate::widgets::json_tree::Tree;
use runtail_stream::Seq;
use runtail_stream::projection::Projections;
use std::sync::Arc;

/// What the State view shows.
#[derive(Debug, Default)]
pub struct ShownState {
    pub tree: Option<Tree>,
    /// The number of the snapshot, counting evicted ones, and its event.
    pub(super) number: Option<u64>,
    pub(super) seq: Option<Seq>,
    /// The changes to that snapshot.
    pub comparison: Comparison,
    /// The snapshot that others are compared with: its number, and its event if it was still known.
    pub marked: Option<(u64, Option<Seq>)>,
}

impl ShownState {
    /// Forgets the snapshot, so that the one at the cursor is shown anew.
    pub fn forget_snapshot(&mut self) {
        (self.number, self.seq) = (None, None);
    }

    /// Drops the shown state if the log has other states. They are numbered in arrival order, so numbers differ if the start was
    /// evicted.
    pub fn forget_others(&mut self, projections: &Projections) {
        self.comparison.clear();
        let rows = projections.values.rows();
        let snapshot = self.number.and_then(|number| row_at(rows, number));
        let is_other = snapshot.is_some_and(|snapshot| Some(snapshot.seq) != self.seq);
        if is_other || rows.is_empty() {
            self.tree = None;
            self.forget_snapshot();
        }
    }

    /// Returns the number of the snapshot on screen. It lags behind while a large state is being parsed, and is `None` before the
    /// first state.
    pub(super) fn on_screen(&self) -> Option<u64> {
        self.tree.as_ref()?.tag()
    }

    /// Marks the changes in the tree.
    pub(super) fn mark_changes(&mut self) {
        let Some(tree) = &mut self.tree else { return };
        let result = self
            .comparison
            .result()
            .filter(|difference| Arc::ptr_eq(&difference.new, tree.doc()));
        tree.set_marks(result.map(|difference| difference.marks()));
    }

    /// Returns the background work.
    pub fn jobs(&self) -> impl Iterator<Item = &PendingJob> {
        let of_tree = self.tree.iter().flat_map(Tree::jobs);
        of_tree.chain(self.comparison.work())
    }

    /// Returns the background work, so that it can be numbered.
    pub fn jobs_mut(&mut self) -> impl Iterator<Item = &mut PendingJob> {
        let of_tree = self.tree.iter_mut().flat_map(Tree::jobs_mut);
        of_tree.chain(self.comparison.work_mut())
    }

    /// Applies a result of the background work.
    pub fn on_job_part(&mut self, number: u64, part: &JobProgress) {
        if let Some(tree) = &mut self.tree {
            tree.take(number, part);
        }
        if self.comparison.take(number, part) {
            self.mark_changes();
        }
    }

    /// Returns whether a finished search found nothing.
    pub(super) fn finds_nothing(&self) -> bool {
        let is_over = |tree: &&Tree| tree.search_progress().is_none();
        let place = self
            .tree
            .as_ref()
            .filter(is_over)
            .and_then(Tree::search_place);
        place.is_some_and(|(_, count)| count == 0)
    }

    /// Shows the changes to another state, or the state again.
    pub(super) fn show_changes(&mut self, to: Option<Base>) {
        self.comparison.shown = to.is_some();
        self.comparison.base = to.unwrap_or(Base::Before);
    }

    /// Returns the JSON under the cursor, unless changes are shown, which have two values.
    pub fn json_under_cursor(&self) -> Option<&str> {
        let tree = self.tree.as_ref().filter(|_| !self.comparison.shown)?;
        tree.json_under_cursor()
    }

    /// Returns the path under the cursor.
    pub fn path_under_cursor(&self) -> Option<String> {
        match self.comparison.shown {
            true => self.comparison.path_under_cursor(),
            false => self.tree.as_ref()?.path_under_cursor(),
        }
    }
}
