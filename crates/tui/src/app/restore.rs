//! Opens the tabs of the last session again, and keeps the open ones for the next (`[ui] restore`). Restoring only reads.
//!
//! A tab is there from the first frame on, so that no key meets another screen than the one it was pressed on. Where the address
//! of its server is known only from the list of its profile, it waits for that list.

use super::{App, Pane};
use crate::features::stream::tabs::MAX_TABS;
use crate::features::stream::viewer::{ConnectionState, VIEWS, View, Viewer};
use crate::session::Session;
use crate::session::msg::{Effect, ServerRef, StreamTarget};
use crate::session::saved_tabs::{
    MAX_SAVED, SavedPlace, SavedServer, SavedTab, SavedTabs, Scope, TabsFile,
};
use jiff::{SignedDuration, Timestamp};
use runtail_api::{ApiError, Kind};
use runtail_core::model::ThreadStatus;
use runtail_core::text::{clean, short_id};
use runtail_stream::{SnapshotPart, Target};
use std::time::Duration;
use url::Url;

/// Why the lists of a server are not restored.
const ONLY_OPEN: &str = "it is asked only when you open it";
/// Minimum time between two comparisons of the open tabs with the saved ones.
const INTERVAL: SignedDuration = SignedDuration::from_secs(2);

/// The tabs of the last session, and those that were saved last.
#[derive(Debug, Default)]
pub(super) struct Restore {
    /// Where tabs are kept; `None` if this session has none to keep: the demo, and the replay of a recording.
    file: Option<TabsFile>,
    /// The saved tabs of profiles that are not in use, which are saved again.
    carried: Vec<SavedTab>,
    /// The restored streams of which it is not known yet whether their threads exist.
    awaited: Vec<u64>,
    /// Why tabs could not be restored, each with its name.
    problems: Vec<String>,
    /// The tabs that were saved last, and how often.
    saved: SavedTabs,
    number: u64,
    /// When the open tabs were last compared with the saved ones.
    checked_at: Option<Timestamp>,
    /// Whether something may have changed since.
    is_dirty: bool,
    /// Whether it was reported that saving failed.
    has_failed: bool,
}

impl App {
    /// Sets where tabs are kept, and opens those of the last session. Returns the effects to run.
    pub fn restore(
        &mut self,
        file: TabsFile,
        saved: Result<Option<SavedTabs>, String>,
    ) -> Vec<Effect> {
        if self.session.profiles.is_empty() {
            // On the first-run screen, the saved tabs would all look like those of removed profiles.
            return Vec::new();
        }
        let path = clean(&file.path.display().to_string()).into_owned();
        self.restore.file = Some(file);
        match saved {
            Ok(Some(saved)) => self.open_saved(saved),
            Ok(None) => Vec::new(),
            Err(why) => {
                // The file may be that of a newer version, so it is left as it is.
                self.restore.file = None;
                let text = "The file stays as it is, and the tabs of this session are not saved. Delete it to save them again.";
                self.notify(
                    false,
                    format!(
                        "Couldn't restore the tabs of the last session: {why}\n  {path}\n  {text}"
                    ),
                );
                Vec::new()
            }
        }
    }

    fn open_saved(&mut self, saved: SavedTabs) -> Vec<Effect> {
        // The number of each saved tab that is open now.
        let mut opened: Vec<Option<u64>> = Vec::new();
        for tab in &saved.tabs {
            opened.push(self.open_saved_tab(tab));
        }
        if let Some(word) = &saved.thread_order {
            self.agent.set_order(word);
        }
        self.stream.tabs.hide();
        let mut effects = self.fetch_missing_infos();
        let lists = saved
            .lists
            .as_ref()
            .and_then(|lists| self.locate(lists).ok().flatten());
        if let Some(server) = lists.filter(|server| self.may_open_lists(server)) {
            effects.extend(self.open_saved_lists(server));
        }
        match saved.current {
            SavedPlace::Deployments => {}
            SavedPlace::Lists if self.agent.server.is_some() => self.focus = Pane::Stream,
            SavedPlace::Lists => {}
            SavedPlace::Tab(at) => {
                let id = opened.get(at).copied().flatten();
                if let Some(at) = self
                    .stream
                    .tabs
                    .all()
                    .iter()
                    .position(|viewer| Some(viewer.id) == id)
                {
                    // Not shown by the user.
                    let is_asleep = self.stream.tabs.all()[at].is_asleep;
                    self.stream.tabs.show(at);
                    self.stream.tabs.all_mut()[at].is_asleep = is_asleep;
                    self.focus = Pane::Stream;
                }
            }
        }
        self.restore.saved = saved;
        self.check_restored(None);
        effects
    }

    /// Opens a saved tab in the background. Returns its number, if this session can have it.
    fn open_saved_tab(&mut self, tab: &SavedTab) -> Option<u64> {
        let server = match self.locate(&tab.server) {
            Ok(Some(server)) => server,
            Ok(None) => {
                self.restore.carried.push(tab.clone());
                return None;
            }
            Err(why) => {
                self.restore
                    .problems
                    .push(format!("{}: {why}", tab_name(&self.session, tab)));
                return None;
            }
        };
        if self.stream.tabs.all().len() >= MAX_TABS {
            self.restore.problems.push(format!(
                "{}: {MAX_TABS} streams are open",
                tab_name(&self.session, tab)
            ));
            return None;
        }
        let target = match &tab.run {
            Some(run) => StreamTarget::Join {
                thread: tab.thread.clone(),
                run: run.clone(),
            },
            None => StreamTarget::Tail {
                thread: tab.thread.clone(),
            },
        };
        // Kept tabs of a profile that was used later may be there twice.
        if let Some(at) = self.stream.tabs.find(&server, &target) {
            return Some(self.stream.tabs.all()[at].id);
        }
        let mut viewer = self.stream.new_viewer(&self.session, server, target);
        viewer.is_asleep = !viewer.server.has_address() || self.session.is_quiet(&viewer.server);
        let view = view_of(&tab.view).unwrap_or(View::Messages);
        viewer.show(view);
        if let Some(second) = tab
            .second_view
            .as_deref()
            .and_then(view_of)
            .filter(|second| *second != view)
        {
            viewer.show_beside(second);
        }
        let id = viewer.id;
        self.stream.tabs.add(viewer);
        self.restore.awaited.push(id);
        Some(id)
    }

    /// Finds a saved server. `None` if it belongs to a profile that is not in use; without an address if that is not known yet.
    ///
    /// # Errors
    /// Says why there is no such server.
    fn locate(&self, saved: &SavedServer) -> Result<Option<ServerRef>, String> {
        let scope = self
            .restore
            .file
            .as_ref()
            .map_or(Scope::Profiles, |file| file.scope);
        let rows = || {
            self.deployments
                .list
                .rows
                .iter()
                .filter_map(|row| row.server(&self.session.profiles))
        };
        let (profile, name) = match (&saved.profile, scope) {
            (None, Scope::Address) => {
                return Ok(rows().find(|server| address(server).as_deref() == Some(&*saved.server)));
            }
            (None, _) | (_, Scope::Address) => return Ok(None),
            (Some(profile), _) => (profile, &saved.server),
        };
        let known = rows().find(|server| *server.profile == **profile && *server.name == **name);
        match (known, self.session.profile(profile), scope) {
            (Some(server), ..) => Ok(Some(server)),
            (None, _, Scope::OneServer) => Ok(None),
            (None, Some(state), _) if state.control_plane => Ok(Some(ServerRef {
                profile: state.name.clone(),
                name: name.as_str().into(),
                url: "".into(),
            })),
            (None, Some(_), _) => Err(no_server(name)),
            (None, None, _) if self.session.catalog.known(profile).is_some() => Ok(None),
            (None, None, _) => Err("the configuration has no such profile".into()),
        }
    }

    fn open_saved_lists(&mut self, server: ServerRef) -> Vec<Effect> {
        if server.has_address() {
            return self.open_behind(server);
        }
        // The lists of the only server may be open already.
        self.agent.await_server(server);
        Vec::new()
    }

    /// Returns whether the lists of a server may be read without a key of the user. Notes why not.
    fn may_open_lists(&mut self, server: &ServerRef) -> bool {
        let is_quiet = self.session.is_quiet(server);
        if is_quiet {
            self.restore
                .problems
                .push(format!("{}: {ONLY_OPEN}", self.session.place(server)));
        }
        !is_quiet
    }

    pub(super) fn fetch_missing_infos(&self) -> Vec<Effect> {
        let servers = self
            .stream
            .tabs
            .all()
            .iter()
            .filter(|viewer| !viewer.is_asleep)
            .map(|viewer| &viewer.server);
        let mut servers: Vec<ServerRef> = servers
            .filter(|server| server.has_address())
            .cloned()
            .collect();
        servers.sort();
        servers.dedup();
        servers.retain(|server| !self.session.infos.contains_key(server));
        servers.into_iter().map(Effect::FetchInfo).collect()
    }

    /// Fills in the addresses of restored servers, after a part of a profile's list arrived. `end`: whether the list has all
    /// deployments, if this was its last part.
    pub(super) fn locate_restored(&mut self, profile: &str, end: Option<bool>) -> Vec<Effect> {
        let is_complete = end == Some(true);
        let waits = |server: &ServerRef| *server.profile == *profile && !server.has_address();
        let lists = self
            .agent
            .server
            .as_ref()
            .map(|open| open.server.clone())
            .filter(waits);
        if lists.is_none()
            && !self
                .stream
                .tabs
                .all()
                .iter()
                .any(|viewer| waits(&viewer.server))
        {
            return Vec::new();
        }
        // The inbox knows which servers are asked only while they are open.
        self.sync_inbox();
        let rows = self
            .deployments
            .list
            .rows
            .iter()
            .filter(|row| *row.profile_name == *profile);
        let listed: Vec<(String, Option<ServerRef>)> = rows
            .map(|row| (row.name.clone(), row.server(&self.session.profiles)))
            .collect();
        let find = |name: &str| {
            listed
                .iter()
                .find(|(listed, _)| listed == name)
                .map(|(_, server)| server.clone())
        };
        let mut effects = Vec::new();
        let mut gone = Vec::new();
        for viewer in self
            .stream
            .tabs
            .all_mut()
            .iter_mut()
            .filter(|viewer| waits(&viewer.server))
        {
            match find(&viewer.server.name) {
                Some(Some(server)) => {
                    viewer.is_asleep &= self.session.is_quiet(&server);
                    viewer.server = server;
                    // It may have had no address when the list ended first.
                    if !self.restore.awaited.contains(&viewer.id) {
                        self.restore.awaited.push(viewer.id);
                    }
                }
                None if is_complete => gone.push((viewer.id, no_server(&viewer.server.name))),
                _ => {}
            }
        }
        match lists.as_ref().and_then(|lists| find(&lists.name)) {
            Some(Some(server)) if self.session.is_quiet(&server) => self.miss_lists(ONLY_OPEN),
            Some(Some(server)) => {
                if let Some(open) = &mut self.agent.server {
                    open.server = server.clone();
                }
                effects.push(Effect::FetchInfo(server.clone()));
                effects.push(Effect::FetchAssistants(server));
            }
            None if is_complete => {
                if let Some(lists) = &lists {
                    self.miss_lists(&no_server(&lists.name));
                }
            }
            _ => {}
        }
        effects.extend(self.fetch_missing_infos());
        for (id, why) in gone {
            self.miss(id, &why);
        }
        if end.is_some() {
            // Those without an address wait in their tabs: their deployments are not listed yet, or have no address yet.
            let open = self.stream.tabs.all();
            let is_waiting = |id: &u64| {
                open.iter()
                    .any(|viewer| viewer.id == *id && waits(&viewer.server))
            };
            self.restore.awaited.retain(|id| !is_waiting(id));
        }
        self.check_restored(None);
        effects
    }

    /// Closes the lists of a server that can't be restored, or says so on their page if that is shown.
    fn miss_lists(&mut self, why: &str) {
        let Some(open) = &mut self.agent.server else {
            return;
        };
        let name = self.session.place(&open.server);
        self.restore.problems.push(format!("{name}: {why}"));
        let is_shown = self.focus == Pane::Stream && self.stream.tabs.at().is_none();
        match is_shown {
            true => open.threads.error = Some(gone_error(why)),
            false => self.agent.server = None,
        }
    }

    /// Closes a restored stream that can't be resumed, or says so on its page if that is shown: a page must not disappear while
    /// keys are pressed on it.
    fn miss(&mut self, id: u64, why: &str) {
        self.restore.awaited.retain(|awaited| *awaited != id);
        let shown = self.stream.tabs.shown();
        let is_shown = self.focus == Pane::Stream && shown.is_some_and(|viewer| viewer.id == id);
        let Some(viewer) = self.stream.tabs.get_mut(id) else {
            return;
        };
        self.restore
            .problems
            .push(format!("{}: {why}", stream_name(&self.session, viewer)));
        if !is_shown {
            self.stream.tabs.close_except(|viewer| viewer.id != id);
        } else if !viewer.server.has_address() {
            viewer.connection = ConnectionState::Failed(gone_error(why));
        }
    }

    /// Checks which restored streams can be resumed, and reports once which can't. `only`: the stream with news.
    pub(super) fn check_restored(&mut self, only: Option<u64>) {
        if self.restore.awaited.is_empty() && self.restore.problems.is_empty() {
            return;
        }
        let mut missing = Vec::new();
        for id in self.restore.awaited.clone() {
            if only.is_some_and(|only| only != id) {
                continue;
            }
            let Some(viewer) = self.stream.tabs.get_mut(id) else {
                self.restore.awaited.retain(|awaited| *awaited != id);
                continue;
            };
            if is_missing(viewer) {
                missing.push(id);
            } else if is_known(viewer) {
                self.restore.awaited.retain(|awaited| *awaited != id);
            }
        }
        for id in missing {
            self.miss(id, "the thread no longer exists");
        }
        if self.restore.awaited.is_empty() {
            self.report_problems();
        }
    }

    fn report_problems(&mut self) {
        let problems = std::mem::take(&mut self.restore.problems);
        match problems.as_slice() {
            [] => {}
            [one] => self.notify(false, format!("Couldn't restore {one}.")),
            several => {
                let lines: String = several
                    .iter()
                    .map(|problem| format!("\n  {problem}"))
                    .collect();
                self.notify(
                    false,
                    format!("Couldn't restore {} tabs.{lines}", several.len()),
                );
            }
        }
    }

    /// Returns the open tabs, as the next session opens them.
    fn open_tabs(&self) -> SavedTabs {
        let mut tabs: Vec<SavedTab> = Vec::new();
        // The streams in the file, by their numbers in this session.
        let mut ids: Vec<u64> = Vec::new();
        for viewer in self.stream.tabs.all() {
            if let Some(tab) = self.saved_tab(viewer) {
                tabs.push(tab);
                ids.push(viewer.id);
            }
        }
        let place = |id: u64| ids.iter().position(|known| *known == id);
        tabs.extend(self.restore.carried.iter().cloned());
        tabs.truncate(MAX_SAVED);
        let lists = self
            .agent
            .server
            .as_ref()
            .map(|open| self.saved_server(&open.server));
        let shown = self
            .stream
            .tabs
            .at()
            .and_then(|at| self.stream.tabs.all().get(at));
        // A stream that is not saved has the lists behind it.
        let current = match (self.focus, shown.and_then(|viewer| place(viewer.id))) {
            (Pane::Stream, Some(at)) => SavedPlace::Tab(at),
            (Pane::Stream, None) if lists.is_some() => SavedPlace::Lists,
            _ => SavedPlace::Deployments,
        };
        SavedTabs::new(tabs, lists, current).with_thread_order(self.agent.order_word())
    }

    /// Returns a stream as it is saved: not one that was only looked at, has no thread on a server, or is gone.
    fn saved_tab(&self, viewer: &Viewer) -> Option<SavedTab> {
        let (thread, run) = match &viewer.target {
            StreamTarget::Tail { thread } => (thread.clone(), None),
            StreamTarget::Join { thread, run } => (thread.clone(), Some(run.clone())),
            StreamTarget::Start {
                on: Target::Stateless,
                ..
            }
            | StreamTarget::Recording { .. } => return None,
            StreamTarget::Start { .. } => (viewer.thread_id.clone()?, Some(viewer.run_id.clone()?)),
        };
        if viewer.is_preview || is_missing(viewer) {
            return None;
        }
        let word = |view: View| view.title().to_lowercase();
        Some(SavedTab {
            server: self.saved_server(&viewer.server),
            thread,
            run,
            view: word(viewer.view()),
            second_view: viewer.split.then(|| word(viewer.partner())),
        })
    }

    fn saved_server(&self, server: &ServerRef) -> SavedServer {
        let is_address = self
            .restore
            .file
            .as_ref()
            .is_some_and(|file| file.scope == Scope::Address);
        match address(server).filter(|_| is_address) {
            Some(address) => SavedServer {
                profile: None,
                server: address,
            },
            None => SavedServer {
                profile: Some(server.profile.to_string()),
                server: server.name.to_string(),
            },
        }
    }

    /// Returns whether this session keeps its tabs.
    fn keeps_tabs(&self) -> bool {
        let has_servers = !self.session.settings.demo && !self.session.profiles.is_empty();
        self.session.prefs.restore && self.restore.file.is_some() && has_servers
    }

    /// Notes that the open tabs may have changed.
    pub(super) fn touch_tabs(&mut self) {
        self.restore.is_dirty = true;
    }

    /// Returns the effect that saves the open tabs, if they have changed. Compares them only every few seconds.
    pub(super) fn save_tabs(&mut self) -> Option<Effect> {
        let now = self.session.now;
        let is_recent = |at: Timestamp| now.duration_since(at).abs() < INTERVAL;
        if !self.restore.is_dirty
            || self.restore.checked_at.is_some_and(is_recent)
            || !self.keeps_tabs()
        {
            return None;
        }
        self.restore.checked_at = Some(now);
        self.restore.is_dirty = false;
        self.changed_tabs()
            .map(|(file, number, tabs)| Effect::SaveTabs(file.path, number, Box::new(tabs)))
    }

    /// Returns the tabs to write when the dashboard ends, also those whose write has begun: its task may not have run yet.
    pub fn tabs_at_end(&mut self) -> Option<(TabsFile, u64, SavedTabs)> {
        self.changed_tabs().or_else(|| {
            let file = self
                .restore
                .file
                .clone()
                .filter(|_| self.restore.number > 0 && self.keeps_tabs())?;
            Some((file, self.restore.number, self.restore.saved.clone()))
        })
    }

    /// Returns the open tabs with their number if they differ from the saved ones, which they then are.
    fn changed_tabs(&mut self) -> Option<(TabsFile, u64, SavedTabs)> {
        let file = self.restore.file.clone().filter(|_| self.keeps_tabs())?;
        let tabs = self.open_tabs();
        if tabs == self.restore.saved {
            return None;
        }
        self.restore.saved = tabs.clone();
        self.restore.number += 1;
        Some((file, self.restore.number, tabs))
    }

    /// Reports that saving the tabs failed, once.
    pub(super) fn on_tabs_saved(&mut self, result: Result<(), String>) {
        match result {
            Ok(()) => self.restore.has_failed = false,
            Err(why) => {
                if !std::mem::replace(&mut self.restore.has_failed, true) {
                    self.notify(
                        true,
                        format!("Couldn't save the open tabs: {}", clean(&why)),
                    );
                }
            }
        }
    }

    /// Returns the time until the open tabs are compared with the saved ones.
    pub(super) fn save_tick(&self) -> Option<Duration> {
        let due = self.restore.checked_at.map_or(SignedDuration::ZERO, |at| {
            INTERVAL - self.session.now.duration_since(at)
        });
        (self.restore.is_dirty && self.keeps_tabs())
            .then(|| Duration::try_from(due).unwrap_or_default())
    }
}

fn view_of(word: &str) -> Option<View> {
    VIEWS
        .iter()
        .copied()
        .find(|view| view.title().eq_ignore_ascii_case(word))
}

/// Returns a server's address, without a user, a password or a query.
fn address(server: &ServerRef) -> Option<String> {
    let url = Url::parse(&server.url).ok()?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    (is_plain && url.query().is_none() && url.fragment().is_none()).then(|| url.to_string())
}

/// Names a saved tab: `us › support-bot › thread 01a1…9775`.
fn tab_name(session: &Session, tab: &SavedTab) -> String {
    let profile = tab.server.profile.as_deref();
    let region = profile.map(|name| session.profile(name).map_or(name, |profile| profile.tag()));
    let region = region
        .map(|region| format!("{} › ", clean(region)))
        .unwrap_or_default();
    format!(
        "{region}{} › thread {}",
        clean(&tab.server.server),
        short_id(&tab.thread)
    )
}

fn stream_name(session: &Session, viewer: &Viewer) -> String {
    let id = viewer
        .thread_id
        .as_deref()
        .map(short_id)
        .unwrap_or_default();
    format!("{} › thread {id}", session.place(&viewer.server))
}

fn no_server(name: &str) -> String {
    format!("{} is no longer listed", clean(name))
}

fn gone_error(why: &str) -> ApiError {
    ApiError {
        kind: Kind::NotFound,
        at: runtail_api::Place::default(),
        detail: why.to_string(),
        hint: None,
    }
}

/// Returns whether the server says that a stream's thread doesn't exist.
fn is_missing(viewer: &Viewer) -> bool {
    let is_gone =
        matches!(&viewer.connection, ConnectionState::Failed(error) if error.status() == Some(404));
    is_gone || *viewer.thread_status() == ThreadStatus::Deleted
}

/// Returns whether the server answered for the thread itself, or could not be reached. Other records may come before the thread's.
fn is_known(viewer: &Viewer) -> bool {
    let failed = matches!(
        viewer.connection,
        ConnectionState::Failed(_) | ConnectionState::Retrying { .. }
    );
    let is_unasked = viewer.is_asleep && viewer.server.has_address();
    let status = &viewer.present().status;
    let is_answered = status.thread().is_some()
        || status
            .missing()
            .iter()
            .any(|(part, _)| *part == SnapshotPart::Thread);
    failed || is_unasked || is_answered
}
