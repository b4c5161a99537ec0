//! The keys that the footer shows: those that make sense where one is, most useful first.

use super::keys::{Context, Keymap};
use super::viewer::{View, Viewer};
use super::{App, Overlay};

/// Keys and what they do, as the footer shows them.
pub type Hints = Vec<(String, &'static str)>;

/// What can be pressed now.
pub fn hints(app: &App) -> Hints {
    let ascii = app.settings.ascii;
    match app.overlays.last() {
        // What can be done differs from list to list, and with how far a change is.
        Some(Overlay::Browse(list)) => app.keymap.hints_of(list.hints(), ascii),
        Some(Overlay::Confirm(confirm)) => app.keymap.hints_of(confirm.hints(), ascii),
        _ => match (app.context(), app.viewer()) {
            (Context::Stream, Some(viewer)) => of_stream(viewer, &app.keymap, ascii),
            (context, _) => app.keymap.hints(context, app.server.as_ref().map(|s| s.tab), ascii),
        },
    }
}

/// Each view offers something else, and a search or a pause asks for its own keys.
fn of_stream(viewer: &Viewer, keymap: &Keymap, ascii: bool) -> Hints {
    let view = viewer.view();
    let (in_tree, changes) = (view == View::Values, viewer.shows_changes());
    let (has_mark, since_mark) = viewer.mark_in_use();
    let searched = !(viewer.searched().is_empty() || in_tree && changes);
    // What a key is called here, where the table's word would mislead.
    let mut ids: Vec<(&str, Option<&'static str>)> = Vec::new();
    match view {
        View::Values if changes => {
            let back = if since_mark { "stream.compare" } else { "stream.difference" };
            ids.extend([("stream.open", Some("go there")), (back, Some("whole state"))]);
        }
        View::Values => ids.extend([("stream.open", Some("fold")), ("stream.difference", None)]),
        View::Timeline => ids.extend([("stream.open", None), ("move.left", Some("fold"))]),
        View::Raw | View::Custom => {
            let how = if viewer.as_received { "in words" } else { "as received" };
            ids.extend([("stream.open", None), ("stream.as_received", Some(how))]);
        }
        View::Ledger => ids.push(("stream.export", None)),
        View::Messages | View::Updates | View::Lifecycle => ids.push(("stream.open", None)),
    }
    if searched {
        ids.push(("stream.next_hit", None));
    }
    let reads = !viewer.follows();
    if reads {
        ids.push(("stream.follow", None));
    }
    if in_tree && !searched && !since_mark {
        ids.push((if has_mark { "stream.compare" } else { "stream.mark" }, None));
    }
    if !(searched && in_tree) {
        ids.push(("stream.search", None));
    }
    let asks = viewer.thread_id.is_some() && viewer.question().is_some();
    match (asks, view) {
        // Nobody is there to answer.
        _ if viewer.is_recording() => ids.push(("stream.replay", None)),
        (true, _) => ids.insert(1, ("stream.new_run", Some("answer"))),
        (false, View::Messages | View::Updates | View::Lifecycle | View::Ledger) => ids.push(("stream.new_run", None)),
        (false, _) => {}
    }
    let finds = searched || !viewer.finding().filter.text().is_empty();
    if !reads && !searched {
        ids.push(("app.zoom", None));
    }
    ids.push(("app.back", finds.then_some("clear")));
    ids.extend([("app.command", None), ("app.help", None)]);
    let named = |(id, label): (&str, Option<&'static str>)| {
        let (key, own) = keymap.hints_of([&id], ascii).pop()?;
        Some((key, label.unwrap_or(own)))
    };
    ids.into_iter().filter_map(named).collect()
}
