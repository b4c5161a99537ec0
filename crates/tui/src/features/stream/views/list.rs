//! The list of the views: what each shows.

use super::events::EventsTab;
use super::messages::MessagesTab;
use super::runs::RunsTab;
use super::state::StateTab;
use super::steps::StepsTab;
use super::stream_view::{EntryKind, StreamView, ViewFacts};
use super::timeline::TimelineTab;
use super::{VIEWS, View};
use crate::features::stream::graph::GraphTab;

/// The views, in the order of [`VIEWS`].
static LIST: [&dyn StreamView; VIEWS.len()] = [
    &MessagesTab,
    &StepsTab,
    &StateTab,
    &TimelineTab,
    &GraphTab,
    &EventsTab,
    &RunsTab,
];

impl View {
    /// Returns the view with a title, or the one that has what a view of an earlier version showed.
    pub fn named(word: &str) -> Option<View> {
        let is_named = |name: &str| name.eq_ignore_ascii_case(word);
        let old = match word.to_ascii_lowercase().as_str() {
            "raw" | "custom" | "delivery" => Some(View::Events),
            "updates" | "history" => Some(View::Steps),
            _ => None,
        };
        let mut views = VIEWS.into_iter();
        views.find(|view| is_named(view.title())).or(old)
    }

    /// Returns what the view shows.
    pub fn of(self) -> &'static dyn StreamView {
        LIST[self as usize]
    }

    /// Returns what never changes of the view.
    pub fn facts(self) -> ViewFacts {
        self.of().facts()
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
        char::from(b'1' + self as u8)
    }
}
