//! The History view: its actions, what it tells the viewer, and what it does with arriving parts.

use super::load::{Arrived, Known, failure_text};
use super::{History, Purpose};
use crate::features::stream::StreamState;
use crate::features::stream::commands::for_checkpoint;
use crate::features::stream::viewer::{OfHistory, Viewer};
use crate::features::stream::views::View;
use crate::features::stream::views::stream_view::{
    DrawnAs, ExportedAs, PICTURE, StreamView, ViewFacts,
};
use crate::input::action::Action;
use crate::input::commands::Commands;
use crate::session::checkpoints::{CheckpointDetails, CheckpointState};
use crate::session::msg::{
    Epoch, Subscription, SubscriptionEvent, SubscriptionId, SubscriptionKind,
};
use crate::session::subject::Subject;
use crate::session::{Requests, Route, Session};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::scroll::Move;
use runtail_api::{ForkChange, ThreadIntent};
use runtail_core::json::Peek;
use runtail_core::model::state_document;
use runtail_core::text;
use runtail_stream::SnapshotFields;
use std::sync::Arc;

/// Maximum bytes of a state that is edited in the dashboard.
const MAX_EDITED: usize = 1 << 20;

impl History {
    /// Marks the checkpoint under the cursor as A, or removes the mark.
    fn toggle_base(&mut self) {
        let id = self.id_under_cursor().map(str::to_string);
        self.base = id.filter(|id| self.base.as_ref() != Some(id));
    }

    /// Moves the focus between the tree and the difference.
    fn focus_difference(&mut self, is_wanted: bool) {
        self.is_in_difference = is_wanted && self.shows_difference();
    }

    /// Closes the difference below the tree, or leaves it. Returns false if there is nothing to close.
    pub fn close(&mut self) -> bool {
        self.await_nothing();
        let is_closed = self.is_in_difference || self.is_open_below;
        if !std::mem::take(&mut self.is_in_difference) {
            self.is_open_below = false;
        }
        is_closed
    }
}

impl Viewer {
    /// Requests what the History view needs.
    pub(in crate::features::stream) fn request_history(&mut self, number: impl Fn() -> u64) {
        let loaded = match self.is_recording() {
            // A recording is shown as of an event.
            true => self.projections.status.loaded(),
            false => self.present().status.loaded(),
        };
        let known = Known {
            thread: self.thread_id.clone(),
            snapshot: loaded.map(|loaded| loaded.seq),
            refreshes: self.refreshes,
        };
        if !self.is_recording() {
            return self.views.history.request(known, number);
        }
        let event = loaded.and_then(|loaded| self.event_log.get(loaded.seq));
        let json = event
            .as_ref()
            .and_then(|event| SnapshotFields::read(event.data.text())?.history);
        self.views
            .history
            .show_recorded(known, json.map(Peek::text));
    }
}

impl StreamState {
    /// Adds the requests of the History views.
    pub(in crate::features::stream) fn history_subscriptions(&self, out: &mut Vec<Subscription>) {
        for viewer in self.tabs.all() {
            let Some(thread) = viewer.thread() else {
                continue;
            };
            for (number, request) in viewer.views.history.requests() {
                let kind = SubscriptionKind::History(thread.clone(), request);
                out.push(Subscription::new(
                    SubscriptionId::History(number),
                    Epoch::default(),
                    kind,
                ));
            }
        }
    }

    /// Applies a part of a history.
    pub(in crate::features::stream) fn on_history(
        &mut self,
        number: u64,
        event: &SubscriptionEvent,
    ) -> Requests {
        let is_shown = self.tabs.shown().map(|viewer| viewer.id);
        let requested = self
            .tabs
            .all_mut()
            .iter_mut()
            .find(|viewer| viewer.views.history.has_request(number));
        let Some(viewer) = requested else {
            return Requests::none();
        };
        // What was awaited would cover what the user reads now.
        let is_of_history = viewer.view() == View::History || viewer.shown_checkpoint().is_some();
        let is_watched = is_shown == Some(viewer.id) && is_of_history;
        if !is_watched {
            viewer.views.history.await_nothing();
        }
        let arrived = match event {
            SubscriptionEvent::Checkpoints(page) => {
                viewer.views.history.on_page(number, page.clone());
                Arrived::Nothing
            }
            SubscriptionEvent::CheckpointState(state) => {
                viewer.views.history.on_state(number, state.clone())
            }
            SubscriptionEvent::CheckpointDetails(details) => {
                viewer.views.history.on_details(number, details.clone())
            }
            _ => Arrived::Nothing,
        };
        match arrived {
            Arrived::Nothing => Requests::none(),
            Arrived::State(purpose, id, state) => use_state(viewer, purpose, &id, &state),
            Arrived::Details(id, details) => show_details(&viewer.views.history, &id, details),
            Arrived::Failed(why) => Requests::error(why),
        }
    }

    /// Shows a checkpoint in all views of the shown page, the graph first.
    pub fn show_on_graph(&mut self, id: String) -> Requests {
        let viewer = self.tabs.shown_mut();
        viewer
            .map(|viewer| with_state(viewer, Some(id), Purpose::Show(View::Graph)))
            .unwrap_or_default()
    }

    /// Opens the state at a checkpoint of the shown page in the editor. A run from there follows the edit.
    pub fn edit_checkpoint(&mut self, session: &Session, id: String) -> Requests {
        let Some(viewer) = self.tabs.shown_mut() else {
            return Requests::none();
        };
        match session.is_read_only(&viewer.server.profile) {
            true => Requests::error(session.read_only_text(&viewer.server.profile)),
            false => with_state(viewer, Some(id), Purpose::EditAndRun),
        }
    }
}

/// The History view.
pub struct HistoryTab;

impl StreamView for HistoryTab {
    fn facts(&self) -> ViewFacts {
        ViewFacts {
            title: "History",
            export: ExportedAs::Table(&["", ""]),
            ..PICTURE
        }
    }

    /// Before the history is loaded, the thread's state shows whether there is one.
    fn count(&self, viewer: &Viewer) -> u64 {
        let state = viewer.projections.status.state();
        match viewer.views.history.len() as u64 {
            0 => u64::from(state.is_some_and(|state| !state.is_empty())),
            count => count,
        }
    }

    fn go(&self, viewer: &mut Viewer, to: Move) {
        let history = &mut viewer.views.history;
        match to {
            Move::Step(lines) | Move::Page(lines) => history.step(lines),
            Move::Start | Move::End => history.to_edge(to == Move::Start),
            Move::Point(line) => history.point_at(line),
        }
    }

    fn height(&self, viewer: &Viewer) -> Option<usize> {
        Some(viewer.views.history.height())
    }

    fn own_search<'a>(&self, viewer: &'a Viewer) -> Option<&'a str> {
        Some(viewer.views.history.searched())
    }

    fn search(&self, viewer: &mut Viewer, text: &str) {
        viewer.views.history.search(text);
    }

    fn lay_out(&self, viewer: &mut Viewer, area: Area, is_titled: bool) {
        viewer.views.history.lay_out(area, is_titled);
    }

    fn about(&self, viewer: &Viewer) -> Option<String> {
        Some(viewer.views.history.title())
    }

    fn draw(&self, viewer: &Viewer, on: &mut Canvas<'_>, area: Area, drawn: DrawnAs) -> bool {
        super::view::draw(viewer, on, area, (drawn.is_focused, drawn.is_titled));
        true
    }

    fn commands(&self, viewer: &Viewer, on: &Session, all: Commands) -> Commands {
        let history = &viewer.views.history;
        let (has_states, is_compared) = (history.has_states(), history.shows_difference());
        let can_open = !history.is_empty() && (has_states || !is_compared);
        let of_checkpoint = ["stream.again", "stream.edit_state", "stream.play"];
        let all = match has_states {
            true => for_checkpoint(viewer, on, history.is_at_head(), all),
            false => all,
        };
        all.enable_if(can_open, &["stream.open"])
            .enable_if(has_states, &of_checkpoint)
            .enable_if(history.has_other_branch(), &["stream.compare"])
            .show([
                ("stream.play", Some("set A")),
                ("stream.compare", Some("compare branches")),
                ("stream.open", Some(history.open_label())),
            ])
    }

    fn action(&self, viewer: &mut Viewer, on: &Session, action: Action) -> Option<Requests> {
        let history = &mut viewer.views.history;
        match action {
            Action::Play => history.toggle_base(),
            Action::Collapse => history.difference.toggle_equal(),
            Action::Left => history.focus_difference(false),
            Action::Right => history.focus_difference(true),
            Action::Open if !history.shows_difference() && !history.tree.is_empty() => {
                history.is_open_below = true
            }
            Action::Open | Action::Again | Action::Update | Action::Describe => {
                // Before the first page is loaded, the newest checkpoint is the one that the thread's record names.
                let of_record = || newest(viewer).filter(|_| viewer.views.history.is_empty());
                let id = viewer.views.history.id_under_cursor().or_else(of_record);
                let id = id.map(str::to_string);
                return Some(match action {
                    Action::Open => with_state(viewer, id, Purpose::Show(View::State)),
                    _ => act_on_checkpoint(viewer, on, id, action),
                });
            }
            Action::NextMatch | Action::PrevMatch => {
                let forward = action == Action::NextMatch;
                if !history.next_of_interest(forward) {
                    return Some(Requests::info(nothing_text(history, forward)));
                }
            }
            Action::Export => {
                let how = "`runtail threads history T --tree` prints it.";
                return Some(Requests::info(format!(
                    "The history can't be saved from here. {how}"
                )));
            }
            Action::Compare => return Some(compare_branches(history, &on.key("stream.compare"))),
            // A mark belongs to events of the stream.
            Action::Mark => {
                let key = on.key("stream.play");
                return Some(Requests::info(format!(
                    "Press {key} to set the checkpoint to compare with."
                )));
            }
            _ => return None,
        }
        Some(Requests::none())
    }

    fn has_checkpoints(&self) -> bool {
        true
    }

    fn close(&self, viewer: &mut Viewer) -> bool {
        viewer.views.history.close()
    }

    fn copied(&self, viewer: &Viewer) -> Option<String> {
        viewer.views.history.id_under_cursor().map(str::to_string)
    }

    fn selected_id<'a>(&self, viewer: &'a Viewer) -> Option<&'a str> {
        viewer.views.history.id_under_cursor()
    }
}

/// Returns the newest checkpoint by the thread's record.
fn newest(viewer: &Viewer) -> Option<&str> {
    let records = viewer.projections.status.thread_records();
    records.state?.checkpoint_id.as_deref()
}

/// Runs again from a checkpoint, edits its state, or opens it.
pub(in crate::features::stream) fn act_on_checkpoint(
    viewer: &mut Viewer,
    session: &Session,
    id: Option<String>,
    action: Action,
) -> Requests {
    let is_sealed = session.is_read_only(&viewer.server.profile) && !viewer.is_recording();
    if id.is_none() && !viewer.is_recording() {
        let why = viewer
            .views
            .history
            .loading
            .failure
            .as_ref()
            .map(failure_text);
        return Requests::info(why.unwrap_or_else(|| "No checkpoint is loaded.".into()));
    }
    match action {
        Action::Again => run_again(viewer, id),
        Action::Update if is_sealed => {
            Requests::error(session.read_only_text(&viewer.server.profile))
        }
        Action::Update => with_state(viewer, id, Purpose::Edit),
        _ => details(viewer, session, id),
    }
}

fn nothing_text(history: &History, forward: bool) -> String {
    let place = if forward { "older" } else { "newer" };
    match history.searched() {
        "" => format!("No {place} question, failure or branch point among the loaded checkpoints."),
        text => {
            format!(
                "No {place} checkpoint has {}. States are searched once they are loaded.",
                text::seen(text, 40)
            )
        }
    }
}

/// Uses the state at a checkpoint, once it is loaded.
fn with_state(viewer: &mut Viewer, id: Option<String>, purpose: Purpose) -> Requests {
    if viewer.is_recording() {
        return Requests::info("A recording has the checkpoints, but not the states at them.");
    }
    let history = &mut viewer.views.history;
    let Some(id) = id else {
        return Requests::none();
    };
    if let Some(why) = history.state_failure(&id) {
        return Requests::error(why);
    }
    match history.states.get(&id).cloned() {
        Some(state) => use_state(viewer, purpose, &id, &state),
        None => {
            history.awaited = Some((id, purpose));
            Requests::info("Loading the state…")
        }
    }
}

fn use_state(viewer: &mut Viewer, purpose: Purpose, id: &str, state: &CheckpointState) -> Requests {
    match purpose {
        Purpose::Show(view) => go_there(viewer, view, id, state),
        Purpose::Edit => edit(viewer, id, state, is_head(viewer, id)),
        // An edit of the newest state alone starts no run.
        Purpose::EditAndRun => edit(viewer, id, state, false),
    }
}

/// Returns whether a checkpoint is the newest. Until the history is loaded, the thread's record says so.
fn is_head(viewer: &Viewer, id: &str) -> bool {
    match viewer.views.history.is_empty() {
        true => newest(viewer) == Some(id),
        false => viewer.views.history.tree.find(id) == Some(0),
    }
}

/// Shows the state at a checkpoint in all views, one of them first.
fn go_there(viewer: &mut Viewer, view: View, id: &str, state: &CheckpointState) -> Requests {
    let history = &viewer.views.history;
    let entry = history
        .tree
        .find(id)
        .map(|at| history.tree.entries()[at].clone())
        .unwrap_or_default();
    let text = format!("All views show {}.", history.step_name(id));
    // Its time distinguishes it from the same step of another branch.
    let name = entry
        .step
        .map_or_else(|| history.step_name(id), |step| format!("step {step}"));
    let of = OfHistory {
        id: id.to_string(),
        name,
        at: entry.at,
        is_head: history.tree.find(id) == Some(0),
        running: history.run_that_continued(id),
    };
    viewer.show_checkpoint(of, Peek::of(state.text()));
    viewer.show(view);
    Requests::info(text)
}

/// Loads a checkpoint as the server has it, with the states of its subgraphs.
fn details(viewer: &mut Viewer, session: &Session, id: Option<String>) -> Requests {
    if viewer.is_recording() {
        return Requests::info("A recording has the checkpoints, but not the states at them.");
    }
    let Some(id) = id else {
        return Requests::none();
    };
    viewer
        .views
        .history
        .request_details(id, session.next_stream.take());
    Requests::info("Loading the checkpoint…")
}

/// Opens a checkpoint as the server has it. Each waiting subgraph's state is at its task.
fn show_details(history: &History, id: &str, details: CheckpointDetails) -> Requests {
    let title = format!(
        "{} · checkpoint {}",
        history.step_name(id),
        text::short_id(id)
    );
    let nested = details
        .nested
        .iter()
        .map(|(at, name)| format!("{} in tasks[{at}].state", text::seen(name, 40)));
    let nested: Vec<String> = nested.collect();
    let mut out = Requests::from(Route::Document {
        title,
        text: details.text,
    });
    match (details.missing.as_slice(), nested.as_slice()) {
        ([], []) => out.notify(
            false,
            "The checkpoint as the server has it. No subgraph waits there.",
        ),
        ([], _) => out.notify(
            false,
            format!("States of subgraphs: {}.", nested.join(", ")),
        ),
        ([first], _) => out.notify(true, first.clone()),
        ([first, more @ ..], _) => out.notify(true, format!("{first} ({} more)", more.len())),
    }
    out
}

/// Compares the branch under the cursor with another that begins at the same checkpoint; again, with the next one.
fn compare_branches(history: &mut History, key: &str) -> Requests {
    let Some(split) = history.under_cursor().and_then(|at| history.tree.split(at)) else {
        return Requests::info(match history.loading.is_complete {
            true => "No other branch begins at this checkpoint or before it.",
            false => {
                "No other branch begins before this checkpoint, as far as the history is loaded."
            }
        });
    };
    let shown = history.base.as_deref().and_then(|id| history.tree.find(id));
    let is_compared = history.under_cursor() == Some(split.tip);
    let at = split
        .others
        .iter()
        .position(|other| is_compared && Some(*other) == shown);
    let next = at.map_or(0, |at| (at + 1) % split.others.len());
    let id = |at: usize| history.tree.entries()[at].id.clone();
    let (base, tip, fork) = (id(split.others[next]), id(split.tip), id(split.fork));
    history.base = Some(base.clone());
    history.is_open_below = true;
    history.set_cursor(split.tip);
    let names = [&base, &tip, &fork].map(|id| history.step_name(id));
    let more = match split.others.len() {
        1 => String::new(),
        count => format!(" {key} shows the next of {count}."),
    };
    Requests::info(format!(
        "Branches from {}: {} (A) and {}.{more}",
        names[2], names[0], names[1]
    ))
}

/// Opens the preview of a run from a checkpoint.
fn run_again(viewer: &Viewer, id: Option<String>) -> Requests {
    let (Some(thread), Some(id)) = (viewer.thread_id.clone(), id) else {
        return Requests::none();
    };
    let intent = ThreadIntent::Fork {
        thread,
        checkpoint: Some(id),
        change: ForkChange::Nothing,
    };
    Route::on_thread(viewer.server.clone(), intent).into()
}

/// Opens the values at a checkpoint in the editor.
fn edit(viewer: &Viewer, id: &str, state: &CheckpointState, is_head: bool) -> Requests {
    let Some(thread) = viewer.thread() else {
        return Requests::none();
    };
    let values = state.values();
    if values.len() > MAX_EDITED {
        let (size, most) = (
            text::bytes(values.len() as u64),
            text::bytes(MAX_EDITED as u64),
        );
        return Requests::error(format!(
            "The state has {size}; the editor takes up to {most}."
        ));
    }
    let Some(document) = state_document(values.as_str()) else {
        return Requests::error(
            "The values of this state are not an object, so they can't be edited by key.",
        );
    };
    let original: Arc<str> = values.as_str().into();
    let name = format!(
        "{} of {}",
        viewer.views.history.step_name(id),
        text::short_id(&thread.id)
    );
    let subject = Subject::State {
        thread,
        checkpoint: id.into(),
        is_head,
        original,
        name: name.into(),
    };
    Route::Edit(subject, document).into()
}
