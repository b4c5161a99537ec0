//! Lays out one top-level block of Markdown from the parser's events: a paragraph, a list with its contents, a table.

use super::spans::{Span, cut, wrap};
use super::table::MarkdownTable;
use super::{Measure, RenderedRow};
use crate::widgets::line::{Piece, Tone};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, Tag, TagEnd};
use runtail_core::text;
use std::borrow::Cow;
use std::ops::Range;

/// Minimum columns for the text, at any nesting depth.
const MIN_TEXT: usize = 12;
/// Maximum bytes of a URL that is shown in full.
const MAX_URL: usize = 300;

/// The prefix of the lines of a list item or a quote.
struct Prefix {
    first: Piece,
    rest: Piece,
    used: bool,
}

/// The layout of a block in progress.
pub(crate) struct MarkdownBlock<'a> {
    source: &'a str,
    /// The byte of the source where its first line begins.
    pub start: usize,
    /// The byte of the whole text where `source` begins.
    base: usize,
    measure: Measure,
    rows: Vec<RenderedRow>,
    depth: usize,
    prefixes: Vec<Prefix>,
    /// The columns of the prefixes.
    prefix_width: usize,
    /// The number of the next item in each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    spans: Vec<Span<'a>>,
    strong: usize,
    emphasis: usize,
    struck: usize,
    /// The URLs of the open links and images, and the index of the first span of each.
    links: Vec<(CowStr<'a>, usize)>,
    code: Option<CodeBlock>,
    table: Option<MarkdownTable<'a>>,
    /// The byte of the source where the last shown text ends.
    shown: usize,
    /// The end of a paragraph that contains only literal text so far.
    literal_upto: Option<usize>,
}

#[derive(PartialEq)]
enum CodeBlock {
    /// Fenced, or indented inside another block.
    Fenced,
    /// Indented at the top level; shown as received.
    Indented,
    Html,
}

impl<'a> MarkdownBlock<'a> {
    pub fn new(source: &'a str, start: usize, base: usize, measure: Measure) -> Self {
        MarkdownBlock {
            source,
            start,
            base,
            measure,
            rows: Vec::new(),
            depth: 0,
            prefixes: Vec::new(),
            prefix_width: 0,
            lists: Vec::new(),
            spans: Vec::new(),
            strong: 0,
            emphasis: 0,
            struck: 0,
            links: Vec::new(),
            code: None,
            table: None,
            shown: start,
            literal_upto: None,
        }
    }

    pub fn finish(self) -> Vec<RenderedRow> {
        self.rows
    }

    /// Handles an event. Returns whether it was the last one of the block.
    pub fn handle(&mut self, event: Event<'a>, range: &Range<usize>) -> bool {
        match event {
            Event::Start(tag) => {
                self.depth += 1;
                self.begin(tag, range);
            }
            Event::End(tag) => {
                self.depth -= 1;
                self.end(tag, range);
            }
            Event::Text(words) => self.text(words, range),
            Event::Html(words) | Event::InlineHtml(words) => {
                self.end_literal();
                self.text(words, range);
            }
            Event::Code(words) => {
                self.end_literal();
                let tone = self.tone();
                self.push("`", Tone::Dim, range.start);
                self.push(words, tone, range.start);
                self.push("`", Tone::Dim, range.end.saturating_sub(1));
            }
            Event::SoftBreak | Event::HardBreak => match &mut self.table {
                Some(_) => self.push(" ", Tone::Plain, range.start),
                None if self.literal_upto.is_some() => self.push("\n", Tone::Plain, range.start),
                None => self.break_line(),
            },
            Event::Rule => {
                self.gap(range.start);
                let width = self.room();
                self.push("─".repeat(width), Tone::Dim, range.start);
                self.flush(range.end);
            }
            Event::TaskListMarker(done) => {
                self.push(if done { "[x] " } else { "[ ] " }, Tone::Dim, range.start);
            }
            // The parser options enable neither math nor footnotes.
            Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) => {}
        }
        self.depth == 0
    }

    fn begin(&mut self, tag: Tag<'a>, range: &Range<usize>) {
        match tag {
            Tag::Paragraph => {
                self.gap(range.start);
                self.literal_upto = (self.depth == 1).then_some(self.start);
            }
            Tag::Heading { .. } => {
                self.gap(range.start);
                self.strong += 1;
            }
            Tag::BlockQuote(_) => self.push_prefix("> ".into(), "> ".into(), range.start),
            Tag::CodeBlock(kind) => {
                self.flush_open(range.start);
                self.gap(range.start);
                match kind {
                    CodeBlockKind::Indented if self.depth == 1 => {
                        self.code = Some(CodeBlock::Indented)
                    }
                    CodeBlockKind::Indented => self.code = Some(CodeBlock::Fenced),
                    CodeBlockKind::Fenced(language) => {
                        self.code = Some(CodeBlock::Fenced);
                        if !language.is_empty() {
                            self.push(language, Tone::Dim, range.start);
                            self.code_line();
                        }
                    }
                }
            }
            Tag::HtmlBlock => {
                self.flush_open(range.start);
                self.gap(range.start);
                self.code = Some(CodeBlock::Html);
            }
            Tag::List(first) => {
                self.flush_open(range.start);
                self.lists.push(first);
            }
            Tag::Item => {
                self.gap(range.start);
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let mark = format!("{number}. ");
                        *number = number.saturating_add(1);
                        mark
                    }
                    _ => "• ".to_string(),
                };
                let rest = " ".repeat(text::width(&mark));
                self.push_prefix(mark, rest, range.start);
            }
            Tag::Table(aligned) => {
                self.gap(range.start);
                self.table = Some(MarkdownTable::new(aligned));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::TableCell => self.spans.clear(),
            Tag::Emphasis => {
                self.end_literal();
                self.emphasis += 1;
            }
            Tag::Strong => {
                self.end_literal();
                self.strong += 1;
            }
            Tag::Strikethrough => {
                self.end_literal();
                self.struck += 1;
                self.push("~~", Tone::Dim, range.start);
            }
            Tag::Link { dest_url, .. } => {
                self.end_literal();
                self.links.push((dest_url, self.spans.len()));
            }
            Tag::Image { dest_url, .. } => {
                self.end_literal();
                self.push("[image] ", Tone::Dim, range.start);
                self.links.push((dest_url, self.spans.len()));
            }
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::MetadataBlock(_)
            | Tag::Superscript
            | Tag::Subscript => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: &Range<usize>) {
        match tag {
            TagEnd::Paragraph => match self.literal_upto {
                Some(upto)
                    if self.source[upto.min(range.end)..range.end]
                        .trim()
                        .is_empty() =>
                {
                    self.verbatim(range.end)
                }
                _ => {
                    self.end_literal();
                    self.flush(range.end);
                }
            },
            TagEnd::Heading(_) => {
                self.flush(range.end);
                self.strong -= 1;
            }
            TagEnd::BlockQuote(_) => {
                self.flush_open(range.end);
                self.pop_prefix();
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock => {
                if !self.spans.is_empty() {
                    self.code_line();
                }
                if self.code.take() == Some(CodeBlock::Indented) {
                    self.rows.clear();
                    self.verbatim(range.end);
                }
                self.shown = range.end;
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => {
                let is_empty = self.prefixes.last().is_some_and(|prefix| !prefix.used);
                if is_empty || !self.spans.is_empty() {
                    self.flush(range.end);
                }
                self.pop_prefix();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                let (width, at) = (self.room(), self.base + range.start);
                let rows = self
                    .table
                    .take()
                    .map(|table| table.rows(width, at))
                    .unwrap_or_default();
                for (mut line, at) in rows {
                    let (first, _) = self.row_prefixes();
                    line.left.splice(0..0, first);
                    self.rows.push((line, at));
                }
                self.shown = range.end;
            }
            TagEnd::Emphasis => self.emphasis -= 1,
            TagEnd::Strong => self.strong -= 1,
            TagEnd::Strikethrough => {
                self.struck -= 1;
                self.push("~~", Tone::Dim, range.end.saturating_sub(2));
            }
            TagEnd::Link | TagEnd::Image => {
                let Some((url, first)) = self.links.pop() else {
                    return;
                };
                let label: String = self
                    .spans
                    .iter()
                    .skip(first)
                    .map(|span| &*span.text)
                    .collect();
                if *label != *url && url.strip_prefix("mailto:") != Some(&label) && !url.is_empty()
                {
                    let gap = if label.is_empty() { "" } else { " " };
                    self.push(
                        format!("{gap}({})", short_url(&url)),
                        Tone::Dim,
                        range.end.saturating_sub(1),
                    );
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, words: CowStr<'a>, range: &Range<usize>) {
        if let Some(upto) = self.literal_upto {
            let is_whole = self.source[upto.min(range.start)..range.start]
                .trim()
                .is_empty()
                && self.source.get(range.clone()) == Some(&*words);
            match is_whole {
                true => self.literal_upto = Some(range.end),
                false => self.end_literal(),
            }
        }
        if self.code.is_none() {
            let tone = self.tone();
            return self.push(words, tone, range.start);
        }
        let mut at = range.start;
        for line in words.split_inclusive('\n') {
            let shown = line.trim_end_matches(['\n', '\r']);
            if !shown.is_empty() {
                self.push(shown.to_string(), Tone::Plain, at);
            }
            if line.ends_with('\n') {
                if self.spans.is_empty() {
                    self.push("", Tone::Plain, at);
                }
                self.code_line();
            }
            at += line.len();
        }
    }

    fn push(&mut self, words: impl Into<CowStr<'a>>, tone: Tone, at: usize) {
        let text: Cow<'a, str> = match words.into() {
            CowStr::Borrowed(text) => text.into(),
            other => other.into_string().into(),
        };
        // The parser splits text where markup could have begun, even inside an escape sequence; join the parts again.
        if let Some(last) = self
            .spans
            .last_mut()
            .filter(|last| last.tone == tone && last.text != "\n" && text != "\n")
            && let Some(start) = last.at.checked_sub(self.base)
            && let Some(both) = self.source.get(start..at + text.len())
            && both.strip_prefix(&*last.text) == Some(&*text)
        {
            last.text = both.into();
            return;
        }
        self.spans.push(Span {
            text,
            tone,
            at: self.base + at,
        });
    }

    /// Returns the tone of text at this point.
    fn tone(&self) -> Tone {
        match () {
            () if !self.links.is_empty() => Tone::Accent,
            () if self.struck > 0 => Tone::Dim,
            () if self.strong > 0 => Tone::Strong,
            () if self.emphasis > 0 => Tone::Emphasis,
            () => Tone::Plain,
        }
    }

    /// Adds a prefix to the following lines. Leaves it out if it would leave too little room for the text.
    fn push_prefix(&mut self, first: String, rest: String, at: usize) {
        self.flush_open(at);
        let width = text::width(&first);
        let fits = self.room() >= width + MIN_TEXT;
        self.prefix_width += if fits { width } else { 0 };
        let piece = |text: String| Piece {
            text: if fits { text } else { String::new() },
            tone: Tone::Dim,
        };
        self.prefixes.push(Prefix {
            first: piece(first),
            rest: piece(rest),
            used: false,
        });
    }

    fn pop_prefix(&mut self) {
        let prefix = self.prefixes.pop();
        self.prefix_width -= prefix.map_or(0, |prefix| text::width(&prefix.first.text));
    }

    /// Returns the columns available for text.
    fn room(&self) -> usize {
        self.measure.width.saturating_sub(self.prefix_width).max(1)
    }

    /// Returns the prefixes of the next row, and of the rows after it.
    fn row_prefixes(&mut self) -> (Vec<Piece>, Vec<Piece>) {
        let rest = || {
            self.prefixes
                .iter()
                .map(|prefix| prefix.rest.clone())
                .filter(|p| !p.text.is_empty())
        };
        let (first, rest) = (self.prefixes.iter(), rest().collect::<Vec<_>>());
        let first = first.map(|prefix| {
            if prefix.used {
                prefix.rest.clone()
            } else {
                prefix.first.clone()
            }
        });
        let first = first.filter(|p| !p.text.is_empty()).collect();
        self.prefixes
            .iter_mut()
            .for_each(|prefix| prefix.used = true);
        (first, rest)
    }

    /// Adds a blank row if the source has blank lines before this position.
    fn gap(&mut self, start: usize) {
        self.flush_open(start);
        let gap = self
            .source
            .get(self.shown..start)
            .filter(|_| !self.rows.is_empty());
        self.shown = self.shown.max(start);
        let Some(gap) = gap else { return };
        let mut lines = gap.split('\n').skip(1).collect::<Vec<_>>();
        lines.pop();
        if lines
            .iter()
            .any(|line| line.trim_matches([' ', '\t', '\r', '>']).is_empty())
        {
            let rest = self
                .prefixes
                .iter()
                .take_while(|prefix| prefix.used)
                .map(|prefix| prefix.rest.clone())
                .collect();
            let mut line = crate::widgets::line::Line {
                left: rest,
                right: Vec::new(),
            };
            while line.left.last().is_some_and(|p| p.text.trim().is_empty()) {
                line.left.pop();
            }
            self.rows.push((line, self.base + start));
        }
    }

    /// Flushes text outside a paragraph: the items of a tight list contain it directly.
    fn flush_open(&mut self, end: usize) {
        if !self.spans.is_empty() && self.table.is_none() {
            self.flush(end);
        }
    }

    fn break_line(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        let (first, rest) = self.row_prefixes();
        self.rows.extend(wrap(&spans, &first, &rest, self.room()));
    }

    /// Emits the collected text.
    fn flush(&mut self, end: usize) {
        self.break_line();
        self.shown = self.shown.max(self.source[..end].trim_end().len());
    }

    /// Stops treating the paragraph as literal text because it contains markup, and emits the lines collected so far.
    fn end_literal(&mut self) {
        if self.literal_upto.take().is_none() {
            return;
        }
        for part in std::mem::take(&mut self.spans) {
            if part.text == "\n" {
                self.break_line();
            } else {
                self.spans.push(part);
            }
        }
    }

    /// Shows the source of the block as it is.
    fn verbatim(&mut self, end: usize) {
        self.literal_upto = None;
        self.spans.clear();
        let mut at = self.start;
        for line in self.source[self.start..end].trim_end().split('\n') {
            self.rows.extend(wrap(
                &[Span::new(line, Tone::Plain, self.base + at)],
                &[],
                &[],
                self.measure.width,
            ));
            at += line.len() + 1;
        }
        self.shown = end;
    }

    /// Emits a line of code, or of HTML.
    fn code_line(&mut self) {
        if self.code == Some(CodeBlock::Html) {
            return self.break_line();
        }
        let spans = std::mem::take(&mut self.spans);
        let (mut first, mut rest) = self.row_prefixes();
        for prefix in [&mut first, &mut rest] {
            prefix.push(Piece {
                text: "│ ".into(),
                tone: Tone::Dim,
            });
        }
        let room = self.room().saturating_sub(2).max(1);
        match self.measure.wrap {
            true => self.rows.extend(wrap(&spans, &first, &rest, room)),
            false => self.rows.push(cut(&spans, &first, room)),
        }
    }
}

/// Shortens a URL that carries data or is very long.
fn short_url(url: &str) -> String {
    let size = || text::bytes(url.len() as u64);
    match url.strip_prefix("data:") {
        Some(data) => format!(
            "data:{}, {}",
            data.split([',', ';']).next().unwrap_or_default(),
            size()
        ),
        None if url.len() > MAX_URL => format!("{}… {}", text::head(url, MAX_URL), size()),
        None => url.into(),
    }
}
