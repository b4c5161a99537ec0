//! Finding one's way in a stream: what is searched for, what is let through, and where on the tape it is.

mod filter;
mod match_index;

use crate::widgets::scroll::Place;
use runtail_stream::Seq;
use std::collections::BTreeSet;

pub use crate::widgets::pattern::{Look, Pattern, Source, light, unescaped};
pub use filter::{FIELDS, StreamFilter, says};
pub use match_index::MatchIndex;

/// Most marks in one stream.
const MAX_MARKS: usize = 1000;

/// What is searched for in a stream, what is let through, and what was marked. It holds for all views of the stream; what
/// was found is known for each view that was looked at.
#[derive(Debug, Default)]
pub struct Find {
    /// What is searched for.
    pub pattern: Pattern,
    /// What is let through.
    pub filter: StreamFilter,
    /// The entries of each view that fit the filter.
    pub(crate) fits: [Option<MatchIndex>; 8],
    /// Those of them that hold what is searched for.
    pub(crate) hits: [Option<MatchIndex>; 8],
    /// The newest event when a view was last looked through: messages that changed since are looked at again.
    pub(crate) told: [Seq; 8],
    /// Whether something is left to be looked through in the views that are shown.
    pub(crate) is_scanning: bool,
    /// A hit that is looked for.
    pub(crate) seek: Option<Seek>,
    /// What a line is typed for, and where one stood when that began.
    pub(crate) typing: Option<(Typing, Stood)>,
    marks: BTreeSet<Seq>,
}

/// What a line in the viewer is typed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    /// A text to go to.
    Search,
    /// What is let through.
    Filter,
}

/// Which hit is gone to, as soon as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seek {
    /// The first one from where one stood: what is typed.
    Near,
    /// The next one.
    Next,
    /// The one before.
    Before,
}

/// Where one stood in all views.
#[derive(Debug, Clone)]
pub(crate) struct Stood {
    pub(crate) anchor: Option<Seq>,
    pub(crate) places: [Place; 8],
}

impl Find {
    /// The entries of a view have other numbers now: it is looked through again.
    pub(crate) fn forget(&mut self, view: usize) {
        self.fits[view] = None;
        self.hits[view] = None;
    }

    /// Whether something is left to be looked through in the views that are shown.
    pub fn is_scanning(&self) -> bool {
        self.is_scanning
    }

    /// What a line is typed for.
    pub fn typing(&self) -> Option<Typing> {
        self.typing.as_ref().map(|(typing, _)| *typing)
    }

    /// The events that were marked, in their order.
    pub fn marks(&self) -> &BTreeSet<Seq> {
        &self.marks
    }

    /// Marks an event, or takes its mark away; false where there are too many marks.
    pub(crate) fn mark(&mut self, seq: Seq) -> bool {
        self.marks.remove(&seq) || (self.marks.len() < MAX_MARKS && self.marks.insert(seq))
    }

    /// Events that were let go have no marks.
    pub(crate) fn let_go(&mut self, first: Seq) {
        if self.marks.first().is_some_and(|seq| *seq < first) {
            self.marks = self.marks.split_off(&first);
        }
    }
}
