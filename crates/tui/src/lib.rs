//! The dashboard: its state and what changes it ([`app`]), its [`features`], what they are made of ([`widgets`], [`input`],
//! [`session`]), and the loop with its tasks ([`runtime`]).

pub mod app;
pub mod features;
pub mod input;
pub mod runtime;
pub mod session;
pub mod widgets;
