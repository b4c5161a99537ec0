//! Runtail: a terminal dashboard and a command line for agent deployments and their live streams.

pub mod api;
pub mod config;
pub mod model;
pub mod projection;
pub mod stream;
pub mod text;
