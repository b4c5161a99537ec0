//! Logs over REST, in both generations of the API.

use super::ThisControl;
use super::deployments::with;
use super::logs::{self, Line, WantedRevision};
use super::query::{number, required, text, word};
use super::revisions::find;
use super::shape::{Problem, body, invalid};
use super::timetable::{Deployment, Phase, Revision, phases};
use super::{ControlServer, now};
use crate::http::{Handled, Refusal, ok, query_pairs};
use crate::ids::before;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::Uri;
use jiff::Timestamp;
use serde_json::{Value, json};

/// Seconds between the rollout of an unused deployment and the end of its server log, in real time.
const USED: f64 = 600.0;

/// A time of a request, or the refusal that an odd one is answered with.
fn time(place: &str, name: &str, text: Option<&str>) -> Result<Option<Timestamp>, Refusal> {
    let Some(text) = text else { return Ok(None) };
    // A `+` of an offset that was not escaped arrives as a space.
    let odd = |_| {
        invalid(&[Problem::at(
            [place, name],
            "Input should be a valid datetime",
            "datetime_from_date_parsing",
        )])
    };
    text.replace(' ', "+").parse().map(Some).map_err(odd)
}

fn wanted_of_body(asked: &Value) -> Result<WantedRevision, Refusal> {
    let text = |name: &str| {
        asked[name]
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    Ok(WantedRevision {
        descending: asked["order"] == "desc",
        limit: asked["limit"].as_u64().unwrap_or(50).clamp(1, 1000) as usize,
        cursor: text("offset"),
        level: text("level"),
        query: text("query"),
        start: time("body", "start_time", text("start_time").as_deref())?,
        end: time("body", "end_time", text("end_time").as_deref())?,
    })
}

fn v1_page(plane: &ControlServer, lines: &[Line], bytes: &[u8]) -> Handled {
    let asked = if bytes.is_empty() {
        json!({})
    } else {
        body(bytes, &[])?
    };
    let (found, next) = logs::page(lines, &wanted_of_body(&asked)?, plane.logs.ids);
    Ok(ok(&json!({"logs": found, "next_offset": next})))
}

/// A page of one of a revision's two logs.
fn revision_v1(
    plane: &ControlServer,
    (id, revision): (String, String),
    bytes: &[u8],
    log: fn(&Revision, &Phase, Timestamp, f64) -> Vec<Line>,
) -> Handled {
    with(plane, &id, |deployment| {
        let (revision, phase) = find(plane, deployment, &revision)?;
        v1_page(
            plane,
            &log(
                revision,
                &phase,
                log_end(deployment, &phase, now(), plane.speed),
                plane.speed,
            ),
            bytes,
        )
    })
}

/// `POST /v1/projects/{id}/revisions/{revision}/build_logs`.
pub async fn build_v1(
    State(plane): ThisControl,
    Path(of): Path<(String, String)>,
    bytes: Bytes,
) -> Handled {
    revision_v1(&plane, of, &bytes, logs::build)
}

/// `POST /v1/projects/{id}/revisions/{revision}/deploy_logs`.
pub async fn server_v1(
    State(plane): ThisControl,
    Path(of): Path<(String, String)>,
    bytes: Bytes,
) -> Handled {
    revision_v1(&plane, of, &bytes, logs::server)
}

/// `POST /v1/projects/{id}/deploy_logs`: of the revision that serves.
pub async fn deployment_v1(
    State(plane): ThisControl,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Handled {
    with(&plane, &id, |deployment| {
        v1_page(&plane, &serving(&plane, deployment), &bytes)
    })
}

/// Returns when the logs of a revision end: the server of an unused deployment was stopped.
fn log_end(deployment: &Deployment, phase: &Phase, now: Timestamp, speed: f64) -> Timestamp {
    match deployment.fixed_status.as_deref() {
        Some("UNUSED") => now.min(before(phase.deploy_at, -(USED / speed.max(1e-6)))),
        _ => now,
    }
}

/// The server log of the newest revision that was deployed.
pub fn serving(plane: &ControlServer, deployment: &Deployment) -> Vec<Line> {
    let at = now();
    let phases = phases(&deployment.revisions, at, plane.speed);
    let active = deployment
        .revisions
        .iter()
        .zip(&phases)
        .rev()
        .find(|(_, phase)| phase.status == "DEPLOYED");
    active
        .map(|(revision, phase)| {
            logs::server(
                revision,
                phase,
                log_end(deployment, phase, at, plane.speed),
                plane.speed,
            )
        })
        .unwrap_or_default()
}

fn wanted_of_query(
    pairs: &[(String, String)],
    names: [&str; 3],
    most: usize,
    or: usize,
) -> Result<WantedRevision, Refusal> {
    let [limit, cursor, order] = names;
    let owned = |name: &str| text(pairs, name).map(str::to_owned);
    Ok(WantedRevision {
        descending: text(pairs, order) == Some("desc"),
        limit: number(pairs, limit, 1, most, or)?,
        cursor: owned(cursor),
        level: owned("level"),
        query: owned("query"),
        start: time("query", "start_time", text(pairs, "start_time"))?,
        end: time("query", "end_time", text(pairs, "end_time"))?,
    })
}

/// A cursor where more lines may come, else null.
fn cursor(found: &[Value], wanted: &WantedRevision, next: String) -> Value {
    if found.len() < wanted.limit {
        Value::Null
    } else {
        json!(next)
    }
}

/// `GET /v2/deployments/{id}/revisions/{revision}/logs`.
pub async fn revision_v2(
    State(plane): ThisControl,
    Path((id, revision)): Path<(String, String)>,
    uri: Uri,
) -> Handled {
    let pairs = query_pairs(&uri);
    with(&plane, &id, |deployment| {
        let (revision, phase) = find(&plane, deployment, &revision)?;
        required(&pairs, "type")?;
        let build = word(&pairs, "type", &["build", "deploy"])? == Some("build");
        let read = if build { logs::build } else { logs::server };
        let lines = read(
            revision,
            &phase,
            log_end(deployment, &phase, now(), plane.speed),
            plane.speed,
        );
        let wanted = wanted_of_query(&pairs, ["limit", "offset", "order"], 1000, 50)?;
        let (found, next) = logs::page(&lines, &wanted, plane.logs.ids);
        let next = cursor(&found, &wanted, next);
        Ok(ok(&json!({"logs": found, "next_offset": next})))
    })
}

/// `GET /v2/deployment-logs`.
pub async fn deployment_v2(State(plane): ThisControl, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    let id = required(&pairs, "deployment_id")?;
    with(&plane, id, |deployment| {
        let build = text(&pairs, "log_type") == Some("BUILD");
        let asked = text(&pairs, "revision_id").map(str::to_owned);
        let asked = asked.or_else(|| {
            deployment
                .revisions
                .last()
                .filter(|_| build)
                .map(|last| last.id.clone())
        });
        let lines = match asked {
            None => serving(&plane, deployment),
            Some(revision) => {
                let (revision, phase) = find(&plane, deployment, &revision)?;
                let read = if build { logs::build } else { logs::server };
                read(
                    revision,
                    &phase,
                    log_end(deployment, &phase, now(), plane.speed),
                    plane.speed,
                )
            }
        };
        let wanted = wanted_of_query(&pairs, ["page_size", "cursor", "sort_order"], 100, 20)?;
        let (found, next) = logs::page(&lines, &wanted, plane.logs.ids);
        let next = cursor(&found, &wanted, next);
        Ok(ok(&json!({"items": found, "next_cursor": next})))
    })
}
