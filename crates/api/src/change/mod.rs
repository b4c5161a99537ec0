//! Plans changes of a control plane's records.

mod deployment;
mod revision;
mod service;

use crate::prelude::*;
use runtail_core::config::Document;
use runtail_core::model::{Fetched, Intent};

impl ControlPlane {
    /// Plans a change: reads the target, validates the change, and previews the exact request and its consequences. Sends no
    /// write request, so it works for read-only profiles too.
    ///
    /// # Errors
    /// See [`PlanError`]. Secrets are fetched here, so a missing one is an error.
    #[boxed]
    pub async fn plan(&self, intent: &Intent) -> Result<Plan, PlanError> {
        let draft: Draft = match intent {
            Intent::CreateDeployment(spec) => self.plan_create(spec).await,
            Intent::UpdateDeployment { id, spec } => self.plan_update(id, spec).await,
            Intent::DeleteDeployment {
                id,
                delete_tracing_project,
                force,
            } => self.plan_delete(id, *delete_tracing_project, *force).await,
            Intent::Service(change) => self.plan_service(change).await,
            Intent::Redeploy {
                deployment,
                revision,
            } => self.plan_redeploy(deployment, revision).await,
            Intent::Rollback {
                deployment,
                revision,
                changes_source,
            } => {
                self.plan_rollback(deployment, revision, *changes_source)
                    .await
            }
            Intent::Interrupt {
                deployment,
                revision,
            } => self.plan_interrupt(deployment, revision).await,
        }?;
        Ok(draft.plan())
    }
}

/// Returns a record's name, else its id, sanitized.
fn name_of<'r>(record: &'r Value, id: &'r str) -> std::borrow::Cow<'r, str> {
    text::clean(
        record["name"]
            .as_str()
            .filter(|name| !name.is_empty())
            .unwrap_or(id),
    )
}

/// Fetches the secrets, on a thread of its own because it may read files.
async fn fetch(document: &Document) -> Result<Fetched, PlanError> {
    let document = document.clone();
    match tokio::task::spawn_blocking(move || document.fetch()).await {
        Ok(fetched) => fetched.map_err(|error| PlanError::Wrong(vec![error.to_string()])),
        // The task neither panics nor is cancelled; if it ever did, nothing would be sent.
        Err(error) => wrong(format!("the secrets could not be fetched: {error}")),
    }
}
