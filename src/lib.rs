//! Runtail: a terminal dashboard and a command line for agent deployments and their live streams.
//!
//! The floors, from the ground up: [`text`], [`config`] and [`model`] are what everything stands on; [`api`] speaks HTTP to
//! both services; [`stream`] turns a server's bytes into events on a tape and keeps connections going; [`projection`] folds
//! a tape into what is worth looking at; [`app`] is the dashboard's state. With the feature `tui` come the screen, the loop
//! that runs it, and the command line.

pub mod api;
pub mod app;
#[cfg(feature = "tui")]
pub mod cli;
pub mod config;
pub mod model;
pub mod projection;
#[cfg(feature = "tui")]
pub mod runtime;
#[cfg(feature = "sim")]
pub mod sim;
pub mod stream;
pub mod text;
#[cfg(feature = "tui")]
pub mod ui;
