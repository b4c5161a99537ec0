//! Learns a server's heartbeat interval and derives the idle timeout. Without heartbeats there is no timeout, because a
//! silent server looks like a dead connection.

use std::time::Duration;
use tokio::time::Instant;

const MIN_INTERVAL: Duration = Duration::from_secs(1);
const MIN_TIMEOUT: Duration = Duration::from_secs(6);
const MAX_TIMEOUT: Duration = Duration::from_secs(30);

/// The heartbeat watchdog of one source. What it learns applies to all its connections.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    last_heartbeat: Option<Instant>,
    interval: Option<Duration>,
    opened: Option<Instant>,
    /// Whether an early first heartbeat showed that the server sends them regularly, even if the interval is unknown.
    has_regular_heartbeats: bool,
    /// Whether assumed heartbeats never arrived. A proxy may swallow them, so they are no longer assumed.
    assumption_failed: bool,
}

impl Watchdog {
    /// Starts a connection. The interval to the previous connection's last heartbeat means nothing.
    pub fn opened(&mut self, now: Instant) {
        self.opened = Some(now);
        self.last_heartbeat = None;
    }

    /// Records a heartbeat. Keeps the longest interval, because several may arrive at once: after a busy period, or
    /// from the several connections of one stream.
    pub fn on_heartbeat(&mut self, now: Instant) {
        self.has_regular_heartbeats |= self
            .opened
            .is_some_and(|opened| now.duration_since(opened) <= MAX_TIMEOUT);
        if let Some(last) = self.last_heartbeat.replace(now) {
            let interval =
                Some(now.duration_since(last)).filter(|interval| *interval >= MIN_INTERVAL);
            self.interval = self.interval.max(interval);
        }
    }

    /// Returns the idle timeout, once known. With `assumed`, the server is of a kind that sends heartbeats, so a
    /// connection that goes silent before the first one times out too.
    pub fn timeout(&self, assumed: bool) -> Option<Duration> {
        match self.interval {
            Some(interval) => Some((interval * 3).clamp(MIN_TIMEOUT, MAX_TIMEOUT)),
            // After a first heartbeat a second one is expected, and the connection may go silent in between.
            None => (self.has_regular_heartbeats || assumed && !self.assumption_failed)
                .then_some(MAX_TIMEOUT),
        }
    }

    /// Records that the idle timeout expired.
    pub fn on_timeout(&mut self) {
        self.assumption_failed |= self.interval.is_none() && !self.has_regular_heartbeats;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumed_heartbeats_are_dropped_after_a_timeout() {
        let mut watchdog = Watchdog::default();
        assert_eq!(
            (watchdog.timeout(false), watchdog.timeout(true)),
            (None, Some(MAX_TIMEOUT))
        );
        watchdog.on_timeout();
        assert_eq!(watchdog.timeout(true), None);
        watchdog.opened(Instant::now());
        watchdog.on_heartbeat(Instant::now());
        assert_eq!(watchdog.timeout(true), Some(MAX_TIMEOUT));
    }

    #[test]
    fn two_heartbeats_set_the_timeout() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let mut watchdog = Watchdog::default();
        watchdog.opened(at(0));
        watchdog.on_heartbeat(at(100));
        assert_eq!(watchdog.timeout(false), None);
        watchdog.opened(at(100));
        assert_eq!(watchdog.timeout(false), None);
        watchdog.on_heartbeat(at(100));
        assert_eq!(watchdog.timeout(false), Some(MAX_TIMEOUT));
        watchdog.on_heartbeat(at(100));
        assert_eq!(
            watchdog.timeout(false),
            Some(MAX_TIMEOUT),
            "two heartbeats at once are not an interval"
        );
        watchdog.on_heartbeat(at(105));
        assert_eq!(watchdog.timeout(false), Some(Duration::from_secs(15)));
        watchdog.on_heartbeat(at(105));
        assert_eq!(watchdog.timeout(false), Some(Duration::from_secs(15)));
        watchdog.on_heartbeat(at(200));
        assert_eq!(watchdog.timeout(false), Some(MAX_TIMEOUT));
    }
}
