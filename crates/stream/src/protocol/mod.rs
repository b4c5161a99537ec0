//! The payloads of an agent server's events, each declared once, including the differences between servers. They borrow from the
//! event's text, contain only the fields that are used, and are lenient: a field with an unexpected type counts as missing.
//!
//! An event's payload is parsed at most once, when the first projection needs it ([`Payload`]).

mod blocks;
mod callback;
mod checkpoint;
mod debug;
mod error;
mod interrupt;
mod lenient;
mod lifecycle;
mod message;
mod message_pair;
mod metadata;
mod payload;
mod state;
mod task;
mod unwrapped;
mod usage;

pub(crate) use blocks::Block;
pub(crate) use callback::Callback;
pub(crate) use checkpoint::{Checkpoint, StateUpdate};
pub(crate) use debug::Debug;
pub(crate) use error::reason;
pub(crate) use interrupt::Interrupt;
pub(crate) use lenient::{LongText, Number, Text};
pub(crate) use lifecycle::Phase;
pub(crate) use message::{
    AdditionalKwargs, MessageOrigin, MessagePayload, RequestedCall, model_of,
};
pub(crate) use message_pair::{MessagePair, PairMetadata};
pub(crate) use metadata::Metadata;
pub(crate) use payload::{Payload, Write};
pub(crate) use state::{MESSAGES, StateMessages, values_of};
pub(crate) use task::Task;
pub use unwrapped::Unwrapped;
pub(crate) use unwrapped::mode;
pub(crate) use usage::UsageMetadata;
