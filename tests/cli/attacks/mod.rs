//! Attacks on the whole program: each runs the binary against a server or a process that misbehaves, and checks that it ends or
//! stays usable, reports why, and keeps its memory bounded.

mod deep;
mod firehose;
mod http2;
mod shared;
mod slow;

use std::time::{Duration, Instant};

/// Maximum memory of a command, in KiB. The test build alone uses a few dozen MiB.
const MAX_MEMORY: u64 = 192 << 10;

/// Waits until a condition holds.
#[track_caller]
fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + runtail_testkit::process::TIMEOUT;
    while !holds() {
        assert!(Instant::now() < end, "time is up: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
