//! Revisions over REST: listing, making, redeploying, interrupting.

use super::deployments::{add_revision, change, with};
use super::query::{body, page, path_uuid, text};
use super::timetable::{Deployment, Phase, Revision, phases};
use super::{ControlServer, ThisControl};
use crate::prelude::*;

fn shown(plane: &ControlServer, revision: &Revision, phase: &Phase) -> Value {
    let full = revision.json(phase);
    if plane.contract {
        return json!({"id": full["id"], "status": full["status"], "created_at": full["created_at"]});
    }
    full
}

/// A revision and its progress.
pub fn find<'a>(
    plane: &ControlServer,
    deployment: &'a Deployment,
    id: &str,
) -> Result<(&'a Revision, Phase), Refusal> {
    path_uuid("revision_id", id)?;
    let phases = phases(&deployment.revisions, now(), plane.speed);
    let mut all = deployment.revisions.iter().zip(phases);
    all.find(|(revision, _)| revision.id.eq_ignore_ascii_case(id))
        .ok_or_else(|| missing(&format!("Revision ID {id} not found.")))
}

/// `GET /v2/deployments/{id}/revisions`, newest first.
pub async fn list(State(plane): ThisControl, Path(id): Path<String>, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    with(&plane, &id, |deployment| {
        let wanted = |status: &str| {
            text(&pairs, "status").is_none_or(|list| list.split(',').any(|one| one == status))
        };
        let phases = phases(&deployment.revisions, now(), plane.speed);
        let all = deployment.revisions.iter().zip(&phases).rev();
        let all = all.filter(|(_, phase)| wanted(&phase.status));
        let mut page = page(&pairs, all.map(|(one, phase)| shown(&plane, one, phase)))?;
        if plane.contract {
            page = json!({"resources": page["resources"]});
        }
        Ok(ok(&page))
    })
}

/// `GET /v2/deployments/{id}/revisions/{revision}`.
pub async fn get(
    State(plane): ThisControl,
    Path((id, revision)): Path<(String, String)>,
) -> Handled {
    with(&plane, &id, |deployment| {
        let (revision, phase) = find(&plane, deployment, &revision)?;
        Ok(ok(&shown(&plane, revision, &phase)))
    })
}

/// `POST /v2/deployments/{id}/revisions`: always makes one.
pub async fn create(State(plane): ThisControl, Path(id): Path<String>, bytes: Bytes) -> Handled {
    let asked = body(&bytes, &[])?;
    with(&plane, &id, |deployment| {
        let newest =
            |deployment: &Deployment| deployment.revisions.last().cloned().unwrap_or_default();
        if !change(deployment, &asked) {
            let Revision { source, config, .. } = newest(deployment);
            add_revision(deployment, &source, config);
        }
        let (revision, phase) = find(&plane, deployment, &newest(deployment).id)?;
        let answer = shown(&plane, revision, &phase);
        Ok(json_response(StatusCode::CREATED, &answer))
    })
}

/// `POST …/redeploy`: the same source again, as a new revision; answers the deployment.
pub async fn redeploy(
    State(plane): ThisControl,
    Path((id, revision)): Path<(String, String)>,
) -> Handled {
    with(&plane, &id, |deployment| {
        let found = find(&plane, deployment, &revision)?.0.clone();
        add_revision(deployment, &found.source, found.config);
        if let Some(made) = deployment.revisions.last_mut() {
            (made.title, made.fate) = (found.title, found.fate);
        }
        let answer = deployment.json(&plane.workspace, now(), plane.speed);
        Ok(ok(&json!(answer)))
    })
}

/// `POST …/interrupt` and `…/interruption`: interrupts what is in progress, and the next in the queue continues.
pub async fn interrupt(
    State(plane): ThisControl,
    Path((id, revision)): Path<(String, String)>,
) -> Handled {
    with(&plane, &id, |deployment| {
        let (found, Phase { status, .. }) = find(&plane, deployment, &revision)?;
        let id = found.id.clone();
        if ["DEPLOYED", "SKIPPED", "INTERRUPTED"].contains(&&*status) || status.contains("FAILED") {
            let text = format!("Revision ID {id} is {status} and cannot be interrupted.");
            return Err(bad(&text));
        }
        for one in deployment.revisions.iter_mut().filter(|one| one.id == id) {
            one.interrupted_at = Some(now());
            // One whose status was chosen has left its timetable.
            one.forced = one.forced.is_some().then(|| "INTERRUPTED".to_owned());
        }
        Ok(done())
    })
}
