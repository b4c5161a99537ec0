//! How a stream is looked at: its times absolute, relative or as steps, and its long lines whole or cut.

use super::{View, Viewer};
use crate::features::stream::views::Clock;
use crate::session::prefs::ViewPrefs;
use crate::widgets::line::Line;
use runtail_core::config::Timestamps;

/// Most lines that an entry takes where long ones go on. The rest is a key away.
const MOST_LINES: usize = 20;
/// Columns by which the lines after the first stand further in.
const INDENT: usize = 8;

impl Viewer {
    /// Takes what the person is used to.
    pub fn apply_prefs(&mut self, habits: &ViewPrefs) {
        if self.timestamps != habits.timestamps {
            self.timestamps = habits.timestamps;
            self.blocks.tell_times(habits.timestamps);
        }
        if self.wrap != habits.wrap {
            self.wrap = habits.wrap;
            self.blocks.wrap = habits.wrap;
            // The event under the cursor stays in sight.
            self.brought = [None; 8];
        }
    }

    /// The clock of an entry: since its run began, or since the entry before.
    pub(crate) fn clock(&self, view: View, key: u64) -> Clock<'_> {
        let Some(seq) = self.entry_seq(view, key) else { return Clock::Since(None) };
        let at = |key: u64| self.tape.time(self.entry_seq(view, key)?);
        match self.timestamps {
            Timestamps::Absolute => Clock::Wall(&self.tz),
            Timestamps::Relative => Clock::Since(self.projections.metrics.run_at(seq).and_then(|run| run.start())),
            Timestamps::Delta => Clock::Since(key.checked_sub(1).and_then(at)),
        }
    }

    /// Whether long lines of a view go on in the next one.
    pub(crate) fn wraps(&self, view: View) -> bool {
        self.wrap && matches!(view, View::Updates | View::Custom | View::Raw)
    }

    /// Columns that a line of a view may have before it is cut.
    pub(crate) fn line_width(&self, view: View) -> usize {
        let width = self.windows[view as usize].0;
        if self.wraps(view) { width + (MOST_LINES - 1) * width.saturating_sub(INDENT) } else { width }
    }

    /// The lines of an entry whose long line goes on.
    pub(crate) fn wrapped(&self, view: View, key: u64) -> Vec<Line> {
        let width = self.windows[view as usize].0;
        self.whole_line(view, key, self.line_width(view)).broken(width, INDENT.min(width / 2), MOST_LINES)
    }
}
