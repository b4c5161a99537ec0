//! Compares the shown state with the previous one in its namespace, or with a marked one. Large states are compared in the
//! background.

use super::diff_lines as lines;
use super::jobs::{DocSource, JobProgress, JobSpec, PendingJob, SYNC_LIMIT};
use super::line::Line;
use super::scroll::{LinePos, Place, ScrollList, window};
use runtail_stream::projection::difference::{Change, ChangeKind, Difference};
use runtail_stream::projection::index::{Excerpt, JsonIndex, Kind, unquote};
use std::sync::Arc;

/// The state to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Base {
    /// The previous state in its namespace.
    #[default]
    Before,
    /// The marked state.
    Marked,
}

/// Two states, by the numbers of their events: the older or marked one, and the shown one.
pub type Pair = (u64, u64);

/// A comparison, and the scroll position in it.
#[derive(Debug, Default)]
pub struct Comparison {
    pub base: Base,
    /// Whether the changes are shown instead of the state.
    pub shown: bool,
    /// The line above the changes, which names the compared states.
    about: Line,
    pair: Option<Pair>,
    result: Option<Arc<Difference>>,
    work: Option<PendingJob>,
    /// The new state of the last comparison. It is usually the old state of the next one.
    recent: Option<(u64, Arc<JsonIndex>)>,
    place: Option<Place>,
    width: usize,
    height: usize,
}

impl Comparison {
    /// Compares two states, unless they are the current pair. `about` names them. Only the new one must be parsed. Returns
    /// whether the result changed.
    pub fn compare(&mut self, pair: Pair, about: Line, old: Excerpt, new: &Arc<JsonIndex>) -> bool {
        self.about = about;
        if self.pair == Some(pair) {
            return false;
        }
        let recent = self.recent.as_ref().filter(|(number, _)| *number == pair.0);
        let old = recent.map_or(DocSource::Text(old), |(_, doc)| {
            DocSource::Parsed(doc.clone())
        });
        self.clear();
        self.pair = Some(pair);
        self.recent = Some((pair.1, new.clone()));
        if old.bytes().max(new.bytes()) > SYNC_LIMIT {
            self.work = Some(PendingJob::new(JobSpec::compare(old, new.clone())));
            return false;
        }
        self.result = Some(Arc::new(Difference::of(old.doc(), new.clone())));
        true
    }

    /// Removes the comparison: there is no state to compare with.
    pub fn clear(&mut self) {
        (self.pair, self.result, self.work, self.place) = (None, None, None, None);
    }

    /// Returns the result of a finished comparison.
    pub fn result(&self) -> Option<&Arc<Difference>> {
        self.result.as_ref()
    }

    /// Returns the compared states.
    pub fn pair(&self) -> Option<Pair> {
        self.pair
    }

    /// Returns the background job of the comparison.
    pub fn work(&self) -> Option<&PendingJob> {
        self.work.as_ref()
    }

    pub fn work_mut(&mut self) -> Option<&mut PendingJob> {
        self.work.as_mut()
    }

    /// Applies the progress of its job. Returns whether this was the result.
    pub fn take(&mut self, number: u64, part: &JobProgress) -> bool {
        let Some(work) = self.work.as_mut().filter(|work| work.number == number) else {
            return false;
        };
        match part {
            JobProgress::Progress(done) => work.done = *done,
            JobProgress::Compared(difference) => {
                (self.result, self.work) = (Some(difference.clone()), None)
            }
            // Not started again: it would fail again.
            JobProgress::Failed => self.work = None,
            JobProgress::Read(_) | JobProgress::Found { .. } => {}
        }
        matches!(part, JobProgress::Compared(_))
    }

    fn place(&self) -> Place {
        self.place.unwrap_or(Place::at_start())
    }

    /// Adjusts the layout to the size of the window.
    pub fn prepare(&mut self, width: usize, height: usize) {
        (self.width, self.height) = (width, height);
        self.go(|place, rows, height| place.fill(rows, height));
    }

    /// Changes the scroll position.
    pub fn go(&mut self, change: impl FnOnce(&mut Place, &Comparison, usize)) {
        let mut place = self.place();
        change(&mut place, self, self.height);
        self.place = Some(place);
    }

    /// Returns the lines of the window, and whether the cursor is on each.
    pub fn window(&self) -> Vec<(Line, bool)> {
        if self.work.is_some() {
            return vec![(lines::comparing(), false)];
        }
        let place = self.place();
        window(self, place.top, self.height)
            .map(|spot| {
                (
                    self.lines(spot.key)
                        .into_iter()
                        .nth(spot.line)
                        .unwrap_or_default(),
                    spot == place.cursor,
                )
            })
            .collect()
    }

    /// Returns the lines of an entry. The first entry is the heading, the last one counts the changes that were not kept, and
    /// the others are changes.
    fn lines(&self, key: u64) -> Vec<Line> {
        let Some(difference) = &self.result else {
            return Vec::new();
        };
        if key == 0 {
            return lines::head(difference, &self.about, self.width);
        }
        match difference.changes.get(key as usize - 1) {
            Some(change) => lines::change(difference, change, self.width),
            None => lines::rest(difference).into_iter().collect(),
        }
    }

    /// Returns the change under the cursor.
    fn under_cursor(&self) -> Option<(&Difference, &Change)> {
        let difference = self.result.as_ref()?;
        let at = usize::try_from(self.place().cursor.key.checked_sub(1)?).ok()?;
        Some((difference, difference.changes.get(at)?))
    }

    /// Returns the path of the change under the cursor.
    pub fn path_under_cursor(&self) -> Option<String> {
        self.under_cursor()
            .map(|(difference, change)| difference.path(change))
    }

    /// Returns the value under the cursor for the clipboard: the new value, or the old one if it was removed.
    pub fn value_under_cursor(&self) -> Option<String> {
        let (difference, change) = self.under_cursor()?;
        let (doc, node) = match change.kind {
            ChangeKind::Removed => (&difference.old, change.old),
            _ => (&difference.new, change.new),
        };
        let raw = doc.value(node);
        Some(if doc.kind(node) == Kind::Text {
            unquote(raw)
        } else {
            raw.to_string()
        })
    }

    /// Returns the node of the shown state that the change under the cursor is about.
    pub fn node_under_cursor(&self) -> Option<u32> {
        self.under_cursor().map(|(_, change)| change.new)
    }

    /// Moves the cursor to the next or previous change.
    pub fn next_change(&mut self, forward: bool) {
        self.go(|place, rows, height| {
            let key = place.cursor.key;
            if let Some(key) = if forward {
                rows.next(key)
            } else {
                rows.prev(key)
            } {
                place.cursor = LinePos { key, line: 0 };
            }
            place.fill(rows, height);
        });
    }
}

impl ScrollList for Comparison {
    fn first(&self) -> u64 {
        0
    }
    fn end(&self) -> u64 {
        let Some(difference) = &self.result else {
            return 0;
        };
        let kept = difference.changes.len() as u64;
        1 + kept + u64::from(difference.total() > kept)
    }
    fn height(&self, key: u64) -> usize {
        self.lines(key).len()
    }
}
