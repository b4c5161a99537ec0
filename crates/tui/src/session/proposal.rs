//! What a person wants to change.

use super::refs::{ServerRef, ThreadRef};
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

impl Proposal {
    /// Returns the verb of its title.
    pub fn verb(&self) -> &'static str {
        match self {
            Proposal::Service(intent) => intent.verb(),
            Proposal::Thread(_, intent) => intent.verb(),
            Proposal::Resource(_, intent) => intent.verb(),
        }
    }

    /// Returns its agent server, if it is not about a control plane.
    pub fn server(&self) -> Option<&ServerRef> {
        match self {
            Proposal::Service(_) => None,
            Proposal::Thread(server, _) | Proposal::Resource(server, _) => Some(server),
        }
    }

    /// Returns the thread that it is an action on; its id is empty if the action creates the thread.
    pub fn thread(&self) -> Option<ThreadRef> {
        match self {
            Proposal::Thread(server, intent) => Some(ThreadRef {
                server: server.clone(),
                id: intent.thread().to_string(),
            }),
            Proposal::Service(_) | Proposal::Resource(..) => None,
        }
    }
}
