//! The rows of the Timeline view: the bars of one run as a foldable tree, and the attempts of a run that was retried.
//! The run is that of the cursor, or the newest one. Lines are rendered only when they are visible.

use super::bar::{self as bars, BarRow};
use super::foot::foot;
use super::head as lines;
use super::head::{Grid, Needed, ShownHead};
use super::picture::{BarGroup, TimelinePicture, groups};
use crate::features::stream::find::next_where;
use crate::widgets::line::Line;
use crate::widgets::scroll::Place;
use jiff::Timestamp;
use runtail_stream::Seq;
use runtail_stream::projection::{Attempt, BarKind, BarState, Projections, Timeline};
use std::collections::HashSet;

/// Number of bars above which the picture is computed at most once a second.
const MANY_BARS: usize = 2_000;
/// Minimum height of a view for lines below the bars.
const MIN_FOOT: usize = 12;

/// A row of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelineRow {
    /// The next attempt of the run.
    Attempt(u64),
    /// The run has no bars.
    NoBars(u64),
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

impl TimelineRow {
    /// Returns whether two rows of different versions of the tree show the same item.
    fn shows_same_item(&self, other: &TimelineRow) -> bool {
        match (self, other) {
            (TimelineRow::Bar(a), TimelineRow::Bar(b)) => a.key == b.key,
            _ => self == other,
        }
    }
}

/// What the rows are prepared for.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Durations of running work count up to this time.
    pub now: Timestamp,
    /// The event under the cursor; `None` for the newest run.
    pub anchor: Option<Seq>,
    pub width: usize,
    pub height: usize,
    /// Whether another line of the page shows the status of the newest run.
    pub has_badge: bool,
    /// The run that is shown alone.
    pub run: Option<&'a str>,
}

/// The version of the tree that the rows show: the counters of the timeline and its first bar.
type TreeVersion = (u64, u64, u64, u64);

/// The picture and the rows that something was measured for.
type Measured = (Option<(TreeVersion, i64)>, Option<(TreeVersion, usize)>);

/// The rows of a timeline, and how they are shown.
#[derive(Debug, Default)]
pub struct TimelineRows {
    rows: Vec<TimelineRow>,
    folded: HashSet<u64>,
    groups: Vec<BarGroup>,
    /// The run that is shown alone.
    run: Option<String>,
    /// The first attempt of the shown group, unless it is the newest, and the cursor that it was chosen for.
    chosen: Option<(u64, Option<Seq>)>,
    /// The index of the shown group.
    at: usize,
    picture: TimelinePicture,
    /// The version and the second of the picture.
    pictured: Option<(TreeVersion, i64)>,
    /// The version and the group of the rows.
    shown: Option<(TreeVersion, usize)>,
    /// The columns that names and notes need, and the picture and the rows that they were measured for.
    needed: Needed,
    measured: Option<Measured>,
    head: Vec<Line>,
    foot: Vec<Line>,
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
        matches!(self.row(key), Some(TimelineRow::Bar(_)))
    }

    /// Drops the rows when another tree is shown. Folded bars stay folded.
    pub fn forget(&mut self) {
        (self.shown, self.pictured, self.chosen) = (None, None, None);
    }

    /// Returns the lines above and below the rows.
    pub fn around(&self) -> (&[Line], &[Line]) {
        (&self.head, &self.foot)
    }

    /// Updates the rows from the tree, and keeps the scroll position on the same row. Returns whether rows were
    /// renumbered.
    pub fn prepare(
        &mut self,
        projections: &Projections,
        frame: Frame<'_>,
        place: &mut Place,
    ) -> bool {
        let timeline = &projections.timeline;
        self.now = frame.now;
        self.run = frame.run.map(String::from);
        let first = timeline.bars().evicted();
        let version = (
            timeline.shape(),
            timeline.changes(),
            timeline.generation(),
            first,
        );
        if self.shown.is_none_or(|(before, _)| before != version) {
            self.groups = self.groups_of(timeline);
        }
        self.choose(timeline, frame.anchor);
        self.compute_picture(projections, version);
        let renumbered = self.rebuild(timeline, (version, self.at), place);
        self.around_rows(projections, frame);
        renumbered
    }

    /// Returns the groups of attempts: those of the run that is shown alone, or all.
    fn groups_of(&self, timeline: &Timeline) -> Vec<BarGroup> {
        let Some(run) = self.run.as_deref() else {
            return groups(timeline);
        };
        let is_its =
            |attempt: &Attempt| attempt.run_id.as_deref() == Some(run) && !attempt.is_superseded;
        let attempts = timeline.attempts().filter(|(_, attempt)| is_its(attempt));
        let group: BarGroup = attempts.map(|(number, _)| number).collect();
        if group.is_empty() {
            Vec::new()
        } else {
            vec![group]
        }
    }

    /// Chooses the group of the cursor, or the newest one.
    fn choose(&mut self, timeline: &Timeline, anchor: Option<Seq>) {
        let last = self.groups.len().saturating_sub(1);
        let first_of = |group: &BarGroup| group.first().copied();
        let Some(seq) = anchor else {
            (self.at, self.chosen) = (last, None);
            return;
        };
        let chosen = self.chosen.and_then(|(first, of)| {
            let at = self
                .groups
                .iter()
                .position(|group| group.contains(&first))?;
            Some((at, of))
        });
        let start = |at: usize| {
            timeline
                .attempt(first_of(self.groups.get(at)?)?)
                .map(|attempt| attempt.first_seq)
        };
        let by_seq = (0..self.groups.len())
            .rev()
            .find(|at| start(*at).is_some_and(|start| start <= seq))
            .unwrap_or(0);
        self.at = match chosen {
            Some((at, of)) if of == anchor || start(at) == start(by_seq) => at,
            _ => by_seq,
        };
        self.chosen = self
            .groups
            .get(self.at)
            .and_then(first_of)
            .map(|first| (first, anchor));
    }

    fn compute_picture(&mut self, projections: &Projections, version: TreeVersion) {
        let Some(group) = self.groups.get(self.at) else {
            self.picture = TimelinePicture::default();
            return;
        };
        let second = self.now.as_second();
        let is_same = self.picture.attempts == *group;
        let newest = group
            .last()
            .and_then(|number| projections.timeline.attempt(*number));
        let is_running = newest.is_some_and(|attempt| attempt.ended.is_none());
        // Running work grows with each event and second.
        let is_large = self.rows.len() > MANY_BARS;
        let is_current = self.pictured.is_some_and(|(of, at)| match is_running {
            true => is_large && at == second && self.picture.is_running,
            false => of == version && !self.picture.is_running,
        });
        if !is_same || !is_current {
            self.picture = TimelinePicture::of(projections, group, self.now);
            self.pictured = Some((version, second));
        }
    }

    fn rebuild(
        &mut self,
        timeline: &Timeline,
        shown: (TreeVersion, usize),
        place: &mut Place,
    ) -> bool {
        let before = self.shown.replace(shown);
        // Times don't change the rows.
        let is_same = |(of, at): (TreeVersion, usize)| {
            at == shown.1
                && (of.0, of.2, of.3) == (shown.0.0, shown.0.2, shown.0.3)
                && !self.rows.is_empty()
        };
        if before.is_some_and(is_same) {
            return false;
        }
        let rows_before = [place.cursor.key, place.top.key].map(|key| self.row(key).copied());
        let replaced = std::mem::take(&mut self.rows);
        let group = self.groups.get(self.at).cloned().unwrap_or_default();
        for (nth, number) in group.iter().enumerate() {
            let Some(attempt) = timeline.attempt(*number) else {
                continue;
            };
            if nth > 0 && attempt.number > 1 {
                self.rows.push(TimelineRow::Attempt(*number));
            }
            if attempt.children.is_empty() && nth == 0 && group.len() == 1 {
                self.rows.push(TimelineRow::NoBars(*number));
            }
            self.branches(timeline, attempt);
        }
        let [cursor, top] = rows_before.map(|row| row.and_then(|row| self.find(timeline, row)));
        place.cursor.key = cursor.unwrap_or(place.cursor.key);
        place.top.key = top.unwrap_or(place.top.key);
        // Usually the tree has only grown at its end.
        self.rows.len() < replaced.len()
            || !replaced
                .iter()
                .zip(&self.rows)
                .all(|(old, new)| old.shows_same_item(new))
    }

    /// Returns the bars among siblings that are still kept.
    fn children(timeline: &Timeline, keys: &[u64]) -> Vec<u64> {
        let is_kept = |key: &&u64| timeline.bar(**key).is_some();
        keys.iter().filter(is_kept).copied().collect()
    }

    fn branches(&mut self, timeline: &Timeline, attempt: &Attempt) {
        let mut levels: Vec<(Vec<u64>, usize)> =
            vec![(Self::children(timeline, &attempt.children), 0)];
        let (mut more, mut forked) = (0_u64, false);
        while let Some((keys, at)) = levels.last_mut() {
            let Some(&key) = keys.get(*at) else {
                levels.pop();
                continue;
            };
            *at += 1;
            let next = *at;
            let depth = levels.len() - 1;
            let Some(bar) = timeline.bar(key) else {
                continue;
            };
            let rest = levels
                .last()
                .and_then(|(keys, _)| keys.get(next..))
                .unwrap_or_default();
            let follows = match depth {
                // At the top level only the nodes of one step are siblings.
                0 => {
                    let next = rest.iter().filter_map(|key| timeline.bar(*key));
                    let next = next.take(4).find(|bar| bar.kind == BarKind::Node);
                    bar.kind == BarKind::Node && next.is_some_and(|next| !next.leads)
                }
                _ => !rest.is_empty(),
            };
            let bit = 1 << depth.min(63);
            more = if follows { more | bit } else { more & !bit };
            if depth == 0 {
                forked = bar.kind == BarKind::Node && (follows || !bar.leads);
            }
            let inside = Self::children(timeline, &bar.children);
            let folded = !inside.is_empty() && self.folded.contains(&key);
            let hidden = if folded { size(timeline, &inside) } else { 0 };
            let depth = u16::try_from(depth).unwrap_or(u16::MAX);
            self.rows.push(TimelineRow::Bar(Branch {
                key,
                depth,
                more,
                forked,
                hidden,
            }));
            if !folded {
                levels.push((inside, 0));
            }
        }
    }

    /// Computes the lines above and below the rows.
    fn around_rows(&mut self, projections: &Projections, frame: Frame<'_>) {
        let measured = (self.pictured, self.shown);
        if self.measured.replace(measured) != Some(measured) {
            self.needed = self.needed(projections);
        }
        let grid = Grid::new(frame.width, self.needed);
        let nth = (self.at + 1, self.groups.len());
        let shown = ShownHead {
            nth,
            evicted: projections.timeline.evicted_attempts(),
            has_badge: frame.has_badge,
            now: frame.now,
        };
        self.head = lines::head(&self.picture, projections, shown, &grid, frame.height);
        let room = frame.height.saturating_sub(self.head.len());
        let free = room.saturating_sub(self.rows.len());
        let room = if frame.height >= MIN_FOOT {
            free.max(1)
        } else {
            0
        };
        self.foot = foot(&self.picture, &grid, room);
    }

    /// Returns the columns that names and notes need. Of very many bars only the first ones count.
    fn needed(&self, projections: &Projections) -> Needed {
        let branches = self
            .rows
            .iter()
            .take(MANY_BARS)
            .filter_map(|row| match row {
                TimelineRow::Bar(branch) => Some(branch),
                TimelineRow::Attempt(_) | TimelineRow::NoBars(_) => None,
            });
        let needed = |branch: &Branch| {
            Some(bars::needed(
                self.bar_row(&projections.timeline, branch)?,
                &self.picture,
            ))
        };
        branches
            .filter_map(needed)
            .fold(Needed::default(), Needed::max)
    }

    /// Returns a bar with what is known about it, without its step.
    fn bar_row<'a>(&self, timeline: &'a Timeline, branch: &'a Branch) -> Option<BarRow<'a>> {
        let bar = timeline.bar(branch.key)?;
        let attempt = timeline.attempt(bar.attempt)?;
        let mut around = std::iter::successors(Some(bar), |bar| timeline.bar(bar.parent?));
        let node = around
            .find(|bar| bar.kind == BarKind::Node)
            .map_or(&*bar.name, |node| &*node.name);
        Some(BarRow {
            branch,
            bar,
            step: "",
            node,
            attempt,
            now: self.now,
        })
    }

    fn row(&self, key: u64) -> Option<&TimelineRow> {
        self.rows.get(usize::try_from(key).ok()?)
    }

    /// Returns the index of the row that shows the same item. For a hidden bar, this is the bar that it is folded into.
    fn find(&self, timeline: &Timeline, row: TimelineRow) -> Option<u64> {
        let place = |row: &TimelineRow| {
            self.rows
                .iter()
                .rposition(|other| other.shows_same_item(row))
                .map(|at| at as u64)
        };
        let TimelineRow::Bar(mut branch) = row else {
            return place(&row);
        };
        loop {
            if let Some(at) = place(&TimelineRow::Bar(branch)) {
                return Some(at);
            }
            branch.key = timeline.bar(branch.key)?.parent?;
        }
    }

    /// Returns the event of a row.
    pub fn seq_at(&self, timeline: &Timeline, key: u64) -> Option<Seq> {
        match self.row(key)? {
            TimelineRow::Bar(branch) => Some(timeline.bar(branch.key)?.first_seq),
            TimelineRow::Attempt(n) | TimelineRow::NoBars(n) => {
                Some(timeline.attempt(*n)?.first_seq)
            }
        }
    }

    /// Returns the row of the bar that ran at an event.
    pub fn spot_of(&self, timeline: &Timeline, seq: Seq) -> u64 {
        let branch = |key| Branch {
            key,
            depth: 0,
            more: 0,
            forked: false,
            hidden: 0,
        };
        let row = timeline.at_seq(seq).map(branch).map(TimelineRow::Bar);
        row.and_then(|row| self.find(timeline, row)).unwrap_or(0)
    }

    /// Returns the line of a row.
    pub fn line(&self, projections: &Projections, key: u64, width: usize) -> Option<Line> {
        let timeline = &projections.timeline;
        Some(match self.row(key)? {
            TimelineRow::Attempt(n) => lines::attempt_row(timeline.attempt(*n)?),
            TimelineRow::NoBars(_) => lines::no_bars(projections),
            TimelineRow::Bar(branch) => {
                let row = self.bar_row(timeline, branch)?;
                let step = bars::step(timeline, row.bar);
                let grid = Grid::new(width, self.needed);
                bars::bar(BarRow { step: &step, ..row }, &self.picture, &grid)
            }
        })
    }

    /// Folds the bar of a row. If it has nothing to fold, returns the row of its parent instead.
    pub fn fold(&mut self, timeline: &Timeline, key: u64) -> Option<u64> {
        let TimelineRow::Bar(branch) = *self.row(key)? else {
            return None;
        };
        let bar = timeline.bar(branch.key)?;
        if !bar.children.is_empty() && self.folded.insert(branch.key) {
            self.shown = None;
            return None;
        }
        let parent = TimelineRow::Bar(Branch {
            key: bar.parent?,
            ..branch
        });
        self.find(timeline, parent)
    }

    /// Unfolds the bar of a row.
    pub fn unfold(&mut self, key: u64) {
        if let Some(TimelineRow::Bar(branch)) = self.row(key).copied()
            && self.folded.remove(&branch.key)
        {
            self.shown = None;
        }
    }

    /// Returns the event of the next or previous failed bar of the shown run, else of the next or previous run, which
    /// it shows. Returns `None` if there is none.
    pub fn next_interest(&mut self, timeline: &Timeline, key: u64, forward: bool) -> Option<Seq> {
        let is_failed = |row: &TimelineRow| match row {
            TimelineRow::Bar(branch) => timeline
                .bar(branch.key)
                .is_some_and(|bar| bar.state == BarState::Failed),
            TimelineRow::Attempt(_) => true,
            TimelineRow::NoBars(_) => false,
        };
        let key = usize::try_from(key).ok()?;
        let rows = &self.rows;
        let found = next_where(rows.len(), key, forward, |at| is_failed(&rows[*at]));
        match found {
            Some(at) => self.seq_at(timeline, at as u64),
            None => self.show_adjacent_run(timeline, forward),
        }
    }

    /// Shows the next or previous run. Returns its first event, or `None` if there is none.
    pub fn show_adjacent_run(&mut self, timeline: &Timeline, forward: bool) -> Option<Seq> {
        let at = if forward {
            self.at + 1
        } else {
            self.at.checked_sub(1)?
        };
        let first = *self.groups.get(at)?.first()?;
        let attempt = timeline.attempt(first)?;
        let first_bar = attempt
            .children
            .iter()
            .filter_map(|key| timeline.bar(*key))
            .map(|bar| bar.first_seq)
            .min();
        let seq = first_bar
            .unwrap_or(attempt.first_seq)
            .max(attempt.first_seq);
        self.chosen = Some((first, Some(seq)));
        Some(seq)
    }

    /// Returns one run as text: the critical path, the time of each node, and the bars with their times.
    pub fn run_text(&self, projections: &Projections, nth: usize) -> String {
        let all = self.groups_of(&projections.timeline);
        all.get(nth)
            .map(|group| super::text::text(projections, group, self.now))
            .unwrap_or_default()
    }

    /// Returns the number of runs.
    pub fn run_count(&self, timeline: &Timeline) -> usize {
        self.groups_of(timeline).len()
    }
}

/// Returns the number of these bars and their descendants.
fn size(timeline: &Timeline, keys: &[u64]) -> u32 {
    let mut next: Vec<u64> = keys.to_vec();
    let mut size = 0;
    while let Some(key) = next.pop() {
        size += 1;
        next.extend(
            timeline
                .bar(key)
                .map(|bar| &bar.children[..])
                .unwrap_or_default(),
        );
    }
    size
}
