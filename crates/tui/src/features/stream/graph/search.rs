//! A search for nodes by name. Nodes in folded groups are found too: their group is marked, and going to them unfolds it.

use super::GraphView;
use super::picture::Picture;
use crate::widgets::pattern::Pattern;
use runtail_core::graph::{Graph, group_of};

/// The search and what it finds.
#[derive(Debug, Clone, Default)]
pub(super) struct GraphSearch {
    pattern: Pattern,
    /// The found nodes of the whole graph, in the order of the drawing.
    hits: Vec<usize>,
    /// The cursor before the search was typed, and whether it stayed there, while the text is typed.
    before: Option<(Option<String>, bool)>,
}

impl GraphSearch {
    fn find(&mut self, whole: &Graph, picture: &Picture) {
        self.hits.clear();
        if self.pattern.is_empty() {
            return;
        }
        let found = whole
            .nodes()
            .iter()
            .enumerate()
            .filter(|(_, node)| self.pattern.is_in(&node.name));
        self.hits.extend(found.map(|(at, _)| at));
        self.hits.sort_by_key(|at| picture.row_of_member(*at));
    }

    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    pub fn is_active(&self) -> bool {
        !self.pattern.is_empty()
    }
}

impl GraphView {
    /// Uses a pattern. Returns whether it is a new one.
    pub(super) fn use_pattern(&mut self, pattern: &Pattern) -> bool {
        let is_new = self.search.pattern.text() != pattern.text();
        if is_new {
            self.search.pattern = pattern.clone();
            self.find_again();
        }
        is_new
    }

    /// Searches the graph again after the drawing changed.
    pub(super) fn find_again(&mut self) {
        self.search.find(&self.whole, &self.picture);
    }

    /// Remembers the cursor before a search is typed.
    pub fn begin_search(&mut self) {
        self.search.before = Some((self.cursor.clone(), self.is_paused));
    }

    /// Ends typing. If the text is not kept, the cursor goes back.
    pub fn end_search(&mut self, keep: bool) {
        let before = self.search.before.take();
        if let Some((cursor, is_paused)) = before.filter(|_| !keep) {
            (self.cursor, self.is_paused) = (cursor, is_paused);
            self.scroll_to_cursor();
        }
    }

    /// Searches while a text is typed: goes to the first hit from the earlier cursor on. Nothing is unfolded yet.
    pub fn search_near(&mut self, pattern: &Pattern) {
        self.use_pattern(pattern);
        if let Some((cursor, is_paused)) = self.search.before.clone() {
            (self.cursor, self.is_paused) = (cursor, is_paused);
        }
        let from = self.cursor_row().unwrap_or(0);
        let rows = || {
            self.search
                .hits
                .iter()
                .filter_map(|at| self.picture.row_of_member(*at))
        };
        match rows().find(|row| *row >= from).or_else(|| rows().next()) {
            Some(row) => self.set_cursor(row),
            None => self.scroll_to_cursor(),
        }
    }

    /// Returns the number of found nodes, and the place of the one under the cursor among them, from 1.
    pub fn found(&self) -> (usize, Option<usize>) {
        let at = self.hit_under_cursor().map(|at| at + 1);
        (self.search.hits.len(), at)
    }

    fn hit_under_cursor(&self) -> Option<usize> {
        let node = self.whole.find(self.cursor.as_deref()?)?;
        self.search.hits.iter().position(|hit| *hit == node)
    }

    /// Returns the names of the found nodes that are folded into a row.
    pub(super) fn hits_in(&self, row: usize) -> Vec<&str> {
        if self.picture.node_of_row(row).folded == 0 {
            return Vec::new();
        }
        let inside = self
            .search
            .hits
            .iter()
            .filter(|hit| self.picture.row_of_member(**hit) == Some(row));
        inside.map(|hit| &*self.whole.nodes()[*hit].name).collect()
    }

    /// Goes to the next or previous found node, around the ends, and unfolds its groups. Returns false if nothing is found.
    pub(super) fn next_found(&mut self, forward: bool) -> bool {
        let hits = &self.search.hits;
        let Some(last) = hits.len().checked_sub(1) else {
            return false;
        };
        let row = |hit: &usize| self.picture.row_of_member(*hit);
        let cursor = self.cursor_row();
        let is_group = cursor.is_some_and(|row| self.picture.node_of_row(row).folded > 0);
        let at = match (self.hit_under_cursor(), forward) {
            (Some(at), true) => at + 1,
            (Some(at), false) => at.checked_sub(1).unwrap_or(last),
            // The nodes in a folded group are below its row.
            (None, true) => hits
                .iter()
                .position(|hit| row(hit) > cursor || is_group && row(hit) == cursor)
                .unwrap_or(0),
            (None, false) => hits
                .iter()
                .rposition(|hit| row(hit) < cursor)
                .unwrap_or(last),
        };
        let hit = hits.get(at).or(hits.first()).copied().unwrap_or_default();
        let id = self.whole.nodes()[hit].id.clone();
        if let Some(row) = self.picture.row_of_member(hit)
            && self.picture.node_of_row(row).folded > 0
        {
            let set = self.picture.node_of_row(row).id.clone();
            let mut group = group_of(&id);
            while let Some(outer) = group {
                self.chosen.insert(outer.to_string(), false);
                group = group_of(outer);
            }
            self.chosen.insert(set, false);
            self.version += 1;
            self.redraw();
        }
        self.cursor = Some(id);
        self.is_paused = true;
        self.scroll_to_cursor();
        true
    }
}
