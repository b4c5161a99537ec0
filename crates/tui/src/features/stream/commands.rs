//! The commands of a stream: those of its thread, of the view and of a search.

use super::viewer::Viewer;
use super::views::View;
use super::views::stream_view::EntryKind;
use crate::input::action::{Action, Context};
use crate::input::commands::{Commands, Hint, MAX_HINTS};
use crate::input::keymap::Binding;
use crate::session::Session;
use crate::session::thread::{Offers, approve_label};
use runtail_core::model::ThreadStatus;

/// Returns the commands of the shown stream. The footer has those of the thread's status first.
pub(super) fn commands(viewer: &Viewer, on: &Session) -> Commands {
    let all = Commands::of(Context::Stream)
        .retain(|row| has(viewer, row))
        .footer(&[]);
    with_search(viewer, viewer.view().of().commands(viewer, on, all))
}

/// Returns whether the stream has a command, whatever is under the cursor.
fn has(viewer: &Viewer, row: &Binding) -> bool {
    let (view, has_server) = (viewer.view(), !viewer.is_recording());
    let is_offered = match row.action {
        Action::NextPane | Action::PrevPane | Action::Zoom => viewer.is_split(),
        // A checkpoint is copied from the server.
        Action::Describe if view == View::Events => true,
        Action::Describe => has_server && viewer.thread_id.is_some(),
        Action::Again => has_server || view != View::Steps,
        action if acts_on_server(action) => has_server,
        Action::TakeEvents => viewer.leaves_events(),
        Action::FoldAll | Action::UnfoldAll => view != View::State || !viewer.shows_changes(),
        Action::Play => has_server || view != View::Graph,
        Action::Update => has_server,
        _ => true,
    };
    // The state of a shown checkpoint can be edited in any view.
    let is_of_checkpoint = row.action == Action::Update && viewer.shown_checkpoint().is_some();
    is_offered && (is_of_checkpoint || row.works_in(view.title()))
}

/// Shows the keys of a search, a filter and the past.
fn with_search(viewer: &Viewer, mut all: Commands) -> Commands {
    let kind = viewer.view().kind();
    let in_tree = kind == EntryKind::Document;
    let is_searching = !(viewer.searched().is_empty() || in_tree && viewer.shows_changes());
    // The keys of an active search or filter are more useful than all but the first of the others.
    let is_filtering = is_searching || !viewer.finding().filter.text().is_empty();
    if is_filtering {
        all = all.keep(MAX_HINTS - 1 - usize::from(is_searching));
    }
    if viewer.only_run().is_some() {
        all = all.keep(MAX_HINTS - 3);
    }
    let mut shown: Vec<Hint> = Vec::new();
    if is_searching {
        shown.push(("stream.next_problem", None));
    }
    if is_filtering {
        shown.push(("app.back", Some("clear")));
    }
    if viewer.only_run().is_some() {
        if !is_filtering {
            shown.push(("app.back", Some("all runs")));
        }
        let others = [
            (true, "stream.slide_on", "next run"),
            (false, "stream.slide_back", "previous run"),
        ];
        let exists = |(forward, ..): &(bool, _, _)| viewer.other_run(*forward).is_some();
        let others = others.into_iter().filter(exists);
        shown.extend(others.map(|(_, id, label)| (id, Some(label))));
    }
    let can_follow = viewer.playhead().is_some() || !viewer.follows() && !kind.has_own_cursor();
    if can_follow && viewer.shown_checkpoint().is_none() {
        shown.push(("stream.follow", None));
    }
    if !(is_searching && in_tree) {
        shown.push(("stream.search", None));
    }
    all.show(shown)
}

/// Shows the keys for the thread, or for what is shown in its place.
pub(super) fn for_thread(viewer: &Viewer, on: &Session, all: Commands) -> Commands {
    if viewer.is_recording() {
        // There is no server to act on.
        let has_events = viewer.event_log.first_seq().is_some();
        return all.show(has_events.then_some(("stream.again", Some("play"))));
    }
    match viewer.shown_checkpoint() {
        // The keys act on the shown checkpoint.
        Some(checkpoint) => for_checkpoint(
            viewer,
            on,
            checkpoint.of.is_head,
            "run again from here",
            all,
        )
        .show([("stream.details", None), ("stream.follow", None)]),
        None => all.show(status_hints(viewer, on)),
    }
}

/// Returns what the thread's server offers, and whether it may be changed.
fn offers(viewer: &Viewer, on: &Session) -> (Offers, bool) {
    let offers = viewer.offers(on.server_kind(&viewer.server));
    (offers, !on.is_read_only(&viewer.server.profile))
}

/// Shows the keys for a checkpoint. An edit of an older one begins a branch, and a run continues there.
pub(super) fn for_checkpoint(
    viewer: &Viewer,
    on: &Session,
    is_head: bool,
    again_label: &'static str,
    all: Commands,
) -> Commands {
    let (offers, can_act) = offers(viewer, on);
    let again = can_act && offers.continues;
    let edit = can_act && (is_head || offers.continues);
    let edit_label = (!is_head).then_some("edit state and run");
    all.show(again.then_some(("stream.again", Some(again_label))))
        .show(edit.then_some(("stream.edit_state", edit_label)))
}

/// Returns the hints for the thread's status, as far as its server offers them.
fn status_hints(viewer: &Viewer, on: &Session) -> Vec<Hint> {
    let (offers, can_act) = offers(viewer, on);
    let explain = ("stream.explain", None);
    let can_continue = can_act && offers.continues;
    match viewer.thread_status() {
        ThreadStatus::Failed { .. } if can_act => match viewer.again_label(offers) {
            Some(label) => vec![explain, ("stream.again", Some(label))],
            None => vec![explain, ("stream.new_run", None)],
        },
        ThreadStatus::Waiting { questions, .. } if can_act => {
            let approve = approve_label(questions);
            let approve = approve.map(|label| ("stream.approve", Some(label)));
            [("stream.answer", None)]
                .into_iter()
                .chain(approve)
                .collect()
        }
        ThreadStatus::Paused { .. } | ThreadStatus::Stopped { .. } if can_continue => {
            vec![explain, ("stream.answer", Some("continue"))]
        }
        ThreadStatus::Paused { .. } | ThreadStatus::Stopped { .. } if can_act => {
            vec![explain, ("stream.new_run", None)]
        }
        ThreadStatus::Running { .. } | ThreadStatus::Queued { .. } if can_act && offers.cancels => {
            vec![("stream.cancel", None)]
        }
        ThreadStatus::Cancelled { next, .. } | ThreadStatus::Edited { next, .. }
            if can_continue && !next.is_empty() =>
        {
            vec![explain, ("stream.answer", Some("continue"))]
        }
        ThreadStatus::Idle { .. }
        | ThreadStatus::Cancelled { .. }
        | ThreadStatus::Edited { .. }
            if can_act =>
        {
            let details = (viewer.view() == View::Events).then_some("report");
            vec![("stream.new_run", None), ("stream.details", details)]
        }
        ThreadStatus::Loading => Vec::new(),
        _ => vec![explain],
    }
}

/// Returns whether an action needs the stream's server.
pub(super) fn acts_on_server(action: Action) -> bool {
    use Action::*;
    matches!(
        action,
        Modes
            | NewRun
            | OpenLink
            | Answer
            | Approve
            | CancelRun
            | RollbackRun
            | Again
            | Describe
            | Delete
    )
}
