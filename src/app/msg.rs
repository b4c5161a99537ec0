//! What can happen (`Msg`), what must be done once (`Effect`), and what must be kept going (`Subscription`).

use super::key::Key;
use crate::api::{ApiError, Listing, ServerInfo};
use crate::model::{Assistant, Deployment, Revision, Run, RunCreate, Thread};
use crate::stream::{Item, Target};
use jiff::Timestamp;
use std::sync::Arc;

/// An agent server that the dashboard can talk to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerRef {
    /// The profile whose key goes there.
    pub profile: Arc<str>,
    /// Name of the deployment, or of the server in the profile.
    pub name: Arc<str>,
    /// Base address.
    pub url: Arc<str>,
}

/// Something that happened. `update` is told when.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)]
pub enum Msg {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// The terminal has another size.
    Resize(u16, u16),
    /// The wheel was turned, in lines, over a cell.
    Wheel {
        /** Lines, down is positive. */
        lines: i8,
        /** Column. */
        x: u16,
        /** Row. */
        y: u16,
    },
    /// The left button was pressed on a cell.
    Click {
        /** Column. */
        x: u16,
        /** Row. */
        y: u16,
    },
    /// Time went on: what counts seconds shows another number.
    Tick,
    /// An answer to a subscription; dropped where its epoch is not the one that is wanted now.
    Answer {
        /** Whose. */
        key: SubKey,
        /** Which start of it. */
        epoch: u64,
        /** What it said. */
        answer: Answer,
    },
    /// An answer to an effect.
    Done(Done),
    /// A background task panicked. The dashboard goes on.
    TaskPanicked {
        /// The subscription that it kept.
        key: Option<SubKey>,
        /// Its message.
        text: String,
    },
}

/// What a subscription answers.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)]
pub enum Answer {
    /// The deployments of a profile, as far as they could be read.
    Deployments(Result<Listing<Deployment>, ApiError>),
    /// The newest revision of a deployment in the list.
    Newest {
        /** The deployment. */
        deployment: String,
        /** Its newest revision. */
        revision: Revision,
    },
    /// The revisions of a deployment.
    Revisions(Result<Vec<Revision>, ApiError>, NextPoll),
    /// Threads of an agent server, newest first.
    Threads(Result<Vec<Thread>, ApiError>),
    /// Runs of a thread, newest first.
    Runs(Result<Vec<Run>, ApiError>),
    /// Items of a stream.
    Items(Vec<Item>),
}

/// When a poll will be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextPoll {
    /// At this time.
    At(Timestamp),
    /// Not at all: the newest revision was not final after the configured time.
    GaveUp,
    /// Not until somebody acts: the key was refused.
    Stopped,
}

/// What an effect answers.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)]
pub enum Done {
    /// Who an agent server is.
    Info(ServerRef, Result<ServerInfo, ApiError>),
    /// Its assistants.
    Assistants(ServerRef, Result<Vec<Assistant>, ApiError>),
    /// One thread, whole.
    Thread(Result<Thread, ApiError>),
}

/// Something to be done once. Each is answered by one message, or by none where it says so.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask an agent server who it is.
    FetchInfo(ServerRef),
    /// Ask for its assistants.
    FetchAssistants(ServerRef),
    /// Ask for one thread with its values.
    FetchThread(ServerRef, String),
    /// Put a text on the clipboard by OSC 52 (no answer).
    Copy(String),
    /// Go back to the shell until it brings us back (no answer).
    Suspend,
    /// Draw everything again (no answer).
    Redraw,
}

/// Names a subscription. The runtime starts what is new in the set and stops what is gone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubKey {
    /// The deployments of a profile.
    Deployments(Arc<str>),
    /// The revisions of a deployment of a profile.
    Revisions(Arc<str>, Arc<str>),
    /// The threads of an agent server.
    Threads(ServerRef),
    /// The runs of a thread.
    Runs(ServerRef, String),
    /// A stream, by its number in this session.
    Stream(u64),
}

/// Something to be kept going while the screen needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscription {
    /// Its name.
    pub key: SubKey,
    /// Another epoch is another start.
    pub epoch: u64,
    /// What a stream needs beside its name.
    pub stream: Option<(ServerRef, StreamTarget)>,
    /// How many rows a list asks for.
    pub limit: usize,
}

/// What a stream is of.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamTarget {
    /// A run that we start.
    Start {
        /// On which thread.
        on: Target,
        /// The request.
        body: Arc<RunCreate>,
    },
    /// A run that somebody started.
    Join {
        /// Its thread.
        thread: String,
        /// The run.
        run: String,
    },
    /// All runs of a thread, without end.
    Tail {
        /// The thread.
        thread: String,
    },
}

impl StreamTarget {
    /// Whether opening it changes anything on the server.
    pub fn is_write(&self) -> bool {
        matches!(self, StreamTarget::Start { .. })
    }
}
