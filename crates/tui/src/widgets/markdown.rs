//! Markdown as lines of a screen. Each line knows at which byte of the source its text begins, so that a line leads back
//! to the token that brought it. A text that grows is laid out block by block: what is finished is never read again.

mod block;
mod spans;
mod table;

use super::line::{Line, Tone};
use block::Block;
use pulldown_cmark::{Options, Parser};
use spans::{Span, wrap};

/// The largest block that is read as Markdown, in bytes. From a larger one on the text is only wrapped: an open block is
/// read again with each of its tokens.
const MAX_BLOCK: usize = 64 * 1024;

/// A line, and the byte of the source that its text begins at.
pub type Row = (Line, usize);

/// How wide, and whether code is wrapped as well (else it is cut, with a mark).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// Columns.
    pub width: usize,
    /// Wraps code.
    pub wrap: bool,
}

/// The lines of a whole text.
pub fn render(source: &str, measure: Measure) -> Vec<Row> {
    let mut flow = Flow::markdown(measure);
    flow.lay(source);
    flow.rows
}

/// The layout of a text that grows at its end.
#[derive(Debug, Clone)]
pub struct Flow {
    measure: Measure,
    /// Whether it began as Markdown.
    markdown: bool,
    /// Whether it is only wrapped, from here on; then it has this tone.
    plain: bool,
    tone: Tone,
    rows: Vec<Row>,
    /// The rows and bytes that can't change any more, whatever follows.
    kept: (usize, usize),
    /// Bytes read so far, those that were read again included.
    read: u64,
}

impl Flow {
    pub fn markdown(measure: Measure) -> Flow {
        Flow { measure, markdown: true, plain: false, tone: Tone::Plain, rows: Vec::new(), kept: (0, 0), read: 0 }
    }

    /// For text that is shown as it is, wrapped.
    pub fn plain(measure: Measure, tone: Tone) -> Flow {
        Flow { markdown: false, plain: true, tone, ..Flow::markdown(measure) }
    }

    /// The rows laid out last.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Bytes that were read to lay out all that came.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Lays out a text that begins with the one laid out before. Blank lines at its end are left out.
    pub fn lay(&mut self, source: &str) {
        let source = source.trim_end();
        if source.get(..self.kept.1).is_none() {
            // It is another text.
            (self.kept, self.plain) = ((0, 0), !self.markdown);
        }
        self.rows.truncate(self.kept.0);
        if !self.plain {
            self.blocks(source);
        }
        if self.plain {
            self.lines(source);
        }
    }

    /// Reads what is not settled yet as Markdown.
    fn blocks(&mut self, source: &str) {
        let from = self.kept.1;
        let tail = &source[from..];
        self.read += tail.len() as u64;
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        let mut block: Option<Block<'_>> = None;
        let mut end = 0;
        for (event, range) in Parser::new_ext(tail, options).into_offset_iter() {
            let open = match &mut block {
                Some(open) => open,
                None => {
                    let start = tail[..range.start].rfind('\n').map_or(0, |at| at + 1);
                    self.between(&tail[end..start.max(end)], from + end);
                    // While its first line is being written it may turn out as a part of the block before; and what
                    // looks like a table only until its second line is written.
                    if tail[start..].bytes().filter(|b| *b == b'\n').nth(1).is_some() {
                        self.kept = (self.rows.len(), from + start);
                    }
                    block.insert(Block::new(tail, start, from, self.measure))
                }
            };
            if !open.take(event, &range) {
                continue;
            }
            let (start, done) = (open.start, block.take());
            end = start + tail[start..range.end.max(start)].trim_end().len();
            if end - start > MAX_BLOCK {
                self.give_up(from + start);
                return;
            }
            // A row may begin within what the source doesn't say, such as an address told once more.
            let rows = done.map(Block::finish).unwrap_or_default();
            self.rows.extend(rows.into_iter().map(|(line, at)| (line, at.min(from + end))));
        }
        self.between(&tail[end..], from + end);
    }

    /// What lies between two blocks: blank lines, and definitions of links, which the parser says nothing about.
    fn between(&mut self, gap: &str, at: usize) {
        // The first line ends the block before, if there is one; the last is where the next block begins.
        let mut in_block = at > 0;
        let mut lines = gap.split('\n').peekable();
        let mut at = at;
        while let Some(line) = lines.next() {
            let is_line = !in_block && lines.peek().is_some();
            if is_line || !line.trim().is_empty() {
                self.rows.extend(wrap(&[Span::new(line, Tone::Dim, at)], &[], &[], self.measure.width));
            }
            in_block = false;
            at += line.len() + 1;
        }
    }

    /// Goes on as plain text from here.
    fn give_up(&mut self, at: usize) {
        self.plain = true;
        let limit = runtail_core::text::bytes(MAX_BLOCK as u64);
        self.rows.push((Line::of(Tone::Dim, &format!("(more than {limit} in one block: shown as received)")), at));
        self.kept = (self.rows.len(), at);
    }

    /// Wraps what is not settled yet. All but its last row can't change any more.
    fn lines(&mut self, source: &str) {
        let mut at = self.kept.1;
        self.read += (source.len() - at) as u64;
        for line in source[at..].split('\n') {
            self.rows.extend(wrap(&[Span::new(line, self.tone, at)], &[], &[], self.measure.width));
            at += line.len() + 1;
        }
        if let Some((_, at)) = self.rows.last() {
            self.kept = (self.rows.len() - 1, *at);
        }
    }
}

#[cfg(test)]
mod tests;
