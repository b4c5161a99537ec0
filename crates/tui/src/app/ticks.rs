//! When the screen is to be drawn again though nothing comes: what counts on it, and how soon that says another number.

use super::{App, Overlay};
use crate::features::deployments::revisions::History;
use crate::features::stream::viewer::Viewer;
use crate::session::msg::NextPoll;
use crate::session::profile::ProfileState;
use jiff::Timestamp;
use runtail_core::text;
use std::time::Duration;

/// The pause between two turns of a search.
const SEARCH_TURN: Duration = Duration::from_millis(16);

const SECOND: Duration = Duration::from_secs(1);

impl App {
    /// When something on the screen counts, the time until its next number; none when nothing does.
    pub fn next_tick(&self) -> Option<Duration> {
        if self.frozen {
            return None;
        }
        let regions = self.regions();
        // A search, and the way through the past, go on in turns; only where it is shown it goes on at all.
        let shown = self.viewer().filter(|_| self.logs.is_none() && regions.stream.is_some());
        if let Some(viewer) = shown {
            // Somebody waits for the moment: keys come between two turns, nothing else has to.
            if viewer.is_on_the_way() {
                return Some(Duration::ZERO);
            }
            if viewer.finding().is_scanning() || viewer.is_turning() {
                return Some(SEARCH_TURN);
            }
        }
        let mut next = self.session.profiles.iter().filter_map(|profile| self.header_tick(profile)).min();
        let mut also = |tick: Option<Duration>| next = next.into_iter().chain(tick).min();
        also(self.notice().and(self.session.notice_until).map(|until| ahead(until, self.session.now)));
        also(self.overlays.last().and_then(|top| top.next_tick(&self.overlay_cx(false))));
        // Header and footer stay visible around an overlay.
        if self.overlays.iter().all(|overlay| matches!(overlay, Overlay::Command(_))) {
            also(shown.is_some_and(Viewer::is_open).then_some(SECOND));
            also(shown.and_then(|viewer| viewer.thread_status().time()).map(|at| self.older(at)));
            also(self.history().filter(|_| regions.revisions.is_some()).and_then(|history| self.history_tick(history)));
        }
        next
    }

    /// In the header a profile in trouble says how old what stands here is, and when it is asked again.
    fn header_tick(&self, profile: &ProfileState) -> Option<Duration> {
        let limited = profile.limited_until.filter(|until| *until > self.session.now);
        let failing = profile.control_plane && profile.error.is_some();
        let again = match profile.next_poll {
            Some(NextPoll::At(at)) if failing && limited.is_none() && !profile.halted => Some(at),
            _ => limited,
        };
        let old = profile.loaded_at.filter(|_| failing || limited.is_some());
        old.map(|at| self.older(at)).into_iter().chain(again.and_then(|at| self.nearer(at))).min()
    }

    /// Revisions say how long the newest one is in its status, when they are asked for again, and how old they are where that
    /// failed.
    fn history_tick(&self, history: &History) -> Option<Duration> {
        let moving = history.revisions.iter().find(|revision| !revision.phase().is_final());
        let spent =
            moving.and_then(|revision| history.phases(&revision.id, self.session.now).pop()).map(|(_, spent, _)| spent);
        // Seconds are shown for an hour.
        let spent = spent.map(|spent| match spent.as_secs() {
            0..3600 => SECOND,
            seconds => Duration::from_secs(60 - seconds % 60),
        });
        let settled = history.revisions.first().is_some_and(|revision| revision.phase().is_final());
        let again = match history.next_poll {
            Some(NextPoll::At(at)) if history.error.is_some() || !settled => self.nearer(at),
            _ => None,
        };
        let old = history.loaded_at.filter(|_| history.error.is_some()).map(|at| self.older(at));
        spent.into_iter().chain(again).chain(old).min()
    }

    /// Until an age on the screen is another one.
    fn older(&self, since: Timestamp) -> Duration {
        let age = ahead(self.session.now, since);
        let unit = text::age_unit(age);
        unit.saturating_sub(Duration::from_secs(age.as_secs() % unit.as_secs())).max(SECOND)
    }

    /// Until what is left of a wait is another number; none where it is over.
    fn nearer(&self, until: Timestamp) -> Option<Duration> {
        let left = ahead(until, self.session.now);
        let unit = text::age_unit(left).as_secs();
        (!left.is_zero()).then(|| Duration::from_secs(left.as_secs() % unit + 1))
    }
}

/// From a time to a later one.
fn ahead(later: Timestamp, earlier: Timestamp) -> Duration {
    Duration::try_from(later.duration_since(earlier)).unwrap_or_default()
}
