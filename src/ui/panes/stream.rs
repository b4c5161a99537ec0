//! The stream viewer: where it comes from, how the connection is, the tabs of its views, and the view's lines.

use crate::app::layout::{Area, Half, below, halves};
use crate::app::line::{Line, Tone};
use crate::app::msg::{ServerRef, StreamTarget};
use crate::app::open::STREAM_HEAD;
use crate::app::tabs;
use crate::app::viewer::{LinkState, View, Viewer};
use crate::app::{App, Pane, view_lines};
use crate::stream::{Outcome, Target};
use crate::text;
use crate::ui::Canvas;
use std::time::Duration;

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
    if head > STREAM_HEAD {
        canvas.line_for_right(area.x + 1, y, inner, &tabs::streams(app, inner));
        y += 1;
    }
    let mut crumbs = crumbs(app, viewer, focused);
    if let Some(size) = app.recorded(viewer.id) {
        crumbs = crumbs.right(Tone::Bad, "● ").right(Tone::Dim, &format!("REC {}  ", text::bytes(size)));
    }
    for piece in link_line(app, viewer).left {
        crumbs.right.push(piece);
    }
    let views = tabs::views(app, viewer, inner);
    // What was let go is counted with the views, where there is room.
    if let Some(gone) = tabs::let_go(viewer).filter(|gone| !views.right.contains(gone)) {
        crumbs.right.insert(0, gone);
    }
    canvas.line_for_right(area.x + 1, y, inner, &crumbs);
    canvas.line_for_right(area.x + 1, y + 1, inner, &views);
    let past = || Some(view_lines::past::line(&viewer.standing()?, inner.into(), &app.settings.tz));
    let line = view_lines::find::line(viewer).or_else(past).or_else(|| third_line(app, viewer, inner));
    if let Some(line) = line {
        canvas.line(area.x + 1, y + 2, inner, &line);
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

/// Where the stream comes from.
fn crumbs(app: &App, viewer: &Viewer, focused: bool) -> Line {
    let mut crumbs = breadcrumb(app, &viewer.server, focused);
    if let Some(thread) = &viewer.thread_id {
        crumbs.push(Tone::Dim, " › ");
        crumbs.push(Tone::Plain, &format!("thread {}", text::short_id(thread)));
    }
    match (&viewer.target, &viewer.run_id) {
        (StreamTarget::Tail { .. }, _) | (StreamTarget::Recording { .. }, None) => {}
        (_, Some(run)) => {
            crumbs.push(Tone::Dim, " › ");
            crumbs.push(Tone::Plain, &format!("run {}", text::short_id(run)));
        }
        (StreamTarget::Start { on: Target::Stateless, .. }, None) => crumbs.push(Tone::Dim, " › stateless run"),
        (_, None) => crumbs.push(Tone::Dim, " › new run"),
    }
    crumbs
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

/// What state the connection is in, in a few words.
fn link_line(app: &App, viewer: &Viewer) -> Line {
    let line = Line::new();
    match &viewer.link {
        LinkState::Connecting { .. } if viewer.is_recording() => {
            line.with(Tone::Moving, "◐ ").with(Tone::Plain, "reading")
        }
        LinkState::Connecting { since, conn } => {
            let waited = Duration::try_from(app.now - *since).unwrap_or_default();
            let again = if *conn > 1 { format!(" again ({conn})") } else { String::new() };
            line.with(Tone::Moving, "◐ ").with(Tone::Plain, &format!("connecting{again} {}", text::age(waited)))
        }
        LinkState::Live { conn } => {
            if viewer.standing().is_some() {
                // What comes meanwhile is not on the screen.
                return line.with(Tone::Dim, "goes on");
            }
            if let Some(pulse) = viewer.pulse(app.now) {
                return pulse;
            }
            let rate = viewer.projections.ledger.rate(app.now);
            let mut line = line.with(Tone::Good, "▶ LIVE");
            if rate >= 1.0 {
                line.push(Tone::Dim, &format!("  {} ev/s", text::count(rate.round() as u64)));
            }
            if *conn > 1 {
                line.push(Tone::Dim, &format!("  conn {conn}"));
            }
            line
        }
        LinkState::Retrying { attempt, until, .. } => {
            let wait = Duration::try_from(*until - app.now).unwrap_or_default();
            line.with(Tone::Moving, "◐ ")
                .with(Tone::Strong, &format!("reconnecting ({attempt}) in {}", text::age(wait)))
        }
        LinkState::Ended(end) => {
            let (glyph, tone) = tabs::glyph(viewer);
            line.with(tone, glyph).with(Tone::Plain, &format!("ended: {}", end.outcome.as_str()))
        }
        LinkState::Failed(error) => line.with(Tone::Bad, "✗ ").with(Tone::Plain, &error.badge()),
    }
}

/// What needs saying about the connection or the state shown; else the line stays free.
fn third_line(app: &App, viewer: &Viewer, width: u16) -> Option<Line> {
    let about_state = || view_lines::state::about(viewer, width.into(), &app.settings.tz);
    match &viewer.link {
        LinkState::Retrying { why, .. } => return Some(Line::of(Tone::Dim, why)),
        LinkState::Failed(error) => return Some(Line::of(Tone::Bad, &error.story().replace('\n', " · "))),
        // Who reads a state knows by now how the stream ended.
        _ if viewer.view() == View::Values && !viewer.follows() => return about_state(),
        LinkState::Ended(end) => {
            if end.outcome == Outcome::Interrupted {
                let question = end.detail.as_deref().unwrap_or("an answer");
                return Some(
                    Line::of(Tone::Moving, "waits for ").with(Tone::Plain, question).right(Tone::Dim, "a answers"),
                );
            }
            if let Some(detail) = &end.detail {
                let tone = if end.outcome == Outcome::Error { Tone::Bad } else { Tone::Dim };
                return Some(Line::of(tone, detail));
            }
        }
        _ => {}
    }
    if viewer.shown().iter().any(|(view, _)| *view == View::Values) {
        return about_state();
    }
    if viewer.is_recording() {
        return Some(Line::of(Tone::Dim, "R plays it from its start   , . step   < > slide   S speed"));
    }
    Some(viewer.modes.line())
}

/// Why a view with entries shows none: nothing fits its filter, as far as it was looked through.
fn sifted(viewer: &Viewer, view: View) -> Option<(Tone, String)> {
    let filter = viewer.finding().filter.text();
    if viewer.count(view) == 0 || filter.is_empty() || matches!(view, View::Values | View::Ledger) {
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
        View::Values => "No state yet. It comes from the stream modes values and state_update, and from checkpoints.",
        View::Timeline => "No tasks yet. They come best from the stream mode tasks, else from updates and messages.",
        View::Custom => "No custom events yet. They come from the stream mode custom, where a node writes some.",
        View::Lifecycle | View::Raw | View::Ledger => "Nothing has come yet.",
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
