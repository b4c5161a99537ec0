//! What can happen.

pub use super::{effect::*, refs::*, subscription::*};

use crate::input::key::Key;
use runtail_core::config::{Config, ConfigError};

/// Something that happened. `update` is told when.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)]
pub enum Msg {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// The terminal has another size.
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
    /// Time went on: what counts seconds shows another number.
    Tick,
    /// The terminal's window got the focus, or lost it.
    Focus(bool),
    /// An answer to a subscription; dropped where its epoch is not the one that is wanted now.
    Answer {
        /** Whose. */
        key: SubscriptionId,
        /** Which start of it. */
        epoch: Epoch,
        /** What it said. */
        answer: SubscriptionEvent,
    },
    /// A text came back from the person's own editor, or why not.
    Edited(Result<String, String>),
    /// An answer to an effect; dropped where its profile leads elsewhere by now.
    Done {
        /** Number of the configuration that was in force when it began. */
        since: Epoch,
        /** What it said. */
        done: EffectResult,
    },
    /// A background task panicked. The dashboard goes on.
    TaskPanicked {
        /// The subscription that it kept.
        key: Option<SubscriptionId>,
        /// Its message.
        text: String,
    },
    /// The configuration file was read again, or could not be.
    Configured(Result<Box<Config>, ConfigError>),
}

impl Msg {
    /// An answer to an effect under the configuration that is in force.
    pub fn done(done: EffectResult) -> Msg {
        Msg::Done { since: Epoch::MAX, done }
    }
}
