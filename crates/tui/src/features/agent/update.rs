//! The keys, replies and polls of an agent server's lists.

use super::actions::{
    MAX_MARKED, act_on_marked, compare, compose, describe, mark, open, selected_side, show_graph,
    star, versions,
};
use super::preview::{PreviewRow, list_area};
use super::state::{MAX_RUNS, Server, Tab};
use super::threads::PAGE;
use super::{Agent, view};
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::compare::SideRef;
use crate::session::msg::{
    Effect, EffectResult, InboxTarget, ServerRef, Subscription, SubscriptionEvent, SubscriptionId,
    SubscriptionKind, ThreadRef, WantedStatus,
};
use crate::session::run::act_on_thread;
use crate::session::{Component, Cx, Requests, Route, Session};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::table::Table;
use runtail_api::ThreadIntent;
use runtail_core::model::ThreadStatus;
use std::sync::Arc;
use std::time::Duration;

fn height(server: &Server, area: Area) -> usize {
    list_area(server, area)
        .h
        .saturating_sub(view::head(server))
        .into()
}

/// Returns the status of a listed thread: that of its open page, if there is one, so that the two never differ.
pub(crate) fn listed_status(cx: &Cx<'_>, server: &Server, thread: &str) -> ThreadStatus {
    let of = server.thread_ref(thread);
    let is_known = |status: &&ThreadStatus| {
        !matches!(status, ThreadStatus::Loading | ThreadStatus::Unknown { .. })
    };
    let of_page = cx.session.pages.status(&of).filter(is_known);
    of_page.map_or_else(|| server.threads.status_of(thread), ThreadStatus::clone)
}

impl Agent {
    /// Opens the lists of a server.
    pub fn open(&mut self, server: ServerRef) -> Requests {
        if self.server.as_ref().is_some_and(|s| s.server == server) {
            return Requests::none();
        }
        self.keep_marks();
        let mut opened = Server::new(server.clone(), self.order);
        self.marked.retain(|side| match side {
            SideRef::Thread(thread, None) if thread.server == server => {
                opened.threads.table.marked.insert(thread.id.clone());
                false
            }
            _ => true,
        });
        self.server = Some(opened);
        Requests::from(Effect::FetchInfo(server.clone())).and(Effect::FetchAssistants(server))
    }

    /// Returns whether a listed row is marked.
    pub(super) fn is_marked(&self, server: &Server, id: &str) -> bool {
        match server.tab {
            Tab::Threads => server.threads.table.marked.contains(id),
            Tab::Runs => self.marked.iter().any(|side| match side {
                SideRef::Thread(thread, Some(run)) => thread.server == server.server && run == id,
                _ => false,
            }),
            Tab::Assistants => false,
        }
    }

    /// Keeps up to two marked threads of the open server, so that they can be compared with threads of another one.
    fn keep_marks(&mut self) {
        let Some(server) = &self.server else { return };
        self.marked.extend(server.marked_sides());
        self.marked
            .drain(..self.marked.len().saturating_sub(MAX_MARKED));
    }

    /// Returns everything that is marked, as sides of a comparison.
    pub fn marked_sides(&self) -> Vec<SideRef> {
        let threads = self.server.iter().flat_map(Server::marked_sides);
        self.marked.iter().cloned().chain(threads).collect()
    }

    /// Marks a run for a comparison, or removes its mark.
    pub fn mark_side(&mut self, side: SideRef) -> Requests {
        mark(&mut self.marked, side)
    }

    /// Compares what is marked, or the marked row with this one.
    pub fn compare_side(&self, side: SideRef) -> Requests {
        compare(&self.marked_sides(), Some(side))
    }

    /// Returns the selected thread, and the selected run if runs are listed; otherwise a notice.
    pub(super) fn selected_thread(
        server: &Server,
    ) -> Result<(ThreadRef, Option<String>), Requests> {
        let (thread, run) = match server.tab {
            Tab::Threads => (server.threads.table.selected(), None),
            Tab::Runs => (server.runs_of.as_deref(), server.run_table.selected()),
            Tab::Assistants => {
                return Err(Requests::info(THREADS_ONLY));
            }
        };
        match thread {
            Some(id) => Ok((server.thread_ref(id), run.map(str::to_string))),
            None => Err(Requests::none_selected("thread")),
        }
    }

    /// Fills in the parameters that change while the polls run.
    pub fn fill(&self, cx: &Cx<'_>, subscriptions: &mut [Subscription]) {
        for sub in subscriptions {
            match &sub.key {
                SubscriptionId::ThreadStatuses(_) => sub.params.statuses = self.wanted_statuses(),
                SubscriptionId::Threads(_) => {
                    sub.params.threads = self
                        .server
                        .as_ref()
                        .map(|server| server.threads.wanted())
                        .unwrap_or_default();
                }
                SubscriptionId::Health(_) | SubscriptionId::Runs(..) => {}
                _ => continue,
            }
            sub.params.pace = cx.session.pace(false);
        }
    }

    /// The threads whose rows are on the screen.
    fn wanted_statuses(&self) -> Arc<[WantedStatus]> {
        let Some(server) = &self.server else {
            return Arc::default();
        };
        let table = &server.threads.table;
        let visible = table.ids().get(table.visible()).unwrap_or_default();
        let wanted = visible.iter().filter_map(|id| server.wanted_status(id));
        wanted.collect()
    }
}

const THREADS_ONLY: &str = "Works on threads: press 1.";

impl Component for Agent {
    fn on_reply(&mut self, session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        let open = self.server.as_mut()?;
        match reply {
            EffectResult::Assistants(from, result) if *from == open.server => {
                open.assistants.apply_list(result.clone(), session.now);
            }
            EffectResult::RowRead(InboxTarget::Thread(of), result) if of.server == open.server => {
                open.details.on_read(&of.id, result.clone());
            }
            _ => return None,
        }
        Some(Requests::none())
    }

    fn on_event(
        &mut self,
        session: &mut Session,
        from: SubscriptionId,
        event: SubscriptionEvent,
    ) -> Requests {
        let at = session.now;
        if let (SubscriptionId::Health(server), SubscriptionEvent::Health(health)) = (from, &event)
        {
            let known = self.health.entry(server).or_default();
            known.take(*health, at);
        }
        let Some(server) = &mut self.server else {
            return Requests::none();
        };
        match event {
            SubscriptionEvent::Threads(read) => server.threads.take(read, at),
            SubscriptionEvent::ThreadStatus {
                of,
                status: Ok(status),
            } => {
                server.threads.set_status(of.thread, of.facts, status);
            }
            SubscriptionEvent::Runs(result) => server.runs.apply_list(result, at),
            _ => {}
        }
        Requests::none()
    }

    fn context(&self) -> Context {
        Context::Server
    }

    fn action(&mut self, _cx: &Cx<'_>, action: Action) -> Requests {
        use Action::*;
        let Some(server) = &mut self.server else {
            return Requests::none();
        };
        match (action, server.tab) {
            (CancelRun | Delete | Again, Tab::Threads)
                if !server.threads.table.marked.is_empty() =>
            {
                return act_on_marked(server, action);
            }
            (Mark, Tab::Threads) => {
                server.threads.table.toggle_mark();
                server.threads.table.step(1);
            }
            (MarkAll, Tab::Threads) => {
                server.threads.table.toggle_all_marks();
                let count = server.threads.table.marked.len();
                if count > 0 && !server.threads.is_ended() {
                    return Requests::info(format!(
                        "{count} marked. Threads not loaded yet aren't."
                    ));
                }
            }
            (Star, Tab::Threads) => return star(server),
            (Sort, Tab::Threads) => {
                if server.threads.search().sort.is_some() {
                    return Requests::info("Change the search's sort: term.");
                }
                self.order = server.threads.sort_by_next();
            }
            (MarkAll | Star | Sort, _) => {
                return Requests::info(THREADS_ONLY);
            }
            (Again | Explain | Answer | Approve | CancelRun | RollbackRun | Delete, _) => {
                return match (action, Self::selected_thread(server)) {
                    (_, Err(why)) => why,
                    (Again, Ok((ThreadRef { server, id: thread }, _))) => {
                        Route::on_thread(server, ThreadIntent::Retry { thread, edit: None }).into()
                    }
                    (Explain, Ok((thread, _))) => Route::WhyThread(thread).into(),
                    (_, Ok((thread, run))) => act_on_thread(thread, run, action),
                };
            }
            // Assistants have no marks, and Space turns their pages.
            (Mark, Tab::Assistants) => {
                let table = server.table_mut();
                table.step(table.height() as isize);
            }
            (Compare, Tab::Assistants) => {
                return Requests::info("Only threads and runs compare.");
            }
            (Mark, _) => {
                let Some(row) = selected_side(server) else {
                    return Requests::none();
                };
                return self.mark_side(row);
            }
            (Compare, _) => {
                let selected = selected_side(server);
                return compare(&self.marked_sides(), selected);
            }
            (Threads, _) => server.show(Tab::Threads),
            (Assistants, _) => server.show(Tab::Assistants),
            (Runs, Tab::Threads) => {
                if let Some(id) = server.threads.table.selected().map(str::to_string) {
                    if server.runs_of.as_ref() != Some(&id) {
                        server.run_table.restart();
                    }
                    server.runs_of = Some(id);
                    server.runs = Default::default();
                    server.show(Tab::Runs);
                }
            }
            (Runs, Tab::Assistants) => return versions(server),
            (View5, _) => return show_graph(server),
            (Open | Right, _) => return open(server),
            (NewRun, _) => return compose(server),
            (Left, Tab::Runs | Tab::Assistants) => server.show(Tab::Threads),
            (Describe, _) => return describe(server),
            _ => {}
        }
        Requests::none()
    }

    fn table(&self) -> Option<&Table> {
        Some(self.server.as_ref()?.table())
    }

    fn table_mut(&mut self) -> Option<&mut Table> {
        Some(self.server.as_mut()?.table_mut())
    }

    fn click(&mut self, _cx: &Cx<'_>, _x: u16, y: u16) -> Requests {
        if let Some(server) = &mut self.server {
            let head = view::head(server);
            server.table_mut().click(y.checked_sub(head));
        }
        Requests::none()
    }

    fn copied(&mut self) -> Option<String> {
        self.selected_id().map(str::to_string)
    }

    fn back(&mut self, _quit: bool) -> Option<Requests> {
        let server = self.server.as_mut()?;
        if server.tab == Tab::Threads && !server.threads.table.filter.is_empty() {
            server.threads.set_text("");
            return Some(Requests::none());
        }
        let mut is_changed = server.table_mut().clear();
        if server.tab == Tab::Threads {
            is_changed |= !std::mem::take(&mut self.marked).is_empty();
        } else if !is_changed {
            server.show(Tab::Threads);
            is_changed = true;
        }
        is_changed.then(Requests::none)
    }

    fn set_filter(&mut self, text: &str) {
        match &mut self.server {
            Some(server) if server.tab == Tab::Threads => server.threads.set_text(text),
            Some(server) => server.table_mut().filter = text.to_string(),
            None => {}
        }
    }

    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        let server = self.server.as_ref();
        let is_marked = server.is_some_and(|server| !server.threads.table.marked.is_empty());
        let tab = server.map_or(Tab::Threads, |server| server.tab);
        let is_empty = server.is_some_and(|server| server.table().is_empty());
        Commands::of(Context::Server).footer(match (tab, is_empty) {
            (Tab::Threads, true) => &[
                "server.new_run",
                "server.assistants",
                "app.refresh",
                "app.back",
            ],
            (Tab::Runs, true) => &[
                "server.new_run",
                "server.threads",
                "app.refresh",
                "app.back",
            ],
            (Tab::Assistants, true) => &["server.threads", "app.refresh", "app.back"],
            (Tab::Assistants, false) => &[
                "server.open",
                "server.details",
                "server.graph",
                "server.threads",
            ],
            (Tab::Runs, false) => &[
                "server.open",
                "server.new_run",
                "server.details",
                "server.threads",
                "app.back",
            ],
            (Tab::Threads, false) if is_marked => &[
                "server.mark",
                "server.compare",
                "server.cancel",
                "server.delete",
                "server.retry",
                "app.back",
            ],
            (Tab::Threads, false) => &[
                "server.open",
                "server.new_run",
                "server.runs",
                "server.filter",
            ],
        })
    }

    fn profile(&self) -> Option<&str> {
        Some(&self.server.as_ref()?.server.profile)
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let Some(server) = &mut self.server else {
            return;
        };
        server
            .threads
            .set_stuck(cx.session.inbox.stuck_of(&server.server));
        server.threads.refresh(cx.session.now);
        let height = height(server, cx.area);
        server.lay_out(height);
        server
            .details
            .select(server.threads.table.selected(), cx.session.now);
        // Near the end of the list, request more rows if there may be more.
        match server.tab {
            Tab::Threads => server.threads.want(),
            Tab::Runs => {
                let (count, at) = (server.run_table.ids().len(), server.run_table.cursor());
                if count >= server.limit && at + 5 >= count && server.limit < MAX_RUNS {
                    server.limit += PAGE;
                }
            }
            Tab::Assistants => {}
        }
    }

    /// Reads the details of the selected thread.
    fn on_tick(&mut self, cx: &Cx<'_>) -> Requests {
        let Some(server) = &mut self.server else {
            return Requests::none();
        };
        let Some(row) = PreviewRow::selected(server, cx.area) else {
            return Requests::none();
        };
        server
            .details
            .take_next(&[&row], cx)
            .map(|target| Effect::ReadRow(target).into())
            .unwrap_or_default()
    }

    fn next_tick(&self, cx: &Cx<'_>) -> Option<Duration> {
        let server = self.server.as_ref()?;
        server
            .details
            .next_tick(&[&PreviewRow::selected(server, cx.area)?], cx)
    }

    fn subscriptions(&self, cx: &Cx<'_>, out: &mut Vec<Subscription>) {
        let Some(server) = self.server.as_ref().filter(|_| cx.is_shown) else {
            return;
        };
        let of = server.server.clone();
        let epoch = cx.session.epoch_of(&of.profile);
        let poll = |id| Subscription::new(id, epoch, SubscriptionKind::Name);
        out.push(poll(SubscriptionId::Health(of.clone())));
        match (&server.tab, &server.runs_of) {
            (Tab::Threads, _) => {
                out.push(poll(SubscriptionId::Threads(of.clone())));
                out.push(poll(SubscriptionId::ThreadStatuses(of)));
            }
            (Tab::Runs, Some(thread)) => {
                let runs = poll(SubscriptionId::Runs(of, thread.clone()));
                out.push(runs.with_limit(server.limit));
            }
            _ => {}
        }
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        if let Some(server) = &self.server {
            view::server(self, server, cx, canvas);
        }
        None
    }
}
