//! Copies a thread to another server, with its history as supersteps or only with its newest state (acting reference §4).

mod plan;
mod read;
mod send;

pub use send::{Reproduced, StateDifference};

use runtail_core::model::HistoryState;

/// What to copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReproduceIntent {
    /// The thread.
    pub thread: String,
    /// The graph on the target; none means the thread's own.
    pub graph: Option<String>,
    /// Whether only the newest state is copied.
    pub state_only: bool,
}

/// The thread of a copy.
pub struct CopiedThread {
    /// Its id.
    thread: String,
    graph: String,
    /// Whether it has only the newest state, which is written after the thread is created.
    state_only: bool,
    /// The states that it should have, oldest first.
    expected: Vec<HistoryState>,
}
