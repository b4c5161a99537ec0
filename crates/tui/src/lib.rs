//! The dashboard: its state and what changes it ([`app`]), its screens ([`ui`]), and the loop with its tasks ([`runtime`]).

pub mod app;
pub mod runtime;
pub mod ui;
