//! Reads the target of a previewed change again while the preview is open. What is shown is only what was really read.

use crate::widgets::line::{Line, Tone, wrapped};
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

/// Whether a target is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Checks {
    /// There is no target, or it is of another kind.
    #[default]
    Never,
    Regularly,
    /// The service has no call for it.
    Unsupported,
}

/// What reading the target again has shown.
#[derive(Debug, Clone, Default)]
pub struct TargetCheck {
    checks: Checks,
    /// When the preview was made.
    since: Timestamp,
    /// When a check last ended, with any result.
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
    pub(super) fn begin(&mut self, now: Timestamp, has_target: bool) {
        let checks = if has_target {
            Checks::Regularly
        } else {
            Checks::Never
        };
        *self = TargetCheck {
            checks,
            since: now,
            changed_at: self.changed_at,
            ..TargetCheck::default()
        };
    }

    /// Applies the result of a check: the other fields that have changed; nothing if there is no call that reads the target.
    pub(super) fn on_read(
        &mut self,
        now: Timestamp,
        result: Result<Option<Vec<String>>, ApiError>,
    ) {
        (self.is_running, self.tried_at, self.problem) = (false, Some(now), None);
        match result {
            Ok(Some(others)) => self.read = Some((now, others)),
            Ok(None) => self.checks = Checks::Unsupported,
            Err(error) => self.problem = Some(error.badge()),
        }
    }

    fn due_at(&self, now: Timestamp) -> Option<Timestamp> {
        let is_slow = now.duration_since(self.since) > LONG;
        let wait = if is_slow { SLOW_INTERVAL } else { INTERVAL };
        let due = self.tried_at.map_or(self.since + FIRST, |at| at + wait);
        (self.checks == Checks::Regularly && !self.is_running).then_some(due)
    }

    /// Returns whether the target should be read now.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.due_at(now).is_some_and(|due| due <= now)
    }

    /// Returns the time until a check is due, or a shown age changes.
    pub(super) fn next_tick(&self, now: Timestamp) -> Option<Duration> {
        let until = |at: Timestamp| Duration::try_from(at - now).unwrap_or_default();
        let shown = [self.read.as_ref().map(|(at, _)| *at), self.changed_at]
            .into_iter()
            .flatten();
        let ages = shown
            .filter_map(|at| Duration::try_from(now - at).ok())
            .map(text::age_unit);
        self.due_at(now).map(until).into_iter().chain(ages).min()
    }

    /// Returns the lines about a change of the target, which is of a kind (`deployment`).
    pub(super) fn changed_lines(&self, kind: &str, now: Timestamp, width: usize) -> Vec<Line> {
        let Some(at) = self.changed_at else {
            return Vec::new();
        };
        let said = format!(
            "The {kind} changed (noticed {}). Review again.",
            ago(at, now)
        );
        let mut lines = wrapped(Tone::Moving, &said, width);
        lines.push(Line::new());
        lines
    }

    /// Returns the lines about the last check. There are always some, so that its result moves nothing.
    pub(super) fn lines(&self, kind: &str, now: Timestamp, width: usize) -> Vec<Line> {
        if self.checks == Checks::Never {
            return Vec::new();
        }
        let said = match (&self.problem, &self.read) {
            _ if self.checks == Checks::Unsupported => {
                format!("The {kind} can't be checked again.")
            }
            (Some(problem), _) => {
                format!("Couldn't check the {kind} again ({problem}); sending checks it first.")
            }
            (None, None) => format!("Rechecks the {kind} while open."),
            (None, Some((at, others))) if others.is_empty() => {
                format!("Checked {}: {kind} unchanged.", ago(*at, now))
            }
            (None, Some((at, others))) => {
                let others = text::clean(&others.join(", ")).into_owned();
                let checked = ago(*at, now);
                format!("Checked {checked}: only unrelated fields changed: {others}.")
            }
        };
        let tone = if self.problem.is_some() {
            Tone::Moving
        } else {
            Tone::Dim
        };
        let mut lines = vec![Line::new()];
        lines.extend(wrapped(tone, &said, width));
        lines
    }
}

fn ago(at: Timestamp, now: Timestamp) -> String {
    format!("{} ago", text::age_since(at, now))
}
