//! The subject of an edited document.

use super::proposal::BulkTarget;
use super::refs::{ServerRef, ThreadRef};
use runtail_core::model::Service;
use std::sync::Arc;

/// The subject of an edited document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A new deployment of a profile.
    CreateDeployment { profile: Arc<str> },
    /// Changes to a deployment.
    UpdateDeployment {
        profile: Arc<str>,
        /// The deployment's id.
        id: Arc<str>,
        name: Arc<str>,
    },
    /// An authentication with a provider.
    Authenticate {
        profile: Arc<str>,
        /// The provider's slug.
        provider: Arc<str>,
    },
    /// A change of another resource than a deployment.
    Service {
        profile: Arc<str>,
        /// The change.
        what: Service,
        /// The display name of the resource.
        name: Arc<str>,
    },
    /// A cron of an agent server.
    Cron {
        server: ServerRef,
        /// The cron's id; `None` for a new one.
        cron: Option<Arc<str>>,
        /// Its settings as received.
        original: Arc<str>,
        name: Arc<str>,
    },
    /// An item of an agent server's store.
    Item {
        server: ServerRef,
        /// Its namespace and its key; `None` for a new one.
        at: Option<(Vec<String>, Arc<str>)>,
        /// Its value as received.
        original: Arc<str>,
        name: Arc<str>,
    },
    /// One edit of the states of several failed threads, which are retried after it.
    Retry {
        profile: Arc<str>,
        threads: Arc<[BulkTarget]>,
        /// How many there are, in words.
        name: Arc<str>,
    },
    /// The state of a thread at a checkpoint.
    State {
        thread: ThreadRef,
        /// The checkpoint's id.
        checkpoint: Arc<str>,
        /// Whether it is the newest one. An edit of another one begins a branch.
        is_head: bool,
        /// The values as received.
        original: Arc<str>,
        /// The display name of the checkpoint.
        name: Arc<str>,
    },
}
