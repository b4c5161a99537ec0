//! The lines of a preview: the changes, the consequences, and the exact request.

use crate::widgets::line::{Line, Piece, Tone, wrap};
use runtail_core::model::{Change, Preview};

pub(super) fn wrapped(tone: Tone, text: &str, width: usize) -> Vec<Line> {
    wrap(text, width).iter().map(|line| Line::of(tone, line)).collect()
}

/// Returns the notes of a preview.
pub(super) fn note_lines(preview: &Preview, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for note in &preview.notes {
        let (mark, tone) = if note.warns { ("! ", Tone::Moving) } else { ("· ", Tone::Dim) };
        for (i, part) in wrap(&note.text, width.saturating_sub(2)).iter().enumerate() {
            lines.push(Line::of(tone, if i == 0 { mark } else { "  " }).with(Tone::Plain, part));
        }
    }
    lines
}

/// Returns the lines of a preview: the changes, the consequences, and the exact request.
pub fn preview_lines(preview: &Preview, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let inner = width.saturating_sub(2);
    let heading = |lines: &mut Vec<Line>, text: &str| {
        if !lines.is_empty() {
            lines.push(Line::new());
        }
        lines.push(Line::of(Tone::Dim, text));
    };
    if !preview.changes.is_empty() {
        heading(&mut lines, "Changes");
        preview.changes.iter().for_each(|change| lines.extend(change_lines(change, inner)));
        let resent = resent_secrets(preview);
        if resent > 0 {
            let said = format!("secrets: {resent} unchanged, sent again because each update replaces the whole set");
            let parts = wrap(&said, inner.saturating_sub(2));
            lines.extend(parts.iter().enumerate().map(|(i, part)| {
                indented(Line::of(Tone::Dim, if i == 0 { "= " } else { "    " }).with(Tone::Plain, part))
            }));
        }
    }
    let revision = preview.revision.sentence();
    let notes = note_lines(preview, inner);
    if !(revision.is_empty() && notes.is_empty()) {
        heading(&mut lines, "Consequences");
        let revision = if revision.is_empty() { Vec::new() } else { wrapped(Tone::Plain, &revision, inner) };
        lines.extend(revision.into_iter().chain(notes).map(indented));
    }
    for (n, request) in preview.requests().enumerate() {
        let number = if preview.then.is_empty() { String::new() } else { format!(" {}", n + 1) };
        heading(&mut lines, &format!("Request{number}"));
        let first = format!("{} {}", request.method, request.url);
        let body = request.body.as_ref().and_then(|body| serde_json::to_string_pretty(body).ok());
        for text in std::iter::once(first).chain(body) {
            lines.extend(wrapped(Tone::Dim, &text, inner).into_iter().map(indented));
        }
    }
    lines
}

/// Returns how many secrets an update sends again because the service replaces the whole set.
fn resent_secrets(preview: &Preview) -> usize {
    let secrets = preview.request.body.as_ref().filter(|_| preview.request.method == "PATCH");
    let secrets = secrets.and_then(|body| body["secrets"].as_array()).map(Vec::as_slice).unwrap_or_default();
    let is_changed = |name: &str| preview.changes.iter().any(|change| change.path == format!("secrets[{name}]"));
    secrets.iter().filter_map(|secret| secret["name"].as_str()).filter(|name| !is_changed(name)).count()
}

/// Returns the lines of a change, with a sign before what is added or removed.
fn change_lines(change: &Change, width: usize) -> Vec<Line> {
    let (sign, tone) = match (&change.before, &change.after) {
        (None, Some(_)) => ("+ ", Tone::Good),
        (Some(_), None) => ("- ", Tone::Bad),
        _ => ("  ", Tone::Plain),
    };
    let parts = wrap(&change.line(), width.saturating_sub(2));
    let line = |(i, part): (usize, &String)| {
        indented(Line::of(tone, if i == 0 { sign } else { "    " }).with(Tone::Plain, part))
    };
    parts.iter().enumerate().map(line).collect()
}

/// Puts a line of a section below its heading.
fn indented(mut line: Line) -> Line {
    line.left.insert(0, Piece { text: "  ".into(), tone: Tone::Plain });
    line
}
