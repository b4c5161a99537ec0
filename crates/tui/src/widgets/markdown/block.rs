//! One block of Markdown, from the parser's events: a paragraph, a list with all that is in it, a table.

use super::spans::{Span, cut, wrap};
use super::table::Table;
use super::{Measure, Row};
use crate::widgets::line::{Piece, Tone};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, Tag, TagEnd};
use runtail_core::text;
use std::borrow::Cow;
use std::ops::Range;

/// Columns that are left to the text, however deep it is nested.
const MIN_TEXT: usize = 12;
/// The longest address that is shown whole, in bytes.
const MAX_ADDRESS: usize = 300;

/// What stands before the lines of a list item or a quote.
struct Lead {
    first: Piece,
    rest: Piece,
    used: bool,
}

/// A block that is being read.
pub(crate) struct Block<'a> {
    source: &'a str,
    /// Where its first line begins in the source.
    pub start: usize,
    /// What is added to a place in the source to get the place in the whole text.
    base: usize,
    measure: Measure,
    rows: Vec<Row>,
    depth: usize,
    leads: Vec<Lead>,
    /// Columns that they take.
    taken: usize,
    /// The number of the next item, for each list that is open.
    lists: Vec<Option<u64>>,
    spans: Vec<Span<'a>>,
    strong: usize,
    emphasis: usize,
    struck: usize,
    /// Addresses of the links and pictures that are open, and the span that each begins with.
    links: Vec<(CowStr<'a>, usize)>,
    code: Option<Code>,
    table: Option<Table<'a>>,
    /// Where the text that was shown last ends.
    shown: usize,
    /// A paragraph holds nothing but text so far, up to here.
    pure: Option<usize>,
}

#[derive(PartialEq)]
enum Code {
    /// Between fences, or within something.
    Fenced,
    /// Set off by an indent alone: shown as it is.
    Indented,
    Html,
}

impl<'a> Block<'a> {
    pub fn new(source: &'a str, start: usize, base: usize, measure: Measure) -> Self {
        Block {
            source,
            start,
            base,
            measure,
            rows: Vec::new(),
            depth: 0,
            leads: Vec::new(),
            taken: 0,
            lists: Vec::new(),
            spans: Vec::new(),
            strong: 0,
            emphasis: 0,
            struck: 0,
            links: Vec::new(),
            code: None,
            table: None,
            shown: start,
            pure: None,
        }
    }

    pub fn finish(self) -> Vec<Row> {
        self.rows
    }

    /// Takes an event; tells whether it was the block's last.
    pub fn take(&mut self, event: Event<'a>, range: &Range<usize>) -> bool {
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
                self.join();
                self.text(words, range);
            }
            Event::Code(words) => {
                self.join();
                let tone = self.tone();
                self.push("`", Tone::Dim, range.start);
                self.push(words, tone, range.start);
                self.push("`", Tone::Dim, range.end.saturating_sub(1));
            }
            Event::SoftBreak | Event::HardBreak => match &mut self.table {
                Some(_) => self.push(" ", Tone::Plain, range.start),
                None if self.pure.is_some() => self.push("\n", Tone::Plain, range.start),
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
            // Neither formulas nor footnotes are asked for.
            Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) => {}
        }
        self.depth == 0
    }

    fn begin(&mut self, tag: Tag<'a>, range: &Range<usize>) {
        match tag {
            Tag::Paragraph => {
                self.gap(range.start);
                self.pure = (self.depth == 1).then_some(self.start);
            }
            Tag::Heading { .. } => {
                self.gap(range.start);
                self.strong += 1;
            }
            Tag::BlockQuote(_) => self.lead("> ".into(), "> ".into(), range.start),
            Tag::CodeBlock(kind) => {
                self.flush_open(range.start);
                self.gap(range.start);
                match kind {
                    CodeBlockKind::Indented if self.depth == 1 => self.code = Some(Code::Indented),
                    CodeBlockKind::Indented => self.code = Some(Code::Fenced),
                    CodeBlockKind::Fenced(language) => {
                        self.code = Some(Code::Fenced);
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
                self.code = Some(Code::Html);
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
                self.lead(mark, rest, range.start);
            }
            Tag::Table(aligned) => {
                self.gap(range.start);
                self.table = Some(Table::new(aligned));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::TableCell => self.spans.clear(),
            Tag::Emphasis => {
                self.join();
                self.emphasis += 1;
            }
            Tag::Strong => {
                self.join();
                self.strong += 1;
            }
            Tag::Strikethrough => {
                self.join();
                self.struck += 1;
                self.push("~~", Tone::Dim, range.start);
            }
            Tag::Link { dest_url, .. } => {
                self.join();
                self.links.push((dest_url, self.spans.len()));
            }
            Tag::Image { dest_url, .. } => {
                self.join();
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
            TagEnd::Paragraph => match self.pure {
                Some(upto) if self.source[upto.min(range.end)..range.end].trim().is_empty() => self.verbatim(range.end),
                _ => {
                    self.join();
                    self.flush(range.end);
                }
            },
            TagEnd::Heading(_) => {
                self.flush(range.end);
                self.strong -= 1;
            }
            TagEnd::BlockQuote(_) => {
                self.flush_open(range.end);
                self.unlead();
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock => {
                if !self.spans.is_empty() {
                    self.code_line();
                }
                if self.code.take() == Some(Code::Indented) {
                    self.rows.clear();
                    self.verbatim(range.end);
                }
                self.shown = range.end;
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => {
                let is_empty = self.leads.last().is_some_and(|lead| !lead.used);
                if is_empty || !self.spans.is_empty() {
                    self.flush(range.end);
                }
                self.unlead();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                let (width, at) = (self.room(), self.base + range.start);
                let rows = self.table.take().map(|table| table.rows(width, at)).unwrap_or_default();
                for (mut line, at) in rows {
                    let (first, _) = self.pieces();
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
                let Some((address, first)) = self.links.pop() else { return };
                let said: String = self.spans.iter().skip(first).map(|span| &*span.text).collect();
                if *said != *address && address.strip_prefix("mailto:") != Some(&said) && !address.is_empty() {
                    let lead = if said.is_empty() { "" } else { " " };
                    self.push(format!("{lead}({})", short(&address)), Tone::Dim, range.end.saturating_sub(1));
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, words: CowStr<'a>, range: &Range<usize>) {
        if let Some(upto) = self.pure {
            let is_whole = self.source[upto.min(range.start)..range.start].trim().is_empty()
                && self.source.get(range.clone()) == Some(&*words);
            match is_whole {
                true => self.pure = Some(range.end),
                false => self.join(),
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
        // The parser breaks a text where markup could have begun, even within an escape sequence.
        if let Some(last) = self.spans.last_mut().filter(|last| last.tone == tone && last.text != "\n")
            && let Some(start) = last.at.checked_sub(self.base)
            && let Some(both) = self.source.get(start..at + text.len())
            && both.strip_prefix(&*last.text) == Some(&*text)
        {
            last.text = both.into();
            return;
        }
        self.spans.push(Span { text, tone, at: self.base + at });
    }

    /// The tone of text here.
    fn tone(&self) -> Tone {
        match () {
            () if !self.links.is_empty() => Tone::Accent,
            () if self.struck > 0 => Tone::Dim,
            () if self.strong > 0 => Tone::Strong,
            () if self.emphasis > 0 => Tone::Emphasis,
            () => Tone::Plain,
        }
    }

    /// Something stands before the lines that follow. What would leave no room for them is left out.
    fn lead(&mut self, first: String, rest: String, at: usize) {
        self.flush_open(at);
        let width = text::width(&first);
        let fits = self.room() >= width + MIN_TEXT;
        self.taken += if fits { width } else { 0 };
        let piece = |text: String| Piece { text: if fits { text } else { String::new() }, tone: Tone::Dim };
        self.leads.push(Lead { first: piece(first), rest: piece(rest), used: false });
    }

    fn unlead(&mut self) {
        let lead = self.leads.pop();
        self.taken -= lead.map_or(0, |lead| text::width(&lead.first.text));
    }

    /// Columns for text.
    fn room(&self) -> usize {
        self.measure.width.saturating_sub(self.taken).max(1)
    }

    /// What stands before the next row, and before those that follow it.
    fn pieces(&mut self) -> (Vec<Piece>, Vec<Piece>) {
        let rest = || self.leads.iter().map(|lead| lead.rest.clone()).filter(|p| !p.text.is_empty());
        let (first, rest) = (self.leads.iter(), rest().collect::<Vec<_>>());
        let first = first.map(|lead| if lead.used { lead.rest.clone() } else { lead.first.clone() });
        let first = first.filter(|p| !p.text.is_empty()).collect();
        self.leads.iter_mut().for_each(|lead| lead.used = true);
        (first, rest)
    }

    /// A blank row, where the source has blank lines before what begins here.
    fn gap(&mut self, start: usize) {
        self.flush_open(start);
        let gap = self.source.get(self.shown..start).filter(|_| !self.rows.is_empty());
        self.shown = self.shown.max(start);
        let Some(gap) = gap else { return };
        let mut lines = gap.split('\n').skip(1).collect::<Vec<_>>();
        lines.pop();
        if lines.iter().any(|line| line.trim_matches([' ', '\t', '\r', '>']).is_empty()) {
            let rest = self.leads.iter().take_while(|lead| lead.used).map(|lead| lead.rest.clone()).collect();
            let mut line = crate::widgets::line::Line { left: rest, right: Vec::new() };
            while line.left.last().is_some_and(|p| p.text.trim().is_empty()) {
                line.left.pop();
            }
            self.rows.push((line, self.base + start));
        }
    }

    /// Shows text that no paragraph holds: in a tight list items hold it themselves.
    fn flush_open(&mut self, end: usize) {
        if !self.spans.is_empty() && self.table.is_none() {
            self.flush(end);
        }
    }

    fn break_line(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        let (first, rest) = self.pieces();
        self.rows.extend(wrap(&spans, &first, &rest, self.room()));
    }

    /// Shows the text that was gathered.
    fn flush(&mut self, end: usize) {
        self.break_line();
        self.shown = self.shown.max(self.source[..end].trim_end().len());
    }

    /// The paragraph holds more than text: the lines that were gathered so far are shown as such.
    fn join(&mut self) {
        if self.pure.take().is_none() {
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

    /// Shows the block as its source has it.
    fn verbatim(&mut self, end: usize) {
        self.pure = None;
        self.spans.clear();
        let mut at = self.start;
        for line in self.source[self.start..end].trim_end().split('\n') {
            self.rows.extend(wrap(&[Span::new(line, Tone::Plain, self.base + at)], &[], &[], self.measure.width));
            at += line.len() + 1;
        }
        self.shown = end;
    }

    /// A line of code, or of HTML.
    fn code_line(&mut self) {
        if self.code == Some(Code::Html) {
            return self.break_line();
        }
        let spans = std::mem::take(&mut self.spans);
        let (mut first, mut rest) = self.pieces();
        for lead in [&mut first, &mut rest] {
            lead.push(Piece { text: "│ ".into(), tone: Tone::Dim });
        }
        let room = self.room().saturating_sub(2).max(1);
        match self.measure.wrap {
            true => self.rows.extend(wrap(&spans, &first, &rest, room)),
            false => self.rows.push(cut(&spans, &first, room)),
        }
    }
}

/// An address that fits: what is carried in it, and what is very long, is cut.
fn short(address: &str) -> String {
    let size = || text::bytes(address.len() as u64);
    match address.strip_prefix("data:") {
        Some(data) => format!("data:{}, {}", data.split([',', ';']).next().unwrap_or_default(), size()),
        None if address.len() > MAX_ADDRESS => format!("{}… {}", text::head(address, MAX_ADDRESS), size()),
        None => address.into(),
    }
}
