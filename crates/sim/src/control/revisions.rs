//! Revisions over REST: listing, making, redeploying, interrupting.

use super::ThisControl;
use super::deployments::{add_revision, change, patch_body, repeat, with};
use super::query::{flag, number, offset, path_uuid, text};
use super::timetable::{Deployment, Phase, Revision, phases};
use super::{ControlServer, now};
use crate::http::{Handled, Refusal, bad, done, json_response, missing, ok, query_pairs};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use serde_json::{Value, json};

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
    let at = deployment
        .revisions
        .iter()
        .position(|revision| revision.id.eq_ignore_ascii_case(id));
    let phases = phases(&deployment.revisions, now(), plane.speed);
    at.and_then(|at| Some((deployment.revisions.get(at)?, phases.into_iter().nth(at)?)))
        .ok_or_else(|| missing(&format!("Revision ID {id} not found.")))
}

/// `GET /v2/deployments/{id}/revisions`, newest first.
pub async fn list(State(plane): ThisControl, Path(id): Path<String>, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    with(&plane, &id, |deployment| {
        let limit = number(&pairs, "limit", 1, 100, 20)?;
        let offset = offset(&pairs)?;
        flag(&pairs, "remote_reconciled")?;
        let statuses: Option<Vec<&str>> =
            text(&pairs, "status").map(|list| list.split(',').collect());
        let phases = phases(&deployment.revisions, now(), plane.speed);
        let resources: Vec<Value> = deployment
            .revisions
            .iter()
            .zip(&phases)
            .rev()
            .filter(|(_, phase)| {
                statuses
                    .as_ref()
                    .is_none_or(|all| all.contains(&phase.status.as_str()))
            })
            .skip(offset)
            .take(limit)
            .map(|(revision, phase)| shown(&plane, revision, phase))
            .collect();
        if plane.contract {
            return Ok(ok(&json!({"resources": resources})));
        }
        let next = offset.saturating_add(resources.len());
        Ok(ok(&json!({"resources": resources, "offset": next})))
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
    let asked = patch_body(&plane, &bytes)?;
    with(&plane, &id, |deployment| {
        if !change(&plane, deployment, &asked)? {
            repeat(deployment);
        }
        let made = deployment
            .revisions
            .last()
            .map(|made| made.id.clone())
            .unwrap_or_default();
        let (revision, phase) = find(&plane, deployment, &made)?;
        Ok(json_response(
            StatusCode::CREATED,
            &shown(&plane, revision, &phase),
        ))
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
        Ok(ok(&deployment
            .json(&plane.workspace, now(), plane.speed)
            .unwrap_or_default()))
    })
}

/// `POST …/interrupt` and `…/interruption`: interrupts what is in progress, and the next in the queue continues.
pub async fn interrupt(
    State(plane): ThisControl,
    Path((id, revision)): Path<(String, String)>,
) -> Handled {
    with(&plane, &id, |deployment| {
        let (found, phase) = find(&plane, deployment, &revision)?;
        let over = matches!(
            phase.status.as_str(),
            "DEPLOYED" | "SKIPPED" | "INTERRUPTED"
        ) || phase.status.contains("FAILED");
        if over {
            let text = format!(
                "Revision ID {} is {} and cannot be interrupted.",
                found.id, phase.status
            );
            return Err(bad(&text));
        }
        let id = found.id.clone();
        for one in deployment.revisions.iter_mut().filter(|one| one.id == id) {
            one.interrupted_at = Some(now());
            // One whose status was chosen has left its timetable.
            one.forced = one.forced.is_some().then(|| "INTERRUPTED".to_owned());
        }
        Ok(done())
    })
}
