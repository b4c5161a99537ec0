//! Markdown as lines of a screen. Each line knows the byte of the source where its text begins, so that it can be traced back
//! to the token that delivered it. A growing text is laid out block by block: finished blocks are not parsed again.

mod block;
mod spans;
mod table;

use super::line::{Line, Tone};
use block::MarkdownBlock;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use runtail_core::text;
use spans::{Span, wrap};

/// Maximum bytes of a block that is parsed as Markdown. From a larger block on the text is only wrapped, because an open
/// block is parsed again at each of its tokens.
const MAX_BLOCK: usize = 64 * 1024;

/// A line, and the byte of the source where its text begins.
pub type RenderedRow = (Line, usize);

/// The width of the layout, and whether code is wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// The width in columns.
    pub width: usize,
    /// Whether lines of code are wrapped; otherwise they are cut, with a mark.
    pub wrap: bool,
}

/// Lays out a whole text.
pub fn render(source: &str, measure: Measure) -> Vec<RenderedRow> {
    let mut flow = Flow::markdown(measure);
    flow.lay(source);
    flow.rows
}

/// Returns the text without the marks of Markdown, for a preview. Numbers and bullets of lists stay, and so do underscores, because
/// names have them.
pub fn plain(source: &str) -> String {
    if !source.contains(['*', '`', '#', '~', '[', '\\', '<', '&']) {
        return source.to_string();
    }
    let mut out = String::new();
    for (event, range) in Parser::new_ext(source, Options::ENABLE_STRIKETHROUGH).into_offset_iter()
    {
        match event {
            Event::Text(said) | Event::Code(said) | Event::Html(said) | Event::InlineHtml(said) => {
                out.push_str(&said)
            }
            Event::SoftBreak | Event::HardBreak => out.push('\n'),
            Event::Start(Tag::Item) => {
                let mark = source[range].split_whitespace().next().unwrap_or("-");
                out.push_str(if mark == "*" { "-" } else { mark });
                out.push(' ');
            }
            Event::Start(Tag::Emphasis | Tag::Strong)
            | Event::End(TagEnd::Emphasis | TagEnd::Strong) => {
                let marks = source[range]
                    .bytes()
                    .take(2)
                    .take_while(|mark| *mark == b'_')
                    .count();
                let is_strong = matches!(
                    event,
                    Event::Start(Tag::Strong) | Event::End(TagEnd::Strong)
                );
                out.push_str(&"_".repeat(marks.min(if is_strong { 2 } else { 1 })));
            }
            Event::End(
                TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::Item,
            ) => {
                out.push_str(if out.ends_with('\n') { "" } else { "\n" });
            }
            _ => {}
        }
    }
    let out = out.trim();
    // For example, only the mark of a block of code.
    if out.is_empty() {
        source.to_string()
    } else {
        out.to_string()
    }
}

/// Returns the text of a message or a question in one line, without the marks of Markdown.
pub fn plain_line(source: &str) -> String {
    plain(text::head(source, MAX_LINE)).replace('\n', " ")
}

/// Maximum bytes of a text that is shown in one line.
const MAX_LINE: usize = 4 << 10;

/// The layout of a text that may grow at its end.
#[derive(Debug, Clone)]
pub struct Flow {
    measure: Measure,
    /// Whether the text is initially parsed as Markdown.
    markdown: bool,
    /// Whether the rest of the text is only wrapped.
    plain: bool,
    /// The tone of text that is only wrapped.
    tone: Tone,
    rows: Vec<RenderedRow>,
    /// The rows and bytes that can no longer change.
    finished: (usize, usize),
    /// Bytes parsed so far, including repetitions.
    read: u64,
}

impl Flow {
    pub fn markdown(measure: Measure) -> Flow {
        Flow {
            measure,
            markdown: true,
            plain: false,
            tone: Tone::Plain,
            rows: Vec::new(),
            finished: (0, 0),
            read: 0,
        }
    }

    /// Creates a layout that only wraps the text.
    pub fn plain(measure: Measure, tone: Tone) -> Flow {
        Flow {
            markdown: false,
            plain: true,
            tone,
            ..Flow::markdown(measure)
        }
    }

    /// Returns the current rows.
    pub fn rows(&self) -> &[RenderedRow] {
        &self.rows
    }

    /// Returns the bytes parsed so far, including repetitions.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Lays out a text that begins with the previous one. Drops blank lines at its end.
    pub fn lay(&mut self, source: &str) {
        let source = source.trim_end();
        if source.get(..self.finished.1).is_none() {
            // The text was replaced.
            (self.finished, self.plain) = ((0, 0), !self.markdown);
        }
        self.rows.truncate(self.finished.0);
        if !self.plain {
            self.blocks(source);
        }
        if self.plain {
            self.lines(source);
        }
    }

    /// Parses the unfinished part as Markdown.
    fn blocks(&mut self, source: &str) {
        let from = self.finished.1;
        let tail = &source[from..];
        self.read += tail.len() as u64;
        let options =
            Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        let mut block: Option<MarkdownBlock<'_>> = None;
        let mut end = 0;
        for (event, range) in Parser::new_ext(tail, options).into_offset_iter() {
            let open = match &mut block {
                Some(open) => open,
                None => {
                    let start = tail[..range.start].rfind('\n').map_or(0, |at| at + 1);
                    self.between(&tail[end..start.max(end)], from + end);
                    // While its first line is incomplete it may still become part of the previous block, and a table is
                    // recognized only after its second line.
                    if tail[start..]
                        .bytes()
                        .filter(|b| *b == b'\n')
                        .nth(1)
                        .is_some()
                    {
                        self.finished = (self.rows.len(), from + start);
                    }
                    block.insert(MarkdownBlock::new(tail, start, from, self.measure))
                }
            };
            if !open.handle(event, &range) {
                continue;
            }
            let (start, done) = (open.start, block.take());
            end = start + tail[start..range.end.max(start)].trim_end().len();
            if end - start > MAX_BLOCK {
                self.switch_to_plain(from + start);
                return;
            }
            // A row may begin inside inserted text, such as the URL of a link, so its position is clamped.
            let rows = done.map(MarkdownBlock::finish).unwrap_or_default();
            self.rows.extend(
                rows.into_iter()
                    .map(|(line, at)| (line, at.min(from + end))),
            );
        }
        self.between(&tail[end..], from + end);
    }

    /// Adds the lines between two blocks: blank lines and link definitions, for which the parser emits no events.
    fn between(&mut self, gap: &str, at: usize) {
        // The first line belongs to the previous block, if there is one, and the last one to the next block.
        let mut in_block = at > 0;
        let mut lines = gap.split('\n').peekable();
        let mut at = at;
        while let Some(line) = lines.next() {
            let is_line = !in_block && lines.peek().is_some();
            if is_line || !line.trim().is_empty() {
                self.rows.extend(wrap(
                    &[Span::new(line, Tone::Dim, at)],
                    &[],
                    &[],
                    self.measure.width,
                ));
            }
            in_block = false;
            at += line.len() + 1;
        }
    }

    /// Treats the rest as plain text from here on.
    fn switch_to_plain(&mut self, at: usize) {
        self.plain = true;
        let limit = text::bytes(MAX_BLOCK as u64);
        self.rows.push((
            Line::dim(&format!("(block over {limit}: shown as received)")),
            at,
        ));
        self.finished = (self.rows.len(), at);
    }

    /// Wraps the unfinished part. All but its last row are finished.
    fn lines(&mut self, source: &str) {
        let mut at = self.finished.1;
        self.read += (source.len() - at) as u64;
        for line in source[at..].split('\n') {
            self.rows.extend(wrap(
                &[Span::new(line, self.tone, at)],
                &[],
                &[],
                self.measure.width,
            ));
            at += line.len() + 1;
        }
        if let Some((_, at)) = self.rows.last() {
            self.finished = (self.rows.len() - 1, *at);
        }
    }
}

#[cfg(test)]
mod tests;
