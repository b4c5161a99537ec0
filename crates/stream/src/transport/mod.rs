//! Connections to agent servers: the `Link` trait and its implementations.

mod framed_connection;
pub(crate) mod join_link;
pub(crate) mod join_plan;
pub(crate) mod link;
mod merge_memory;
pub(crate) mod modes;
pub(crate) mod run_link;
pub(crate) mod run_list;
pub(crate) mod server;
pub(crate) mod thread_link;
pub(crate) mod thread_merge;
pub(crate) mod thread_runs;
pub(crate) mod verdict;
