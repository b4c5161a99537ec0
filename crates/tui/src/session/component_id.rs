//! The addresses of results and events.

use crate::input::action::Context;

/// Identifies what asked for a result, or declared a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComponentId {
    /// The application itself.
    App,
    Inbox,
    /// A pane, by the context of its keys.
    Pane(Context),
    /// An overlay, by the number that it got when it was opened.
    Overlay(u64),
}
