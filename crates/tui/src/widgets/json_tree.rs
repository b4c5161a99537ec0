//! A JSON document as a tree that can be folded, searched and scrolled. The lines are never listed: the tree steps from one
//! line to the next, so the cost of folding and drawing depends on the visible lines, not on the size of the document.

mod lines;
mod search;
#[cfg(test)]
mod tests;

pub use lines::{change_glyph, change_tone, gist};
pub use search::{FoundNode, Searching};

use super::jobs::{JobProgress, JobSpec, PendingJob, SYNC_LIMIT};
use super::line::Line;
use super::scroll::{LinePos, Place, ScrollList};
use foldhash::fast::RandomState;
use runtail_stream::projection::difference::Mark;
use runtail_stream::projection::index::{Excerpt, JsonIndex, Kind, unquote};
use search::TreeSearch;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Nodes from this depth on are initially folded in a document longer than [`SMALL`].
const FOLD_DEPTH: u32 = 2;
/// Documents of up to this many nodes are initially unfolded.
const SMALL: u32 = 60;
/// Values of up to this many bytes that are not strings are always shown in full.
const SHORT: usize = 200;
/// Maximum siblings to search while mapping the folded nodes of a document to its successor.
const MAX_LOOKUPS: usize = 100_000;

/// The view of a document: its folded nodes, expanded texts and scroll position.
#[derive(Debug, Clone)]
pub struct Tree {
    doc: Arc<JsonIndex>,
    /// The caller's identifier of the document.
    tag: u64,
    /// The text that is being parsed, and its tag.
    reading: Option<(Excerpt, u64, PendingJob)>,
    /// The text to parse after it.
    next: Option<(Excerpt, u64)>,
    /// The top-level keys of the text that is being parsed, with the bytes of their values.
    outline: Vec<(Arc<str>, usize)>,
    /// Nodes whose folding differs from the default, and texts that are shown in full.
    toggled: HashSet<u32, RandomState>,
    base: NodeFold,
    width: usize,
    height: usize,
    search: TreeSearch,
    /// The changes since the compared document, if there is one.
    marks: Option<HashMap<u32, Mark>>,
    /// The scroll position. Its keys combine a node and the shown part of it.
    pub place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeFold {
    Start,
    All,
    None,
}

/// Returns the key of a part of a node. Part 0 is its own line; from 1 on they are pieces of its text.
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
    /// Creates a tree of a text with the default folding.
    pub fn new(text: Arc<str>) -> Tree {
        let mut tree = Tree::empty();
        tree.show(text.into(), 0, Vec::new());
        tree
    }

    /// Creates a tree without a document.
    pub fn empty() -> Tree {
        Tree {
            doc: Arc::new(JsonIndex::unread()),
            tag: 0,
            reading: None,
            next: None,
            outline: Vec::new(),
            toggled: HashSet::default(),
            base: NodeFold::Start,
            width: 80,
            height: 0,
            search: TreeSearch::default(),
            marks: None,
            place: Place::at_start(),
        }
    }

    /// Replaces the text. Folded nodes stay folded, and the cursor stays on its path. A large text is parsed in the background
    /// while the old document stays visible; of several waiting texts only the newest is parsed. `outline` lists the keys
    /// of the text, to show until it is parsed.
    pub fn show(&mut self, text: Excerpt, tag: u64, outline: Vec<(Arc<str>, usize)>) {
        self.outline = outline;
        if text.len() <= SYNC_LIMIT {
            (self.reading, self.next) = (None, None);
            return self.set_doc(Arc::new(JsonIndex::new(text)), tag);
        }
        // A started job is finished, so that texts which arrive faster than they are parsed are still shown.
        if self
            .reading
            .as_ref()
            .is_some_and(|(.., work)| work.number > 0)
        {
            self.next = Some((text, tag));
        } else {
            self.read(text, tag);
        }
    }

    fn read(&mut self, text: Excerpt, tag: u64) {
        self.next = None;
        let work = PendingJob::new(JobSpec::read(text.clone()));
        self.reading = Some((text, tag, work));
    }

    /// Returns the shown document.
    pub fn doc(&self) -> &Arc<JsonIndex> {
        &self.doc
    }

    /// Returns the tag of the shown text; `None` while the first one is parsed.
    pub fn tag(&self) -> Option<u64> {
        (!self.doc.is_empty()).then_some(self.tag)
    }

    /// Returns the bytes parsed so far, and the bytes of the text that is being parsed.
    pub fn progress(&self) -> Option<(usize, usize)> {
        self.reading
            .as_ref()
            .map(|(text, _, work)| (work.done, text.len()))
    }

    /// Returns the background jobs of the tree.
    pub fn jobs(&self) -> impl Iterator<Item = &PendingJob> {
        self.reading
            .iter()
            .map(|(.., work)| work)
            .chain(self.search.work.as_ref())
    }

    pub fn jobs_mut(&mut self) -> impl Iterator<Item = &mut PendingJob> {
        self.reading
            .iter_mut()
            .map(|(.., work)| work)
            .chain(self.search.work.as_mut())
    }

    /// Applies the progress of a job. Ignores jobs that it does not have, or no longer has.
    pub fn take(&mut self, number: u64, part: &JobProgress) {
        if self
            .search
            .work
            .as_ref()
            .is_some_and(|work| work.number == number)
        {
            return match part {
                JobProgress::Found { found, upto } => self.add_found(found, *upto),
                _ => self.search.work = None,
            };
        }
        let Some((_, tag, work)) = self
            .reading
            .as_mut()
            .filter(|(.., work)| work.number == number)
        else {
            return;
        };
        match part {
            JobProgress::Progress(done) => work.done = *done,
            JobProgress::Read(doc) => {
                let tag = *tag;
                self.reading = None;
                self.set_doc(doc.clone(), tag);
                if let Some((text, tag)) = self.next.take() {
                    self.read(text, tag);
                }
            }
            // Not started again, but the next text may succeed.
            JobProgress::Failed => {
                self.reading = None;
                if let Some((text, tag)) = self.next.take() {
                    self.read(text, tag);
                }
            }
            JobProgress::Found { .. } | JobProgress::Compared(_) => {}
        }
    }

    fn set_doc(&mut self, doc: Arc<JsonIndex>, tag: u64) {
        let old = std::mem::replace(&mut self.doc, doc);
        (self.tag, self.marks) = (tag, None);
        let mut lookups = MAX_LOOKUPS;
        let toggled = std::mem::take(&mut self.toggled);
        let Place { cursor, top, .. } = self.place;
        self.place.cursor = self.relocated(&old, cursor, &mut lookups);
        self.place.top = self.relocated(&old, top, &mut lookups);
        self.toggled = toggled
            .iter()
            .filter_map(|node| self.doc.counterpart(&old, *node, &mut lookups))
            .collect();
        self.snap();
        self.search_again();
    }

    /// Finds a position of the old document in the new one: the same path, or its nearest existing ancestor.
    fn relocated(&self, old: &JsonIndex, spot: LinePos, lookups: &mut usize) -> LinePos {
        let node = node_of(spot.key);
        if old.is_empty() || node >= old.len() {
            return LinePos::default();
        }
        let up = std::iter::once(node).chain(old.ancestors(node));
        match up
            .into_iter()
            .find_map(|above| Some((above, self.doc.counterpart(old, above, lookups)?)))
        {
            Some((above, now)) if above == node => LinePos {
                key: key(now, part_of(spot.key)),
                ..spot
            },
            Some((_, now)) => LinePos {
                key: key(now, 0),
                line: 0,
            },
            None => LinePos::default(),
        }
    }

    /// Sets the changes to mark, or `None` if there is no comparison.
    pub fn set_marks(&mut self, marks: Option<HashMap<u32, Mark>>) {
        self.marks = marks;
    }

    /// Adjusts the layout to the size of the window.
    pub fn prepare(&mut self, width: usize, height: usize) {
        let width = width.max(10);
        if width != self.width {
            let before = self.place;
            let heights =
                |tree: &Tree| [before.top.key, before.cursor.key].map(|key| tree.height(key));
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
        self.is_container(node)
            && self.folds_at(self.doc.depth(node)) != self.toggled.contains(&node)
    }

    /// Returns whether containers at this depth are folded by default.
    fn folds_at(&self, depth: u32) -> bool {
        match self.base {
            NodeFold::Start => self.doc.len() > SMALL && depth >= FOLD_DEPTH,
            NodeFold::All => depth >= 1,
            NodeFold::None => false,
        }
    }

    /// Returns the outermost folded ancestor of a node, up to but not including `end`. A node may have 100,000 ancestors, so
    /// each one must be cheap.
    fn outermost_folded(&self, node: u32, end: Option<u32>) -> Option<u32> {
        if matches!(self.base, NodeFold::None) && self.toggled.is_empty() {
            return None;
        }
        let (mut depth, mut found) = (self.doc.depth(node), None);
        for above in self
            .doc
            .ancestors(node)
            .take_while(|above| Some(*above) != end)
        {
            depth -= 1;
            if self.folds_at(depth) != self.toggled.contains(&above) {
                found = Some(above);
            }
        }
        found
    }

    /// Returns whether a value can be expanded. Until then it is cut at the end of its line.
    fn is_expandable(&self, node: u32) -> bool {
        match self.doc.kind(node) {
            Kind::Text => true,
            Kind::Other => self.doc.value(node).len() > SHORT,
            Kind::Object | Kind::Array => false,
        }
    }

    fn is_expanded(&self, node: u32) -> bool {
        self.toggled.contains(&node) && self.is_expandable(node)
    }

    /// Returns the outermost folded container that hides a node, or the node itself.
    fn visible_node(&self, node: u32) -> u32 {
        self.outermost_folded(node, None).unwrap_or(node)
    }

    /// Moves the cursor and the top to visible lines.
    fn snap(&mut self) {
        if !self.doc.is_empty() {
            self.place.cursor = self.snapped(self.place.cursor);
            self.place.top = self.snapped(self.place.top);
        }
    }

    fn snapped(&self, spot: LinePos) -> LinePos {
        let node = node_of(spot.key).min(self.doc.len() - 1);
        let visible = self.visible_node(node);
        let pieces = if visible == node && self.is_expanded(node) {
            self.doc.chunks(node).count()
        } else {
            0
        };
        if part_of(spot.key) as usize <= pieces {
            LinePos {
                key: key(visible, part_of(spot.key)),
                ..spot
            }
        } else {
            LinePos {
                key: key(visible, 0),
                line: 0,
            }
        }
    }

    /// Returns the node under the cursor.
    pub fn under_cursor(&self) -> Option<u32> {
        let node = node_of(self.place.cursor.key);
        (node < self.doc.len()).then_some(node)
    }

    fn toggle_node(&mut self, node: u32) {
        if !self.toggled.remove(&node) {
            self.toggled.insert(node);
        }
    }

    /// Returns whether anything among the first values is folded, or everything below the first level.
    pub fn has_folds(&self) -> bool {
        /// Values to look at. In a large document, some are folded by default.
        const MAX_SCANNED: u32 = 2_000;
        self.doc.len() > MAX_SCANNED || (0..self.doc.len()).any(|node| self.is_folded(node))
    }

    /// Returns whether the value under the cursor can be folded or expanded.
    pub fn can_toggle(&self) -> bool {
        self.under_cursor()
            .is_some_and(|node| self.is_container(node) || self.is_expandable(node))
    }

    /// Folds or unfolds the container under the cursor, or expands or collapses the text.
    pub fn toggle(&mut self) {
        if let Some(node) = self
            .under_cursor()
            .filter(|node| self.is_container(*node) || self.is_expandable(*node))
        {
            self.toggle_node(node);
            self.place.cursor = LinePos {
                key: key(node, 0),
                line: 0,
            };
            self.snap();
        }
    }

    /// Unfolds the container under the cursor.
    pub fn unfold(&mut self) {
        if self.under_cursor().is_some_and(|node| self.is_folded(node)) {
            self.toggle();
        }
    }

    /// Folds the node under the cursor, or moves to its parent if there is nothing to fold.
    pub fn fold(&mut self) {
        let Some(node) = self.under_cursor() else {
            return;
        };
        if (self.is_container(node) && !self.is_folded(node)) || self.is_expanded(node) {
            return self.toggle();
        }
        if let Some(parent) = self.doc.parent(node) {
            self.place.cursor = LinePos {
                key: key(parent, 0),
                line: 0,
            };
        }
    }

    /// Folds everything below the first level, or unfolds everything.
    pub fn fold_all(&mut self, fold: bool) {
        self.base = if fold { NodeFold::All } else { NodeFold::None };
        self.toggled.clear();
        self.snap();
    }

    /// Returns the value under the cursor for the clipboard: a string decoded and without quotes, other values as JSON.
    pub fn value_under_cursor(&self) -> Option<String> {
        let node = self.under_cursor()?;
        let raw = self.doc.value(node);
        Some(if self.doc.kind(node) == Kind::Text {
            unquote(raw)
        } else {
            raw.to_string()
        })
    }

    /// Returns the value under the cursor as JSON.
    pub fn json_under_cursor(&self) -> Option<&str> {
        self.under_cursor().map(|node| self.doc.value(node))
    }

    /// Returns the path of the node under the cursor.
    pub fn path_under_cursor(&self) -> Option<String> {
        self.under_cursor().map(|node| self.doc.path(node))
    }

    /// Moves the cursor to a node, and unfolds its ancestors.
    pub fn go_to(&mut self, node: u32) {
        if node >= self.doc.len() {
            return;
        }
        let folded: Vec<u32> = self
            .doc
            .ancestors(node)
            .filter(|above| self.is_folded(*above))
            .collect();
        folded.into_iter().for_each(|above| self.toggle_node(above));
        self.place.cursor = LinePos {
            key: key(node, 0),
            line: 0,
        };
        self.snap();
    }

    /// Returns the lines of the window, and whether the cursor is on each.
    pub fn window(&self) -> Vec<(Line, bool)> {
        if self.doc.is_empty() {
            return self
                .outline_lines()
                .into_iter()
                .take(self.height)
                .map(|line| (line, false))
                .collect();
        }
        let mut lines = Vec::new();
        let LinePos {
            key: first,
            line: mut skip,
        } = self.place.top;
        let mut at = Some(first);
        while let Some(key) = at.filter(|_| lines.len() < self.height) {
            // All lines of a piece are created together, because breaking a text costs more than showing it.
            for (line, shown) in self
                .lines_of(key)
                .into_iter()
                .enumerate()
                .skip(std::mem::take(&mut skip))
            {
                lines.push((shown, self.place.cursor == LinePos { key, line }));
            }
            at = self.next(key);
        }
        lines.truncate(self.height);
        lines
    }

    /// Returns the key of the last line.
    fn last(&self) -> Option<u64> {
        let node = self.visible_node(self.doc.len().checked_sub(1)?);
        let part = if self.is_expanded(node) {
            self.doc.chunks(node).count() as u32
        } else {
            0
        };
        Some(key(node, part))
    }
}

impl ScrollList for Tree {
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
        if self.is_expanded(node) && (part as usize) < self.doc.chunks(node).count() {
            return Some(at + 1);
        }
        let next = if self.is_folded(node) {
            self.doc.after(node)
        } else {
            node + 1
        };
        (next < self.doc.len()).then(|| key(next, 0))
    }
    fn prev(&self, at: u64) -> Option<u64> {
        if part_of(at) > 0 {
            return Some(at - 1);
        }
        let node = node_of(at);
        let before = node.checked_sub(1)?;
        // A folded container before the node hides its contents. The ancestors of the node are not folded.
        let visible = self
            .outermost_folded(before, self.doc.parent(node))
            .unwrap_or(before);
        let part = if self.is_expanded(visible) {
            self.doc.chunks(visible).count() as u32
        } else {
            0
        };
        Some(key(visible, part))
    }
}
