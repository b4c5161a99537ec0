//! What a person wants changed. It holds no secret, so it may be kept and shown; `ControlPlane::plan` makes a [`Plan`] of it.
//!
//! [`Plan`]: super::Plan

use super::DeploymentSpec;

/// A wish, by the identifiers of what it is about.
#[derive(Debug, Clone, PartialEq)]
pub enum Intent {
    /// Creates a deployment, and with it its first revision.
    CreateDeployment(Box<DeploymentSpec>),
    /// Changes a deployment.
    UpdateDeployment {
        /// The deployment.
        id: String,
        /// What of it shall be different.
        spec: Box<DeploymentSpec>,
    },
    /// Deletes a deployment.
    DeleteDeployment {
        /// The deployment.
        id: String,
        /// Whether its tracing project, with all traces, goes with it. Only then the name is free again for sure.
        delete_tracing_project: bool,
        /// Whether to end what is being deleted already.
        force: bool,
    },
    /// Deploys the source of a revision once more.
    Redeploy {
        /// The deployment.
        deployment: String,
        /// The revision.
        revision: String,
    },
    /// Goes back to what an earlier revision was made from.
    Rollback {
        /// The deployment.
        deployment: String,
        /// The earlier revision.
        revision: String,
    },
    /// Changes what stands beside the deployments.
    Service(Box<super::ServiceChange>),
    /// Stops a revision that is in progress.
    Interrupt {
        /// The deployment.
        deployment: String,
        /// The revision.
        revision: String,
    },
}
