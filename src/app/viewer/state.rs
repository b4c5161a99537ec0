//! The values view: one state of the tape as a tree. Its place among the events is the state that is shown.

use super::rows::{extent, kept};
use super::{View, Viewer, view_lines};
use crate::app::json::Tree;
use crate::app::scroll::Rows;
use crate::projection::Snapshot;

impl Viewer {
    /// The snapshot with this number, if it is still kept.
    pub fn snapshot_at(&self, number: u64) -> Option<&Snapshot> {
        kept(self.projections.values.rows(), number)
    }

    /// Shows the state that belongs to the cursor: the newest one of the root (or of whatever there is) while what comes
    /// is followed, else the one after the event under the cursor.
    pub(super) fn bring_state(&mut self) {
        let rows = self.projections.values.rows();
        let root = |s: &Snapshot| s.ns.is_empty();
        let newest = || rows.iter().rposition(root).or(rows.len().checked_sub(1));
        let at = match self.anchor {
            None => newest(),
            Some(seq) => {
                let from = rows.partition_point(|s| s.seq < seq);
                let own = rows.get(from).filter(|s| s.seq == seq).map(|_| from);
                let after = rows[from..].iter().position(root).map(|n| from + n);
                own.or(after).or_else(|| rows[..from].iter().rposition(root)).or_else(newest)
            }
        };
        let number = at.map(|n| rows.evicted() + n as u64);
        if number != self.snapshot || (number.is_some() && self.state.is_none()) {
            self.show_snapshot(number);
        }
        let (width, height) = self.windows[View::Values as usize];
        if let Some(tree) = &mut self.state {
            tree.prepare(width, height);
        }
    }

    fn show_snapshot(&mut self, number: Option<u64>) {
        let Some(snapshot) = number.and_then(|n| self.snapshot_at(n)) else { return };
        let Some(event) = self.tape.get(snapshot.seq) else { return };
        let text = view_lines::state::text(event);
        match &mut self.state {
            Some(tree) => tree.replace(text),
            None => self.state = Some(Tree::new(text)),
        }
        self.snapshot = number;
    }

    /// The state's tree, to be moved in or folded by hand: whoever does that reads, so it stays as it is.
    pub fn tree(&mut self) -> Option<&mut Tree> {
        self.stay_at_state();
        self.state.as_mut()
    }

    /// The cursor is at the state that is shown.
    pub(super) fn stay_at_state(&mut self) {
        if let Some(seq) = self.snapshot.and_then(|n| self.snapshot_at(n)).map(|s| s.seq) {
            self.set_anchor(View::Values, Some(seq));
        }
    }

    /// The state some steps earlier or later. Going past the newest follows again.
    pub fn step_state(&mut self, by: isize) {
        let extent = extent(self.projections.values.rows());
        let Some(at) = self.snapshot else { return };
        let wanted = at.saturating_add_signed(by as i64).max(extent.first());
        if wanted >= extent.end() {
            self.set_anchor(View::Values, None);
            self.bring_state();
        } else {
            self.show_snapshot(Some(wanted));
            self.stay_at_state();
        }
    }
}
