//! Runtail: a terminal dashboard and a command line for agent deployments and their live streams.

pub mod api;
#[cfg(feature = "tui")]
pub mod cli;
pub mod config;
pub mod model;
pub mod stream;
pub mod text;
