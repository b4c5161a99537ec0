//! Streams of server-sent events, from bytes to the tape.

mod chain;
mod chunk;
mod closed;
mod decode;
mod delta;
mod event;
mod framer;
mod link;
mod modes;
mod names;
mod numbers;
mod overlap;
mod page;
mod pump;
mod record;
mod recorder;
mod recording;
mod replay;
mod resume;
mod side;
mod snapshot;
mod snapshot_loader;
mod source;
mod tape;
mod terms;
mod thread;
mod told;
mod watchdog;
mod whole;

pub use chain::{Chain, Linked};
pub use decode::{Decoded, Decoder, is_json};
pub(crate) use event::server_time;
pub use event::{Data, Event};
pub use framer::{Block, Frame, Framer};
pub use link::{JoinLink, RunLink, Target};
pub use modes::{RUN_MODES, RunTerms, THREAD_MODES, reopening_refused};
pub(crate) use names::MAX_NAME;
pub use names::{EventNames, Names, Namespace};
pub use page::{LoaderFor, PageOptions, follow_page};
pub use record::{End, Head, Item, Outcome, Record, let_go};
pub use recorder::RecordingFile;
pub use recording::{LineParser, Lines, ReadError, Reader, write_record};
pub(crate) use resume::key as id_order;
pub use snapshot::{
    HistoryEntry, LOADED, Loaded, Part as SnapshotPart, Positions, SNAPSHOT, SnapshotFields, ThreadSnapshot,
};
pub use snapshot_loader::{Scope as SnapshotScope, SnapshotLoader};
pub use source::follow;
pub use tape::{Limits, Mark, Tape};
pub use terms::{Link, Notice, Opened, Past, Retries, SourceOptions, Verdict};
pub use thread::ThreadLink;
pub(crate) use told::error_text;
