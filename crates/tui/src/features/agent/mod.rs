//! An agent server: its threads, runs and assistants, and the composer of a run.

mod compose_view;
pub mod composer;
pub mod state;
mod update;
mod view;

use crate::session::loaded::Loaded;
use crate::session::msg::ServerRef;
use composer::Composer;
use runtail_api::ServerInfo;
use state::Server;
use std::collections::BTreeMap;
pub(crate) use update::listed_status;

/// The agent servers: which one is open, and what is known of each.
#[derive(Debug, Default)]
pub struct Agent {
    /// The software of each server.
    pub infos: BTreeMap<ServerRef, Loaded<ServerInfo>>,
    /// The server that is open.
    pub server: Option<Server>,
    /// What was typed into a composer that was left.
    pub draft: Option<Composer>,
    /// The modes that were chosen last in the composer, with `subgraphs`.
    pub modes: Option<Vec<(&'static str, bool)>>,
}
