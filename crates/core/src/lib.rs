//! What all of Runtail stands on: text that is safe to show, the configuration, and the model of both services.

pub mod backoff;
pub mod config;
pub mod model;
pub mod text;
