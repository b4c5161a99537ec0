//! The lines of a diff between two states: the path of each change, its old and its new value.

use super::json_tree::{change_glyph, change_tone, gist};
use super::line::{Line, Tone};
use runtail_core::text;
use runtail_stream::projection::difference::{Change, ChangeKind, Difference};
use runtail_stream::projection::index::{JsonIndex, Kind, head as start};

/// Maximum bytes of a value on its line.
const MAX_VALUE: usize = 4096;
/// Maximum columns of a path. Longer paths are cut at the front.
const MAX_PATH: usize = 200;

/// Returns the line shown while states are compared.
pub fn comparing() -> Line {
    Line::moving("◐ ").with_plain("comparing …")
}

/// Returns the counts of changes, followed by `about`, and a note for each list that was compared by position.
pub fn head(difference: &Difference, about: &Line, width: usize) -> Vec<Line> {
    let mut line = Line::new();
    for (kind, word) in [
        (ChangeKind::Changed, "changed"),
        (ChangeKind::Added, "added"),
        (ChangeKind::Removed, "removed"),
        (ChangeKind::Moved, "moved"),
    ] {
        let count = difference.count(kind);
        if count > 0 {
            line.push_plain(if line.left.is_empty() { "" } else { ", " });
            line.push(change_tone(kind), &format!("{} ", change_glyph(kind)));
            line.push_strong(&text::count(count));
            line.push_plain(&format!(" {word}"));
        }
    }
    if difference.total() == 0 {
        line.push_plain("nothing changed");
    }
    line.left.extend(about.left.iter().cloned());
    let mut lines = vec![line];
    for list in difference.by_position.iter().take(3) {
        let path = path(&difference.new, *list, width / 2);
        let words = " is too long to align: compared by position";
        lines.push(Line::moving("? ").with_dim(&path).with_dim(words));
    }
    lines
}

/// Returns a line with the number of changes that were not kept.
pub fn rest(difference: &Difference) -> Option<Line> {
    let more = difference
        .total()
        .checked_sub(difference.changes.len() as u64)
        .filter(|more| *more > 0)?;
    Some(Line::dim(&format!(
        "… and {} more changes",
        text::count(more)
    )))
}

/// Returns the lines of a change: one line if it fits, otherwise a line for each value.
pub fn change(difference: &Difference, change: &Change, width: usize) -> Vec<Line> {
    let Difference { old, new, .. } = difference;
    let (doc, node) = if change.kind == ChangeKind::Removed {
        (old, change.old)
    } else {
        (new, change.new)
    };
    let head = Line::of(
        change_tone(change.kind),
        &format!("{} ", change_glyph(change.kind)),
    )
    .with_dim(&path(doc, node, width.saturating_sub(2).min(MAX_PATH)));
    let values = match change.kind {
        ChangeKind::Added => vec![value(new, change.new)],
        ChangeKind::Removed => vec![value(old, change.old)],
        ChangeKind::Moved => {
            let (from, to) = (old.index(change.old), new.index(change.new));
            vec![Line::plain(&format!("from {from} to {to}")).with_dim(&gist(new, change.new))]
        }
        ChangeKind::Changed if change.kept > 0 => vec![appended(new, change)],
        ChangeKind::Changed => vec![value(old, change.old), value(new, change.new)],
    };
    let room = width.saturating_sub(head.width() + 2);
    let needed =
        values.iter().map(Line::width).sum::<usize>() + if values.len() > 1 { 3 } else { 0 };
    if needed <= room {
        let mut line = head.with_plain("  ");
        for (n, value) in values.into_iter().enumerate() {
            line.push_dim(if n > 0 { " → " } else { "" });
            line.left.extend(value.left);
        }
        return vec![line];
    }
    let two = values.len() > 1;
    let mut lines = vec![head];
    for (n, value) in values.into_iter().enumerate() {
        let sign = match (two, n) {
            (true, 0) => Line::bad("    - "),
            (true, _) => Line::of(Tone::Good, "    + "),
            (false, _) => Line::plain("    "),
        };
        lines.push(append_cut(sign, value, width));
    }
    lines
}

/// Appends a value to a line. A cut value keeps its size visible.
fn append_cut(mut line: Line, value: Line, width: usize) -> Line {
    let room = width.saturating_sub(line.width());
    let Some((last, first)) = value.left.split_last() else {
        return line;
    };
    let Some(first) = first.first() else {
        line.push(last.tone, &text::fit(&last.text, room));
        return line;
    };
    // The second piece is the size.
    line.push(
        first.tone,
        &text::fit(&first.text, room.saturating_sub(text::width(&last.text))),
    );
    line.push(last.tone, &last.text);
    line
}

/// Returns the path of a node, cut at the front.
fn path(doc: &JsonIndex, node: u32, room: usize) -> String {
    let whole = doc.path(node);
    let clean = text::clean(&whole);
    tail(&clean, room)
}

/// Returns the end of a sanitized text that fits a width.
pub fn tail(clean: &str, room: usize) -> String {
    if text::width(clean) <= room {
        return clean.to_string();
    }
    let mut from = clean.len();
    let mut used = 1;
    for (at, letter) in clean.char_indices().rev() {
        used += text::width(letter.encode_utf8(&mut [0; 4]));
        if used > room {
            break;
        }
        from = at;
    }
    format!("…{}", &clean[from..])
}

/// Returns a value in short, with its size if the value is long.
pub fn value(doc: &JsonIndex, node: u32) -> Line {
    let raw = doc.value(node);
    let size = doc.size(node);
    match doc.kind(node) {
        Kind::Text => {
            let (shown, all) = start(raw, MAX_VALUE);
            let line = Line::plain(&format!("\"{shown}{}", if all { "\"" } else { "…" }));
            if size > 60 {
                line.with_dim(&format!("  {}", text::bytes(size - 2)))
            } else {
                line
            }
        }
        Kind::Other => Line::plain(text::head(raw, MAX_VALUE)),
        Kind::Object | Kind::Array if size <= 60 => Line::plain(raw),
        kind => {
            let noun = if kind == Kind::Object {
                "field"
            } else {
                "item"
            };
            let count = doc.children_count(node);
            let words = text::counted(count, noun) + &gist(doc, node);
            Line::plain(&words).with_dim(&format!("  {}", text::bytes(size)))
        }
    }
}

/// Returns the text that was appended to a value.
pub fn appended(doc: &JsonIndex, change: &Change) -> Line {
    // Skip the opening quote and the old text.
    let rest = doc
        .value(change.new)
        .get(change.kept as usize + 1..)
        .unwrap_or_default();
    let rest = rest.strip_suffix('"').unwrap_or(rest);
    let (shown, all) = start(rest, MAX_VALUE);
    let more = if all { "" } else { "…" };
    Line::plain(&format!("…{shown}{more}"))
        .with_dim(&format!("  +{}", text::bytes(rest.len() as u64)))
}
