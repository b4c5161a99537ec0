//! The books: what came, what came twice, what may be missing, and the two clocks: when something last happened, and when
//! the link last gave a sign of life.

use super::rows::Rows;
use crate::stream::{Data, Event, Item, Record, id_order};
use jiff::Timestamp;
use std::collections::VecDeque;

const MAX_CONNECTIONS: usize = 4096;
/// The rate is taken over this many seconds.
const WINDOW: i64 = 5;

/// One connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    /// Its number, from 1.
    pub conn: u32,
    /// HTTP status.
    pub status: u16,
    /// The id that was asked to go on after.
    pub resumed_after: Option<String>,
    /// When it was opened.
    pub opened: Timestamp,
    /// When it was closed.
    pub closed: Option<Timestamp>,
    /// Why it was closed.
    pub reason: Option<String>,
    /// Events that came on it.
    pub events: u64,
}

/// The sums of a tape.
#[derive(Debug)]
pub struct Ledger {
    /// Events on the tape.
    pub received: u64,
    /// Events that were repeated and let pass.
    pub duplicates: u64,
    /// Places where something may be missing.
    pub gaps: u64,
    /// Events whose data is no JSON.
    pub malformed: u64,
    /// Events that were cut to their head.
    pub too_large: u64,
    /// Events whose id is older than that of an event before them.
    pub late: u64,
    /// Bytes of payload; of whole bodies once the source has ended.
    pub bytes: u64,
    /// Signs of life.
    pub heartbeats: u64,
    /// When the first event came.
    pub first_event_at: Option<Timestamp>,
    /// When the last event came: the clock of work.
    pub last_event_at: Option<Timestamp>,
    /// When the link last gave any sign of life: the clock of the connection.
    pub last_alive_at: Option<Timestamp>,
    /// When the first token came.
    pub first_token_at: Option<Timestamp>,
    /// Pieces of messages that held text, reasoning or arguments.
    pub tokens: u64,
    connections: Rows<Connection>,
    seconds: VecDeque<(i64, u32)>,
    newest_id: Option<(u64, u64)>,
}

impl Default for Ledger {
    fn default() -> Self {
        Ledger {
            received: 0,
            duplicates: 0,
            gaps: 0,
            malformed: 0,
            too_large: 0,
            late: 0,
            bytes: 0,
            heartbeats: 0,
            first_event_at: None,
            last_event_at: None,
            last_alive_at: None,
            first_token_at: None,
            tokens: 0,
            connections: Rows::new(MAX_CONNECTIONS),
            seconds: VecDeque::new(),
            newest_id: None,
        }
    }
}

impl Ledger {
    /// The connections, oldest first.
    pub fn connections(&self) -> &Rows<Connection> {
        &self.connections
    }

    /// Events a second over the last few whole seconds before a moment.
    pub fn rate(&self, now: Timestamp) -> f64 {
        let now = now.as_second();
        let recent = self.seconds.iter().filter(|(second, _)| (now - WINDOW..now).contains(second));
        let count: u32 = recent.map(|(_, count)| count).sum();
        // A stream that is younger than the window is not slower for it.
        let first = self.first_event_at.map_or(now, Timestamp::as_second);
        f64::from(count) / (now - first).clamp(1, WINDOW) as f64
    }

    /// Seconds from a moment (the start of the run) to the first token.
    pub fn seconds_to_first_token(&self, start: Timestamp) -> Option<f64> {
        Some(self.first_token_at?.duration_since(start).as_secs_f64())
    }

    pub(super) fn tokens(&mut self, at: Timestamp, tokens: u64) {
        if tokens > 0 {
            self.tokens += tokens;
            self.first_token_at.get_or_insert(at);
        }
    }

    pub(super) fn apply(&mut self, item: &Item) {
        match item {
            Item::Record(Record::Event(event)) => self.event(event),
            Item::Record(Record::Open { at, conn, status, resumed_after }) => {
                self.alive(*at);
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
                if let Some(open) = self.connections.last_mut().filter(|c| c.conn == *conn) {
                    open.closed = Some(*at);
                    open.reason = Some(reason.clone());
                }
            }
            Item::Record(Record::Gap { .. }) => self.gaps += 1,
            Item::Record(Record::End(end)) => {
                self.bytes = self.bytes.max(end.bytes);
                self.duplicates = self.duplicates.max(end.duplicates);
            }
            Item::Heartbeat { at } => {
                self.heartbeats += 1;
                self.alive(*at);
            }
            Item::Repeated { at, events } => {
                self.duplicates += events;
                self.alive(*at);
            }
            Item::Record(Record::Tape(_))
            | Item::Connecting { .. }
            | Item::Retrying { .. }
            | Item::Started { .. }
            | Item::Failed(_) => {}
        }
    }

    fn alive(&mut self, at: Timestamp) {
        self.last_alive_at = self.last_alive_at.max(Some(at));
    }

    fn event(&mut self, event: &Event) {
        self.received += 1;
        self.bytes += event.data.text().len() as u64;
        match &event.data {
            Data::Json(_) => {}
            Data::Malformed(_) => self.malformed += 1,
            Data::TooLarge { size, head } => {
                self.too_large += 1;
                self.bytes += size.saturating_sub(head.len() as u64);
            }
        }
        self.first_event_at.get_or_insert(event.at);
        self.last_event_at = Some(event.at);
        self.alive(event.at);
        if let Some(connection) = self.connections.last_mut() {
            connection.events += 1;
        }
        if let Some(id) = event.id.as_deref().and_then(id_order) {
            if self.newest_id.is_some_and(|newest| id < newest) {
                self.late += 1;
            }
            self.newest_id = self.newest_id.max(Some(id));
        }
        let second = event.at.as_second();
        match self.seconds.back_mut() {
            Some((last, count)) if *last == second => *count += 1,
            _ => self.seconds.push_back((second, 1)),
        }
        while self.seconds.len() > WINDOW as usize + 2 {
            self.seconds.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(second: i64, id: &str) -> Item {
        Item::Record(Record::Event(Event {
            seq: 1,
            at: Timestamp::from_second(second).unwrap(),
            conn: 1,
            name: "custom".into(),
            ns: [].into(),
            id: Some(id.into()),
            data: Data::Json("1".into()),
        }))
    }

    #[test]
    fn rates_and_late_ones() {
        let mut ledger = Ledger::default();
        let now = |s| Timestamp::from_second(s).unwrap();
        assert_eq!(ledger.rate(now(100)), 0.0);
        for second in 100..110 {
            for n in 0..10 {
                ledger.apply(&event(second, &format!("{second}-{n}")));
            }
        }
        assert_eq!((ledger.rate(now(110)), ledger.rate(now(112)), ledger.rate(now(200))), (10.0, 6.0, 0.0));
        ledger.apply(&event(110, "105-0"));
        ledger.apply(&event(110, "opaque"));
        assert_eq!((ledger.received, ledger.late, ledger.bytes), (102, 1, 102));
        assert_eq!(ledger.last_event_at, Some(now(110)));
    }

    #[test]
    fn two_clocks_and_the_connections() {
        let mut ledger = Ledger::default();
        let now = |s| Timestamp::from_second(s).unwrap();
        ledger.apply(&Item::Record(Record::Open { at: now(1), conn: 1, status: 200, resumed_after: None }));
        ledger.apply(&event(2, "1-0"));
        ledger.apply(&Item::Heartbeat { at: now(7) });
        ledger.apply(&Item::Repeated { at: now(8), events: 3 });
        ledger.apply(&Item::Record(Record::Close { at: now(9), conn: 1, reason: "idle".into() }));
        assert_eq!((ledger.last_event_at, ledger.last_alive_at), (Some(now(2)), Some(now(8))));
        assert_eq!((ledger.heartbeats, ledger.duplicates), (1, 3));
        let connection = &ledger.connections()[0];
        assert_eq!(
            (connection.events, connection.closed, connection.reason.as_deref()),
            (1, Some(now(9)), Some("idle"))
        );
    }
}
