//! The dashboard in a pseudo-terminal, against the simulator.
#![cfg(unix)]

mod changes;
mod contract;
mod dashboard;
mod fleet;
mod past;
mod profiles_live;
mod statuses;
