//! What can happen (`Msg`), what must be done once (`Effect`), and what must be kept going (`Subscription`).

use crate::input::key::Key;
use crate::widgets::jobs::{Part, Task};
use jiff::{SignedDuration, Timestamp};
use runtail_api::doctor::Check;
use runtail_api::{
    Acted, ApiError, AuthWaited, CancelTarget, Choice, Listing, LoadedThread, LogFilter, LogScope, PlanError,
    Revisions, RunStart, Sent, ServerInfo, StartError, ThreadIntent,
};
use runtail_core::config::{Config, ConfigError, Draft, Profile};
use runtail_core::model::{
    Assistant, AuthAnswer, AuthAuthenticateRequest, Collection, Deployment, FailureCard, Intent, LogLine, Preview,
    Revision, Run, RunCreate, StatusTime, Thread, ThreadFacts, ThreadStatus,
};
use runtail_core::text::clean;
use runtail_stream::{Item, Record, Target};
use serde_json::Value;
use std::path::PathBuf;
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

/// A thread of an agent server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadRef {
    /// The server.
    pub server: ServerRef,
    /// The thread's id.
    pub id: String,
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
    /// The pointer moved while the left button was held.
    Drag {
        /** Column. */
        x: u16,
        /** Row. */
        y: u16,
    },
    /// Time went on: what counts seconds shows another number.
    Tick,
    /// The terminal's window got the focus, or lost it.
    Focus(bool),
    /// An answer to a subscription; dropped where its epoch is not the one that is wanted now.
    Answer {
        /** Whose. */
        key: SubscriptionId,
        /** Which start of it. */
        epoch: Epoch,
        /** What it said. */
        answer: SubscriptionEvent,
    },
    /// A text came back from the person's own editor, or why not.
    Edited(Result<String, String>),
    /// An answer to an effect; dropped where its profile leads elsewhere by now.
    Done {
        /** Number of the configuration that was in force when it began. */
        since: Epoch,
        /** What it said. */
        done: EffectResult,
    },
    /// A background task panicked. The dashboard goes on.
    TaskPanicked {
        /// The subscription that it kept.
        key: Option<SubscriptionId>,
        /// Its message.
        text: String,
    },
    /// The configuration file was read again, or could not be.
    Configured(Result<Box<Config>, ConfigError>),
}

impl Msg {
    /// An answer to an effect under the configuration that is in force.
    pub fn done(done: EffectResult) -> Msg {
        Msg::Done { since: Epoch::MAX, done }
    }
}

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
        /** The deployment. */
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

/// What an effect answers.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)]
pub enum EffectResult {
    /// Who an agent server is.
    Info(ServerRef, Result<ServerInfo, ApiError>),
    /// Its assistants.
    Assistants(ServerRef, Result<Vec<Assistant>, ApiError>),
    /// A record as the server wrote it, secrets masked.
    Described(Described, Result<Arc<str>, ApiError>),
    /// What a source has by the id of the search with that number.
    Found(u64, Source, Result<Option<Found>, ApiError>),
    /// Why a revision is as it is.
    Card(RevisionRef, Result<Box<FailureCard>, ApiError>),
    /// A list beside the deployments, secrets masked, by the number of its request.
    Browsed(u64, Result<Listing<Value>, ApiError>),
    /// How an authentication stands, by its number.
    Authenticated(u64, Result<AuthAnswer, ApiError>),
    /// A step with a file was done: the bytes that it has by now; or why not.
    FileStepped(u64, Result<u64, String>),
    /// A link could not be opened, and why.
    LinkNotOpened(String, String),
    /// A deployment of a profile, by its id and name, written down as a document to edit.
    Written(Arc<str>, Arc<str>, String, Result<String, ApiError>),
    /// What a change would do, by its number.
    Planned(u64, Result<Box<Preview>, PlanError>),
    /// What came of a change that was sent.
    Sent(u64, Result<Made, ApiError>),
    /// What an action on a thread would do, by its number, and what can still be chosen.
    PlannedAction(u64, Result<(Box<Preview>, Option<Choice>), PlanError>),
    /// What came of an action on a thread, by its number.
    Acted(u64, ThreadRef, Result<Acted, StartError>),
    /// What became of runs that were being cancelled.
    CancelFollowed(ThreadRef, Vec<CancelTarget>),
    /// A thread as it is now, by the number of the request.
    ThreadLoaded(u64, Result<Box<LoadedThread>, ApiError>),
    /// The journal, oldest entry first.
    Journal(Vec<Sent>),
    /// Whether a profile could be reached, by the number of the trial.
    Tried(u64, Result<(), ApiError>),
    /// What would be written to the configuration file.
    Drafted(Result<Box<Draft>, ConfigError>),
    /// The file was written, or why not.
    Saved(Result<Box<Draft>, ConfigError>),
}

impl EffectResult {
    /// The profile whose server said it, where it means nothing any more when that leads elsewhere by now. What was asked
    /// for a page or a dialog goes with that.
    pub fn profile(&self) -> Option<&str> {
        match self {
            EffectResult::Info(server, _) | EffectResult::Assistants(server, _) => Some(&server.profile),
            EffectResult::Found(_, source, _) => Some(source.profile()),
            EffectResult::Described(what, _) => Some(what.profile()),
            EffectResult::Card(of, _) => Some(&of.profile),
            EffectResult::Written(profile, ..) => Some(profile),
            EffectResult::Sent(_, Ok(Made { revision: Some(of), .. })) => Some(&of.profile),
            EffectResult::Sent(_, Ok(Made { vanishing: Some((profile, ..)), .. })) => Some(profile),
            EffectResult::CancelFollowed(thread, _) => Some(&thread.server.profile),
            EffectResult::PlannedAction(..) | EffectResult::Acted(..) | EffectResult::ThreadLoaded(..) => None,
            EffectResult::Browsed(..)
            | EffectResult::Authenticated(..)
            | EffectResult::LinkNotOpened(..)
            | EffectResult::FileStepped(..) => None,
            EffectResult::Planned(..) | EffectResult::Sent(..) | EffectResult::Journal(_) | EffectResult::Tried(..) => {
                None
            }
            EffectResult::Drafted(_) | EffectResult::Saved(_) => None,
        }
    }
}

/// What came of a change that was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// What to tell the person.
    pub said: String,
    /// The revision that this change made, where it made one.
    pub revision: Option<RevisionRef>,
    /// The deployment that is being deleted by it: its profile, its id, its name.
    pub vanishing: Option<(Arc<str>, Arc<str>, String)>,
}

/// A revision of a deployment of a profile.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RevisionRef {
    /// The profile.
    pub profile: Arc<str>,
    /// The deployment's id.
    pub deployment: Arc<str>,
    /// The revision's id.
    pub revision: Arc<str>,
}

/// A log to read.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRef {
    /// The profile.
    pub profile: Arc<str>,
    /// The name before its lines.
    pub name: String,
    /// The deployment's id.
    pub deployment: String,
    /// The revision's id, where the log of one revision is meant.
    pub revision: Option<String>,
}

impl LogRef {
    /// The log of a revision; `name` names its deployment.
    pub fn of_revision(of: &RevisionRef, name: &str) -> LogRef {
        LogRef {
            profile: of.profile.clone(),
            name: format!("{name} › {}", runtail_core::text::short_id(&of.revision)),
            deployment: of.deployment.to_string(),
            revision: Some(of.revision.to_string()),
        }
    }
}

/// A record that is shown whole.
#[derive(Debug, Clone, PartialEq)]
pub enum Described {
    /// A thread of an agent server.
    Thread(ServerRef, String),
    /// A deployment: its profile, its id, and its name.
    Deployment(Arc<str>, Arc<str>, String),
    /// A revision.
    Revision(RevisionRef),
    /// A session of Forge's picker: its profile and its id.
    ForgeSession(Arc<str>, String),
}

impl Described {
    /// The profile whose key is used for it.
    pub fn profile(&self) -> &str {
        match self {
            Described::Thread(server, _) => &server.profile,
            Described::Deployment(profile, ..) => profile,
            Described::Revision(of) => &of.profile,
            Described::ForgeSession(profile, _) => profile,
        }
    }

    /// What it is called.
    pub fn title(&self) -> String {
        match self {
            Described::Thread(_, id) => format!("thread {}", runtail_core::text::short_id(id)),
            Described::Deployment(_, _, name) => format!("deployment {name}"),
            Described::Revision(of) => format!("revision {}", runtail_core::text::short_id(&of.revision)),
            Described::ForgeSession(_, id) => format!("session {}", runtail_core::text::short_id(id)),
        }
    }
}

/// Something to be done once. Each is answered by one message, or by none where it says so.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask an agent server who it is.
    FetchInfo(ServerRef),
    /// Ask for its assistants.
    FetchAssistants(ServerRef),
    /// Ask for a record as it is now.
    Describe(Described),
    /// Ask a source whether it has this id, for the search with that number.
    Find(u64, Source, String),
    /// Ask for all that explains a revision: how its deployment is called on the command line, and the times that were
    /// spent in each status as far as they were seen.
    Explain(RevisionRef, String, Vec<StatusTime>),
    /// Write down what a deployment of a profile is now, by its id and name, as a document to edit.
    Write(Arc<str>, Arc<str>, String),
    /// Find out what a change would do, and keep it under its number. Nothing that writes is sent.
    Plan(u64, Arc<str>, Box<Intent>),
    /// Send the change of that number with its profile: the only effect that changes anything on a control plane.
    Send(u64, Arc<str>),
    /// Find out what an action on a thread would do, and keep it under its number. Nothing that writes is sent.
    PlanAction(u64, ServerRef, Box<ThreadIntent>),
    /// Carry out the action of that number on its thread.
    Act(u64, ThreadRef),
    /// Start a run on a thread in the background.
    StartRun(u64, ThreadRef, Box<RunStart>),
    /// Read runs that are being cancelled until they have stopped.
    FollowCancel(ThreadRef, Vec<CancelTarget>),
    /// Read a thread as it is now, under that number.
    LoadThread(u64, ThreadRef),
    /// Forget the change, or the action, of that number (no answer).
    Forget(u64),
    /// Read the journal.
    ReadJournal,
    /// Let the person's own editor change a text; it comes back as [`Msg::Edited`].
    EditOutside(String),
    /// Ask a profile for a list beside the deployments; the number names the request.
    Browse(u64, Arc<str>, Collection),
    /// Ask for a token of a third party, with a profile; the number names the authentication.
    Authenticate(u64, Arc<str>, Box<AuthAuthenticateRequest>),
    /// Do a step with the file of that number: a part of it at a time.
    File(u64, FileStep),
    /// Open a link in the browser (answered only where that failed).
    OpenLink(String),
    /// Call the person, by the bell or the desktop as the configuration says: a title and a line (no answer).
    Alert(String, String),
    /// Put a text on the clipboard by OSC 52 (no answer).
    Copy(String),
    /// Go back to the shell until it brings us back (no answer).
    Suspend,
    /// Draw everything again (no answer).
    Redraw,
    /// These profiles are in force from now on, under this number (no answer). What did not change is not disturbed.
    UseProfiles(Epoch, Vec<Profile>),
    /// What else of the configuration the runtime goes by (no answer).
    Configure(Box<Config>),
    /// Ask a profile's servers one small thing each with its keys, under the number of this trial.
    Try(u64, Box<Profile>),
    /// Find out what the configuration file would be with these profiles as they were typed.
    DraftFile(PathBuf, Vec<Arc<str>>),
    /// Write it so.
    SaveFile(Box<Draft>),
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
    /// The deployment.
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
    /// The thread.
    pub thread: Arc<str>,
    /// What the list says of it: read again when that changes.
    pub facts: Arc<ThreadFacts>,
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
    /// A file that a stream was recorded to: nothing is asked of any server.
    Recording {
        /// Its path.
        file: PathBuf,
    },
}

impl StreamTarget {
    /// Whether opening it changes anything on the server.
    pub fn is_write(&self) -> bool {
        matches!(self, StreamTarget::Start { .. })
    }
}

/// Something that may know an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The threads and assistants of an agent server.
    Server(ServerRef),
    /// The deployments of a profile's control plane.
    Deployments(Arc<str>),
    /// The revisions of a deployment: its profile, its id, its name.
    Revisions(Arc<str>, Arc<str>, Arc<str>),
}

impl Source {
    /// The profile whose key is used.
    pub fn profile(&self) -> &str {
        match self {
            Source::Server(server) => &server.profile,
            Source::Deployments(profile) | Source::Revisions(profile, ..) => profile,
        }
    }

    /// `us › support-bot`, or the profile alone for its control plane.
    pub(crate) fn name(&self) -> String {
        let title = |profile: &str, name: &str| {
            if profile == name {
                clean(profile).into_owned()
            } else {
                format!("{} › {}", clean(profile), clean(name))
            }
        };
        match self {
            Source::Server(server) => title(&server.profile, &server.name),
            Source::Deployments(profile) => clean(profile).into_owned(),
            Source::Revisions(profile, _, name) => title(profile, name),
        }
    }
}

/// What a source has by an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A thread.
    Thread,
    /// An assistant.
    Assistant,
    /// A run, by its thread.
    Run(String),
    /// A deployment, by its name.
    Deployment(String),
    /// A revision.
    Revision,
    /// It can't be told: the server has only the contract's calls, which look nothing up.
    Unsupported,
}

impl Found {
    /// Newest threads of a server that are asked for a run: no server finds one by its id alone.
    pub const THREADS_LOOKED_AT: usize = 50;
}

/// A piece of a file. What others wrote is cleaned where it is written, which is not where the screen waits.
#[derive(Debug, Clone, PartialEq)]
pub enum Chunk {
    /// Text that is clean.
    Text(String),
    /// What others wrote, as one line.
    Line(Arc<str>),
    /// What others wrote, with its own line breaks.
    Lines(Arc<str>),
    /// The same as a block of code, in this language.
    Code(&'static str, Arc<str>),
    /// A line of a recording.
    Record(Box<Record>),
}

/// What is done with a file.
#[derive(Debug, Clone, PartialEq)]
pub enum FileStep {
    /// Make it. One that is there stays as it is.
    Create(PathBuf),
    /// Make a recording, by the same rule; its lines have a chain of hashes.
    Record(PathBuf),
    /// Add to it.
    Write(Vec<Chunk>),
    /// It is whole.
    Finish,
}
