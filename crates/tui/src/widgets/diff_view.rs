//! What changed in the state that is shown: compared with the one before it in its namespace, or with one that was marked.
//! Large states are compared beside the screen.

use super::diff_lines as lines;
use super::jobs::{AT_ONCE, Part, Side, Task, Work};
use super::line::Line;
use super::scroll::{Place, Rows, Spot, window};
use runtail_stream::projection::difference::{Change, ChangeKind, Difference};
use runtail_stream::projection::document::{Doc, Excerpt, Kind, unquote};
use std::sync::Arc;

/// What a state is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Base {
    /// The state before it in its namespace.
    #[default]
    Before,
    /// The state that was marked.
    Marked,
}

/// Two states, by their numbers on the tape: the older one, or the one that was marked, and the one that is shown.
pub type Pair = (u64, u64);

/// A comparison, and where the reader is in it.
#[derive(Debug, Default)]
pub struct Comparison {
    /// What the state is compared with.
    pub base: Base,
    /// Whether what changed is shown, and not the state.
    pub shown: bool,
    /// The line above the changes: the states that are compared, in words.
    about: Line,
    pair: Option<Pair>,
    result: Option<Arc<Difference>>,
    work: Option<Work>,
    /// The state that was compared last: it is the older one of the next comparison, as a rule.
    recent: Option<(u64, Arc<Doc>)>,
    place: Option<Place>,
    width: usize,
    height: usize,
}

impl Comparison {
    /// Compares two states, where these are not compared already. `about` says which ones they are. The new one was read;
    /// of the old one the text is enough. Returns whether there is another result than before.
    pub fn compare(&mut self, pair: Pair, about: Line, old: Excerpt, new: &Arc<Doc>) -> bool {
        self.about = about;
        if self.pair == Some(pair) {
            return false;
        }
        let recent = self.recent.as_ref().filter(|(number, _)| *number == pair.0);
        let old = recent.map_or(Side::Text(old), |(_, doc)| Side::Read(doc.clone()));
        self.clear();
        self.pair = Some(pair);
        self.recent = Some((pair.1, new.clone()));
        if old.bytes().max(new.bytes()) > AT_ONCE {
            self.work = Some(Work::new(Task::compare(old, new.clone())));
            return false;
        }
        self.result = Some(Arc::new(Difference::of(old.doc(), new.clone())));
        true
    }

    /// There is nothing to compare with.
    pub fn clear(&mut self) {
        (self.pair, self.result, self.work, self.place) = (None, None, None, None);
    }

    /// What came out, where the states were compared.
    pub fn result(&self) -> Option<&Arc<Difference>> {
        self.result.as_ref()
    }

    /// The states that are compared.
    pub fn pair(&self) -> Option<Pair> {
        self.pair
    }

    /// The work that is to be done for it beside the screen.
    pub fn work(&self) -> Option<&Work> {
        self.work.as_ref()
    }

    /// The same, to be numbered.
    pub fn work_mut(&mut self) -> Option<&mut Work> {
        self.work.as_mut()
    }

    /// Takes what came of its work. Returns whether that was the result.
    pub fn take(&mut self, number: u64, part: &Part) -> bool {
        let Some(work) = self.work.as_mut().filter(|work| work.number == number) else { return false };
        match part {
            Part::Progress(done) => work.done = *done,
            Part::Compared(difference) => (self.result, self.work) = (Some(difference.clone()), None),
            // It is not begun again: it would fail again.
            Part::Failed => self.work = None,
            Part::Read(_) | Part::Found { .. } => {}
        }
        matches!(part, Part::Compared(_))
    }

    fn place(&self) -> Place {
        self.place.unwrap_or(Place::at_start())
    }

    /// Lays out for a window.
    pub fn prepare(&mut self, width: usize, height: usize) {
        (self.width, self.height) = (width, height);
        self.go(|place, rows, height| place.fill(rows, height));
    }

    /// A change of place by hand.
    pub fn go(&mut self, change: impl FnOnce(&mut Place, &Comparison, usize)) {
        let mut place = self.place();
        change(&mut place, self, self.height);
        self.place = Some(place);
    }

    /// The lines of the window, each with whether the cursor is on it.
    pub fn window(&self) -> Vec<(Line, bool)> {
        if self.work.is_some() {
            return vec![(lines::comparing(), false)];
        }
        let place = self.place();
        window(self, place.top, self.height)
            .map(|spot| (self.lines(spot.key).into_iter().nth(spot.line).unwrap_or_default(), spot == place.cursor))
            .collect()
    }

    /// The lines of an entry: the first one says what is compared, the others are changes, and the last one tells of those
    /// that are not kept.
    fn lines(&self, key: u64) -> Vec<Line> {
        let Some(difference) = &self.result else { return Vec::new() };
        if key == 0 {
            return lines::head(difference, &self.about, self.width);
        }
        match difference.changes.get(key as usize - 1) {
            Some(change) => lines::change(difference, change, self.width),
            None => lines::rest(difference).into_iter().collect(),
        }
    }

    /// The change under the cursor.
    fn under_cursor(&self) -> Option<(&Difference, &Change)> {
        let difference = self.result.as_ref()?;
        let at = usize::try_from(self.place().cursor.key.checked_sub(1)?).ok()?;
        Some((difference, difference.changes.get(at)?))
    }

    /// The path of the change under the cursor.
    pub fn path_under_cursor(&self) -> Option<String> {
        self.under_cursor().map(|(difference, change)| difference.path(change))
    }

    /// The value under the cursor as it is now, or as it was where it is gone: what copy gives.
    pub fn value_under_cursor(&self) -> Option<String> {
        let (difference, change) = self.under_cursor()?;
        let (doc, node) = match change.kind {
            ChangeKind::Removed => (&difference.old, change.old),
            _ => (&difference.new, change.new),
        };
        let raw = doc.value(node);
        Some(if doc.kind(node) == Kind::Text { unquote(raw) } else { raw.to_string() })
    }

    /// The node of the state that is shown at which something changed, under the cursor.
    pub fn node_under_cursor(&self) -> Option<u32> {
        self.under_cursor().map(|(_, change)| change.new)
    }

    /// To the next change, or the one before.
    pub fn next_change(&mut self, forward: bool) {
        self.go(|place, rows, height| {
            let key = place.cursor.key;
            if let Some(key) = if forward { rows.next(key) } else { rows.prev(key) } {
                place.cursor = Spot { key, line: 0 };
            }
            place.fill(rows, height);
        });
    }
}

impl Rows for Comparison {
    fn first(&self) -> u64 {
        0
    }
    fn end(&self) -> u64 {
        let Some(difference) = &self.result else { return 0 };
        let kept = difference.changes.len() as u64;
        1 + kept + u64::from(difference.total() > kept)
    }
    fn height(&self, key: u64) -> usize {
        self.lines(key).len()
    }
}
