//! Searches the keys and values of a document. A large document is searched in the background; matches are shown as they are
//! found.

use super::{Tree, key};
use crate::widgets::jobs::{JobSpec, PendingJob, SYNC_LIMIT};
use crate::widgets::line::{Line, Tone};
use crate::widgets::pattern::Pattern;
use crate::widgets::scroll::LinePos;
use runtail_core::text;
use runtail_stream::projection::index::{Chunks, JsonIndex, Kind, plain};
use std::sync::Arc;

/// Maximum number of matches kept.
const MAX_FOUND: usize = 1_000_000;

/// A match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundNode {
    /// The node whose key or value matches.
    pub node: u32,
    /// The matching piece of its text, from 0.
    pub piece: u32,
}

/// A search with its matches.
#[derive(Debug, Clone, Default)]
pub(crate) struct TreeSearch {
    pattern: Pattern,
    /// The matches so far, in document order.
    found: Vec<FoundNode>,
    /// The index of the current match.
    current: usize,
    /// The first node that was not searched yet.
    upto: u32,
    /// The node from which on the first match becomes the current one as soon as it is found.
    jump_from: Option<u32>,
    /// The job of a search in the background.
    pub(crate) work: Option<PendingJob>,
}

/// A search in progress.
#[derive(Debug)]
pub struct Searching {
    doc: Arc<JsonIndex>,
    pattern: Pattern,
    upto: u32,
}

impl Searching {
    /// Starts at the first node of a document.
    pub fn new(doc: Arc<JsonIndex>, pattern: Pattern) -> Searching {
        Searching {
            doc,
            pattern,
            upto: 0,
        }
    }

    /// Returns the first node that was not searched yet.
    pub fn upto(&self) -> u32 {
        self.upto
    }

    /// Returns whether all nodes were searched.
    pub fn is_done(&self) -> bool {
        self.upto >= self.doc.len()
    }

    /// Searches about this many more bytes. Returns the matches.
    pub fn step(&mut self, bytes: usize) -> Vec<FoundNode> {
        let mut found = Vec::new();
        let mut left = bytes;
        while left > 0 && !self.is_done() {
            let node = self.upto;
            let leaf = matches!(self.doc.kind(node), Kind::Text | Kind::Other);
            let in_key = self
                .doc
                .key(node)
                .is_some_and(|key| self.pattern.is_in(&plain(key)));
            if in_key || (leaf && self.is_in_value(node)) {
                let piece = if leaf && !in_key { self.piece(node) } else { 0 };
                found.push(FoundNode { node, piece });
            }
            // Short nodes have a cost too.
            left = left.saturating_sub(
                16 + if leaf {
                    self.doc.size(node) as usize
                } else {
                    0
                },
            );
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

    /// Returns the first piece of a text that contains a match, or the beginning of one.
    fn piece(&self, node: u32) -> u32 {
        let chunks: Chunks<'_> = self.doc.chunks(node);
        let count = chunks.count();
        let inside = || (0..count).find(|n| self.pattern.is_in(&chunks.text(*n)));
        let across = || {
            (1..count)
                .find(|n| self.pattern.is_in(&(chunks.text(n - 1) + &chunks.text(*n))))
                .map(|n| n - 1)
        };
        if count == 1 {
            0
        } else {
            inside().or_else(across).unwrap_or(0) as u32
        }
    }
}

/// Maximum columns of the pattern, so that there is room for the rest of the line.
const SEARCH_ROOM: usize = 40;

impl Tree {
    /// Returns a line with the pattern, the number of the current match and the number of matches.
    pub fn search_line(&self) -> Option<Line> {
        let (at, count) = self.search_place()?;
        let mut line = Line::accent("/");
        line.push_strong(&text::fit(&text::clean(self.search_text()), SEARCH_ROOM));
        let hits = text::count(count as u64);
        let status = match (self.search_progress(), at, count) {
            (Some(share), ..) => format!(" {share}% searched, {hits} found"),
            (None, _, 0) => " no hit".to_string(),
            (None, 0, _) => format!(" {hits} found"),
            (None, at, _) => format!(" {} of {hits}", text::count(at as u64)),
        };
        line.push(
            if self.search_progress().is_some() {
                Tone::Moving
            } else {
                Tone::Plain
            },
            &status,
        );
        if let Some(problem) = self.search_problem() {
            line.push_moving(&format!(" ? {problem}"));
        }
        Some(line)
    }

    /// Returns the pattern as it was typed.
    pub fn search_text(&self) -> &str {
        self.search.pattern.text()
    }

    /// Returns the number of the current match from 1 (0 for none), and the number of matches; `None` without a search.
    pub fn search_place(&self) -> Option<(usize, usize)> {
        let TreeSearch {
            pattern,
            found,
            current,
            jump_from,
            ..
        } = &self.search;
        let number = if found.is_empty() || jump_from.is_some() {
            0
        } else {
            current + 1
        };
        (!pattern.is_empty()).then_some((number, found.len()))
    }

    /// Returns a warning about the pattern, such as an invalid regular expression.
    pub fn search_problem(&self) -> Option<&str> {
        self.search.pattern.problem()
    }

    /// Returns the progress of a running search in percent.
    pub fn search_progress(&self) -> Option<u32> {
        self.search.work.as_ref()?;
        Some((u64::from(self.search.upto) * 100 / u64::from(self.doc.len().max(1))) as u32)
    }

    /// Searches keys and values for a regular expression, and moves to the first match from the cursor on.
    pub fn search(&mut self, text: &str) {
        // While the pattern is typed and no match is found yet, every search starts at the same node.
        let here = self.search.jump_from.or(self.under_cursor()).unwrap_or(0);
        self.search = TreeSearch {
            pattern: Pattern::new(text),
            jump_from: Some(here),
            ..TreeSearch::default()
        };
        self.begin_search();
    }

    /// Repeats the search in a new document without moving the cursor.
    pub(crate) fn search_again(&mut self) {
        let pattern = std::mem::take(&mut self.search.pattern);
        self.search = TreeSearch {
            pattern,
            ..TreeSearch::default()
        };
        self.begin_search();
    }

    fn begin_search(&mut self) {
        let pattern = self.search.pattern.clone();
        if pattern.is_empty() || self.doc.is_empty() {
            self.search.jump_from = None;
        } else if self.doc.bytes() <= SYNC_LIMIT {
            let mut searching = Searching::new(self.doc.clone(), pattern);
            let found = searching.step(usize::MAX);
            self.add_found(&found, searching.upto());
        } else {
            self.search.work = Some(PendingJob::new(JobSpec::search(self.doc.clone(), pattern)));
        }
    }

    /// Adds matches found up to a node.
    pub(crate) fn add_found(&mut self, found: &[FoundNode], upto: u32) {
        let room = MAX_FOUND
            .saturating_sub(self.search.found.len())
            .min(found.len());
        self.search.found.extend(&found[..room]);
        self.search.upto = upto;
        let over = upto >= self.doc.len();
        if over {
            self.search.work = None;
        }
        let Some(here) = self.search.jump_from else {
            return;
        };
        // The first match from the cursor on, otherwise the first of all.
        let at = self.search.found.partition_point(|found| found.node < here);
        if at < self.search.found.len() || over {
            self.search.jump_from = None;
            self.search.current = if at < self.search.found.len() { at } else { 0 };
            self.go_to_match();
        }
    }

    /// Moves to the next or previous match, and wraps around at the ends.
    pub fn next_match(&mut self, forward: bool) {
        let count = self.search.found.len();
        if count == 0 || self.search.jump_from.is_some() {
            return;
        }
        let here = self.under_cursor().unwrap_or(0);
        let known = self
            .search
            .found
            .get(self.search.current)
            .is_some_and(|found| found.node == here);
        self.search.current = match (known, forward) {
            (true, true) => (self.search.current + 1) % count,
            (true, false) => (self.search.current + count - 1) % count,
            // The cursor was moved since, so continue from there.
            (false, true) => {
                self.search
                    .found
                    .partition_point(|found| found.node <= here)
                    % count
            }
            (false, false) => {
                (self.search.found.partition_point(|found| found.node < here) + count - 1) % count
            }
        };
        self.go_to_match();
    }

    /// Moves the cursor to the current match, and unfolds its ancestors.
    fn go_to_match(&mut self) {
        let Some(&FoundNode { node, piece }) = self.search.found.get(self.search.current) else {
            return;
        };
        self.go_to(node);
        // A text that is longer than its line is expanded, with the cursor on the line of the match.
        if !self.is_expandable(node) || self.doc.value(node).len() <= self.width {
            return;
        }
        let pattern = &self.search.pattern;
        let Some(line) = self
            .piece(node, piece + 1)
            .iter()
            .position(|line| pattern.is_in(line))
        else {
            return;
        };
        self.toggled.insert(node);
        self.place.cursor = LinePos {
            key: key(node, piece + 1),
            line,
        };
    }
}

#[cfg(test)]
mod tests;
