//! Logs over REST, in both generations of the API.

use super::deployments::with;
use super::logs::{self, Wanted};
use super::query::{number, required, text};
use super::revisions::find;
use super::timetable::{Deployment, Phase, Revision};
use super::{ControlServer, ThisControl};
use crate::Logs;
use crate::prelude::*;

/// Seconds between the rollout of an unused deployment and the end of its server log, in real time.
const USED: f64 = 600.0;

/// The log calls of the generations that a region has.
pub fn routes(has: Logs) -> Router<Arc<ControlServer>> {
    let mut routes = Router::new();
    if has.v1 {
        for kind in ["build", "deploy"] {
            let read = async move |State(plane): ThisControl,
                                   Path((id, revision)): Path<(String, String)>,
                                   bytes: Bytes| {
                v1(&plane, &id, Some(&revision), kind == "build", &bytes)
            };
            let path = format!("/v1/projects/{{id}}/revisions/{{revision}}/{kind}_logs");
            routes = routes.route(&path, post(read));
        }
        routes = routes.route("/v1/projects/{id}/deploy_logs", post(deployment_v1));
    }
    if has.v2 {
        routes = routes
            .route(
                "/v2/deployments/{id}/revisions/{revision}/logs",
                get(revision_v2),
            )
            .route("/v2/deployment-logs", get(deployment_v2));
    }
    routes
}

/// A page of the log of a revision, or of the one that serves, and the cursor of the next.
fn page(
    plane: &ControlServer,
    id: &str,
    revision: Option<&str>,
    build: bool,
    wanted: &Wanted,
) -> Result<(Vec<Value>, String), Refusal> {
    with(plane, id, |deployment| {
        let found = match revision {
            Some(revision) => Some(find(plane, deployment, revision)?),
            None if build => match deployment.revisions.last() {
                Some(last) => Some(find(plane, deployment, &last.id)?),
                None => None,
            },
            None => deployment.serving(now(), plane.speed),
        };
        let lines =
            found.map(|(revision, phase)| lines(plane, deployment, revision, &phase, build));
        Ok(logs::page(
            &lines.unwrap_or_default(),
            wanted,
            plane.options.logs.ids,
        ))
    })
}

fn lines(
    plane: &ControlServer,
    deployment: &Deployment,
    revision: &Revision,
    phase: &Phase,
    build: bool,
) -> Vec<logs::Line> {
    // The server of an unused deployment was stopped.
    let end = match deployment.fixed_status.as_deref() {
        Some("UNUSED") => now().min(before(phase.deploy_at, -(USED / plane.speed))),
        _ => now(),
    };
    let read = if build { logs::build } else { logs::server };
    read(revision, phase, end, plane.speed)
}

/// What a request asks for: its texts by name, the names of its cursor and its order, and how many lines.
fn wanted<'a>(
    text: impl Fn(&str) -> Option<&'a str>,
    [cursor, order]: [&str; 2],
    limit: usize,
) -> Wanted {
    let owned = |name: &str| text(name).map(str::to_owned);
    // A `+` of an offset that was not escaped arrives as a space.
    let time = |name: &str| text(name)?.replace(' ', "+").parse().ok();
    Wanted {
        descending: text(order) == Some("desc"),
        limit,
        cursor: owned(cursor),
        level: owned("level"),
        query: owned("query"),
        start: time("start_time"),
        end: time("end_time"),
    }
}

fn v1(
    plane: &ControlServer,
    id: &str,
    revision: Option<&str>,
    build: bool,
    bytes: &[u8],
) -> Handled {
    let asked: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let text = |name: &str| asked[name].as_str().filter(|text| !text.is_empty());
    let limit = asked["limit"].as_u64().unwrap_or(50).clamp(1, 1000);
    let wanted = wanted(text, ["offset", "order"], limit as usize);
    let (found, next) = page(plane, id, revision, build, &wanted)?;
    Ok(ok(&json!({"logs": found, "next_offset": next})))
}

/// `POST /v1/projects/{id}/deploy_logs`: of the revision that serves.
async fn deployment_v1(State(plane): ThisControl, Path(id): Path<String>, bytes: Bytes) -> Handled {
    v1(&plane, &id, None, false, &bytes)
}

/// The newer answers have a cursor only where more lines may come.
fn answer(
    (found, next): (Vec<Value>, String),
    wanted: &Wanted,
    [lines, cursor]: [&str; 2],
) -> Handled {
    let next = (found.len() >= wanted.limit).then_some(next);
    Ok(ok(&json!({lines: found, cursor: next})))
}

/// `GET /v2/deployments/{id}/revisions/{revision}/logs`.
async fn revision_v2(
    State(plane): ThisControl,
    Path((id, revision)): Path<(String, String)>,
    uri: Uri,
) -> Handled {
    let pairs = query_pairs(&uri);
    let build = required(&pairs, "type")? == "build";
    let limit = number(&pairs, "limit", 1, 1000, 50)?;
    let wanted = wanted(|name| text(&pairs, name), ["offset", "order"], limit);
    let found = page(&plane, &id, Some(&revision), build, &wanted)?;
    answer(found, &wanted, ["logs", "next_offset"])
}

/// `GET /v2/deployment-logs`.
async fn deployment_v2(State(plane): ThisControl, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    let id = required(&pairs, "deployment_id")?;
    let build = text(&pairs, "log_type") == Some("BUILD");
    let limit = number(&pairs, "page_size", 1, 100, 20)?;
    let wanted = wanted(|name| text(&pairs, name), ["cursor", "sort_order"], limit);
    let found = page(&plane, id, text(&pairs, "revision_id"), build, &wanted)?;
    answer(found, &wanted, ["items", "next_cursor"])
}
