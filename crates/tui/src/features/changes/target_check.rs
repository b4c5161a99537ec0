//! Reads the target of a previewed change again while the preview is open. What is shown is only what was really read.

use super::preview_lines::wrapped;
use crate::widgets::line::{Line, Tone};
use jiff::{SignedDuration, Timestamp};
use runtail_api::ApiError;
use runtail_core::text;
use std::time::Duration;

/// Time until the first check.
const FIRST: SignedDuration = SignedDuration::from_secs(5);
/// Time between two checks.
const INTERVAL: SignedDuration = SignedDuration::from_secs(15);
/// The same for a preview that is open for longer than [`LONG`].
const SLOW_INTERVAL: SignedDuration = SignedDuration::from_mins(1);
const LONG: SignedDuration = SignedDuration::from_mins(10);

/// What reading the target again has shown.
#[derive(Debug, Clone, Default)]
pub struct TargetCheck {
    /// When the preview was made; nothing if the target can't be read again.
    since: Option<Timestamp>,
    /// When a check was last finished, whatever its result.
    tried_at: Option<Timestamp>,
    /// When the target was last read, and which other fields of it have changed.
    read: Option<(Timestamp, Vec<String>)>,
    /// Why the last check failed.
    problem: Option<String>,
    pub(super) is_running: bool,
    /// When a change was noticed, after which this preview was made.
    pub(super) changed_at: Option<Timestamp>,
}

impl TargetCheck {
    /// Begins with a new preview.
    pub(super) fn begin(&mut self, now: Timestamp, can_read: bool) {
        *self = TargetCheck { since: can_read.then_some(now), changed_at: self.changed_at, ..TargetCheck::default() };
    }

    /// Applies the result of a check: the other fields that have changed; nothing if there is no call that reads the target.
    pub(super) fn on_read(&mut self, now: Timestamp, result: Result<Option<Vec<String>>, ApiError>) {
        (self.is_running, self.tried_at, self.problem) = (false, Some(now), None);
        match result {
            Ok(Some(others)) => self.read = Some((now, others)),
            Ok(None) => self.since = None,
            Err(error) => self.problem = Some(error.badge()),
        }
    }

    fn due_at(&self, now: Timestamp) -> Option<Timestamp> {
        let since = self.since.filter(|_| !self.is_running)?;
        let wait = if now.duration_since(since) > LONG { SLOW_INTERVAL } else { INTERVAL };
        let due = self.tried_at.map_or(since + FIRST, |at| at + wait);
        Some(due)
    }

    /// Returns whether the target should be read now.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.due_at(now).is_some_and(|due| due <= now)
    }

    /// Returns the time until a check is due, or a shown age changes.
    pub(super) fn next_tick(&self, now: Timestamp) -> Option<Duration> {
        let until = |at: Timestamp| Duration::try_from(at - now).unwrap_or_default();
        let shown = [self.read.as_ref().map(|(at, _)| *at), self.changed_at].into_iter().flatten();
        let ages = shown.filter_map(|at| Duration::try_from(now - at).ok()).map(text::age_unit);
        self.due_at(now).map(until).into_iter().chain(ages).min()
    }

    /// Returns the lines about the target, which is of a kind (`deployment`).
    pub(super) fn lines(&self, kind: &str, now: Timestamp, width: usize) -> Vec<Line> {
        let ago = |at: Timestamp| format!("{} ago", text::age(Duration::try_from(now - at).unwrap_or_default()));
        let mut lines = Vec::new();
        if let Some(at) = self.changed_at {
            let said = format!("The {kind} changed; noticed {}. Review the new preview.", ago(at));
            lines.extend(wrapped(Tone::Moving, &said, width));
        }
        if let Some((at, others)) = &self.read {
            let said = match others.as_slice() {
                [] => format!("Checked {}: the {kind} hasn't changed since you opened it.", ago(*at)),
                others => format!(
                    "Checked {}: what this change is about hasn't changed since you opened it. Changed: {}.",
                    ago(*at),
                    text::clean(&others.join(", "))
                ),
            };
            lines.extend(wrapped(Tone::Dim, &said, width));
        }
        if let Some(problem) = &self.problem {
            let said = format!("Couldn't check the {kind} again ({problem}). It is checked before anything is sent.");
            lines.extend(wrapped(Tone::Moving, &said, width));
        }
        if !lines.is_empty() {
            lines.insert(0, Line::new());
        }
        lines
    }
}
