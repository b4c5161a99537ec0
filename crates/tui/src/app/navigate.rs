//! Navigation by name, id or URL: to known objects first, then to objects that servers are asked for. A notice explains why a
//! target can't be reached.

use super::palette::parse_target::{self, Address};
use super::palette::{ArgumentKind, NO_SERVER, NO_STREAM, missing, no_such};
use super::{App, Pane};
use crate::features::agent::graph_of;
use crate::features::agent::state::{Server, Tab};
use crate::features::deployments::list::RowId;
use crate::features::stream::views::View;
use crate::session::Route;
use crate::session::destination::Destination;
use crate::session::msg::{Effect, ServerRef, StreamTarget};
use runtail_core::config::deployments_page;
use runtail_core::text::{clean, short_id};
use runtail_stream::{EventNumber, Seq};
use url::Url;

const NO_EVENTS: &str = "No events in this stream yet.";

impl App {
    /// Goes to a destination.
    pub(super) fn go(&mut self, to: Destination) -> Vec<Effect> {
        match to {
            Destination::Pane(pane) => self.go_to(pane),
            Destination::Deployment(name) => self.go_to_deployment(&name),
            Destination::Thread(id) => self.go_to_thread(&id),
            Destination::Run(id) => self.go_to_run(&id),
            Destination::Assistant(None, id) => self.go_to_assistant(&id),
            Destination::Assistant(Some(server), id) => self.go_to_assistant_on(server, &id),
            Destination::Graph(name) => self.go_to_graph(&name),
            Destination::View(name) => self.go_to_view(&name),
            Destination::Tab(number) => self.go_to_tab(&number),
            Destination::Stream(server, target) => self.open_at(server, target),
            Destination::Row {
                deployment,
                revision,
                or,
                told,
            } => match self.row_of(&deployment) {
                Some(row) => self.go_to_row(row, revision),
                None => {
                    if !told.is_empty() {
                        self.notify(false, told);
                    }
                    self.open(Route::Record(or))
                }
            },
            Destination::Address(text) => self.go_to_pasted(&text),
        }
    }

    /// Goes to the target of a pasted text, if it contains one.
    pub(super) fn go_to_pasted(&mut self, text: &str) -> Vec<Effect> {
        match parse_target::read(text) {
            Some(address) => self.go_to_address(address),
            None => Vec::new(),
        }
    }

    pub(super) fn report_failure(&mut self, why: impl Into<String>) -> Vec<Effect> {
        self.notify(true, why);
        Vec::new()
    }

    pub(super) fn go_to(&mut self, pane: Pane) -> Vec<Effect> {
        let effects = self.leave_overlays();
        self.focus = pane;
        effects
    }

    /// Goes to a parsed address.
    fn go_to_address(&mut self, address: Address) -> Vec<Effect> {
        match address {
            Address::Event(number) => self.go_to_event(number),
            Address::Time(hour, minute, second) => self.go_to_time([hour, minute, second]),
            Address::Id(id) => self.go_to_id(&id),
            Address::Deployment { id, revision, host } => match self.row_of(&id) {
                Some(row) => self.go_to_row(row, revision),
                None => {
                    let why = self.no_deployment(&id, &host);
                    self.report_failure(why)
                }
            },
            Address::Server(url) => match self.server_at(&url) {
                Ok(server) => self.go_to_server(server),
                Err(why) => self.report_failure(why),
            },
            Address::Thread {
                server,
                thread,
                run,
            } => {
                let known = server.as_ref().map(|url| self.server_at(url));
                match (known, run) {
                    (Some(Ok(server)), Some(run)) => {
                        self.open_at(server, StreamTarget::Join { thread, run })
                    }
                    (Some(Ok(server)), None) => self.open_at(server, StreamTarget::Tail { thread }),
                    // A server may have several URLs, so the thread may be on a known server even if no profile has this one.
                    (Some(Err(why)), run) => self.find(&thread, run, Some(why)),
                    (None, Some(run)) => self.go_to_run_of(&thread, &run),
                    (None, None) => self.go_to_id(&thread),
                }
            }
            Address::Assistant { server, assistant } => match self.server_at(&server) {
                Ok(server) => self.go_to_assistant_on(server, &assistant),
                Err(why) => self.report_failure(why),
            },
            Address::Elsewhere(url) => {
                let host = url.host_str().unwrap_or_default();
                self.report_failure(format!(
                    "This {host} page is no deployment, revision, thread or run."
                ))
            }
        }
    }

    /// Goes to the object with this id: first among open and listed objects, then among those that servers are asked for.
    fn go_to_id(&mut self, id: &str) -> Vec<Effect> {
        if let Some(row) = self.row_of(id) {
            return self.go_to_row(row, None);
        }
        let is_open = |v: &crate::features::stream::viewer::Viewer| {
            let is_run = v.run_id.as_deref() == Some(id);
            is_run
                || v.thread_id.as_deref() == Some(id)
                    && matches!(v.target, StreamTarget::Tail { .. })
        };
        if let Some(at) = self.stream.tabs.all().iter().position(is_open) {
            return self.go_to_stream(at);
        }
        if let Some(row) = self.row_of_revision(id) {
            return self.go_to_row(row, Some(id.to_string()));
        }
        // In the current stream: a run, a message, or the newest event with this id.
        if let Some(seq) = self.viewer().and_then(|viewer| viewer.seq_of(id)) {
            return self.go_to_position(seq);
        }
        let listed = |server: &Server| {
            let thread = server.threads.get(id).is_some();
            let run = server.runs.value.iter().flatten().any(|r| r.run_id == id);
            let assistant = server
                .assistants
                .value
                .iter()
                .flatten()
                .any(|a| a.assistant_id == id);
            (thread, run, assistant)
        };
        match self.agent.server.as_ref().map(listed) {
            Some((true, ..)) => self.go_to_thread(id),
            Some((_, true, _)) => self.go_to_run(id),
            Some((.., true)) => self.go_to_assistant(id),
            _ => self.find(id, None, None),
        }
    }

    /// Goes to a run by its id and its thread's id, without knowing its server.
    fn go_to_run_of(&mut self, thread: &str, run: &str) -> Vec<Effect> {
        if let Some(at) = self
            .stream
            .tabs
            .all()
            .iter()
            .position(|v| v.run_id.as_deref() == Some(run))
        {
            return self.go_to_stream(at);
        }
        let is_listed = |server: &Server| server.threads.get(thread).is_some();
        match self
            .agent
            .server
            .as_ref()
            .filter(|server| is_listed(server))
            .map(|server| server.server.clone())
        {
            Some(server) => self.open_at(
                server,
                StreamTarget::Join {
                    thread: thread.into(),
                    run: run.into(),
                },
            ),
            None => self.find(thread, Some(run.to_string()), None),
        }
    }

    /// Returns the row of a deployment by its id, its name, or `PROFILE/NAME`.
    fn row_of(&self, wanted: &str) -> Option<RowId> {
        let rows = || self.deployments.list.rows.iter();
        let named = |row: &&crate::features::deployments::list::Row| row.name == wanted;
        let qualified = |row: &&crate::features::deployments::list::Row| {
            wanted
                .strip_prefix(&*row.profile_name)
                .and_then(|rest| rest.strip_prefix('/'))
                == Some(&row.name)
        };
        let row = rows()
            .find(|row| row.is(wanted))
            .or_else(|| rows().find(qualified))
            .or_else(|| rows().find(named));
        row.map(|row| row.id.clone())
    }

    /// Returns the row of the deployment that has a known revision.
    fn row_of_revision(&self, id: &str) -> Option<RowId> {
        let listed = self
            .deployments
            .histories
            .iter()
            .find(|(_, history)| history.revisions.iter().any(|r| r.id == id));
        let named = |row: &&crate::features::deployments::list::Row| {
            let active = row
                .deployment
                .as_ref()
                .and_then(|d| d.active_revision_id.as_deref());
            row.newest_id() == Some(id) || active == Some(id)
        };
        listed.map(|(row, _)| row.clone()).or_else(|| {
            self.deployments
                .list
                .rows
                .iter()
                .find(named)
                .map(|row| row.id.clone())
        })
    }

    /// Explains why no deployment with this id is listed.
    fn no_deployment(&self, id: &str, host: &str) -> String {
        let of_host = |profile: &&runtail_core::config::Profile| {
            let page = profile.control_plane.as_ref().and_then(deployments_page);
            page.is_some_and(|page| page.host_str() == Some(host))
        };
        let in_use = self.session.catalog.in_use().iter().find(of_host);
        let unused = self
            .session
            .catalog
            .all
            .iter()
            .map(|known| &known.profile)
            .find(of_host);
        match (in_use, unused) {
            (Some(profile), _) => format!(
                "{} has no deployment {}: it was deleted, or is in another workspace.",
                profile.name,
                short_id(id)
            ),
            (None, Some(profile)) => {
                format!(
                    "Profile {} of {} is off: `:profile {0}`.",
                    profile.name,
                    clean(host)
                )
            }
            (None, None) => format!(
                "No profile for {}. Add one: `runtail config init`.",
                clean(host)
            ),
        }
    }

    /// Finds the agent server at a URL: the open one, one of a stream, or a listed one.
    pub(super) fn server_at(&self, url: &Url) -> Result<ServerRef, String> {
        let same = |server: &ServerRef| {
            Url::parse(&server.url).is_ok_and(|own| parse_target::is_same_server(&own, url))
        };
        let open = self.agent.server.as_ref().map(|s| s.server.clone());
        let listed = self
            .deployments
            .list
            .rows
            .iter()
            .filter_map(|row| row.server(&self.session.profiles));
        let mut all = open
            .into_iter()
            .chain(self.stream.tabs.all().iter().map(|v| v.server.clone()))
            .chain(listed);
        all.find(same).ok_or_else(|| {
            let shown = clean(url.as_str()).into_owned();
            format!("No profile in use has {shown}. Open it: `runtail --url {shown}`.")
        })
    }

    fn open_at(&mut self, server: ServerRef, target: StreamTarget) -> Vec<Effect> {
        let mut effects = self.leave_overlays();
        effects.extend(self.open_behind(server));
        self.open_stream(target);
        effects
    }

    /// Selects a deployment, and optionally one of its revisions.
    fn go_to_row(&mut self, row: RowId, revision: Option<String>) -> Vec<Effect> {
        let effects = self.go_to(if revision.is_some() {
            Pane::Revisions
        } else {
            Pane::Deployments
        });
        self.deployments.list.refresh(self.session.now);
        if !self
            .deployments
            .list
            .all_shown()
            .any(|shown| shown.id == row)
        {
            self.deployments.list.set_filter("");
        }
        self.deployments.list.table.prefer(row);
        if let Some(revision) = revision {
            self.deployments.revision_table.prefer(revision);
        }
        effects
    }

    fn go_to_deployment(&mut self, name: &str) -> Vec<Effect> {
        match self.row_of(name) {
            Some(row) => self.go_to_row(row, None),
            None if name.is_empty() => self.go_to(Pane::Deployments),
            None if parse_target::is_id(name) => self.go_to_id(name),
            None => {
                let why = no_such(self, "deployment", name, ArgumentKind::Deployment);
                self.report_failure(why)
            }
        }
    }

    fn go_to_thread(&mut self, id: &str) -> Vec<Effect> {
        let server = self.agent.server.as_ref().map(|s| s.server.clone());
        match (server, id) {
            (None, "") => self.report_failure(NO_SERVER),
            (None, id) => self.go_to_id(id),
            (Some(server), "") => {
                let mut effects = self.leave_overlays();
                effects.extend(self.open_server(server));
                effects
            }
            (Some(server), id) => self.open_at(
                server,
                StreamTarget::Tail {
                    thread: id.to_string(),
                },
            ),
        }
    }

    fn go_to_run(&mut self, id: &str) -> Vec<Effect> {
        if id.is_empty() {
            return self.report_failure(missing("run ID"));
        }
        if let Some(Address::Thread {
            server: None,
            thread,
            run: Some(run),
        }) = parse_target::read(id)
        {
            return self.go_to_run_of(&thread, &run);
        }
        let listed = self.agent.server.as_ref().and_then(|server| {
            let run = server
                .runs
                .value
                .iter()
                .flatten()
                .find(|run| run.run_id == id);
            let thread = run
                .map(|run| run.thread_id.clone())
                .or_else(|| server.runs_of.clone());
            let of_stream = self
                .viewer()
                .filter(|v| v.server == server.server)
                .and_then(|v| v.thread_id.clone());
            Some((server.server.clone(), thread.or(of_stream)?))
        });
        match listed {
            Some((server, thread)) => self.open_at(
                server,
                StreamTarget::Join {
                    thread,
                    run: id.to_string(),
                },
            ),
            None => self.report_failure("A run id needs its thread: paste THREAD/RUN or a URL."),
        }
    }

    fn go_to_server(&mut self, server: ServerRef) -> Vec<Effect> {
        let mut effects = self.leave_overlays();
        effects.extend(self.open_server(server));
        effects
    }

    fn go_to_assistant_on(&mut self, server: ServerRef, id: &str) -> Vec<Effect> {
        let mut effects = self.go_to_server(server);
        effects.extend(self.go_to_assistant(id));
        effects
    }

    fn go_to_assistant(&mut self, id: &str) -> Vec<Effect> {
        let effects = self.leave_overlays();
        let Some(server) = &mut self.agent.server else {
            return self.report_failure(NO_SERVER);
        };
        server.show(Tab::Assistants);
        server.assistant_table.filter.clear();
        if !id.is_empty() {
            server.assistant_table.prefer(id.to_string());
        }
        self.stream.tabs.hide();
        self.logs = None;
        self.focus = Pane::Stream;
        effects
    }

    /// Shows the graph of an assistant of the open server; without a name that of the shown thread, or of the selected assistant.
    fn go_to_graph(&mut self, name: &str) -> Vec<Effect> {
        let is_thread_shown = self.viewer().is_some() && self.logs.is_none();
        if name.is_empty() && is_thread_shown {
            return self.go_to_view(View::Graph.title());
        }
        let Some(server) = self.agent.server.as_ref() else {
            return self.report_failure(NO_SERVER);
        };
        let listed = || server.assistants.value.iter().flatten();
        let found = match name {
            "" => server.assistant().filter(|_| server.tab == Tab::Assistants),
            name => listed()
                .find(|assistant| assistant.assistant_id == name)
                .or_else(|| listed().find(|assistant| assistant.name.as_deref() == Some(name)))
                .or_else(|| listed().find(|assistant| assistant.graph_id == name)),
        };
        let route = match found {
            Some(assistant) => graph_of(&server.server, assistant),
            None if name.is_empty() => {
                return self.report_failure(missing("graph ASSISTANT"));
            }
            // The list may not be loaded. Servers take the name of a graph, too.
            None if server.assistants.value.is_none() => {
                Route::Graph(server.server.clone(), name.to_string(), short_id(name))
            }
            None => {
                let why = no_such(self, "assistant", name, ArgumentKind::AssistantName);
                return self.report_failure(why);
            }
        };
        self.open(route)
    }

    fn go_to_view(&mut self, name: &str) -> Vec<Effect> {
        match (View::named(name), self.stream.tabs.shown_mut()) {
            (Some(view), Some(viewer)) => {
                viewer.show(view);
                let mut effects = self.stay_on_stream();
                // The report is a page of the events.
                if name.eq_ignore_ascii_case("delivery") {
                    effects.extend(self.open(Route::DeliveryReport));
                }
                effects
            }
            (None, ..) => self.report_failure(missing("view VIEW")),
            _ => self.report_failure(NO_STREAM),
        }
    }

    fn go_to_tab(&mut self, number: &str) -> Vec<Effect> {
        let at = number.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
        match at.filter(|at| *at < self.stream.tabs.all().len()) {
            Some(at) => self.go_to_stream(at),
            None => self.report_failure("No tab has this number."),
        }
    }

    /// Shows one of the open streams.
    pub(super) fn go_to_stream(&mut self, at: usize) -> Vec<Effect> {
        let effects = self.leave_overlays();
        self.stream.tabs.show(at);
        effects.into_iter().chain(self.stay_on_stream()).collect()
    }

    /// Shows the current stream.
    fn stay_on_stream(&mut self) -> Vec<Effect> {
        let effects = self.leave_overlays();
        self.logs = None;
        self.focus = Pane::Stream;
        effects
    }

    /// Goes to a position in the event log of the current stream.
    fn go_to_position(&mut self, seq: Seq) -> Vec<Effect> {
        let Some(viewer) = self.stream.tabs.shown_mut() else {
            return Vec::new();
        };
        viewer.go_to(seq);
        self.stay_on_stream()
    }

    /// Goes to an event of the current stream.
    pub(crate) fn go_to_event(&mut self, number: EventNumber) -> Vec<Effect> {
        let Some(viewer) = self.stream.tabs.shown_mut() else {
            return self.report_failure(NO_STREAM);
        };
        viewer.leave_checkpoint();
        let position = viewer.event_log.position_of(number);
        let first = viewer
            .event_log
            .first_seq()
            .map(|seq| viewer.event_log.number_of(seq))
            .unwrap_or_default();
        let last = viewer.event_log.events_until(viewer.event_log.last_seq());
        let why = match number {
            _ if last == EventNumber::default() => Some(NO_EVENTS.to_string()),
            n if n < first => Some(format!("Event {n} was evicted; the oldest is {first}.")),
            n if n > last => Some(format!("No event {n} yet; the newest is {last}.")),
            _ => None,
        };
        let effects = self.go_to_position(position);
        if let Some(why) = why {
            self.notify(false, why);
        }
        effects
    }

    /// Goes to the first event since a time of day, on the day of the newest event.
    fn go_to_time(&mut self, [hour, minute, second]: [u8; 3]) -> Vec<Effect> {
        let Some(viewer) = self.stream.tabs.shown_mut() else {
            return self.report_failure(NO_STREAM);
        };
        viewer.leave_checkpoint();
        let newest = viewer.event_log.last_seq();
        let Some(at) = viewer.event_log.time(newest) else {
            return self.report_failure(NO_EVENTS);
        };
        let day = at.to_zoned(self.session.settings.tz.clone());
        let parts = [hour, minute, second].map(|part| part as i8);
        let wanted = day
            .date()
            .at(parts[0], parts[1], parts[2], 0)
            .to_zoned(self.session.settings.tz.clone());
        let Ok(wanted) = wanted.map(|zoned| zoned.timestamp()) else {
            return self.report_failure("That day has no such time.");
        };
        // Arrival times only decrease if the clock was set back.
        let first = viewer.event_log.first_since(wanted).unwrap_or(newest);
        self.go_to_position(first)
    }
}
