//! Delivery statistics: received, duplicate and possibly missing events, and the ages of the last event and the last
//! heartbeat.

use super::between;
use super::rates::Rates;
use super::rows::{Rows, Weigh, len};
use crate::log::record::precedes_stream;
use crate::{Data, Event, IdKey, Item, Record, Seq};
use jiff::Timestamp;
use runtail_core::text;
use std::sync::Arc;
use std::time::Duration;

/// Maximum length of a gap's reason, in bytes.
const MAX_REASON: usize = 1000;
/// A pause is long if it exceeds this duration and this many usual pauses.
const LONG_PAUSE: Duration = Duration::from_secs(10);
const USUAL_PAUSES: u32 = 5;
/// A connection is silent after this many missing heartbeats, within these bounds. Shorter than the timeout in
/// `source/watchdog.rs`, after which the source reconnects.
const MISSED_HEARTBEATS: u32 = 2;
const MIN_HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
const MIN_SILENCE: Duration = Duration::from_secs(4);
const MAX_SILENCE: Duration = Duration::from_secs(20);

/// One connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    pub conn: u32,
    /// HTTP status.
    pub status: u16,
    /// The event id that it resumed after.
    pub resumed_after: Option<String>,
    pub opened: Timestamp,
    pub closed: Option<Timestamp>,
    pub reason: Option<String>,
    pub events: u64,
}

/// The liveness of a connection, judged by its last event and last heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// No pause is longer than usual.
    Even,
    /// No event for longer than usual, but heartbeats arrive: the run is working, or hanging, on the server.
    Quiet(Duration),
    /// No event for longer than usual, on a connection without heartbeats.
    Unheard(Duration),
    /// Heartbeats stopped: the connection may be dead.
    Silent(Duration),
}

/// A gap: a position where events may be missing.
#[derive(Debug, Clone, PartialEq)]
pub struct PossibleGap {
    pub at: Timestamp,
    /// Position of the event before it; 0 before the first.
    pub after: Seq,
    pub why: Arc<str>,
}

impl Weigh for Connection {
    const MAX_ROWS: usize = 4096;

    fn weight(&self) -> usize {
        size_of::<Connection>() + len(&self.resumed_after) + len(&self.reason)
    }
}

impl Weigh for PossibleGap {
    const MAX_ROWS: usize = 1024;

    fn weight(&self) -> usize {
        size_of::<PossibleGap>() + self.why.len()
    }
}

/// The delivery statistics of an event log.
#[derive(Debug, Clone, Default)]
pub struct DeliveryLog {
    pub received: u64,
    /// Duplicates that were skipped.
    pub duplicates: u64,
    pub gaps: u64,
    /// What is unknown from before the stream was opened. It is not a gap of this stream.
    pub before_opening: Option<Arc<str>>,
    /// Events whose data is not JSON.
    pub malformed: u64,
    /// Events that were truncated.
    pub too_large: u64,
    /// Events with an older id than an event before them.
    pub late: u64,
    /// Payload bytes; total body bytes once the source has ended.
    pub bytes: u64,
    pub heartbeats: u64,
    /// When the first event was sent, if known.
    pub first_event_at: Option<Timestamp>,
    /// When the last event arrived live, or was sent if it was replayed, if known.
    pub last_event_at: Option<Timestamp>,
    /// When the last event arrived, live or replayed. The start of the current silence.
    last_arrival: Option<Timestamp>,
    /// When the connection last delivered anything, including heartbeats.
    pub last_alive_at: Option<Timestamp>,
    /// Message chunks with text, reasoning or arguments.
    pub tokens: u64,
    connections: Rows<Connection>,
    possible_gaps: Rows<PossibleGap>,
    last_seq: Seq,
    /// The usual pause between two events: a moving average.
    pause: Duration,
    last_heartbeat: Option<Timestamp>,
    heartbeat_interval: Option<Duration>,
    /// Events and tokens per second.
    pub rates: Rates,
    newest_id: Option<IdKey>,
    /// The connection whose numbers `newest_id` belongs to, if ids are not times.
    numbered_on: u32,
}

impl DeliveryLog {
    /// Returns the connections, oldest first.
    pub fn connections(&self) -> &Rows<Connection> {
        &self.connections
    }

    /// Returns the gaps, oldest first.
    pub fn possible_gaps(&self) -> &Rows<PossibleGap> {
        &self.possible_gaps
    }

    /// Returns whether events have ids, by which their order and duplicates are checked.
    pub fn has_ids(&self) -> bool {
        self.newest_id.is_some()
    }

    /// Returns the liveness of the open connection.
    pub fn pulse(&self, now: Timestamp) -> Liveness {
        let since = |at| between(at, now);
        let silence = self.heartbeat_interval.map(|heartbeat_interval| {
            (heartbeat_interval * MISSED_HEARTBEATS).clamp(MIN_SILENCE, MAX_SILENCE)
        });
        if let (Some(alive), Some(silence)) = (self.last_alive_at.map(since), silence)
            && alive > silence
        {
            return Liveness::Silent(alive);
        }
        let opened = self.connections.last().map(|connection| connection.opened);
        let Some(idle) = self.last_arrival.or(opened).map(since) else {
            return Liveness::Even;
        };
        if idle <= LONG_PAUSE.max(self.pause * USUAL_PAUSES) {
            return Liveness::Even;
        }
        if self.heartbeats > 0 {
            Liveness::Quiet(idle)
        } else {
            Liveness::Unheard(idle)
        }
    }

    pub(super) fn add_tokens(&mut self, event: &Event, tokens: u64) {
        if tokens > 0 && !event.replayed {
            self.rates.add_tokens(event.at, tokens);
        }
        self.tokens += tokens;
    }

    pub(super) fn apply(&mut self, item: &Item) {
        match item {
            Item::Record(Record::Event(event)) => self.apply_event(event),
            Item::Record(Record::Open {
                at,
                conn,
                status,
                resumed_after,
            }) => {
                self.note_alive(*at);
                self.rates.set_connected(*at, true);
                self.last_heartbeat = None;
                self.connections.push(Connection {
                    conn: *conn,
                    status: *status,
                    resumed_after: resumed_after.clone(),
                    opened: *at,
                    closed: None,
                    reason: None,
                    events: 0,
                });
            }
            Item::Record(Record::Close { at, conn, reason }) => {
                self.rates.set_connected(*at, false);
                if let Some(open) = self.connections.last_mut().filter(|c| c.conn == *conn) {
                    open.closed = Some(*at);
                    open.reason = Some(reason.clone());
                }
            }
            Item::Record(Record::Gap { at, why }) => {
                let why: Arc<str> = text::head(why, MAX_REASON).into();
                if precedes_stream(&why) {
                    self.before_opening = Some(why);
                    return;
                }
                self.gaps += 1;
                self.possible_gaps.push(PossibleGap {
                    at: *at,
                    after: self.last_seq,
                    why,
                });
            }
            Item::Record(Record::End(end)) => {
                self.bytes = self.bytes.max(end.bytes);
                self.duplicates = self.duplicates.max(end.duplicates);
            }
            Item::Heartbeat { at } => {
                self.heartbeats += 1;
                self.note_alive(*at);
                // Use the longest interval. Several heartbeats may be read at once after a busy period, and a thread's
                // stream consists of several connections.
                let interval = self
                    .last_heartbeat
                    .replace(*at)
                    .and_then(|last| Duration::try_from(at.duration_since(last)).ok());
                self.heartbeat_interval = self
                    .heartbeat_interval
                    .max(interval.filter(|interval| *interval >= MIN_HEARTBEAT_INTERVAL));
            }
            Item::Repeated { at, events } => {
                self.duplicates += events;
                self.note_alive(*at);
            }
            _ => {}
        }
    }

    fn note_alive(&mut self, at: Timestamp) {
        self.last_alive_at = self.last_alive_at.max(Some(at));
    }

    fn apply_event(&mut self, event: &Event) {
        self.received += 1;
        self.last_seq = event.seq;
        self.bytes += event.data.size();
        match &event.data {
            Data::Json(_) => {}
            Data::Malformed(_) => self.malformed += 1,
            Data::TooLarge { .. } => self.too_large += 1,
        }
        let time = event.time();
        self.first_event_at = self.first_event_at.or(time);
        let pause = self
            .last_arrival
            .and_then(|last| Duration::try_from(event.at.duration_since(last)).ok());
        self.pause = (self.pause * 7 + pause.unwrap_or_default()) / 8;
        self.last_arrival = Some(event.at);
        // Measure the age of live events by our clock only, because the server's may be wrong.
        self.last_event_at = if event.replayed { time } else { Some(event.at) };
        self.note_alive(event.at);
        if let Some(connection) = self.connections.last_mut() {
            connection.events += 1;
        }
        // JavaScript servers number the events of each run from 0, and each run is read over a connection of its own.
        let is_numbered = event.id.is_some() && event.server_time().is_none();
        if is_numbered && (self.numbered_on != event.conn || &*event.name == "metadata") {
            (self.newest_id, self.numbered_on) = (None, event.conn);
        }
        if let Some(id) = event.id.as_deref().and_then(IdKey::of) {
            if self.newest_id.is_some_and(|newest| id < newest) {
                self.late += 1;
            }
            self.newest_id = self.newest_id.max(Some(id));
        }
        // The arrival rate of a replay doesn't show how fast its events were sent.
        if event.replayed {
            return;
        }
        self.rates.add_event(event.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    impl DeliveryLog {
        fn event(&mut self, second: i64, conn: u32, name: &str, id: &str) -> u64 {
            let event = Event {
                at: now(second),
                conn,
                id: Some(id.into()),
                ..crate::tests::event(self.received + 1, name, "1")
            };
            self.apply(&Item::Record(Record::Event(event)));
            self.late
        }

        fn opened() -> DeliveryLog {
            let mut delivery = DeliveryLog::default();
            delivery.apply(&Item::Record(Record::Open {
                at: now(0),
                conn: 1,
                status: 200,
                resumed_after: None,
            }));
            delivery
        }
    }

    #[test]
    fn rates_and_out_of_order_events() {
        let mut delivery = DeliveryLog::default();
        let rate = |delivery: &DeliveryLog, s| delivery.rates.mean(now(s)).0;
        assert_eq!(rate(&delivery, 100), 0.0);
        for n in 0..100 {
            delivery.event(
                100 + n / 10,
                1,
                "custom",
                &format!("{}-{}", 100 + n / 10, n % 10),
            );
        }
        assert_eq!(
            [110, 112, 200].map(|s| rate(&delivery, s)),
            [10.0, 6.0, 0.0]
        );
        delivery.event(110, 1, "custom", "105-0");
        delivery.event(110, 1, "custom", "opaque");
        let counts = (delivery.received, delivery.late, delivery.bytes);
        assert_eq!(counts, (102, 1, 102));
        assert_eq!(delivery.last_event_at, Some(now(110)));
    }

    #[test]
    fn numbers_that_start_again_with_each_run_are_in_order() {
        let mut delivery = DeliveryLog::default();
        // Three runs, of which two are read over one connection. Within a run, order is checked.
        for (conn, name, id, late) in [
            (1, "metadata", "0", 0),
            (1, "values", "1", 0),
            (2, "metadata", "0", 0),
            (2, "values", "7", 0),
            (2, "metadata", "0", 0),
            (2, "values", "2", 0),
            (2, "values", "1", 1),
        ] {
            assert_eq!(
                delivery.event(1, conn, name, id),
                late,
                "{conn} {name} {id}"
            );
        }
    }

    #[test]
    fn long_pauses_and_dead_connections_are_distinguished() {
        use Liveness::{Even, Quiet, Silent, Unheard};
        let seconds = Duration::from_secs;
        let are = |delivery: &DeliveryLog, pulses: &[(i64, Liveness)]| {
            for (second, pulse) in pulses {
                assert_eq!(delivery.pulse(now(*second)), *pulse, "{second}");
            }
        };
        are(&DeliveryLog::default(), &[(500, Even)]);
        are(
            &DeliveryLog::opened(),
            &[(10, Even), (45, Unheard(seconds(45)))],
        );
        let with_heartbeats = |heartbeats: &[Timestamp]| {
            let mut delivery = DeliveryLog::opened();
            delivery.event(1, 1, "custom", "1-0");
            heartbeats
                .iter()
                .for_each(|at| delivery.apply(&Item::Heartbeat { at: *at }));
            delivery
        };
        let regular: Vec<Timestamp> = (1..9).map(|n| now(n * 5)).collect();
        let heartbeats = with_heartbeats(&regular);
        assert_eq!(heartbeats.heartbeat_interval, Some(seconds(5)));
        let pulses = [
            (43, Quiet(seconds(42))),
            (50, Quiet(seconds(49))),
            (51, Silent(seconds(11))),
        ];
        are(&heartbeats, &pulses);
        // Two simultaneous heartbeats, from the two connections of a stream, don't count as an interval.
        let simultaneous = with_heartbeats(&[now(5), now(5) + Duration::from_millis(20)]);
        assert_eq!(simultaneous.heartbeat_interval, None);
        are(&simultaneous, &[(12, Quiet(seconds(11)))]);
        // A stream with one event per minute is not quiet after ten seconds.
        let mut slow = DeliveryLog::default();
        for minute in 0..40 {
            slow.event(minute * 60, 1, "custom", "1-0");
        }
        are(&slow, &[(40 * 60, Even), (50 * 60, Unheard(seconds(660)))]);
    }

    #[test]
    fn connections_events_and_heartbeats() {
        let mut delivery = DeliveryLog::opened();
        delivery.event(2, 1, "custom", "1-0");
        delivery.apply(&Item::Heartbeat { at: now(7) });
        delivery.apply(&Item::Repeated {
            at: now(8),
            events: 3,
        });
        delivery.apply(&Item::Record(Record::Close {
            at: now(9),
            conn: 1,
            reason: "idle".into(),
        }));
        let times = (delivery.last_event_at, delivery.last_alive_at);
        assert_eq!(times, (Some(now(2)), Some(now(8))));
        assert_eq!((delivery.heartbeats, delivery.duplicates), (1, 3));
        let connection = &delivery.connections()[0];
        let closed = (
            connection.events,
            connection.closed,
            connection.reason.as_deref(),
        );
        assert_eq!(closed, (1, Some(now(9)), Some("idle")));
    }
}
