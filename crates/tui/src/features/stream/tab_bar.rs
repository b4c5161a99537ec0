//! The lines above a stream: the breadcrumb with the thread's status, and the view tabs with the connection. Also finds the
//! view at a column.

use super::StreamState;
use super::viewer::head::Detail;
use super::viewer::{ConnectionState, Viewer};
use super::views::{VIEWS, View};
use crate::session::Cx;
use crate::session::msg::StreamTarget;
use crate::widgets::line::{Line, Piece, Tone};
use crate::widgets::status::tones;
use runtail_core::model::ThreadStatus;
use runtail_core::text;
use runtail_stream::Outcome;
use runtail_stream::projection::Status;

/// How the views are named in their tabs. The shown view always has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    InFull,
    Short,
    ByDigit,
}

/// Returns a short name of a stream: its graph and the end of its thread's id.
pub fn name(viewer: &Viewer) -> String {
    let graph = graph(viewer).unwrap_or_else(|| viewer.server.name.to_string());
    match viewer.thread_id.as_deref().or(viewer.run_id.as_deref()) {
        Some(id) => format!("{graph} {}", last_four(id)),
        None => graph,
    }
}

/// Returns the graph that runs on the thread, from the thread's record.
fn graph(viewer: &Viewer) -> Option<String> {
    // A checkpoint doesn't name the graph of its thread.
    let shown = if viewer.shown_checkpoint().is_some() {
        viewer.present()
    } else {
        &viewer.projections
    };
    let thread = shown.status.thread()?;
    thread
        .graph_id
        .clone()
        .or(thread.assistant_id.as_deref().map(text::short_id))
}

fn last_four(id: &str) -> String {
    let clean = text::clean(text::tail(id, 64)).into_owned();
    let from = clean.char_indices().rev().nth(3).map_or(0, |(at, _)| at);
    clean[from..].to_string()
}

/// Returns the glyph of a stream's thread, or of the stream if there is no thread.
pub fn glyph(viewer: &Viewer) -> (&'static str, Tone) {
    let status = viewer.thread_status();
    if *status != ThreadStatus::Loading {
        return (status.role().glyph(), tones(status.role()).0);
    }
    match &viewer.connection {
        ConnectionState::Live { .. } | ConnectionState::Polling { .. } => ("●", Tone::Good),
        ConnectionState::Connecting { .. } | ConnectionState::Retrying { .. } => {
            ("◐", Tone::Moving)
        }
        ConnectionState::Failed(_) => ("✗", Tone::Bad),
        ConnectionState::Ended(end) => match end.outcome {
            Outcome::Success => ("●", Tone::Good),
            Outcome::Error | Outcome::Timeout => ("✗", Tone::Bad),
            Outcome::Interrupted => ("◆", Tone::Waiting),
            Outcome::Cancelled | Outcome::Detached | Outcome::Unknown => ("■", Tone::Dim),
        },
    }
}

/// Returns the breadcrumb and the thread's status, with the newest run at the right.
pub fn breadcrumb_line(cx: &Cx<'_>, viewer: &Viewer, width: u16) -> Line {
    let badge = match viewer.has_thread() {
        true => viewer.full_badge(cx.session),
        false => Line::new(),
    };
    let full = breadcrumb(cx, viewer, true);
    let run = run_info(viewer);
    // In a narrow pane the run is dropped first, then a part of the breadcrumb; the status stays.
    let fits = |breadcrumb: &Line, right: usize| {
        breadcrumb.width() + 3 + badge.width() + right + 2 <= width as usize
    };
    let mut line = match fits(&full, 0) {
        true => full,
        false => breadcrumb(cx, viewer, false),
    };
    if !badge.left.is_empty() {
        line.push_plain("   ");
    }
    line.left.extend(badge.left);
    let width = usize::from(width);
    let is_alone = viewer.only_run().is_some();
    if let Some(name) = run.last().filter(|_| is_alone) {
        // What hides the other runs is always named.
        line = line.cut(width.saturating_sub(text::width(name) + 2));
    }
    let room = width.saturating_sub(line.width() + 2);
    match run.into_iter().find(|text| text::width(text) <= room) {
        Some(text) => line.right(if is_alone { Tone::Accent } else { Tone::Dim }, &text),
        None => line,
    }
}

/// Returns the place of a stream, in full or without the region and with the end of the id alone.
fn breadcrumb(cx: &Cx<'_>, viewer: &Viewer, is_full: bool) -> Line {
    let profile = cx.session.profile(&viewer.server.profile);
    let region = profile.map_or(&*viewer.server.profile, |p| p.tag());
    let mut line = Line::new();
    if region != &*viewer.server.name && is_full {
        line.push_dim(&format!("{region} › "));
    }
    line.push_dim(&format!("{} › ", viewer.server.name));
    let graph = graph(viewer);
    let id = match (&viewer.thread_id, is_full) {
        (Some(id), true) => text::short_id(id),
        (Some(id), false) => last_four(id),
        (None, _) => String::new(),
    };
    match (&viewer.target, graph) {
        (StreamTarget::Recording { .. }, None) if id.is_empty() => line.push_strong("recording"),
        (_, None) if id.is_empty() => line.push_strong("new run"),
        (_, Some(graph)) => line.push_strong(&format!("{graph} {id}")),
        (_, None) => line.push_strong(&format!("thread {id}")),
    }
    line
}

/// Returns the active run, or the newest one, as texts from longest to shortest: `run 3 · 17 in 15 out`.
fn run_info(viewer: &Viewer) -> Vec<String> {
    let projections = &viewer.projections;
    let alone = viewer.only_run().map(|run| projections.status.run(run));
    let newest = || projections.status.run_of(viewer.shown_status());
    let Some(run) = alone.unwrap_or_else(newest) else {
        return viewer.only_run_name().into_iter().collect();
    };
    let of_run = |id: &str| Status::usage_of(id, projections.messages.items().iter());
    let usage = run
        .run_id
        .as_deref()
        .and_then(of_run)
        .filter(|usage| usage.input + usage.output > 0);
    let tokens = usage.map(|usage| {
        format!(
            "{} in {} out",
            text::count(usage.input),
            text::count(usage.output)
        )
    });
    // A run without an id or a number has no useful name.
    let name = (run.number.is_some() || run.run_id.is_some()).then(|| run.name());
    let name = viewer.only_run_name().or(name);
    let parts: Vec<String> = name.iter().cloned().chain(tokens).collect();
    std::iter::once(parts.join(" · ")).chain(name).collect()
}

/// Returns the view tabs, with the connection at the right. In a narrow pane the names are short, then only the shown view has one.
pub fn views(state: &StreamState, cx: &Cx<'_>, viewer: &Viewer, width: u16) -> Line {
    // The views take precedence over the event rate and ages.
    let details = [Detail::Full, Detail::LastEvent, Detail::Age];
    let choices = [Named::InFull, Named::Short, Named::ByDigit]
        .into_iter()
        .flat_map(|named| details.map(|detail| (named, detail)));
    let drawn = |(named, detail): (Named, Detail)| {
        let mut line = view_tabs(viewer, named);
        line.right = connection(state, cx, viewer, detail).right;
        line
    };
    let fits = |line: &Line| line.width() + right_width(line) + 2 <= width as usize;
    choices
        .map(drawn)
        .find(fits)
        .unwrap_or_else(|| drawn((Named::ByDigit, Detail::Age)))
}

fn view_tabs(viewer: &Viewer, named: Named) -> Line {
    let mut line = Line::new();
    let mut gap = "";
    for view in &VIEWS {
        let chosen = *view == viewer.view();
        let has_content = viewer.count(*view) > 0;
        line.push_plain(gap);
        line.push(
            if chosen { Tone::Accent } else { Tone::Dim },
            &view.digit().to_string(),
        );
        let has_name = named != Named::ByDigit || chosen;
        if has_name {
            let tone = match (chosen, has_content) {
                (true, _) => Tone::Focus,
                (false, true) => Tone::Plain,
                (false, false) => Tone::Dim,
            };
            let name = match (named, view) {
                (Named::Short, View::Messages) => "Msg",
                (Named::Short, View::Timeline) => "Time",
                _ => view.title(),
            };
            line.push(tone, &format!(" {name}"));
        }
        gap = if has_name { "  " } else { " " };
    }
    line
}

/// Returns the state of time travel and of the connection, as right-aligned pieces.
fn connection(state: &StreamState, cx: &Cx<'_>, viewer: &Viewer, detail: Detail) -> Line {
    let is_brief = detail != Detail::Full;
    let mut line = Line::new();
    let mut part = |tone: Tone, text: &str| {
        let piece = Line::new().right(tone, text).right;
        line.right.extend(piece);
    };
    let marks = viewer.finding().marks().len();
    if marks > 0 {
        part(Tone::Strong, &format!("{marks} marked  "));
    }
    if let Some(size) = state.recorded_bytes(viewer.id) {
        part(Tone::Bad, &format!("REC {}  ", text::bytes(size)));
    }
    if let Some(piece) = evicted(viewer) {
        part(piece.tone, &piece.text);
    }
    let delivery = viewer.delivery_log();
    for (count, word) in [
        (delivery.malformed, "malformed"),
        (delivery.too_large, "oversized"),
    ] {
        if count > 0 {
            part(Tone::Bad, &format!("{} {word} · 6  ", text::count(count)));
        }
    }
    let gaps = delivery.gaps;
    if gaps > 0 {
        part(
            Tone::Moving,
            &format!("? {} · 6  ", text::counted(gaps, "gap")),
        );
    }
    if let Some(checkpoint) = viewer.shown_checkpoint() {
        let at = checkpoint
            .of
            .at
            .filter(|_| !is_brief)
            .map(|at| format!(", {}", super::views::clock(at, &cx.session.settings.tz)));
        part(
            Tone::Strong,
            &format!("at {}{} · G  ", checkpoint.of.name, at.unwrap_or_default()),
        );
    }
    match (viewer.playhead(), viewer.follows(), viewer.new_entries()) {
        // The line below has the time and the key, too.
        (Some(_), ..) if is_brief => {}
        (Some(playhead), ..) => {
            let at = playhead.time.map(|time| {
                let age = text::age_since(time, cx.session.now);
                format!(
                    "at {}, {age} ago · G  ",
                    super::views::clock(time, &cx.session.settings.tz)
                )
            });
            part(
                Tone::Strong,
                &at.unwrap_or_else(|| {
                    format!(
                        "at event {} · G  ",
                        text::count(viewer.event_log.events_until(playhead.at).0)
                    )
                }),
            );
        }
        (None, true, _) => {}
        // Nothing arrives that the cursor could miss.
        (None, false, 0) if !viewer.awaits_events() => {}
        (None, false, 0) => part(Tone::Strong, "‖ paused · G  "),
        (None, false, new) => part(Tone::Strong, &format!("‖ {} new · G  ", text::count(new))),
    }
    if cx.is_frozen {
        part(Tone::Badge, "FROZEN · F");
        part(Tone::Plain, "  ");
    }
    if !is_brief {
        line.right.extend(viewer.rate_strip(cx.session.now).left);
    }
    line.right
        .extend(viewer.connection_line(cx.session.now, detail).left);
    line
}

fn right_width(line: &Line) -> usize {
    line.right.iter().map(|p| text::width(&p.text)).sum()
}

/// Returns the number of events that are no longer in memory. A recording still has them.
pub fn evicted(viewer: &Viewer) -> Option<Piece> {
    let count = viewer.event_log.evicted_rows();
    (count > 0).then(|| Piece {
        tone: Tone::Dim,
        text: format!("{} evicted  ", text::count(count)),
    })
}

/// Returns the view whose tab is at a column.
pub fn view_at(
    state: &StreamState,
    cx: &Cx<'_>,
    viewer: &Viewer,
    width: u16,
    column: u16,
) -> Option<View> {
    let line = views(state, cx, viewer, width);
    // Each tab starts with its number.
    let is_number = |piece: &Piece| {
        piece.text.len() == 1 && piece.text.starts_with(|c: char| c.is_ascii_digit())
    };
    let nth = pieces_before(&line, column, is_number)?;
    VIEWS.get(nth.checked_sub(1)?).copied()
}

/// Returns how many of these pieces start at or before a column; `None` past the end of the line.
fn pieces_before(line: &Line, column: u16, is_counted: impl Fn(&Piece) -> bool) -> Option<usize> {
    let mut count = 0;
    let mut end = 0;
    for piece in &line.left {
        count += usize::from(is_counted(piece));
        end += text::width(&piece.text);
        if end > usize::from(column) {
            return Some(count);
        }
    }
    None
}
