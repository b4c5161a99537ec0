//! Streams of server-sent events, from bytes to the tape.

mod chain;
mod chunk;
mod closed;
mod decode;
mod delta;
mod event;
mod framer;
mod join_link;
mod join_plan;
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
mod run_link;
mod run_list;
mod side;
mod snapshot;
mod snapshot_loader;
mod source;
mod stored;
mod tape;
mod terms;
mod thread;
mod thread_runs;
mod told;
mod tuple;
mod verdict;
mod watchdog;
mod whole;

pub use chain::{Chain, Linked};
pub use decode::{Decoded, Decoder, is_json};
pub(crate) use event::server_time;
pub use event::{Data, Event};
pub use framer::{Block, Frame, Framer};
pub use join_link::JoinLink;
pub use join_plan::{JoinPlan, Joining, NothingKept, Numbering, join_plan, numbering};
#[cfg(feature = "tui")]
pub(crate) use link::lacks_call;
pub use modes::{RUN_MODES, RunTerms, THREAD_MODES, reopening_refused};
pub use names::{EventNames, Names, Namespace};
pub(crate) use names::{MAX_NAME, bounded, bounded_namespace};
pub use page::{LoaderFor, PageOptions, follow_page};
pub use record::{End, Head, Item, Outcome, Record, RunRecord, let_go};
pub use recorder::RecordingFile;
pub use recording::{LineParser, Lines, ReadError, Reader, write_record};
pub(crate) use resume::key as id_order;
pub use run_link::{RunLink, Target};
pub use snapshot::{
    HistoryEntry, LOADED, Loaded, Part as SnapshotPart, Positions, SNAPSHOT, SnapshotFields, ThreadSnapshot,
};
pub use snapshot_loader::{Scope as SnapshotScope, SnapshotLoader};
pub use source::follow;
pub use tape::{Limits, Mark, Tape};
pub use terms::{Link, Notice, Opened, Past, Retries, SourceOptions, Verdict};
pub use thread::ThreadLink;
pub use thread_runs::{RunFollowing, follow_thread};
pub(crate) use told::error_text;
pub(crate) use tuple::ModeTuple;
