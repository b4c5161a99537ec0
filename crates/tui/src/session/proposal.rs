//! What a person wants to change, and what became of it.

use super::refs::{Applied, ServerRef, ThreadRef};
use runtail_api::{Acted, ApiError, ResourceIntent, StartError, ThreadIntent};
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

/// A thread of an action on several.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BulkTarget {
    pub thread: ThreadRef,
    /// Its name in the preview, which may be empty.
    pub title: String,
    /// The question to answer; none means the only one.
    pub interrupt: Option<String>,
    /// Why it is left out, if that is known before it is planned.
    pub left_out: Option<String>,
}

/// What became of a change that was sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Sent {
    /// A change of a record.
    Record(Result<Applied, ApiError>),
    /// An action on a thread.
    Thread(ThreadRef, Result<Acted, StartError>),
}

impl Sent {
    /// Returns why it failed.
    pub fn error(&self) -> Option<&ApiError> {
        match self {
            Sent::Record(result) => result.as_ref().err(),
            Sent::Thread(_, result) => result.as_ref().err().map(|failed| &failed.error),
        }
    }

    /// Returns the profile whose server is watched from now on, if one is.
    pub fn profile(&self) -> Option<&str> {
        let Sent::Record(Ok(made)) = self else {
            return None;
        };
        let deleting = || made.deleting.as_ref().map(|(profile, ..)| &**profile);
        let revision = made.revision.as_ref();
        revision.map(|of| &*of.profile).or_else(deleting)
    }
}
