//! The rows of the Timeline view: for each attempt a heading, the source of its bars, an axis, and its bars as a
//! foldable tree. Rows are rebuilt only for the running attempt when its tree changes; lines are rendered only when
//! they are visible.

use super::timeline as lines;
use crate::widgets::line::Line;
use crate::widgets::scroll::Place;
use jiff::Timestamp;
use runtail_stream::Seq;
use runtail_stream::projection::{Attempt, BarKind, Projections, Timeline};
use std::collections::HashSet;

/// A row of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// The number of evicted attempts.
    Evicted,
    /// The run, the attempt and its outcome.
    Heading(u64),
    /// The source of the bars.
    Source(u64),
    Axis(u64),
    /// A blank row between two attempts.
    Blank(u64),
    Bar(Branch),
}

/// The position of a bar in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    pub key: u64,
    /// The number of enclosing bars.
    pub depth: u16,
    /// For the enclosing bars and the bar itself, whether another bar follows at the same level: one bit each,
    /// outermost first.
    pub more: u64,
    /// Whether the outermost bar is drawn as a branch, because it is one of several in its step.
    pub forked: bool,
    /// The number of folded bars in it.
    pub hidden: u32,
}

impl Row {
    /// Returns whether two rows of different versions of the tree show the same item.
    fn shows_same_item(&self, other: &Row) -> bool {
        match (self, other) {
            (Row::Bar(a), Row::Bar(b)) => a.key == b.key,
            _ => self == other,
        }
    }
}

/// The rows of a timeline, and its folded bars.
#[derive(Debug, Default)]
pub struct TimelineRows {
    rows: Vec<Row>,
    folded: HashSet<u64>,
    /// The number of the newest attempt, and its first row.
    newest: (u64, usize),
    /// The version of the tree that the rows show, its first bar and its first attempt.
    shown: Option<(u64, u64, (u64, u64))>,
    now: Timestamp,
}

impl TimelineRows {
    pub fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns whether a row is a bar, not a heading.
    pub fn is_bar(&self, key: u64) -> bool {
        matches!(self.row(key), Some(Row::Bar(_)))
    }

    /// Drops the rows when another tree is shown. Folded bars stay folded.
    pub fn forget(&mut self) {
        self.shown = None;
    }

    /// Updates the rows from the tree, and keeps the scroll position on the same row. Returns whether rows were
    /// renumbered. Durations of running work count up to `now`.
    pub fn prepare(&mut self, timeline: &Timeline, now: Timestamp, place: &mut Place) -> bool {
        self.now = now;
        let (shape, first, evicted) = (timeline.shape(), timeline.bars().evicted(), timeline.evicted_attempts());
        let older = (evicted, timeline.generation());
        let before = self.shown.replace((shape, first, older));
        if before == self.shown {
            return false;
        }
        let rows_before = [place.cursor.key, place.top.key].map(|key| self.row(key).copied());
        // Ended attempts change only when bars are evicted or folded.
        let only_grew = before.is_some_and(|before| (before.1, before.2) == (first, older));
        let (from, keep) = if only_grew { self.newest } else { (evicted, 0) };
        let replaced = self.rows.split_off(keep.min(self.rows.len()));
        if keep == 0 && evicted > 0 {
            self.rows.push(Row::Evicted);
        }
        let shown = timeline.attempts().skip_while(|(number, _)| *number < from);
        for (number, attempt) in shown.filter(|(_, attempt)| !attempt.is_superseded) {
            if !self.rows.is_empty() {
                self.rows.push(Row::Blank(number));
            }
            self.newest = (number, self.rows.len());
            // A blank row belongs to the attempt after it.
            self.newest.1 -= usize::from(self.rows.last() == Some(&Row::Blank(number)));
            self.rows.extend([Row::Heading(number), Row::Source(number)]);
            if !attempt.children.is_empty() {
                self.rows.push(Row::Axis(number));
                self.branches(timeline, attempt);
            }
        }
        let [cursor, top] = rows_before.map(|row| row.and_then(|row| self.find(timeline, row)));
        place.cursor.key = cursor.unwrap_or(place.cursor.key);
        place.top.key = top.unwrap_or(place.top.key);
        // Usually the tree has only grown at its end.
        let new_rows = self.rows.get(keep..).unwrap_or_default();
        new_rows.len() < replaced.len() || !replaced.iter().zip(new_rows).all(|(old, new)| old.shows_same_item(new))
    }

    fn branches(&mut self, timeline: &Timeline, attempt: &Attempt) {
        let mut levels: Vec<(&[u64], usize)> = vec![(&attempt.children, 0)];
        let (mut more, mut forked) = (0_u64, false);
        while let Some((keys, at)) = levels.last_mut() {
            let Some(&key) = keys.get(*at) else {
                levels.pop();
                continue;
            };
            *at += 1;
            let (keys, next) = (*keys, *at);
            let depth = levels.len() - 1;
            let Some(bar) = timeline.bar(key) else { continue };
            let follows = match depth {
                // At the top level only the nodes of one step are siblings.
                0 => {
                    let next = keys[next..].iter().filter_map(|key| timeline.bar(*key));
                    let next = next.take(4).find(|bar| bar.kind == BarKind::Node);
                    bar.kind == BarKind::Node && next.is_some_and(|next| !next.leads)
                }
                _ => next < keys.len(),
            };
            let bit = 1 << depth.min(63);
            more = if follows { more | bit } else { more & !bit };
            if depth == 0 {
                forked = bar.kind == BarKind::Node && (follows || !bar.leads);
            }
            let folded = !bar.children.is_empty() && self.folded.contains(&key);
            let hidden = if folded { size(timeline, &bar.children) } else { 0 };
            let depth = u16::try_from(depth).unwrap_or(u16::MAX);
            self.rows.push(Row::Bar(Branch { key, depth, more, forked, hidden }));
            if !folded {
                levels.push((&bar.children, 0));
            }
        }
    }

    fn row(&self, key: u64) -> Option<&Row> {
        self.rows.get(usize::try_from(key).ok()?)
    }

    /// Returns the index of the row that shows the same item. For a hidden bar, this is the bar that it is folded into.
    fn find(&self, timeline: &Timeline, row: Row) -> Option<u64> {
        let place = |row: &Row| self.rows.iter().rposition(|other| other.shows_same_item(row)).map(|at| at as u64);
        let Row::Bar(mut branch) = row else { return place(&row) };
        loop {
            if let Some(at) = place(&Row::Bar(branch)) {
                return Some(at);
            }
            branch.key = timeline.bar(branch.key)?.parent?;
        }
    }

    /// Returns the event of a row.
    pub fn seq_at(&self, timeline: &Timeline, key: u64) -> Option<Seq> {
        match self.row(key)? {
            Row::Bar(branch) => Some(timeline.bar(branch.key)?.first_seq),
            Row::Heading(n) | Row::Source(n) | Row::Axis(n) | Row::Blank(n) => Some(timeline.attempt(*n)?.first_seq),
            Row::Evicted => Some(timeline.attempts().next()?.1.first_seq),
        }
    }

    /// Returns the row of the bar that ran at an event.
    pub fn spot_of(&self, timeline: &Timeline, seq: Seq) -> u64 {
        let attempt = timeline.attempts().rev().find(|(_, attempt)| attempt.first_seq <= seq).map(|(number, _)| number);
        let key = timeline.at_seq(seq).filter(|key| timeline.bar(*key).map(|bar| bar.attempt) == attempt);
        let branch = |key| Branch { key, depth: 0, more: 0, forked: false, hidden: 0 };
        let row = key.map(branch).map(Row::Bar).or(attempt.map(Row::Heading));
        row.and_then(|row| self.find(timeline, row)).unwrap_or(0)
    }

    /// Returns the line of a row.
    pub fn line(&self, projections: &Projections, key: u64, width: usize) -> Option<Line> {
        let timeline = &projections.timeline;
        let grid = lines::Grid::new(width);
        Some(match self.row(key)? {
            Row::Evicted => lines::evicted(timeline.evicted_attempts()),
            Row::Blank(_) => Line::new(),
            Row::Heading(n) => lines::heading(timeline.attempt(*n)?, projections, self.now),
            Row::Source(n) => lines::source(timeline.attempt(*n)?, projections),
            Row::Axis(n) => lines::axis(timeline.attempt(*n)?, self.now, &grid),
            Row::Bar(branch) => {
                let bar = timeline.bar(branch.key)?;
                let attempt = timeline.attempt(bar.attempt)?;
                lines::bar(branch, bar, timeline.step(bar), attempt, self.now, &grid)
            }
        })
    }

    /// Folds the bar of a row. If it has nothing to fold, returns the row of its parent instead.
    pub fn fold(&mut self, timeline: &Timeline, key: u64) -> Option<u64> {
        let Row::Bar(branch) = *self.row(key)? else { return None };
        let bar = timeline.bar(branch.key)?;
        if !bar.children.is_empty() && self.folded.insert(branch.key) {
            self.shown = None;
            return None;
        }
        let parent = Row::Bar(Branch { key: bar.parent?, ..branch });
        self.find(timeline, parent)
    }

    /// Unfolds the bar of a row.
    pub fn unfold(&mut self, key: u64) {
        if let Some(Row::Bar(branch)) = self.row(key).copied()
            && self.folded.remove(&branch.key)
        {
            self.shown = None;
        }
    }
}

/// Returns the number of these bars and their descendants.
fn size(timeline: &Timeline, keys: &[u64]) -> u32 {
    let mut next: Vec<u64> = keys.to_vec();
    let mut size = 0;
    while let Some(key) = next.pop() {
        size += 1;
        next.extend(timeline.bar(key).map(|bar| &bar.children[..]).unwrap_or_default());
    }
    size
}
