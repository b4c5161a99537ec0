//! The nodes of the simulator's graphs.

pub mod asking;
pub mod chat;
pub mod firehose;
pub mod jobs;
pub mod mail;
pub mod research;
pub mod small;
