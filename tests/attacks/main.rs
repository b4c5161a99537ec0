//! Attacks on the program as a whole: each runs the binary against a server or a neighbor that misbehaves, and checks that it ends or
//! stays usable, says why, and keeps its memory bounded.
#![cfg(unix)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../support/http2.rs"]
mod http2_server;
#[path = "../support/slow.rs"]
mod slow_server;
#[path = "../support/mod.rs"]
mod support;

mod deep;
mod firehose;
mod http2;
mod shared;
mod slow;

use std::time::{Duration, Instant};

/// What no command may need, in KiB. The build that tests use needs a few dozen MiB for itself.
const MOST_MEMORY: u64 = 192 << 10;

/// Waits until something holds.
#[track_caller]
fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + support::process::PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "time is up: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
