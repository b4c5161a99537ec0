//! An agent server: its threads, runs and assistants.

mod load;
mod search_view;
pub mod state;
pub mod threads;
mod update;
mod view;

use crate::session::compare::SideRef;
use crate::session::loaded::Loaded;
use crate::session::msg::ServerRef;
use load::KnownHealth;
use runtail_api::ServerInfo;
use state::Server;
use std::collections::BTreeMap;
pub(crate) use update::{graph_of, listed_status};

/// The state of the agent servers.
#[derive(Debug, Default)]
pub struct Agent {
    /// The information that each server reports about itself.
    pub infos: BTreeMap<ServerRef, Loaded<ServerInfo>>,
    /// The health of each server that was open.
    pub health: BTreeMap<ServerRef, KnownHealth>,
    /// The open server.
    pub server: Option<Server>,
    /// Runs marked for a comparison, and marked threads of servers that are no longer open; at most two.
    pub marked: Vec<SideRef>,
}
