//! What is remembered of a thread's merged stream while its link reconnects.

use super::framed_connection::Key;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a link knows from one connection to the next.
#[derive(Debug, Default)]
pub(crate) struct MergeMemory {
    /// The run whose events came last, unless it is done.
    pub(super) current: Option<String>,
    /// Runs whose end was seen, and its id.
    pub(super) done: HashMap<String, Option<Key>>,
    /// Came again because the begin of a run was missing, and no run was done since.
    pub(super) came_again: bool,
    /// Came again for the end of this run.
    pub(super) waited_for: Option<String>,
    /// The past was silent for so long that what follows it was read first: lost with the connection, it is lost.
    pub(super) owed: bool,
}

/// Locks the memory. A task that panicked while it held the lock leaves it usable.
pub(super) fn lock(memory: &Mutex<MergeMemory>) -> MutexGuard<'_, MergeMemory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}
