//! What must be kept going, and what it reports.

use super::refs::{RevisionRef, ServerRef, StreamTarget};
use crate::widgets::jobs::{Part, Task};
use jiff::{SignedDuration, Timestamp};
use runtail_api::doctor::Check;
use runtail_api::{ApiError, AuthWaited, Listing, LogFilter, LogScope, Revisions};
use runtail_core::model::{Deployment, LogLine, Revision, Run, Thread, ThreadFacts, ThreadStatus};
use runtail_stream::Item;
use std::sync::Arc;

/// What a subscription answers.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)]
pub enum SubscriptionEvent {
    /// A page of a profile's first list, while the others are still to come.
    Page(Vec<Deployment>),
    /// The deployments of a profile.
    Deployments {
        /** As far as they could be read. */
        result: Result<Listing<Deployment>, ApiError>,
        /** Whether the reading broke off before the end. */
        torn: bool,
        /** What the server's clock is ahead of ours. */
        skew: SignedDuration,
        /** When they are asked for again. */
        next: NextPoll,
    },
    /// The newest revision of a deployment in the list.
    Newest {
        deployment: Arc<str>,
        /** Its newest revision. */
        revision: Result<Revision, ApiError>,
    },
    /// The revisions of a deployment.
    Revisions(Result<Revisions, ApiError>, NextPoll),
    /// A revision that is watched.
    Watched(Result<Revision, ApiError>, NextPoll),
    /// A deployment that is being deleted.
    Vanishing(Result<Deployment, ApiError>, NextPoll),
    /// A look at a log.
    Lines {
        /** The lines that are new, oldest first. */
        lines: Result<Vec<LogLine>, ApiError>,
        /** The server may have more than could be read. */
        incomplete: bool,
    },
    /// Threads of an agent server, newest first.
    Threads(Result<Vec<Thread>, ApiError>),
    /// The status of a listed thread.
    ThreadStatus {
        /** The thread, and what the list said of it then. */
        of: WantedStatus,
        /** Its status by all its records. */
        status: Result<ThreadStatus, ApiError>,
    },
    /// Runs of a thread, newest first.
    Runs(Result<Vec<Run>, ApiError>),
    /// Items of a stream.
    Items(Vec<Item>),
    /// Something went wrong while an authentication is waited for; it is waited on.
    WaitTrouble(ApiError),
    /// The wait for an authentication ended.
    Waited(Result<AuthWaited, ApiError>),
    /// A check of the doctor; nothing where no more will come.
    Checked(Option<Box<Check>>),
    /// A step of work that is done beside the screen.
    Worked(Part),
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

/// A start of the polls: another epoch is another start, and answers of older ones are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch(pub u64);

impl Epoch {
    /// Later than any other.
    pub const MAX: Epoch = Epoch(u64::MAX);

    /// The epoch after this one.
    pub fn next(self) -> Epoch {
        Epoch(self.0 + 1)
    }
}

/// Names a subscription. The runtime starts what is new in the set and stops what is gone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubscriptionId {
    /// The deployments of a profile.
    Deployments(Arc<str>),
    /// The newest revisions of a profile's deployments, one by one.
    Newest(Arc<str>),
    /// A revision that is watched.
    Watch(RevisionRef),
    /// A deployment of a profile that is being deleted, until it is gone.
    Vanish(Arc<str>, Arc<str>),
    /// A log: the number of its view in this session, and of the log in it.
    Log(u64, usize),
    /// The revisions of a deployment of a profile.
    Revisions(Arc<str>, Arc<str>),
    /// The threads of an agent server.
    Threads(ServerRef),
    /// The statuses of the listed threads of an agent server, one by one.
    ThreadStatuses(ServerRef),
    /// The runs of a thread.
    Runs(ServerRef, String),
    /// A stream, by its number in this session.
    Stream(u64),
    /// The wait for an authentication, by its number in this session.
    Wait(u64),
    /// A look of the doctor, by its number in this session.
    Doctor(u64),
    /// Work that is done beside the screen, by its number in this session.
    Work(u64),
}

/// Something to be kept going while the screen needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscription {
    /// Its name.
    pub key: SubscriptionId,
    /// Another epoch is another start.
    pub epoch: Epoch,
    /// How many rows a list asks for; another number is another start too.
    pub limit: usize,
    /// What it needs beside its name.
    pub what: SubscriptionKind,
    /// What it is told while it goes on.
    pub wish: SubscriptionParams,
}

impl Subscription {
    /// A subscription at the usual pace.
    pub fn new(key: SubscriptionId, epoch: Epoch, what: SubscriptionKind) -> Subscription {
        Subscription { key, epoch, limit: 0, what, wish: SubscriptionParams::default() }
    }

    /// Asks for that many rows.
    pub fn with_limit(mut self, limit: usize) -> Subscription {
        self.limit = limit;
        self
    }
}

/// What a subscription needs beside its name.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum SubscriptionKind {
    /// Nothing.
    #[default]
    Name,
    /// A stream of an agent server.
    Stream(ServerRef, StreamTarget),
    /// A log of a profile's deployment.
    Log(Arc<str>, LogScope, LogFilter),
    /// The authentication of a profile that is waited for, by the server's id.
    Wait(Arc<str>, String),
    /// The profiles that the doctor looks at.
    Profiles(Vec<Arc<str>>),
    /// What is to be worked on.
    Work(Task),
}

/// What a subscription is told while it goes on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SubscriptionParams {
    /// How often to ask.
    pub pace: Pace,
    /// Which newest revisions to ask for, the most wanted first.
    pub newest: Arc<[Wanted]>,
    /// Which threads' statuses to read, the most wanted first.
    pub statuses: Arc<[WantedStatus]>,
    /// The modes of a stream.
    pub modes: Vec<String>,
    /// A stream is to wait: its recording is behind.
    pub hold: bool,
    /// Runs are read even where that takes their events away from other readers. Read when the stream starts.
    pub is_shared: bool,
    /// The runs of the thread that were started here: ours to read.
    pub own_runs: Vec<String>,
    /// How often a person asked for the thread's newest snapshot.
    pub refreshes: u64,
}

/// How often a poll asks: fast while something moves, slow when nobody looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub enum Pace {
    /// Nobody looks.
    Slow,
    /// Nothing moves.
    #[default]
    Usual,
    /// Something moves, and somebody looks or asked to be told.
    Fast,
}

/// A newest revision that the list wants to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub deployment: Arc<str>,
    /// Its newest revision.
    pub revision: Arc<str>,
    /// It is known, and on its way: to be asked for again and again.
    pub moving: bool,
    /// Its row is on the screen.
    pub seen: bool,
}

/// A thread of a list whose status is to be read.
#[derive(Debug, Clone, PartialEq)]
pub struct WantedStatus {
    pub thread: Arc<str>,
    /// What the list says of it: read again when that changes.
    pub facts: Arc<ThreadFacts>,
}
