//! Lines of text with a tone for each piece. The theme decides later how a tone looks.

use runtail_core::text;
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;

/// The meaning of a piece of text, from which the theme derives its style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Ordinary text.
    #[default]
    Plain,
    /// The current item; important text.
    Strong,
    /// Labels, ids, times.
    Dim,
    /// The focused item; links.
    Accent,
    /// The title of the focused pane.
    Focus,
    /// Live or healthy.
    Good,
    /// In progress: no action needed.
    Moving,
    /// Waiting for the user.
    Waiting,
    /// Failed.
    Bad,
    /// The text of an error.
    Error,
    /// The key of a hint.
    Key,
    /// A badge that must not be overlooked: production, read-only.
    Badge,
    /// The banner of a thread that waits for input.
    Banner,
    /// The banner of a failed thread.
    BannerFailed,
    /// A namespace.
    Ns,
    /// A search match.
    Hit,
    /// Text that its author emphasized.
    Emphasis,
    /// A name with a color of its own: see [`Tone::label`].
    Label(u16),
}

impl Tone {
    /// Returns the tone of a name, which is the same everywhere.
    pub fn label(name: &str) -> Tone {
        // FNV-1a, because the standard library's hash may differ between two builds.
        let head = name.bytes().take(256);
        let hash = head.fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        Tone::Label((hash ^ (hash >> 16)) as u16)
    }

    /// Returns whether the tone fills the whole row.
    pub fn is_banner(self) -> bool {
        matches!(self, Tone::Banner | Tone::BannerFailed)
    }
}

/// A piece of sanitized text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// One line of text, safe to show.
    pub text: String,
    pub tone: Tone,
}

/// A line: left-aligned pieces, and right-aligned pieces if there is room.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    pub left: Vec<Piece>,
    pub right: Vec<Piece>,
}

/// Maximum bytes of a piece that are read: more than any screen shows. Servers may send names of megabytes.
const MAX_PIECE: usize = 32 << 10;

/// Sanitizes the part of a text that can be visible.
fn visible(text: &str) -> String {
    text::clean(text::head(text, MAX_PIECE)).into_owned()
}

/// Declares the functions of the most common tones: one creates a line of one piece, two add a left-aligned piece to a line.
macro_rules! tones {
    ($($tone:ident $new:ident $with:ident $push:ident,)*) => {
        impl Line {
            $(pub fn $new(text: &str) -> Line {
                Line::of(Tone::$tone, text)
            }

            pub fn $with(self, text: &str) -> Line {
                self.with(Tone::$tone, text)
            }

            pub fn $push(&mut self, text: &str) {
                self.push(Tone::$tone, text);
            })*
        }
    };
}

tones! {
    Plain plain with_plain push_plain,
    Dim dim with_dim push_dim,
    Strong strong with_strong push_strong,
    Accent accent with_accent push_accent,
    Bad bad with_bad push_bad,
    Moving moving with_moving push_moving,
}

impl Line {
    pub fn new() -> Line {
        Line::default()
    }

    /// Creates a line of one piece.
    pub fn of(tone: Tone, text: &str) -> Line {
        Line::new().with(tone, text)
    }

    /// Creates a line of parts with a dot between them. Leaves out empty ones.
    pub fn joined(parts: impl IntoIterator<Item = (Tone, String)>) -> Line {
        let mut line = Line::new();
        for (tone, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
            let gap = if line.left.is_empty() { "" } else { " · " };
            line = line.with_dim(gap).with(tone, &part);
        }
        line
    }

    /// Adds a left-aligned piece. Sanitizes the text.
    pub fn with(mut self, tone: Tone, text: &str) -> Line {
        self.push(tone, text);
        self
    }

    /// Adds a left-aligned piece. Sanitizes the text.
    pub fn push(&mut self, tone: Tone, text: &str) {
        if !text.is_empty() {
            self.left.push(Piece {
                text: visible(text),
                tone,
            });
        }
    }

    /// Adds a right-aligned piece. Sanitizes the text.
    pub fn right(mut self, tone: Tone, text: &str) -> Line {
        if !text.is_empty() {
            self.right.push(Piece {
                text: visible(text),
                tone,
            });
        }
        self
    }

    /// Returns the text of the left pieces.
    pub fn text(&self) -> String {
        self.left.iter().map(|piece| &*piece.text).collect()
    }

    /// Breaks the line into at most `most` lines of at most `width` columns, indenting all but the first by `indent`.
    /// Breaks anywhere, because data has no word boundaries. The right pieces stay on the first line; text beyond `most`
    /// lines is dropped.
    pub fn broken(self, width: usize, indent: usize, most: usize) -> Vec<Line> {
        let mut lines = vec![Line {
            left: Vec::new(),
            right: self.right,
        }];
        let mut used = 0;
        for Piece { text, tone } in self.left {
            let mut part = String::new();
            for cluster in text.graphemes(true) {
                let columns = text::width(cluster);
                if used + columns > width && used > indent {
                    if let Some(line) = lines.last_mut() {
                        line.left.push(Piece {
                            text: std::mem::take(&mut part),
                            tone,
                        });
                    }
                    if lines.len() >= most {
                        return lines;
                    }
                    lines.push(Line {
                        left: vec![Piece {
                            text: " ".repeat(indent),
                            tone: Tone::Plain,
                        }],
                        right: Vec::new(),
                    });
                    used = indent;
                }
                part.push_str(cluster);
                used += columns;
            }
            if let Some(line) = lines.last_mut().filter(|_| !part.is_empty()) {
                line.left.push(Piece { text: part, tone });
            }
        }
        lines
    }

    /// Cuts the left pieces to a width.
    pub fn cut(mut self, width: usize) -> Line {
        let mut room = width;
        self.left.retain_mut(|piece| {
            let is_kept = room > 0;
            if text::width(&piece.text) > room {
                piece.text = text::fit(&piece.text, room).into_owned();
            }
            room -= text::width(&piece.text).min(room);
            is_kept
        });
        self
    }

    /// Returns the columns of the left pieces.
    pub fn width(&self) -> usize {
        self.left.iter().map(|p| text::width(&p.text)).sum()
    }
}

/// Breaks text into lines of at most `width` columns at word boundaries; its own line breaks and indents are kept.
pub fn wrap(source: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let cleaned = text::clean_lines(source);
    let options = textwrap::Options::new(width)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(true);
    let mut lines = Vec::new();
    for line in cleaned.split('\n') {
        if text::width(line) <= width {
            lines.push(line.to_string());
        } else {
            lines.extend(
                textwrap::wrap(line, &options)
                    .into_iter()
                    .map(Cow::into_owned),
            );
        }
    }
    lines
}

/// Breaks text like [`wrap`]; what is broken off a line has the line's indent.
pub fn wrap_indented(source: &str, width: usize) -> Vec<String> {
    let cleaned = text::clean_lines(source);
    let of_line = |line: &str| {
        let body = line.trim_start_matches(' ');
        let indent = " ".repeat((line.len() - body.len()).min(width / 2));
        let parts = wrap(body, width.saturating_sub(indent.len()));
        parts
            .into_iter()
            .map(move |part| format!("{indent}{part}"))
            .collect::<Vec<_>>()
    };
    cleaned.split('\n').flat_map(of_line).collect()
}

/// Wraps a text in one tone.
pub fn wrapped(tone: Tone, said: &str, width: usize) -> Vec<Line> {
    let lines = wrap(said, width).into_iter();
    lines.map(|part| Line::of(tone, &part)).collect()
}

/// Wraps a value beside its name, which has this many columns.
pub fn named(name: &str, columns: usize, (tone, value): (Tone, &str), width: usize) -> Vec<Line> {
    let lines = wrap_indented(value, width.saturating_sub(columns)).into_iter();
    let named = |(n, part): (usize, String)| {
        let name = if n == 0 { name } else { "" };
        Line::dim(&format!("{name:<columns$}")).with(tone, &part)
    };
    lines.enumerate().map(named).collect()
}

/// Wraps a text behind a mark of two columns.
pub fn marked((tone, mark): (Tone, &str), of_text: Tone, said: &str, width: usize) -> Vec<Line> {
    let lines = wrap(said, width.saturating_sub(2));
    let mark = |i: usize| Line::of(tone, if i == 0 { mark } else { "  " });
    lines
        .iter()
        .enumerate()
        .map(|(i, part)| mark(i).with(of_text, part))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_lines_keep_their_indent() {
        assert_eq!(
            wrap_indented("one two\n  three four five", 12),
            ["one two", "  three four", "  five"]
        );
        assert_eq!(wrap_indented("         a b", 4), ["  a", "  b"]);
        assert_eq!(wrap_indented("", 4), [""]);
    }

    #[test]
    fn a_long_line_is_broken_without_losing_text() {
        let line = Line::of(Tone::Dim, "14:02:58  ").with(
            Tone::Plain,
            "日本語 and a long text without an end e\u{301}e\u{301}",
        );
        let text = |line: &Line| {
            line.left
                .iter()
                .map(|p| p.text.as_str())
                .collect::<String>()
        };
        let whole = text(&line);
        for width in 1..60 {
            let indent = 8.min(width / 2);
            let lines = line.clone().broken(width, indent, usize::MAX);
            let joined: String = lines
                .iter()
                .enumerate()
                .map(|(n, l)| text(l)[if n > 0 { indent } else { 0 }..].to_string())
                .collect();
            assert_eq!(joined, whole, "{width}");
            assert!(
                lines.iter().all(|l| l.width() <= width.max(2 + indent)),
                "{width}: {lines:?}"
            );
        }
    }

    #[test]
    fn only_the_visible_part_of_a_huge_name_is_read() {
        let line = Line::of(Tone::Plain, &"日".repeat(2_000_000));
        assert!(line.text().len() <= MAX_PIECE && line.text().starts_with("日日"));
        let lines = line.clone().broken(21, 4, 3);
        assert_eq!(lines[..], line.broken(21, 4, usize::MAX)[..3]);
    }

    #[test]
    fn wrapping_keeps_breaks_and_breaks_long_words() {
        assert_eq!(
            wrap("one two three\n\nfour", 8),
            ["one two", "three", "", "four"]
        );
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("日本語日本", 4), ["日本", "語日", "本"]);
        assert_eq!(wrap("", 4), [""]);
        for line in wrap("a very   long — line with ☀ and 日本語 words", 7) {
            assert!(text::width(&line) <= 7, "{line:?}");
        }
    }
}
