//! Subscriptions: the background tasks that the state needs, and their events.

use super::checkpoints::{CheckpointDetails, CheckpointPage, CheckpointState, HistoryRequest};
use super::compare::{SideLoaded, SideRef};
use super::refs::{RevisionRef, ServerRef, StreamTarget, ThreadRef};
use crate::widgets::jobs::{JobProgress, JobSpec};
use jiff::{SignedDuration, Timestamp};
use runtail_api::doctor::Check;
use runtail_api::{
    ApiError, AuthWaited, Listing, LogFilter, LogScope, Revisions, ServerHealth, ServerInbox,
    ThreadPage,
};
use runtail_core::config::{Profile, Stuck};
use runtail_core::graph::Graph;
use runtail_core::model::{
    Deployment, FailureCard, LogLine, Revision, Run, ServerFilter, Thread, ThreadFacts,
    ThreadSearch, ThreadSort, ThreadStatus,
};
use runtail_stream::Item;
use runtail_stream::bisect::{BisectQuery, Bisection, HistoryError};
use std::sync::Arc;
use std::time::Duration;

/// An event of a subscription.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)]
pub enum SubscriptionEvent {
    /// A page of a profile's first list, sent before the list is complete.
    Page(Vec<Deployment>),
    /// The deployments of a profile.
    Deployments {
        /// The deployments that could be read.
        result: Result<Listing<Deployment>, ApiError>,
        /// Whether reading failed before the end of the list.
        is_truncated: bool,
        /// How far the server's clock is ahead of ours.
        skew: SignedDuration,
        /// How long a page took.
        took: Duration,
        /// When they are polled next.
        next: NextPoll,
    },
    /// The newest revision of a deployment in the list.
    Newest {
        deployment: Arc<str>,
        /// Its newest revision.
        revision: Result<Revision, ApiError>,
    },
    /// The revisions of a deployment.
    Revisions(Result<Revisions, ApiError>, NextPoll),
    /// The revisions of the last day of a deployment in the list.
    Past {
        deployment: Arc<str>,
        revisions: Vec<Revision>,
    },
    /// The subject of the commit that a revision was built from; `None` if its build log has none.
    CommitSubject {
        revision: Arc<str>,
        commit: Arc<str>,
        subject: Option<String>,
    },
    /// The explanation of a failed revision.
    Card(Result<Box<FailureCard>, ApiError>),
    /// A watched revision.
    Watched(Result<Revision, ApiError>, NextPoll),
    /// A deployment that is being deleted.
    Deleting(Result<Deployment, ApiError>, NextPoll),
    /// New lines of a log.
    Lines {
        /// The new lines, oldest first.
        lines: Result<Vec<LogLine>, ApiError>,
        /// Whether the server may have lines that could not be read.
        incomplete: bool,
    },
    /// A page of an agent server's threads.
    Threads(ThreadsRead),
    /// The status of a listed thread.
    ThreadStatus {
        /// The thread, and its facts in the list when the status was requested.
        of: WantedStatus,
        /// Its status, from all its records.
        status: Result<ThreadStatus, ApiError>,
    },
    /// The health of an agent server; `None` if the request failed.
    Health(Option<ServerHealth>),
    /// Runs of a thread, newest first.
    Runs(Result<Listing<Run>, ApiError>),
    /// Items of a stream.
    Items(Vec<Item>),
    /// An error during the wait for an authentication. The wait continues.
    WaitTrouble(ApiError),
    /// The wait for an authentication ended.
    Waited(Result<AuthWaited, ApiError>),
    /// A check of the doctor; `None` after the last one.
    Checked(Option<Box<Check>>),
    /// The progress of a background job.
    Worked(JobProgress),
    /// The threads of an agent server that wait for a person, have failed or are stuck.
    Inbox {
        server: ServerRef,
        /// When the first request was sent, by our clock.
        began: Timestamp,
        result: Result<ServerInbox, ApiError>,
    },
    /// The request takes long. Its result follows.
    Overdue {
        /// The agent server; `None` if the subscription names the only one.
        server: Option<ServerRef>,
        /// When the request was sent.
        since: Timestamp,
    },
    /// Its task panicked, with this message.
    Panicked(Arc<str>),
    /// A side of a comparison.
    Side(SideLoaded),
    /// A page of a thread's history.
    Checkpoints(Result<CheckpointPage, ApiError>),
    /// The graph of an assistant.
    Graph(Result<Arc<Graph>, ApiError>),
    /// The result of a bisect of a thread's history.
    Bisected(Result<Arc<Bisection>, HistoryError>),
    /// The state at a checkpoint; `None` if the server doesn't have that checkpoint.
    CheckpointState(Result<Option<Arc<CheckpointState>>, ApiError>),
    /// The state at a checkpoint with those of its subgraphs; `None` if the server has no such checkpoint.
    CheckpointDetails(Result<Option<CheckpointDetails>, ApiError>),
}

/// A page of threads, and the request that it answers.
#[derive(Debug, Clone)]
pub struct ThreadsRead {
    /// What the server was asked to filter by.
    pub filter: ServerFilter,
    /// The id that was read directly, if the search names one.
    pub whole_id: Option<String>,
    pub sort: ThreadSort,
    /// Number of threads before the page.
    pub offset: usize,
    /// How many threads the server finds, if it was asked and counts them.
    pub count: Option<u64>,
    pub result: Result<ThreadPage, ApiError>,
}

impl ThreadsRead {
    /// Returns the answer to a request for all threads.
    pub fn all(result: Result<Vec<Thread>, ApiError>) -> ThreadsRead {
        let page = |threads: Vec<Thread>| ThreadPage {
            next_offset: threads.len(),
            threads: threads.into_iter().map(Into::into).collect(),
            is_last: true,
            is_sorted: true,
            ..ThreadPage::default()
        };
        ThreadsRead {
            filter: ServerFilter::default(),
            whole_id: None,
            sort: ThreadSort::default(),
            offset: 0,
            count: None,
            result: result.map(page),
        }
    }
}

/// The threads that a list needs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThreadsWanted {
    pub search: Arc<ThreadSearch>,
    pub sort: ThreadSort,
    /// Number of threads to load.
    pub rows: usize,
    /// Number of loaded threads above the screen. Those on the screen are read again.
    pub top: usize,
}

/// When a poll sends its next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextPoll {
    /// At this time.
    At(Timestamp),
    /// Never: the newest revision was still in progress after the configured time limit.
    GaveUp,
    /// Not until the user refreshes, for example because the key was rejected.
    Stopped,
    /// Not until the user refreshes, because the profile has `poll = false`.
    Off,
}

/// Counts the starts of a subscription: a new epoch restarts it, and the events of older ones are dropped.
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

/// Identifies a subscription. The runtime starts new ones and stops those that are no longer needed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubscriptionId {
    /// The deployments of a profile.
    Deployments(Arc<str>),
    /// The newest revisions of a profile's deployments, one by one.
    Newest(Arc<str>),
    /// The revisions of the last day of a profile's deployments, and the subjects of their commits, one by one.
    Past(Arc<str>),
    /// The explanation of a failed revision.
    Card(RevisionRef),
    /// A watched revision.
    Watch(RevisionRef),
    /// A deployment of a profile that is being deleted, until it is gone.
    Deletion(Arc<str>, Arc<str>),
    /// A log: the number of its view in this session, and its index in the view.
    Log(u64, usize),
    /// The revisions of a deployment of a profile.
    Revisions(Arc<str>, Arc<str>),
    /// The threads of an agent server.
    Threads(ServerRef),
    /// The health and the queue of an agent server.
    Health(ServerRef),
    /// The statuses of the listed threads of an agent server, one by one.
    ThreadStatuses(ServerRef),
    /// The runs of a thread.
    Runs(ServerRef, String),
    /// A stream, by its number in this session.
    Stream(u64),
    /// The wait for an authentication, by its number in this session.
    Wait(u64),
    /// The checks of a doctor's report, by its number in this session.
    Doctor(u64),
    /// A background job, by its number in this session.
    Job(u64),
    /// The inboxes of a profile's agent servers.
    Inbox(Arc<str>),
    /// A bisect of a thread's history, by its number in this session.
    Bisect(u64),
    /// A side of a comparison, by the number of the page in this session; 0 is A.
    Side(u64, usize),
    /// A request for a thread's history or for the state at a checkpoint, by its number in this session.
    History(u64),
    /// A request for the graph of an assistant, by its number in this session.
    Graph(u64),
}

/// A background task that runs while the state needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscription {
    /// The subscription's id.
    pub key: SubscriptionId,
    /// A new epoch restarts it.
    pub epoch: Epoch,
    /// Number of rows that a list requests. A new number restarts it.
    pub limit: usize,
    /// Its fixed inputs.
    pub what: SubscriptionKind,
    /// Its parameters, which can change while it runs.
    pub params: SubscriptionParams,
}

impl Subscription {
    /// Creates a subscription at the usual pace.
    pub fn new(key: SubscriptionId, epoch: Epoch, what: SubscriptionKind) -> Subscription {
        Subscription {
            key,
            epoch,
            limit: 0,
            what,
            params: SubscriptionParams::default(),
        }
    }

    /// Sets the number of rows to request.
    pub fn with_limit(mut self, limit: usize) -> Subscription {
        self.limit = limit;
        self
    }
}

/// The fixed inputs of a subscription, besides its id.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum SubscriptionKind {
    /// The id is enough.
    #[default]
    Name,
    /// A stream of an agent server.
    Stream(ServerRef, StreamTarget),
    /// A log of a profile's deployment.
    Log(Arc<str>, LogScope, LogFilter),
    /// An authentication: its profile, and the server's id of it.
    Wait(Arc<str>, String),
    /// The profiles that the doctor checks.
    Profiles(Vec<Arc<str>>),
    /// The definition of one profile, which may not be in use.
    Profile(Arc<Profile>),
    /// A background job.
    Job(JobSpec),
    /// A thread, the newest checkpoint of the branch to bisect, and the question.
    Bisect(ThreadRef, Option<String>, Box<BisectQuery>),
    /// A side of a comparison.
    Side(SideRef),
    /// A part of a thread's history.
    History(ThreadRef, HistoryRequest),
    /// The graph of an assistant.
    Graph(ServerRef, String),
}

/// The parameters of a running subscription. A change reaches the task without a restart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SubscriptionParams {
    /// How often to poll.
    pub pace: Pace,
    /// The newest revisions to request, most important first.
    pub newest: Arc<[WantedRevision]>,
    /// The deployments whose revisions of the last day are needed, each with its newest revision.
    pub past: Arc<[(Arc<str>, Arc<str>)]>,
    /// The revisions whose commit's subject is needed.
    pub subjects: Arc<[WantedSubject]>,
    /// The threads that a list needs.
    pub threads: Arc<ThreadsWanted>,
    /// The threads whose status to read, most important first.
    pub statuses: Arc<[WantedStatus]>,
    /// The modes of a stream.
    pub modes: Vec<String>,
    /// Whether a stream must wait because its recording is behind.
    pub hold: bool,
    /// Whether to read runs even if that takes their events away from other readers. Only read when the stream starts.
    pub is_shared: bool,
    /// The runs of the thread that were started in this session, which may always be read.
    pub own_runs: Vec<String>,
    /// Incremented to request a new snapshot of the thread.
    pub refreshes: u64,
    /// The agent servers whose inboxes to read.
    pub servers: Arc<[ServerRef]>,
    /// When a run counts as stuck.
    pub stuck: Stuck,
}

/// How often to poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub enum Pace {
    /// The window is not focused, and nothing is in progress.
    Slow,
    /// The window is focused and nothing is in progress, or the reverse.
    #[default]
    Usual,
    /// Something is in progress, and the window is focused or the user watches it.
    Fast,
}

/// A newest revision that the deployments list needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedRevision {
    pub deployment: Arc<str>,
    /// Its newest revision.
    pub revision: Arc<str>,
    /// Whether it is known to be in progress, so that it is polled.
    pub moving: bool,
    /// Whether its row is visible.
    pub seen: bool,
}

/// A visible revision whose commit's subject is needed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WantedSubject {
    pub deployment: Arc<str>,
    pub revision: Arc<str>,
    /// Its full commit hash.
    pub commit: Arc<str>,
    /// Whether its build may still write to its log.
    pub is_building: bool,
}

/// A listed thread whose status is needed.
#[derive(Debug, Clone, PartialEq)]
pub struct WantedStatus {
    pub thread: Arc<str>,
    /// Its facts in the list. When they change, the status is read again.
    pub facts: Arc<ThreadFacts>,
}
