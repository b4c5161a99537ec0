//! Positions in the event log, and the numbers shown for its events. Positions also count snapshots, so the two have
//! different types.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};

/// The position of an event in the log: from 1, without gaps, including snapshots. [`Seq::START`] is the position
/// before the first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The position before the first event.
    pub const START: Seq = Seq(0);
    /// The last possible position.
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

    /// Returns how many events lie between an earlier position and this one; `None` for a later one.
    pub fn checked_since(self, earlier: Seq) -> Option<u64> {
        self.0.checked_sub(earlier.0)
    }
}

/// Returns the position this many events later, saturating.
impl Add<u64> for Seq {
    type Output = Seq;

    fn add(self, events: u64) -> Seq {
        Seq(self.0.saturating_add(events))
    }
}

/// Returns how many events lie between an earlier position and this one; 0 for a later one.
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

/// The number of an event among those of its stream, from 1. Snapshots have none. The screen and recordings use these
/// numbers.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct EventNumber(pub u64);

impl EventNumber {
    /// Returns the position of this event in a recording, which contains only events of the stream.
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
