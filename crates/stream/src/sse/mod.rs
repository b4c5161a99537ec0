//! Server-sent events: from the bytes of a connection to decoded events.

pub(crate) mod decode;
pub(crate) mod framer;
pub(crate) mod interner;
pub(crate) mod parse;
pub(crate) mod read_ahead;
