//! When to redraw the screen without new data: ages, countdowns and searches on it, and when they next change.

use super::{App, Overlay, Pane};
use crate::features::deployments::revisions::RevisionHistory;
use crate::input::action::Context;
use crate::session::Component;
use crate::session::msg::NextPoll;
use crate::session::profile::ProfileState;
use jiff::Timestamp;
use runtail_core::text;
use std::time::Duration;

/// The interval between two steps of a search.
const SEARCH_STEP: Duration = Duration::from_millis(16);

const SECOND: Duration = Duration::from_secs(1);

impl App {
    /// Returns the time until something on the screen changes by itself; `None` if nothing does.
    pub fn next_tick(&self) -> Option<Duration> {
        if self.frozen {
            return None;
        }
        let regions = self.regions();
        // Searches and time travel advance in steps, and only while their stream is visible.
        let is_visible = regions.page.is_some() && self.logs.is_none();
        let shown = self.stream.tabs.shown().filter(|_| is_visible);
        if let Some(viewer) = shown {
            // The user is waiting for this position, so don't pause. Keys are handled between two steps.
            if viewer.is_seeking() {
                return Some(Duration::ZERO);
            }
            if viewer.finding().is_scanning() || viewer.has_time_travel_work() {
                return Some(SEARCH_STEP);
            }
        }
        let mut next = self
            .session
            .profiles
            .iter()
            .filter_map(|profile| self.header_tick(profile))
            .min();
        let mut also = |tick: Option<Duration>| next = next.into_iter().chain(tick).min();
        also(self.save_tick());
        also(
            self.session
                .notice_changes_at()
                .map(|at| duration_between(at, self.session.now)),
        );
        also(
            self.overlays
                .last()
                .and_then(|top| top.next_tick(&self.overlay_cx(false))),
        );
        // Header and footer stay visible around an overlay, and the page above a sheet.
        if self
            .overlays
            .iter()
            .all(|overlay| overlay.is_sheet() || matches!(overlay, Overlay::Command(_)))
        {
            also(shown.filter(|viewer| viewer.is_open()).map(|_| SECOND));
            also(
                self.shows_lists()
                    .then(|| self.agent.next_tick(&self.pane_cx(Pane::Stream)))
                    .flatten(),
            );
            let time = shown.and_then(|viewer| viewer.thread_status().time());
            also(time.map(|at| self.until_age_changes(at)));
            let shows_revisions = regions.revisions.is_some() || regions.summary.is_some();
            also(
                self.history()
                    .filter(|_| shows_revisions)
                    .and_then(|history| self.history_tick(history)),
            );
        }
        next
    }

    /// Returns whether the lists of an agent server are shown, and nothing above them.
    pub(super) fn shows_lists(&self) -> bool {
        self.overlays.is_empty() && self.pane_context() == Context::Server
    }

    /// Returns the time until a profile's header entry changes: with a problem, it shows the age of the data and the time of
    /// the next attempt.
    fn header_tick(&self, profile: &ProfileState) -> Option<Duration> {
        let limited = profile
            .limited_until
            .filter(|until| *until > self.session.now);
        let failing = profile.control_plane && profile.problem().is_some();
        let asking = super::bars::asking_since(self, profile).map(|_| SECOND);
        let retry_at = match profile.next_poll {
            Some(NextPoll::At(at)) if failing && limited.is_none() && !profile.halted => Some(at),
            _ => limited,
        };
        let loaded_at = profile.loaded_at.filter(|_| failing || limited.is_some());
        loaded_at
            .map(|at| self.until_age_changes(at))
            .into_iter()
            .chain(retry_at.and_then(|at| self.until_countdown_changes(at)))
            .chain(asking)
            .min()
    }

    /// Returns the time until the revisions pane changes: it shows the time in the current status, the time of the next poll
    /// and, after a failure, the age of the data.
    fn history_tick(&self, history: &RevisionHistory) -> Option<Duration> {
        let moving = history
            .revisions
            .iter()
            .find(|revision| !revision.phase().is_final());
        let phases = moving
            .map(|revision| history.phases(&revision.id, self.session.now))
            .unwrap_or_default();
        let profile = self
            .deployments
            .list
            .selected()
            .and_then(|row| self.session.profiles.get(row.profile));
        let skew = profile.map(|profile| profile.skew).unwrap_or_default();
        // The time in the current status, and since the creation or in all statuses.
        let server_time = self
            .session
            .now
            .saturating_add(skew)
            .unwrap_or(self.session.now);
        let seen = phases.iter().map(|(_, spent, _)| *spent).sum();
        let total = moving
            .and_then(|revision| revision.took(server_time))
            .unwrap_or(seen);
        let last = phases.last().map(|(_, spent, _)| *spent);
        // Seconds are shown up to an hour.
        let changes = |spent: Duration| match spent.as_secs() {
            0..3600 => SECOND,
            seconds => Duration::from_secs(60 - seconds % 60),
        };
        let spent = last.map(|last| changes(last).min(changes(total)));
        let settled = history
            .revisions
            .first()
            .is_some_and(|revision| revision.phase().is_final());
        let retry_at = match history.next_poll {
            Some(NextPoll::At(at)) if history.error.is_some() || !settled => {
                self.until_countdown_changes(at)
            }
            _ => None,
        };
        let loaded_at = history
            .loaded_at
            .filter(|_| history.error.is_some() || !settled)
            .map(|at| self.until_age_changes(at));
        let created = history
            .revisions
            .iter()
            .filter_map(|revision| revision.created_at?.checked_sub(skew).ok());
        let ages = created.map(|at| self.until_age_changes(at)).min();
        spent
            .into_iter()
            .chain(retry_at)
            .chain(loaded_at)
            .chain(ages)
            .min()
    }

    /// Returns the time until an age on the screen changes.
    fn until_age_changes(&self, since: Timestamp) -> Duration {
        let age = duration_between(self.session.now, since);
        let unit = text::age_unit(age);
        unit.saturating_sub(Duration::from_secs(age.as_secs() % unit.as_secs()))
            .max(SECOND)
    }

    /// Returns the time until a countdown on the screen changes; `None` if it is over.
    fn until_countdown_changes(&self, until: Timestamp) -> Option<Duration> {
        let left = duration_between(until, self.session.now);
        let unit = text::age_unit(left).as_secs();
        (!left.is_zero()).then(|| Duration::from_secs(left.as_secs() % unit + 1))
    }
}

/// Returns the duration from a time to a later one; zero if it is not later.
fn duration_between(later: Timestamp, earlier: Timestamp) -> Duration {
    Duration::try_from(later.duration_since(earlier)).unwrap_or_default()
}
