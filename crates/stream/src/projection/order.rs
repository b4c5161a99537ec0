//! The order in which messages are shown; `placing` decides it.

use jiff::Timestamp;
use std::collections::HashSet;

/// The order of the messages, and what is known about the state that it follows.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    /// The indexes of the messages, in order.
    pub shown: Vec<usize>,
    /// The position of each message in `shown`.
    pub rank: Vec<usize>,
    /// The number of the message after which the stream continues.
    pub cursor: Option<u64>,
    /// The number of the first message after the last gap. What a state has before it was missed.
    pub since: u64,
    /// Incremented when messages that were already in order move.
    pub moves: u64,
    /// The messages of the newest snapshot, by number, and when their state was written.
    pub loaded: HashSet<u64>,
    pub written: Option<Timestamp>,
    /// The server's time of the stream's newest state.
    pub streamed: Option<Timestamp>,
}

/// The neighbors of a message in its list, by number.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Neighbors {
    pub before: Option<u64>,
    pub after: Option<u64>,
}

impl Order {
    pub fn insert(&mut self, at: usize, i: usize) {
        self.moves += u64::from(at < self.shown.len());
        self.shown.insert(at, i);
        self.rank.push(at);
        self.rank_from(at);
    }

    pub fn rank_from(&mut self, from: usize) {
        for (at, i) in self.shown.iter().enumerate().skip(from) {
            self.rank[*i] = at;
        }
    }

    /// Removes the oldest messages.
    pub fn evict(&mut self, count: usize) {
        self.moves += u64::from(self.shown.iter().take(count).any(|i| *i >= count));
        self.shown.retain(|i| *i >= count);
        self.shown.iter_mut().for_each(|i| *i -= count);
        self.rank.truncate(self.shown.len());
        self.rank_from(0);
    }
}
