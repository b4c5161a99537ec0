//! Lines of text with a tone for each piece: what state hands to the screen, without knowing its colours.

use runtail_core::text;
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;

/// What a piece of text is, from which the theme makes its look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Ordinary text.
    #[default]
    Plain,
    /// Where I am, what matters now.
    Strong,
    /// Labels, ids, times.
    Dim,
    /// What has the focus; links.
    Accent,
    /// The title of what has the focus.
    Focus,
    /// Live, good.
    Good,
    /// On its way: no action needed.
    Moving,
    /// Waiting for a person.
    Waiting,
    /// Failed.
    Bad,
    /// The row that says what a thread is waiting for.
    Banner,
    /// The row that says why a thread failed.
    BannerFailed,
    /// A namespace.
    Ns,
    /// What is searched for.
    Hit,
    /// Text that its writer stressed.
    Emphasis,
    /// A name that is known by its colour again: see [`Tone::label`].
    Label(u8),
}

impl Tone {
    /// The tone of a name, the same wherever it stands.
    pub fn label(name: &str) -> Tone {
        // FNV-1a: the standard library's hash may differ between two versions of the program.
        let head = name.bytes().take(256);
        let hash = head.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        Tone::Label((hash ^ (hash >> 16)) as u8)
    }

    /// Whether it fills the whole row.
    pub fn is_banner(self) -> bool {
        matches!(self, Tone::Banner | Tone::BannerFailed)
    }
}

/// A piece of cleaned text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The text: safe to show, one line.
    pub text: String,
    /// What it is.
    pub tone: Tone,
}

/// A line: pieces at the left, and pieces that stand at the right edge where there is room.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// From the left.
    pub left: Vec<Piece>,
    /// At the right edge.
    pub right: Vec<Piece>,
}

/// Most bytes of a piece that are read: far more than any screen shows. A name may have five million.
const MAX_PIECE: usize = 32 << 10;

/// As much of a text as can be seen, cleaned.
fn seen(text: &str) -> String {
    text::clean(text::head(text, MAX_PIECE)).into_owned()
}

impl Line {
    /// An empty line.
    pub fn new() -> Line {
        Line::default()
    }

    /// A line of one piece.
    pub fn of(tone: Tone, text: &str) -> Line {
        Line::new().with(tone, text)
    }

    /// Adds a piece at the left. Any text may come: it is cleaned here.
    pub fn with(mut self, tone: Tone, text: &str) -> Line {
        self.push(tone, text);
        self
    }

    /// Adds a piece at the left.
    pub fn push(&mut self, tone: Tone, text: &str) {
        if !text.is_empty() {
            self.left.push(Piece { text: seen(text), tone });
        }
    }

    /// Adds a piece at the right edge.
    pub fn right(mut self, tone: Tone, text: &str) -> Line {
        if !text.is_empty() {
            self.right.push(Piece { text: seen(text), tone });
        }
        self
    }

    /// The text of the left pieces, without their tones.
    pub fn text(&self) -> String {
        self.left.iter().map(|piece| &*piece.text).collect()
    }

    /// The line in lines of at most `width` columns, those after the first further in by `indent`. It breaks where it must:
    /// what is data has no better places. What stands at the right edge stays on the first. What does not fit into `most`
    /// lines is left out.
    pub fn broken(self, width: usize, indent: usize, most: usize) -> Vec<Line> {
        let mut lines = vec![Line { left: Vec::new(), right: self.right }];
        let mut used = 0;
        for Piece { text, tone } in self.left {
            let mut part = String::new();
            for cluster in text.graphemes(true) {
                let columns = text::width(cluster);
                if used + columns > width && used > indent {
                    if let Some(line) = lines.last_mut() {
                        line.left.push(Piece { text: std::mem::take(&mut part), tone });
                    }
                    if lines.len() >= most {
                        return lines;
                    }
                    lines.push(Line {
                        left: vec![Piece { text: " ".repeat(indent), tone: Tone::Plain }],
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

    /// Columns of the left pieces.
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
            lines.extend(textwrap::wrap(line, &options).into_iter().map(Cow::into_owned));
        }
    }
    lines
}

/// Wraps a text behind a mark of two columns.
pub fn marked((tone, mark): (Tone, &str), of_text: Tone, said: &str, width: usize) -> Vec<Line> {
    let lines = wrap(said, width.saturating_sub(2));
    let mark = |i: usize| Line::of(tone, if i == 0 { mark } else { "  " });
    lines.iter().enumerate().map(|(i, part)| mark(i).with(of_text, part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_and_nothing_of_it_is_lost() {
        let line = Line::of(Tone::Dim, "14:02:58  ")
            .with(Tone::Plain, "日本語 and a long text without an end e\u{301}e\u{301}");
        let text = |line: &Line| line.left.iter().map(|p| p.text.as_str()).collect::<String>();
        let whole = text(&line);
        for width in 1..60 {
            let indent = 8.min(width / 2);
            let lines = line.clone().broken(width, indent, usize::MAX);
            let joined: String =
                lines.iter().enumerate().map(|(n, l)| text(l)[if n > 0 { indent } else { 0 }..].to_string()).collect();
            assert_eq!(joined, whole, "{width}");
            assert!(lines.iter().all(|l| l.width() <= width.max(2 + indent)), "{width}: {lines:?}");
        }
    }

    #[test]
    fn a_name_of_millions_is_read_as_far_as_it_may_be_seen() {
        let line = Line::of(Tone::Plain, &"日".repeat(2_000_000));
        assert!(line.text().len() <= MAX_PIECE && line.text().starts_with("日日"));
        let lines = line.clone().broken(21, 4, 3);
        assert_eq!(lines[..], line.broken(21, 4, usize::MAX)[..3]);
    }

    #[test]
    fn wrapping_keeps_breaks_and_breaks_long_words() {
        assert_eq!(wrap("one two three\n\nfour", 8), ["one two", "three", "", "four"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("日本語日本", 4), ["日本", "語日", "本"]);
        assert_eq!(wrap("", 4), [""]);
        for line in wrap("a very   long — line with ☀ and 日本語 words", 7) {
            assert!(text::width(&line) <= 7, "{line:?}");
        }
    }
}
