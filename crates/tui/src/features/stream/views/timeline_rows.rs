//! The rows of the timeline view: for each attempt a heading, what its bars are made from, an axis, and its bars as a tree
//! of which parts can be folded. They are made anew for the attempt that runs, when its tree changed; what a row shows is
//! made only when it is on the screen.

use super::timeline as lines;
use crate::widgets::line::Line;
use crate::widgets::scroll::Place;
use jiff::Timestamp;
use runtail_stream::Seq;
use runtail_stream::projection::{Attempt, BarKind, Projections, Timeline};
use std::collections::HashSet;

/// A row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// How many attempts were let go.
    Gone,
    /// Which run, which attempt, how it went.
    Heading(u64),
    /// What the bars are made from.
    Source(u64),
    /// The axis.
    Axis(u64),
    /// Between two attempts.
    Blank(u64),
    /// A bar.
    Bar(Branch),
}

/// Where a bar stands in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// The bar.
    pub key: u64,
    /// Bars around it.
    pub depth: u16,
    /// For each of those, and for the bar itself, whether others follow beside it: one bit each, from the outermost.
    pub more: u64,
    /// Whether the outermost bar of its tree is drawn as a branch: it is one of several of its step.
    pub forked: bool,
    /// Bars in it that are folded away.
    pub hidden: u32,
}

impl Row {
    /// The same row of another tree: what it is about.
    fn is_about(&self, other: &Row) -> bool {
        match (self, other) {
            (Row::Bar(a), Row::Bar(b)) => a.key == b.key,
            _ => self == other,
        }
    }
}

/// The rows of a timeline, and what is folded in it.
#[derive(Debug, Default)]
pub struct TimelineRows {
    rows: Vec<Row>,
    folded: HashSet<u64>,
    /// Number of the newest attempt, and where its rows begin.
    newest: (u64, usize),
    /// The shape of the tree that the rows show, its first bar and its first attempt.
    shown: Option<(u64, u64, (u64, u64))>,
    now: Timestamp,
}

impl TimelineRows {
    /// How many there are.
    pub fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether a row is a bar, and not what heads them.
    pub fn is_bar(&self, key: u64) -> bool {
        matches!(self.row(key), Some(Row::Bar(_)))
    }

    /// Another tree is shown from now on. What was folded stays folded.
    pub fn forget(&mut self) {
        self.shown = None;
    }

    /// Brings the rows in line with the tree, and the place with the rows: it stays at what it was at. Tells whether rows
    /// have other numbers now. What runs is measured up to `now`.
    pub fn prepare(&mut self, timeline: &Timeline, now: Timestamp, place: &mut Place) -> bool {
        self.now = now;
        let (shape, first, gone) = (timeline.shape(), timeline.bars().evicted(), timeline.attempts_gone());
        let older = (gone, timeline.generation());
        let before = self.shown.replace((shape, first, older));
        if before == self.shown {
            return false;
        }
        let spots = [place.cursor.key, place.top.key].map(|key| self.row(key).copied());
        // What has ended does not change: only bars that were let go, or a fold, concern it.
        let goes_on = before.is_some_and(|before| (before.1, before.2) == (first, older));
        let (from, keep) = if goes_on { self.newest } else { (gone, 0) };
        let replaced = self.rows.split_off(keep.min(self.rows.len()));
        if keep == 0 && gone > 0 {
            self.rows.push(Row::Gone);
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
        let [cursor, top] = spots.map(|row| row.and_then(|row| self.find(timeline, row)));
        place.cursor.key = cursor.unwrap_or(place.cursor.key);
        place.top.key = top.unwrap_or(place.top.key);
        // Mostly the tree has only grown at its end.
        let made = self.rows.get(keep..).unwrap_or_default();
        made.len() < replaced.len() || !replaced.iter().zip(made).all(|(old, new)| old.is_about(new))
    }

    fn branches(&mut self, timeline: &Timeline, attempt: &Attempt) {
        let mut floors: Vec<(&[u64], usize)> = vec![(&attempt.children, 0)];
        let (mut more, mut forked) = (0_u64, false);
        while let Some((keys, at)) = floors.last_mut() {
            let Some(&key) = keys.get(*at) else {
                floors.pop();
                continue;
            };
            *at += 1;
            let (keys, next) = (*keys, *at);
            let depth = floors.len() - 1;
            let Some(bar) = timeline.bar(key) else { continue };
            let follows = match depth {
                // At the top only the nodes of one step belong together.
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
                floors.push((&bar.children, 0));
            }
        }
    }

    fn row(&self, key: u64) -> Option<&Row> {
        self.rows.get(usize::try_from(key).ok()?)
    }

    /// The row that is about the same; for a bar that is folded away the one that it is folded into.
    fn find(&self, timeline: &Timeline, row: Row) -> Option<u64> {
        let place = |row: &Row| self.rows.iter().rposition(|other| other.is_about(row)).map(|at| at as u64);
        let Row::Bar(mut branch) = row else { return place(&row) };
        loop {
            if let Some(at) = place(&Row::Bar(branch)) {
                return Some(at);
            }
            branch.key = timeline.bar(branch.key)?.parent?;
        }
    }

    /// The event that a row tells of.
    pub fn seq_at(&self, timeline: &Timeline, key: u64) -> Option<Seq> {
        match self.row(key)? {
            Row::Bar(branch) => Some(timeline.bar(branch.key)?.first_seq),
            Row::Heading(n) | Row::Source(n) | Row::Axis(n) | Row::Blank(n) => Some(timeline.attempt(*n)?.first_seq),
            Row::Gone => Some(timeline.attempts().next()?.1.first_seq),
        }
    }

    /// The row of what ran at an event.
    pub fn spot_of(&self, timeline: &Timeline, seq: Seq) -> u64 {
        let attempt = timeline.attempts().rev().find(|(_, attempt)| attempt.first_seq <= seq).map(|(number, _)| number);
        let key = timeline.at_seq(seq).filter(|key| timeline.bar(*key).map(|bar| bar.attempt) == attempt);
        let branch = |key| Branch { key, depth: 0, more: 0, forked: false, hidden: 0 };
        let row = key.map(branch).map(Row::Bar).or(attempt.map(Row::Heading));
        row.and_then(|row| self.find(timeline, row)).unwrap_or(0)
    }

    /// The line of a row.
    pub fn line(&self, projections: &Projections, key: u64, width: usize) -> Option<Line> {
        let timeline = &projections.timeline;
        let grid = lines::Grid::new(width);
        Some(match self.row(key)? {
            Row::Gone => lines::evicted(timeline.attempts_gone()),
            Row::Blank(_) => Line::new(),
            Row::Heading(n) => lines::heading(timeline.attempt(*n)?, projections, self.now),
            Row::Source(n) => lines::source(timeline.attempt(*n)?),
            Row::Axis(n) => lines::axis(timeline.attempt(*n)?, self.now, &grid),
            Row::Bar(branch) => {
                let bar = timeline.bar(branch.key)?;
                let attempt = timeline.attempt(bar.attempt)?;
                lines::bar(branch, bar, timeline.step(bar), attempt, self.now, &grid)
            }
        })
    }

    /// Folds the bar of a row; where there is nothing to fold, tells the row of the bar around it.
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

/// Bars among these and in them.
fn size(timeline: &Timeline, keys: &[u64]) -> u32 {
    let mut next: Vec<u64> = keys.to_vec();
    let mut size = 0;
    while let Some(key) = next.pop() {
        size += 1;
        next.extend(timeline.bar(key).map(|bar| &bar.children[..]).unwrap_or_default());
    }
    size
}
