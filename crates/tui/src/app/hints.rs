//! The keys that the footer shows: those that make sense where one is, most useful first.

use super::App;
use crate::features::stream::viewer::{View, Viewer};
use crate::input::action::Context;
use crate::input::keymap::Keymap;
use crate::session::Component;
use runtail_core::model::ThreadStatus;

/// Keys and what they do, as the footer shows them.
pub type Hints = Vec<(String, &'static str)>;

/// Hints of a stream before the keys that work everywhere.
const MAX_HINTS: usize = 4;

/// What can be pressed now.
pub fn hints(app: &App) -> Hints {
    let ascii = app.session.settings.ascii;
    // What can be done differs from list to list, and with how far a change is.
    if let Some(ids) = app.overlays.last().and_then(|top| top.hints()) {
        return app.session.keymap.hints_of(ids, ascii);
    }
    match (app.context(), app.viewer()) {
        (Context::Stream, Some(viewer)) => {
            let can_act = !app.is_read_only(&viewer.server.profile);
            of_stream(viewer, &app.session.keymap, can_act, ascii)
        }
        (context, _) => match app.agent.hints().filter(|_| context == Context::Server) {
            Some(ids) => app.session.keymap.hints_of(ids, ascii),
            None => app.session.keymap.hints(context, ascii),
        },
    }
}

/// Each view offers something else, a status its own keys, and a search or a pause asks for its own keys.
fn of_stream(viewer: &Viewer, keymap: &Keymap, can_act: bool, ascii: bool) -> Hints {
    let view = viewer.view();
    let (in_tree, changes) = (view == View::State, viewer.shows_changes());
    let searched = !(viewer.searched().is_empty() || in_tree && changes);
    // What a key is called here, where the table's word would mislead.
    let mut ids: Vec<(&str, Option<&'static str>)> = Vec::new();
    if viewer.is_recording() {
        // There is no server to act on.
        ids.push(("stream.again", Some("play")));
    } else {
        ids.extend(by_status(viewer, can_act));
    }
    match view {
        View::State if changes => {
            ids.extend([("stream.open", Some("go there")), ("stream.compare", Some("whole state"))])
        }
        View::State => ids.extend([("stream.open", Some("fold")), ("stream.compare", None)]),
        View::Timeline => ids.extend([("stream.open", None), ("move.left", Some("fold"))]),
        View::Raw | View::Custom => {
            let how = if viewer.as_received { "summary" } else { "as received" };
            ids.extend([("stream.open", None), ("stream.as_received", Some(how))]);
        }
        View::Delivery => ids.push(("stream.export", None)),
        View::Messages | View::Updates | View::Runs => ids.push(("stream.open", None)),
    }
    // While something is searched for or hidden, its keys matter more than all but the first of the others.
    let finds = searched || !viewer.finding().filter.text().is_empty();
    if finds {
        ids.truncate(MAX_HINTS - 1 - usize::from(searched));
    }
    if searched {
        ids.push(("stream.next_problem", None));
    }
    if finds {
        ids.push(("app.back", Some("clear")));
    }
    if !viewer.follows() {
        ids.push(("stream.follow", None));
    }
    if !(searched && in_tree) {
        ids.push(("stream.search", None));
    }
    ids.truncate(MAX_HINTS);
    ids.extend([("app.command", Some("commands")), ("app.help", None)]);
    let named = |(id, label): (&str, Option<&'static str>)| {
        let (key, own) = keymap.hints_of([&id], ascii).pop()?;
        Some((key, label.unwrap_or(own)))
    };
    ids.into_iter().filter_map(named).collect()
}

/// The keys that the thread's status asks for.
fn by_status(viewer: &Viewer, can_act: bool) -> Vec<(&'static str, Option<&'static str>)> {
    let explain = ("stream.explain", None);
    match viewer.thread_status() {
        ThreadStatus::Failed { .. } if can_act => match viewer.again().label() {
            Some(label) => vec![explain, ("stream.again", Some(label))],
            None => vec![explain, ("stream.new_run", None)],
        },
        ThreadStatus::Waiting { .. } if can_act => vec![("stream.answer", None)],
        ThreadStatus::Paused { .. } | ThreadStatus::Stopped { .. } if can_act => {
            vec![explain, ("stream.answer", Some("continue"))]
        }
        ThreadStatus::Running { .. } | ThreadStatus::Queued { .. } if can_act => vec![("stream.cancel", None)],
        ThreadStatus::Cancelled { next, .. } | ThreadStatus::Edited { next, .. } if can_act && !next.is_empty() => {
            vec![explain, ("stream.answer", Some("continue"))]
        }
        ThreadStatus::Idle { .. } | ThreadStatus::Cancelled { .. } | ThreadStatus::Edited { .. } if can_act => {
            vec![("stream.new_run", None), ("stream.details", None)]
        }
        ThreadStatus::Loading => Vec::new(),
        _ => vec![explain],
    }
}
