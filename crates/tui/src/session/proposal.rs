//! What a person wants to change.

use super::refs::ServerRef;
use runtail_api::{ResourceIntent, ThreadIntent};
use runtail_core::model::Intent;

/// A change that is planned, previewed, and sent after a confirmation.
#[derive(Debug, Clone, PartialEq)]
pub enum Proposal {
    /// A change on the control plane of the profile.
    Service(Intent),
    /// An action on a thread of an agent server.
    Thread(ServerRef, ThreadIntent),
    /// A change of an assistant, a cron or the store of an agent server.
    Resource(ServerRef, ResourceIntent),
}
