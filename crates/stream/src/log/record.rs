//! The records of a source and of recordings: one record per line, distinguished by `kind` (docs/cli.md).

use crate::{Data, Event, EventNumber};
use jiff::Timestamp;
use std::time::Duration;

/// One line of a recording.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// The head: the recorded stream.
    Head(Head),
    /// A connection was opened.
    Open {
        at: Timestamp,
        /// The connection's number, from 1.
        conn: u32,
        /// HTTP status.
        status: u16,
        /// The id that the server was asked to resume after.
        resumed_after: Option<String>,
    },
    Event(Event),
    /// A connection ended.
    Close {
        at: Timestamp,
        conn: u32,
        /// `eof`, `reset`, `idle`, …
        reason: String,
    },
    /// Events may be missing here.
    Gap {
        /// When the gap was noticed.
        at: Timestamp,
        why: String,
    },
    /// A new run, or a changed status, of a thread that is followed by its runs.
    Run(RunRecord),
    /// The end of the recording.
    End(End),
}

impl Record {
    /// Returns the approximate memory size, in bytes, of a record other than an event.
    pub fn weight(&self) -> usize {
        let mut copy = self.clone();
        let texts = copy.texts().into_iter().map(|(_, text)| text.len());
        size_of::<Record>() + texts.sum::<usize>()
    }

    /// Returns the texts of a record other than an event, with the names of their fields.
    pub(crate) fn texts(&mut self) -> Vec<(&'static str, &mut String)> {
        let (mut texts, optional) = match self {
            Record::Head(head) => {
                let mut texts = vec![("server", &mut head.server)];
                texts.extend(head.modes.iter_mut().map(|mode| ("modes", mode)));
                let ids = [
                    ("thread_id", &mut head.thread_id),
                    ("run_id", &mut head.run_id),
                ];
                (texts, Vec::from(ids))
            }
            Record::Open { resumed_after, .. } => {
                (Vec::new(), vec![("resumed_after", resumed_after)])
            }
            Record::Close { reason, .. } => (vec![("reason", reason)], Vec::new()),
            Record::Gap { why, .. } => (vec![("why", why)], Vec::new()),
            Record::Run(run) => (
                vec![("run_id", &mut run.run_id), ("status", &mut run.status)],
                vec![
                    ("assistant_id", &mut run.assistant_id),
                    ("detail", &mut run.detail),
                ],
            ),
            Record::End(end) => (Vec::new(), vec![("detail", &mut end.detail)]),
            Record::Event(_) => Default::default(),
        };
        let optional = optional.into_iter();
        texts.extend(optional.filter_map(|(name, text)| Some((name, text.as_mut()?))));
        texts
    }
}

/// A run's entry in the server's list of runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunRecord {
    /// When the list was read.
    pub at: Timestamp,
    pub run_id: String,
    /// The status as the server spells it.
    pub status: String,
    /// When the run was created.
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub assistant_id: Option<String>,
    /// The outcome, if the run's stream was read. Some servers report an interrupted run as a success.
    pub outcome: Option<Outcome>,
    /// Details of the outcome: the run's error.
    pub detail: Option<String>,
}

impl RunRecord {
    /// Returns the end of the run, if its stream was read to its end.
    pub(crate) fn end(&self) -> Option<End> {
        Some(End {
            at: self.ended_at?,
            outcome: self.outcome?,
            detail: self.detail.clone(),
            ..End::default()
        })
    }
}

/// The head of a recording.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Head {
    /// When the source was opened.
    pub at: Timestamp,
    /// URL of the agent server, without credentials.
    pub server: String,
    /// The thread; none for a stateless run.
    pub thread_id: Option<String>,
    /// The run; none for the stream of a whole thread.
    pub run_id: Option<String>,
    /// The requested modes.
    pub modes: Vec<String>,
}

/// The end of a source, with totals.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct End {
    pub at: Timestamp,
    pub outcome: Outcome,
    /// Details of the outcome: the run's error, or the last network failure.
    pub detail: Option<String>,
    /// Number of recorded events.
    pub events: u64,
    /// Bytes received in bodies.
    pub bytes: u64,
    /// Connections opened.
    pub connections: u32,
    /// Duplicates that were skipped after a reconnect.
    pub duplicates: u64,
    /// Possible gaps.
    pub gaps: u64,
    /// Events whose data was not JSON, or too large.
    pub malformed: u64,
}

impl End {
    /// Adds a record to the totals, for recordings without an end record.
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
            Record::Head(_) | Record::Close { .. } | Record::Run(_) | Record::End(_) => {}
        }
    }
}

/// How the reason of a gap begins that is about the time before the stream was opened.
pub(crate) const JOINED: &str = "joined at ";

/// Returns whether the reason of a gap is about events from before the stream was opened: they were not lost by it.
pub fn precedes_stream(why: &str) -> bool {
    why.starts_with(JOINED) || why.starts_with("the run ended before it was joined")
}

/// Returns the reason for the gap in a recording that was started after these events were evicted.
pub fn evicted_before_recording(first: EventNumber, last: EventNumber) -> String {
    format!("events {first} to {last} were evicted before the recording began")
}

/// Returns whether the reason of a gap says that exactly these events were evicted before the recording began. Earlier
/// versions wrote it in other words, and their recordings remain valid.
pub fn is_evicted_before_recording(why: &str, first: EventNumber, last: EventNumber) -> bool {
    why == evicted_before_recording(first, last)
        || why == format!("events {first} to {last} were let go before they were recorded")
}

/// The outcome of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outcome {
    /// The run succeeded.
    Success,
    /// The run failed.
    Error,
    /// The thread is waiting for input.
    Interrupted,
    /// The run was cancelled.
    Cancelled,
    /// The run timed out on the server.
    Timeout,
    /// We disconnected; the run continues.
    Detached,
    /// The outcome is unknown.
    #[default]
    Unknown,
}

impl Outcome {
    /// Returns whether the run ended with its last event: servers close the stream later.
    pub(crate) fn is_shown_by_events(self) -> bool {
        matches!(
            self,
            Outcome::Success | Outcome::Interrupted | Outcome::Error
        )
    }

    /// Returns the word used in recordings.
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

    /// Parses the word used in recordings. Words of newer versions are `Unknown`.
    pub fn from_word(word: &str) -> Outcome {
        use Outcome::{Cancelled, Detached, Error, Interrupted, Success, Timeout, Unknown};
        [Success, Error, Interrupted, Cancelled, Timeout, Detached]
            .into_iter()
            .find(|outcome| outcome.as_str() == word)
            .unwrap_or(Unknown)
    }
}

/// An item sent by a source: a record for the event log, or a status that is not recorded.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A record for the event log.
    Record(Record),
    /// A heartbeat (comment line): the connection is alive, even if the run makes no progress.
    Heartbeat { at: Timestamp },
    /// Duplicates were skipped after a reconnect.
    Repeated { at: Timestamp, events: u64 },
    /// A connection is being opened.
    Connecting {
        at: Timestamp,
        /// The connection's number, from 1.
        conn: u32,
    },
    /// A connection was lost or refused, and the next attempt is scheduled.
    Retrying {
        /// Start of the wait.
        at: Timestamp,
        /// Consecutive failed attempts.
        attempt: u32,
        wait: Duration,
        /// A short description of the failure.
        why: String,
        /// The failed request; empty if the stream itself failed.
        request: String,
    },
    /// The run's id became known.
    Started {
        /// The thread, if there is one.
        thread_id: Option<String>,
        run_id: String,
    },
    /// The run's stream options became known.
    Terms(crate::RunStreamOptions),
    /// Other modes were requested, but the stream keeps its current ones.
    ModesKept { why: String },
    /// The server has no thread streams, so the thread is followed by its runs.
    Following {
        at: Timestamp,
        /// Polling interval of the list of runs.
        every: Duration,
        /// Number of active runs that are not read because their events go to a single reader.
        unread: usize,
    },
    /// The server reports the run as active, but it has sent no event for this long.
    Silent { at: Timestamp, silent: Duration },
    /// The source failed to start or to continue.
    Failed(Box<runtail_api::ApiError>),
}
