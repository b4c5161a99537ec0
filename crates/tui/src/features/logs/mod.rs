//! Build and server logs.

mod build_end;
pub mod state;
mod update;
mod view;
