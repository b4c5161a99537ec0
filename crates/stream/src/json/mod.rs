//! JSON that is looked at without being deserialized: an index of a document, scans, paths, and differences.

pub mod difference;
pub mod document;
pub(crate) mod path;
pub(crate) mod peek;
