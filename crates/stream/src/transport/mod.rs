//! Connections to agent servers: the `Transport` trait and its implementations.

pub(crate) mod connection;
mod framed_connection;
pub(crate) mod join_plan;
pub(crate) mod join_transport;
mod merge_memory;
pub(crate) mod modes;
pub(crate) mod run_list;
pub(crate) mod run_state;
pub(crate) mod run_transport;
pub(crate) mod server;
pub(crate) mod started_run;
pub(crate) mod thread;
pub(crate) mod thread_merge;
pub(crate) mod thread_runs;
pub(crate) mod thread_transport;
