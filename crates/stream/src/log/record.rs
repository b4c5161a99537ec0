//! What a source says, and what a recording holds: one record a line, told apart by `kind` (CLI.md).

use crate::{Data, Event, EventNumber};
use jiff::Timestamp;
use std::time::Duration;

/// One line of a recording.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// The head: what this is a tape of.
    Tape(Head),
    /// A connection was opened.
    Open {
        /// When.
        at: Timestamp,
        /// Its number, from 1.
        conn: u32,
        /// HTTP status.
        status: u16,
        /// The id that the server was asked to resume after.
        resumed_after: Option<String>,
    },
    /// An event.
    Event(Event),
    /// A connection ended.
    Close {
        /// When.
        at: Timestamp,
        /// Its number.
        conn: u32,
        /// `eof`, `reset`, `idle`, …
        reason: String,
    },
    /// Something may be missing here.
    Gap {
        /// When it was noticed.
        at: Timestamp,
        /// Why, in words.
        why: String,
    },
    /// A run of a thread that is followed by its runs: it was first seen, or its status changed.
    Run(RunRecord),
    /// The end of the tape.
    End(End),
}

impl Record {
    /// Returns the bytes of memory that a record other than an event takes, roughly.
    pub fn weight(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let own = match self {
            Record::Tape(head) => {
                let modes: usize = head.modes.iter().map(String::len).sum();
                head.server.len() + text(&head.thread_id) + text(&head.run_id) + modes
            }
            Record::Open { resumed_after, .. } => text(resumed_after),
            Record::Close { reason: words, .. } | Record::Gap { why: words, .. } => words.len(),
            Record::Run(run) => run.run_id.len() + run.status.len() + text(&run.assistant_id),
            Record::End(end) => text(&end.detail),
            Record::Event(_) => 0,
        };
        size_of::<Record>() + own
    }
}

/// What the server's list of runs says about a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunRecord {
    /// When the list was read.
    pub at: Timestamp,
    /// The run.
    pub run_id: String,
    /// The server's word.
    pub status: String,
    /// When it was created.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The assistant that it runs.
    pub assistant_id: Option<String>,
    /// How it ended, where its stream was read: a run that stops to ask is a success to some servers.
    pub outcome: Option<Outcome>,
}

/// The head of a tape.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Head {
    /// When the source was opened.
    pub at: Timestamp,
    /// Address of the agent server, without credentials.
    pub server: String,
    /// The thread; none for a stateless run.
    pub thread_id: Option<String>,
    /// The run; none for the stream of a whole thread.
    pub run_id: Option<String>,
    /// The modes that were asked for.
    pub modes: Vec<String>,
}

/// How a source ended, with the ledger's sums.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct End {
    /// When.
    pub at: Timestamp,
    /// How it went.
    pub outcome: Outcome,
    /// Why, where there is more to say (the run's error, the last network failure).
    pub detail: Option<String>,
    /// Events on the tape.
    pub events: u64,
    /// Bytes received in bodies.
    pub bytes: u64,
    /// Connections opened.
    pub connections: u32,
    /// Events that a resumed connection repeated, and that were let pass.
    pub duplicates: u64,
    /// Possible gaps.
    pub gaps: u64,
    /// Events whose data was no JSON, or too large.
    pub malformed: u64,
}

impl End {
    /// Counts a record into the sums: what the end of a recording says that has none of its own.
    pub fn count(&mut self, record: &Record) {
        match record {
            Record::Event(event) if event.is_snapshot() => {}
            Record::Event(event) => {
                self.events += 1;
                self.bytes += event.data.size();
                self.malformed += u64::from(!matches!(event.data, Data::Json(_)));
            }
            Record::Open { .. } => self.connections += 1,
            Record::Gap { .. } => self.gaps += 1,
            Record::Tape(_) | Record::Close { .. } | Record::Run(_) | Record::End(_) => {}
        }
    }
}

/// The words of a gap in a recording that was begun after these events were let go. [`Record::Gap`] has them, and who looks
/// whether a recording is whole knows them.
pub fn let_go(first: EventNumber, last: EventNumber) -> String {
    format!("events {first} to {last} were let go before they were recorded")
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outcome {
    /// The run succeeded.
    Success,
    /// The run failed.
    Error,
    /// The thread waits at an interrupt.
    Interrupted,
    /// Somebody cancelled the run.
    Cancelled,
    /// The run ran out of time on the server.
    Timeout,
    /// We left; the run goes on.
    Detached,
    /// Not known.
    #[default]
    Unknown,
}

impl Outcome {
    /// The word used in recordings.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Success => "success",
            Outcome::Error => "error",
            Outcome::Interrupted => "interrupted",
            Outcome::Cancelled => "cancelled",
            Outcome::Timeout => "timeout",
            Outcome::Detached => "detached",
            Outcome::Unknown => "unknown",
        }
    }

    /// Reads the word; one that a newer version made up is `Unknown`.
    pub fn from_word(word: &str) -> Outcome {
        match word {
            "success" => Outcome::Success,
            "error" => Outcome::Error,
            "interrupted" => Outcome::Interrupted,
            "cancelled" => Outcome::Cancelled,
            "timeout" => Outcome::Timeout,
            "detached" => Outcome::Detached,
            _ => Outcome::Unknown,
        }
    }
}

/// What a source sends: records for the tape, and signs of life that are not kept on it.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A record for the tape.
    Record(Record),
    /// The link is alive (a comment came), which says nothing about work going on.
    Heartbeat {
        /// When.
        at: Timestamp,
    },
    /// A resumed connection repeated events that are on the tape already; they were let pass.
    Repeated {
        /// When.
        at: Timestamp,
        /// How many.
        events: u64,
    },
    /// A connection is being opened.
    Connecting {
        /// When.
        at: Timestamp,
        /// Its number, from 1.
        conn: u32,
    },
    /// A connection was lost or refused, and the next attempt waits.
    Retrying {
        /// When the wait began.
        at: Timestamp,
        /// Attempts in a row that failed.
        attempt: u32,
        /// How long it waits.
        wait: Duration,
        /// What failed, in few words.
        why: String,
        /// The request that failed; nothing where it was the stream itself.
        request: String,
    },
    /// The run's id became known.
    Started {
        /// The thread, where there is one.
        thread_id: Option<String>,
        /// The run.
        run_id: String,
    },
    /// What the run was started with became known.
    Terms(crate::RunTerms),
    /// Other modes were wanted, and the stream goes on with those that it has.
    ModesKept {
        /// Why, in words.
        why: String,
    },
    /// The server has no thread streams, so the thread is followed by its runs.
    Following {
        /// When.
        at: Timestamp,
        /// How often their list is read.
        every: Duration,
        /// Active runs whose events are not read, as they go to one reader only.
        unread: usize,
    },
    /// The server calls the run active, but the run has sent no event for this long.
    Silent {
        /// When.
        at: Timestamp,
        /// How long.
        silent: Duration,
    },
    /// The source could not begin or go on at all.
    Failed(Box<runtail_api::ApiError>),
}
