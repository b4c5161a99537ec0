//! The doctor page, which shows each check as soon as it is finished.

use crate::session::check_lines::check_lines;
use crate::session::msg::{
    Epoch, Subscription, SubscriptionEvent, SubscriptionId, SubscriptionKind,
};
use crate::session::{Cx, GUTTER, Page, Requests, Session};
use crate::widgets::line::{Line, wrap};
use runtail_api::doctor::{Check, State};
use runtail_core::config::Profile;
use runtail_core::text;
use std::sync::Arc;

/// Columns of glyph and name.
const NAMES: usize = 17;
/// Columns of the label of a detail; the longest is "Likely cause".
const LABELS: usize = 14;

/// The report of the doctor, finished or in progress.
#[derive(Debug, Clone, Default)]
pub struct Doctor {
    /// Its number in this session.
    pub number: u64,
    /// The profile that is checked; `None` for all profiles in use, and the machine.
    pub only: Option<Arc<Profile>>,
    /// The finished checks, in order.
    pub checks: Vec<Check>,
    /// Whether all checks are finished.
    pub done: bool,
}

impl Doctor {
    /// Returns the lines of the page.
    pub fn report(&self, width: usize, ascii: bool) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut heading = String::new();
        for check in &self.checks {
            let own = check.heading();
            if own != heading {
                if !lines.is_empty() {
                    lines.push(Line::new());
                }
                lines.push(Line::strong(&own));
                heading = own;
            }
            lines.extend(of_check(check, width, ascii));
        }
        // The page's head shows the result.
        if !self.done {
            if !self.checks.is_empty() {
                lines.push(Line::new());
            }
            lines.push(Line::dim("Checking…"));
        }
        lines
    }

    /// Summarizes the checks in a few words.
    pub fn sum(&self) -> String {
        sum(&self.checks)
    }
}

impl Doctor {
    /// Creates an empty report.
    pub fn new(session: &Session, only: Option<Arc<Profile>>) -> Doctor {
        Doctor {
            number: session.next_stream.take(),
            only,
            ..Doctor::default()
        }
    }
}

impl Page for Doctor {
    fn on_event(
        &mut self,
        session: &mut Session,
        _from: SubscriptionId,
        event: SubscriptionEvent,
    ) -> Requests {
        let SubscriptionEvent::Checked(Some(check)) = event else {
            // The last check is finished, or the task failed.
            self.done = true;
            return Requests::none();
        };
        if let Some(only) = &self.only
            && let Some(known) = session.catalog.known_mut(&only.name)
            && known.profile == **only
        {
            known.on_check(&check);
        }
        self.checks.push(*check);
        Requests::none()
    }

    fn title(&self, _cx: &Cx<'_>) -> (&'static str, String) {
        let name = self
            .only
            .as_ref()
            .map(|profile| format!("{}  ", text::clean(&profile.name)))
            .unwrap_or_default();
        (
            "Doctor",
            format!(
                "{name}{}",
                if self.done { self.sum() } else { String::new() }
            ),
        )
    }

    fn lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line> {
        self.report(
            width.saturating_sub(GUTTER.into()),
            cx.session.settings.ascii,
        )
    }

    fn subscriptions(&self, cx: &Cx<'_>, out: &mut Vec<Subscription>) {
        if !self.done {
            let what = match &self.only {
                Some(profile) => SubscriptionKind::Profile(profile.clone()),
                None => SubscriptionKind::Profiles(
                    cx.session
                        .profiles
                        .iter()
                        .map(|profile| profile.name.clone())
                        .collect(),
                ),
            };
            out.push(Subscription::new(
                SubscriptionId::Doctor(self.number),
                Epoch::default(),
                what,
            ));
        }
    }
}

/// Summarizes checks in a few words.
pub fn sum(checks: &[Check]) -> String {
    let of = |is_counted: fn(State) -> bool| {
        checks
            .iter()
            .filter(|check| is_counted(check.state))
            .count()
    };
    match (
        of(|state| matches!(state, State::Bad(_))),
        of(|state| state == State::Warn),
    ) {
        (0, 0) => "No problems found.".to_string(),
        (0, warnings) => format!("No problems found; {}.", text::counted(warnings, "warning")),
        (problems, 0) => format!("{} found.", text::counted(problems, "problem")),
        (problems, warnings) => format!(
            "{} and {} found.",
            text::counted(problems, "problem"),
            text::counted(warnings, "warning")
        ),
    }
}

/// Returns the lines of a check: its finding, and the details below it.
pub fn of_check(check: &Check, width: usize, ascii: bool) -> Vec<Line> {
    let room = width.saturating_sub(NAMES);
    let mut lines = check_lines(check, &check.found, NAMES, width, ascii);
    let mut previous = "";
    for (label, text) in check.details() {
        for part in wrap(text, room.saturating_sub(LABELS)) {
            // Consecutive details with the same label show it once.
            let label = if label == std::mem::replace(&mut previous, label) {
                ""
            } else {
                label
            };
            lines.push(Line::dim(&format!("{:NAMES$}{label:<LABELS$}", "")).with_plain(&part));
        }
    }
    lines
}
