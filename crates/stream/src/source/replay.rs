//! Decides which events of a connection are replayed from the server's store. Their time of arrival is not when they
//! happened.

use crate::log::event::server_time;
use crate::sse::decode::Decoded;
use crate::transport::connection::{Connection, Replayed};
use std::sync::Arc;
use std::time::Duration;

/// A pause this long between two events ends a replay, because stored events are sent without pauses.
const PAUSE: Duration = Duration::from_millis(250);
/// This many events in a row that each arrive alone after a shorter pause end it, too: they arrive as a model writes.
const PACE: Duration = Duration::from_millis(5);
const PACED_EVENTS: u32 = 3;
/// The same for the pause before a connection's first event. Longer, because a server takes a while to read its store.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// How far the server's clock header can be behind, in milliseconds: it has whole seconds, and uvicorn renews it once a
/// second. Within this time, only a pause shows which events are live.
const CLOCK_DELAY: u64 = 2_000;

/// Tracks which events of the current connection are replayed.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    state: State,
    /// The server's clock when it responded, in milliseconds. Events with an earlier id were stored before.
    clock: Option<u64>,
    /// The newest id, and whether its events are replayed. The Python server uses one id for all events of a
    /// millisecond.
    last: Option<(Arc<str>, bool)>,
    /// Whether a repeated event shows that stored events are sent.
    may_repeat: bool,
    /// Events since the last pause, and how many in a row arrived alone.
    arrived: u32,
    paced: u32,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum State {
    #[default]
    Live,
    /// Stored events first, then live ones; the boundary is unknown.
    Stored { has_event: bool },
    /// Only stored events.
    Everything,
}

impl Replay {
    /// Starts a connection that requested events after an id, or only new ones.
    pub fn opened(&mut self, after: Option<&str>, opened: &Connection) {
        let state = match opened.past {
            Replayed::All => State::Everything,
            Replayed::None => State::Live,
            Replayed::Unknown | Replayed::Before(_) if after.is_some() => {
                State::Stored { has_event: false }
            }
            Replayed::Unknown | Replayed::Before(_) | Replayed::IfRepeated => State::Live,
        };
        let may_repeat = opened.past == Replayed::IfRepeated;
        let clock = if let Replayed::Before(clock) = opened.past {
            Some(clock)
        } else {
            opened.answered
        };
        *self = Replay {
            state,
            clock: clock.filter(|_| state != State::Live),
            may_repeat,
            ..Replay::default()
        };
    }

    /// Marks the following events as a replay, which live events may follow.
    pub fn replaying(&mut self, answered: Option<u64>) {
        *self = Replay {
            state: State::Stored { has_event: false },
            clock: answered,
            ..Replay::default()
        };
    }

    /// Records that the connection sent an event that was received before.
    pub fn repeated(&mut self) {
        if std::mem::take(&mut self.may_repeat) {
            self.state = State::Stored { has_event: true };
        }
    }

    /// Marks the following events as live.
    pub fn live(&mut self) {
        (self.state, self.last) = (State::Live, None);
    }

    /// Returns whether the length of the next pause matters.
    pub fn awaits_pause(&self) -> bool {
        matches!(self.state, State::Stored { .. })
    }

    /// Applies a pause during which the server sent nothing.
    pub fn paused(&mut self, pause: Duration) {
        let State::Stored { has_event } = self.state else {
            return;
        };
        if std::mem::take(&mut self.arrived) == 1 && pause >= PACE {
            self.paced += 1;
        } else {
            self.paced = 0;
        }
        if self.paced >= PACED_EVENTS || pause >= if has_event { PAUSE } else { FIRST_PAUSE } {
            self.state = State::Live;
        }
    }

    /// Returns whether an event of this connection is replayed.
    pub fn is_replayed(&mut self, event: &Decoded) -> bool {
        self.arrived += 1;
        match &mut self.state {
            State::Everything => return true,
            State::Stored { has_event } => *has_event = true,
            State::Live if self.clock.is_none() => return false,
            State::Live => {}
        }
        let (Some(id), Some(clock)) = (&event.id, self.clock) else {
            return self.state != State::Live;
        };
        if let Some((_, replayed)) = self.last.as_ref().filter(|(last, _)| Arc::ptr_eq(last, id)) {
            return *replayed;
        }
        let Some(at) = server_time(id) else {
            return self.state != State::Live;
        };
        let at = u64::try_from(at.as_millisecond()).unwrap_or_default();
        if at >= clock.saturating_add(CLOCK_DELAY) {
            self.state = State::Live;
        }
        let replayed =
            at < clock || self.state != State::Live && at < clock.saturating_add(CLOCK_DELAY);
        self.last = Some((id.clone(), replayed));
        replayed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Data;
    use futures::StreamExt;

    fn opened(past: Replayed, answered: Option<u64>) -> Connection {
        let body = futures::stream::empty().boxed();
        Connection {
            status: 200,
            thread_id: None,
            run_id: None,
            answered,
            past,
            body,
        }
    }

    fn replay(after: Option<&str>, past: Replayed, answered: Option<u64>) -> Replay {
        let mut replay = Replay::default();
        replay.opened(after, &opened(past, answered));
        replay
    }

    fn is_replayed(replay: &mut Replay, id: Option<&str>) -> bool {
        let (name, data) = ("values".into(), Data::Json("1".into()));
        replay.is_replayed(&Decoded {
            name,
            ns: [].into(),
            id: id.map(Into::into),
            data,
        })
    }

    const BEFORE: Option<&str> = Some("1795224377667-0");
    const CLOCK: Option<u64> = Some(1_795_224_377_668);
    const SAME_SECOND: Option<&str> = Some("1795224377669-0");
    const LATE_HEADER: Option<&str> = Some("1795224379500-0");
    const SINCE: Option<&str> = Some("1795224379668-0");

    #[test]
    fn timestamp_ids_are_compared_with_the_server_clock() {
        let mut run = replay(Some("-1"), Replayed::Unknown, CLOCK);
        assert!(is_replayed(&mut run, BEFORE) && is_replayed(&mut run, None));
        assert!(
            !is_replayed(&mut run, SINCE) && !is_replayed(&mut run, None),
            "all later events are live"
        );
        let mut run = replay(Some("-1"), Replayed::Unknown, CLOCK);
        assert!(
            is_replayed(&mut run, SAME_SECOND),
            "the event may have been stored just before"
        );
        assert!(
            is_replayed(&mut run, LATE_HEADER),
            "the header may be a second old"
        );
        run.paused(PAUSE);
        assert!(!is_replayed(&mut run, Some("1795224377670-0")) && is_replayed(&mut run, BEFORE));
        // On a thread's stream, stored events may arrive late, between live ones.
        assert!(is_replayed(&mut run, BEFORE) && !is_replayed(&mut run, SINCE));
        let mut thread = replay(Some("-"), Replayed::Before(CLOCK.unwrap_or_default()), None);
        assert!(is_replayed(&mut thread, BEFORE) && !is_replayed(&mut thread, SINCE));
    }

    #[test]
    fn a_pause_ends_the_replay_of_events_without_timestamps() {
        let mut run = replay(Some("-1"), Replayed::Unknown, CLOCK);
        run.paused(PAUSE);
        assert!(
            is_replayed(&mut run, Some("0")),
            "the server may take longer to read its store"
        );
        run.paused(PAUSE - Duration::from_millis(1));
        assert!(is_replayed(&mut run, Some("1")));
        run.paused(PAUSE);
        assert!(!is_replayed(&mut run, Some("2")) && !run.awaits_pause());
        let mut idle = replay(Some("-"), Replayed::Unknown, None);
        idle.paused(FIRST_PAUSE);
        assert!(!is_replayed(&mut idle, None));
    }

    #[test]
    fn events_that_arrive_one_by_one_are_live() {
        let mut run = replay(Some("-1"), Replayed::Unknown, None);
        let mut read = |pause: u64, id: &str, more: &str| {
            run.paused(Duration::from_millis(pause));
            let replayed = is_replayed(&mut run, Some(id));
            assert!(more.is_empty() || is_replayed(&mut run, Some(more)));
            replayed
        };
        // Bursts that a slow network separates, then one event every 20 ms.
        assert!(read(20, "1", "2") && read(20, "3", "4") && read(20, "5", ""));
        assert!(read(20, "6", "") && read(20, "7", ""));
        assert!(!read(20, "8", "") && !read(0, "9", ""));
    }

    #[test]
    fn a_server_that_may_keep_nothing_replays_only_if_it_repeats_an_event() {
        let mut run = replay(Some("22-0"), Replayed::IfRepeated, CLOCK);
        assert!(!is_replayed(&mut run, Some("23-0")) && !run.awaits_pause());
        let mut run = replay(Some("22-0"), Replayed::IfRepeated, None);
        run.repeated();
        assert!(is_replayed(&mut run, Some("24-0")));
        run.paused(PAUSE);
        run.repeated();
        assert!(!is_replayed(&mut run, Some("25-0")));
    }

    #[test]
    fn a_finished_run_is_all_replay_and_a_new_run_is_all_live() {
        let mut over = replay(Some("-1"), Replayed::All, CLOCK);
        over.paused(FIRST_PAUSE);
        assert!(is_replayed(&mut over, Some("3")) && is_replayed(&mut over, SINCE));
        for mut live in [
            replay(None, Replayed::Unknown, CLOCK),
            replay(Some("-1"), Replayed::None, CLOCK),
        ] {
            assert!(!is_replayed(&mut live, Some("3")) && !is_replayed(&mut live, BEFORE));
        }
        let mut thread = replay(None, Replayed::Unknown, CLOCK);
        thread.replaying(CLOCK);
        assert!(is_replayed(&mut thread, BEFORE) && is_replayed(&mut thread, Some("x")));
        thread.live();
        assert!(!is_replayed(&mut thread, Some("x")) && !is_replayed(&mut thread, SAME_SECOND));
    }
}
