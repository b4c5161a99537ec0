//! One event of a stream, as the tape keeps it.

use jiff::Timestamp;
use std::sync::Arc;

/// One event. `data` is exactly what was received.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Position on the tape, from 1, without holes.
    pub seq: u64,
    /// When it arrived here.
    pub at: Timestamp,
    /// The connection it came on, from 1.
    pub conn: u32,
    /// Event name without its namespace: `values`, `messages/partial`, `error`, …
    pub name: Arc<str>,
    /// Segments of the namespace (`sub:<task uuid>`), outermost first; empty at the root.
    pub ns: Arc<[Arc<str>]>,
    /// The server's id. Opaque, and not unique: the Python server repeats it within a millisecond.
    pub id: Option<Arc<str>>,
    /// The payload.
    pub data: Data,
}

/// The payload of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Valid JSON, exactly as received.
    Json(Arc<str>),
    /// Not JSON: the text as received.
    Malformed(Arc<str>),
    /// Larger than the cap: its size in bytes and its head. The rest was let go.
    TooLarge {
        /// Size in bytes.
        size: u64,
        /// The first bytes, as text.
        head: Arc<str>,
    },
}

impl Data {
    /// The JSON text, where it is JSON.
    pub fn json(&self) -> Option<&Arc<str>> {
        match self {
            Data::Json(text) => Some(text),
            _ => None,
        }
    }

    /// Bytes that came.
    pub fn size(&self) -> u64 {
        match self {
            Data::Json(text) | Data::Malformed(text) => text.len() as u64,
            Data::TooLarge { size, .. } => *size,
        }
    }

    /// Whatever text there is.
    pub fn text(&self) -> &Arc<str> {
        match self {
            Data::Json(text) | Data::Malformed(text) => text,
            Data::TooLarge { head, .. } => head,
        }
    }
}
