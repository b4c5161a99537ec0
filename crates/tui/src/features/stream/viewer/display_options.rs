//! Display options of a stream: absolute, relative or delta times, and wrapped or truncated lines.

use super::Viewer;
use crate::features::stream::views::messages::rules::RuleTimes;
use crate::features::stream::views::stream_view::EntryKind;
use crate::features::stream::views::{Clock, View};
use crate::session::prefs::ViewPrefs;
use crate::widgets::line::Line;
use crate::widgets::scroll::LinePos;
use runtail_core::config::Timestamps;

/// Maximum number of lines of a wrapped entry; the rest is in its details.
const MAX_WRAPPED_LINES: usize = 20;
/// Indentation of the lines after the first, in columns.
const INDENT: usize = 8;

impl Viewer {
    /// Applies the user's display options.
    pub fn apply_prefs(&mut self, prefs: &ViewPrefs) {
        self.views.apply_prefs(prefs);
        self.timestamps = prefs.timestamps;
        if self.wrap != prefs.wrap {
            self.wrap = prefs.wrap;
            // Keeps the event under the cursor visible.
            self.unsync();
        }
    }

    /// Returns the clock of an entry: since its run began, or since the previous entry.
    pub(crate) fn clock(&self, view: View, key: u64) -> Clock<'_> {
        let Some(seq) = view.of().entry_seq(self, key) else {
            return Clock::Since(None);
        };
        let at = |key: u64| self.event_log.time(view.of().entry_seq(self, key)?);
        match self.timestamps {
            Timestamps::Absolute => self.wall_clock(),
            Timestamps::Relative => Clock::Since(
                self.projections
                    .metrics
                    .run_at(seq)
                    .and_then(|run| run.start()),
            ),
            Timestamps::Delta => Clock::Since(key.checked_sub(1).and_then(at)),
        }
    }

    /// Returns the clock for times of day.
    pub(crate) fn wall_clock(&self) -> Clock<'_> {
        Clock::Wall(&self.tz, self.today())
    }

    /// Returns how rules between runs show times.
    pub(crate) fn rule_times(&self) -> RuleTimes<'_> {
        RuleTimes {
            timestamps: self.timestamps,
            tz: &self.tz,
            today: self.today(),
        }
    }

    /// Returns today's date in the user's time zone.
    pub(crate) fn today(&self) -> jiff::civil::Date {
        self.now.to_zoned(self.tz.clone()).date()
    }

    /// Returns whether a view wraps long lines.
    pub(crate) fn wraps(&self, view: View) -> bool {
        self.wrap && view.kind() == EntryKind::Events
    }

    /// Returns the width at which a view truncates a line.
    pub(crate) fn line_width(&self, view: View) -> usize {
        let width = self.slot(view).window.0;
        if self.wraps(view) {
            width + (MAX_WRAPPED_LINES - 1) * width.saturating_sub(INDENT)
        } else {
            width
        }
    }

    /// Returns the lines of a wrapped entry.
    pub(crate) fn wrapped(&self, view: View, key: u64) -> Vec<Line> {
        let width = self.slot(view).window.0;
        let line = view
            .of()
            .line(self, LinePos::of(key), self.line_width(view));
        line.unwrap_or_default()
            .broken(width, INDENT.min(width / 2), MAX_WRAPPED_LINES)
    }
}
