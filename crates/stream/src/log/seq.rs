//! Positions in the event log, and the numbers under which its events are shown. Both count events, and they differ where the log
//! holds snapshots, so each has a type of its own.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};

/// The position of an event in the log: from 1, without holes, snapshots included. [`Seq::START`] is the position before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The position before the first event.
    pub const START: Seq = Seq(0);
    /// The last position there can be.
    pub const MAX: Seq = Seq(u64::MAX);

    /// Returns the position after this one.
    #[must_use]
    pub fn next(self) -> Seq {
        self + 1
    }

    /// Returns the position before this one.
    #[must_use]
    pub fn previous(self) -> Seq {
        Seq(self.0.saturating_sub(1))
    }

    /// Returns how many events there are from an earlier position to this one; nothing for a later one.
    pub fn checked_since(self, earlier: Seq) -> Option<u64> {
        self.0.checked_sub(earlier.0)
    }
}

/// The position this many events later; the last one there can be at most.
impl Add<u64> for Seq {
    type Output = Seq;

    fn add(self, events: u64) -> Seq {
        Seq(self.0.saturating_add(events))
    }
}

/// How many events there are from an earlier position to this one; 0 for a later one.
impl Sub for Seq {
    type Output = u64;

    fn sub(self, earlier: Seq) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of an event among the events of its stream, from 1. Snapshots of the thread have none. This is what the screen shows
/// and what recordings count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventNumber(pub u64);

impl EventNumber {
    /// Returns the position of this event in a recording, which holds the events of the stream alone.
    pub fn in_recording(self) -> Seq {
        Seq(self.0)
    }

    /// Returns the number before this one.
    #[must_use]
    pub fn previous(self) -> EventNumber {
        EventNumber(self.0.saturating_sub(1))
    }
}

impl fmt::Display for EventNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
