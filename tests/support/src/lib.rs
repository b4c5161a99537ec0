//! Helpers for tests and benchmarks: small servers, processes, terminals, a proxy that breaks connections, and a
//! dashboard under test.

pub mod common;
pub mod dash;
pub mod dispositions;
pub mod fake_keys;
pub mod final_state;
pub mod flaky_proxy;
pub mod hostile_stream;
pub mod http2;
pub mod made;
pub mod picture;
pub mod process;
pub mod projected;
pub mod proxy;
pub mod recording;
pub mod says;
pub mod screen_checks;
pub mod scripted;
pub mod server;
pub mod slow;
pub mod still_world;
pub mod table;
pub mod term;
#[cfg(unix)]
pub mod tmux;
pub mod wait;
