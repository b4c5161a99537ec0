//! What a feature asks for.

use super::catalogue::Then;
use super::destination::Destination;
use super::msg::{Described, Effect, LogRef, RevisionRef, ServerRef, StreamTarget, ThreadRef};
use super::run::Origin;
use super::subject::Subject;
use super::thread::AnswerFrom;
use crate::input::action::{Action, Context};
use runtail_api::{ApiError, LogKind, Sent, ThreadIntent};
use runtail_core::config::{Mouse, Profile, Timestamps};
use runtail_core::model::{AuthAuthenticateRequest, Change, Collection, Intent, Service, StatusTime};
use std::path::PathBuf;
use std::sync::Arc;

/// Something that a feature asks for. The application carries it out, in the order of the requests.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Have the runtime do something.
    Effect(Effect),
    /// Tell the person something; `true` for an error.
    Notify(bool, String),
    /// Show something else.
    Open(Route),
    /// Close the overlay on top. What it wants to keep is kept.
    Close,
    /// Offer a text to the clipboard, and say so.
    Copy(String),
    /// Apply what a failed request means for its profile: a rejected key stops polling, a rate limit pauses it.
    ReportError(ApiError),
    /// Go somewhere.
    Go(Destination),
    /// Begin a change of the selected deployment or revision.
    Change(Action),
    /// Do something with the stream that is shown.
    Stream(StreamCommand),
    /// Mark a thread's active run, or this one, as being cancelled wherever it is shown.
    NoteCancelling(ThreadRef, Option<String>),
    /// The stream's pane was left for the lists behind it; the thread is selected in them.
    LeaveStream(Option<String>),
    /// Read the thread that is shown again.
    RefreshThread,
    /// Change the modes of a stream, by its number.
    SetModes(u64, Vec<String>),
    /// Type the filter or the search of the component.
    BeginTyping,
    /// Handle an action as if its key had been pressed in that context.
    Do(Context, Action),
    /// Change a preference.
    Prefer(Pref),
    /// Use these profiles from now on.
    UseProfiles(Vec<Profile>),
    /// Define a profile by its text, and close its editor where the text is right.
    DefineProfile(String),
    /// Do something with a profile.
    Profile(ProfileRequest),
    /// The clock of a server was found to be another one than before.
    AdjustClocks,
    /// Start every poll again.
    RestartPolls,
    /// Leave the dashboard.
    Quit,
}

/// What can be done with the stream that is shown by a command, with its argument.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamCommand {
    /// Record it: a file, or `off`.
    Record(String),
    /// Replay it, or open a recording.
    Replay(String),
    /// Open it again from its start.
    Reopen,
    /// Write its view to a file.
    Export(String),
}

impl From<StreamCommand> for Request {
    fn from(command: StreamCommand) -> Request {
        Request::Stream(command)
    }
}

/// A preference of the session.
#[derive(Debug, Clone, PartialEq)]
pub enum Pref {
    /// Whether long lines of a stream are wrapped.
    Wrap(bool),
    /// How the times of a stream are shown.
    Timestamps(Timestamps),
    /// Whose the mouse is.
    Mouse(Mouse),
    Theme(String),
    /// The theme that is shown while it is chosen.
    Preview(Option<String>),
    /// A line that was typed after `:`.
    Line(String),
}

impl From<Pref> for Request {
    fn from(pref: Pref) -> Request {
        Request::Prefer(pref)
    }
}

/// What can be done with a profile, by its name.
#[derive(Debug, Clone, PartialEq)]
pub enum ProfileRequest {
    /// Use it beside the others once it was reached, or no longer.
    ToggleUse(String),
    /// Try whether its servers can be reached, and then use it or not.
    Try(String, Then),
    /// Try it; where its newest definition is not in force yet, to use it.
    Test(String),
    /// Use it though its servers could not be reached.
    UseAnyway(String),
    /// Edit it, or a new one.
    Edit(Option<String>),
    /// Find out what the configuration file would be with what was typed.
    DraftFile,
}

impl From<ProfileRequest> for Request {
    fn from(request: ProfileRequest) -> Request {
        Request::Profile(request)
    }
}

/// What can be shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Route {
    /// A JSON document.
    Document {
        title: String,
        /// The document.
        text: Arc<str>,
    },
    /// A record, read from its server first.
    Record(Described),
    /// A list beside the deployments, of a profile; the text names what it is a part of.
    List(Collection, Arc<str>, String),
    /// An entry of the journal.
    Entry(Box<Sent>),
    /// A document to edit, with the text to begin from. A draft of it that was left is restored.
    Edit(Subject, String),
    /// The preview of a change on a profile's control plane.
    Change(Arc<str>, Box<Intent>),
    /// The preview of an action on a thread.
    ThreadAction(ServerRef, Box<ThreadIntent>),
    /// An authentication, before it is sent.
    SignIn(Arc<str>, Box<AuthAuthenticateRequest>),
    /// The explanation of a revision: its deployment's name, that name on the command line, and the times it was seen to
    /// spend in each status.
    Explanation {
        /// The revision.
        of: RevisionRef,
        /// The name of its deployment in titles.
        name: String,
        /// The name of its deployment on the command line.
        address: String,
        times: Vec<StatusTime>,
    },
    /// The differences between two revisions.
    Comparison {
        /// Which ones.
        title: String,
        /// The differences.
        changes: Vec<Change>,
    },
    /// A deployment as a document to edit, read from its server first: its profile, id and name.
    DeploymentDocument(Arc<str>, Arc<str>, String),
    /// An agent server.
    Server(ServerRef),
    /// A stream of the server that is open.
    Stream(StreamTarget),
    /// A run that was composed, on its server, with the modes that were chosen for it.
    Run(ServerRef, Box<StreamTarget>, Vec<(&'static str, bool)>),
    /// The answer to what a thread waits for; `true` with approval set wherever it is offered.
    Answer(AnswerFrom, bool),
    /// The page of all profiles.
    Profiles,
    /// The journal of what was sent.
    Journal,
    /// The checks of everything between the person and their deployments.
    Doctor,
    /// The table of all keys.
    Keys,
    /// A screen, by the name of the command that opens it.
    Screen(&'static str),
    /// The document of an authentication with a provider.
    Authenticate(Arc<str>, String),
    /// A change of something beside the deployments of a profile.
    Service(Arc<str>, Service),
    /// The explanation of the thread that is shown.
    Why,
    /// The same for a thread that may not be open: it is opened first.
    WhyThread(ThreadRef),
    /// The modes of a stream, by its number.
    Modes(u64),
    /// A new run on a server; the assistant that is listed for its thread runs where none is named.
    ComposeOn(ServerRef, Origin),
    /// The command line, with a text.
    Palette(String),
    /// A stream that is recorded in a file.
    Recording(PathBuf),
    /// A new run on the server that is open.
    Compose(Origin),
    /// Logs, in one view.
    Logs(LogKind, Vec<LogRef>),
}

/// The requests of one call, in their order.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct Requests(Vec<Request>);

impl Requests {
    /// Nothing is asked for.
    pub fn none() -> Requests {
        Requests::default()
    }

    /// A notice alone.
    pub fn info(text: impl Into<String>) -> Requests {
        Request::Notify(false, text.into()).into()
    }

    /// An error alone.
    pub fn error(text: impl Into<String>) -> Requests {
        Request::Notify(true, text.into()).into()
    }

    /// Adds a request.
    pub fn push(&mut self, request: impl Into<Request>) {
        self.0.push(request.into());
    }

    /// Adds a notice; `true` for an error.
    pub fn notify(&mut self, error: bool, text: impl Into<String>) {
        self.0.push(Request::Notify(error, text.into()));
    }

    /// Adds the requests of another call.
    pub fn extend(&mut self, others: Requests) {
        self.0.extend(others.0);
    }

    /// Adds a request behind these.
    pub fn and(mut self, request: impl Into<Request>) -> Requests {
        self.push(request);
        self
    }

    /// What the few actions ask for that work while a text is typed.
    pub fn while_typing(action: Action) -> Option<Requests> {
        match action {
            Action::QuitNow => Some(Request::Quit.into()),
            Action::Suspend => Some(Effect::Suspend.into()),
            Action::Redraw => Some(Effect::Redraw.into()),
            _ => None,
        }
    }

    /// Shows any record as a JSON document.
    pub fn inspect(title: String, record: &impl serde::Serialize) -> Requests {
        match serde_json::to_string(record) {
            Ok(text) => Route::Document { title, text: text.into() }.into(),
            Err(e) => Requests::error(format!("Can't show this record as JSON: {e}")),
        }
    }
}

impl From<Effect> for Request {
    fn from(effect: Effect) -> Request {
        Request::Effect(effect)
    }
}

impl From<Route> for Request {
    fn from(route: Route) -> Request {
        Request::Open(route)
    }
}

impl<R: Into<Request>> From<R> for Requests {
    fn from(request: R) -> Requests {
        Requests(vec![request.into()])
    }
}

impl IntoIterator for Requests {
    type Item = Request;
    type IntoIter = std::vec::IntoIter<Request>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
