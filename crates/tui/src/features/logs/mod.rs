//! Build and server logs.

pub mod state;
mod update;
mod view;
