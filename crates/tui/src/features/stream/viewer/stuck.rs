//! The evidence that the run of an open page is stuck.

use super::{ConnectionState, Viewer};
use crate::session::Session;
use crate::widgets::line::Line;
use crate::widgets::status::STUCK;
use jiff::{SignedDuration, Timestamp};
use runtail_core::model::{Activity, SilenceSource, StuckSign, stuck_signs};
use runtail_stream::projection::Loaded;

/// How long loaded records count as current without a live stream: a page reloads them more often.
const CURRENT: SignedDuration = SignedDuration::from_secs(30);

impl Viewer {
    /// Returns the evidence that the run is stuck, most telling first.
    pub fn stuck(&self, session: &Session) -> Vec<StuckSign> {
        if self.is_recording() || !self.is_open() {
            return Vec::new();
        }
        let skew = session
            .profile(&self.server.profile)
            .map(|profile| profile.skew)
            .unwrap_or_default();
        let by_server = |at: Timestamp| at.saturating_add(skew).unwrap_or(at);
        let status = &self.present().status;
        let records = status.thread_records();
        // Without a connection, silence says nothing. Events before it may have been missed.
        let is_live = matches!(self.connection, ConnectionState::Live { .. });
        let delivery = self.delivery_log();
        let event = delivery.last_event_at.map(by_server);
        let opened = delivery
            .connections()
            .last()
            .map(|connection| by_server(connection.opened));
        let signs = |last: Option<(Timestamp, SilenceSource)>| {
            let attempt = records.state.and_then(|state| state.attempt);
            let activity = Activity {
                status: status.status(),
                runs: records.runs,
                attempt,
                last,
            };
            stuck_signs(activity, &session.prefs.stuck, by_server(session.now))
        };
        let found = signs(
            event
                .max(opened)
                .filter(|_| is_live)
                .map(|at| (at, SilenceSource::Events)),
        );
        if matches!(found.first(), Some(StuckSign::Silent { .. })) {
            return found;
        }
        // The page may be younger than the silence. The inbox judges by the same records.
        let is_current = |loaded: Loaded| session.now.duration_since(loaded.at) < CURRENT;
        let changed = records
            .last_change()
            .filter(|_| is_live || status.loaded().is_some_and(is_current));
        signs(changed.map(|at| {
            (
                event.map_or(at, |event| at.max(event)),
                SilenceSource::RecordsAndEvents,
            )
        }))
    }

    /// Returns the badge of the thread at the shown event, with the evidence that its run is stuck.
    pub fn full_badge(&self, session: &Session) -> Line {
        match self.playhead() {
            Some(_) => self.badge(session.now),
            None => self.full_present_badge(session),
        }
    }

    /// Returns the badge of the thread as it is now, with the evidence that its run is stuck.
    pub fn full_present_badge(&self, session: &Session) -> Line {
        let mut badge = self.present_badge(session.now);
        match self.stuck(session).first() {
            // The badge says it already.
            Some(StuckSign::BusyWithoutRun { .. }) => badge.push(STUCK.1, " · stuck"),
            Some(sign) => badge.push(STUCK.1, &format!(" · stuck: {}", sign.word())),
            None => {}
        }
        badge
    }
}
