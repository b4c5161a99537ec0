//! Revisions over REST: listing, making, redeploying, interrupting, and their logs in both generations of the API.

use super::deployments::{add_revision, change, with};
use super::logs::{self, Line, Wanted};
use super::timetable::{Deployment, Phase, Revision, phases};
use super::{Plane, Refusal, body, invalid, now, number, ok, path_uuid, text};
use crate::sim::Dialect;
use crate::sim::agent::{detail, empty, json_response, query_pairs};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;

fn answer(result: Result<Response, Refusal>) -> Response {
    result.unwrap_or_else(|refusal| *refusal)
}

fn shown(plane: &Plane, revision: &Revision, phase: &Phase) -> Value {
    let full = revision.json(phase);
    match plane.dialect {
        Dialect::Python => full,
        Dialect::Contract => json!({"id": full["id"], "status": full["status"], "created_at": full["created_at"]}),
    }
}

/// A revision and where it stands.
fn find<'a>(plane: &Plane, deployment: &'a Deployment, id: &str) -> Result<(&'a Revision, Phase), Refusal> {
    path_uuid("revision_id", id)?;
    let at = deployment.revisions.iter().position(|revision| revision.id == id);
    let phases = phases(&deployment.revisions, now(), plane.speed);
    at.and_then(|at| Some((deployment.revisions.get(at)?, phases.into_iter().nth(at)?)))
        .ok_or_else(|| Box::new(detail(StatusCode::NOT_FOUND, &format!("Revision ID {id} not found."))))
}

/// `GET /v2/deployments/{id}/revisions`, newest first.
pub async fn list(State(plane): State<Arc<Plane>>, Path(id): Path<String>, uri: Uri) -> Response {
    let pairs = query_pairs(&uri);
    answer(with(&plane, &id, |deployment| {
        let limit = number(&pairs, "limit", 1, 100, 20)?;
        let offset = number(&pairs, "offset", 0, usize::MAX >> 1, 0)?;
        let statuses: Option<Vec<&str>> = text(&pairs, "status").map(|list| list.split(',').collect());
        let phases = phases(&deployment.revisions, now(), plane.speed);
        let resources: Vec<Value> = deployment
            .revisions
            .iter()
            .zip(&phases)
            .rev()
            .filter(|(_, phase)| statuses.as_ref().is_none_or(|all| all.contains(&phase.status.as_str())))
            .skip(offset)
            .take(limit)
            .map(|(revision, phase)| shown(&plane, revision, phase))
            .collect();
        if plane.dialect == Dialect::Contract {
            return Ok(ok(&json!({"resources": resources})));
        }
        let next = offset + resources.len();
        Ok(ok(&json!({"resources": resources, "offset": next})))
    }))
}

/// `GET /v2/deployments/{id}/revisions/{revision}`.
pub async fn get(State(plane): State<Arc<Plane>>, Path((id, revision)): Path<(String, String)>) -> Response {
    answer(with(&plane, &id, |deployment| {
        let (revision, phase) = find(&plane, deployment, &revision)?;
        Ok(ok(&shown(&plane, revision, &phase)))
    }))
}

/// `POST /v2/deployments/{id}/revisions`: always makes one.
pub async fn create(State(plane): State<Arc<Plane>>, Path(id): Path<String>, bytes: Bytes) -> Response {
    answer(body(&bytes).and_then(|asked| {
        with(&plane, &id, |deployment| {
            if !change(deployment, &asked)? {
                let config = deployment.revisions.last().map(|latest| latest.config.clone()).unwrap_or_default();
                add_revision(deployment, config);
            }
            let made = deployment.revisions.last().map(|made| made.id.clone()).unwrap_or_default();
            let (revision, phase) = find(&plane, deployment, &made)?;
            Ok(json_response(StatusCode::CREATED, &shown(&plane, revision, &phase)))
        })
    }))
}

/// `POST …/redeploy`: the same source again, as a new revision; answers the deployment.
pub async fn redeploy(State(plane): State<Arc<Plane>>, Path((id, revision)): Path<(String, String)>) -> Response {
    answer(with(&plane, &id, |deployment| {
        let (revision, _) = find(&plane, deployment, &revision)?;
        let (config, title, fate) = (revision.config.clone(), revision.title.clone(), revision.fate);
        add_revision(deployment, config);
        if let Some(made) = deployment.revisions.last_mut() {
            made.title = title;
            made.fate = fate;
        }
        Ok(ok(&deployment.json(&plane.workspace, now(), plane.speed).unwrap_or_default()))
    }))
}

/// `POST …/interrupt` and `…/interruption`.
pub async fn interrupt(State(plane): State<Arc<Plane>>, Path((id, revision)): Path<(String, String)>) -> Response {
    answer(with(&plane, &id, |deployment| {
        let (found, phase) = find(&plane, deployment, &revision)?;
        let over =
            matches!(phase.status.as_str(), "DEPLOYED" | "SKIPPED" | "INTERRUPTED") || phase.status.contains("FAILED");
        if over {
            let text = format!("Revision ID {} is {} and cannot be interrupted.", found.id, phase.status);
            return Err(Box::new(detail(StatusCode::BAD_REQUEST, &text)));
        }
        for one in deployment.revisions.iter_mut().filter(|one| one.id == revision) {
            one.interrupted_at = Some(now());
            one.forced = None;
        }
        Ok(empty(StatusCode::NO_CONTENT))
    }))
}

fn time(text: &str) -> Option<Timestamp> {
    // A `+` of an offset that was not escaped arrives as a space.
    text.replace(' ', "+").parse().ok()
}

fn wanted_of_body(asked: &Value) -> Wanted {
    let text = |name: &str| asked[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Wanted {
        descending: asked["order"] == "desc",
        limit: asked["limit"].as_u64().unwrap_or(50).clamp(1, 1000) as usize,
        cursor: text("offset"),
        level: text("level"),
        query: text("query"),
        start: text("start_time").and_then(|at| time(&at)),
        end: text("end_time").and_then(|at| time(&at)),
    }
}

fn v1_page(lines: &[Line], bytes: &[u8]) -> Result<Response, Refusal> {
    let asked = if bytes.is_empty() { json!({}) } else { body(bytes)? };
    let (found, next) = logs::page(lines, &wanted_of_body(&asked));
    Ok(ok(&json!({"logs": found, "next_offset": next})))
}

/// `POST /v1/projects/{id}/revisions/{revision}/build_logs`.
pub async fn build_logs(
    State(plane): State<Arc<Plane>>,
    Path((id, revision)): Path<(String, String)>,
    bytes: Bytes,
) -> Response {
    answer(with(&plane, &id, |deployment| {
        let (revision, phase) = find(&plane, deployment, &revision)?;
        v1_page(&logs::build(revision, &phase, now(), plane.speed), &bytes)
    }))
}

/// `POST /v1/projects/{id}/revisions/{revision}/deploy_logs`.
pub async fn deploy_logs(
    State(plane): State<Arc<Plane>>,
    Path((id, revision)): Path<(String, String)>,
    bytes: Bytes,
) -> Response {
    answer(with(&plane, &id, |deployment| {
        let (revision, phase) = find(&plane, deployment, &revision)?;
        v1_page(&logs::server(revision, &phase, now(), plane.speed), &bytes)
    }))
}

/// `POST /v1/projects/{id}/deploy_logs`: of the revision that serves.
pub async fn project_logs(State(plane): State<Arc<Plane>>, Path(id): Path<String>, bytes: Bytes) -> Response {
    answer(with(&plane, &id, |deployment| v1_page(&serving(&plane, deployment), &bytes)))
}

/// The server log of the newest revision that was deployed.
fn serving(plane: &Plane, deployment: &Deployment) -> Vec<Line> {
    let at = now();
    let phases = phases(&deployment.revisions, at, plane.speed);
    let active = deployment.revisions.iter().zip(&phases).rev().find(|(_, phase)| phase.status == "DEPLOYED");
    active.map(|(revision, phase)| logs::server(revision, phase, at, plane.speed)).unwrap_or_default()
}

fn wanted_of_query(pairs: &[(String, String)], names: [&str; 3], most: usize, or: usize) -> Result<Wanted, Refusal> {
    let [limit, cursor, order] = names;
    let owned = |name: &str| text(pairs, name).map(str::to_owned);
    Ok(Wanted {
        descending: text(pairs, order) == Some("desc"),
        limit: number(pairs, limit, 1, most, or)?,
        cursor: owned(cursor),
        level: owned("level"),
        query: owned("query"),
        start: text(pairs, "start_time").and_then(time),
        end: text(pairs, "end_time").and_then(time),
    })
}

fn required(pairs: &[(String, String)], name: &str) -> Result<String, Refusal> {
    let missing = || invalid(&[(json!(["query", name]), "Field required", "missing")]);
    text(pairs, name).map(str::to_owned).ok_or_else(missing)
}

/// A cursor where more lines may come, else null.
fn cursor(found: &[Value], wanted: &Wanted, next: String) -> Value {
    if found.len() < wanted.limit { Value::Null } else { json!(next) }
}

/// `GET /v2/deployments/{id}/revisions/{revision}/logs`.
pub async fn logs_v2(
    State(plane): State<Arc<Plane>>,
    Path((id, revision)): Path<(String, String)>,
    uri: Uri,
) -> Response {
    let pairs = query_pairs(&uri);
    answer(with(&plane, &id, |deployment| {
        let (revision, phase) = find(&plane, deployment, &revision)?;
        let kind = required(&pairs, "type")?;
        let lines = match kind.as_str() {
            "build" => logs::build(revision, &phase, now(), plane.speed),
            "deploy" => logs::server(revision, &phase, now(), plane.speed),
            _ => {
                let says = "Input should be 'build' or 'deploy'";
                return Err(invalid(&[(json!(["query", "type"]), says, "enum")]));
            }
        };
        let wanted = wanted_of_query(&pairs, ["limit", "offset", "order"], 1000, 50)?;
        let (found, next) = logs::page(&lines, &wanted);
        let next = cursor(&found, &wanted, next);
        Ok(ok(&json!({"logs": found, "next_offset": next})))
    }))
}

/// `GET /v2/deployment-logs`.
pub async fn deployment_logs(State(plane): State<Arc<Plane>>, uri: Uri) -> Response {
    let pairs = query_pairs(&uri);
    answer(required(&pairs, "deployment_id").and_then(|id| {
        with(&plane, &id, |deployment| {
            let build = text(&pairs, "log_type") == Some("BUILD");
            let asked = text(&pairs, "revision_id").map(str::to_owned);
            let asked = asked.or_else(|| deployment.revisions.last().filter(|_| build).map(|last| last.id.clone()));
            let lines = match asked {
                None => serving(&plane, deployment),
                Some(revision) => {
                    let (revision, phase) = find(&plane, deployment, &revision)?;
                    let read = if build { logs::build } else { logs::server };
                    read(revision, &phase, now(), plane.speed)
                }
            };
            let wanted = wanted_of_query(&pairs, ["page_size", "cursor", "sort_order"], 100, 20)?;
            let (found, next) = logs::page(&lines, &wanted);
            let next = cursor(&found, &wanted, next);
            Ok(ok(&json!({"items": found, "next_cursor": next})))
        })
    }))
}
