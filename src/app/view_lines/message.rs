//! The lines of the messages view.

use super::{clock, head, namespace};
use crate::app::line::{Line, Tone, wrap};
use crate::projection::{Message, Role};
use crate::text;
use jiff::tz::TimeZone;

/// Lines of a tool's result shown; the rest is a key away.
const TOOL_LINES: usize = 6;

/// The lines of a message, with a blank one before it except where it is the first or a tool's result.
pub fn lines(message: &Message, first: bool, writing: bool, width: usize, tz: &TimeZone) -> Vec<Line> {
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
