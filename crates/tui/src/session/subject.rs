//! What a document that is edited is about.

use runtail_core::model::Service;
use std::sync::Arc;

/// What a document is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A new deployment of a profile.
    CreateDeployment { profile: Arc<str> },
    /// What is changed of a deployment.
    UpdateDeployment {
        profile: Arc<str>,
        /** The deployment's id. */
        id: Arc<str>,
        name: Arc<str>,
    },
    /// An authentication with a provider.
    Authenticate {
        profile: Arc<str>,
        /** The provider's slug. */
        provider: Arc<str>,
    },
    /// A profile by its name, or a new one.
    Profile(Option<Arc<str>>),
    /// What stands beside the deployments.
    Service {
        profile: Arc<str>,
        /** What is done. */
        what: Service,
        /** What it is done to, in words. */
        name: Arc<str>,
    },
}
