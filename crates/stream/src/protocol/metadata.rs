//! `metadata`: the run that the following events belong to.

use super::{Number, Text};
use serde::Deserialize;

/// `metadata`: a run started, or, on thread streams of the Python server, finished (`{"status": "run_done"}`). JavaScript
/// servers don't send the attempt.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Metadata<'a> {
    pub run_id: Text<'a>,
    pub status: Text<'a>,
    pub attempt: Number,
}

impl Metadata<'_> {
    /// Returns the number of the attempt, from 1.
    pub fn attempt(&self) -> u64 {
        self.attempt
            .0
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or(1)
            .max(1)
    }

    /// Returns whether the run has finished.
    pub fn is_done(&self) -> bool {
        self.status.is("run_done")
    }
}
