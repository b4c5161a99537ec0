//! Ids and times in the formats of the real services.

use crate::values::locked;
use jiff::Timestamp;
use std::sync::Mutex;
use uuid::{Builder, Uuid};

/// How a server names the events of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ids {
    /// `<unix ms>-0`: all events that are published together share one id.
    #[default]
    PerMillisecond,
    /// `1-0`, `2-0`…: counted by the server, no times.
    Ordinal,
    /// No ids at all, on no stream.
    Absent,
}

/// A UUID of version 7 for a moment: run and thread ids sort by the time they were made.
pub fn uuid7(at: Timestamp) -> String {
    let millis = at.as_millisecond().max(0) as u64;
    let noise = std::array::from_fn(|_| fastrand::u8(..));
    let uuid = Builder::from_unix_timestamp_millis(millis, &noise).into_uuid();
    uuid.to_string()
}

/// A random UUID.
pub fn uuid4() -> String {
    Uuid::new_v4().to_string()
}

/// The same UUID for the same text, in every start of the simulator.
pub fn stable_uuid(text: &str) -> String {
    let halves = [SEED, 0x9e37_79b9_7f4a_7c15].map(|seed| mixed(text, seed).to_be_bytes());
    let bytes: Vec<u8> = halves.concat();
    let bytes = bytes.try_into().unwrap_or_default();
    Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// A hexadecimal string of a length, always the same for the same text; for commits, digests and host names.
pub fn stable_hex(text: &str, length: usize) -> String {
    let part = |round: u64| mixed(text, SEED ^ round.wrapping_mul(0x9e37_79b9));
    let parts = (0..=length as u64 / 16).map(|round| format!("{:016x}", part(round)));
    let mut hex: String = parts.collect();
    hex.truncate(length);
    hex
}

/// A number that is always the same for the same text.
pub fn stable_number(text: &str) -> u64 {
    mixed(text, SEED)
}

const SEED: u64 = 0xcbf2_9ce4_8422_2325;

fn mixed(text: &str, seed: u64) -> u64 {
    let mut hash = seed;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // FNV alone keeps similar texts similar in their high bits.
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

/// A checkpoint id: a UUID of version 6, so that its text sorts by time. `step` is the graph's step, as in the real ones.
pub fn checkpoint_id(at: Timestamp, step: i64) -> String {
    const GREGORIAN: i128 = 122_192_928_000_000_000;
    let ticks = (at.as_nanosecond() / 100 + GREGORIAN) as u64;
    let (high, mid, low) = (
        (ticks >> 28) as u32,
        (ticks >> 12) as u16,
        (ticks & 0xfff) as u16,
    );
    let clock = 0x8000 | ((step as u16) & 0x3fff);
    format!(
        "{high:08x}-{mid:04x}-6{low:03x}-{clock:04x}-{:012x}",
        fastrand::u64(..) & 0xffff_ffff_ffff
    )
}

/// A time as the Python server writes it: microseconds and `+00:00`.
pub fn iso(at: Timestamp) -> String {
    format!("{at:.6}").replace('Z', "+00:00")
}

/// A time as the control plane writes it: microseconds and `Z`.
pub fn iso_z(at: Timestamp) -> String {
    format!("{at:.6}")
}

/// The current time.
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// The moment a number of seconds before another one.
pub fn before(at: Timestamp, seconds: f64) -> Timestamp {
    let nanos = at.as_nanosecond() - (seconds * 1e9) as i128;
    Timestamp::from_nanosecond(nanos).unwrap_or(at)
}

/// Creates ids.
#[derive(Debug)]
pub struct IdClock {
    ids: Ids,
    last: Mutex<i64>,
}

impl IdClock {
    /// A clock for one kind of ids.
    pub fn new(ids: Ids) -> Self {
        IdClock {
            ids,
            last: Mutex::new(0),
        }
    }

    /// The ids of `count` events that are published together at a time. Two calls never share a millisecond.
    pub fn burst(&self, at: Timestamp, count: usize) -> Vec<String> {
        let mut last = locked(&self.last);
        match self.ids {
            Ids::PerMillisecond => {
                *last = at.as_millisecond().max(*last + 1);
                vec![format!("{last}-0"); count]
            }
            Ids::Ordinal => {
                let first = *last + 1;
                *last += count as i64;
                (first..=*last).map(|n| format!("{n}-0")).collect()
            }
            Ids::Absent => vec![String::new(); count],
        }
    }

    /// The kind of ids.
    pub fn kind(&self) -> Ids {
        self.ids
    }
}
