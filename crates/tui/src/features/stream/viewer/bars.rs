//! The Timeline's own keys: folding, and the steps between runs.

use super::{View, Viewer};
use crate::widgets::line::Line;
use crate::widgets::scroll::{LinePos, ScrollList};
use runtail_core::text;
use std::borrow::Cow;

impl Viewer {
    /// Returns the lines above and below the entries of a view, which don't scroll.
    pub fn around(&self, view: View) -> (Cow<'_, [Line]>, &[Line]) {
        match (view, &self.projections.delivery.before_opening) {
            (View::Timeline, _) => {
                let (head, foot) = self.bars.around();
                (head.into(), foot)
            }
            (View::Raw, Some(why)) => (vec![Line::dim(&text::clean(why))].into(), &[]),
            _ => (Cow::Borrowed(&[]), &[]),
        }
    }

    /// Returns whether the Timeline has rows.
    pub fn has_bars(&self) -> bool {
        !self.bars.is_empty()
    }

    fn bar_key(&self) -> u64 {
        self.place(View::Timeline).cursor.key
    }

    /// Unfolds the bar under the cursor, folds it, or moves to its parent.
    pub fn bar_sideways(&mut self, forward: bool) {
        let key = self.bar_key();
        if forward {
            self.bars.unfold(key);
        } else if let Some(parent) = self.bars.fold(&self.projections.timeline, key) {
            self.move_in_view(|place, rows, height| {
                place.go(
                    rows,
                    height,
                    LinePos {
                        key: parent,
                        line: 0,
                    },
                )
            });
        }
    }

    /// Moves to the next or previous failed bar, or to another run. Returns false if there is none.
    pub fn next_bar_of_interest(&mut self, forward: bool) -> bool {
        let key = self.bar_key();
        let key = if self.follows() && !forward {
            self.bars.len()
        } else {
            key
        };
        let found = self
            .bars
            .next_interest(&self.projections.timeline, key, forward);
        if let Some(seq) = found {
            self.go_to(seq);
        }
        found.is_some()
    }

    /// Shows the next or previous run if the cursor is at the last or first bar. Returns whether it does.
    pub(super) fn next_run_at_edge(&mut self, lines: isize) -> bool {
        let (rows, place) = (self.rows(View::Timeline), self.place(View::Timeline));
        let is_at_edge = match lines > 0 {
            true => rows.next(place.cursor.key).is_none(),
            false => rows.prev(place.cursor.key).is_none(),
        };
        if !is_at_edge || self.follows() && lines > 0 {
            return false;
        }
        let seq = self
            .bars
            .show_adjacent_run(&self.projections.timeline, lines > 0);
        if let Some(seq) = seq {
            self.go_to(seq);
        }
        seq.is_some()
    }
}
