//! Attacks on the program as a whole: each runs the binary against a server or a neighbor that misbehaves, and checks that it ends or
//! stays usable, says why, and keeps its memory bounded.

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
    let end = Instant::now() + runtail_testkit::process::PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "time is up: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
