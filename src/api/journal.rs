//! The journal: every request of the session that was meant to change something, and what came of it.

use super::Place;
use crate::model::PlainRequest;
use jiff::Timestamp;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Entries that are kept; the oldest go first.
const MOST: usize = 500;

/// What was sent to change something, oldest first. All clones share it. There is no secret in it.
#[derive(Debug, Clone, Default)]
pub struct Journal(Arc<Mutex<VecDeque<Sent>>>);

/// A request that was sent to change something.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// When it left.
    pub at: Timestamp,
    /// Where it went.
    pub place: Place,
    /// All of it, without secrets.
    pub request: PlainRequest,
    /// What came of it.
    pub outcome: Outcome,
    /// How long that took.
    pub took: Duration,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The server answered with this status.
    Status(u16),
    /// No answer came, for this reason: whether it was carried out is not known.
    NoAnswer(String),
}

impl Sent {
    /// Whether the server said that it is done.
    pub fn is_done(&self) -> bool {
        matches!(self.outcome, Outcome::Status(200..=299))
    }
}

impl Journal {
    /// What was written down so far, oldest first.
    pub fn entries(&self) -> Vec<Sent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Begins an entry. It is written down when it ends, or when nobody waits for its end any more.
    pub(super) fn begin(&self, place: &Place, request: PlainRequest) -> Noted {
        let outcome = Outcome::NoAnswer("nobody waited for the answer any more".into());
        let sent = Sent { at: Timestamp::now(), place: place.clone(), request, outcome, took: Duration::ZERO };
        Noted { journal: self.clone(), began: Instant::now(), sent: Some(sent) }
    }

    fn write(&self, sent: Sent) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() == MOST {
            entries.pop_front();
        }
        entries.push_back(sent);
    }
}

/// An entry of the journal that has not ended.
pub(super) struct Noted {
    journal: Journal,
    began: Instant,
    sent: Option<Sent>,
}

impl Noted {
    /// Writes it down with what came of it.
    pub fn ended(&mut self, outcome: Outcome) {
        if let Some(sent) = &mut self.sent {
            sent.outcome = outcome;
        }
        self.write();
    }

    fn write(&mut self) {
        if let Some(mut sent) = self.sent.take() {
            sent.took = self.began.elapsed();
            self.journal.write(sent);
        }
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.write();
    }
}
