//! The dashboard's state and how it changes. No clock, no I/O, no terminal: messages come in with their time, effects
//! and subscriptions go out, and the screen is drawn from what is here.

mod act;
mod act_stream;
pub mod answer;
mod bindings;
pub mod blocks;
pub mod browse;
mod change;
pub mod columns;
pub mod composer;
pub mod confirm;
pub mod describe;
pub mod difference;
pub mod doctor;
pub mod editor;
pub mod explain;
pub mod export;
pub mod filter;
pub mod find;
pub mod first_run;
pub mod fleet;
pub mod habits;
pub mod help;
pub mod hints;
pub mod history;
mod in_force;
pub mod journal;
pub mod json;
pub mod key;
pub mod keys;
pub mod layout;
pub mod line;
pub mod list;
pub mod logs;
pub mod markdown;
pub mod modes;
mod mouse;
pub mod msg;
pub mod open;
pub mod palette;
mod press;
mod profile_file;
pub mod profiles;
mod record;
mod records;
mod replay;
pub mod rules;
pub mod scroll;
pub mod server;
pub mod sign_in;
pub mod streams;
mod subscriptions;
pub mod tabs;
pub mod text_input;
mod thread_actions;
mod ticks;
pub mod timeline;
pub mod typing;
mod update;
pub mod view_lines;
pub mod viewer;
pub mod watch;
pub mod why;
pub mod work;

pub use subscriptions::subscriptions;
pub use update::{stops_polling, update};

use answer::{AnswerCard, KeptDraft};
use browse::Browse;
use composer::Composer;
use confirm::Confirm;
use doctor::Doctor;
use editor::{Editor, Subject};
use explain::Explained;
use export::Export;
use fleet::{Fleet, ProfileState};
use habits::Habits;
use history::History;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::JournalView;
use json::Tree;
use keys::{Context, Keymap};
use list::Picker;
use logs::LogView;
use modes::{LastModes, ModesDialog};
use msg::{Described, Effect, RevisionRef, ServerRef};
use palette::{Palette, Search};
use profiles::Catalogue;
use record::Recording;
use runtail_core::config::{Draft, Profile, TapeLimits};
use runtail_core::model::Change;
use scroll::Place;
use server::{Loaded, Server};
use sign_in::{SignIn, Stage};
use std::collections::{BTreeMap, HashMap};
use std::mem::Discriminant;
use std::sync::Arc;
use streams::Streams;
use typing::Prompt;
use viewer::Viewer;
use watch::Watch;

/// The panes, in the order of Tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// The deployments of all profiles.
    Deployments,
    /// The revisions of the selected one.
    Revisions,
    /// Its agent server: threads, runs, assistants, and the stream that is open.
    Stream,
}

/// What lies over the panes.
#[derive(Debug, Clone)]
pub enum Overlay {
    /// Lines to read.
    Page(Page, Place),
    /// A JSON document.
    Inspect {
        /// What it is.
        title: String,
        /// The document.
        tree: Box<Tree>,
    },
    /// A run being composed.
    Compose(Box<Composer>),
    /// A document being edited.
    Edit(Box<Editor>),
    /// A change that the person is asked about.
    Confirm(Box<Confirm>),
    /// The answer to a thread's questions.
    Answer(Box<AnswerCard>),
    /// What was sent to change something.
    Journal(JournalView),
    /// A command being typed. What is below it stays in sight.
    Command(Palette),
    /// All profiles.
    Profiles,
    /// A list beside the deployments.
    Browse(Box<Browse>),
    /// An authentication with a provider.
    SignIn(Box<SignIn>),
    /// The modes of a stream.
    Modes(ModesDialog),
    /// What to do where nothing is configured; number of the choice.
    FirstRun(usize),
}

impl Overlay {
    /// Where keys go while it is on top.
    fn context(&self) -> Context {
        match self {
            Overlay::Page(Page::Explain(_), _) => Context::Card,
            Overlay::Page(Page::Why(_), _) => Context::Why,
            Overlay::Page(Page::Save(_), _) => Context::Save,
            Overlay::Page(Page::Entry(_), _) => Context::Entry,
            Overlay::Page(..) => Context::Page,
            Overlay::Inspect { .. } => Context::Inspector,
            Overlay::Compose(_) => Context::Composer,
            Overlay::Edit(_) => Context::Editor,
            Overlay::Confirm(_) => Context::Confirm,
            Overlay::Answer(_) => Context::Answer,
            Overlay::Journal(_) => Context::Journal,
            Overlay::Command(_) => Context::Command,
            Overlay::Profiles => Context::Profiles,
            Overlay::Browse(_) => Context::Browse,
            Overlay::SignIn(asked) if matches!(asked.stage, Stage::Ready) => Context::Request,
            Overlay::SignIn(_) => Context::SignIn,
            Overlay::Modes(_) => Context::Modes,
            Overlay::FirstRun(_) => Context::FirstRun,
        }
    }
}

/// What a page is about.
#[derive(Debug, Clone)]
pub enum Page {
    /// The keys that work.
    Help,
    /// Every key that is in force.
    Keys,
    /// Every message of the session.
    Notices,
    /// Why a revision is as it is.
    Explain(Box<Explained>),
    /// Why the thread of the stream that is shown is as it is, and when its records were asked for last.
    Why(Timestamp),
    /// An entry of the journal.
    Entry(Box<runtail_api::Sent>),
    /// What stands between the person and their deployments.
    Doctor(Box<Doctor>),
    /// What would be written to the configuration file.
    Save(Box<Draft>),
    /// What differs between two revisions.
    Difference {
        /** Which ones. */
        title: String,
        /** What differs. */
        changes: Vec<Change>,
    },
}

/// A message for the person.
#[derive(Debug, Clone)]
pub struct Notice {
    /// When.
    pub at: Timestamp,
    /// Whether it is an error.
    pub error: bool,
    /// What, with line breaks.
    pub text: String,
}

/// What was settled before the dashboard began.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The embedded simulator is behind it.
    pub demo: bool,
    /// Only ASCII on the screen.
    pub ascii: bool,
    /// Time zone of the person.
    pub tz: TimeZone,
    /// How much a tape keeps.
    pub tape: TapeLimits,
    /// The configuration's `[keys]`.
    pub keys: BTreeMap<String, Vec<String>>,
    /// What was odd in the configuration.
    pub warnings: Vec<String>,
}

/// The whole state.
#[derive(Debug)]
pub struct App {
    /// What was settled at the start.
    pub settings: Settings,
    /// The keys in force.
    pub keymap: Keymap,
    /// How the person likes to look at things.
    pub habits: Habits,
    /// The time of the last message.
    pub now: Timestamp,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// The profiles in use, in their order.
    pub profiles: Vec<ProfileState>,
    /// All profiles that there are, and how they are defined.
    pub catalogue: Catalogue,
    /// Their deployments.
    pub fleet: Fleet,
    /// Revisions, by row.
    pub histories: HashMap<String, History>,
    /// Selection among the revisions shown.
    pub revision_picker: Picker,
    /// Who the agent servers are.
    pub infos: BTreeMap<ServerRef, Loaded<runtail_api::ServerInfo>>,
    /// The agent server that is open.
    pub server: Option<Server>,
    /// The streams that are open.
    pub streams: Streams,
    /// The modes that were chosen last.
    pub last_modes: LastModes,
    /// The logs that are open; they lie over the stream and the agent server.
    pub logs: Option<LogView>,
    /// Revisions that the person wants to be told of.
    pub watches: BTreeMap<RevisionRef, Watch>,
    /// Deployments that are being deleted, with what they are called: followed until they are gone.
    pub vanishing: BTreeMap<(Arc<str>, Arc<str>), String>,
    /// A revision that another is to be compared with.
    pub compared: Option<RevisionRef>,
    /// Whether the terminal's window has the focus, as far as it says so.
    pub attended: bool,
    /// The pane with the focus.
    pub focus: Pane,
    /// Whether it has the whole screen.
    pub zoom: bool,
    /// Whether the screen stands still, whatever comes.
    pub frozen: bool,
    /// Whether the button went down on the slider of the past: it goes with the pointer until it goes down elsewhere.
    pub(super) slides: bool,
    /// What lies over the panes, lowest first.
    pub overlays: Vec<Overlay>,
    /// The top overlay that was in a frame since it opened: how many there are, and its kind.
    seen_overlay: Option<(usize, Discriminant<Overlay>)>,
    /// The filter or the search that is being typed in the footer.
    pub prompt: Option<Prompt>,
    /// Every message of the session, oldest first, the last 200.
    pub notices: Vec<Notice>,
    /// Until when the newest notice stands in the footer.
    pub notice_until: Option<Timestamp>,
    /// Whether a document was asked for and is still waited for.
    pub describing: Option<Described>,
    /// The search for an id on all servers, while one is under way.
    pub search: Option<Search>,
    /// Number of the next search.
    next_search: u64,
    /// What was typed into a composer that was left.
    pub draft: Option<Composer>,
    /// What was typed as answers and not sent.
    pub answer_drafts: Vec<KeptDraft>,
    /// What was typed into editors that were left.
    pub drafts: BTreeMap<Subject, String>,
    /// When a person last refreshed by hand.
    pub refreshed_at: Option<Timestamp>,
    /// Grows with each refresh by hand, and with each profile that leads elsewhere: what is asked then begins anew.
    pub epoch: u64,
    /// Number of the next stream, or of the doctor's next look.
    pub next_stream: u64,
    /// The view that is being written to a file.
    export: Option<Export>,
    /// The streams that are recorded.
    recordings: Vec<Recording>,
    /// Number of the next change, or of the next file.
    pub next_change: u64,
    /// Number of the next work that is done beside the screen.
    pub next_work: u64,
    /// The dashboard is to end.
    pub quit: bool,
}

impl App {
    /// The state at the start, and what to do first.
    pub fn new(profiles: &[Profile], settings: Settings, size: (u16, u16), now: Timestamp) -> (App, Vec<Effect>) {
        let (keymap, problems) = Keymap::new(&settings.keys);
        let states: Vec<ProfileState> = profiles.iter().map(|p| ProfileState::new(p, 0)).collect();
        let fleet = Fleet::new(profiles, &states);
        let warnings = settings.warnings.clone();
        let mut app = App {
            settings,
            keymap,
            habits: Habits::default(),
            now,
            size,
            profiles: states,
            catalogue: Catalogue::of(profiles),
            fleet,
            histories: HashMap::new(),
            revision_picker: Picker::default(),
            infos: BTreeMap::new(),
            server: None,
            streams: Streams::default(),
            last_modes: LastModes::default(),
            logs: None,
            watches: BTreeMap::new(),
            vanishing: BTreeMap::new(),
            compared: None,
            attended: true,
            focus: Pane::Deployments,
            zoom: false,
            frozen: false,
            slides: false,
            overlays: Vec::new(),
            seen_overlay: None,
            prompt: None,
            notices: Vec::new(),
            notice_until: None,
            describing: None,
            search: None,
            next_search: 1,
            refreshed_at: None,
            draft: None,
            answer_drafts: Vec::new(),
            drafts: BTreeMap::new(),
            epoch: 0,
            next_stream: 1,
            export: None,
            recordings: Vec::new(),
            next_change: 1,
            next_work: 1,
            quit: false,
        };
        for text in warnings {
            app.notify(false, text);
        }
        app.tell_of_keys(&problems);
        let servers: Vec<ServerRef> = app.fleet.rows.iter().filter_map(|r| r.server(&app.profiles)).collect();
        let mut effects: Vec<Effect> = servers.iter().cloned().map(Effect::FetchInfo).collect();
        // One server and no control plane: there is nothing else to choose.
        if let [only] = servers.as_slice()
            && !app.profiles.iter().any(|p| p.control_plane)
        {
            effects = app.open_server(only.clone());
        }
        app.settle();
        (app, effects)
    }

    /// Whether anything was opened for the stream's pane: an agent server, a stream, or logs.
    pub fn has_stream_pane(&self) -> bool {
        self.server.is_some() || self.viewer().is_some() || self.logs.is_some()
    }

    /// The stream that is shown.
    pub fn viewer(&self) -> Option<&Viewer> {
        self.streams.shown()
    }

    /// The stream that is shown.
    pub fn viewer_mut(&mut self) -> Option<&mut Viewer> {
        self.streams.shown_mut()
    }

    /// Where keys go now.
    pub fn context(&self) -> Context {
        self.overlays.last().map_or_else(|| self.pane_context(), Overlay::context)
    }

    /// The place that the help screen was opened in.
    pub fn helped_context(&self) -> Context {
        let is_help = |overlay: &&Overlay| matches!(overlay, Overlay::Page(Page::Help, _));
        let under = self.overlays.iter().rev().find(|overlay| !is_help(overlay)).map(Overlay::context);
        // A page of text has no keys of its own.
        under.filter(|context| *context != Context::Page).unwrap_or_else(|| self.pane_context())
    }

    /// Where keys go when nothing lies over the panes.
    pub fn pane_context(&self) -> Context {
        match self.focus {
            Pane::Deployments => Context::Deployments,
            Pane::Revisions => Context::Revisions,
            Pane::Stream if self.logs.is_some() => Context::Logs,
            Pane::Stream if self.viewer().is_some() => Context::Stream,
            Pane::Stream => Context::Server,
        }
    }

    /// Whether a profile may not be written to.
    pub fn is_read_only(&self, profile: &str) -> bool {
        // What is not known is left alone.
        self.profiles.iter().find(|p| &*p.name == profile).is_none_or(|p| p.read_only)
    }

    /// Tells the person something.
    pub fn notify(&mut self, error: bool, text: impl Into<String>) {
        self.notices.push(Notice { at: self.now, error, text: text.into() });
        if self.notices.len() > 200 {
            self.notices.remove(0);
        }
        let seconds = if error { 20 } else { 8 };
        self.notice_until = self.now.checked_add(jiff::SignedDuration::from_secs(seconds)).ok();
    }

    /// Tells of all that is wrong with the configuration's keys at once.
    fn tell_of_keys(&mut self, problems: &[String]) {
        match problems {
            [] => {}
            [one] => self.notify(true, one),
            several => {
                let text =
                    format!("[keys] {} problems; :keys shows what is in force\n{}", several.len(), several.join("\n"));
                self.notify(true, text);
            }
        }
    }

    /// A key was pressed: a notice that stood long enough to be read gives the footer back.
    fn pass_notice(&mut self) {
        // A clock that was set back must not keep it for ever.
        let read = |n: &Notice| self.now.duration_since(n.at).abs() > jiff::SignedDuration::from_secs(2);
        if self.notices.last().is_some_and(read) {
            self.notice_until = None;
        }
    }

    /// The notice that stands in the footer now.
    pub fn notice(&self) -> Option<&Notice> {
        let until = self.notice_until?;
        self.notices.last().filter(|n| self.now < until && n.at <= self.now)
    }

    /// The revisions of the selected row.
    pub fn history(&self) -> Option<&History> {
        self.histories.get(self.fleet.picker.selected.as_ref()?)
    }
}
