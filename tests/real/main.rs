//! Against real agent servers: `tests/real/serve -- cargo test --test real -- --ignored` (see README.md).
#![cfg(unix)]

mod answers;
mod compare;
mod compose;
mod dashboard;
mod find;
mod forks;
mod health;
mod official;
mod python;
mod reproduce;
mod resources;
mod servers;
mod soak;
mod source;
mod viewer;
