//! Searching a document's keys and values. A large document is searched beside the screen, and what is found is shown as it
//! comes.

use super::{Tree, key};
use crate::widgets::jobs::{AT_ONCE, Task, Work};
use crate::widgets::line::{Line, Tone};
use crate::widgets::pattern::Pattern;
use crate::widgets::scroll::Spot;
use runtail_core::text;
use runtail_stream::projection::document::{Chunks, Doc, Kind, plain};
use std::sync::Arc;

/// Most places that are kept.
const MAX_FOUND: usize = 1_000_000;

/// A place that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The node whose key or value it is.
    pub node: u32,
    /// The piece of its text, where that is long.
    pub piece: u32,
}

/// What is searched for, and where it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Search {
    pattern: Pattern,
    /// Nodes whose key or plain value contains the text, in their order.
    found: Vec<Found>,
    /// Which of them was gone to.
    at: usize,
    /// The first node that was not looked at.
    upto: u32,
    /// The cursor is to go to the first place from this node on, as soon as it is known.
    wanted: Option<u32>,
    /// The search beside the screen.
    pub(crate) work: Option<Work>,
}

/// A search that goes on.
#[derive(Debug)]
pub struct Searching {
    doc: Arc<Doc>,
    pattern: Pattern,
    upto: u32,
}

impl Searching {
    /// Begins with a document's first node.
    pub fn new(doc: Arc<Doc>, pattern: Pattern) -> Searching {
        Searching { doc, pattern, upto: 0 }
    }

    /// The first node that was not looked at.
    pub fn upto(&self) -> u32 {
        self.upto
    }

    /// Whether all were.
    pub fn is_done(&self) -> bool {
        self.upto >= self.doc.len()
    }

    /// Looks at about so many bytes more.
    pub fn step(&mut self, bytes: usize) -> Vec<Found> {
        let mut found = Vec::new();
        let mut left = bytes;
        while left > 0 && !self.is_done() {
            let node = self.upto;
            let leaf = matches!(self.doc.kind(node), Kind::Text | Kind::Other);
            let in_key = self.doc.key(node).is_some_and(|key| self.pattern.is_in(&plain(key)));
            if in_key || (leaf && self.is_in_value(node)) {
                let piece = if leaf && !in_key { self.piece(node) } else { 0 };
                found.push(Found { node, piece });
            }
            // Each node costs something, however short it is.
            left = left.saturating_sub(16 + if leaf { self.doc.size(node) as usize } else { 0 });
            self.upto += 1;
        }
        found
    }

    fn is_in_value(&self, node: u32) -> bool {
        let raw = self.doc.value(node);
        match self.doc.kind(node) {
            Kind::Text => self.pattern.is_in(&plain(raw)),
            _ => self.pattern.is_in(raw),
        }
    }

    /// The first piece of a text that holds what is searched for, or begins it.
    fn piece(&self, node: u32) -> u32 {
        let chunks: Chunks<'_> = self.doc.chunks(node);
        let count = chunks.count();
        let inside = || (0..count).find(|n| self.pattern.is_in(&chunks.text(*n)));
        let across =
            || (1..count).find(|n| self.pattern.is_in(&(chunks.text(n - 1) + &chunks.text(*n)))).map(|n| n - 1);
        if count == 1 { 0 } else { inside().or_else(across).unwrap_or(0) as u32 }
    }
}

/// Columns that what is searched for may take, so that the rest of the line stays.
const SEARCH_ROOM: usize = 40;

impl Tree {
    /// What is searched for in a document, and which hit of how many the cursor is at.
    pub fn search_line(&self) -> Option<Line> {
        let (at, count) = self.search_place()?;
        let mut line = Line::of(Tone::Accent, "/");
        line.push(Tone::Strong, &text::fit(&text::clean(self.search_text()), SEARCH_ROOM));
        let hits = text::count(count as u64);
        let told = match (self.search_progress(), at, count) {
            (Some(share), ..) => format!(" {share} % searched, {hits} found"),
            (None, _, 0) => " no hit".to_string(),
            (None, 0, _) => format!(" {hits} found"),
            (None, at, _) => format!(" {} of {hits}", text::count(at as u64)),
        };
        line.push(if self.search_progress().is_some() { Tone::Moving } else { Tone::Plain }, &told);
        if let Some(problem) = self.search_problem() {
            line.push(Tone::Moving, &format!(" ? {problem}"));
        }
        Some(line)
    }

    /// What is searched for.
    pub fn search_text(&self) -> &str {
        self.search.pattern.text()
    }

    /// Which place of how many the search stands at, counted from 1; nothing where nothing is searched for.
    pub fn search_place(&self) -> Option<(usize, usize)> {
        let Search { pattern, found, at, wanted, .. } = &self.search;
        let at = if found.is_empty() || wanted.is_some() { 0 } else { at + 1 };
        (!pattern.is_empty()).then_some((at, found.len()))
    }

    /// What has to be said about what is searched for, in words: that it is no regular expression.
    pub fn search_problem(&self) -> Option<&str> {
        self.search.pattern.problem()
    }

    /// How much of the document was searched, in percent, while the search goes on.
    pub fn search_progress(&self) -> Option<u32> {
        self.search.work.as_ref()?;
        Some((u64::from(self.search.upto) * 100 / u64::from(self.doc.len().max(1))) as u32)
    }

    /// Searches keys and plain values for a regular expression, and goes to the first place from the cursor on.
    pub fn search(&mut self, text: &str) {
        // Each letter that is typed looks from where the typing began, as far as it got.
        let here = self.search.wanted.or(self.under_cursor()).unwrap_or(0);
        self.search = Search { pattern: Pattern::new(text), wanted: Some(here), ..Search::default() };
        self.begin_search();
    }

    /// The same search in another document; the cursor stays.
    pub(crate) fn search_again(&mut self) {
        let pattern = std::mem::take(&mut self.search.pattern);
        self.search = Search { pattern, ..Search::default() };
        self.begin_search();
    }

    fn begin_search(&mut self) {
        let pattern = self.search.pattern.clone();
        if pattern.is_empty() || self.doc.is_empty() {
            self.search.wanted = None;
        } else if self.doc.bytes() <= AT_ONCE {
            let mut searching = Searching::new(self.doc.clone(), pattern);
            let found = searching.step(usize::MAX);
            self.take_found(&found, searching.upto());
        } else {
            self.search.work = Some(Work::new(Task::search(self.doc.clone(), pattern)));
        }
    }

    /// Takes the places that were found, up to a node.
    pub(crate) fn take_found(&mut self, found: &[Found], upto: u32) {
        let room = MAX_FOUND.saturating_sub(self.search.found.len()).min(found.len());
        self.search.found.extend(&found[..room]);
        self.search.upto = upto;
        let over = upto >= self.doc.len();
        if over {
            self.search.work = None;
        }
        let Some(here) = self.search.wanted else { return };
        // From the cursor on, and where there is nothing from the start.
        let at = self.search.found.partition_point(|found| found.node < here);
        if at < self.search.found.len() || over {
            self.search.wanted = None;
            self.search.at = if at < self.search.found.len() { at } else { 0 };
            self.go_to_match();
        }
    }

    /// Goes to the next place, or to the one before, round the ends.
    pub fn next_match(&mut self, forward: bool) {
        let count = self.search.found.len();
        if count == 0 || self.search.wanted.is_some() {
            return;
        }
        let here = self.under_cursor().unwrap_or(0);
        let known = self.search.found.get(self.search.at).is_some_and(|found| found.node == here);
        self.search.at = match (known, forward) {
            (true, true) => (self.search.at + 1) % count,
            (true, false) => (self.search.at + count - 1) % count,
            // From where the reader is by now.
            (false, true) => self.search.found.partition_point(|found| found.node <= here) % count,
            (false, false) => (self.search.found.partition_point(|found| found.node < here) + count - 1) % count,
        };
        self.go_to_match();
    }

    /// Puts the cursor on the place that the search stands at, unfolding what hides it.
    fn go_to_match(&mut self) {
        let Some(&Found { node, piece }) = self.search.found.get(self.search.at) else { return };
        self.go_to(node);
        // A text that is longer than its line is shown whole where the match is, with the cursor on the match's line.
        if !self.is_text(node) || self.doc.value(node).len() <= self.width {
            return;
        }
        let pattern = &self.search.pattern;
        let Some(line) = self.piece(node, piece + 1).iter().position(|line| pattern.is_in(line)) else { return };
        self.toggled.insert(node);
        self.place.cursor = Spot { key: key(node, piece + 1), line };
    }
}

#[cfg(test)]
mod tests;
