//! Streams of server-sent events: from bytes to the event log and its projections.

pub mod bisect;
pub mod comparison;
mod json;
mod log;
pub mod projection;
mod protocol;
mod source;
mod sse;
#[cfg(test)]
mod tests;
mod transport;

pub use json::path::{MissingStep, Path as JsonPath};
pub use log::event::server_time;
pub use log::event::{Data, Event};
pub use log::event_log::{EventLog, Limits, Mark};
pub use log::hash_chain::{Chain, ChainCheck};
pub use log::page::{LoaderFactory, PageOptions, follow_page};
pub use log::record::{
    End, Head, Item, Outcome, Record, RunRecord, evicted_before_recording,
    is_evicted_before_recording,
};
pub use log::recorder::RecordingFile;
pub use log::recording::{LineParser, write_record};
pub use log::recording_reader::{Lines, ReadError, Reader};
pub use log::seq::{EventNumber, Seq};
pub use log::snapshot::{
    LOADED, Loaded, Part as SnapshotPart, Positions, SNAPSHOT, SnapshotFields, ThreadSnapshot,
};
pub use log::snapshot_loader::{Scope as SnapshotScope, SnapshotLoader};
pub use protocol::Unwrapped;
pub use runtail_core::json::is_valid as is_json;
pub use source::control_events::error_text;
pub use source::follow;
pub use source::id_key::IdKey;
pub use sse::decode::{Decoded, Decoder};
pub use sse::framer::{Block, Frame, Framer};
pub use sse::interner::{EventNames, Interner, Namespace};
pub use sse::interner::{MAX_NAME, bounded, bounded_namespace};
pub use sse::parse::RawEvent;
pub use sse::read_ahead::{Batch, Batches, Feed, framed};
pub use transport::connection::{
    Capabilities, Connection, Replayed, Retries, RunState, SourceOptions, Transport,
};
pub use transport::join_plan::{JoinPlan, Joining, NoEvents, Numbering, join_plan, numbering};
pub use transport::join_transport::JoinTransport;
pub use transport::modes::{RUN_MODES, RunStreamOptions, THREAD_MODES, reopening_refused};
pub use transport::run_transport::{RunTransport, Target};
pub use transport::server::is_endpoint_missing;
pub use transport::started_run::follow_run_and_thread;
pub use transport::thread_runs::{RunFollowing, follow_thread};
pub use transport::thread_transport::ThreadTransport;

/// Returns a hash that is the same in one process only.
pub(crate) fn hash_of(value: impl std::hash::Hash) -> u64 {
    use std::hash::Hasher;
    let mut hasher = std::hash::DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Adds an entry to a map, which is emptied first if it is full.
pub(crate) fn insert<K: Eq + std::hash::Hash, V>(
    map: &mut std::collections::HashMap<K, V>,
    max: usize,
    key: K,
    value: V,
) {
    if map.len() >= max {
        map.clear();
    }
    map.insert(key, value);
}
