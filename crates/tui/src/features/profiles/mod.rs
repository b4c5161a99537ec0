//! The profiles: which are used, how they are edited and saved, and the first run.

pub mod file;
pub mod first_run;
mod first_run_view;
mod update;
pub mod view;
