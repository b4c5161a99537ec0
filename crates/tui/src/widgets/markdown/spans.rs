//! Text of several tones, wrapped together.

use super::RenderedRow;
use crate::widgets::line::{Line, Piece, Tone};
use runtail_core::text;
use std::borrow::Cow;

/// Characters that break a line but don't end one in Markdown, besides the usual ones.
const LINE_BREAKS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

/// A stretch of text in one tone.
#[derive(Debug, Clone)]
pub(crate) struct Span<'a> {
    /// A text as received, usually of one line.
    pub text: Cow<'a, str>,
    pub tone: Tone,
    /// The byte of the source where it begins.
    pub at: usize,
}

impl<'a> Span<'a> {
    pub fn new(text: impl Into<Cow<'a, str>>, tone: Tone, at: usize) -> Span<'a> {
        Span {
            text: text.into(),
            tone,
            at,
        }
    }
}

/// Breaks spans at spaces into rows of at most `width` columns. The first row is prefixed with `first`, the others with
/// `rest`; neither counts toward `width`.
pub(crate) fn wrap(
    spans: &[Span<'_>],
    first: &[Piece],
    rest: &[Piece],
    width: usize,
) -> Vec<RenderedRow> {
    let mut flat = String::new();
    let mut ends = Vec::with_capacity(spans.len());
    for span in spans {
        // A line of a file from Windows ends with a carriage return.
        let words = span.text.strip_suffix('\r').unwrap_or(&span.text);
        match words.contains(LINE_BREAKS) {
            true => flat.push_str(&text::clean_lines(words)),
            false => flat.push_str(&text::clean(words)),
        }
        ends.push(flat.len());
    }
    let mut rows = Vec::new();
    for (start, end) in line_ranges(&flat, width.max(1)) {
        let lead = if rows.is_empty() { first } else { rest };
        let mut line = Line {
            left: lead.to_vec(),
            right: Vec::new(),
        };
        let mut i = ends
            .partition_point(|e| *e <= start)
            .min(spans.len().saturating_sub(1));
        let begin = if i == 0 { 0 } else { ends[i - 1] };
        // Sanitizing may have changed the length; an approximate position is good enough.
        let at = spans
            .get(i)
            .map_or(0, |span| span.at + (start - begin).min(span.text.len()));
        let mut from = start;
        while from < end {
            let to = ends[i].min(end);
            if from < to {
                line.left.push(Piece {
                    text: flat[from..to].into(),
                    tone: spans[i].tone,
                });
            }
            from = to;
            i += 1;
        }
        rows.push((line, at));
    }
    rows
}

/// Cuts spans to one row, with a mark if something was cut.
pub(crate) fn cut(spans: &[Span<'_>], lead: &[Piece], width: usize) -> RenderedRow {
    let mut line = Line {
        left: lead.to_vec(),
        right: Vec::new(),
    };
    let mut room = width;
    for (i, span) in spans.iter().enumerate() {
        let clean = text::clean(&span.text);
        // Reserve a column for the mark, even if the next span begins exactly at the edge.
        let last = i + 1 == spans.len();
        let full = !last && text::width(&clean) == room;
        let fitted = text::fit(&clean, if full { room.saturating_sub(1) } else { room });
        room = room.saturating_sub(text::width(&fitted));
        let is_cut = fitted != clean;
        line.left.push(Piece {
            text: fitted.into_owned(),
            tone: span.tone,
        });
        if is_cut {
            break;
        }
    }
    (line, spans.first().map_or(0, |span| span.at))
}

/// Returns where the lines of a sanitized text begin and end.
fn line_ranges(flat: &str, width: usize) -> Vec<(usize, usize)> {
    if text::width(flat) <= width && !flat.contains('\n') {
        return vec![(0, flat.len())];
    }
    let options = textwrap::Options::new(width)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(true);
    let mut from = 0;
    let range = |line: Cow<'_, str>| {
        // Between two lines only spaces are dropped.
        let start = from + flat[from..].find(&*line).unwrap_or(0);
        from = (start + line.len()).min(flat.len());
        (start, from)
    };
    textwrap::wrap(flat, &options)
        .into_iter()
        .map(range)
        .collect()
}
