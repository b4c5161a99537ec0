//! What the nodes of the simulator's graphs do and say.

pub mod chat;
pub mod firehose;
pub mod research;
pub mod small;
