//! Keys: what they are, what they do and where, and how the help screen lists them. No part of it knows a feature.

pub mod action;
mod bindings;
pub mod help;
pub mod key;
pub mod keymap;
