//! Messages: everything that changes the state.

pub use super::{effect::*, refs::*, subscription::*};

use crate::input::key::Key;
use runtail_core::config::{Config, ConfigError};

/// An input of `update`, which also receives its time.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)]
pub enum Msg {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// The terminal was resized.
    Resize(u16, u16),
    /// The wheel was turned, in lines, over a cell.
    Wheel {
        /** Lines, down is positive. */
        lines: i8,
        /** Column. */
        x: u16,
        /** Row. */
        y: u16,
    },
    /// The left button was pressed on a cell.
    Click {
        /** Column. */
        x: u16,
        /** Row. */
        y: u16,
    },
    /// The pointer moved while the left button was held.
    Drag {
        /** Column. */
        x: u16,
        /** Row. */
        y: u16,
    },
    /// A clock tick: something on the screen shows another number of seconds.
    Tick,
    /// The terminal's window got the focus, or lost it.
    Focus(bool),
    /// A subscription's event; dropped if its epoch is outdated.
    Answer {
        /** Whose. */
        key: SubscriptionId,
        /** Which start of it. */
        epoch: Epoch,
        /** What it said. */
        answer: SubscriptionEvent,
    },
    /// The result of editing a text in the user's editor.
    Edited(Result<String, String>),
    /// The result of an effect; dropped if its profile now points to another server.
    Done {
        /** Number of the configuration that was in force when it began. */
        since: Epoch,
        /** What it said. */
        done: EffectResult,
    },
    /// A background task panicked. The dashboard continues.
    TaskPanicked {
        /// The subscription that the task served.
        key: Option<SubscriptionId>,
        /// The panic message.
        text: String,
    },
    /// The configuration file was reloaded, or failed to load.
    Configured(Result<Box<Config>, ConfigError>),
}

impl Msg {
    /// An answer to an effect under the configuration that is in force.
    pub fn done(done: EffectResult) -> Msg {
        Msg::Done { since: Epoch::MAX, done }
    }
}
