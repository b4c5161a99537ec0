//! The list of the views: what each shows.

use super::custom::CustomTab;
use super::delivery::DeliveryTab;
use super::messages::MessagesTab;
use super::raw::RawTab;
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
    &RunsTab,
    &CustomTab,
    &RawTab,
    &DeliveryTab,
    &GraphTab,
];

impl View {
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
        char::from(b'0' + (self as u8 + 1) % 10)
    }
}
