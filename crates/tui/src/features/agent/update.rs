//! The actions and polls of an agent server's lists, and the actions of the composer.

use super::composer::Composer;
use super::state::{MAX_ROWS, PAGE, Server, Tab};
use super::{Agent, compose_view, view};
use crate::input::action::{Action, Context};
use crate::input::key::Key;
use crate::session::msg::{
    Described, Effect, ServerRef, StreamTarget, Subscription, SubscriptionId, SubscriptionKind, ThreadRef, WantedStatus,
};
use crate::session::record_list::RecordList;
use crate::session::run::{Origin, Warning, Where, act_on_thread};
use crate::session::{Component, Cx, Request, Requests, Route, Session};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use runtail_core::model::ThreadStatus;
use std::sync::Arc;

/// Lines above the rows: breadcrumb, tabs, and column headers.
const HEAD: u16 = 3;

fn height(area: Area) -> usize {
    area.h.saturating_sub(HEAD).into()
}

/// Returns the status of a listed thread: that of its open page, if there is one, so that the two never differ.
pub(crate) fn listed_status(cx: &Cx<'_>, server: &Server, thread: &str) -> ThreadStatus {
    let of = ThreadRef { server: server.server.clone(), id: thread.to_string() };
    let is_known = |status: &ThreadStatus| !matches!(status, ThreadStatus::Loading | ThreadStatus::Unknown { .. });
    cx.lookup.page_status(&of).filter(is_known).unwrap_or_else(|| server.status_of(thread))
}

impl Agent {
    /// Opens the lists of a server.
    pub fn open(&mut self, server: ServerRef) -> Requests {
        if self.server.as_ref().is_some_and(|s| s.server == server) {
            return Requests::none();
        }
        self.server = Some(Server::new(server.clone()));
        Requests::from(Effect::FetchInfo(server.clone())).and(Effect::FetchAssistants(server))
    }

    /// Creates a composer for the open server, and the requests for its data; otherwise a notice of why it can't.
    ///
    /// # Errors
    /// No server is open, or its profile is read-only.
    pub fn composer(&mut self, session: &Session, from: Origin) -> Result<(Composer, Requests), Requests> {
        let Some(server) = &self.server else { return Err(Requests::none()) };
        if session.is_read_only(&server.server.profile) {
            return Err(Requests::error(session.read_only_text(&server.server.profile)));
        }
        let known: &[_] = server.assistants.value.as_deref().unwrap_or(&[]);
        let is_chosen = from.assistant.is_some();
        let mut composer = Composer::new(server.server.clone(), known, from);
        if let Some(modes) = &self.modes {
            composer.modes.clone_from(modes);
        }
        let fits = |draft: &mut Composer| draft.server == composer.server;
        if let Some(draft) = self.draft.take_if(fits) {
            let id = draft.chosen().filter(|_| !is_chosen);
            if let Some(at) = id.and_then(|id| composer.assistants.iter().position(|(i, _)| *i == id)) {
                composer.assistant = at;
            }
            composer.modes = draft.modes;
            composer.restore(draft.input);
        }
        // If loading the assistants failed before, try again.
        let retry = server.assistants.error.is_some() && known.is_empty();
        let requests = match retry {
            true => Effect::FetchAssistants(server.server.clone()).into(),
            false => Requests::none(),
        };
        Ok((composer, requests))
    }

    /// Returns the selected thread, and the selected run if runs are listed; otherwise a notice.
    fn selected_thread(server: &Server) -> Result<(ThreadRef, Option<String>), Requests> {
        let (thread, run) = match server.tab {
            Tab::Threads => (server.thread_picker.selected.clone(), None),
            Tab::Runs => (server.runs_of.clone(), server.run_picker.selected.clone()),
            Tab::Assistants => return Err(Requests::info("This key works on threads. Press 1 to show them.")),
        };
        let Some(id) = thread else { return Err(Requests::info("No thread is selected.")) };
        Ok((ThreadRef { server: server.server.clone(), id }, run))
    }

    /// Fills in the parameters that change while the polls run.
    pub fn fill(&self, cx: &Cx<'_>, subscriptions: &mut [Subscription]) {
        for sub in subscriptions {
            if matches!(sub.key, SubscriptionId::ThreadStatuses(_)) {
                sub.params.statuses = self.wanted_statuses(cx.area);
            }
            sub.params.pace = cx.session.pace(false);
        }
    }

    /// The threads whose rows are on the screen.
    fn wanted_statuses(&self, area: Area) -> Arc<[WantedStatus]> {
        let Some(server) = &self.server else { return Arc::default() };
        let shown = server.shown_threads();
        let window = server.thread_picker.window(shown.len(), height(area));
        window.into_iter().filter_map(|row| server.wanted_status(&shown.get(row)?.thread_id)).collect()
    }
}

/// Returns the warning about a new run on a thread, judged by its status in the list.
fn row_warning(status: &str) -> Option<Warning> {
    match status {
        "interrupted" => Some(Warning::MayWaitForInput),
        "busy" => Some(Warning::Active),
        _ => None,
    }
}

/// Opens the selected row.
fn open(server: &Server) -> Requests {
    let target = match server.tab {
        Tab::Threads => server.thread_picker.selected.clone().map(|thread| StreamTarget::Tail { thread }),
        Tab::Runs => server
            .runs_of
            .clone()
            .zip(server.run_picker.selected.clone())
            .map(|(thread, run)| StreamTarget::Join { thread, run }),
        Tab::Assistants => return compose(server),
    };
    target.map(|target| Route::Stream(target).into()).unwrap_or_default()
}

/// Composes a run for the selected row.
fn compose(server: &Server) -> Requests {
    let from = match server.tab {
        Tab::Assistants => Origin { assistant: server.assistant_picker.selected.clone(), ..Origin::default() },
        // The selection alone is not a choice of the thread, so a new thread is the default.
        Tab::Threads => server.thread().map_or_else(Origin::default, |thread| Origin {
            thread: Some(thread.thread_id.clone()),
            assistant: server.assistant_of(&thread.thread_id),
            place: Some(Where::NewThread),
            warning: row_warning(&thread.status),
        }),
        Tab::Runs => {
            let thread = server.runs_of.clone();
            let listed = |id: &str| server.threads.value.iter().flatten().find(|t| t.thread_id == id);
            let warning = thread.as_deref().and_then(listed).and_then(|row| row_warning(&row.status));
            let assistant = thread.as_deref().and_then(|t| server.assistant_of(t));
            Origin { thread, assistant, place: None, warning }
        }
    };
    Route::Compose(from).into()
}

/// Opens the versions of the selected assistant.
fn versions(server: &Server) -> Requests {
    let Some(assistant) = server.assistant() else { return Requests::info("No assistant is selected.") };
    let name = assistant.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&assistant.graph_id);
    let of = RecordList::Versions { assistant: assistant.assistant_id.as_str().into(), name: name.into() };
    Route::Records(server.server.clone(), of).into()
}

fn describe(server: &Server) -> Requests {
    match server.tab {
        Tab::Threads => {
            let id = server.thread_picker.selected.clone();
            id.map(|id| Route::Record(Described::Thread(server.server.clone(), id)).into()).unwrap_or_default()
        }
        Tab::Assistants => {
            let shown =
                |a| Requests::inspect(format!("assistant {}", server.assistant().map_or("", |a| &a.graph_id)), a);
            server.assistant().map(shown).unwrap_or_default()
        }
        Tab::Runs => {
            let of = server.runs_of.clone().zip(server.run_picker.selected.clone());
            of.map(|(thread, run)| Route::Record(Described::Run(server.server.clone(), thread, run)).into())
                .unwrap_or_default()
        }
    }
}

impl Component for Agent {
    fn context(&self) -> Context {
        Context::Server
    }

    fn action(&mut self, _cx: &Cx<'_>, action: Action) -> Requests {
        use Action::*;
        let Some(server) = &mut self.server else { return Requests::none() };
        match (action, server.tab) {
            (Answer | Approve | CancelRun | RollbackRun | Delete, _) => {
                return match Self::selected_thread(server) {
                    Ok((thread, run)) => act_on_thread(thread, run, action),
                    Err(why) => why,
                };
            }
            (Explain, _) => {
                return match Self::selected_thread(server) {
                    Ok((thread, _)) => Route::WhyThread(thread).into(),
                    Err(why) => why,
                };
            }
            (Threads, _) => server.show(Tab::Threads),
            (Assistants, _) => server.show(Tab::Assistants),
            (Runs, Tab::Threads) => {
                if let Some(id) = server.thread_picker.selected.clone() {
                    server.runs_of = Some(id);
                    server.runs = Default::default();
                    server.show(Tab::Runs);
                }
            }
            (Runs, Tab::Assistants) => return versions(server),
            (Open | Right, _) => return open(server),
            (NewRun, _) => return compose(server),
            (Left, Tab::Runs | Tab::Assistants) => server.show(Tab::Threads),
            (Describe, _) => return describe(server),
            _ => {}
        }
        Requests::none()
    }

    fn step(&mut self, cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        if let Some(server) = &mut self.server {
            let ids = server.shown_ids();
            server.picker().step(&ids, height(cx.area), lines);
        }
    }

    fn click(&mut self, cx: &Cx<'_>, _x: u16, y: u16) {
        if let (Some(server), Some(row)) = (&mut self.server, y.checked_sub(HEAD)) {
            let ids = server.shown_ids();
            let at = server.picker().top() + usize::from(row);
            server.picker().select(&ids, height(cx.area), at);
        }
    }

    fn copied(&mut self) -> Option<String> {
        self.server.as_mut()?.picker().selected.clone()
    }

    fn back(&mut self, _quit: bool) -> Option<Requests> {
        let server = self.server.as_mut()?;
        if !server.filter.is_empty() {
            server.filter.clear();
            return Some(Requests::none());
        }
        (server.tab != Tab::Threads).then(|| {
            server.show(Tab::Threads);
            Requests::none()
        })
    }

    fn filter(&self) -> Option<&str> {
        self.server.as_ref().map(|server| server.filter.as_str())
    }

    fn set_filter(&mut self, text: &str) {
        if let Some(server) = &mut self.server {
            server.filter = text.to_string();
        }
    }

    fn hints(&self) -> Option<&'static [&'static str]> {
        let server = self.server.as_ref()?;
        if server.shown_ids().is_empty() {
            return Some(match server.tab {
                Tab::Threads => {
                    &["server.new_run", "server.assistants", "app.refresh", "app.back", "app.command", "app.help"]
                }
                Tab::Runs => {
                    &["server.new_run", "server.threads", "app.refresh", "app.back", "app.command", "app.help"]
                }
                Tab::Assistants => &["server.threads", "app.refresh", "app.back", "app.command", "app.help"],
            });
        }
        match server.tab {
            Tab::Assistants => Some(&[
                "server.open",
                "server.describe",
                "server.threads",
                "server.filter",
                "app.back",
                "app.command",
                "app.help",
            ]),
            Tab::Runs => Some(&[
                "server.open",
                "server.new_run",
                "server.describe",
                "server.threads",
                "app.back",
                "app.command",
                "app.help",
            ]),
            Tab::Threads => None,
        }
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let Some(server) = &mut self.server else { return };
        let ids = server.shown_ids();
        server.picker().clamp(&ids, height(cx.area));
        // Near the end of the list, request more rows if there may be more.
        let full = ids.len() >= server.limit && server.tab != Tab::Assistants;
        let at = server.picker().at(&ids).unwrap_or(0);
        if full && at + 5 >= ids.len() && server.limit < MAX_ROWS {
            server.limit += PAGE;
        }
    }

    fn subscriptions(&self, cx: &Cx<'_>, out: &mut Vec<Subscription>) {
        let Some(server) = self.server.as_ref().filter(|_| cx.is_shown) else { return };
        let of = server.server.clone();
        let epoch = cx.session.epoch_of(&of.profile);
        match (&server.tab, &server.runs_of) {
            (Tab::Threads, _) => {
                let threads = Subscription::new(SubscriptionId::Threads(of.clone()), epoch, SubscriptionKind::Name);
                out.push(threads.with_limit(server.limit));
                out.push(Subscription::new(SubscriptionId::ThreadStatuses(of), epoch, SubscriptionKind::Name));
            }
            (Tab::Runs, Some(thread)) => {
                let runs = Subscription::new(SubscriptionId::Runs(of, thread.clone()), epoch, SubscriptionKind::Name);
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

impl Composer {
    /// Starts the composed run, or reports why it can't be started.
    fn start(&self, cx: &Cx<'_>) -> Requests {
        if !cx.is_seen {
            return Requests::none();
        }
        match self.target() {
            Ok(target) => {
                let run = Route::Run(self.server.clone(), Box::new(target), self.modes.clone());
                Requests::from(Request::Close).and(run)
            }
            Err(why) => Requests::error(why),
        }
    }
}

impl Component for Composer {
    fn context(&self) -> Context {
        Context::Composer
    }

    fn action(&mut self, _cx: &Cx<'_>, _action: Action) -> Requests {
        Requests::none()
    }

    /// Handles a key. Only the composer's own keys, and keys that a text field doesn't accept, are not typed.
    fn key(&mut self, cx: &Cx<'_>, key: Key) -> Option<Requests> {
        Some(match cx.session.keymap.action(Context::Composer, key) {
            Some(Action::Start) => self.start(cx),
            Some(Action::Back) => Request::Close.into(),
            Some(action @ (Action::NextField | Action::PrevField)) => {
                self.next_field(if action == Action::NextField { 1 } else { -1 });
                Requests::none()
            }
            action => match action.and_then(Requests::while_typing) {
                Some(requests) => requests,
                None => {
                    Composer::key(self, key);
                    Requests::none()
                }
            },
        })
    }

    fn paste(&mut self, _cx: &Cx<'_>, text: &str) {
        Composer::paste(self, text);
    }

    fn profile(&self) -> Option<&str> {
        Some(&self.server.profile)
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        compose_view::compose(self, cx, canvas)
    }
}
