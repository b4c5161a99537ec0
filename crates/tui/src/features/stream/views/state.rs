//! The line above a state: its number, namespace, size and the path under the cursor; and, above any document, the
//! search.

use super::{clock, namespace};
use crate::features::stream::viewer::{View, Viewer};
use crate::widgets::diff_lines::tail;
use crate::widgets::line::{Line, Tone};
use jiff::tz::TimeZone;
use runtail_core::text;
use runtail_stream::projection::Snapshot;

/// Returns the line below the tabs for the State view.
pub fn about(viewer: &Viewer, width: usize, tz: &TimeZone) -> Option<Line> {
    let number = viewer.state_shown().or(viewer.snapshot)?;
    let snapshot = viewer.snapshot_at(number)?;
    let count = text::count(viewer.count(View::State));
    let is_checkpoint = viewer.shown_checkpoint().is_some();
    // The time of a replayed or empty state may be unknown.
    let at = snapshot.at.map(|at| clock(at, tz));
    let mut line = match (is_checkpoint, at) {
        (true, Some(at)) => Line::dim(&format!("the state saved at {at} · ")),
        (true, None) => Line::dim("the state saved there · "),
        (false, at) => {
            let at = at.map(|at| format!(" · {at}")).unwrap_or_default();
            Line::dim(&format!(
                "state {} of {count}{at} · ",
                text::count(number + 1)
            ))
        }
    };
    if !is_checkpoint {
        push_source(&mut line, snapshot);
    }
    line.push_plain(&text::bytes(snapshot.size as u64));
    if let Some((done, all)) = viewer.state.as_ref().and_then(|tree| tree.progress()) {
        let share = done * 100 / all.max(1);
        line.push_dim(" · ");
        line.push_moving(&format!("reading {} … {share}%", text::bytes(all as u64)));
        return Some(line);
    }
    if let Some(found) = viewer
        .state
        .as_ref()
        .filter(|_| !viewer.shows_changes())
        .and_then(|tree| tree.search_line())
    {
        line.push_dim(" · ");
        line.left.extend(found.left);
    }
    // The log of a checkpoint has only one state.
    let hint = if is_checkpoint {
        ""
    } else {
        "[ earlier  ] later"
    };
    let room = width.saturating_sub(line.width() + hint.len() + 5);
    match viewer
        .path_under_cursor()
        .filter(|path| path != "." && !viewer.follows())
    {
        Some(path) => {
            line.push_dim(" · ");
            line.push_accent(&tail(&text::clean(text::tail(&path, 4 * room + 8)), room));
        }
        None if is_checkpoint => {}
        None => {
            let changed: Vec<&str> = snapshot
                .keys
                .iter()
                .filter(|k| k.changed)
                .map(|k| text::head(&k.name, 4 * room))
                .collect();
            if !changed.is_empty() {
                line.push_dim(" · changed: ");
                line.push_plain(&text::seen(&changed.join(", "), room.saturating_sub(9)));
            }
        }
    }
    Some(line.right(Tone::Dim, hint))
}

fn push_source(line: &mut Line, snapshot: &Snapshot) {
    if !snapshot.ns.is_empty() {
        line.push(Tone::Ns, &format!("{} · ", namespace(&snapshot.ns)));
    }
    if let Some(word) = snapshot.source.word() {
        line.push_dim(&format!("{word} · "));
    }
}

/// Returns the base of a comparison, shown after the counts of changes.
pub fn since(number: u64, snapshot: &Snapshot, marked: bool, tz: &TimeZone) -> Line {
    let which = if marked { "the marked state" } else { "state" };
    let at = snapshot
        .at
        .map(|at| format!(", {}", clock(at, tz)))
        .unwrap_or_default();
    let mut line = Line::dim(&format!(" since {which} {}{at}", text::count(number + 1)));
    if !snapshot.ns.is_empty() {
        line.push(Tone::Ns, &format!(" in {}", namespace(&snapshot.ns)));
    }
    line
}
