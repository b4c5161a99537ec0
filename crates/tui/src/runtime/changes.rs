//! Control-plane changes.

use super::plans::Planned;
use super::services::Services;
use crate::session::effect::DeploymentDocument;
use crate::session::msg::{Applied, RevisionRef};
use runtail_api::{ApiError, ControlPlane, PlanError};
use runtail_core::model::{DeploymentSpec, Intent, Plan, Preview, SpecForm};

/// Plans a change and returns its preview.
pub async fn plan(
    services: &Services,
    number: u64,
    profile: &str,
    intent: &Intent,
) -> Result<Box<Preview>, PlanError> {
    let control_plane = services.control_plane(profile).await?;
    let plan = control_plane.plan(intent).await?;
    let preview = Box::new(plan.preview.clone());
    services
        .plans
        .keep(number, Planned::Deployment(control_plane, Box::new(plan)));
    Ok(preview)
}

/// Reads the target of a planned change again; nothing if the plan was sent or cancelled meanwhile.
pub async fn check(
    services: &Services,
    number: u64,
) -> Option<Result<Option<Vec<String>>, ApiError>> {
    let (control_plane, plan) = match services.plans.all().get(&number)? {
        Planned::Deployment(control_plane, plan) => (control_plane.clone(), plan.clone()),
        _ => return None,
    };
    Some(control_plane.check_target(&plan).await)
}

/// Sends a change.
pub async fn send(
    control_plane: &ControlPlane,
    plan: &Plan,
    profile: &str,
) -> Result<Applied, ApiError> {
    let made = control_plane.apply(plan).await?;
    let complaint = made
        .complaint()
        .map(|complaint| format!(" But {complaint}."))
        .unwrap_or_default();
    // The path of a change has the deployment's id; that of a new deployment is in the response.
    let id_in = |path: &[String]| match path {
        [_, kind, id, ..] if kind == "deployments" => Some(id.clone()),
        _ => None,
    };
    let deployment = id_in(&plan.path).or_else(|| made.record["id"].as_str().map(str::to_string));
    let revision = made
        .revision
        .zip(deployment)
        .map(|(revision, deployment)| RevisionRef {
            profile: profile.into(),
            deployment: deployment.into(),
            revision: revision.into(),
        });
    let doubt = made
        .doubt
        .map(|doubt| format!(" {doubt}."))
        .unwrap_or_default();
    let target = plan
        .preview
        .target
        .as_ref()
        .filter(|target| target.kind == "deployment" && plan.method == "DELETE");
    let deleting = target.map(|target| {
        (
            profile.into(),
            target.id.as_str().into(),
            target.name.clone(),
        )
    });
    let (outcome, follow) = match (&deleting, &revision) {
        (Some(_), _) => ("started", " You'll be notified when it is deleted."),
        (None, Some(_)) => ("started", ""),
        (None, None) => ("done", ""),
    };
    let said = format!(
        "{}: {outcome}.{complaint}{doubt}{follow}",
        plan.preview.title
    );
    Ok(Applied {
        said,
        revision,
        deleting,
        page: None,
    })
}

/// Returns a deployment's current settings as a document to edit.
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
