//! Application state and its transitions. Contains no clock, I/O or terminal access: `update` takes timestamped messages and
//! returns effects, and the UI is drawn from this state.

mod actions;
mod activate;
mod bars;
mod chosen;
mod dispatch;
pub mod draw;
mod elsewhere;
mod events;
pub mod help;
pub mod hints;
mod inbox;
pub mod layout;
mod mouse;
mod navigate;
mod open;
mod outcomes;
mod overlay;
pub mod palette;
mod parts;
mod reach;
mod relayout;
mod requests;
mod restore;
mod subscriptions;
mod tabs;
mod thread_outcomes;
mod ticks;
pub mod typing;
mod update;

pub use crate::session::destination::Pane;
pub use crate::session::{Notification, Settings, stops_polling};
pub use overlay::{Overlay, SCREENS};
pub use subscriptions::subscriptions;
pub use update::update;

use crate::features::agent::Agent;
use crate::features::changes::Changes;
use crate::features::composer::Composing;
use crate::features::deployments::Deployments;
use crate::features::deployments::list::DeploymentList;
use crate::features::deployments::revisions::RevisionHistory;
use crate::features::inbox::InboxPage;
use crate::features::logs::state::LogView;
use crate::features::stream::StreamState;
use crate::features::stream::viewer::Viewer;
use crate::features::stream::views::View;
use crate::features::thread::Threads;
use crate::input::action::Context;
use crate::input::key::Key;
use crate::input::keymap::Keymap;
use crate::session::Session;
use crate::session::catalog::Catalog;
use crate::session::msg::{Described, Effect, Epoch, ServerRef, ThreadRef};
use crate::session::profile::ProfileState;
use crate::session::thread::ThreadView;
use jiff::Timestamp;
use palette::Search;
use runtail_core::config::Profile;
use std::mem::Discriminant;
use std::path::PathBuf;
use typing::Prompt;

/// What is shown: the number of overlays, what takes the keys, and the stream with its view.
type NoticePlace = (usize, Context, Option<(u64, View)>);

/// The application state.
#[derive(Debug)]
pub struct App {
    /// State that belongs to no feature: settings, keys, preferences, time, profiles, notices.
    pub session: Session,
    /// The deployments and their revisions.
    pub deployments: Deployments,
    /// The agent servers.
    pub agent: Agent,
    /// The draft of a run.
    pub composing: Composing,
    /// The open streams.
    pub stream: StreamState,
    /// The open logs, which cover the stream and the agent server.
    pub logs: Option<LogView>,
    /// Drafts of answers.
    pub thread: Threads,
    /// Drafts of closed editors.
    pub changes: Changes,
    /// The search for an id on all servers, if one is running.
    pub search: Option<Search>,
    /// The page of the inbox with its selection, kept while it is closed.
    closed_inbox: Option<InboxPage>,
    /// When the dashboard started.
    started_at: Timestamp,
    /// The open overlays, bottom first.
    pub overlays: Vec<Overlay>,
    /// The top overlay, once a frame has shown it: the number of overlays, and its kind.
    seen_overlay: Option<(usize, Discriminant<Overlay>)>,
    /// Whether data changed the selection after the last frame.
    is_selection_unseen: bool,
    /// What was shown when a key caused a notice: the number of the notice, and the place.
    notice_place: Option<(u64, NoticePlace)>,
    /// The pane with the focus.
    pub focus: Pane,
    /// Whether the pane with the focus uses the whole screen.
    pub zoom: bool,
    /// Whether the screen is frozen.
    pub frozen: bool,
    /// The filter or search being typed in the footer.
    pub prompt: Option<Prompt>,
    /// The requested record that is still awaited.
    pub pending_record: Option<Described>,
    /// The shown thread, if the inbox opened it.
    from_inbox: Option<ThreadRef>,
    /// The tabs of the last session, and those for the next.
    restore: restore::Restore,
    /// Whether the dashboard should quit.
    pub quit: bool,
    /// The key that opened a preview and would also send it, and until when it doesn't.
    held_key: Option<(Key, Timestamp)>,
}

fn to_stream(effects: Vec<Effect>) -> Vec<Effect> {
    effects
        .into_iter()
        .map(|effect| effect.to(requests::STREAM))
        .collect()
}

impl App {
    /// Creates the initial state. Returns it with the effects to run first.
    pub fn new(
        profiles: &[Profile],
        settings: Settings,
        size: (u16, u16),
        now: Timestamp,
    ) -> (App, Vec<Effect>) {
        let (keymap, problems) = Keymap::new(&settings.keys);
        let states: Vec<ProfileState> = profiles
            .iter()
            .map(|p| ProfileState::new(p, Epoch::default()))
            .collect();
        let list = DeploymentList::new(profiles, &states);
        let warnings = settings.warnings.clone();
        let mut session = Session::new(settings, keymap, states, size, now);
        session.catalog = Catalog::of(profiles);
        let mut app = App {
            session,
            deployments: Deployments::new(list),
            agent: Agent::default(),
            composing: Composing::default(),
            stream: StreamState::default(),
            logs: None,
            thread: Threads::default(),
            changes: Changes::default(),
            search: None,
            closed_inbox: None,
            started_at: now,
            overlays: Vec::new(),
            seen_overlay: None,
            is_selection_unseen: false,
            notice_place: None,
            focus: Pane::Deployments,
            zoom: false,
            frozen: false,
            prompt: None,
            pending_record: None,
            held_key: None,
            from_inbox: None,
            restore: restore::Restore::default(),
            quit: false,
        };
        for text in warnings {
            app.notify(false, text);
        }
        app.report_key_problems(&problems);
        let servers: Vec<ServerRef> = app
            .deployments
            .list
            .rows
            .iter()
            .filter_map(|r| r.server(&app.session.profiles))
            .collect();
        let asked = servers
            .iter()
            .filter(|server| !app.session.is_quiet(server));
        let mut effects: Vec<Effect> = asked.cloned().map(Effect::FetchInfo).collect();
        // One server and no control plane: there is nothing else to choose.
        if let [only] = servers.as_slice()
            && !app.session.profiles.iter().any(|p| p.control_plane)
        {
            effects = app.open_server(only.clone());
        }
        app.sync_inbox();
        app.relayout();
        (app, effects)
    }

    /// Returns whether the stream pane has content: an agent server, a stream or logs.
    pub fn has_stream_pane(&self) -> bool {
        self.agent.server.is_some() || self.viewer().is_some() || self.logs.is_some()
    }

    /// Returns the current stream.
    pub fn viewer(&self) -> Option<&Viewer> {
        self.stream.tabs.shown()
    }

    /// Returns the current stream.
    pub fn viewer_mut(&mut self) -> Option<&mut Viewer> {
        self.stream.tabs.shown_mut()
    }

    /// Returns the thread of the current stream.
    pub(crate) fn shown_thread(&self) -> Option<ThreadView<'_>> {
        Some(self.viewer()?.thread_view(&self.session))
    }

    /// Returns the context that receives keys.
    pub fn context(&self) -> Context {
        self.overlays
            .last()
            .map_or_else(|| self.pane_context(), |top| top.context())
    }

    /// Returns the context of the pane with the focus, ignoring overlays.
    pub fn pane_context(&self) -> Context {
        match self.focus {
            Pane::Deployments => Context::Deployments,
            Pane::Revisions => Context::Revisions,
            Pane::Stream if self.logs.is_some() => Context::Logs,
            Pane::Stream if self.viewer().is_some() => Context::Stream,
            Pane::Stream => Context::Server,
        }
    }

    /// Returns whether a profile is read-only.
    pub fn is_read_only(&self, profile: &str) -> bool {
        self.session.is_read_only(profile)
    }

    /// Ends all recordings. Returns the effects that finish their files.
    pub fn end_recordings(&mut self) -> Vec<Effect> {
        to_stream(self.stream.end_recordings(self.session.now))
    }

    /// Ends all recordings without the events that are not written yet. Returns the effects that finish their files.
    pub fn cut_recordings(&mut self) -> Vec<Effect> {
        to_stream(self.stream.cut_recordings(self.session.now))
    }

    /// Returns the effects that write what recordings received since the last call.
    fn write_recordings(&mut self) -> Vec<Effect> {
        to_stream(self.stream.write_recordings(self.session.now))
    }

    /// Returns the files of streams that are still being written.
    pub fn unfinished_files(&self) -> Vec<PathBuf> {
        self.stream.unfinished_files().cloned().collect()
    }

    /// Shows a notice.
    pub fn notify(&mut self, error: bool, text: impl Into<String>) {
        self.session.notify(error, text);
    }

    /// Hides the notice before a key: the failure of the previous key at once, another one if it was shown long enough to be read.
    fn dismiss_notice(&mut self) {
        let is_of_key = self
            .notice_place
            .as_ref()
            .is_some_and(|(of, _)| *of == self.session.notified);
        match is_of_key
            && self
                .session
                .notice()
                .is_some_and(|notice| notice.error && notice.news.is_none())
        {
            true => self.session.notice_until = None,
            false => self.session.dismiss_read_notice(),
        }
    }

    /// Hides a notice that an earlier key caused, if what it was about is no longer shown. `before`: the number of notices
    /// before the current key.
    fn leave_notice(&mut self, before: u64) {
        let number = self.session.notified;
        let place = (
            self.overlays.len(),
            self.context(),
            self.viewer().map(|viewer| (viewer.id, viewer.view())),
        );
        match self.notice_place {
            _ if number != before => self.notice_place = Some((number, place)),
            Some((of, at)) if of == number && at != place && !self.session.shows_news() => {
                self.session.notice_until = None;
            }
            _ => {}
        }
    }

    /// Reports all problems of the configured keys in one notice.
    fn report_key_problems(&mut self, problems: &[String]) {
        match problems {
            [] => {}
            [problem] => self.notify(true, problem),
            several => {
                let text = format!(
                    "[keys] {} problems; see :keys\n{}",
                    several.len(),
                    several.join("\n")
                );
                self.notify(true, text);
            }
        }
    }

    /// Returns the notice that the footer shows.
    pub fn notice(&self) -> Option<&Notification> {
        self.session.notice()
    }

    /// Returns the completions of a command line.
    pub fn offers(&self, text: &str) -> Vec<palette::Completion> {
        palette::offers(self, text)
    }

    /// Explains why a command line has no completions, and suggests what was probably meant.
    pub fn no_completion(&self, text: &str) -> String {
        palette::no_completion(self, text)
    }

    /// Returns the revisions of the selected deployment.
    pub fn history(&self) -> Option<&RevisionHistory> {
        self.deployments.history()
    }
}
