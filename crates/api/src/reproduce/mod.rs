//! Copies a thread to another server, with its history as supersteps or only with its newest state (acting reference §4).

mod plan;
mod read;
mod send;

pub use send::{Reproduced, StateDifference};

use runtail_core::model::{HistoryState, Preview};
use serde_json::Value;

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

/// A copy that can be made. It holds the thread's values, so it has no `Debug`.
#[derive(Clone)]
pub struct ReproducePlan {
    /// What is seen of it.
    pub preview: Preview,
    /// The source's thread.
    thread: String,
    /// Its newest checkpoint when it was read.
    head: String,
    /// The id of the new thread.
    new_thread: String,
    graph: String,
    /// The body of the request that creates the thread.
    create: Value,
    /// The body of the request that writes its state after that.
    state: Option<Value>,
    /// The states that the copy should have, oldest first.
    expected: Vec<HistoryState>,
}

impl ReproducePlan {
    /// Returns the id of the new thread, which is chosen before the request so that it is found if the reply is lost.
    pub fn new_thread(&self) -> &str {
        &self.new_thread
    }

    /// Returns the graph that the new thread belongs to.
    pub fn graph(&self) -> &str {
        &self.graph
    }
}
