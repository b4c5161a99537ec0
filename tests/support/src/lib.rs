//! Helpers for tests and benchmarks: small servers, processes, terminals, a proxy that breaks connections, and a
//! dashboard under test.

pub mod common;
pub mod dash;
#[cfg(unix)]
pub mod dispositions;
pub mod fake_keys;
pub mod final_state;
#[cfg(unix)]
pub mod flaky_proxy;
pub mod hostile_stream;
#[cfg(unix)]
pub mod http2;
pub mod made;
pub mod picture;
#[cfg(unix)]
pub mod process;
pub mod projected;
#[cfg(unix)]
pub mod proxy;
pub mod recording;
pub mod says;
pub mod screen_checks;
#[cfg(unix)]
pub mod scripted;
pub mod server;
pub mod slow;
pub mod still_world;
pub mod table;
#[cfg(unix)]
pub mod term;
#[cfg(unix)]
pub mod tmux;
#[cfg(unix)]
pub mod wait;
