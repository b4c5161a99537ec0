//! An agent server: its threads, runs and assistants.

mod actions;
mod load;
mod preview;
mod search_view;
pub mod state;
pub mod threads;
mod update;
mod view;

use crate::session::compare::SideRef;
use crate::session::msg::ServerRef;
pub(crate) use actions::graph_of;
use load::KnownHealth;
use state::Server;
use std::collections::BTreeMap;
use threads::ListOrder;
pub(crate) use update::listed_status;

/// The state of the agent servers.
#[derive(Debug, Default)]
pub struct Agent {
    /// The health of each server that was open.
    pub health: BTreeMap<ServerRef, KnownHealth>,
    /// The open server.
    pub server: Option<Server>,
    /// The order of thread lists that was chosen last.
    order: ListOrder,
    /// Runs marked for a comparison, and marked threads of servers that are no longer open; at most two.
    pub marked: Vec<SideRef>,
}

impl Agent {
    /// Returns the word of the order of thread lists, if it is not the usual one.
    pub fn order_word(&self) -> Option<&'static str> {
        (self.order != ListOrder::default()).then(|| self.order.word())
    }

    /// Sets the order of thread lists by its word.
    pub fn set_order(&mut self, word: &str) {
        self.order = ListOrder::of_word(word).unwrap_or_default();
        if let Some(open) = &mut self.server {
            open.threads.set_order(self.order);
        }
    }
}
