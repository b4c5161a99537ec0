//! The dashboard in a pseudo-terminal with the simulator.
#![cfg(unix)]

mod changes;
mod contract;
mod dashboard;
mod deployments;
mod editor;
mod inbox;
mod profiles_live;
mod recordings;
mod statuses;
mod two_servers;
