//! Shared by the benches that run the whole program: bodies of streams, a server that sends them, a terminal.
#![allow(dead_code)]

pub mod bodies;
pub mod server;
pub mod terminal;

use std::time::Duration;

/// Sorts the times and returns this quantile.
pub fn quantile(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    let place = ((times.len() as f64 * share).ceil() as usize).clamp(1, times.len().max(1)) - 1;
    times.get(place).copied().unwrap_or_default()
}

/// Milliseconds, for a table.
pub fn ms(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}
