//! Tables: a grid whose columns shrink to the width, or a list with one field per line if the grid does not fit.

use super::RenderedRow;
use super::spans::{Span, wrap};
use crate::widgets::line::{Line, Piece, Tone};
use pulldown_cmark::Alignment;
use runtail_core::text;

/// Spaces between two columns.
const GAP: usize = 2;
/// Minimum width to which a column shrinks.
const MIN_COLUMN: usize = 8;

/// A table. Its first row is the header.
pub(crate) struct MarkdownTable<'a> {
    alignments: Vec<Alignment>,
    pub rows: Vec<Vec<Vec<Span<'a>>>>,
}

impl<'a> MarkdownTable<'a> {
    pub fn new(alignments: Vec<Alignment>) -> Self {
        MarkdownTable {
            alignments,
            rows: Vec::new(),
        }
    }

    /// Returns its rows on the screen. `at`: the byte of the source where the table begins.
    pub fn rows(mut self, width: usize, at: usize) -> Vec<RenderedRow> {
        for span in self.rows.iter_mut().take(1).flatten().flatten() {
            span.tone = Tone::Strong;
        }
        match self.columns(width) {
            Some(columns) => self.as_grid(&columns, at),
            None => self.as_list(width, at),
        }
    }

    /// Returns the width of each column, shrinking the widest ones to fit; `None` if the columns would be too narrow.
    fn columns(&self, width: usize) -> Option<Vec<usize>> {
        let mut columns = vec![1; self.alignments.len()];
        for row in &self.rows {
            for (column, cell) in columns.iter_mut().zip(row) {
                *column = (*column).max(
                    cell.iter()
                        .map(|span| text::width(&text::clean(&span.text)))
                        .sum(),
                );
            }
        }
        let room = width.checked_sub(GAP * columns.len().saturating_sub(1))?;
        if columns.iter().sum::<usize>() <= room {
            return Some(columns);
        }
        // The limit for columns wider than their share; narrower columns leave their rest to the others.
        let (mut limit, mut left, mut many) = (room, room, columns.len());
        let mut sorted = columns.clone();
        sorted.sort_unstable();
        for own in sorted {
            limit = left / many;
            if own > limit {
                break;
            }
            left -= own;
            many -= 1;
        }
        (limit >= MIN_COLUMN).then(|| columns.into_iter().map(|own| own.min(limit)).collect())
    }

    fn as_grid(&self, columns: &[usize], at: usize) -> Vec<RenderedRow> {
        let mut out = Vec::new();
        for (n, row) in self.rows.iter().enumerate() {
            let cells: Vec<_> = row
                .iter()
                .zip(columns)
                .map(|(cell, width)| wrap(cell, &[], &[], *width))
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            let begin = row.iter().flatten().next().map_or(at, |span| span.at);
            for i in 0..height {
                let mut line = Line::new();
                let mut missing = 0;
                for ((cell, width), alignment) in cells.iter().zip(columns).zip(&self.alignments) {
                    let pieces = cell
                        .get(i)
                        .map(|(line, _)| line.left.as_slice())
                        .unwrap_or_default();
                    let free =
                        width.saturating_sub(pieces.iter().map(|p| text::width(&p.text)).sum());
                    let before = match alignment {
                        Alignment::Right => free,
                        Alignment::Center => free / 2,
                        Alignment::Left | Alignment::None => 0,
                    };
                    space(&mut line, missing + before);
                    line.left.extend_from_slice(pieces);
                    missing = free - before + GAP;
                }
                let at = cells
                    .iter()
                    .filter_map(|cell| cell.get(i))
                    .map(|(_, at)| *at)
                    .find(|at| *at > 0);
                out.push((line, if i == 0 { begin } else { at.unwrap_or(begin) }));
            }
            if n == 0 {
                let width = columns.iter().sum::<usize>() + GAP * columns.len().saturating_sub(1);
                out.push((Line::dim(&"─".repeat(width)), begin));
            }
        }
        out
    }

    /// Lays out each field as `header: value`, with a blank line between two rows.
    fn as_list(&self, width: usize, at: usize) -> Vec<RenderedRow> {
        let mut out: Vec<RenderedRow> = Vec::new();
        let Some((head, rows)) = self.rows.split_first() else {
            return out;
        };
        if rows.is_empty() {
            return head
                .iter()
                .flat_map(|cell| wrap(cell, &[], &[], width))
                .collect();
        }
        for (n, row) in rows.iter().enumerate() {
            if n > 0 {
                out.push((Line::new(), out.last().map_or(at, |(_, at)| *at)));
            }
            for (name, cell) in head.iter().zip(row) {
                let begin = cell.first().map_or(at, |span| span.at);
                let mut spans: Vec<Span<'_>> = name
                    .iter()
                    .map(|span| Span {
                        at: begin,
                        ..span.clone()
                    })
                    .collect();
                spans.push(Span::new(": ", Tone::Dim, begin));
                spans.extend(cell.iter().cloned());
                out.extend(wrap(&spans, &[], &[], width));
            }
        }
        out
    }
}

fn space(line: &mut Line, columns: usize) {
    if columns > 0 {
        line.left.push(Piece {
            text: " ".repeat(columns),
            tone: Tone::Plain,
        });
    }
}
