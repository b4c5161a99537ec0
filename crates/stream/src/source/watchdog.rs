//! Learns the rhythm of a server's heartbeats, and from it how long a silence may last. Without heartbeats it sleeps: a
//! server that never says anything while it works cannot be told from one that is gone.

use std::time::Duration;
use tokio::time::Instant;

const SHORTEST_BEAT: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_secs(6);
const LONGEST: Duration = Duration::from_secs(30);

/// The watchdog of one source. What it learned lasts over its connections; the rhythm is the server's.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    last_beat: Option<Instant>,
    interval: Option<Duration>,
    opened: Option<Instant>,
    /// The first heartbeat came soon, so there is a rhythm, though it may not be known yet.
    beats: bool,
    /// Heartbeats were counted on that never came: something on the way keeps them, and nothing is presumed any more.
    presumed_in_vain: bool,
}

impl Watchdog {
    /// A new connection: its first heartbeat has nothing to do with the last one of the old.
    pub fn opened(&mut self, now: Instant) {
        self.opened = Some(now);
        self.last_beat = None;
    }

    /// A heartbeat came. Of several intervals the longest counts: several may arrive at once after we were busy, or of
    /// connections that one stream is made of.
    pub fn beat(&mut self, now: Instant) {
        self.beats |= self.opened.is_some_and(|opened| now.duration_since(opened) <= LONGEST);
        if let Some(last) = self.last_beat.replace(now) {
            let interval = Some(now.duration_since(last)).filter(|interval| *interval >= SHORTEST_BEAT);
            self.interval = self.interval.max(interval);
        }
    }

    /// How long a silence may last, once that is known. `presumed`: the server is one of those that send heartbeats, so a
    /// link that falls silent before the first of them is found out too.
    pub fn patience(&self, presumed: bool) -> Option<Duration> {
        match self.interval {
            Some(interval) => Some((interval * 3).clamp(SHORTEST, LONGEST)),
            // One heartbeat promises a second, and a link may fall silent in between.
            None => (self.beats || presumed && !self.presumed_in_vain).then_some(LONGEST),
        }
    }

    /// The silence lasted too long, and the connection is given up.
    pub fn bit(&mut self) {
        self.presumed_in_vain |= self.interval.is_none() && !self.beats;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_the_server_counts_until_it_proves_wrong() {
        let mut dog = Watchdog::default();
        assert_eq!((dog.patience(false), dog.patience(true)), (None, Some(LONGEST)));
        dog.bit();
        assert_eq!(dog.patience(true), None);
        dog.opened(Instant::now());
        dog.beat(Instant::now());
        assert_eq!(dog.patience(true), Some(LONGEST));
    }

    #[test]
    fn learns_after_two() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let mut dog = Watchdog::default();
        dog.opened(at(0));
        dog.beat(at(100));
        assert_eq!(dog.patience(false), None);
        dog.opened(at(100));
        assert_eq!(dog.patience(false), None);
        dog.beat(at(100));
        assert_eq!(dog.patience(false), Some(LONGEST));
        dog.beat(at(100));
        assert_eq!(dog.patience(false), Some(LONGEST), "two at once are no rhythm");
        dog.beat(at(105));
        assert_eq!(dog.patience(false), Some(Duration::from_secs(15)));
        dog.beat(at(105));
        assert_eq!(dog.patience(false), Some(Duration::from_secs(15)));
        dog.beat(at(200));
        assert_eq!(dog.patience(false), Some(LONGEST));
    }
}
