//! Quirks of an agent server, learned from its responses and remembered. Servers differ in small ways that break lists
//! (agent-server reference §10); nothing here depends on a server's name.

use crate::ApiError;
use crate::connections::lock;
use std::collections::HashMap;
use std::sync::Mutex;

/// Page size for an unknown server: the maximum of Python and JavaScript.
const LARGEST_PAGE: usize = 1000;
/// Page size that every known server accepts (Aegra rejects larger ones).
pub const SAFE_PAGE: usize = 100;

/// The known quirks of one agent server. Shared by all its clients, and safe to lose.
#[derive(Debug, Default)]
pub struct Quirks {
    known: Mutex<Known>,
    /// The server's answers to calls that it doesn't have, by method and path.
    missing: Mutex<HashMap<String, ApiError>>,
}

/// What a server's responses showed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    /// The supported form of a thread search: 0 sorted with `select`, 1 sorted, 2 plain.
    pub thread_search: u8,
    pub run_order: RunOrder,
    pub run_tail: RunTail,
    refuses_large_pages: bool,
    /// Whether it has answered that it has no thread streams.
    pub lacks_thread_streams: bool,
    pub values_search: ValuesSearch,
    /// Whether metadata filters match nested values.
    pub filters_nested_metadata: Option<bool>,
    /// Whether an item of the store is requested with a parameter for each label of its namespace.
    pub repeats_namespace: bool,
    /// Whether it refuses a start with fields that the contract doesn't have.
    pub refuses_options: bool,
}

/// The order of a server's run list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunOrder {
    /// Not known yet.
    #[default]
    Unknown,
    /// Newest first: Python, Aegra.
    NewestFirst,
    /// Oldest first: JavaScript.
    OldestFirst,
}

/// Whether a negative offset returns the end of the run list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunTail {
    /// Not tried yet.
    #[default]
    Unknown,
    /// Supported.
    Works,
    /// Not supported.
    Refused,
}

/// How threads are searched by the values of their states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValuesSearch {
    /// The server filters, as far as known.
    #[default]
    Filter,
    /// The server's filter fails; it extracts the values instead.
    Extract,
    /// The server ignores the filter; its rows may have the values.
    Rows,
}

impl Known {
    /// Returns the largest page size that the server accepts, as far as known.
    pub fn largest_page(self) -> usize {
        if self.refuses_large_pages {
            SAFE_PAGE
        } else {
            LARGEST_PAGE
        }
    }
}

impl Quirks {
    pub fn known(&self) -> Known {
        *lock(&self.known)
    }

    pub fn learn(&self, change: impl FnOnce(&mut Known)) {
        change(&mut lock(&self.known));
    }

    /// Returns the server's answer to a call that it doesn't have, so that the call is sent only once.
    pub fn missing(&self, call: &str) -> Option<ApiError> {
        lock(&self.missing).get(call).cloned()
    }

    pub fn note_missing(&self, call: &str, error: ApiError) {
        lock(&self.missing).insert(call.into(), error);
    }

    /// Forgets which calls are missing: another server may be at the address now.
    pub fn forget_missing(&self) {
        lock(&self.missing).clear();
    }

    /// Records that a page size was rejected. Returns whether to try a smaller one.
    pub fn page_refused(&self, limit: usize) -> bool {
        let is_worth_it = limit > SAFE_PAGE;
        self.learn(|known| known.refuses_large_pages |= is_worth_it);
        is_worth_it
    }
}
