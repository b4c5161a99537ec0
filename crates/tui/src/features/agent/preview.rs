//! The selected thread below a wide list of threads: what its row has no room for, and its last message.

use super::listed_status;
use super::state::{Server, Tab};
use super::view::{STUCK_WORD, head};
use crate::session::Cx;
use crate::session::msg::{InboxTarget, ThreadRef};
use crate::session::row_details::{DetailedRow, KnownDetail, RowState};
use crate::session::row_lines::{heading, keys_line, push_fields, push_known};
use crate::session::thread::approve_label;
use crate::widgets::area::{Area, inside};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::status::{STUCK, badge, run_duration};
use jiff::Timestamp;
use runtail_api::ServerKind;
use runtail_core::model::{StatusRole, Thread, ThreadStatus};
use runtail_core::text;

/// Minimum size of a list that has details below it.
const MIN_SIZE: (u16, u16) = (140, 24);
/// Lines of the details with their frame below a long list: a third of the page, within limits.
const LINES: (u16, u16) = (9, 14);
/// Bytes of an error that are shown.
const MAX_ERROR: usize = 4 << 10;
/// Columns before the value of a field.
const LABEL: usize = 12;

/// The selected thread, whose details can be read.
pub(super) struct PreviewRow {
    thread: ThreadRef,
    state: RowState,
    is_stale: bool,
}

impl PreviewRow {
    /// Returns the selected thread; `None` where the list has no details.
    pub fn selected(server: &Server, area: Area) -> Option<PreviewRow> {
        preview_area(server, area)?;
        let row = server.threads.row(server.threads.table.selected()?)?;
        let thread = server.thread_ref(&row.found.thread.thread_id);
        let state = (
            row.found.thread.updated_at,
            row.facts.questions.len(),
            row.found.thread.status.clone(),
        );
        Some(PreviewRow {
            thread,
            state,
            is_stale: server.threads.error.is_some(),
        })
    }
}

impl DetailedRow for PreviewRow {
    fn key(&self) -> &str {
        &self.thread.id
    }

    fn state(&self) -> RowState {
        self.state.clone()
    }

    fn target(&self) -> InboxTarget {
        InboxTarget::Thread(self.thread.clone())
    }

    fn is_stale(&self) -> bool {
        self.is_stale
    }
}

/// Returns the area of the details with their frame, if the list has any.
fn preview_area(server: &Server, area: Area) -> Option<Area> {
    let is_large = area.w >= MIN_SIZE.0 && area.h >= MIN_SIZE.1;
    let has_rows = server.tab == Tab::Threads && !server.threads.table.is_empty();
    let least = (area.h / 3).clamp(LINES.0, LINES.1);
    // The rows that a short list leaves free, and an empty one below it. They have at most half of the page.
    let rows = u16::try_from(server.threads.table.ids().len()).unwrap_or(u16::MAX);
    let free = area.h.saturating_sub(rows.saturating_add(head(server) + 1));
    let h = free.clamp(least, least.max(area.h / 2));
    (is_large && has_rows).then(|| Area {
        y: area.y + area.h - h,
        h,
        ..area
    })
}

/// Returns the area of the list with its head.
pub(super) fn list_area(server: &Server, area: Area) -> Area {
    let below = preview_area(server, area).map_or(0, |preview| preview.h);
    Area {
        h: area.h - below,
        ..area
    }
}

/// Draws the selected thread, if the list has details.
pub(super) fn draw(server: &Server, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let Some(area) = preview_area(server, cx.area) else {
        return;
    };
    let Some(thread) = server.thread() else {
        return;
    };
    let status = listed_status(cx, server, &thread.thread_id);
    let mut title = Line::dim(thread.graph().unwrap_or("thread"));
    title.push_dim(&format!(" {}", text::short_id(&thread.thread_id)));
    if let Some(name) = thread.name() {
        title.push_dim(" · ");
        title.push_strong(&text::seen(name, 60));
    }
    canvas.pane_frame(area, &title, false);
    let inner = inside(area);
    let (x, width) = (inner.x + 1, inner.w.saturating_sub(2));
    let known =
        PreviewRow::selected(server, cx.area).and_then(|row| server.details.of(&row).cloned());
    let found = (thread, &status, known.as_ref());
    for (n, line) in lines(server, found, cx, width.into(), inner.h.into())
        .iter()
        .enumerate()
    {
        canvas.line(x, inner.y + n as u16, width, line);
    }
}

/// Returns the lines for a size. The last one has the keys.
fn lines(
    server: &Server,
    (thread, status, known): (&Thread, &ThreadStatus, Option<&KnownDetail>),
    cx: &Cx<'_>,
    width: usize,
    height: usize,
) -> Vec<Line> {
    let room = height.saturating_sub(1);
    let session = cx.session;
    let now = session.now;
    let stuck = server.threads.stuck(&thread.thread_id, status);
    let mut head = match stuck {
        Some(_) => stuck_badge(status, now),
        None => listed_badge(server, thread, status, cx),
    };
    let ages = [
        ("changed", thread.updated_at),
        ("created", thread.created_at),
    ];
    let ages: Vec<String> = ages
        .into_iter()
        .filter_map(|(word, at)| Some(format!("{word} {} ago", super::view::ago(Some(at?), now))))
        .collect();
    head = head.right(Tone::Dim, &ages.join(" · "));
    let mut lines = vec![head];
    let said = |lines: &mut Vec<Line>, tone, said: &str| {
        let parts = wrap(text::head(said, MAX_ERROR), width.saturating_sub(2).max(10));
        lines.extend(parts.iter().map(|part| Line::plain("  ").with(tone, part)));
    };
    match status {
        ThreadStatus::Failed { error, .. } if error.is_empty() => {
            said(&mut lines, Tone::Plain, "No reason reported.");
        }
        ThreadStatus::Failed { error, .. } => said(&mut lines, Tone::Error, error),
        ThreadStatus::Waiting { questions, .. } => {
            for question in questions {
                said(&mut lines, Tone::Strong, &heading(question));
                push_fields(&mut lines, question, width);
            }
        }
        _ => {
            if let Some(evidence) = stuck {
                said(&mut lines, Tone::Plain, evidence);
            }
        }
    }
    if lines.len() > room {
        lines.truncate(room.saturating_sub(1));
        lines.push(Line::dim("  … more in the thread"));
    }
    // The metadata and the ids have the last lines above the keys, if there is room for them.
    let notes = notes(thread, width);
    let ids = format!(
        "  {:<w$}{}   status {}",
        "thread",
        thread.thread_id,
        thread.status,
        w = LABEL - 2
    );
    let tail: Vec<Line> = notes
        .into_iter()
        .chain([Line::dim(&text::fit(&text::clean(&ids), width))])
        .collect();
    let tail_room = room.saturating_sub(lines.len()).min(tail.len());
    push_known(&mut lines, known, width, room - tail_room);
    lines.resize_with(room - tail_room, Line::new);
    lines.extend(tail.into_iter().take(tail_room));
    lines.push(keys(server, (status, stuck.is_some()), cx, width));
    lines
}

/// Returns the line with the thread's metadata, if it has any.
fn notes(thread: &Thread, width: usize) -> Option<Line> {
    let notes = thread.notes().into_iter();
    let notes = notes.map(|(key, value)| {
        format!(
            "{key}={}",
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_string)
        )
    });
    let notes =
        text::clean(text::head(&notes.collect::<Vec<_>>().join("  "), MAX_ERROR)).into_owned();
    let label = format!("  {:<w$}", "metadata", w = LABEL - 2);
    (!notes.is_empty())
        .then(|| Line::dim(&label).with_plain(&text::fit(&notes, width.saturating_sub(LABEL))))
}

/// Returns the badge of a thread. The list only knows when its last run was requested, and the run may have been queued: only its
/// page knows how long it took.
fn listed_badge(server: &Server, thread: &Thread, status: &ThreadStatus, cx: &Cx<'_>) -> Line {
    let of = server.thread_ref(&thread.thread_id);
    match status {
        ThreadStatus::Idle {
            ended: Some(ended),
            began: Some(began),
        } if began <= ended && cx.session.pages.status(&of) != Some(status) => {
            let after = run_duration(ended.duration_since(*began));
            let line = badge(
                &ThreadStatus::Idle {
                    ended: Some(*ended),
                    began: None,
                },
                cx.session.now,
            );
            line.with_plain(&format!(", {after} after its request"))
        }
        status => badge(status, cx.session.now),
    }
}

/// Returns the badge of a stuck thread, with its status after the word of the inbox.
fn stuck_badge(status: &ThreadStatus, now: Timestamp) -> Line {
    let mut line =
        Line::of(STUCK.0, &format!("{} ", StatusRole::Unknown.glyph())).with(STUCK.1, STUCK_WORD);
    line.push_plain(" · ");
    // The first part is the glyph of the status.
    line.left
        .extend(badge(status, now).left.into_iter().skip(1));
    line
}

/// Returns the keys that help, as far as they fit.
fn keys(
    server: &Server,
    (status, is_stuck): (&ThreadStatus, bool),
    cx: &Cx<'_>,
    width: usize,
) -> Line {
    let session = cx.session;
    let can_act = !session.is_read_only(&server.server.profile);
    let mut ids = Vec::new();
    match status {
        ThreadStatus::Waiting { questions, .. } if can_act => {
            ids.extend(approve_label(questions).map(|label| ("server.approve", label)));
            ids.push(("server.answer", "answer"));
        }
        ThreadStatus::Paused { .. } | ThreadStatus::Stopped { .. } => {
            let kind = cx.session.server_kind(&server.server);
            let continues = can_act && kind.is_none_or(ServerKind::continues_without_input);
            ids.extend(continues.then_some(("server.answer", "continue")));
            ids.push(("server.explain", "explain"));
        }
        ThreadStatus::Failed { .. } => {
            ids.push(("server.explain", "explain"));
            ids.extend(can_act.then_some(("server.retry", "retry")));
        }
        status => {
            ids.extend(is_stuck.then_some(("server.explain", "explain")));
            ids.extend((status.is_active() && can_act).then_some(("server.cancel", "cancel run")));
        }
    }
    ids.extend([
        ("server.open", "open"),
        ("server.runs", "runs"),
        ("server.details", "details"),
    ]);
    keys_line(&ids, session, width)
}
