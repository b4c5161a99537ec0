//! A JSON document as a tree that can be folded, searched and scrolled. Which lines there are is never listed: the tree
//! goes from one to the next, so that folding, unfolding and drawing cost what is on the screen, and not what there is.

mod lines;
mod search;
#[cfg(test)]
mod tests;

pub use lines::{change_glyph, change_tone, gist};
pub use search::{Found, Searching};

use super::jobs::{AT_ONCE, Part, Task, Work};
use super::line::Line;
use super::scroll::{Place, Rows, Spot};
use foldhash::fast::RandomState;
use runtail_stream::projection::difference::Mark;
use runtail_stream::projection::document::{Doc, Excerpt, Kind, unquote};
use search::Search;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Nodes from this depth on start folded in a document longer than [`SMALL`].
const FOLD_DEPTH: u32 = 2;
/// A document of up to this many nodes starts unfolded.
const SMALL: u32 = 60;
/// A value of up to so many bytes that is no string needs no unfolding.
const SHORT: usize = 200;
/// Siblings that are looked at to find the folded places of one document in the next one.
const EFFORT: usize = 100_000;

/// A document on the screen: what is folded, what is shown whole, and where the reader is.
#[derive(Debug, Clone)]
pub struct Tree {
    doc: Arc<Doc>,
    /// Which document it is, in the words of whoever shows it.
    tag: u64,
    /// The text that is being read, and its tag.
    reading: Option<(Excerpt, u64, Work)>,
    /// The text that is wanted after it.
    next: Option<(Excerpt, u64)>,
    /// What is known of the text that is read: its keys and their bytes.
    outline: Vec<(Arc<str>, usize)>,
    /// Nodes whose folding differs from the start's; texts that are shown whole.
    toggled: HashSet<u32, RandomState>,
    base: Fold,
    width: usize,
    height: usize,
    search: Search,
    /// What changed since the document that this one is compared with, where it is.
    marks: Option<HashMap<u32, Mark>>,
    /// Where the reader is. Its keys are made of a node and of the part of it that a line shows.
    pub place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fold {
    Start,
    All,
    None,
}

/// The key of a part of a node: 0 is its own line, those from 1 on are the pieces of its text.
fn key(node: u32, part: u32) -> u64 {
    u64::from(node) << 32 | u64::from(part)
}

fn node_of(key: u64) -> u32 {
    (key >> 32) as u32
}

fn part_of(key: u64) -> u32 {
    key as u32
}

impl Tree {
    /// A tree over a text, folded as a first look wants it.
    pub fn new(text: Arc<str>) -> Tree {
        let mut tree = Tree::empty();
        tree.show(text.into(), 0, Vec::new());
        tree
    }

    /// A tree over nothing.
    pub fn empty() -> Tree {
        Tree {
            doc: Arc::new(Doc::unread()),
            tag: 0,
            reading: None,
            next: None,
            outline: Vec::new(),
            toggled: HashSet::default(),
            base: Fold::Start,
            width: 80,
            height: 0,
            search: Search::default(),
            marks: None,
            place: Place::at_start(),
        }
    }

    /// Takes another text in the place of the old one; what was folded stays so, and the cursor stays on its path. A large
    /// text is read beside the screen, the newest one next; until it is read the old one stays. `outline` is what is
    /// known of it before.
    pub fn show(&mut self, text: Excerpt, tag: u64, outline: Vec<(Arc<str>, usize)>) {
        self.outline = outline;
        if text.len() <= AT_ONCE {
            (self.reading, self.next) = (None, None);
            return self.take_doc(Arc::new(Doc::new(text)), tag);
        }
        // What somebody reads already is read to its end: texts that come faster than they are read are seen still.
        if self.reading.as_ref().is_some_and(|(.., work)| work.number > 0) {
            self.next = Some((text, tag));
        } else {
            self.read(text, tag);
        }
    }

    fn read(&mut self, text: Excerpt, tag: u64) {
        self.next = None;
        let work = Work::new(Task::read(text.clone()));
        self.reading = Some((text, tag, work));
    }

    /// The document that is shown.
    pub fn doc(&self) -> &Arc<Doc> {
        &self.doc
    }

    /// Which text is shown, by the tag that it was given with; none while the first one is read.
    pub fn tag(&self) -> Option<u64> {
        (!self.doc.is_empty()).then_some(self.tag)
    }

    /// Bytes of the text that is being read, and how many of them were.
    pub fn progress(&self) -> Option<(usize, usize)> {
        self.reading.as_ref().map(|(text, _, work)| (work.done, text.len()))
    }

    /// The work that is to be done for it beside the screen.
    pub fn works(&self) -> impl Iterator<Item = &Work> {
        self.reading.iter().map(|(.., work)| work).chain(self.search.work.as_ref())
    }

    /// The same, to be numbered.
    pub fn works_mut(&mut self) -> impl Iterator<Item = &mut Work> {
        self.reading.iter_mut().map(|(.., work)| work).chain(self.search.work.as_mut())
    }

    /// Takes what came of its work; what it did not ask for, or not any more, changes nothing.
    pub fn take(&mut self, number: u64, part: &Part) {
        if self.search.work.as_ref().is_some_and(|work| work.number == number) {
            return match part {
                Part::Found { found, upto } => self.take_found(found, *upto),
                _ => self.search.work = None,
            };
        }
        let Some((_, tag, work)) = self.reading.as_mut().filter(|(.., work)| work.number == number) else { return };
        match part {
            Part::Progress(done) => work.done = *done,
            Part::Read(doc) => {
                let tag = *tag;
                self.reading = None;
                self.take_doc(doc.clone(), tag);
                if let Some((text, tag)) = self.next.take() {
                    self.read(text, tag);
                }
            }
            // It is not begun again, but what was wanted after it may be read.
            Part::Failed => {
                self.reading = None;
                if let Some((text, tag)) = self.next.take() {
                    self.read(text, tag);
                }
            }
            Part::Found { .. } | Part::Compared(_) => {}
        }
    }

    fn take_doc(&mut self, doc: Arc<Doc>, tag: u64) {
        let old = std::mem::replace(&mut self.doc, doc);
        (self.tag, self.marks) = (tag, None);
        let mut effort = EFFORT;
        let toggled = std::mem::take(&mut self.toggled);
        let Place { cursor, top, .. } = self.place;
        self.place.cursor = self.moved(&old, cursor, &mut effort);
        self.place.top = self.moved(&old, top, &mut effort);
        self.toggled = toggled.iter().filter_map(|node| self.doc.counterpart(&old, *node, &mut effort)).collect();
        self.snap();
        self.search_again();
    }

    /// A place of an old document in the new one: the same path, or what is left of it.
    fn moved(&self, old: &Doc, spot: Spot, effort: &mut usize) -> Spot {
        let node = node_of(spot.key);
        if old.is_empty() || node >= old.len() {
            return Spot::default();
        }
        let up = std::iter::once(node).chain(old.ancestors(node));
        match up.into_iter().find_map(|above| Some((above, self.doc.counterpart(old, above, effort)?))) {
            Some((above, now)) if above == node => Spot { key: key(now, part_of(spot.key)), ..spot },
            Some((_, now)) => Spot { key: key(now, 0), line: 0 },
            None => Spot::default(),
        }
    }

    /// What changed in it, or that nothing is known of that.
    pub fn set_marks(&mut self, marks: Option<HashMap<u32, Mark>>) {
        self.marks = marks;
    }

    /// Lays out for a window.
    pub fn prepare(&mut self, width: usize, height: usize) {
        let width = width.max(10);
        if width != self.width {
            let before = self.place;
            let heights = |tree: &Tree| [before.top.key, before.cursor.key].map(|key| tree.height(key));
            let old = heights(self);
            self.width = width;
            let new = heights(self);
            self.place.rescale(before.top.key, old[0], new[0]);
            if before.top.key != before.cursor.key {
                self.place.rescale(before.cursor.key, old[1], new[1]);
            }
        }
        self.height = height;
        let mut place = self.place;
        place.fill(&*self, height);
        self.place = place;
    }

    fn is_container(&self, node: u32) -> bool {
        self.doc.has_children(node)
    }

    fn is_folded(&self, node: u32) -> bool {
        self.is_container(node) && self.folds_at(self.doc.depth(node)) != self.toggled.contains(&node)
    }

    /// Whether containers at this depth are folded by default.
    fn folds_at(&self, depth: u32) -> bool {
        match self.base {
            Fold::Start => self.doc.len() > SMALL && depth >= FOLD_DEPTH,
            Fold::All => depth >= 1,
            Fold::None => false,
        }
    }

    /// The outermost folded container among those that hold a node, up to and without `end`. A node may be in 100,000 of them,
    /// so each costs as little as possible.
    fn outermost_folded(&self, node: u32, end: Option<u32>) -> Option<u32> {
        if matches!(self.base, Fold::None) && self.toggled.is_empty() {
            return None;
        }
        let (mut depth, mut found) = (self.doc.depth(node), None);
        for above in self.doc.ancestors(node).take_while(|above| Some(*above) != end) {
            depth -= 1;
            if self.folds_at(depth) != self.toggled.contains(&above) {
                found = Some(above);
            }
        }
        found
    }

    /// Whether a value is a text that can be shown whole: long ones are cut at the line's end until somebody asks.
    fn is_text(&self, node: u32) -> bool {
        match self.doc.kind(node) {
            Kind::Text => true,
            Kind::Other => self.doc.value(node).len() > SHORT,
            Kind::Object | Kind::Array => false,
        }
    }

    fn shown_whole(&self, node: u32) -> bool {
        self.toggled.contains(&node) && self.is_text(node)
    }

    /// The outermost folded container that hides a node, or the node.
    fn seen(&self, node: u32) -> u32 {
        self.outermost_folded(node, None).unwrap_or(node)
    }

    /// Brings the place to lines that there are.
    fn snap(&mut self) {
        if !self.doc.is_empty() {
            self.place.cursor = self.snapped(self.place.cursor);
            self.place.top = self.snapped(self.place.top);
        }
    }

    fn snapped(&self, spot: Spot) -> Spot {
        let node = node_of(spot.key).min(self.doc.len() - 1);
        let seen = self.seen(node);
        let pieces = if seen == node && self.shown_whole(node) { self.doc.chunks(node).count() } else { 0 };
        if part_of(spot.key) as usize <= pieces {
            Spot { key: key(seen, part_of(spot.key)), ..spot }
        } else {
            Spot { key: key(seen, 0), line: 0 }
        }
    }

    /// The node under the cursor.
    pub fn under_cursor(&self) -> Option<u32> {
        let node = node_of(self.place.cursor.key);
        (node < self.doc.len()).then_some(node)
    }

    fn toggle_node(&mut self, node: u32) {
        if !self.toggled.remove(&node) {
            self.toggled.insert(node);
        }
    }

    /// Folds or unfolds what is under the cursor, or shows a text whole and back.
    pub fn toggle(&mut self) {
        if let Some(node) = self.under_cursor().filter(|node| self.is_container(*node) || self.is_text(*node)) {
            self.toggle_node(node);
            self.place.cursor = Spot { key: key(node, 0), line: 0 };
            self.snap();
        }
    }

    /// Unfolds what is under the cursor.
    pub fn unfold(&mut self) {
        if self.under_cursor().is_some_and(|node| self.is_folded(node)) {
            self.toggle();
        }
    }

    /// Folds what is under the cursor or, where it is folded, goes to its parent.
    pub fn fold(&mut self) {
        let Some(node) = self.under_cursor() else { return };
        if (self.is_container(node) && !self.is_folded(node)) || self.shown_whole(node) {
            return self.toggle();
        }
        if let Some(parent) = self.doc.parent(node) {
            self.place.cursor = Spot { key: key(parent, 0), line: 0 };
        }
    }

    /// Folds everything below the first level, or unfolds everything.
    pub fn fold_all(&mut self, fold: bool) {
        self.base = if fold { Fold::All } else { Fold::None };
        self.toggled.clear();
        self.snap();
    }

    /// The text of the value under the cursor: what copy gives (a string without its quotes).
    pub fn value_under_cursor(&self) -> Option<String> {
        let node = self.under_cursor()?;
        let raw = self.doc.value(node);
        Some(if self.doc.kind(node) == Kind::Text { unquote(raw) } else { raw.to_string() })
    }

    /// The path of what is under the cursor.
    pub fn path_under_cursor(&self) -> Option<String> {
        self.under_cursor().map(|node| self.doc.path(node))
    }

    /// Puts the cursor on a node, and unfolds what hides it.
    pub fn go_to(&mut self, node: u32) {
        if node >= self.doc.len() {
            return;
        }
        let folded: Vec<u32> = self.doc.ancestors(node).filter(|above| self.is_folded(*above)).collect();
        folded.into_iter().for_each(|above| self.toggle_node(above));
        self.place.cursor = Spot { key: key(node, 0), line: 0 };
        self.snap();
    }

    /// The lines of the window, each with whether the cursor is on it.
    pub fn window(&self) -> Vec<(Line, bool)> {
        if self.doc.is_empty() {
            return self.outline_lines().into_iter().take(self.height).map(|line| (line, false)).collect();
        }
        let mut lines = Vec::new();
        let Spot { key: first, line: mut skip } = self.place.top;
        let mut at = Some(first);
        while let Some(key) = at.filter(|_| lines.len() < self.height) {
            // The lines of a piece of text are made together: to break it costs more than to show it.
            for (line, shown) in self.lines_of(key).into_iter().enumerate().skip(std::mem::take(&mut skip)) {
                lines.push((shown, self.place.cursor == Spot { key, line }));
            }
            at = self.next(key);
        }
        lines.truncate(self.height);
        lines
    }

    /// The last line's key.
    fn last(&self) -> Option<u64> {
        let node = self.seen(self.doc.len().checked_sub(1)?);
        let part = if self.shown_whole(node) { self.doc.chunks(node).count() as u32 } else { 0 };
        Some(key(node, part))
    }
}

impl Rows for Tree {
    fn first(&self) -> u64 {
        0
    }
    fn end(&self) -> u64 {
        self.last().map_or(0, |last| last + 1)
    }
    fn height(&self, key: u64) -> usize {
        match part_of(key) {
            0 => 1,
            part => self.piece(node_of(key), part).len(),
        }
    }
    fn next(&self, at: u64) -> Option<u64> {
        let (node, part) = (node_of(at), part_of(at));
        if node >= self.doc.len() {
            return None;
        }
        if self.shown_whole(node) && (part as usize) < self.doc.chunks(node).count() {
            return Some(at + 1);
        }
        let next = if self.is_folded(node) { self.doc.after(node) } else { node + 1 };
        (next < self.doc.len()).then(|| key(next, 0))
    }
    fn prev(&self, at: u64) -> Option<u64> {
        if part_of(at) > 0 {
            return Some(at - 1);
        }
        let node = node_of(at);
        let before = node.checked_sub(1)?;
        // What is in a folded container before it is hidden by that; what holds the node itself is not folded.
        let seen = self.outermost_folded(before, self.doc.parent(node)).unwrap_or(before);
        let part = if self.shown_whole(seen) { self.doc.chunks(seen).count() as u32 } else { 0 };
        Some(key(seen, part))
    }
}
