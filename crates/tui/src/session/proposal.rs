//! What a person wants to change.

use super::refs::{ServerRef, ThreadRef};
use runtail_api::{ReproduceIntent, ResourceIntent, ThreadIntent};
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
    /// An action that uses a thread and a second agent server.
    TwoServers(ThreadRef, ServerRef, TwoServerIntent),
}

/// An action that uses a second agent server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TwoServerIntent {
    /// Copy a thread to the other server.
    Reproduce(ReproduceIntent),
    /// Send the input of a run, or of the newest one, on new threads of both servers.
    RunOnBoth(Option<String>),
}

impl Proposal {
    /// Returns the other profile to which it writes, if there are two.
    pub fn second_profile(&self) -> Option<&str> {
        match self {
            Proposal::TwoServers(from, to, TwoServerIntent::RunOnBoth(_))
                if from.server.profile != to.profile =>
            {
                Some(&from.server.profile)
            }
            _ => None,
        }
    }
}
