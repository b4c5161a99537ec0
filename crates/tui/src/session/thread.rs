//! What features tell each other of a thread.

use super::msg::{ServerRef, StreamTarget, ThreadRef};
use crate::widgets::line::Line;
use jiff::Timestamp;
use runtail_api::LoadedThread;
use runtail_core::model::{Again, Question, ThreadStatus};
use runtail_stream::RunTerms;
use runtail_stream::projection::Status;

/// The thread of the stream that is shown.
pub struct ThreadView<'a> {
    pub server: &'a ServerRef,
    /// Its id, where it is known.
    pub thread_id: Option<&'a str>,
    /// Its status, at the point in time that is shown.
    pub status: &'a ThreadStatus,
    /// That in a few words.
    pub badge: Line,
    /// What the server's records say of it.
    pub records: &'a Status,
    /// What a retry would do.
    pub again: Again,
    /// Whether it is read from a recording.
    pub is_recording: bool,
    /// When the newest event was received.
    pub last_event_at: Option<Timestamp>,
}

/// What is known of the modes of an open stream.
pub struct ModesView {
    /// What the stream is of.
    pub target: StreamTarget,
    pub thread_id: Option<String>,
    pub run_id: Option<String>,
    pub server: ServerRef,
    /// Whether it goes on.
    pub is_open: bool,
    /// The modes that are wanted; none means all.
    pub wanted: Vec<String>,
    /// The modes that the run was started with, once they are known.
    pub terms: Option<RunTerms>,
}

/// What an answer to a thread begins from.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerFrom {
    /// Its records, which have to be read first: rows of some lists don't say whether a thread waits.
    Server(ThreadRef),
    /// Its records.
    Loaded(ThreadRef, Box<LoadedThread>),
    /// The questions that its stream told of, and the assistant that ran.
    Stream(ThreadRef, Vec<Question>, Option<String>),
    /// No answer is awaited: its status, and whether the server keeps an answer that the graph rejected.
    Nothing(ThreadRef, Box<ThreadStatus>, bool),
}
