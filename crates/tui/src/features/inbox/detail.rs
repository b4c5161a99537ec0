//! The details of the selected row: the whole question or error, and the keys that help.

use super::rows::{Group, Rows};
use super::view::{difference, needs};
use crate::session::Cx;
use crate::session::inbox::table;
use crate::session::inbox::{InboxListRow, Target};
use crate::session::row_details::KnownDetail;
use crate::session::row_lines::{heading, keys_line, push_fields, push_known};
use crate::session::thread::approve_label;
use crate::widgets::line::{Line, Tone, wrap};
use runtail_api::ServerKind;
use runtail_core::model::{InboxCause, InboxGroup, InboxItem, InboxThread};
use runtail_core::text;

/// Returns the title: server, graph and id.
pub fn title(row: &InboxListRow) -> String {
    match &row.target {
        Target::Thread(_) => format!("{} › {}", table::place(&row.row), table::thread(&row.row)),
        Target::Revision(of, _) => format!(
            "{} › {}",
            table::place(&row.row),
            text::short_id(&of.revision)
        ),
    }
}

/// Returns the lines for a size. The last one has the keys.
pub fn lines(
    row: &InboxListRow,
    known: Option<&KnownDetail>,
    cx: &Cx<'_>,
    width: usize,
    height: usize,
) -> Vec<Line> {
    let session = cx.session;
    let (glyph, word, (tone, _)) = table::state(row);
    let age = table::age(row, session);
    let mut lines = Vec::new();
    let mut head = |said: &str, right: String| {
        let rows = wrap(
            said,
            width.saturating_sub(2 + text::width(&right) + 2).max(20),
        );
        for (n, part) in rows.iter().enumerate() {
            let line = match n {
                0 => Line::of(tone, &format!("{glyph} "))
                    .with_strong(part)
                    .right(Tone::Dim, &right),
                _ => Line::plain("  ").with_strong(part),
            };
            lines.push(line);
        }
    };
    match &row.row.item {
        InboxItem::Revision(revision) => {
            head(
                &format!("The newest revision is {word}"),
                format!("changed {age} ago"),
            );
            let id = Line::dim("  revision ").with_plain(&text::short_id(&revision.revision_id));
            lines.push(id);
        }
        InboxItem::Thread(thread) => {
            let (first, rest) = match thread.questions.split_first() {
                Some((first, rest)) => (heading(first), rest),
                None => (table::needs(row), &[][..]),
            };
            let watched = if row.is_watched { " · watched" } else { "" };
            head(
                &first,
                format!("{}{watched}", about(thread, &age, width < 70)),
            );
            if let Some(question) = thread.questions.first() {
                push_fields(&mut lines, question, width);
            }
            for question in rest {
                lines.push(Line::of(tone, "◆ ").with_strong(&heading(question)));
                push_fields(&mut lines, question, width);
            }
        }
    }
    if let Some(at) = row.as_of {
        let said = format!("  As of {}; no answer since.", session.clock(at));
        lines.push(Line::dim(&said));
    }
    let room = height.saturating_sub(1);
    if lines.len() > room && room < 3 {
        lines.truncate(room);
    } else if lines.len() > room {
        lines.truncate(room - 1);
        lines.push(Line::dim("  … more in the thread"));
    }
    push_known(&mut lines, known, width, room);
    push_ids(&mut lines, row, width, room);
    lines.resize_with(room, Line::new);
    lines.push(keys(row, cx, width));
    lines
}

/// Returns the lines of a group for a size: what its threads need, since when, and the keys that act on all of them.
pub fn group_lines(
    rows: &Rows,
    group: &Group,
    cx: &Cx<'_>,
    (width, height): (usize, usize),
) -> Vec<Line> {
    let mut of_group = group
        .rows
        .iter()
        .map(|at| &rows.listing.rows[*at])
        .peekable();
    let Some(row) = of_group.peek().copied() else {
        return Vec::new();
    };
    let (glyph, _, (tone, _)) = table::state(row);
    let InboxItem::Thread(thread) = &row.row.item else {
        return Vec::new();
    };
    let wrapped = wrap(&text::clean(&needs(row)), width.saturating_sub(2));
    let mut lines: Vec<Line> = wrapped
        .iter()
        .map(|part| Line::plain("  ").with_strong(part))
        .collect();
    if let Some(first) = wrapped.first() {
        lines[0] = Line::of(tone, &format!("{glyph} ")).with_strong(first);
    }
    if let Some((first, last)) = group.since {
        let age = |at| text::age_since(at, cx.session.server_time(&row.row.profile));
        lines.push(Line::dim(&format!(
            "  first {} ago · newest {} ago",
            age(first),
            age(last)
        )));
    }
    let room = height.saturating_sub(1);
    let fit = room.saturating_sub(lines.len() + 1);
    for row in of_group.take(fit) {
        let of = format!(
            "  {:>4} ago  {}  ",
            table::age(row, cx.session),
            table::thread(&row.row)
        );
        lines.push(Line::dim(&of).with_plain(&difference(row)));
    }
    let more = group.rows.len().saturating_sub(fit);
    if more > 0 {
        lines.push(Line::dim(&format!("  … {} more", text::count(more as u64))));
    }
    lines.truncate(room);
    lines.resize_with(room, Line::new);
    let mut ids = vec![("inbox.open", if group.is_open { "fold" } else { "unfold" })];
    if !cx.session.is_read_only(&row.row.profile) {
        let approve = approve_label(&thread.questions).filter(|_| can_answer(row, cx));
        ids.extend(approve.map(|_| ("inbox.approve", "approve all")));
        let is_failed = row.row.group() == InboxGroup::Failed;
        ids.extend(is_failed.then_some(("inbox.retry", "retry all")));
    }
    ids.extend([("inbox.mark", "mark all"), ("inbox.explain", "explain")]);
    lines.push(keys_line(&ids, cx.session, width));
    lines
}

/// Adds the ids of the thread below the rest, if there is room.
fn push_ids(lines: &mut Vec<Line>, row: &InboxListRow, width: usize, room: usize) {
    let InboxItem::Thread(thread) = &row.row.item else {
        return;
    };
    if lines.len() + 2 > room {
        return;
    }
    lines.resize_with(room - 1, Line::new);
    let assistant = thread
        .assistant_id
        .as_deref()
        .map(|id| format!("   assistant {id}"))
        .unwrap_or_default();
    let ids = format!(
        "  thread {}{assistant}   status {}",
        thread.thread_id, thread.status
    );
    lines.push(Line::dim(&text::fit(&text::clean(&ids), width)));
}

/// Returns when it was asked or failed, by whom, and where.
fn about(thread: &InboxThread, age: &str, is_narrow: bool) -> String {
    let verb = match thread.cause {
        Some(InboxCause::Question) => "asked",
        Some(InboxCause::Error) => "failed",
        Some(InboxCause::Cancelled) => "cancelled",
        Some(InboxCause::Edited) => "edited",
        Some(InboxCause::Breakpoint) => "paused",
        Some(InboxCause::Stuck) => "since",
        None => "changed",
    };
    let mut parts = vec![match (verb, age) {
        (_, "?") => "time unknown".to_string(),
        ("since", age) => format!("since {age}"),
        (verb, age) => format!("{verb} {age} ago"),
    }];
    if is_narrow {
        // The question needs the room.
        return parts.concat();
    }
    let node = thread
        .questions
        .first()
        .and_then(|question| question.node.as_deref());
    parts.extend(node.map(|node| format!("by node {node}")));
    parts.extend(thread.owner.as_ref().map(|owner| format!("for {owner}")));
    parts.join(" · ")
}

/// Returns the keys that work on the row, as far as they fit.
fn keys(row: &InboxListRow, cx: &Cx<'_>, width: usize) -> Line {
    let session = cx.session;
    let mut ids: Vec<(&str, &str)> = Vec::new();
    match &row.row.item {
        InboxItem::Thread(thread) => {
            if can_answer(row, cx) {
                ids.push(("inbox.answer", "answer"));
                let approve = approve_label(&thread.questions);
                ids.extend(approve.map(|label| ("inbox.approve", label)));
            }
            ids.extend([
                ("inbox.open", "open"),
                ("inbox.explain", "explain"),
                ("inbox.details", "details"),
            ]);
            let may_retry =
                row.row.group() == InboxGroup::Failed && !session.is_read_only(&row.row.profile);
            ids.extend(may_retry.then_some(("inbox.retry", "retry")));
            ids.push((
                "inbox.watch",
                if row.is_watched {
                    "don't notify"
                } else {
                    "notify"
                },
            ));
            ids.extend(thread_ends(row, cx).map(|label| ("inbox.end", label)));
        }
        InboxItem::Revision(_) => {
            ids.extend([("inbox.explain", "explain"), ("inbox.details", "details")])
        }
    }
    keys_line(&ids, session, width)
}

/// Returns whether the row has questions that can be answered.
pub fn can_answer(row: &InboxListRow, cx: &Cx<'_>) -> bool {
    let (InboxItem::Thread(thread), Target::Thread(target)) = (&row.row.item, &row.target) else {
        return false;
    };
    let is_known = !row.is_unlisted || cx.session.pages.first(target).is_some();
    is_known && !thread.questions.is_empty() && !cx.session.is_read_only(&row.row.profile)
}

/// Returns the label of the key that ends a thread, if its server can do that.
fn thread_ends(row: &InboxListRow, cx: &Cx<'_>) -> Option<&'static str> {
    let Target::Thread(thread) = &row.target else {
        return None;
    };
    // A server without a list of threads has no state to check either.
    if row.is_unlisted || cx.session.is_read_only(&row.row.profile) {
        return None;
    }
    if row.row.group() == InboxGroup::Stuck {
        return Some("cancel run");
    }
    let kind = cx.session.server_kind(&thread.server);
    kind.is_none_or(ServerKind::ends_by_update)
        .then_some("end thread")
}
