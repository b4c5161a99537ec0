//! Text of several tones, wrapped together.

use super::Row;
use crate::widgets::line::{Line, Piece, Tone};
use runtail_core::text;
use std::borrow::Cow;

/// A stretch of text in one tone.
#[derive(Debug, Clone)]
pub(crate) struct Span<'a> {
    /// The text, of one line, as it came.
    pub text: Cow<'a, str>,
    pub tone: Tone,
    /// The byte of the source that it begins at.
    pub at: usize,
}

impl<'a> Span<'a> {
    pub fn new(text: impl Into<Cow<'a, str>>, tone: Tone, at: usize) -> Span<'a> {
        Span { text: text.into(), tone, at }
    }
}

/// Breaks spans into rows of at most `width` columns at spaces. Before the first row stands `first`, before the others
/// `rest`; neither counts in `width`.
pub(crate) fn wrap(spans: &[Span<'_>], first: &[Piece], rest: &[Piece], width: usize) -> Vec<Row> {
    let mut flat = String::new();
    let mut ends = Vec::with_capacity(spans.len());
    for span in spans {
        flat.push_str(&text::clean(&span.text));
        ends.push(flat.len());
    }
    let mut rows = Vec::new();
    for (start, end) in broken(&flat, width.max(1)) {
        let lead = if rows.is_empty() { first } else { rest };
        let mut line = Line { left: lead.to_vec(), right: Vec::new() };
        let mut i = ends.partition_point(|e| *e <= start).min(spans.len().saturating_sub(1));
        let begin = if i == 0 { 0 } else { ends[i - 1] };
        // Cleaning may have made it shorter or longer: then it is near enough.
        let at = spans.get(i).map_or(0, |span| span.at + (start - begin).min(span.text.len()));
        let mut from = start;
        while from < end {
            let to = ends[i].min(end);
            if from < to {
                line.left.push(Piece { text: flat[from..to].into(), tone: spans[i].tone });
            }
            from = to;
            i += 1;
        }
        rows.push((line, at));
    }
    rows
}

/// Cuts spans to one row, with a mark where something was cut.
pub(crate) fn cut(spans: &[Span<'_>], lead: &[Piece], width: usize) -> Row {
    let mut line = Line { left: lead.to_vec(), right: Vec::new() };
    let mut room = width;
    for (i, span) in spans.iter().enumerate() {
        let clean = text::clean(&span.text);
        // The mark needs a column, also where the next span begins exactly at the edge.
        let last = i + 1 == spans.len();
        let full = !last && text::width(&clean) == room;
        let fitted = text::fit(&clean, if full { room.saturating_sub(1) } else { room });
        room = room.saturating_sub(text::width(&fitted));
        let is_cut = fitted != clean;
        line.left.push(Piece { text: fitted.into_owned(), tone: span.tone });
        if is_cut {
            break;
        }
    }
    (line, spans.first().map_or(0, |span| span.at))
}

/// Where the lines of a cleaned text begin and end.
fn broken(flat: &str, width: usize) -> Vec<(usize, usize)> {
    if text::width(flat) <= width {
        return vec![(0, flat.len())];
    }
    let options = textwrap::Options::new(width)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(true);
    let mut from = 0;
    let place = |line: Cow<'_, str>| {
        // Only spaces are left out between two lines.
        let start = from + flat[from..].find(&*line).unwrap_or(0);
        from = (start + line.len()).min(flat.len());
        (start, from)
    };
    textwrap::wrap(flat, &options).into_iter().map(place).collect()
}
