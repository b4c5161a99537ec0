//! What an agent server keeps besides threads: the pages that list it, and the requests for them.

use std::sync::Arc;

/// A page of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordList {
    /// The versions of an assistant.
    Versions {
        /// The assistant's id.
        assistant: Arc<str>,
        /// Its name for titles.
        name: Arc<str>,
    },
    Crons,
    /// The items of the store below a namespace; an empty one means all.
    Store(Vec<String>),
}

/// A request for records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordQuery {
    /// The versions of an assistant, by its id.
    Versions(Arc<str>),
    Crons,
    /// The namespaces below one.
    Namespaces(Vec<String>),
    /// The items of a namespace.
    Items(Vec<String>),
}
