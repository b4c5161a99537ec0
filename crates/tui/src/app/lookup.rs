//! Implements [`Lookup`]: the facts that features read from each other.

use super::overlay::SCREENS;
use super::{App, Overlay, Pane, bars};
use crate::features::inbox::{row_columns, row_lines};
use crate::features::stream::export::proposed_path;
use crate::features::stream::formats::Format;
use crate::features::stream::tab_bar;
use crate::features::stream::viewer::Viewer;
use crate::features::stream::views::VIEWS;
use crate::input::action::Context;
use crate::input::commands::Commands;
use crate::session::Lookup;
use crate::session::compare::SideRef;
use crate::session::destination::ArgumentKind;
use crate::session::msg::{RevisionRef, ServerRef, StreamTarget, ThreadRef};
use crate::session::profile::{Health, ProfileState};
use crate::session::thread::{ModesView, Offers, ThreadView};
use crate::session::threads_known::ThreadsKnown;
use crate::widgets::line::Line;
use runtail_api::ApiError;
use runtail_core::model::{Assistant, KnownRevisions, Revision, Run, Thread, ThreadStatus};
use runtail_core::text::{self, short_id};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A name and a note.
type Named = (String, String);

impl App {
    /// Returns the numbers of the open streams, each with its server and id.
    fn numbered_streams(&self) -> impl Iterator<Item = Named> {
        let note = |v: &Viewer| {
            let id = v
                .run_id
                .as_deref()
                .or(v.thread_id.as_deref())
                .map(short_id)
                .unwrap_or_default();
            format!("{} {id}", v.server.name)
        };
        self.stream
            .tabs
            .all()
            .iter()
            .enumerate()
            .map(move |(n, v)| ((n + 1).to_string(), note(v)))
    }

    fn deployment_names(&self) -> Vec<Named> {
        let rows = &self.deployments.list.rows;
        let mut counts: HashMap<&str, usize> = HashMap::new();
        rows.iter()
            .for_each(|row| *counts.entry(&row.name).or_default() += 1);
        let name = |row: &crate::features::deployments::list::Row| match counts.get(&*row.name) {
            Some(count) if *count > 1 => format!("{}/{}", row.profile_name, row.name),
            _ => row.name.clone(),
        };
        rows.iter()
            .map(|row| (name(row), format!("{} {}", row.profile_name, row.tag)))
            .collect()
    }
}

/// Names a thread by its id.
fn named(id: &str) -> String {
    format!("thread {}", short_id(id))
}

impl Lookup for App {
    fn page_status(&self, thread: &ThreadRef) -> Option<ThreadStatus> {
        let page = self.stream.tabs.pages(thread).find(|page| page.is_open());
        page.map(|page| page.thread_status().clone())
    }

    fn page_state_keys(&self, thread: &ThreadRef) -> Option<Vec<Arc<str>>> {
        let page = self.stream.tabs.pages(thread).find(|page| page.is_open());
        page?.projections.values.keys_with_value()
    }

    fn is_in_inbox(&self, thread: &ThreadRef) -> Option<bool> {
        self.inbox.lists(thread)
    }

    fn needs(&self, server: &ServerRef, width: usize) -> Option<Vec<Line>> {
        let columns = row_columns(width, true);
        let rows = self.inbox.rows_of(server)?;
        Some(row_lines(&rows, &columns, &self.session, None, |_| None))
    }

    fn threads_known(&self, server: &ServerRef) -> ThreadsKnown {
        let is_halted = self
            .session
            .profile(&server.profile)
            .is_some_and(|profile| profile.halted);
        match self.inbox.threads_known(server) {
            // Most servers of simulated deployments don't exist, so they have no threads.
            _ if !self.server_exists(server) => ThreadsKnown::Now,
            ThreadsKnown::Asking if is_halted => ThreadsKnown::Unread("401".into()),
            known => known,
        }
    }

    fn unread_servers(&self) -> (Vec<(&str, &str)>, usize) {
        // A profile without a list of deployments has its own words.
        let has_list = |name: &str| {
            let profile = self.session.profile(name);
            profile.is_none_or(|profile| !profile.control_plane || profile.loaded_at.is_some())
        };
        let listing = self.inbox.listing();
        let failed = listing.failed.iter().filter(|(name, _)| has_list(name));
        let failed: Vec<(&str, &str)> = failed
            .map(|(name, why)| (name.as_str(), why.as_str()))
            .collect();
        let number = listing
            .unchecked
            .saturating_sub(listing.failed.len() - failed.len());
        (failed, number)
    }

    fn stuck(&self, server: &ServerRef) -> BTreeMap<String, String> {
        self.inbox.stuck_of(server)
    }

    fn has_page(&self, thread: &ThreadRef) -> bool {
        self.stream.tabs.pages(thread).next().is_some()
    }

    fn run_name(&self, thread: &ThreadRef, run: &str) -> Option<String> {
        let mut pages = self.stream.tabs.pages(thread);
        pages.find_map(|page| Some(page.run_entry(run)?.name()))
    }

    fn tab_name(&self, thread: &ThreadRef) -> Option<String> {
        self.stream.tabs.pages(thread).next().map(tab_bar::name)
    }

    fn assistants_error(&self, server: &ServerRef) -> Option<&ApiError> {
        self.agent
            .server
            .as_ref()
            .filter(|open| open.server == *server)?
            .assistants
            .error
            .as_ref()
    }

    fn health(&self, profile: &ProfileState) -> Health {
        bars::health(self, profile)
    }

    fn chosen_profile(&self) -> Option<Arc<str>> {
        match self.overlays.last() {
            Some(Overlay::Records(page)) if page.server().is_none() => {
                Some(page.profile_name().clone())
            }
            _ => self.deployments.chosen_profile(&self.session),
        }
    }

    fn known(&self, what: ArgumentKind) -> Vec<Named> {
        let server = self.agent.server.as_ref();
        match what {
            ArgumentKind::Deployment => self.deployment_names(),
            ArgumentKind::Server => {
                let mut servers = self.servers();
                servers.sort();
                servers.dedup();
                let name = |server: &ServerRef| format!("{}/{}", server.profile, server.name);
                servers
                    .iter()
                    .map(|server| (name(server), server.url.to_string()))
                    .collect()
            }
            ArgumentKind::View => VIEWS
                .iter()
                .map(|view| (view.title().to_lowercase(), String::new()))
                .collect(),
            ArgumentKind::Stream => self.numbered_streams().collect(),
            ArgumentKind::Export => {
                let graph = self
                    .overlays
                    .iter()
                    .rev()
                    .find_map(|overlay| match overlay {
                        Overlay::Graph(page) => Some(page),
                        _ => None,
                    });
                if let Some(page) = graph {
                    return page
                        .exports(&self.session)
                        .into_iter()
                        .map(|line| (line, String::new()))
                        .collect();
                }
                let Some(viewer) = self.viewer() else {
                    return Vec::new();
                };
                let line = |(word, format): &(&str, Format)| {
                    format!("{word} {}", proposed_path(&self.session, viewer, *format))
                };
                Format::WORDS
                    .iter()
                    .map(|word| (line(word), String::new()))
                    .collect()
            }
            ArgumentKind::Thread => {
                let threads = server.into_iter().flat_map(|server| server.threads.iter());
                let note = |thread: &Thread| match thread.name() {
                    Some(name) => format!("{} {name}", thread.status),
                    None => thread.status.clone(),
                };
                threads
                    .map(|thread| (thread.thread_id.clone(), note(thread)))
                    .collect()
            }
            ArgumentKind::Run => {
                let runs = server
                    .and_then(|s| s.runs.value.as_deref())
                    .unwrap_or_default();
                let note =
                    |run: &Run| format!("{} on thread {}", run.status, short_id(&run.thread_id));
                runs.iter()
                    .map(|run| (run.run_id.clone(), note(run)))
                    .collect()
            }
            ArgumentKind::Assistant => {
                let assistants = server
                    .and_then(|s| s.assistants.value.as_deref())
                    .unwrap_or_default();
                let note = |a: &Assistant| {
                    let name = a
                        .name
                        .as_deref()
                        .filter(|name| *name != a.graph_id)
                        .unwrap_or_default();
                    format!("{} {name}", a.graph_id)
                };
                assistants
                    .iter()
                    .map(|a| (a.assistant_id.clone(), note(a)))
                    .collect()
            }
            ArgumentKind::AssistantName => {
                let assistants = server
                    .and_then(|s| s.assistants.value.as_deref())
                    .unwrap_or_default();
                let named = |a: &Assistant| {
                    let name = a.shown_name();
                    let mut same = assistants.iter().filter(|b| b.shown_name() == name);
                    match same.nth(1) {
                        Some(_) => (a.assistant_id.clone(), name.to_string()),
                        None => (name.to_string(), a.graph_id.clone()),
                    }
                };
                let mut named: Vec<Named> = assistants.iter().map(named).collect();
                // List a name before longer ones that begin with it.
                named.sort();
                named
            }
            ArgumentKind::Nothing
            | ArgumentKind::Text(_)
            | ArgumentKind::Word(_)
            | ArgumentKind::Profile
            | ArgumentKind::Search
            | ArgumentKind::Theme => Vec::new(),
        }
    }

    fn deployments_in_full(&self) -> Vec<Named> {
        let rows = self.deployments.list.rows.iter();
        rows.map(|row| {
            (
                format!("{}/{}", row.profile_name, row.name),
                format!("{} {}", row.profile_name, row.tag),
            )
        })
        .collect()
    }

    fn servers(&self) -> Vec<ServerRef> {
        let streams = self
            .stream
            .tabs
            .all()
            .iter()
            .filter(|v| !v.is_recording())
            .map(|v| v.server.clone());
        let listed = self.deployments.list.rows.iter().filter(|row| !row.gone);
        let listed = listed.filter_map(|row| row.server(&self.session.profiles));
        // Most servers of simulated deployments don't exist.
        let is_local = |url: &str| {
            url::Url::parse(url).is_ok_and(|url| runtail_core::config::is_loopback(&url))
        };
        let exists = |server: &ServerRef| !self.session.settings.demo || is_local(&server.url);
        self.open_server()
            .into_iter()
            .chain(streams)
            .chain(listed)
            .filter(exists)
            .collect()
    }

    fn open_server(&self) -> Option<ServerRef> {
        self.agent.server.as_ref().map(|open| open.server.clone())
    }

    fn chosen_server(&self) -> Option<ServerRef> {
        let selected = matches!(self.focus, Pane::Deployments | Pane::Revisions).then(|| {
            self.deployments
                .list
                .selected()?
                .server(&self.session.profiles)
        });
        selected.flatten().or_else(|| self.open_server())
    }

    fn deployments(&self) -> Vec<(Arc<str>, Arc<str>, Arc<str>)> {
        let known = |row: &crate::features::deployments::list::Row| {
            let id = row.deployment.as_ref().filter(|_| !row.gone)?.id.as_str();
            Some((
                row.profile_name.clone(),
                id.into(),
                row.name.as_str().into(),
            ))
        };
        self.deployments
            .list
            .rows
            .iter()
            .filter_map(known)
            .collect()
    }

    fn revision(&self, of: &RevisionRef) -> Option<&Revision> {
        let row = self
            .deployments
            .list
            .row(&format!("{}/{}", of.profile, of.deployment))?;
        let history = self.deployments.histories.get(&row.id);
        let mut known = history
            .into_iter()
            .flat_map(|history| &history.revisions)
            .chain(&row.newest);
        known.find(|revision| revision.id == *of.revision)
    }

    fn marked_runs(&self, thread: &ThreadRef) -> Vec<String> {
        let run = |side: &SideRef| match side {
            SideRef::Thread(of, Some(run)) if of == thread => Some(run.clone()),
            _ => None,
        };
        self.agent.marked.iter().filter_map(run).collect()
    }

    fn revisions(&self, server: &ServerRef) -> Option<KnownRevisions> {
        let rows = &self.deployments.list.rows;
        let row = rows
            .iter()
            .find(|row| row.profile_name == server.profile && row.name == *server.name)?;
        let deployment = row.deployment.as_ref()?;
        let newest = row.newest_id().map(str::to_string);
        let history = self.deployments.histories.get(&row.id);
        let listed = history.into_iter().flat_map(|history| &history.revisions);
        // Only the selected deployment's revisions are listed; the newest one of each is known.
        let is_listed = |one: &Revision| listed.clone().any(|other| other.id == one.id);
        let newest_record = row.newest.as_ref().filter(|one| !is_listed(one));
        let listed = listed.clone().chain(newest_record).map(|one| {
            let made_from = one.source_revision_config.made_from();
            (one.id.clone(), made_from.map(|name| text::seen(&name, 40)))
        });
        // In an unused deployment it's unknown whether the active revision serves.
        let serving = deployment
            .active_revision_id
            .clone()
            .filter(|_| row.state().is_usual());
        Some(KnownRevisions {
            newest,
            serving,
            listed: listed.collect(),
        })
    }

    fn screens(&self) -> &'static [(&'static str, &'static str)] {
        SCREENS
    }

    fn shown_thread(&self) -> Option<ThreadView<'_>> {
        let viewer = self.viewer()?;
        Some(ThreadView {
            revisions: self.revisions(&viewer.server),
            server: &viewer.server,
            thread_id: viewer.thread_id.as_deref(),
            status: viewer.thread_status(),
            badge: viewer.full_present_badge(&self.session),
            records: &viewer.present().status,
            again: viewer.again(),
            is_recording: viewer.is_recording(),
            last_event_at: viewer.delivery_log().last_event_at,
            stuck: viewer.stuck(&self.session),
            offers: Offers::new(
                self.session.server_kind(&viewer.server),
                &viewer.present().status,
            ),
        })
    }

    fn modes(&self, stream: u64) -> Option<ModesView> {
        let viewer = self.stream.tabs.get(stream)?;
        Some(ModesView {
            target: viewer.target.clone(),
            thread_id: viewer.thread_id.clone(),
            run_id: viewer.run_id.clone(),
            server: viewer.server.clone(),
            is_open: viewer.is_open(),
            follows_thread: viewer.modes.follows_thread
                && matches!(viewer.target, StreamTarget::Start { .. }),
            wanted: viewer.modes.wanted.clone(),
            terms: viewer.modes.terms.clone(),
        })
    }

    fn selected_objects(&self) -> Vec<(&'static str, String)> {
        let mut objects = Vec::new();
        match self.help_context() {
            Context::Deployments | Context::Revisions => {
                let deployment = self.deployments.list.selected().map(|row| row.name.clone());
                objects.extend(deployment.map(|name| ("deployment", name)));
                let revision = self.deployments.revision_table.selected();
                objects.extend(revision.map(|id| ("revision", text::head(id, 8).to_string())));
            }
            Context::Stream | Context::Why => {
                let viewer = self.viewer();
                objects.extend(
                    viewer
                        .and_then(|viewer| viewer.thread_id.as_deref())
                        .map(|id| ("thread", named(id))),
                );
            }
            Context::Server => {
                let server = self.agent.server.as_ref();
                let thread = server.and_then(|server| server.threads.table.selected());
                objects.extend(thread.map(|id| ("thread", named(id))));
            }
            _ => {}
        }
        objects
    }

    fn shown_view(&self) -> Option<&'static str> {
        let viewer = self
            .viewer()
            .filter(|_| self.help_context() == Context::Stream);
        viewer.map(|viewer| viewer.view().title())
    }

    fn commands(&self, context: Context) -> Commands {
        let page = self.page_under_help();
        self.commands_of(page.filter(|page| page.context() == context))
    }

    fn page_context(&self) -> Context {
        self.page_under_help()
            .map_or_else(|| self.pane_context(), |page| page.context())
    }

    fn help_context(&self) -> Context {
        // A page of text has no keys of its own.
        let context = self.page_context();
        if context == Context::Page {
            self.pane_context()
        } else {
            context
        }
    }
}
