//! What the Steps view does with checkpoints: loads them, shows, edits and compares their states, and runs again from them.

use super::load::{Arrived, Known, failure_text};
use super::{Purpose, StepsState};
use crate::features::stream::StreamState;
use crate::features::stream::viewer::{OfHistory, Viewer};
use crate::features::stream::views::View;
use crate::input::action::Action;
use crate::session::checkpoints::{CheckpointDetails, CheckpointState};
use crate::session::msg::{
    Epoch, Subscription, SubscriptionEvent, SubscriptionId, SubscriptionKind,
};
use crate::session::subject::Subject;
use crate::session::{Requests, Route, Session};
use runtail_api::{ForkChange, ThreadIntent};
use runtail_core::json::Peek;
use runtail_core::model::state_document;
use runtail_core::text;
use std::sync::Arc;

/// Maximum bytes of a state that is edited in the dashboard.
const MAX_EDITED: usize = 1 << 20;

impl Viewer {
    /// Requests what the Steps view needs.
    pub(in crate::features::stream) fn request_history(&mut self, number: impl Fn() -> u64) {
        let loaded = self.present().status.loaded();
        let known = Known {
            thread: self.thread_id.clone(),
            snapshot: loaded.map(|loaded| loaded.seq),
            refreshes: self.refreshes,
        };
        match self.is_recording() {
            true => self.views.steps.show_recorded(),
            false => self.views.steps.request(known, number),
        }
    }
}

impl StreamState {
    /// Adds the requests of the Steps views.
    pub(in crate::features::stream) fn history_subscriptions(&self, out: &mut Vec<Subscription>) {
        for viewer in self.tabs.all() {
            let Some(thread) = viewer.thread() else {
                continue;
            };
            for (number, request) in viewer.views.steps.requests() {
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
            .find(|viewer| viewer.views.steps.has_request(number));
        let Some(viewer) = requested else {
            return Requests::none();
        };
        // What was awaited would cover what the user reads now.
        let shows_states = matches!(viewer.view(), View::Steps | View::State);
        let is_of_history = shows_states || viewer.shown_checkpoint().is_some();
        let is_watched = is_shown == Some(viewer.id) && is_of_history;
        if !is_watched {
            viewer.views.steps.await_nothing();
        }
        let arrived = match event {
            SubscriptionEvent::Checkpoints(page) => {
                viewer.views.steps.on_page(number, page.clone());
                Arrived::Nothing
            }
            SubscriptionEvent::CheckpointState(state) => {
                viewer.views.steps.on_state(number, state.clone())
            }
            SubscriptionEvent::CheckpointDetails(details) => {
                viewer.views.steps.on_details(number, details.clone())
            }
            _ => Arrived::Nothing,
        };
        match arrived {
            Arrived::Nothing => Requests::none(),
            Arrived::State(purpose, id, state) => use_state(viewer, purpose, &id, &state),
            Arrived::Details(id, details) => show_details(&viewer.views.steps, &id, details),
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

/// Returns the newest checkpoint by the thread's record.
pub(super) fn newest(viewer: &Viewer) -> Option<&str> {
    let records = viewer.projections.status.thread_records();
    records.state?.checkpoint_id.as_deref()
}

/// Runs again from a checkpoint, edits its state, or opens it.
pub fn act_on_checkpoint(
    viewer: &mut Viewer,
    session: &Session,
    id: Option<String>,
    action: Action,
) -> Requests {
    let is_sealed = session.is_read_only(&viewer.server.profile) && !viewer.is_recording();
    if id.is_none() && !viewer.is_recording() {
        let why = viewer
            .views
            .steps
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

/// Uses the state at a checkpoint, once it is loaded.
pub(in crate::features::stream::views) fn with_state(
    viewer: &mut Viewer,
    id: Option<String>,
    purpose: Purpose,
) -> Requests {
    if viewer.is_recording() {
        return Requests::info("A recording has no states of checkpoints.");
    }
    let steps = &mut viewer.views.steps;
    let Some(id) = id else {
        return Requests::none();
    };
    if let Some(why) = steps.state_failure(&id) {
        return Requests::error(why);
    }
    match steps.states.get(&id).cloned() {
        Some(state) => use_state(viewer, purpose, &id, &state),
        None => {
            steps.awaited = Some((id, purpose));
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
    match viewer.views.steps.all().is_empty() {
        true => newest(viewer) == Some(id),
        false => viewer.views.steps.all().find(id) == Some(0),
    }
}

/// Shows the state at a checkpoint in all views, one of them first.
fn go_there(viewer: &mut Viewer, view: View, id: &str, state: &CheckpointState) -> Requests {
    let steps = &viewer.views.steps;
    let entry = steps
        .all()
        .find(id)
        .map(|at| steps.all().entries()[at].clone())
        .unwrap_or_default();
    let text = format!("All views show {}.", steps.step_name(id));
    // Its time distinguishes it from the same step of another branch.
    let name = entry
        .step
        .map_or_else(|| steps.step_name(id), |step| format!("step {step}"));
    let of = OfHistory {
        id: id.to_string(),
        name,
        at: entry.at,
        is_head: steps.all().find(id) == Some(0),
        running: steps.run_that_continued(id),
    };
    viewer.show_checkpoint(of, Peek::of(state.text()));
    viewer.show(view);
    Requests::info(text)
}

/// Loads a checkpoint as the server has it, with the states of its subgraphs.
fn details(viewer: &mut Viewer, session: &Session, id: Option<String>) -> Requests {
    if viewer.is_recording() {
        return Requests::info("A recording has no states of checkpoints.");
    }
    let Some(id) = id else {
        return Requests::none();
    };
    viewer
        .views
        .steps
        .request_details(id, session.next_stream.take());
    Requests::info("Loading the checkpoint…")
}

/// Opens a checkpoint as the server has it. Each waiting subgraph's state is at its task.
fn show_details(steps: &StepsState, id: &str, details: CheckpointDetails) -> Requests {
    let title = format!(
        "{} · checkpoint {}",
        steps.step_name(id),
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
        ([], []) => out.notify(false, "The checkpoint as the server has it."),
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
pub(super) fn compare_branches(steps: &mut StepsState, key: &str) -> Requests {
    let Some(split) = steps.under_cursor().and_then(|at| steps.all().split(at)) else {
        return Requests::info(match steps.loading.is_complete {
            true => "No other branch begins here or before.",
            false => "No other branch begins in the loaded history.",
        });
    };
    let shown = steps.base.as_deref().and_then(|id| steps.all().find(id));
    let is_compared = steps.under_cursor() == Some(split.tip);
    let at = split
        .others
        .iter()
        .position(|other| is_compared && Some(*other) == shown);
    let next = at.map_or(0, |at| (at + 1) % split.others.len());
    let id = |at: usize| steps.all().entries()[at].id.clone();
    let (base, tip, fork) = (id(split.others[next]), id(split.tip), id(split.fork));
    steps.base = Some(base.clone());
    steps.is_open = true;
    steps.wanted = Some(tip.clone());
    let names = [&base, &tip, &fork].map(|id| steps.step_name(id));
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
        return Requests::error("Only states that are JSON objects can be edited.");
    };
    let original: Arc<str> = values.as_str().into();
    let name = format!(
        "{} of {}",
        viewer.views.steps.step_name(id),
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
