//! Summary of any JSON in one line: objects as `key value · key value`, messages as role and text, lists by their
//! items.

use crate::widgets::line::{Line, Tone};
use runtail_core::text;
use runtail_stream::projection::{Peek, Role};

/// Maximum nesting depth; deeper values are shown as brackets.
const MAX_DEPTH: usize = 3;
/// Maximum pieces of a line, because many tiny values would otherwise take long to build and still not fill the screen.
const MAX_PIECES: usize = 200;

/// A line that stops growing soon after it reaches its width.
pub(crate) struct OneLine {
    pub line: Line,
    width: usize,
    room: usize,
}

impl OneLine {
    pub fn new(room: usize) -> OneLine {
        OneLine {
            line: Line::new(),
            width: 0,
            room,
        }
    }

    /// Returns the line, truncated with an ellipsis.
    pub fn finish(mut self) -> Line {
        if self.width <= self.room {
            return self.line;
        }
        let mut left = self.room;
        for (i, piece) in self.line.left.iter_mut().enumerate() {
            let width = text::width(&piece.text);
            if width >= left {
                piece.text = text::fit(&format!("{}…", piece.text), left).into_owned();
                self.line.left.truncate(i + 1);
                break;
            }
            left -= width;
        }
        self.line
    }

    /// Returns whether more text would not be visible.
    pub fn is_full(&self) -> bool {
        self.width > self.room || self.line.left.len() > MAX_PIECES
    }

    /// Adds text, reading only as much as can be visible.
    pub fn push(&mut self, tone: Tone, text: &str) -> &mut OneLine {
        if !text.is_empty() && !self.is_full() {
            self.line.push(tone, text::head(text, 4 * self.room + 16));
            self.width += self
                .line
                .left
                .last()
                .map_or(0, |piece| text::width(&piece.text));
        }
        self
    }

    /// Adds a dot as a separator, if there is text before it.
    pub fn dot(&mut self) -> &mut OneLine {
        if self.width > 0 {
            self.push(Tone::Dim, " · ")
        } else {
            self
        }
    }

    /// Adds a separator before an item of a list: a dot before the first, else a comma.
    pub fn item(&mut self, is_first: bool) -> &mut OneLine {
        match is_first {
            true => self.dot(),
            false => self.push(Tone::Dim, ", "),
        }
    }

    /// Adds a space as a separator, if there is text before it.
    pub fn gap(&mut self) -> &mut OneLine {
        if self.width > 0 {
            self.push(Tone::Plain, " ")
        } else {
            self
        }
    }

    /// Adds a quoted text.
    pub fn quoted(&mut self, text: &str, whole: bool) {
        self.push(Tone::Dim, "\"")
            .push(Tone::Plain, text)
            .push(Tone::Dim, if whole { "\"" } else { "…" });
    }

    /// Adds the end of a quoted text, for texts of which only the end is new.
    pub fn quoted_end(&mut self, text: &str) {
        let room = self.room.saturating_sub(self.width + 2).max(8);
        let from = text
            .char_indices()
            .rev()
            .nth(room - 1)
            .map_or(0, |(at, _)| at);
        self.push(Tone::Dim, if from > 0 { "\"…" } else { "\"" })
            .push(Tone::Plain, &text[from..])
            .push(Tone::Dim, "\"");
    }

    /// Adds any value.
    pub fn value(&mut self, json: Peek<'_>) {
        self.nested(json, 0);
    }

    /// Adds any value, with the brackets of a nested value.
    pub fn inner(&mut self, json: Peek<'_>) -> &mut OneLine {
        self.nested(json, 1);
        self
    }

    fn nested(&mut self, json: Peek<'_>, depth: usize) {
        if self.is_full() {
            return;
        }
        if let Some(text) = json.string() {
            match text.is_empty() {
                true => self.push(Tone::Plain, "\"\""),
                false => self.push(Tone::Plain, &text),
            };
            if !json.is_whole() {
                self.push(Tone::Dim, "…");
            }
        } else if json.is_object() {
            self.object(json, depth);
        } else if json.is_list() {
            self.list(json, depth);
        } else {
            self.push(
                if json.is_null() {
                    Tone::Dim
                } else {
                    Tone::Plain
                },
                json.text(),
            );
        }
    }

    fn object(&mut self, json: Peek<'_>, depth: usize) {
        if is_message(json) || super::message::is_removal(json) {
            return super::message::message(self, json);
        }
        let (open, between, close) = if depth == 0 {
            ("", " · ", "")
        } else {
            ("{", ", ", "}")
        };
        let mut fields = json.fields().peekable();
        if fields.peek().is_none() {
            self.push(Tone::Dim, if json.is_whole() { "{}" } else { "{…" });
            return;
        }
        if depth >= MAX_DEPTH {
            self.push(Tone::Dim, "{…}");
            return;
        }
        self.push(Tone::Dim, open);
        for (i, (key, value)) in fields.enumerate() {
            if self.is_full() {
                return;
            }
            self.push(Tone::Dim, if i > 0 { between } else { "" })
                .push(Tone::Accent, &key)
                .push(Tone::Plain, " ");
            self.nested(value, depth + 1);
        }
        self.push(Tone::Dim, close);
    }

    fn list(&mut self, json: Peek<'_>, depth: usize) {
        if depth >= MAX_DEPTH {
            self.push(Tone::Dim, if json.text() == "[]" { "[]" } else { "[…]" });
            return;
        }
        self.push(Tone::Dim, "[");
        for (i, item) in json.items().enumerate() {
            if self.is_full() {
                return;
            }
            self.push(Tone::Dim, if i > 0 { ", " } else { "" });
            self.nested(item, depth + 1);
        }
        self.push(Tone::Dim, "]");
    }
}

/// Returns whether an object is a message, which has a role and content.
fn is_message(json: Peek<'_>) -> bool {
    let [kind, role, content] = json.pick(["type", "role", "content"]);
    let word = kind.or(role).and_then(Peek::string);
    content.is_some() && word.is_some_and(|word| !matches!(Role::of(&word), Role::Other(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summarize(json: &str, room: usize) -> String {
        let mut line = OneLine::new(room);
        line.value(Peek::head(json, 1 << 16));
        line.finish().text()
    }

    #[test]
    fn values_are_summarized() {
        assert_eq!(
            summarize(r#"{"node":"left","i":0,"on":true,"x":null}"#, 80),
            "node left · i 0 · on true · x null"
        );
        assert_eq!(
            summarize(r#"{"a":{"b":[1,"two",{"c":{"d":1}}],"e":""}}"#, 80),
            "a {b [1, two, {…}], e \"\"}"
        );
        assert_eq!(
            summarize(r#"[{"type":"human","content":"hi"},{"id":1}]"#, 80),
            "[human \"hi\", {id 1}]"
        );
        assert_eq!(summarize("\"a\\nb\"", 80), "a⏎b");
        assert_eq!(
            summarize(r#"[{"type":"ai","content":"as much as fits"}]"#, 10),
            "[ai \"as m…"
        );
        assert_eq!(
            (
                summarize("{}", 9),
                summarize("[]", 9),
                summarize("null", 9),
                summarize("", 9)
            ),
            ("{}".into(), "[]".into(), "null".into(), "".into())
        );
    }

    #[test]
    fn text_beyond_the_width_is_not_read() {
        let long = format!("[{}1]", "12345,".repeat(10_000));
        assert_eq!(text::width(&summarize(&long, 40)), 40);
        let long = format!("{{\"text\":\"{}\"}}", "x".repeat(1_000_000));
        assert_eq!(text::width(&summarize(&long, 40)), 40);
        let deep = "[".repeat(60_000);
        assert_eq!(summarize(&deep, 40), "[[[[…]]]]");
    }
}
