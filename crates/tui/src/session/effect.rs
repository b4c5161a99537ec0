//! One-time effects and their results.

use super::component_id::ComponentId;
use super::first_run::LocalServer;
use super::proposal::{Proposal, Sent};
use super::record_list::RecordQuery;
use super::refs::{Described, InboxTarget, RevisionRef, RowDetail, ServerRef, ThreadRef};
use super::saved_tabs::SavedTabs;
use super::subscription::Epoch;
use runtail_api::{
    ApiError, CancelTarget, Choice, GraphFacts, Listing, LoadedThread, PastInput, PlanError,
    RunStart, SentRequest, ServerInfo,
};
use runtail_core::config::import::Import;
use runtail_core::config::{Config, ConfigError, Draft, Profile};
use runtail_core::model::{
    Assistant, AuthAnswer, AuthAuthenticateRequest, Collection, FailureCard, Preview, SpecForm,
    StatusTime,
};
use runtail_core::text::clean;
use runtail_stream::Record;
use runtail_stream::comparison::Comparison;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// The result of an effect.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)]
pub enum EffectResult {
    /// The software of an agent server.
    Info(ServerRef, Result<ServerInfo, ApiError>),
    Assistants(ServerRef, Result<Listing<Assistant>, ApiError>),
    /// The facts of an assistant's graph, by the assistant's id.
    GraphFacts(ServerRef, String, Result<Box<GraphFacts>, ApiError>),
    /// The earlier inputs of an assistant, by its id.
    Inputs(ServerRef, String, Result<Vec<PastInput>, ApiError>),
    /// A record as the server wrote it, secrets masked.
    Described(Described, Result<Arc<str>, ApiError>),
    /// The result of a search for an id in one source, by the number of the search.
    Found(u64, Source, Result<Option<Found>, ApiError>),
    /// The explanation of a revision.
    Card(RevisionRef, Result<Box<FailureCard>, ApiError>),
    /// What the inbox shows of a row besides what lists say.
    RowRead(InboxTarget, Result<RowDetail, ApiError>),
    /// A list of resources, secrets masked, by the number of its request.
    Browsed(u64, Result<Listing<Value>, ApiError>),
    /// The response to a request for records, by its number.
    RecordsListed(u64, RecordQuery, Result<Listing<Value>, ApiError>),
    /// The server's response to an authentication request, by its number.
    Authenticated(u64, Result<AuthAnswer, ApiError>),
    /// The size of a file in bytes after a step, or why the step failed.
    FileStepped(u64, Result<u64, String>),
    /// A link that could not be opened, and why.
    LinkNotOpened(String, String),
    /// A deployment as a document to edit: its profile, id and name, and the text.
    Written(
        Arc<str>,
        Arc<str>,
        String,
        Result<DeploymentDocument, ApiError>,
    ),
    /// The preview of a change, by its number, and the option that it offers.
    Planned(u64, Result<(Box<Preview>, Option<Choice>), PlanError>),
    /// What became of a sent change, by its number.
    Sent(u64, Sent),
    /// The outcome of runs that were being cancelled.
    CancelFollowed(ThreadRef, Vec<CancelTarget>),
    /// The current records of a thread, by the number of the request.
    ThreadLoaded(u64, Result<Box<LoadedThread>, ApiError>),
    /// The journal, oldest entry first.
    Journal(Vec<SentRequest>),
    /// Which other fields of a planned change's target differ by now, by its number; `None` if it can't be read again.
    TargetChecked(u64, Result<Option<Vec<String>>, ApiError>),
    /// Whether a profile could be reached, by the number of the test.
    Tried(u64, Result<(), ApiError>),
    /// The draft of the configuration file.
    Drafted(Result<Box<Draft>, ConfigError>),
    /// The draft that was written to the configuration file, or why writing failed.
    Saved(Result<Box<Draft>, ConfigError>),
    /// The open tabs were saved, or why not.
    TabsSaved(Result<(), String>),
    /// The program of a notification failed, and why.
    HookFailed(String),
    /// The agent server that was found on this machine, if any.
    LocalServer(Option<LocalServer>),
    /// What the official tools' files have.
    ImportsFound(Box<Import>),
    /// The draft of the configuration file with the profiles of the official tools, if there is any to add.
    ImportDrafted(Result<(Box<Import>, Option<Box<Draft>>), ConfigError>),
    /// Why each of these references to secrets can't be read; `None` if it can.
    SecretsChecked(Vec<(String, Option<String>)>),
    /// The configuration of the demo, once its servers run, or why they could not be started.
    DemoStarted(Result<Box<Config>, String>),
}

impl EffectResult {
    /// Returns the profile whose server sent the result. The result is dropped if that profile points to another server by now.
    /// `None` for other results, such as those for a page or a dialog, which are dropped when it closes.
    pub fn profile(&self) -> Option<&str> {
        Some(match self {
            EffectResult::Info(server, _)
            | EffectResult::Assistants(server, _)
            | EffectResult::GraphFacts(server, ..)
            | EffectResult::Inputs(server, ..) => &server.profile,
            EffectResult::Found(_, source, _) => source.profile(),
            EffectResult::Described(what, _) => what.profile(),
            EffectResult::Card(of, _) => &of.profile,
            EffectResult::RowRead(of, _) => of.profile(),
            EffectResult::Written(profile, ..) => profile,
            EffectResult::Sent(_, sent) => return sent.profile(),
            EffectResult::CancelFollowed(thread, _) => &thread.server.profile,
            _ => return None,
        })
    }
}

/// A deployment as a document to edit.
#[derive(Debug, Clone, PartialEq)]
pub struct DeploymentDocument {
    pub text: String,
    /// The fields that the deployment has now, without secrets.
    pub current: SpecForm,
}

/// A one-time effect. Each sends one message with its result, except where it says "no result".
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// An effect whose result is for a component.
    For(ComponentId, Box<Effect>),
    /// Fetch the software of an agent server.
    FetchInfo(ServerRef),
    /// Fetch the assistants of an agent server.
    FetchAssistants(ServerRef),
    /// Fetch the facts of an assistant's graph, by the assistant's id.
    FetchGraphFacts(ServerRef, String),
    /// Fetch the earlier inputs of an assistant from the records of its threads, and of this one.
    FetchInputs(ServerRef, String, Option<String>),
    /// Fetch the current version of a record.
    Describe(Described),
    /// Look up an id in a source, for the search with this number.
    Find(u64, Source, String),
    /// Fetch the explanation of a revision. Takes the name of its deployment on the command line, and the observed times in
    /// each status.
    Explain(RevisionRef, String, Vec<StatusTime>),
    /// Fetch what the inbox shows of a row besides what lists say.
    ReadRow(InboxTarget),
    /// Fetch a deployment as a document to edit: its profile, id and name.
    Write(Arc<str>, Arc<str>, String),
    /// Plan a change with this profile, and keep the plan under this number. Sends no write request.
    Plan(u64, Arc<str>, Box<Proposal>),
    /// Send the planned change with this number, of this profile, and to this thread if it is an action on one. No other effect
    /// changes anything on a control plane, an assistant, a cron or a store, and only [`Effect::StartRun`] also starts a run.
    Send(u64, Arc<str>, Option<ThreadRef>),
    /// Fetch records of an agent server; the number identifies the request.
    ListRecords(u64, ServerRef, RecordQuery),
    /// Start a run on a thread in the background.
    StartRun(u64, ThreadRef, Box<RunStart>),
    /// Poll runs that are being cancelled until they have stopped.
    FollowCancel(ThreadRef, Vec<CancelTarget>),
    /// Load the current records of a thread, under this number.
    LoadThread(u64, ThreadRef),
    /// Load the current records of a thread whose stream reported a question, under this number. The server may still
    /// list the run that asked as active, so they are read again for a few seconds.
    LoadWaitingThread(u64, ThreadRef),
    /// Drop the planned change or action with this number (no result).
    Forget(u64),
    ReadJournal,
    /// Edit the configuration file at a profile in the user's editor (no result: the file is watched).
    EditFile(PathBuf, String),
    /// Edit a text in the user's editor. The result is [`Msg::Edited`].
    EditOutside(String),
    /// Fetch a list of resources of a profile; the number identifies the request.
    Browse(u64, Arc<str>, Collection),
    /// Request a third-party token, with a profile; the number identifies the authentication.
    Authenticate(u64, Arc<str>, Box<AuthAuthenticateRequest>),
    /// Run a step on the file with this number. Files are written in parts.
    File(u64, FileStep),
    /// Open a link in the browser (a result only if that fails).
    OpenLink(String),
    /// Alert the user with a title and a line, by the bell or a desktop notification as configured (no result).
    Alert(String, String),
    /// Run the program of a notification rule (a result only if that fails).
    Hook(Box<Hook>),
    /// Copy a text to the clipboard with OSC 52 (no result).
    Copy(String),
    /// Suspend to the shell (no result).
    Suspend,
    /// Redraw the whole screen (no result).
    Redraw,
    /// Use these profiles from now on, as the configuration with this number (no result). Unchanged profiles are unaffected.
    UseProfiles(Epoch, Vec<Profile>),
    /// Apply the other settings of the runtime from a configuration (no result).
    Configure(Box<Config>),
    /// Use the demo's poll settings, and suggest commands that use the demo (no result).
    UseDemo(Box<Config>),
    /// Read the target of a planned change again, with the profile that planned it.
    CheckTarget(u64, Arc<str>),
    /// Look for an agent server on this machine.
    FindLocalServer,
    /// Look for profiles in the official tools' files.
    FindImports,
    /// Draft the configuration file with the profiles of the official tools.
    DraftImport(PathBuf),
    /// Check whether references to secrets can be read. Their values are dropped at once.
    CheckSecrets(Vec<String>),
    /// Start the simulated servers of the demo.
    StartDemo,
    /// Test whether a profile's servers can be reached with its keys, under the number of this test.
    Try(u64, Box<Profile>),
    /// Draft the configuration file with the texts of these new profiles.
    DraftFile(PathBuf, Vec<Arc<str>>),
    /// Write the draft to the configuration file.
    SaveFile(Box<Draft>),
    /// Write the open tabs to this file, with the number of the write.
    SaveTabs(PathBuf, u64, Box<SavedTabs>),
}

impl Effect {
    /// Addresses the result to a component.
    pub fn to(self, to: ComponentId) -> Effect {
        match (to, self) {
            (ComponentId::App, effect) | (_, effect @ Effect::For(..)) => effect,
            (to, effect) => Effect::For(to, Box::new(effect)),
        }
    }

    /// Separates the effect from the component that its result is for.
    pub fn addressed(self) -> (ComponentId, Effect) {
        match self {
            Effect::For(to, effect) => (to, *effect),
            effect => (ComponentId::App, effect),
        }
    }

    /// Returns the effect without its address.
    pub fn bare(&self) -> &Effect {
        match self {
            Effect::For(_, effect) => effect,
            effect => effect,
        }
    }
}

/// A program that is told about an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Hook {
    /// The program and its arguments. No shell is involved.
    pub command: Vec<String>,
    /// The event as JSON, for its standard input.
    pub event: String,
    /// Environment variables that hold keys, which it doesn't get.
    pub hidden: Vec<String>,
}

/// A place to look up an id.
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
    /// Returns the profile whose key is used.
    pub fn profile(&self) -> &str {
        match self {
            Source::Server(server) => &server.profile,
            Source::Deployments(profile) | Source::Revisions(profile, ..) => profile,
        }
    }

    /// Returns `us › support-bot`, or only the profile for its control plane.
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

/// The object that a source has with an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Thread,
    Assistant,
    /// A run, with the id of its thread.
    Run(String),
    /// A deployment, with its name.
    Deployment(String),
    Revision,
    /// Unknown: the server has only the contract's calls, none of which looks up an id.
    Unsupported,
}

impl Found {
    /// Number of a server's newest threads to search for a run, because no server finds a run by its id alone.
    pub const THREADS_LOOKED_AT: usize = 50;
}

/// A part of a file. Foreign text is sanitized by the background task that writes it, so that it doesn't delay the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum Chunk {
    /// Text that needs no sanitizing.
    Text(String),
    /// Foreign text, as one line.
    Line(Arc<str>),
    /// Foreign text, with its line breaks.
    Lines(Arc<str>),
    /// Foreign text as a code block in this language.
    Code(&'static str, Arc<str>),
    /// A line of a recording.
    Record(Box<Record>),
}

/// A step in writing a file.
#[derive(Debug, Clone, PartialEq)]
pub enum FileStep {
    /// Create the file. Fails if it exists.
    Create(PathBuf),
    /// Create a recording. Fails if the file exists. Its lines form a hash chain.
    Record(PathBuf),
    /// Create a file with a comparison, and close it. Fails if the file exists.
    Comparison(PathBuf, Arc<Comparison>),
    /// Create a file with these parts, and close it. Fails if the file exists.
    Save(PathBuf, Vec<Chunk>),
    /// Append these parts.
    Write(Vec<Chunk>),
    /// Flush and close the file.
    Finish,
}
