//! Runtail: a terminal dashboard and a command line for agent deployments and their live streams.

pub mod api;
pub mod model;
#[cfg(feature = "sim")]
pub mod sim;
pub mod stream;
pub mod text;
