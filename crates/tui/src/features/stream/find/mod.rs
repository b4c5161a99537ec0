//! Search, filter and marks in a stream.

mod filter;
mod match_index;

use crate::features::stream::views::VIEWS;
use crate::widgets::scroll::Place;
use runtail_stream::Seq;
use std::collections::BTreeSet;

pub use crate::widgets::pattern::{Pattern, PatternSource, ScanResult, light, unescaped};
pub use filter::{FIELDS, StreamFilter, searchable_texts};
pub use match_index::MatchIndex;

/// Maximum number of marks in one stream.
const MAX_MARKS: usize = 1000;

/// Returns the next or previous position before an end that fulfills a condition.
pub(crate) fn next_where(
    end: usize,
    from: usize,
    forward: bool,
    is_wanted: impl FnMut(&usize) -> bool,
) -> Option<usize> {
    match forward {
        true => (from.saturating_add(1)..end).find(is_wanted),
        false => (0..from.min(end)).rfind(is_wanted),
    }
}

/// The search, filter and marks of a stream. They apply to all of its views.
#[derive(Debug, Default)]
pub struct Find {
    /// The search pattern.
    pub pattern: Pattern,
    pub filter: StreamFilter,
    /// Whether a shown view has entries left to scan.
    pub(crate) is_scanning: bool,
    /// The match to jump to once it is found.
    pub(crate) seek: Option<Seek>,
    /// The input line that is open, and the position when it was opened.
    pub(crate) typing: Option<(Typing, SavedPosition)>,
    pub(crate) marks: BTreeSet<Seq>,
}

/// The purpose of the viewer's input line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    Search,
    Filter,
}

/// A landmark to jump to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landmark {
    /// A failure, the end of a run, or a gap.
    Problem,
    /// The start of a message.
    Message,
    /// The start or end of a graph step.
    Step,
    Mark,
}

/// The progress of the search in the focused view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundPlace {
    /// Number of matches so far.
    pub count: u64,
    /// The rank of the match under the cursor, counted from 1.
    pub at: Option<u64>,
    /// Scanned entries and all entries, while the scan is running.
    pub progress: Option<(u64, u64)>,
}

/// The match to jump to once it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seek {
    /// The first match from the position where typing began.
    Near,
    Next,
    Before,
}

/// The position in all views before typing began.
#[derive(Debug, Clone)]
pub(crate) struct SavedPosition {
    pub(crate) anchor: Option<Seq>,
    pub(crate) places: [Place; VIEWS.len()],
}

impl Find {
    /// Returns whether a shown view has entries left to scan.
    pub fn is_scanning(&self) -> bool {
        self.is_scanning
    }

    /// Returns the purpose of the input line that is open.
    pub fn typing(&self) -> Option<Typing> {
        self.typing.as_ref().map(|(typing, _)| *typing)
    }

    /// Returns the marked events, in order.
    pub fn marks(&self) -> &BTreeSet<Seq> {
        &self.marks
    }

    /// Toggles the mark of an event. Returns false if there are too many marks.
    pub(crate) fn mark(&mut self, seq: Seq) -> bool {
        self.marks.remove(&seq) || (self.marks.len() < MAX_MARKS && self.marks.insert(seq))
    }

    /// Drops the marks of evicted events.
    pub(crate) fn drop_evicted_marks(&mut self, first: Seq) {
        if self.marks.first().is_some_and(|seq| *seq < first) {
            self.marks = self.marks.split_off(&first);
        }
    }
}
