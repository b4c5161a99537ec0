//! Streams of server-sent events, from bytes to the tape.

mod event;
mod record;

pub use event::{Data, Event};
pub use record::{End, Head, Item, Outcome, Record};
