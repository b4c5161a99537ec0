//! The state of a thread's merged stream that outlives a connection.

use crate::source::id_key::IdKey;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The merge state that a link keeps across connections.
#[derive(Debug, Default)]
pub(crate) struct MergeMemory {
    /// Whether any event was delivered.
    pub(super) has_delivered: bool,
    /// The run of the newest event, unless it has finished.
    pub(super) current: Option<String>,
    /// Finished runs, each with the id of its last event.
    pub(super) done: HashMap<String, Option<IdKey>>,
    /// Whether the stream was reopened because the start of a run was missing, and no run has finished since.
    pub(super) reopened_for_start: bool,
    /// The run whose missing end was the reason to reopen the stream.
    pub(super) reopened_for_end: Option<String>,
    /// Whether newer events were read before a slow replay was complete. If the connection is lost now, the rest of the
    /// replay is lost.
    pub(super) replay_overdue: bool,
}

/// Locks the memory, even if a task panicked while it held the lock.
pub(super) fn lock(memory: &Mutex<MergeMemory>) -> MutexGuard<'_, MergeMemory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}
