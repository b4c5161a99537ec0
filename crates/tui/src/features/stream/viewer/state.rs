//! The State view: one state of the event log as a tree, or its changes. Its position among the events is that of the
//! shown state.

use super::rows::{extent, row_at};
use super::{View, Viewer};
use crate::features::stream::views;
use crate::widgets::diff_view::{Base, Comparison};
use crate::widgets::jobs::{JobProgress, PendingJob};
use crate::widgets::json_tree::Tree;
use crate::widgets::line::Line;
use crate::widgets::scroll::{Place, ScrollList};
use runtail_stream::projection::Snapshot;
use runtail_stream::projection::index::Excerpt;

impl Viewer {
    /// Returns the snapshot with this number, if it is still in memory.
    pub fn snapshot_at(&self, number: u64) -> Option<&Snapshot> {
        row_at(self.projections.values.rows(), number)
    }

    /// Returns the number of the snapshot on screen. It lags behind while a large state is being parsed, and is `None`
    /// before the first state.
    pub fn state_shown(&self) -> Option<u64> {
        self.state.as_ref()?.tag()
    }

    /// Shows the state at the cursor. While following new events, this is the newest state of the root namespace (or of
    /// any, if the root has none); otherwise it is the state after the event under the cursor.
    pub(crate) fn sync_state(&mut self) {
        let rows = self.projections.values.rows();
        let root = |s: &Snapshot| s.ns.is_empty();
        let newest = || rows.iter().rposition(root).or(rows.len().checked_sub(1));
        let at = match self.anchor {
            None => newest(),
            Some(seq) => {
                let from = rows.partition_point(|s| s.seq < seq);
                let own = rows.get(from).filter(|s| s.seq == seq).map(|_| from);
                let after = rows[from..].iter().position(root).map(|n| from + n);
                own.or(after)
                    .or_else(|| rows[..from].iter().rposition(root))
                    .or_else(newest)
            }
        };
        let number = at.map(|n| rows.evicted() + n as u64);
        let is_another = at.and_then(|n| rows.get(n)).map(|row| row.seq) != self.snapshot_seq;
        if number != self.snapshot || is_another || (number.is_some() && self.state.is_none()) {
            self.show_snapshot(number);
        }
        self.compare_states();
        let (width, height) = self.windows[View::State as usize];
        if let Some(tree) = &mut self.state {
            tree.prepare(width, height);
        }
        self.comparison.prepare(width, height);
    }

    /// Returns the text of a state, if its event is still in memory.
    pub(crate) fn state_text(&self, number: u64) -> Option<Excerpt> {
        let snapshot = self.snapshot_at(number)?;
        let text = self.event_log.get(snapshot.seq)?.data.json()?.clone();
        Excerpt::new(text, snapshot.from..snapshot.from + snapshot.size)
    }

    fn show_snapshot(&mut self, number: Option<u64>) {
        let Some((number, text)) =
            number.and_then(|number| Some((number, self.state_text(number)?)))
        else {
            return;
        };
        let keys = self.snapshot_at(number).map(|s| {
            s.keys
                .iter()
                .map(|key| (key.name.clone(), key.size))
                .collect()
        });
        self.state
            .get_or_insert_with(Tree::empty)
            .show(text, number, keys.unwrap_or_default());
        self.snapshot = Some(number);
        self.snapshot_seq = self.snapshot_at(number).map(|snapshot| snapshot.seq);
    }

    /// Compares the shown state with the previous one, or with the marked one.
    fn compare_states(&mut self) {
        let Some((new, doc)) = self
            .state
            .as_ref()
            .and_then(|tree| Some((tree.tag()?, tree.doc().clone())))
        else {
            return;
        };
        let marked = self.comparison.base == Base::Marked;
        let is_marked = |number: &u64| {
            self.snapshot_at(*number).map(|snapshot| snapshot.seq) == self.marked_seq
        };
        let old = if marked {
            self.marked_state.filter(is_marked)
        } else {
            self.snapshot_at(new).and_then(|s| s.before)
        };
        let known = old.and_then(|old| Some((old, self.snapshot_at(old)?, self.state_text(old)?)));
        let Some((old, snapshot, text)) = known else {
            self.comparison.clear();
            return;
        };
        let about = views::state::since(old, snapshot, marked, &self.tz);
        if self.comparison.compare((old, new), about, text, &doc) {
            self.mark_changes();
        }
    }

    /// Marks the changes in the tree.
    fn mark_changes(&mut self) {
        let Some(tree) = &mut self.state else { return };
        let result = self
            .comparison
            .result()
            .filter(|difference| std::sync::Arc::ptr_eq(&difference.new, tree.doc()));
        tree.set_marks(result.map(|difference| difference.marks()));
    }

    /// Returns the state's tree for moving and folding. Also keeps the state, because the user is reading it.
    pub fn tree(&mut self) -> Option<&mut Tree> {
        self.stay_at_state();
        self.state.as_mut()
    }

    /// Returns whether the State view shows changes instead of the state.
    pub fn shows_changes(&self) -> bool {
        self.comparison.shown
    }

    /// Returns the changes, for moving in them.
    pub fn changes(&mut self) -> &mut Comparison {
        self.stay_at_state();
        &mut self.comparison
    }

    /// Returns the lines of the changes, and whether each is under the cursor.
    pub(crate) fn changed_lines(&self) -> Vec<(Line, bool)> {
        if self.comparison.pair().is_some() || self.state_shown().is_none() {
            return self.comparison.window();
        }
        let text = match self.comparison.base {
            _ if self.shown_checkpoint().is_some() => {
                "Nothing to compare here: the History view compares checkpoints."
            }
            Base::Before => "Nothing to compare: this is the first state in this namespace.",
            Base::Marked => "The marked state was evicted. Press m to mark another one.",
        };
        vec![(Line::dim(text), false)]
    }

    /// Moves in the state or in its changes.
    pub(crate) fn move_in_state(
        &mut self,
        change: impl FnOnce(&mut Place, &dyn ScrollList, usize),
    ) {
        let height = self.windows[View::State as usize].1;
        if self.comparison.shown {
            return self
                .changes()
                .go(|place, rows, height| change(place, rows, height));
        }
        if let Some(tree) = self.tree() {
            let mut place = tree.place;
            change(&mut place, &*tree, height);
            tree.place = place;
        }
    }

    /// Toggles between the state and its changes since the previous one.
    pub fn toggle_changes(&mut self) {
        self.comparison.shown = !self.comparison.shown || self.comparison.base == Base::Marked;
        self.comparison.base = Base::Before;
    }

    /// Toggles between the state and its changes since the marked one. Returns false if no state is marked.
    pub fn toggle_changes_since_mark(&mut self) -> bool {
        if self.marked_state.is_none() {
            return false;
        }
        let back = self.comparison.shown && self.comparison.base == Base::Marked;
        self.comparison.shown = !back;
        self.comparison.base = if back { Base::Before } else { Base::Marked };
        true
    }

    /// Shows the state instead of any changes.
    pub fn hide_changes(&mut self) {
        self.comparison.shown = false;
        self.comparison.base = Base::Before;
    }

    /// Marks the shown state as the base for comparisons. Returns its number.
    pub fn mark_state(&mut self) -> Option<u64> {
        self.marked_state = self.state_shown();
        self.marked_seq = self
            .marked_state
            .and_then(|number| self.snapshot_at(number))
            .map(|snapshot| snapshot.seq);
        self.marked_state
    }

    /// Returns whether the cursor is on a change.
    pub fn has_change_under_cursor(&self) -> bool {
        self.comparison.node_under_cursor().is_some()
    }

    /// Moves from a change to its place in the state.
    pub fn open_change(&mut self) {
        let Some(node) = self.comparison.node_under_cursor() else {
            return;
        };
        self.comparison.shown = false;
        if let Some(tree) = self.tree() {
            tree.go_to(node);
        }
    }

    /// Returns the path under the cursor in the State view.
    pub fn path_under_cursor(&self) -> Option<String> {
        match self.comparison.shown {
            true => self.comparison.path_under_cursor(),
            false => self.state.as_ref()?.path_under_cursor(),
        }
    }

    /// Returns the value under the cursor in the State view.
    pub(crate) fn value_under_cursor(&self) -> Option<String> {
        match self.comparison.shown {
            true => self.comparison.value_under_cursor(),
            false => self.state.as_ref()?.value_under_cursor(),
        }
    }

    /// Returns the background work of the State view.
    pub fn jobs(&self) -> impl Iterator<Item = &PendingJob> {
        self.state
            .iter()
            .flat_map(Tree::jobs)
            .chain(self.comparison.work())
            .chain(self.history.work())
    }

    /// Returns the background work, so that it can be numbered.
    pub fn jobs_mut(&mut self) -> impl Iterator<Item = &mut PendingJob> {
        let of_state = self
            .state
            .iter_mut()
            .flat_map(Tree::jobs_mut)
            .chain(self.comparison.work_mut());
        of_state.chain(self.history.work_mut())
    }

    /// Applies a result of the background work.
    pub fn on_job_part(&mut self, number: u64, part: &JobProgress) {
        self.history.on_job_part(number, part);
        if let Some(tree) = &mut self.state {
            tree.take(number, part);
        }
        if self.comparison.take(number, part) {
            self.mark_changes();
        }
    }

    /// Moves the cursor to the shown state.
    pub(crate) fn stay_at_state(&mut self) {
        if let Some(seq) = self
            .snapshot
            .and_then(|n| self.snapshot_at(n))
            .map(|s| s.seq)
        {
            self.set_anchor(View::State, Some(seq));
        }
    }

    /// Moves by some states. Moving past the newest one follows new events again.
    pub fn step_state(&mut self, by: isize) {
        let extent = extent(self.projections.values.rows());
        let Some(at) = self.snapshot else { return };
        let target = at.saturating_add_signed(by as i64).max(extent.first());
        if target >= extent.end() {
            self.set_anchor(View::State, None);
            self.sync_state();
        } else {
            self.show_snapshot(Some(target));
            self.stay_at_state();
        }
    }
}
