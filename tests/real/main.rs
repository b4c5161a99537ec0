//! Against real agent servers: `tests/real/serve -- cargo test --test real -- --ignored` (see README.md).

mod answers;
mod dashboard;
mod forks;
mod official;
mod python;
mod resources;
mod soak;
mod source;
mod viewer;
