//! The key hints of the footer for the current state, most useful first.

use super::{App, Overlay};
use crate::features::stream::viewer::{View, Viewer};
use crate::input::action::Context;
use crate::input::keymap::{Keymap, binding};
use crate::session::Component;
use crate::session::subject::Subject;
use crate::session::thread::Offers;
use runtail_core::model::{Question, ThreadStatus};

/// Key hints: each key with its label.
pub type Hints = Vec<(String, &'static str)>;

/// Maximum number of hints before the global ones.
const MAX_HINTS: usize = 4;

/// Returns the ids that the footer shows of a list: at most six, the last two for the palette and the help. Lists without those
/// two belong to dialogs in which letters are typed.
fn six<'i>(ids: &[&'i str]) -> Vec<&'i str> {
    let is_last = |id: &&str| matches!(*id, "app.command" | "app.help");
    if !ids.iter().any(is_last) {
        return ids.to_vec();
    }
    let mut shown: Vec<&str> = ids.iter().copied().filter(|id| !is_last(id)).collect();
    if shown.len() > MAX_HINTS {
        // Esc goes back everywhere.
        shown.retain(|id| *id != "app.back");
    }
    shown.truncate(MAX_HINTS);
    shown.extend(["app.command", "app.help"]);
    shown
}

/// Returns the hints for the current state.
pub fn hints(app: &App) -> Hints {
    let ascii = app.session.settings.ascii;
    // A read-only profile refuses actions that write; their keys say so.
    let is_sealed = shown_profile(app).is_some_and(|profile| app.is_read_only(profile));
    let offered = |ids: &[&'static str]| {
        let can = |id: &&&str| !is_sealed || !binding(id).is_some_and(|binding| binding.writes);
        let ids: Vec<&str> = ids.iter().filter(can).copied().collect();
        app.session.keymap.hints_of(&six(&ids), ascii)
    };
    if let Some(Overlay::Edit(editor)) = app.overlays.last()
        && matches!(editor.subject, Subject::Profile(_))
    {
        // A profile has no preview: its servers are checked.
        let hints = match editor.hints() {
            Some(ids) => app.session.keymap.hints_of(ids, ascii),
            None => app.session.keymap.hints(Context::Editor, ascii),
        };
        return hints.into_iter().map(|(key, label)| (key, if label == "preview" { "check" } else { label })).collect();
    }
    // The hints of an overlay depend on its contents, for example on the stage of a change.
    if let Some(ids) = app.overlays.last().and_then(|top| top.hints()) {
        return offered(ids);
    }
    if let Some(Overlay::Why(page)) = app.overlays.last()
        && !page.page.has_action(&app.overlay_cx(true))
    {
        return app.session.keymap.hints_of(&["app.refresh", "app.back", "app.command", "app.help"], ascii);
    }
    match (app.context(), app.viewer()) {
        (Context::Stream, Some(viewer)) => {
            let can_act = !app.is_read_only(&viewer.server.profile);
            let offers = viewer.offers(app.server_kind(&viewer.server));
            stream_hints(viewer, offers, (&app.session.keymap, ascii), can_act)
        }
        (context, _) => {
            let ids = match context {
                Context::Server => app.agent.hints(),
                Context::Deployments | Context::Revisions => app.deployments.hints(context),
                _ => None,
            };
            match ids {
                Some(ids) => offered(ids),
                None => offered(&Keymap::hint_ids(context)),
            }
        }
    }
}

/// Returns the profile that the keys of the top page or list act on, if there is one.
fn shown_profile(app: &App) -> Option<&str> {
    if let Some(top) = app.overlays.last() {
        return top.profile();
    }
    match app.context() {
        Context::Server => app.agent.server.as_ref().map(|open| &*open.server.profile),
        Context::Deployments | Context::Revisions => app.deployments.list.selected().map(|row| &*row.profile_name),
        _ => None,
    }
}

/// Returns the hints of a stream, which depend on the thread's status, the view, an active search and the scroll position.
fn stream_hints(viewer: &Viewer, offers: Offers, (keymap, ascii): (&Keymap, bool), can_act: bool) -> Hints {
    let view = viewer.view();
    let (in_tree, changes) = (view == View::State, viewer.shows_changes());
    let is_searching = !(viewer.searched().is_empty() || in_tree && changes);
    // Each id with a label that replaces the table's where that would mislead.
    let mut ids: Vec<(&str, Option<&'static str>)> = Vec::new();
    if viewer.is_recording() {
        // There is no server to act on.
        if viewer.event_log.first_seq().is_some() {
            ids.push(("stream.again", Some("play")));
        }
    } else if let Some(checkpoint) = viewer.shown_checkpoint() {
        // The keys act on the shown checkpoint.
        ids.extend(checkpoint_hints(checkpoint.is_head, offers, can_act));
        ids.extend([("stream.details", None), ("stream.follow", None)]);
    } else {
        ids.extend(status_hints(viewer, offers, can_act));
    }
    match view {
        View::State if changes => {
            ids.extend([("stream.open", Some("go there")), ("stream.compare", Some("whole state"))])
        }
        View::State => ids.extend([("stream.open", Some("fold")), ("stream.compare", None)]),
        View::Timeline => ids.extend([
            ("stream.open", Some("go to messages")),
            ("stream.unfold_all", Some("zoom")),
            ("stream.collapse", Some("critical path only")),
            ("stream.export", Some("sort")),
        ]),
        View::Raw | View::Custom => {
            let label = if viewer.as_received { "summary" } else { "as received" };
            ids.extend([("stream.open", None), ("stream.as_received", Some(label))]);
        }
        View::Delivery => {
            ids.retain(|(id, _)| *id != "stream.details");
            ids.extend([("stream.open", Some("go there")), ("stream.details", Some("all counters"))]);
            ids.extend([("app.copy", Some("copy as text"))]);
        }
        View::Graph => {
            ids.clear();
            ids.extend([("stream.open", Some("go to last visit")), ("move.left", Some("fold"))]);
            if !viewer.is_recording() && can_act {
                ids.push(("stream.play", Some("breakpoint")));
            }
            ids.push(("stream.split", Some("split")));
            if !viewer.graph.follows() {
                ids.push(("stream.follow", None));
            }
        }
        View::History => {
            ids.clear();
            if viewer.history.has_states() {
                ids.extend(checkpoint_hints(viewer.history.is_at_head(), offers, can_act));
            }
            if viewer.history.has_states() {
                ids.push(("stream.play", Some("set A")));
                ids.push(("stream.open", Some(viewer.history.open_label())));
            }
            if viewer.history.has_states() && viewer.history.has_other_branch() {
                ids.push(("stream.compare", Some("compare branches")));
            }
        }
        View::Messages | View::Updates | View::Runs => ids.push(("stream.open", None)),
    }
    // The keys of an active search or filter are more useful than all but the first of the others.
    let is_filtering = is_searching || !viewer.finding().filter.text().is_empty();
    if is_filtering {
        ids.truncate(MAX_HINTS - 1 - usize::from(is_searching));
    }
    if is_searching {
        ids.push(("stream.next_problem", None));
    }
    if is_filtering {
        ids.push(("app.back", Some("clear")));
    }
    if !viewer.follows() && viewer.shown_checkpoint().is_none() && !matches!(view, View::Graph | View::History) {
        ids.push(("stream.follow", None));
    }
    if !(is_searching && in_tree) {
        ids.push(("stream.search", None));
    }
    ids.truncate(if view == View::History { MAX_HINTS + 1 } else { MAX_HINTS });
    ids.extend([("app.command", Some("commands")), ("app.help", None)]);
    let hint = |(id, label): (&str, Option<&'static str>)| {
        let (key, default_label) = keymap.hints_of([&id], ascii).pop()?;
        Some((key, label.unwrap_or(default_label)))
    };
    ids.into_iter().filter_map(hint).collect()
}

/// Returns the hints for the actions on a checkpoint. An edit of an older one begins a branch, and a run continues there.
fn checkpoint_hints(is_head: bool, offers: Offers, can_act: bool) -> Vec<(&'static str, Option<&'static str>)> {
    let mut ids = Vec::new();
    if can_act && offers.continues {
        ids.push(("stream.again", Some("run again from here")));
    }
    if can_act && (is_head || offers.continues) {
        ids.push(("stream.edit_state", (!is_head).then_some("edit state and run")));
    }
    ids
}

/// Returns the hints for the thread's status, as far as its server offers them.
fn status_hints(viewer: &Viewer, offers: Offers, can_act: bool) -> Vec<(&'static str, Option<&'static str>)> {
    let explain = ("stream.explain", None);
    let can_continue = can_act && offers.continues;
    match viewer.thread_status() {
        ThreadStatus::Failed { .. } if can_act => match viewer.again_label(offers) {
            Some(label) => vec![explain, ("stream.again", Some(label))],
            None => vec![explain, ("stream.new_run", None)],
        },
        ThreadStatus::Waiting { questions, .. } if can_act => {
            let all = if questions.len() > 1 { "approve all" } else { "approve" };
            let approve = questions.iter().all(Question::can_be_approved).then_some(("stream.approve", Some(all)));
            [("stream.answer", None)].into_iter().chain(approve).collect()
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
        ThreadStatus::Idle { .. } | ThreadStatus::Cancelled { .. } | ThreadStatus::Edited { .. } if can_act => {
            vec![("stream.new_run", None), ("stream.details", None)]
        }
        ThreadStatus::Loading => Vec::new(),
        _ => vec![explain],
    }
}
