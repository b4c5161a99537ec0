//! The list of the views: what each shows, and what never changes of it.

use super::lists::ListTab;
use super::messages::MessagesTab;
use super::state::StateTab;
use super::stream_view::{EntryKind, ExportedAs, StreamView, ViewFacts};
use super::timeline::TimelineTab;
use super::{VIEWS, View};
use crate::features::stream::graph::GraphTab;
use crate::features::stream::history::HistoryTab;

/// The words of a view of events at a checkpoint.
const NO_EVENTS: &str =
    "A checkpoint has a state but no events, so this view has nothing to show for that time.";

/// A view of events, which the others are variations of.
const EVENTS: ViewFacts = ViewFacts {
    title: "",
    kind: EntryKind::Events,
    empty: ("events", ""),
    empty_at_checkpoint: NO_EVENTS,
    export: ExportedAs::Entries,
    records_of: None,
};

/// A view that the viewer doesn't scroll.
const PICTURE: ViewFacts = ViewFacts {
    kind: EntryKind::Picture,
    empty: ("", ""),
    ..EVENTS
};

/// The views, in the order of [`VIEWS`].
static LIST: [(&dyn StreamView, ViewFacts); VIEWS.len()] = [
    (
        &MessagesTab,
        ViewFacts {
            title: "Messages",
            kind: EntryKind::Rows,
            empty: (
                "messages",
                " Press 2 for updates, 3 for state, 7 for raw events.",
            ),
            empty_at_checkpoint: "The state at this checkpoint has no messages.",
            records_of: Some(View::Raw),
            ..EVENTS
        },
    ),
    (
        &ListTab(View::Updates),
        ViewFacts {
            title: "Updates",
            empty: ("updates", ""),
            export: ExportedAs::Table,
            ..EVENTS
        },
    ),
    (
        &StateTab,
        ViewFacts {
            title: "State",
            kind: EntryKind::Document,
            empty: ("state", ""),
            empty_at_checkpoint: "The state at this checkpoint is empty.",
            ..EVENTS
        },
    ),
    (
        &TimelineTab,
        ViewFacts {
            title: "Timeline",
            kind: EntryKind::Rows,
            empty: ("node timings", ""),
            empty_at_checkpoint: "No steps are known up to this checkpoint.",
            export: ExportedAs::Runs,
            records_of: Some(View::Raw),
        },
    ),
    (
        &ListTab(View::Runs),
        ViewFacts {
            title: "Runs",
            kind: EntryKind::Rows,
            empty: ("runs", ""),
            empty_at_checkpoint: "No runs are known up to this checkpoint.",
            export: ExportedAs::Table,
            records_of: None,
        },
    ),
    (
        &ListTab(View::Custom),
        ViewFacts {
            title: "Custom",
            empty: ("custom events", " A node has to emit them."),
            ..EVENTS
        },
    ),
    (
        &ListTab(View::Raw),
        ViewFacts {
            title: "Raw",
            ..EVENTS
        },
    ),
    (
        &ListTab(View::Delivery),
        ViewFacts {
            title: "Delivery",
            kind: EntryKind::Report,
            export: ExportedAs::Whole,
            ..EVENTS
        },
    ),
    (
        &GraphTab,
        ViewFacts {
            title: "Graph",
            export: ExportedAs::Whole,
            records_of: Some(View::Raw),
            ..PICTURE
        },
    ),
    (
        &HistoryTab,
        ViewFacts {
            title: "History",
            export: ExportedAs::Table,
            ..PICTURE
        },
    ),
];

impl View {
    /// Returns what the view shows.
    pub fn of(self) -> &'static dyn StreamView {
        LIST[self as usize].0
    }

    /// Returns what never changes of the view.
    pub fn facts(self) -> &'static ViewFacts {
        &LIST[self as usize].1
    }

    /// Returns what its entries are.
    pub fn kind(self) -> EntryKind {
        self.facts().kind
    }

    /// Returns the title of the tab.
    pub fn title(self) -> &'static str {
        self.facts().title
    }

    /// Returns the digit of its key.
    pub fn digit(self) -> char {
        char::from(b'0' + (self as u8 + 1) % 10)
    }
}
