//! The lines of a tree: the key, value and size of each node, and the pieces of expanded texts.

use super::{Tree, node_of, part_of};
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::scroll::LinePos;
use runtail_core::text;
use runtail_stream::projection::difference::ChangeKind;
use runtail_stream::projection::index::{JsonIndex, Kind, head, plain};

/// Containers larger than this many bytes show their size.
const SIZE_ABOVE: u64 = 1000;
/// Maximum levels of indentation; deeper lines show their depth as a number.
const MAX_LEVELS: u32 = 20;
/// Minimum columns for the gist of a folded node.
const MIN_GIST: usize = 12;
/// Columns reserved for how much a value grew.
const GROWTH: usize = 12;
/// Maximum bytes of each text in a gist.
const MAX_GIST: usize = 200;
/// Maximum bytes of a shown key.
const MAX_KEY: usize = 200;

impl Tree {
    /// Returns the lines of an entry.
    pub(crate) fn lines_of(&self, key: u64) -> Vec<Line> {
        let (node, part) = (node_of(key), part_of(key));
        if part == 0 {
            return vec![self.head_line(node)];
        }
        let indent = self.indent(node) + 4;
        let line = |text: String| Line::plain(&format!("{}{text}", " ".repeat(indent)));
        self.piece(node, part).into_iter().map(line).collect()
    }

    /// Returns one line of the tree.
    pub fn line(&self, spot: LinePos) -> Line {
        if node_of(spot.key) >= self.doc.len() {
            return Line::new();
        }
        self.lines_of(spot.key)
            .into_iter()
            .nth(spot.line)
            .unwrap_or_default()
    }

    /// Returns a piece of an expanded text, broken into lines.
    pub(crate) fn piece(&self, node: u32, part: u32) -> Vec<String> {
        if node >= self.doc.len() {
            return vec![String::new()];
        }
        let chunks = self.doc.chunks(node);
        let number = (part as usize).saturating_sub(1);
        let text = chunks.text(number);
        // The next piece begins on a new line in any case.
        let text = text
            .strip_suffix('\n')
            .filter(|_| number + 1 < chunks.count())
            .unwrap_or(&text);
        wrap(text, self.width.saturating_sub(self.indent(node) + 4))
    }

    fn indent(&self, node: u32) -> usize {
        let marks = if self.marks.is_some() { 2 } else { 0 };
        2 * self.doc.depth(node).min(MAX_LEVELS) as usize + marks
    }

    /// Returns the progress and the outline to show while the first text is parsed.
    pub(crate) fn outline_lines(&self) -> Vec<Line> {
        let Some((done, all)) = self.progress() else {
            return Vec::new();
        };
        let share = done * 100 / all.max(1);
        let mut lines = vec![
            Line::moving("◐ ")
                .with_plain(&format!("reading {} …", text::bytes(all as u64)))
                .with_dim(&format!(" {share}%")),
        ];
        lines.extend(self.outline.iter().map(|(key, size)| {
            let weight = text::bytes(*size as u64);
            Line::accent(&format!("    {key}")).with_dim(&format!(": {weight}"))
        }));
        lines
    }

    fn head_line(&self, node: u32) -> Line {
        let doc = &self.doc;
        let mut line = Line::new();
        let mark = self.marks.as_ref().map(|marks| marks.get(&node));
        match mark {
            Some(Some(mark)) => line.push(
                change_tone(mark.kind),
                &format!("{} ", change_glyph(mark.kind)),
            ),
            Some(None) => line.push_plain("  "),
            None => {}
        }
        line.push_dim(&"  ".repeat(doc.depth(node).min(MAX_LEVELS) as usize));
        line.push_dim(match (doc.has_children(node), self.is_folded(node)) {
            (true, true) => "▸ ",
            (true, false) => "▾ ",
            _ => "  ",
        });
        if doc.depth(node) > MAX_LEVELS {
            line.push_dim(&format!("‹{}› ", doc.depth(node)));
        }
        match doc.key(node) {
            Some(key) => {
                let name = if key.len() > MAX_KEY {
                    head(key, MAX_KEY).0 + "…"
                } else {
                    plain(key).into_owned()
                };
                line.push_accent(&name);
                line.push_dim(": ");
            }
            None if doc.depth(node) > 0 => line.push_dim(&format!("{}: ", doc.index(node))),
            None => {}
        }
        let size = doc.size(node);
        match doc.kind(node) {
            kind @ (Kind::Object | Kind::Array) => {
                let (brackets, noun) = if kind == Kind::Object {
                    ("{}", "field")
                } else {
                    ("[]", "item")
                };
                let count = doc.children_count(node);
                if count == 0 {
                    line.push_dim(brackets);
                } else {
                    let weight = if size > SIZE_ABOVE {
                        format!(", {}", text::bytes(size))
                    } else {
                        String::new()
                    };
                    line.push_dim(&format!("{}{weight}", text::counted(count, noun)));
                    if doc.depth(node) > 0 && self.is_folded(node) {
                        self.push_gist(&mut line, node);
                    }
                }
            }
            Kind::Text if self.is_expanded(node) => {
                line.push_dim(&format!("text, {}", text::bytes(size.saturating_sub(2))));
            }
            Kind::Other if self.is_expanded(node) => line.push_dim(&text::bytes(size)),
            Kind::Text => self.push_text(&mut line, node),
            Kind::Other => {
                let raw = doc.value(node);
                let tone = match raw {
                    "true" | "false" => Tone::Moving,
                    "null" => Tone::Dim,
                    _ => Tone::Good,
                };
                let room = self.width.saturating_sub(line.width());
                if raw.len() > super::SHORT {
                    let more = format!("  {}", text::bytes(size));
                    let shown = text::clean(text::head(raw, room * 4)).into_owned();
                    line.push(
                        tone,
                        &text::fit(&(shown + "…"), room.saturating_sub(more.len())),
                    );
                    line.push_dim(&more);
                } else {
                    line.push(tone, raw);
                }
            }
        }
        if let Some(Some(mark)) = mark
            && mark.kind != ChangeKind::Added
            && (doc.has_children(node) || doc.kind(node) == Kind::Text)
        {
            let weight = text::bytes(mark.growth.unsigned_abs());
            match mark.growth {
                0 => {}
                1.. => line.push_plain(&format!("  +{weight}")),
                _ => line.push_plain(&format!("  -{weight}")),
            }
        }
        line
    }

    /// Adds the gist of a folded container, or the beginning of its JSON.
    fn push_gist(&self, line: &mut Line, node: u32) {
        let growth = if self.marks.is_some() { GROWTH } else { 0 };
        let room = self.width.saturating_sub(line.width() + growth);
        let gist = gist(&self.doc, node);
        let (tone, words) = match gist.is_empty() {
            false => (Tone::Plain, gist),
            true => (
                Tone::Dim,
                format!("  {}", text::head(self.doc.value(node), 4 * room)),
            ),
        };
        if room > MIN_GIST {
            line.push(tone, &text::fit(&text::clean(&words), room));
        }
    }

    fn push_text(&self, line: &mut Line, node: u32) {
        let raw = self.doc.value(node);
        let size = self.doc.size(node).saturating_sub(2);
        let room = self.width.saturating_sub(line.width());
        // An escape such as \u00e9 takes six bytes for one column, so more than this never fits on the line.
        let (shown, all) = head(raw, room * 6 + 16);
        let value = text::clean(&shown);
        if text::width(&value) > room || !all {
            let more = format!("  {}", text::bytes(size));
            line.push_plain(&text::fit(&value, room.saturating_sub(text::width(&more))));
            line.push_dim(&more);
        } else if value.is_empty() || needs_quotes(&value) {
            line.push_plain(&format!("\"{value}\""));
        } else {
            line.push_plain(&value);
        }
    }
}

/// Returns whether an unquoted text would look like a number or a JSON keyword.
fn needs_quotes(text: &str) -> bool {
    matches!(text, "true" | "false" | "null") || (text.len() < 40 && text.parse::<f64>().is_ok())
}

/// Describes an object by its own fields: type or role, name, and text or title.
pub fn gist(doc: &JsonIndex, node: u32) -> String {
    if doc.kind(node) != Kind::Object {
        return String::new();
    }
    let field = |of: u32, wanted: &str| {
        doc.children(of)
            .take(64)
            .find(|child| doc.key(*child) == Some(wanted))
    };
    let text = |of: u32, wanted: &str| {
        let field = field(of, wanted)?;
        (doc.kind(field) == Kind::Text && doc.size(field) > 2)
            .then(|| head(doc.value(field), MAX_GIST).0)
    };
    // The first item of a list that has the field, such as a text block of a message or the name of a tool call.
    let within = |list: &str, wanted: &str| {
        let list = field(node, list).filter(|list| doc.kind(*list) == Kind::Array)?;
        doc.children(list)
            .take(16)
            .find_map(|item| text(item, wanted))
    };
    let content = text(node, "\"content\"").or_else(|| within("\"content\"", "\"text\""));
    let content = content.or_else(|| Some(format!("→ {}", within("\"tool_calls\"", "\"name\"")?)));
    let words = [
        text(node, "\"type\"").or_else(|| text(node, "\"role\"")),
        text(node, "\"name\""),
        content
            .or_else(|| text(node, "\"text\""))
            .or_else(|| text(node, "\"title\"")),
    ];
    words
        .into_iter()
        .flatten()
        .map(|word| format!(" · {word}"))
        .collect()
}

/// Returns the glyph of a change.
pub fn change_glyph(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "+",
        ChangeKind::Removed => "-",
        ChangeKind::Changed => "~",
        ChangeKind::Moved => "↕",
    }
}

/// Returns the tone of a change.
pub fn change_tone(kind: ChangeKind) -> Tone {
    match kind {
        ChangeKind::Added => Tone::Good,
        ChangeKind::Removed => Tone::Bad,
        ChangeKind::Changed | ChangeKind::Moved => Tone::Moving,
    }
}
