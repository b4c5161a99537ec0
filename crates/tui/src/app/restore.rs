//! Opens the tabs of the last session again, and keeps the open ones for the next (`[ui] restore`). Restoring only reads.
//!
//! A saved tab is an id and a server. It opens in the background once its server is known: at the start, or when the list of its
//! profile arrives. What can't be found is one notice.

use super::{App, Pane};
use crate::features::stream::tabs::MAX_TABS;
use crate::features::stream::viewer::{ConnectionState, Viewer};
use crate::features::stream::views::View;
use crate::session::Session;
use crate::session::msg::{Effect, ServerRef, StreamTarget};
use crate::session::saved_tabs::{
    MAX_SAVED, SavedPlace, SavedServer, SavedTab, SavedTabs, Scope, TabsFile,
};
use jiff::{SignedDuration, Timestamp};
use runtail_core::model::ThreadStatus;
use runtail_core::text::{clean, short_id};
use runtail_stream::{SnapshotPart, Target};
use std::time::Duration;
use url::Url;

/// Minimum time between two comparisons of the open tabs with the saved ones.
const INTERVAL: SignedDuration = SignedDuration::from_secs(2);

/// The tabs of the last session, and those that were saved last.
#[derive(Debug, Default)]
pub(super) struct Restore {
    /// Where tabs are kept; `None` if this session has none to keep: the demo, and the replay of a recording.
    file: Option<TabsFile>,
    /// The saved tabs that are not open, with their indexes: their servers are not known yet, or their profiles not in use.
    pending: Vec<(usize, SavedTab)>,
    /// The server whose lists were open, until it is known.
    lists: Option<SavedServer>,
    /// What the last session showed, until it is shown or the user does something.
    place: Option<SavedPlace>,
    /// The restored streams of which it is not known yet whether their threads exist.
    unchecked: Vec<u64>,
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
        let saved = match saved {
            Ok(saved) => saved.unwrap_or_default(),
            Err(why) => {
                // The file may be that of a newer version, so it is left as it is.
                let path = file.path.display().to_string();
                let text = "This session's tabs aren't saved. Delete the file to save tabs again.";
                self.notify(
                    false,
                    format!(
                        "Couldn't restore the last tabs: {why}\n  {}\n  {text}",
                        clean(&path)
                    ),
                );
                return Vec::new();
            }
        };
        if let Some(word) = &saved.thread_order {
            self.agent.set_order(word);
        }
        self.restore.file = Some(file);
        self.restore.pending = saved.tabs.iter().cloned().enumerate().collect();
        self.restore.lists = saved.lists.clone();
        self.restore.place = Some(saved.current);
        self.restore.saved = saved;
        self.open_pending(None)
    }

    /// Opens the saved tabs whose servers are known now. `listed`: a profile whose list has arrived completely.
    pub(super) fn open_pending(&mut self, listed: Option<&str>) -> Vec<Effect> {
        if self.restore.pending.is_empty() && self.restore.lists.is_none() {
            self.report_problems();
            return Vec::new();
        }
        // Which servers are quiet is noted there.
        self.sync_inbox();
        let mut effects = Vec::new();
        for (index, tab) in std::mem::take(&mut self.restore.pending) {
            let opened = match self.locate(&tab.server, listed) {
                Ok(None) => {
                    self.restore.pending.push((index, tab));
                    continue;
                }
                Ok(Some(server)) => self.open_saved(index, &tab, server),
                Err(why) => Err(why),
            };
            if let Err(why) = opened {
                let (place, thread) = (
                    server_name(&self.session, &tab.server),
                    short_id(&tab.thread),
                );
                self.restore
                    .problems
                    .push(format!("{place} › thread {thread}: {why}"));
            }
        }
        if let Some(lists) = self.restore.lists.take() {
            match self.locate(&lists, listed) {
                Ok(None) => self.restore.lists = Some(lists),
                Ok(Some(server)) => effects.extend(self.open_saved_lists(server)),
                Err(why) => {
                    let name = server_name(&self.session, &lists);
                    self.restore.problems.push(format!("{name}: {why}"));
                }
            }
        }
        effects.extend(self.fetch_missing_infos());
        self.report_problems();
        effects
    }

    /// Finds a saved server. `None` if it is not known yet, or belongs to a profile that is not in use.
    ///
    /// # Errors
    /// Says why there is no such server.
    fn locate(
        &self,
        saved: &SavedServer,
        listed: Option<&str>,
    ) -> Result<Option<ServerRef>, String> {
        let rows = &self.deployments.list.rows;
        let scope = self.restore.file.as_ref().map(|file| file.scope);
        let (Some(profile), true) = (&saved.profile, scope != Some(Scope::Address)) else {
            let is_same = |server: &ServerRef| {
                scope == Some(Scope::Address)
                    && saved.profile.is_none()
                    && address(server).as_deref() == Some(&*saved.server)
            };
            let mut servers = rows
                .iter()
                .filter_map(|row| row.server(&self.session.profiles));
            return Ok(servers.find(is_same));
        };
        if let Some(row) = rows
            .iter()
            .find(|row| *row.profile_name == **profile && row.name == saved.server)
        {
            // A new deployment has no address yet.
            return Ok(row.server(&self.session.profiles));
        }
        match self.session.profile(profile) {
            _ if scope == Some(Scope::OneServer) => Ok(None),
            Some(state) if state.control_plane && listed != Some(profile) => Ok(None),
            None if self.session.catalog.known(profile).is_some() => Ok(None),
            Some(_) => Err(format!("{} is no longer listed", clean(&saved.server))),
            None => Err("no such profile".into()),
        }
    }

    /// Opens a saved tab in the background, or shows it if the last session did and the user has done nothing since.
    fn open_saved(
        &mut self,
        index: usize,
        tab: &SavedTab,
        server: ServerRef,
    ) -> Result<(), String> {
        let thread = tab.thread.clone();
        let target = match tab.run.clone() {
            Some(run) => StreamTarget::Join { thread, run },
            None => StreamTarget::Tail { thread },
        };
        let shown = self.stream.tabs.at();
        let at = match self.stream.tabs.find(&server, &target) {
            // Kept tabs of a profile that was used later may be there twice.
            Some(at) => at,
            None if self.stream.tabs.all().len() >= MAX_TABS => {
                return Err(format!("{MAX_TABS} streams are open"));
            }
            None => {
                let mut viewer = self.stream.new_viewer(&self.session, server, target);
                let view = View::named(&tab.view).unwrap_or(View::Messages);
                viewer.show(view);
                let second = tab.second_view.as_deref().and_then(View::named);
                if let Some(second) = second.filter(|second| *second != view) {
                    viewer.show_beside(second);
                }
                viewer.is_asleep = self.session.is_quiet(&viewer.server);
                if !viewer.is_asleep {
                    self.restore.unchecked.push(viewer.id);
                }
                self.stream.tabs.add(viewer);
                self.stream.tabs.all().len() - 1
            }
        };
        let is_current = self.restore.place == Some(SavedPlace::Tab(index));
        if is_current {
            (self.restore.place, self.focus) = (None, Pane::Stream);
        }
        self.stream
            .tabs
            .set_shown(if is_current { Some(at) } else { shown });
        Ok(())
    }

    fn open_saved_lists(&mut self, server: ServerRef) -> Vec<Effect> {
        if self.session.is_quiet(&server) {
            let place = self.session.place(&server);
            self.restore
                .problems
                .push(format!("{place}: asked only when opened"));
            return Vec::new();
        }
        if self.restore.place == Some(SavedPlace::Lists) {
            (self.restore.place, self.focus) = (None, Pane::Stream);
        }
        match self.agent.server {
            // Those of the only server, or others that the user has opened.
            Some(_) => Vec::new(),
            None => self.open_behind(server),
        }
    }

    /// Leaves what is shown as it is from now on, because the user has done something.
    pub(super) fn stay_here(&mut self) {
        self.restore.place = None;
    }

    pub(super) fn fetch_missing_infos(&self) -> Vec<Effect> {
        let servers = self
            .stream
            .tabs
            .all()
            .iter()
            .filter(|viewer| !viewer.is_asleep);
        let mut servers: Vec<ServerRef> = servers.map(|viewer| viewer.server.clone()).collect();
        servers.sort();
        servers.dedup();
        servers.retain(|server| !self.session.infos.contains_key(server));
        servers.into_iter().map(Effect::FetchInfo).collect()
    }

    /// Checks whether the thread of a restored stream exists. If not, closes the stream, unless it is shown: its page says why, and
    /// must not disappear while keys are pressed on it.
    pub(super) fn check_restored(&mut self, id: u64) {
        if !self.restore.unchecked.contains(&id) {
            return;
        }
        if let Some(viewer) = self.stream.tabs.get_mut(id) {
            if is_missing(viewer) {
                let thread = viewer
                    .thread_id
                    .as_deref()
                    .map(short_id)
                    .unwrap_or_default();
                let place = self.session.place(&viewer.server);
                self.restore
                    .problems
                    .push(format!("{place} › thread {thread}: not found"));
                if self.focus != Pane::Stream || self.stream.tabs.shown().is_none_or(|v| v.id != id)
                {
                    self.stream.tabs.close_except(|viewer| viewer.id != id);
                }
            } else if !is_known(viewer) {
                return;
            }
        }
        self.restore.unchecked.retain(|unchecked| *unchecked != id);
        self.report_problems();
    }

    /// Reports what could not be restored, once nothing else is loading.
    fn report_problems(&mut self) {
        let open = self.stream.tabs.all();
        self.restore
            .unchecked
            .retain(|id| open.iter().any(|viewer| viewer.id == *id));
        let saved = self.restore.pending.iter().map(|(_, tab)| &tab.server);
        let mut profiles = saved
            .chain(&self.restore.lists)
            .filter_map(|server| self.session.profile(server.profile.as_deref()?));
        if !self.restore.unchecked.is_empty()
            || profiles.any(|state| state.is_first_load || state.last_check.is_none())
        {
            return;
        }
        let problems = std::mem::take(&mut self.restore.problems);
        match problems.as_slice() {
            [] => {}
            [one] => self.notify(false, format!("Couldn't restore {one}.")),
            several => {
                let lines: String = several.iter().map(|why| format!("\n  {why}")).collect();
                let n = several.len();
                self.notify(false, format!("Couldn't restore {n} tabs.{lines}"));
            }
        }
    }

    /// Returns the open tabs, as the next session opens them.
    fn open_tabs(&self) -> SavedTabs {
        let (restore, shown) = (&self.restore, self.stream.tabs.shown());
        // A stream that is not saved has the lists behind it.
        let mut current = match (self.focus, &self.agent.server) {
            (Pane::Stream, Some(_)) => SavedPlace::Lists,
            _ => SavedPlace::Deployments,
        };
        let mut tabs: Vec<SavedTab> = Vec::new();
        for viewer in self.stream.tabs.all() {
            if let Some(tab) = self.saved_tab(viewer) {
                if self.focus == Pane::Stream && shown.is_some_and(|shown| shown.id == viewer.id) {
                    current = SavedPlace::Tab(tabs.len());
                }
                tabs.push(tab);
            }
        }
        for (index, tab) in &restore.pending {
            if restore.place == Some(SavedPlace::Tab(*index)) {
                current = SavedPlace::Tab(tabs.len());
            }
            tabs.push(tab.clone());
        }
        tabs.truncate(MAX_SAVED);
        if restore.place == Some(SavedPlace::Lists) {
            current = SavedPlace::Lists;
        }
        let open = self.agent.server.as_ref();
        let open = open.map(|open| self.saved_server(&open.server));
        SavedTabs::new(tabs, open.or(restore.lists.clone()), current)
            .with_thread_order(self.agent.order_word())
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

/// Returns a server's address, without a user, a password or a query.
fn address(server: &ServerRef) -> Option<String> {
    let url = Url::parse(&server.url).ok()?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    (is_plain && url.query().is_none() && url.fragment().is_none()).then(|| url.to_string())
}

/// Names a saved server: `us › support-bot`.
fn server_name(session: &Session, of: &SavedServer) -> String {
    let profile = of.profile.as_deref();
    let region = profile.map(|name| session.profile(name).map_or(name, |profile| profile.tag()));
    let region = region
        .map(|region| format!("{} › ", clean(region)))
        .unwrap_or_default();
    format!("{region}{}", clean(&of.server))
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
    let status = &viewer.present().status;
    let is_answered = status.thread().is_some()
        || status
            .missing()
            .iter()
            .any(|(part, _)| *part == SnapshotPart::Thread);
    failed || is_answered
}
