//! The base of all crates: the text sanitizer, the configuration, and the model of both services.

pub mod backoff;
pub mod catalog;
pub mod config;
pub mod exact_json;
pub mod graph;
pub mod json;
pub mod model;
pub mod secret;
pub mod text;
