//! The lines of each view, made from its projection.

use super::line::{Line, Tone, wrap};
use crate::projection::{LifecycleKind, LifecycleRow, Message, Role, UpdateRow};
use crate::stream::{Data, Event};
use crate::text;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::sync::Arc;

/// Lines of a tool's result shown in the messages view; the rest is a key away.
const TOOL_LINES: usize = 6;
/// Bytes of an event's data that are looked at for its line.
const PREVIEW: usize = 600;
/// Columns of the node in the updates view, and of the event's name in the raw view.
const UPDATE_NODE: usize = 18;
const RAW_NAME: usize = 16;

/// Time of day, in the zone of the person.
pub fn clock(at: Timestamp, tz: &TimeZone) -> String {
    at.to_zoned(tz.clone()).strftime("%H:%M:%S").to_string()
}

/// A namespace as people read it: the names, without the task ids.
pub fn namespace(ns: &[Arc<str>]) -> String {
    let names: Vec<&str> = ns.iter().map(|s| s.split_once(':').map_or(&**s, |(name, _)| name)).collect();
    names.join(" › ")
}

/// The lines of a message, with a blank one before it except where it is the first or a tool's result.
pub fn message(message: &Message, first: bool, writing: bool, width: usize, tz: &TimeZone) -> Vec<Line> {
    let mut lines = Vec::new();
    if message.role == Role::Tool {
        tool_result(message, width, &mut lines);
        return lines;
    }
    if !first {
        lines.push(Line::new());
    }
    lines.push(heading(message, tz));
    if message.removed_at.is_some() {
        lines.push(Line::of(Tone::Dim, "(removed by the graph)"));
        return lines;
    }
    if !message.reasoning.is_empty() {
        lines.extend(wrap(message.reasoning.trim_end(), width).iter().map(|l| Line::of(Tone::Dim, l)));
    }
    let body = message.text.trim_end_matches('\n');
    if !body.is_empty() {
        lines.extend(wrap(body, width).iter().map(|l| Line::of(Tone::Plain, l)));
    }
    if writing && message.tool_calls.is_empty() {
        match lines.last_mut() {
            Some(last) if !body.is_empty() && last.width() < width => last.push(Tone::Accent, "▏"),
            _ => lines.push(Line::of(Tone::Accent, "▏")),
        }
    }
    for call in &message.tool_calls {
        let name = if call.name.is_empty() { "tool" } else { &call.name };
        let room = width.saturating_sub(text::width(name) + 4);
        let args = text::clean(head(&call.args, 4 * room + 8)).into_owned();
        lines.push(
            Line::of(Tone::Accent, "→ ")
                .with(Tone::Strong, name)
                .with(Tone::Plain, " ")
                .with(Tone::Dim, &text::fit(&args, room)),
        );
    }
    lines
}

fn heading(message: &Message, tz: &TimeZone) -> Line {
    let mut line = Line::of(Tone::Strong, message.role.word());
    if let Some(name) = &message.name {
        line.push(Tone::Dim, &format!(" {name}"));
    }
    if let Some(node) = &message.node {
        line.push(Tone::Dim, " · ");
        line.push(Tone::Accent, node);
    }
    if !message.ns.is_empty() {
        line.push(Tone::Dim, " in ");
        line.push(Tone::Ns, &namespace(&message.ns));
    }
    if let Some(usage) = &message.usage {
        line = line.right(Tone::Dim, &format!("{} in {} out  ", text::count(usage.input), text::count(usage.output)));
    }
    line.right(Tone::Dim, &clock(message.started_at, tz))
}

/// The first bytes of a text, whole characters.
fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Fills up to a column, so that what follows stands in one.
fn pad(line: &mut Line, column: usize) {
    let missing = column.saturating_sub(line.width());
    line.push(Tone::Plain, &" ".repeat(missing));
}

fn tool_result(message: &Message, width: usize, lines: &mut Vec<Line>) {
    let tone = if message.is_error { Tone::Bad } else { Tone::Plain };
    // The name says whose result it is where several tools were called at once.
    let name = message.name.as_deref().map(|n| format!("{n} ")).unwrap_or_default();
    // Only what can be on these lines is looked at, however long the result is.
    let body = message.text.trim_end();
    let shown = head(body, (TOOL_LINES + 1) * width * 4);
    let wrapped = wrap(&format!("{name}{shown}"), width.saturating_sub(2));
    let name = text::clean(&name).into_owned();
    for (i, text) in wrapped.iter().take(TOOL_LINES).enumerate() {
        let mut line = Line::of(Tone::Dim, if i == 0 { "└ " } else { "  " });
        match text.strip_prefix(name.as_str()).filter(|_| i == 0) {
            Some(rest) => line = line.with(Tone::Dim, &name).with(tone, rest),
            None => line.push(tone, text),
        }
        lines.push(line);
    }
    if shown.len() < body.len() {
        let size = text::bytes(body.len() as u64);
        lines.push(Line::of(Tone::Dim, &format!("  … {size} in all, ⏎ opens it")));
    } else if wrapped.len() > TOOL_LINES {
        lines.push(Line::of(Tone::Dim, &format!("  … {} more lines, ⏎ opens them", wrapped.len() - TOOL_LINES)));
    }
}

/// One node's write.
pub fn update(row: &UpdateRow, tz: &TimeZone) -> Line {
    let mut line = Line::of(Tone::Dim, &format!("{}  ", clock(row.at, tz)));
    let before = line.width();
    if !row.ns.is_empty() {
        line.push(Tone::Ns, &format!("{} › ", namespace(&row.ns)));
    }
    if row.interrupt {
        line.push(Tone::Moving, "◌ interrupt");
    } else {
        line.push(Tone::Strong, &row.node);
    }
    pad(&mut line, before + UPDATE_NODE);
    for (i, (key, summary)) in row.keys.iter().enumerate() {
        line.push(Tone::Dim, if i == 0 { "  " } else { ", " });
        if !key.is_empty() {
            line.push(Tone::Accent, key);
            line.push(Tone::Dim, " ");
        }
        line.push(Tone::Plain, summary);
    }
    line
}

/// One thing that happened to a run or to the connection.
pub fn lifecycle(row: &LifecycleRow, tz: &TimeZone) -> Line {
    let (glyph, tone) = match row.kind {
        LifecycleKind::RunStart | LifecycleKind::Attempt | LifecycleKind::Retry => ("◐", Tone::Moving),
        LifecycleKind::RunDone => ("●", Tone::Good),
        LifecycleKind::End => ("■", Tone::Strong),
        LifecycleKind::Interrupt => ("◌", Tone::Moving),
        LifecycleKind::Error => ("✗", Tone::Bad),
        LifecycleKind::Gap => ("?", Tone::Bad),
        LifecycleKind::TaskStart => ("▸", Tone::Dim),
        LifecycleKind::TaskDone => ("●", Tone::Dim),
        LifecycleKind::Connection => ("·", Tone::Dim),
    };
    let body = if tone == Tone::Dim { Tone::Dim } else { Tone::Plain };
    let mut line = Line::of(Tone::Dim, &format!("{}  ", clock(row.at, tz)));
    line.push(tone, &format!("{glyph} "));
    line.push(body, &row.text);
    if let Some(run) = row.run_id.as_ref().filter(|_| row.kind == LifecycleKind::Error) {
        line = line.right(Tone::Dim, &format!("run {}", text::short_id(run)));
    }
    line
}

/// One event as it came.
pub fn raw(event: &Event, width: usize, tz: &TimeZone) -> Line {
    let data = event.data.text();
    let mut line = Line::of(Tone::Dim, &format!("{:>6}  {}  ", event.seq, clock(event.at, tz)));
    let before = line.width();
    let tone = match (&event.data, &*event.name) {
        (Data::Json(_), "error") | (Data::Malformed(_) | Data::TooLarge { .. }, _) => Tone::Bad,
        _ => Tone::Strong,
    };
    line.push(tone, &event.name);
    if !event.ns.is_empty() {
        line.push(Tone::Ns, &format!(" {}", namespace(&event.ns)));
    }
    pad(&mut line, before + RAW_NAME);
    let note = match &event.data {
        Data::Json(_) => String::new(),
        Data::Malformed(_) => " not JSON".to_string(),
        Data::TooLarge { size, .. } => format!(" too large: {}", text::bytes(*size)),
    };
    line.push(Tone::Bad, &note);
    line.push(Tone::Plain, "  ");
    let room = width.saturating_sub(line.width());
    line.push(Tone::Dim, &text::fit(&text::clean(head(data, PREVIEW)), room));
    line
}

/// The state that an event carries: a `state_update` wraps it.
pub fn state_text(event: &Event) -> Arc<str> {
    #[derive(serde::Deserialize)]
    struct Wrapped<'a> {
        #[serde(borrow)]
        state: Option<&'a serde_json::value::RawValue>,
    }
    let text = event.data.text();
    if &*event.name == "state_update"
        && let Ok(Wrapped { state: Some(state) }) = serde_json::from_str(text)
    {
        return state.get().into();
    }
    text.clone()
}
