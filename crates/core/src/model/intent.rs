//! Intents: changes that a user requests. They contain no secrets, so they may be kept and shown; `ControlPlane::plan` turns
//! one into a plan.

use super::DeploymentSpec;

/// A requested change, with the ids of its target.
#[derive(Debug, Clone, PartialEq)]
pub enum Intent {
    /// Creates a deployment, and with it its first revision.
    CreateDeployment(Box<DeploymentSpec>),
    /// Changes a deployment.
    UpdateDeployment {
        /// The deployment.
        id: String,
        /// The settings to change.
        spec: Box<DeploymentSpec>,
    },
    DeleteDeployment {
        /// The deployment.
        id: String,
        /// Whether its tracing project is deleted too, with all traces. Only then can the name surely be used again.
        delete_tracing_project: bool,
        /// Whether to force the deletion of a deployment that is already being deleted.
        force: bool,
    },
    /// Deploys the source of a revision again.
    Redeploy {
        deployment: String,
        revision: String,
    },
    /// Rolls back to an earlier revision.
    Rollback {
        deployment: String,
        /// The earlier revision.
        revision: String,
        /// Whether the deployment's own source is changed to that of the revision. Otherwise the revision is deployed again.
        changes_source: bool,
    },
    /// Changes another record.
    Service(Box<super::ServiceChange>),
    /// Interrupts a revision that is in progress.
    Interrupt {
        deployment: String,
        revision: String,
    },
}

impl Intent {
    /// Returns the verb of its title.
    pub fn verb(&self) -> &'static str {
        match self {
            Intent::CreateDeployment(_) => "Create",
            Intent::UpdateDeployment { .. } => "Update",
            Intent::DeleteDeployment { .. } => "Delete",
            Intent::Redeploy { .. } => "Redeploy",
            Intent::Rollback { .. } => "Roll back",
            Intent::Service(change) => change.what.verb(),
            Intent::Interrupt { .. } => "Interrupt",
        }
    }

    /// Returns the deployment that it is about; none for a new one and for other records.
    pub fn deployment(&self) -> Option<&str> {
        match self {
            Intent::UpdateDeployment { id, .. } | Intent::DeleteDeployment { id, .. } => Some(id),
            Intent::Redeploy { deployment, .. }
            | Intent::Rollback { deployment, .. }
            | Intent::Interrupt { deployment, .. } => Some(deployment),
            Intent::CreateDeployment(_) | Intent::Service(_) => None,
        }
    }
}
