//! Messages: the inputs of `update`.

pub use super::{effect::*, proposal::*, refs::*, subscription::*};

use super::component_id::ComponentId;
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
        /// Lines, down is positive.
        lines: i8,
        /// Column.
        x: u16,
        /// Row.
        y: u16,
    },
    /// The left button was pressed on a cell.
    Click {
        /// Column.
        x: u16,
        /// Row.
        y: u16,
    },
    /// The pointer moved while the left button was held.
    Drag {
        /// Column.
        x: u16,
        /// Row.
        y: u16,
    },
    /// A clock tick: something on the screen shows another number of seconds.
    Tick,
    /// The terminal's window gained or lost the focus.
    Focus(bool),
    /// A subscription's event; dropped if its epoch is outdated.
    Subscription {
        /// The subscription.
        key: SubscriptionId,
        /// The epoch in which it was started.
        epoch: Epoch,
        /// The event.
        event: SubscriptionEvent,
    },
    /// The result of editing a text in the user's editor.
    Edited(Result<String, String>),
    /// The result of an effect; dropped if its profile now points to another server.
    Effect {
        /// The component that asked for it.
        to: ComponentId,
        /// Number of the configuration that was used when the effect began.
        epoch: Epoch,
        /// The result.
        result: EffectResult,
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
    /// Returns the message for a result of the current configuration that the application itself asked for.
    pub fn done(done: EffectResult) -> Msg {
        Msg::Effect {
            to: ComponentId::App,
            epoch: Epoch::MAX,
            result: done,
        }
    }
}
