//! The requests of features to the application.

use super::catalog::AfterTest;
use super::compare::SideRef;
use super::destination::Destination;
use super::msg::{Described, Effect, LogRef, RevisionRef, ServerRef, StreamTarget, ThreadRef};
use super::proposal::{BulkTarget, Proposal};
use super::record_list::RecordList;
use super::run::Origin;
use super::subject::Subject;
use super::thread::AnswerFrom;
use crate::input::action::{Action, Context};
use runtail_api::{BulkAction, LogKind, ResourceIntent, SentRequest, ThreadIntent};
use runtail_core::config::{Mouse, Profile, Timestamps};
use runtail_core::model::{AuthAuthenticateRequest, Collection, Configuration, Intent};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

/// What is said of a change that stays unsent.
pub const NOTHING_SENT: &str = "Nothing was sent.";
/// What is said when a dialog is closed while its request is on its way.
pub const ALREADY_SENT: &str = "Already sent; the result will be reported.";

/// Returns why a change was not sent.
pub fn not_sent(why: impl Display) -> String {
    format!("{why} {NOTHING_SENT}")
}

/// A request of a feature. The application applies requests in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Run an effect.
    Effect(Effect),
    /// Show a notice; `true` for an error.
    Notify(bool, String),
    /// Open a screen, dialog or pane.
    Open(Route),
    /// Close the top overlay and keep its draft.
    Close,
    /// Go to a destination.
    Go(Destination),
    /// Begin a change of the selected deployment or revision.
    Change(Action),
    /// Run a command on the current stream.
    Stream(StreamCommand),
    /// Mark a thread's active run, or this one, as being cancelled wherever it is shown.
    NoteCancelling(ThreadRef, Option<String>),
    /// Explain why this intent can't be carried out on its thread, or where the thread is ended.
    NothingToDo(ServerRef, Box<ThreadIntent>, String),
    /// Reload the topmost list of records.
    Reread,
    /// Return from the stream to the lists behind it, and select this thread there.
    LeaveStream(Option<String>),
    /// Search the threads of the open server.
    SearchThreads(String),
    /// Name the thread that is shown or selected; an empty name removes it.
    NameThread(String),
    /// Refresh the current thread.
    RefreshThread,
    /// Notify when a thread no longer needs a person, or stop that.
    WatchThread(ThreadRef),
    /// Notify when a revision finishes, or stop that.
    WatchRevision(RevisionRef),
    /// Change the modes of a stream, by its number.
    SetModes(u64, Vec<String>),
    /// Open the prompt for the component's filter or search.
    BeginTyping,
    /// Handle an action as if its key had been pressed in that context.
    Do(Context, Action),
    /// Run an action by its id, as if its key had been pressed here. If it works elsewhere, say where.
    Run(&'static str),
    /// Run a line of the palette.
    Line(String),
    /// Mark a run for a comparison, or remove its mark.
    MarkSide(SideRef),
    /// Compare the marked runs and threads, or the marked one with this one.
    CompareSide(SideRef),
    /// Change a preference.
    Prefer(Pref),
    /// Use these profiles from now on.
    UseProfiles(Vec<Profile>),
    /// Apply an action to a profile.
    Profile(ProfileRequest),
    /// Adjust the times of logs, because the offset of a server's clock has changed.
    AdjustClocks,
    /// Quit the dashboard.
    Quit,
}

/// A command on the current stream, with its argument.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamCommand {
    /// Record it: a file, or `off`.
    Record(String),
    /// Replay it, or open a recording.
    Replay(String),
    /// Reopen it from its start.
    Reopen,
    /// Export its view to a file.
    Export(String),
    /// Show a checkpoint of its thread in the Steps view.
    ShowCheckpoint(String),
    /// Show a checkpoint of its thread in all views, the graph first.
    ShowOnGraph(String),
    /// Edit the state at a checkpoint of its thread, and run from there.
    EditCheckpoint(String),
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
    /// Who handles the mouse.
    Mouse(Mouse),
    Theme(String),
}

impl From<Pref> for Request {
    fn from(pref: Pref) -> Request {
        Request::Prefer(pref)
    }
}

/// An action on a profile, by its name.
#[derive(Debug, Clone, PartialEq)]
pub enum ProfileRequest {
    /// Use it beside the others once a test has reached it, or stop using it.
    ToggleUse(String),
    /// Test whether its servers can be reached, and what follows if they can.
    Try(String, AfterTest),
    /// Test it, and use its newest definition if that is not in use yet.
    Test(String),
    /// Use it although its servers could not be reached.
    UseAnyway(String),
    /// Edit the configuration file at its line.
    Edit(String),
    /// Define it by its text for this session. The file changes only when the profile is saved.
    Define(String),
    /// Draft the configuration file with the unsaved profiles.
    DraftFile,
    /// Draft the configuration file with the profiles of the official tools.
    Import,
}

impl From<ProfileRequest> for Request {
    fn from(request: ProfileRequest) -> Request {
        Request::Profile(request)
    }
}

/// A screen, dialog or pane to open.
#[derive(Debug, Clone, PartialEq)]
pub enum Route {
    /// A JSON document.
    Document {
        title: String,
        /// The document.
        text: Arc<str>,
    },
    /// A record, which is loaded from its server first.
    Record(Described),
    /// A list of resources of a profile; the text names their owner, if they have one.
    List(Collection, Arc<str>, String),
    /// An entry of the journal.
    Entry(Box<SentRequest>),
    /// A document to edit, with its initial text. An unfinished draft on the same subject is restored.
    Edit(Subject, String),
    /// The preview of a change that a profile sends.
    Change(Arc<str>, Box<Proposal>),
    /// The preview of an action on several threads, which may be on several servers.
    Bulk(BulkAction, Vec<BulkTarget>),
    /// A page of an agent server's records.
    Records(ServerRef, RecordList),
    /// An authentication, before it is sent.
    SignIn(Arc<str>, Box<AuthAuthenticateRequest>),
    /// The explanation of a revision.
    Explanation {
        /// The revision.
        of: RevisionRef,
        /// The name of its deployment in titles.
        name: String,
        /// The name of its deployment on the command line.
        address: String,
    },
    /// A deployment as a document to edit, which is loaded from its server first: its profile, id and name.
    DeploymentDocument(Arc<str>, Arc<str>, String),
    /// An agent server.
    Server(ServerRef),
    /// A stream of the open server.
    Stream(StreamTarget),
    /// A composed run with its stream, on this server.
    Run(ServerRef, Box<StreamTarget>),
    /// The card for answering a thread; `true` preselects approval where it is offered.
    Answer(AnswerFrom, bool),
    /// The profiles page.
    Profiles,
    /// The doctor's report: checks of the configuration and connections, or only of one profile.
    Doctor(Option<Arc<Profile>>),
    /// The table of all key bindings.
    Keys,
    /// A screen, by the name of the command that opens it.
    Screen(&'static str),
    /// The document of an authentication with a provider.
    Authenticate(Arc<str>, String),
    /// A bisect of the shown stream: a path, and what is expected there.
    Bisect(String),
    /// The delivery report of the shown stream.
    DeliveryReport,
    /// The explanation of the current thread.
    Why,
    /// The same for a thread that may not be open: it is opened first.
    WhyThread(ThreadRef),
    /// The graph of an assistant: its id or the name of its graph, and the name in the title.
    Graph(ServerRef, String, String),
    /// The page of a thread.
    Thread(ThreadRef),
    /// The modes of a stream, by its number.
    Modes(u64),
    /// The composer of a new run on this server. The default assistant is the one listed for its thread.
    ComposeOn(ServerRef, Origin),
    /// The command line, with a text.
    Palette(String),
    /// A comparison of these sides. With one side, the marked row or the shown thread is the other.
    Compare(Vec<SideRef>),
    /// A comparison of two versions of an assistant.
    CompareVersions(Box<[Configuration; 2]>),
    /// A recording.
    Recording(PathBuf),
    /// The composer of a new run on the open server.
    Compose(Origin),
    /// Logs, combined in one view.
    Logs(LogKind, Vec<LogRef>),
}

/// The requests of one call, in order.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct Requests(Vec<Request>);

impl Requests {
    /// Returns no requests.
    pub fn none() -> Requests {
        Requests::default()
    }

    /// Returns a single notice.
    pub fn info(text: impl Into<String>) -> Requests {
        Request::Notify(false, text.into()).into()
    }

    /// Returns a single error notice.
    pub fn error(text: impl Into<String>) -> Requests {
        Request::Notify(true, text.into()).into()
    }

    /// Returns the notice for an action that needs a selected row.
    pub fn none_selected(kind: &str) -> Requests {
        Requests::info(format!("No {kind} selected."))
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

    /// Appends a request.
    pub fn and(mut self, request: impl Into<Request>) -> Requests {
        self.push(request);
        self
    }

    /// Returns the requests of the few actions that also work in a text field.
    pub fn while_typing(action: Action) -> Option<Requests> {
        match action {
            Action::QuitNow => Some(Request::Quit.into()),
            Action::Suspend => Some(Effect::Suspend.into()),
            Action::Redraw => Some(Effect::Redraw.into()),
            _ => None,
        }
    }

    /// Opens any record as a JSON document.
    pub fn inspect(title: String, record: &impl serde::Serialize) -> Requests {
        match serde_json::to_string(record) {
            Ok(text) => Route::Document {
                title,
                text: text.into(),
            }
            .into(),
            Err(e) => Requests::error(format!("Can't show it as JSON: {e}")),
        }
    }
}

impl Route {
    /// Returns the preview of a change on a profile's control plane.
    pub fn change(profile: Arc<str>, intent: Intent) -> Route {
        Route::Change(profile, Box::new(Proposal::Service(intent)))
    }

    /// Returns the preview of an action on a thread.
    pub fn on_thread(server: ServerRef, intent: ThreadIntent) -> Route {
        let profile = server.profile.clone();
        Route::Change(profile, Box::new(Proposal::Thread(server, intent)))
    }

    /// Returns the preview of a change of an assistant, a cron or the store of an agent server.
    pub fn on_resource(server: ServerRef, intent: ResourceIntent) -> Route {
        let profile = server.profile.clone();
        Route::Change(profile, Box::new(Proposal::Resource(server, intent)))
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
