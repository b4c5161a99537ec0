//! Profiles: using, editing and saving them, and the first-run screen.

mod details;
pub mod file;
pub mod first_run;
mod first_run_view;
mod update;
pub mod view;
