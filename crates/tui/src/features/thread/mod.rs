//! A thread: the explanation of its status, answers to its questions, and its actions.

pub mod actions;
pub mod answer;
pub mod why;

use crate::session::msg::ThreadRef;
use answer::KeptDraft;
use jiff::{SignedDuration, Timestamp};

/// The stored state of threads.
#[derive(Debug, Default)]
pub struct Threads {
    /// The drafts of answers that were not sent.
    pub answer_drafts: Vec<KeptDraft>,
    /// Actions that were sent and have no result yet: their number, thread and time.
    in_flight: Vec<(u64, ThreadRef, Timestamp)>,
}

/// How long an action without a result prevents another one. Requests time out earlier.
const IN_FLIGHT: SignedDuration = SignedDuration::from_mins(5);

impl Threads {
    /// Notes that an action was sent.
    pub fn on_sent(&mut self, number: u64, thread: ThreadRef, now: Timestamp) {
        self.in_flight.push((number, thread, now));
    }

    /// Notes that an action has a result.
    pub fn on_result(&mut self, number: u64) {
        self.in_flight.retain(|(of, ..)| *of != number);
    }

    /// Returns whether an action on a thread was sent and has no result yet. Another one could be the same again: the thread's
    /// records don't show the first one before the server has received it.
    pub fn is_in_flight(&self, thread: &ThreadRef, now: Timestamp) -> bool {
        self.in_flight
            .iter()
            .any(|(_, of, at)| of == thread && now.duration_since(*at) < IN_FLIGHT)
    }
}
