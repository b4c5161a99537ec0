//! What several test files share: running the binary, reading its tapes, a server to ask, a link that can be cut.
#![allow(dead_code, reason = "each test file uses its own part of this")]

pub mod dispositions;
pub mod hostile_stream;
pub mod process;
pub mod proxy;
pub mod scripted;
pub mod server;
pub mod storm;
pub mod tape;
pub mod term;
#[cfg(unix)]
pub mod tmux;
pub mod wait;
