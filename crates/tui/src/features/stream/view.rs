//! The stream viewer: its breadcrumb, the connection, the view tabs and the lines of the view.

use super::layout::{Half, halves};
use super::notes::{FIXED_ROWS, head_height, notes};
use super::viewer::{ConnectionState, Viewer};
use super::views::View;
use super::views::stream_view::{DrawnAs, EntryKind};
use super::{StreamState, tab_bar};
use crate::session::Cx;
use crate::session::msg::StreamTarget;
use crate::session::row_lines::{heading, push_fields};
use crate::widgets::area::{Area, below};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, wrap};
use runtail_core::model::ThreadStatus;
use runtail_stream::Seq;

/// Says why the events of finished runs are missing, and where else to look.
fn not_kept(viewer: &Viewer) -> (Tone, String) {
    let other = match viewer.projections.status.state() {
        Some(_) => " Steps and State come from its records.",
        None => "",
    };
    let text = "This server keeps no events of ended runs.";
    (Tone::Dim, format!("{text}{other}"))
}

/// Draws the pane.
pub(super) fn pane(state: &StreamState, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let Some(viewer) = state.tabs.shown() else {
        return;
    };
    let (area, focused) = (cx.area, cx.is_focused);
    let head = head_height(viewer, cx);
    let rows = below(area, head);
    let inner = area.w.saturating_sub(2);
    canvas.line_for_right(
        area.x + 1,
        area.y,
        inner,
        &tab_bar::breadcrumb_line(cx, viewer, inner),
    );
    let y = area.y + FIXED_ROWS;
    canvas.line_for_right(
        area.x + 1,
        y - 1,
        inner,
        &tab_bar::views(state, cx, viewer, inner),
    );
    for (line, y) in notes(viewer, cx, inner).iter().zip(y..area.y + head) {
        // A banner fills its row.
        if let Some(tone) = line
            .left
            .first()
            .map(|piece| piece.tone)
            .filter(|tone| tone.is_banner())
        {
            canvas.text(
                area.x,
                y,
                area.w,
                &" ".repeat(area.w.into()),
                canvas.theme.style(tone),
            );
        }
        canvas.line_for_right(area.x + 1, y, inner, line);
    }
    for half in halves(rows, viewer) {
        let about = half.view.of().about(viewer);
        let about = about.map_or(String::new(), |about| format!(" · {about}"));
        if let Some(frame) = half.frame {
            let is_focused = focused && half.focused;
            let tone = if is_focused { Tone::Focus } else { Tone::Plain };
            let title = format!("{} {}{about}", half.view.digit(), half.view.title());
            canvas.pane_frame(frame, &Line::of(tone, &title), is_focused);
        }
        if let Some(head) = half.head {
            let title = format!("{}{about}", half.view.title());
            canvas.heading(head, &title, focused && half.focused);
        }
        let drawn = DrawnAs {
            is_focused: focused && half.focused,
            is_ascii: cx.session.settings.ascii,
            is_titled: half.is_titled(),
        };
        if let Some(text) = nothing_of_run(viewer, half.view) {
            canvas.words(half.rows, Tone::Dim, &text);
            continue;
        }
        if !half.view.of().draw(viewer, canvas, half.rows, drawn) {
            entries(viewer, canvas, half, drawn.is_focused);
        }
    }
}

/// Draws the entries of a view.
fn entries(viewer: &Viewer, canvas: &mut Canvas<'_>, half: Half, focused: bool) {
    let view = half.view.of();
    let rows = around(viewer, canvas, half.view, half.rows);
    let lines = viewer.window(half.view);
    if lines.is_empty() {
        let (tone, text) =
            no_match_text(viewer, half.view).unwrap_or_else(|| empty_view_text(viewer, half.view));
        return canvas.words(rows, tone, &text);
    }
    let (marks, runs) = (viewer.marked(half.view), view.lines_of_marked_runs(viewer));
    for (i, (line, marked)) in lines.iter().enumerate().take(rows.h as usize) {
        let y = rows.y + i as u16;
        canvas.line(rows.x + 2, y, rows.w.saturating_sub(3), line);
        if marks.get(i).is_some_and(|marked| *marked) {
            canvas.text(rows.x, y, 1, "◆", canvas.theme.style(Tone::Strong));
        } else if runs.get(i).is_some_and(|marked| *marked) {
            canvas.text(rows.x, y, 1, "+", canvas.theme.style(Tone::Accent));
        }
        if *marked {
            let style = canvas
                .theme
                .style(if focused { Tone::Accent } else { Tone::Dim });
            canvas.text(rows.x + 1, y, 1, "▌", style);
        }
    }
    if view.is_blank(viewer) && viewer.shown_checkpoint().is_none() && viewer.playhead().is_none() {
        let mut used = lines.len().min(rows.h.into()) as u16;
        let asked = question_lines(
            viewer,
            rows.w.saturating_sub(3).into(),
            rows.h.saturating_sub(used).into(),
        );
        for line in &asked {
            canvas.line(rows.x + 2, rows.y + used, rows.w.saturating_sub(3), line);
            used += 1;
        }
        if viewer.count(half.view) == 0 {
            canvas.words(
                below(rows, used),
                Tone::Dim,
                &nothing_text(viewer, half.view),
            );
        }
    }
}

/// Returns the lines of the open questions, after an empty line each. The banner has room for only a part of a question.
fn question_lines(viewer: &Viewer, width: usize, room: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for question in viewer.shown_status().questions() {
        lines.push(Line::new());
        // Actions are listed with their arguments.
        let heading = if question.actions().is_empty() {
            heading(question)
        } else {
            String::new()
        };
        for (n, part) in wrap(&heading, width.saturating_sub(2).max(10))
            .iter()
            .enumerate()
        {
            let glyph = if n == 0 { "◆ " } else { "  " };
            lines.extend(
                (!heading.is_empty()).then(|| Line::of(Tone::Waiting, glyph).with_plain(part)),
            );
        }
        push_fields(&mut lines, question, width);
    }
    if lines.len() > room {
        lines.truncate(room);
        if let Some(last) = lines.last_mut() {
            last.push_dim(" …");
        }
    }
    lines
}

/// Draws the lines above and below the entries of a view, and returns the area of the entries.
fn around(viewer: &Viewer, canvas: &mut Canvas<'_>, view: View, area: Area) -> Area {
    let (head, foot) = view.of().around(viewer);
    let (above, below_rows) = (
        head.len().min(area.h.into()) as u16,
        foot.len().min(area.h.into()) as u16,
    );
    let width = area.w.saturating_sub(3);
    // The same node has the same color there as in the rows.
    let colored = |line: &Line| {
        let mut line = line.clone();
        viewer.views.graph.color(&mut line);
        line
    };
    for (line, y) in head.iter().zip(area.y..area.y + above) {
        canvas.line_for_right(area.x + 2, y, width, &colored(line));
    }
    let rows = below(area, above);
    let height = rows.h.saturating_sub(below_rows);
    for (line, y) in foot.iter().zip(rows.y + height..rows.y + rows.h) {
        canvas.line(area.x + 2, y, width, &colored(line));
    }
    Area { h: height, ..rows }
}

/// Explains why a view with entries shows none: no entry scanned so far matches the filter.
fn no_match_text(viewer: &Viewer, view: View) -> Option<(Tone, String)> {
    let filter = viewer.finding().filter.text();
    if viewer.count(view) == 0 || filter.is_empty() || !view.kind().is_filtered() {
        return None;
    }
    let so_far = if viewer.finding().is_scanning() {
        " so far"
    } else {
        ""
    };
    Some((
        Tone::Dim,
        format!("No match for {filter}{so_far}.\n\nPress & to change the filter, Esc to clear it."),
    ))
}

/// Returns the text of a view that has nothing of the run that is shown alone.
fn nothing_of_run(viewer: &Viewer, view: View) -> Option<String> {
    let run = viewer.only_run_name()?;
    if viewer.shown_checkpoint().is_some() || !viewer.finding().filter.text().is_empty() {
        return None;
    }
    let is_empty = match view.kind() {
        EntryKind::Document => viewer.shows_only_records(),
        kind if kind.is_filtered() => {
            !viewer.finding().is_scanning() && viewer.spots(view).is_empty()
        }
        _ => false,
    };
    let name = View::Steps.title();
    let text = match viewer.shows_only_records() {
        true => format!("No events of {run} were received. {name} shows its checkpoints."),
        false => format!("No {} in {run}.", view.facts().empty.0),
    };
    is_empty.then_some(text)
}

/// Returns the text of a view that shows nothing of a saved checkpoint.
fn empty_at_checkpoint(viewer: &Viewer, view: View) -> Option<String> {
    viewer.shown_checkpoint()?;
    let text = view.facts().empty_at_checkpoint;
    Some(format!("{text}\n\nPress G to return to the newest events."))
}

/// Returns the text of an empty view.
fn empty_view_text(viewer: &Viewer, view: View) -> (Tone, String) {
    if viewer
        .playhead()
        .is_some_and(|playhead| playhead.at == Seq::START)
    {
        return (Tone::Dim, "Before the first event.".into());
    }
    if let Some(text) = empty_at_checkpoint(viewer, view) {
        return (Tone::Dim, text);
    }
    let has_events = viewer.event_log.last_seq() > Seq::START;
    match &viewer.connection {
        ConnectionState::Failed(error) if !has_events && !viewer.leaves_events() => {
            return (
                Tone::Bad,
                format!("{error}\n\nPress Esc to go back, r to retry."),
            );
        }
        ConnectionState::Connecting { .. } if viewer.is_recording() => {
            return (Tone::Dim, "Reading the recording…".into());
        }
        // Snapshots are not events: a finished run sends no more events.
        ConnectionState::Ended(_)
            if viewer.has_only_snapshots()
                && matches!(viewer.target, StreamTarget::Join { .. }) =>
        {
            return not_kept(viewer);
        }
        ConnectionState::Ended(_) if !has_events => {
            return (Tone::Plain, "The stream ended without events.".into());
        }
        _ => {}
    }
    let status = viewer.shown_status();
    if viewer.has_thread() && *status == ThreadStatus::Loading {
        let text = if viewer.is_asleep {
            ""
        } else {
            "Loading state…"
        };
        return (Tone::Dim, text.into());
    }
    let is_from_events = matches!(view.kind(), EntryKind::Events | EntryKind::Report);
    // What was never read isn't empty.
    if viewer.has_only_snapshots()
        && viewer.projections.status.state().is_none()
        && let Some(why) = viewer.state_failure()
        && view.facts().empty.0 != "events"
    {
        return (
            Tone::Plain,
            format!("Nothing is known: couldn't load the state ({why}).\n\nPress r to retry."),
        );
    }
    let has_runs = !viewer.projections.status.runs().is_empty();
    if is_from_events
        && has_runs
        && viewer.has_only_snapshots()
        && viewer.is_open()
        && !status.is_active()
    {
        return not_kept(viewer);
    }
    let hint = match (&viewer.target, status.is_active()) {
        (_, true) if matches!(status, ThreadStatus::Queued { .. }) => "\n\nThe run is queued.",
        _ if matches!(status, ThreadStatus::Waiting { .. }) => {
            "\n\nThe thread waits for you: press a."
        }
        (StreamTarget::Tail { .. }, false) if viewer.is_open() => {
            "\n\nFollowing this thread. Press n to start a run."
        }
        _ => "",
    };
    (Tone::Dim, format!("{}{hint}", nothing_text(viewer, view)))
}

/// Says that a view has nothing to show: yet, or at all if the runs are over.
fn nothing_text(viewer: &Viewer, view: View) -> String {
    let (what, more) = view.facts().empty;
    // Without events, no other view has more.
    let is_all = view.kind() == EntryKind::Rows && viewer.has_only_snapshots();
    let more = if is_all { "" } else { more };
    match what {
        "" => String::new(),
        _ if !viewer.is_over() => format!("No {what} yet.{more}"),
        _ => format!("No {what}.{more}"),
    }
}
