//! Quirks of an agent server, learned from its responses and remembered. Servers differ in small ways that break lists
//! (agent-server reference §10); nothing here depends on a server's name.

use crate::ApiError;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Page size for an unknown server: the maximum of Python and JavaScript.
const LARGEST_PAGE: usize = 1000;
/// Page size that every known server accepts (Aegra rejects larger ones).
pub(super) const SAFE_PAGE: usize = 100;

/// The known quirks of one agent server. Shared by all its clients, and safe to lose.
#[derive(Debug)]
pub(crate) struct Quirks {
    /// The supported form of a thread search: 0 sorted with `select`, 1 sorted, 2 plain.
    thread_search: AtomicU8,
    run_order: AtomicU8,
    run_tail: AtomicU8,
    largest_page: AtomicUsize,
    lacks_thread_streams: AtomicBool,
    /// The server's answers to calls that it doesn't have, by method and path.
    missing: Mutex<HashMap<String, ApiError>>,
    values_search: AtomicU8,
    /// Whether metadata filters match nested values: 0 unknown, 1 yes, 2 no.
    nested_metadata: AtomicU8,
    repeats_namespace: AtomicBool,
    refuses_options: AtomicBool,
}

/// The order of a server's run list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunOrder {
    /// Not known yet.
    Unknown,
    /// Newest first: Python, Aegra.
    NewestFirst,
    /// Oldest first: JavaScript.
    OldestFirst,
}

/// Whether a negative offset returns the end of the run list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunTail {
    /// Not tried yet.
    Unknown,
    /// Supported.
    Works,
    /// Not supported.
    Refused,
}

/// How threads are searched by the values of their states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValuesSearch {
    /// The server filters, as far as known.
    Filter,
    /// The server's filter fails; it extracts the values instead.
    Extract,
    /// The server ignores the filter; its rows may have the values.
    Rows,
}

impl Default for Quirks {
    fn default() -> Quirks {
        Quirks {
            thread_search: AtomicU8::new(0),
            run_order: AtomicU8::new(0),
            run_tail: AtomicU8::new(0),
            largest_page: AtomicUsize::new(LARGEST_PAGE),
            lacks_thread_streams: AtomicBool::new(false),
            missing: Mutex::default(),
            values_search: AtomicU8::new(0),
            nested_metadata: AtomicU8::new(0),
            repeats_namespace: AtomicBool::new(false),
            refuses_options: AtomicBool::new(false),
        }
    }
}

impl Quirks {
    /// Whether an item of the store is requested with a parameter for each label of its namespace.
    pub(crate) fn repeats_namespace(&self) -> bool {
        self.repeats_namespace.load(Ordering::Relaxed)
    }

    pub(crate) fn note_repeated_namespace(&self) {
        self.repeats_namespace.store(true, Ordering::Relaxed);
    }

    /// Whether the server refuses a start with fields that the contract doesn't have.
    pub(super) fn refuses_options(&self) -> bool {
        self.refuses_options.load(Ordering::Relaxed)
    }

    pub(super) fn note_refused_options(&self) {
        self.refuses_options.store(true, Ordering::Relaxed);
    }

    pub(super) fn thread_search(&self) -> u8 {
        self.thread_search.load(Ordering::Relaxed)
    }

    pub(super) fn set_thread_search(&self, level: u8) {
        self.thread_search.store(level, Ordering::Relaxed);
    }

    pub(super) fn run_order(&self) -> RunOrder {
        match self.run_order.load(Ordering::Relaxed) {
            1 => RunOrder::NewestFirst,
            2 => RunOrder::OldestFirst,
            _ => RunOrder::Unknown,
        }
    }

    pub(super) fn set_run_order(&self, order: RunOrder) {
        self.run_order.store(order as u8, Ordering::Relaxed);
    }

    pub(super) fn run_tail(&self) -> RunTail {
        match self.run_tail.load(Ordering::Relaxed) {
            1 => RunTail::Works,
            2 => RunTail::Refused,
            _ => RunTail::Unknown,
        }
    }

    pub(super) fn set_run_tail(&self, tail: RunTail) {
        self.run_tail.store(tail as u8, Ordering::Relaxed);
    }

    /// Returns the largest page size that the server accepts, as far as known.
    pub(super) fn largest_page(&self) -> usize {
        self.largest_page.load(Ordering::Relaxed)
    }

    /// Whether the server has answered that it has no thread streams.
    pub(super) fn lacks_thread_streams(&self) -> bool {
        self.lacks_thread_streams.load(Ordering::Relaxed)
    }

    pub(super) fn note_thread_streams_missing(&self) {
        self.lacks_thread_streams.store(true, Ordering::Relaxed);
    }

    /// Returns the server's answer to a call that it doesn't have, so that the call is sent only once.
    pub(super) fn missing(&self, call: &str) -> Option<ApiError> {
        self.missing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(call)
            .cloned()
    }

    pub(super) fn note_missing(&self, call: &str, error: ApiError) {
        self.missing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(call.into(), error);
    }

    /// Forgets which calls are missing: another server may be at the address now.
    pub(super) fn forget_missing(&self) {
        self.missing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    pub(super) fn filters_nested_metadata(&self) -> Option<bool> {
        match self.nested_metadata.load(Ordering::Relaxed) {
            0 => None,
            known => Some(known == 1),
        }
    }

    pub(super) fn set_filters_nested_metadata(&self, filters: bool) {
        self.nested_metadata
            .store(if filters { 1 } else { 2 }, Ordering::Relaxed);
    }

    pub(super) fn values_search(&self) -> ValuesSearch {
        match self.values_search.load(Ordering::Relaxed) {
            1 => ValuesSearch::Extract,
            2 => ValuesSearch::Rows,
            _ => ValuesSearch::Filter,
        }
    }

    pub(super) fn set_values_search(&self, how: ValuesSearch) {
        self.values_search.store(how as u8, Ordering::Relaxed);
    }

    /// Records that a page size was rejected. Returns whether to try a smaller one.
    pub(super) fn page_refused(&self, limit: usize) -> bool {
        let is_worth_it = limit > SAFE_PAGE;
        if is_worth_it {
            self.largest_page.store(SAFE_PAGE, Ordering::Relaxed);
        }
        is_worth_it
    }
}
