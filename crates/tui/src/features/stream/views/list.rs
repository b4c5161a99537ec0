//! The list of the views: what each shows.

use super::events::EventsTab;
use super::messages::MessagesTab;
use super::runs::RunsTab;
use super::state::StateTab;
use super::stream_view::{EntryKind, StreamView, ViewFacts};
use super::timeline::TimelineTab;
use super::updates::UpdatesTab;
use super::{VIEWS, View};
use crate::features::stream::graph::GraphTab;
use crate::features::stream::history::HistoryTab;

/// The views, in the order of [`VIEWS`].
static LIST: [&dyn StreamView; VIEWS.len()] = [
    &MessagesTab,
    &UpdatesTab,
    &StateTab,
    &TimelineTab,
    &RunsTab,
    &EventsTab,
    &GraphTab,
    &HistoryTab,
];

/// The digits of their keys.
const DIGITS: [char; VIEWS.len()] = ['1', '2', '3', '4', '5', '6', '9', '0'];

impl View {
    /// Returns the view with a title. Earlier versions had a view each for custom events, raw events and the delivery.
    pub fn named(word: &str) -> Option<View> {
        let is_named = |name: &str| name.eq_ignore_ascii_case(word);
        let is_old = ["raw", "custom", "delivery"].into_iter().any(is_named);
        let mut views = VIEWS.into_iter();
        let view = views.find(|view| is_named(view.title()));
        view.or(is_old.then_some(View::Events))
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
        DIGITS[self as usize]
    }
}
