//! The dashboard in a pseudo-terminal with the simulator.
#![cfg(unix)]

mod changes;
mod contract;
mod dashboard;
mod deployments;

mod inbox;
mod interrupts;
mod profiles_live;
mod recordings;
mod restore;
mod statuses;
mod tour;
