//! The payloads of an agent server's events, each declared once, including the differences between servers. They borrow from the
//! event's text, contain only the fields that are used, and are lenient: a field with an unexpected type counts as missing.
//!
//! An event's payload is parsed at most once, when the first projection needs it ([`Payload`]).

mod blocks;
mod error;
mod events;
mod lenient;
mod message;
mod message_pair;
mod payload;
mod state;
mod unwrapped;

pub(crate) use blocks::Block;
pub(crate) use error::reason;
pub(crate) use events::{
    Callback, Checkpoint, Debug, Interrupt, Metadata, Phase, StateUpdate, Task, UsageMetadata,
};
pub(crate) use lenient::{LongText, Number, Text};
pub(crate) use message::{
    AdditionalKwargs, MessageOrigin, MessagePayload, RequestedCall, model_of,
};
pub(crate) use message_pair::{MessagePair, PairMetadata};
pub(crate) use payload::{Payload, Write};
pub(crate) use state::{MESSAGES, StateMessages, values_of};
pub use unwrapped::Unwrapped;
pub(crate) use unwrapped::mode;
