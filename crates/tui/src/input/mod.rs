//! Keys, actions, the keymap and the help screen. Nothing here depends on a feature.

pub mod action;
mod bindings;
pub mod commands;
pub mod help;
pub mod key;
pub mod keymap;
