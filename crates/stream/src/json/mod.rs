//! JSON without deserialization: document index, scanning, paths and differences.

pub mod difference;
pub mod index;
pub(crate) mod path;
