//! The details of the selected row: the whole question or error, and the keys that help.

use super::details::Known;
use super::state::{Row, Target};
use super::table;
use crate::session::Cx;
use crate::widgets::line::{Line, Tone, wrap};
use runtail_api::ServerKind;
use runtail_core::model::{InboxCause, InboxGroup, InboxItem, InboxThread, Question};
use runtail_core::text;
use serde_json::Value;

/// Bytes of a value that are shown.
const MAX_VALUE: usize = 2 << 10;
/// Columns before the value of a field.
const FIELD: usize = 22;
/// Fields of a question that are shown.
const MAX_FIELDS: usize = 12;

/// Returns the title: server, graph and id.
pub fn title(row: &Row) -> String {
    match &row.target {
        Target::Thread(_) => format!("{} › {}", table::place(&row.row), table::thread(&row.row)),
        Target::Revision(of, _) => format!("{} › {}", table::place(&row.row), text::short_id(&of.revision)),
    }
}

/// Returns the lines for a size. The last one has the keys.
pub fn lines(row: &Row, known: Option<&Known>, cx: &Cx<'_>, width: usize, height: usize) -> Vec<Line> {
    let session = cx.session;
    let (glyph, word, (tone, _)) = table::state(row);
    let age = table::age(row, session);
    let mut lines = Vec::new();
    let mut head = |said: &str, right: String| {
        let rows = wrap(said, width.saturating_sub(2 + text::width(&right) + 2).max(20));
        for (n, part) in rows.iter().enumerate() {
            let line = match n {
                0 => Line::of(tone, &format!("{glyph} ")).with(Tone::Strong, part).right(Tone::Dim, &right),
                _ => Line::of(Tone::Plain, "  ").with(Tone::Strong, part),
            };
            lines.push(line);
        }
    };
    match &row.row.item {
        InboxItem::Revision(revision) => {
            head(&format!("The newest revision is {word}"), format!("changed {age} ago"));
            let id = Line::of(Tone::Dim, "  revision ").with(Tone::Plain, &text::short_id(&revision.revision_id));
            lines.push(id);
        }
        InboxItem::Thread(thread) => {
            let (first, rest) = match thread.questions.split_first() {
                Some((first, rest)) => (heading(first), rest),
                None => (table::needs(row), &[][..]),
            };
            let watched = if row.is_watched { " · watched" } else { "" };
            head(&first, format!("{}{watched}", about(thread, &age, width < 70)));
            if let Some(question) = thread.questions.first() {
                push_fields(&mut lines, question, width);
            }
            for question in rest {
                lines.push(Line::of(tone, "◆ ").with(Tone::Strong, &heading(question)));
                push_fields(&mut lines, question, width);
            }
        }
    }
    if let Some(at) = row.as_of {
        let said = format!("  The server didn't answer since; this was true at {}.", session.clock(at));
        lines.push(Line::of(Tone::Dim, &said));
    }
    let room = height.saturating_sub(1);
    if lines.len() > room && room < 3 {
        lines.truncate(room);
    } else if lines.len() > room {
        lines.truncate(room - 1);
        lines.push(Line::of(Tone::Dim, "  … open the thread for the rest"));
    }
    push_known(&mut lines, known, width, room);
    push_ids(&mut lines, row, width, room);
    lines.resize_with(room, Line::new);
    lines.push(keys(row, cx, width));
    lines
}

/// Adds what was read of the row, as far as there is room: the last message or the first error.
fn push_known(lines: &mut Vec<Line>, known: Option<&Known>, width: usize, room: usize) {
    let (title, rows) = match known {
        // The row itself says what is needed without the state's fields and messages.
        _ if lines.len() + 2 > room => return,
        None => return,
        Some(Known::Loading(_)) => ("loading…".to_string(), Vec::new()),
        Some(Known::Failed(why)) => (format!("the details couldn't be read ({})", text::clean(why)), Vec::new()),
        Some(Known::Loaded(detail)) if detail.rows.is_empty() => return,
        Some(Known::Loaded(detail)) => (detail.title.clone(), detail.rows.clone()),
    };
    let title = format!("── {} ", text::clean(&title));
    let rule = "─".repeat(width.saturating_sub(2 + text::width(&title)));
    lines.push(Line::of(Tone::Dim, &format!("  {title}{rule}")));
    let is_list = rows.len() > 1;
    for (label, said) in rows {
        let label = text::fit(&text::clean(&label), 16).into_owned();
        let indent = match (label.is_empty(), is_list) {
            (true, _) => 2,
            (false, false) => 4 + text::width(&label),
            // Aligned with the fields of the question.
            (false, true) => FIELD,
        };
        for (n, part) in wrap(text::head(&said, MAX_VALUE), width.saturating_sub(indent).max(10)).iter().enumerate() {
            if lines.len() >= room {
                if let Some(last) = lines.last_mut() {
                    last.push(Tone::Dim, " …");
                }
                return;
            }
            let head = match n {
                0 if label.is_empty() => String::new(),
                0 if is_list => format!("    {label}"),
                0 => format!("  {label}"),
                _ => String::new(),
            };
            let fill = " ".repeat(indent.saturating_sub(text::width(&head)));
            lines.push(Line::of(Tone::Dim, &format!("{head}{fill}")).with(Tone::Plain, part));
        }
    }
}

/// Adds the ids of the thread below the rest, if there is room.
fn push_ids(lines: &mut Vec<Line>, row: &Row, width: usize, room: usize) {
    let InboxItem::Thread(thread) = &row.row.item else { return };
    if lines.len() + 2 > room {
        return;
    }
    lines.resize_with(room - 1, Line::new);
    let assistant = thread.assistant_id.as_deref().map(|id| format!("   assistant {id}")).unwrap_or_default();
    let ids = format!("  thread {}{assistant}   status {}", thread.thread_id, thread.status);
    lines.push(Line::of(Tone::Dim, &text::fit(&text::clean(&ids), width)));
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
    let node = thread.questions.first().and_then(|question| question.node.as_deref());
    parts.extend(node.map(|node| format!("by node {node}")));
    parts.extend(thread.owner.as_ref().map(|owner| format!("for {owner}")));
    parts.join(" · ")
}

/// The fields of a plain question that hold its text.
const TEXTS: [&str; 4] = ["question", "message", "prompt", "description"];

/// Returns the field of a plain question that holds its text.
fn text_field(question: &Question) -> Option<(&'static str, &str)> {
    let fields = question.value.as_object().filter(|_| question.actions().is_empty())?;
    TEXTS.iter().find_map(|name| Some((*name, fields.get(*name)?.as_str()?)))
}

/// Returns what is asked, without the fields that are listed below it.
fn heading(question: &Question) -> String {
    match text_field(question) {
        Some((_, said)) => text::head(said, MAX_VALUE).to_string(),
        None => question.summary(),
    }
}

/// Adds what a question contains besides its first line: the arguments of actions, or its other fields.
fn push_fields(lines: &mut Vec<Line>, question: &Question, width: usize) {
    let actions = question.actions();
    let heading_field = text_field(question).map(|(name, _)| name);
    let of_value;
    let groups: Vec<(Option<&str>, &Value)> = match actions.is_empty() {
        false => actions.iter().map(|action| (Some(action.name.as_str()), &action.args)).collect(),
        true => {
            of_value = &question.value;
            vec![(None, of_value)]
        }
    };
    for (name, value) in groups {
        if let Some(name) = name {
            lines.push(Line::of(Tone::Plain, "  ").with(Tone::Plain, name));
        }
        match value {
            Value::Object(fields) => {
                let is_shown = |(key, _): &(&String, &Value)| Some(key.as_str()) != heading_field;
                for (key, value) in fields.iter().filter(is_shown).take(MAX_FIELDS) {
                    let said = match value {
                        Value::String(text) => text.clone(),
                        other => other.to_string(),
                    };
                    let label = text::fit(&text::clean(key), 16).into_owned();
                    let rows = wrap(text::head(&said, MAX_VALUE), width.saturating_sub(FIELD).max(10));
                    for (n, part) in rows.iter().enumerate() {
                        let label = if n == 0 { label.as_str() } else { "" };
                        let fill = " ".repeat(18usize.saturating_sub(text::width(label)));
                        lines.push(Line::of(Tone::Dim, &format!("    {label}{fill}")).with(Tone::Plain, part));
                    }
                }
            }
            // The first line of a text is its summary.
            Value::String(said) if name.is_none() => {
                let more: Vec<&str> = said.lines().skip(1).filter(|line| !line.trim().is_empty()).collect();
                let rows = wrap(text::head(&more.join("\n"), MAX_VALUE), width.saturating_sub(2).max(10));
                let rows = rows.iter().filter(|_| !more.is_empty());
                lines.extend(rows.map(|part| Line::of(Tone::Plain, &format!("  {part}"))));
            }
            _ => {}
        }
    }
}

/// Returns the keys that work on the row, as far as they fit.
fn keys(row: &Row, cx: &Cx<'_>, width: usize) -> Line {
    let session = cx.session;
    let mut ids: Vec<(&str, &str)> = Vec::new();
    match &row.row.item {
        InboxItem::Thread(thread) => {
            if can_answer(row, cx) {
                ids.push(("inbox.answer", "answer"));
                if thread.questions.iter().all(Question::can_be_approved) {
                    let all = if thread.questions.len() > 1 { "approve all" } else { "approve" };
                    ids.push(("inbox.approve", all));
                }
            }
            ids.extend([("inbox.open", "open the thread"), ("inbox.explain", "explain"), ("inbox.details", "details")]);
            ids.push(("inbox.watch", if row.is_watched { "don't notify me" } else { "notify me" }));
            ids.extend(thread_ends(row, cx).map(|label| ("inbox.end", label)));
        }
        InboxItem::Revision(_) => ids.extend([("inbox.explain", "explain"), ("inbox.details", "details")]),
    }
    let mut line = Line::new();
    for (id, label) in ids {
        let key = session.keymap.hints_of([&id], session.settings.ascii).pop().map(|(key, _)| key);
        let Some(key) = key else { continue };
        let gap = if line.left.is_empty() { "" } else { "   " };
        if line.width() + text::width(&format!("{gap}{key} {label}")) > width {
            continue;
        }
        line = line.with(Tone::Plain, gap).with(Tone::Accent, &key).with(Tone::Dim, &format!(" {label}"));
    }
    line
}

/// Returns whether the row has questions that can be answered.
pub fn can_answer(row: &Row, cx: &Cx<'_>) -> bool {
    let (InboxItem::Thread(thread), Target::Thread(target)) = (&row.row.item, &row.target) else { return false };
    let is_known = !row.is_unlisted || cx.lookup.has_page(target);
    is_known && !thread.questions.is_empty() && !cx.session.is_read_only(&row.row.profile)
}

/// Returns the label of the key that ends a thread, if its server can do that.
fn thread_ends(row: &Row, cx: &Cx<'_>) -> Option<&'static str> {
    let Target::Thread(thread) = &row.target else { return None };
    // A server without a list of threads has no state to check either.
    if row.is_unlisted || cx.session.is_read_only(&row.row.profile) {
        return None;
    }
    if row.row.group() == InboxGroup::Stuck {
        return Some("cancel its run");
    }
    let kind = cx.lookup.server_info(&thread.server).and_then(|info| Some(info.value.as_ref()?.kind));
    kind.is_none_or(ServerKind::ends_by_update).then_some("end the thread")
}
