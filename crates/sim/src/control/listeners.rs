//! Listeners: the installations in a customer's own cluster through which deployments run there.

use super::ThisControl;
use super::query::{number, offset, path_uuid};
use super::shape::{Field, Shape, body, must, null};
use super::{ControlServer, now};
use crate::http::{
    Handled, Refusal, conflict, done, json_response, missing, ok, query_pairs, refuse,
};
use crate::ids::{iso_z, stable_uuid, uuid4};
use crate::values::{Object, text_of};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::routing::get;
use serde_json::{Value, json};
use std::sync::Arc;

const CONFIG: Shape = Shape::Object(&[null("k8s_namespaces", Shape::List(&Shape::Text))]);
pub(super) const CREATE: &[Field] = &[
    null("version", Shape::Text),
    must("compute_type", Shape::Word(&["k8s"])),
    must("compute_id", Shape::Text),
    must("compute_config", CONFIG),
];
pub(super) const PATCH: &[Field] = &[null("version", Shape::Text), null("compute_config", CONFIG)];

/// The routes of this group.
pub fn routes() -> Router<Arc<ControlServer>> {
    Router::new()
        .route("/v2/listeners", get(list).post(create))
        .route("/v2/listeners/{id}", get(read).patch(patch).delete(delete))
}

/// The listeners that a region has from the start.
pub fn first(region: &str) -> Vec<Object> {
    [
        ("k8s-prod", json!(["agents", "batch"])),
        ("k8s-edge", json!(["default"])),
    ]
    .into_iter()
    .map(|(name, namespaces)| {
        let id = stable_uuid(&format!("{region} {name}"));
        let times = ["2026-03-02T09:00:00.000000Z", "2026-11-01T09:00:00.000000Z"];
        listener(
            id,
            &json!("0.3.1"),
            name,
            &json!({"k8s_namespaces": namespaces}),
            times,
        )
    })
    .collect()
}

fn listener(
    id: String,
    version: &Value,
    compute_id: &str,
    config: &Value,
    times: [&str; 2],
) -> Object {
    let config = json!({"k8s_namespaces": config["k8s_namespaces"]});
    let fields = [
        ("id", json!(id)),
        ("version", version.clone()),
        ("compute_type", json!("k8s")),
        ("compute_id", json!(compute_id)),
        ("compute_config", config),
        ("created_at", json!(times[0])),
        ("updated_at", json!(times[1])),
    ];
    fields
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// Only some plans have listeners. A list asks for none.
fn allowed(plane: &ControlServer) -> Result<(), Refusal> {
    if !plane.no_listeners {
        return Ok(());
    }
    let text = format!(
        "Listeners cannot be created for LangSmith workspace ID '{}'. Creating listeners is only allowed for LangSmith \
         organizations with self-hosted enterprise plans.",
        plane.workspace
    );
    Err(refuse(StatusCode::FORBIDDEN, &text))
}

/// The listener that a path means.
fn with<R>(
    plane: &ControlServer,
    id: &str,
    act: impl FnOnce(&mut Vec<Object>, usize) -> R,
) -> Result<R, Refusal> {
    path_uuid("listener_id", id)?;
    allowed(plane)?;
    let mut all = plane.listeners();
    match all.iter().position(|one| one["id"] == id) {
        Some(at) => Ok(act(&mut all, at)),
        None => Err(missing(&format!("Listener ID {id} not found."))),
    }
}

async fn list(State(plane): ThisControl, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    let limit = number(&pairs, "limit", 1, 100, 20)?;
    let offset = offset(&pairs)?;
    let all = plane.listeners();
    let resources: Vec<&Object> = all.iter().skip(offset).take(limit).collect();
    Ok(ok(
        &json!({"resources": resources, "offset": offset.saturating_add(resources.len())}),
    ))
}

async fn create(State(plane): ThisControl, bytes: Bytes) -> Handled {
    let asked = body(&bytes, CREATE)?;
    allowed(&plane)?;
    let compute_id = text_of(&asked["compute_id"]);
    let mut all = plane.listeners();
    if all.iter().any(|one| one["compute_id"] == compute_id) {
        let text = format!(
            "Listener for LangSmith workspace ID '{}' and compute ID '{compute_id}' already exists.",
            plane.workspace
        );
        return Err(conflict(&text));
    }
    let at = iso_z(now());
    all.push(listener(
        uuid4(),
        &asked["version"],
        compute_id,
        &asked["compute_config"],
        [&at, &at],
    ));
    Ok(json_response(StatusCode::CREATED, &json!(all.last())))
}

async fn read(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    with(&plane, &id, |all, at| ok(&json!(all[at])))
}

async fn patch(State(plane): ThisControl, Path(id): Path<String>, bytes: Bytes) -> Handled {
    let asked = body(&bytes, PATCH)?;
    with(&plane, &id, |all, at| {
        let one = &mut all[at];
        for key in ["version", "compute_config"] {
            if !asked[key].is_null() {
                one.insert(key.into(), asked[key].clone());
            }
        }
        one.insert("updated_at".into(), json!(iso_z(now())));
        ok(&json!(one))
    })
}

async fn delete(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    with(&plane, &id, |all, at| {
        all.remove(at);
        done()
    })
}
