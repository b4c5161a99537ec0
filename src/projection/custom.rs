//! What nodes wrote of their own accord.

use super::rows::Rows;
use super::wire::Payload;
use crate::stream::Namespace;
use jiff::Timestamp;

const MAX_ROWS: usize = 200_000;

/// One custom event. What it holds is on the tape.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomRow {
    /// The event.
    pub seq: u64,
    /// When it came.
    pub at: Timestamp,
    /// Where the node lives.
    pub ns: Namespace,
}

/// The rows of a tape.
#[derive(Debug)]
pub struct Custom {
    rows: Rows<CustomRow>,
}

impl Default for Custom {
    fn default() -> Self {
        Custom { rows: Rows::new(MAX_ROWS) }
    }
}

impl Custom {
    /// The rows in the order of their events.
    pub fn rows(&self) -> &Rows<CustomRow> {
        &self.rows
    }

    pub(super) fn apply(&mut self, payload: &Payload<'_>) {
        if payload.name == "custom" {
            let event = payload.event;
            self.rows.push(CustomRow { seq: event.seq, at: event.at, ns: payload.ns.clone() });
        }
    }
}
