//! The evidence that the run of an open page is stuck.

use super::{ConnectionState, Viewer};
use crate::session::Session;
use crate::widgets::line::{Line, Tone};
use jiff::Timestamp;
use runtail_core::model::{Activity, SilenceSource, StuckSign, stuck_signs};

impl Viewer {
    /// Returns the evidence that the run is stuck, most telling first.
    pub fn stuck(&self, session: &Session) -> Vec<StuckSign> {
        if self.is_recording() || !self.is_open() {
            return Vec::new();
        }
        let skew = session.profile(&self.server.profile).map(|profile| profile.skew).unwrap_or_default();
        let by_server = |at: Timestamp| at.saturating_add(skew).unwrap_or(at);
        let status = &self.present().status;
        let records = status.thread_records();
        // Without a connection, silence says nothing. Events before it may have been missed.
        let last = matches!(self.connection, ConnectionState::Live { .. })
            .then(|| {
                let delivery = self.delivery_log();
                let opened = delivery.connections().last().map(|connection| connection.opened);
                delivery.last_event_at.max(opened)
            })
            .flatten();
        let activity = Activity {
            status: status.status(),
            runs: records.runs,
            attempt: records.state.and_then(|state| state.attempt),
            last: last.map(|at| (by_server(at), SilenceSource::Events)),
        };
        stuck_signs(activity, &session.prefs.stuck, by_server(session.now))
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
            Some(StuckSign::BusyWithoutRun { .. }) => badge.push(Tone::Bad, " · stuck"),
            Some(sign) => badge.push(Tone::Bad, &format!(" · stuck: {}", sign.word())),
            None => {}
        }
        badge
    }
}
