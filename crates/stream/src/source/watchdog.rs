//! Learns a server's heartbeat interval and derives the idle timeout. Without heartbeats there is no timeout, because a
//! silent server cannot be told from a dead connection.

use std::time::Duration;
use tokio::time::Instant;

const SHORTEST_BEAT: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_secs(6);
const LONGEST: Duration = Duration::from_secs(30);

/// The heartbeat watchdog of one source. What it learns applies to all its connections.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    last_beat: Option<Instant>,
    interval: Option<Duration>,
    opened: Option<Instant>,
    /// Whether an early first heartbeat showed that the server sends them regularly, even if the interval is unknown.
    beats: bool,
    /// Whether assumed heartbeats never arrived. A proxy may swallow them, so they are no longer assumed.
    assumption_failed: bool,
}

impl Watchdog {
    /// Starts a connection. The interval to the previous connection's last heartbeat means nothing.
    pub fn opened(&mut self, now: Instant) {
        self.opened = Some(now);
        self.last_beat = None;
    }

    /// Records a heartbeat. Keeps the longest interval, because several may arrive at once: after a busy period, or
    /// from the several connections of one stream.
    pub fn on_heartbeat(&mut self, now: Instant) {
        self.beats |= self.opened.is_some_and(|opened| now.duration_since(opened) <= LONGEST);
        if let Some(last) = self.last_beat.replace(now) {
            let interval = Some(now.duration_since(last)).filter(|interval| *interval >= SHORTEST_BEAT);
            self.interval = self.interval.max(interval);
        }
    }

    /// Returns the idle timeout, once known. With `assumed`, the server is of a kind that sends heartbeats, so a
    /// connection that goes silent before the first one times out too.
    pub fn timeout(&self, assumed: bool) -> Option<Duration> {
        match self.interval {
            Some(interval) => Some((interval * 3).clamp(SHORTEST, LONGEST)),
            // After one heartbeat a second one is due, and the connection may go silent in between.
            None => (self.beats || assumed && !self.assumption_failed).then_some(LONGEST),
        }
    }

    /// Records that the idle timeout expired.
    pub fn on_timeout(&mut self) {
        self.assumption_failed |= self.interval.is_none() && !self.beats;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumed_heartbeats_are_dropped_after_a_timeout() {
        let mut dog = Watchdog::default();
        assert_eq!((dog.timeout(false), dog.timeout(true)), (None, Some(LONGEST)));
        dog.on_timeout();
        assert_eq!(dog.timeout(true), None);
        dog.opened(Instant::now());
        dog.on_heartbeat(Instant::now());
        assert_eq!(dog.timeout(true), Some(LONGEST));
    }

    #[test]
    fn two_heartbeats_set_the_timeout() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let mut dog = Watchdog::default();
        dog.opened(at(0));
        dog.on_heartbeat(at(100));
        assert_eq!(dog.timeout(false), None);
        dog.opened(at(100));
        assert_eq!(dog.timeout(false), None);
        dog.on_heartbeat(at(100));
        assert_eq!(dog.timeout(false), Some(LONGEST));
        dog.on_heartbeat(at(100));
        assert_eq!(dog.timeout(false), Some(LONGEST), "two at once are not an interval");
        dog.on_heartbeat(at(105));
        assert_eq!(dog.timeout(false), Some(Duration::from_secs(15)));
        dog.on_heartbeat(at(105));
        assert_eq!(dog.timeout(false), Some(Duration::from_secs(15)));
        dog.on_heartbeat(at(200));
        assert_eq!(dog.timeout(false), Some(LONGEST));
    }
}
