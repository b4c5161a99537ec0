//! The stream viewer: where it comes from, how the connection is, the tabs of its views, and the view's lines.

use crate::app::layout::{Area, Half, below, halves};
use crate::app::line::{Line, Tone};
use crate::app::msg::{ServerRef, StreamTarget};
use crate::app::tabs;
use crate::app::viewer::{LinkState, View, Viewer};
use crate::app::{App, Pane};
use crate::ui::Canvas;

/// Profile's region and the server's name, with the focus mark.
pub(super) fn breadcrumb(app: &App, server: &ServerRef, focused: bool) -> Line {
    let profile = app.profiles.iter().find(|p| p.name == server.profile);
    let region = profile.map_or(&*server.profile, |p| p.tag());
    let mut line = Line::new();
    if region != &*server.name {
        line.push(Tone::Dim, region);
        line.push(Tone::Dim, " › ");
    }
    line.push(if focused { Tone::Accent } else { Tone::Plain }, &server.name);
    line
}

/// Draws the pane.
pub fn stream(app: &App, viewer: &Viewer, canvas: &mut Canvas<'_>, area: Area) {
    let focused = app.focus == Pane::Stream;
    let head = app.stream_head();
    let rows = below(area, head);
    let mut y = area.y;
    let inner = area.w.saturating_sub(2);
    if app.has_stream_tabs() {
        canvas.line_for_right(area.x + 1, y, inner, &tabs::streams(app, inner));
        y += 1;
    }
    canvas.line_for_right(area.x + 1, y, inner, &tabs::place(app, viewer, inner));
    canvas.line_for_right(area.x + 1, y + 1, inner, &tabs::views(app, viewer, inner));
    for (line, y) in app.stream_notes(viewer, inner).iter().zip(y + 2..area.y + head) {
        // A banner fills its row.
        if let Some(tone) = line.left.first().map(|piece| piece.tone).filter(|tone| tone.is_banner()) {
            canvas.text(area.x, y, area.w, &" ".repeat(area.w.into()), canvas.theme.style(tone));
        }
        canvas.line_for_right(area.x + 1, y, inner, line);
    }
    for half in halves(rows, viewer) {
        if let Some(head) = half.head {
            let title = format!("─ {} ", half.view.title());
            let used = canvas.text(head.x + 1, head.y, head.w, &title, canvas.theme.title(focused && half.focused));
            let rest = head.w.saturating_sub(used + 2);
            let style = canvas.theme.style(Tone::Dim);
            canvas.text(head.x + 1 + used, head.y, rest, &"─".repeat(rest.into()), style);
        }
        view(viewer, canvas, half, focused && half.focused);
    }
}

/// Draws one view.
fn view(viewer: &Viewer, canvas: &mut Canvas<'_>, half: Half, focused: bool) {
    let rows = half.rows;
    let lines = viewer.window(half.view);
    if lines.is_empty() {
        let (tone, words) = sifted(viewer, half.view).unwrap_or_else(|| nothing(viewer, half.view));
        return canvas.words(rows, tone, &words);
    }
    let marks = viewer.marked(half.view);
    for (i, (line, marked)) in lines.iter().enumerate().take(rows.h as usize) {
        let y = rows.y + i as u16;
        canvas.line(rows.x + 2, y, rows.w.saturating_sub(3), line);
        if marks.get(i).is_some_and(|marked| *marked) {
            canvas.text(rows.x, y, 1, "◆", canvas.theme.style(Tone::Strong));
        }
        if *marked {
            let style = canvas.theme.style(if focused { Tone::Accent } else { Tone::Dim });
            canvas.text(rows.x + 1, y, 1, "▌", style);
        }
    }
}

/// Why a view with entries shows none: nothing fits its filter, as far as it was looked through.
fn sifted(viewer: &Viewer, view: View) -> Option<(Tone, String)> {
    let filter = viewer.finding().filter.text();
    if viewer.count(view) == 0 || filter.is_empty() || matches!(view, View::State | View::Delivery) {
        return None;
    }
    let so_far = if viewer.finding().is_scanning() { " so far" } else { "" };
    Some((Tone::Dim, format!("Nothing here fits the filter {filter}{so_far}.\n\n& changes it, Esc takes it away.")))
}

fn nothing(viewer: &Viewer, view: View) -> (Tone, String) {
    if viewer.standing().is_some_and(|standing| standing.at == 0) {
        return (Tone::Dim, "Nothing had come yet: this is before the first event.".into());
    }
    match &viewer.link {
        LinkState::Failed(error) => return (Tone::Bad, format!("{error}\n\nEsc goes back, R tries again.")),
        LinkState::Connecting { .. } if viewer.is_recording() => return (Tone::Dim, "Reading the recording…".into()),
        LinkState::Connecting { .. } => return (Tone::Dim, "Connecting…".into()),
        LinkState::Ended(_) if viewer.tape.last_seq() == 0 => {
            let why = match viewer.target {
                StreamTarget::Join { .. } => {
                    "The server has no events of this run any more.\n\nEvents can be replayed only for runs that were \
                     started as resumable, and only for as long as the server keeps them. The thread's state is kept: \
                     Esc goes back, d on the thread shows it."
                }
                _ => "The stream ended without an event.",
            };
            return (Tone::Plain, why.into());
        }
        _ => {}
    }
    let what = match view {
        View::Messages if viewer.tape.last_seq() > 0 => {
            "No messages in what has come so far. 2 shows the updates, 3 the state, 7 every event."
        }
        View::Messages => "No messages yet. They come from the modes messages-tuple, messages, values and updates.",
        View::Updates => "No updates yet. They come from the stream mode updates.",
        View::State => "No state yet. It comes from the stream modes values and state_update, and from checkpoints.",
        View::Timeline => "No tasks yet. They come best from the stream mode tasks, else from updates and messages.",
        View::Custom => "No custom events yet. They come from the stream mode custom, where a node writes some.",
        View::Runs | View::Raw | View::Delivery => "Nothing has come yet.",
    };
    let wait = match (&viewer.target, viewer.is_open()) {
        (StreamTarget::Tail { .. }, true) => {
            "\n\nThe thread is followed: what runs on it will be seen here. a starts a run on it."
        }
        (_, true) => "\n\nA run that is queued sends nothing until it starts.",
        _ => "",
    };
    (Tone::Dim, format!("{what}{wait}"))
}
