//! Deployments as documents to edit.

use super::services::Services;
use crate::boxed;
use crate::session::effect::DeploymentDocument;
use runtail_api::ApiError;
use runtail_core::model::{DeploymentSpec, SpecForm};

/// Returns a deployment's current settings as a document to edit.
#[boxed]
pub async fn document(
    services: &Services,
    profile: &str,
    id: &str,
) -> Result<DeploymentDocument, ApiError> {
    let row = services
        .control_plane(profile)
        .await?
        .deployment_row(id)
        .await?;
    Ok(DeploymentDocument {
        text: DeploymentSpec::template_of(&row),
        current: SpecForm::of_record(&row),
    })
}
