//! What must be done once, and what came of it.

use super::refs::{Described, Made, RevisionRef, ServerRef, ThreadRef};
use super::subscription::Epoch;
use runtail_api::{
    Acted, ApiError, CancelTarget, Choice, Listing, LoadedThread, PlanError, RunStart, Sent, ServerInfo, StartError,
    ThreadIntent,
};
use runtail_core::config::{Config, ConfigError, Draft, Profile};
use runtail_core::model::{
    Assistant, AuthAnswer, AuthAuthenticateRequest, Collection, FailureCard, Intent, Preview, StatusTime,
};
use runtail_core::text::clean;
use runtail_stream::Record;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// What an effect answers.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)]
pub enum EffectResult {
    /// Who an agent server is.
    Info(ServerRef, Result<ServerInfo, ApiError>),
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
    ReadJournal,
    /// Let the person's own editor change a text; it comes back as [`Msg::Edited`].
    EditOutside(String),
    /// Ask a profile for a list beside the deployments; the number names the request.
    Browse(u64, Arc<str>, Collection),
    /// Request a third-party token, with a profile; the number names the authentication.
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
    Thread,
    Assistant,
    /// A run, by its thread.
    Run(String),
    /// A deployment, by its name.
    Deployment(String),
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
