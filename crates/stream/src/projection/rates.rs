//! The rates of a live stream: events and tokens in each second, for strips. The number of buckets is fixed.

use jiff::Timestamp;
use std::collections::VecDeque;

/// Number of seconds kept.
const SECONDS: usize = 300;
/// Number of seconds over which a rate is averaged.
const MEAN_OVER: i64 = 5;
/// Maximum number of connection changes kept; there are usually one or two in that time.
const MAX_CHANGES: usize = 64;

/// The events and tokens of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rate {
    pub events: u32,
    pub tokens: u32,
}

impl Rate {
    fn max(self, other: Rate) -> Rate {
        Rate {
            events: self.events.max(other.events),
            tokens: self.tokens.max(other.tokens),
        }
    }
}

impl std::ops::Add for Rate {
    type Output = Rate;

    fn add(self, other: Rate) -> Rate {
        Rate {
            events: self.events.saturating_add(other.events),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }
}

/// The events and tokens per second of the last minutes. Only live events count, because a replay arrives in one burst.
#[derive(Debug, Clone, Default)]
pub struct Rates {
    /// The seconds (Unix time) with events, oldest first.
    seconds: VecDeque<(i64, Rate)>,
    /// When the connection opened (true) or closed, oldest first.
    changes: VecDeque<(Timestamp, bool)>,
}

impl Rates {
    /// Counts a live event.
    pub(super) fn add_event(&mut self, at: Timestamp) {
        if let Some(bucket) = self.bucket(at.as_second()) {
            bucket.events = bucket.events.saturating_add(1);
        }
    }

    /// Counts the tokens of a live event.
    pub(super) fn add_tokens(&mut self, at: Timestamp, tokens: u64) {
        if let Some(bucket) = self.bucket(at.as_second()).filter(|_| tokens > 0) {
            bucket.tokens = bucket
                .tokens
                .saturating_add(u32::try_from(tokens).unwrap_or(u32::MAX));
        }
    }

    /// Records that the connection opened or closed.
    pub(super) fn set_connected(&mut self, at: Timestamp, connected: bool) {
        if self.changes.len() >= MAX_CHANGES {
            self.changes.pop_front();
        }
        self.changes.push_back((at, connected));
    }

    fn bucket(&mut self, second: i64) -> Option<&mut Rate> {
        // The clock may have been set back; those events count for the newest second.
        if self.seconds.back().is_none_or(|(last, _)| *last < second) {
            self.seconds.push_back((second, Rate::default()));
            if self.seconds.len() > SECONDS {
                self.seconds.pop_front();
            }
        }
        self.seconds.back_mut().map(|(_, rate)| rate)
    }

    /// Returns whether the connection was open at any time of a second; `None` before the first connection.
    fn was_connected(&self, second: i64) -> Option<bool> {
        let after = self
            .changes
            .partition_point(|(at, _)| at.as_second() <= second);
        let before = after
            .checked_sub(1)
            .and_then(|last| self.changes.get(last))?;
        // It was open for a part of the second in which it closed.
        Some(before.1 || before.0.as_second() == second)
    }

    /// Returns the last closed buckets before a time, oldest first: each has the highest rate of `size` seconds. `None`
    /// while not connected. There are fewer if the stream is younger.
    pub fn buckets(&self, now: Timestamp, size: i64, count: usize) -> Vec<Option<Rate>> {
        let size = size.max(1);
        let end = now.as_second().div_euclid(size) * size;
        let bucket = |back: i64| {
            let from = end - back * size;
            let connected: Vec<bool> = (from..from + size)
                .filter_map(|second| self.was_connected(second))
                .collect();
            let counted = self.seconds.partition_point(|(second, _)| *second < from);
            let inside = self
                .seconds
                .range(counted..)
                .take_while(|(second, _)| *second < from + size);
            let max = inside.fold(None, |max: Option<Rate>, (_, rate)| {
                Some(max.unwrap_or_default().max(*rate))
            });
            // Nothing before the first connection.
            (max.is_some() || !connected.is_empty())
                .then(|| max.or(connected.contains(&true).then(Rate::default)))
        };
        let count = i64::try_from(count).unwrap_or(0).min(SECONDS as i64);
        (1..=count).rev().filter_map(bucket).collect()
    }

    /// Returns the mean number of events and tokens per second over the last few whole seconds before a time.
    pub fn mean(&self, now: Timestamp) -> (f64, f64) {
        let now = now.as_second();
        let recent = self
            .seconds
            .iter()
            .filter(|(second, _)| (now - MEAN_OVER..now).contains(second));
        let (mut events, mut tokens, mut first) = (0.0, 0.0, now);
        for (second, rate) in recent {
            first = first.min(*second);
            events += f64::from(rate.events);
            tokens += f64::from(rate.tokens);
        }
        // Don't underestimate the rate of a stream that is younger than that.
        let oldest = self.seconds.front().map_or(first, |(second, _)| *second);
        let seconds = (now - oldest).clamp(1, MEAN_OVER) as f64;
        (events / seconds, tokens / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn events(buckets: &[Option<Rate>]) -> Vec<Option<u32>> {
        buckets
            .iter()
            .map(|rate| rate.map(|rate| rate.events))
            .collect()
    }

    #[test]
    fn a_break_is_unknown_and_not_zero() {
        let mut rates = Rates::default();
        rates.set_connected(at(0), true);
        (0..5).for_each(|_| rates.add_event(at(1)));
        rates.set_connected(at(2), false);
        rates.set_connected(at(5), true);
        rates.add_event(at(6));
        let buckets = rates.buckets(at(8), 1, 20);
        assert_eq!(
            events(&buckets),
            [
                Some(0),
                Some(5),
                Some(0),
                None,
                None,
                Some(0),
                Some(1),
                Some(0)
            ]
        );
        // The open bucket is not shown.
        rates.add_event(at(8));
        assert_eq!(rates.buckets(at(8), 1, 20), buckets);
    }

    #[test]
    fn larger_buckets_keep_the_highest_rate() {
        let mut rates = Rates::default();
        rates.set_connected(at(0), true);
        (0..7).for_each(|_| rates.add_event(at(3)));
        rates.add_tokens(at(3), 4);
        rates.add_event(at(12));
        let buckets = rates.buckets(at(20), 10, 30);
        assert_eq!(
            buckets,
            [
                Some(Rate {
                    events: 7,
                    tokens: 4
                }),
                Some(Rate {
                    events: 1,
                    tokens: 0
                })
            ]
        );
        assert_eq!(rates.mean(at(4)), (7.0, 4.0));
        assert_eq!(rates.mean(at(30)), (0.0, 0.0));
    }

    proptest! {
        #[test]
        fn the_number_of_buckets_is_bounded(seconds in proptest::collection::vec(0i64..10_000, 0..600), now in 0i64..10_000, size in 1i64..60) {
            let mut rates = Rates::default();
            for second in seconds {
                rates.add_event(at(second));
                rates.set_connected(at(second), second % 3 > 0);
            }
            prop_assert!(rates.seconds.len() <= SECONDS && rates.changes.len() <= MAX_CHANGES);
            prop_assert!(rates.buckets(at(now), size, 30).len() <= 30);
        }
    }
}
