//! The event log of a stream: its records, their storage, and recordings.

pub(crate) mod chunk;
pub(crate) mod delta;
pub(crate) mod event;
pub(crate) mod event_log;
pub(crate) mod hash_chain;
pub(crate) mod page;
pub(crate) mod record;
pub(crate) mod recorder;
pub(crate) mod recording;
pub(crate) mod recording_reader;
pub(crate) mod seq;
pub(crate) mod snapshot;
pub(crate) mod snapshot_loader;
