//! Listeners: the installations in a customer's own cluster through which deployments run there.

use super::query::{body, page, path_uuid};
use super::{ControlServer, ThisControl};
use crate::Options;
use crate::prelude::*;

/// The routes of this group.
pub fn routes() -> Router<Arc<ControlServer>> {
    Router::new()
        .route("/v2/listeners", get(list).post(create))
        .route("/v2/listeners/{id}", get(read).patch(patch).delete(remove))
}

/// The listeners that a region has from the start.
pub fn first(region: &str, options: &Options) -> Vec<Value> {
    let all = [
        ("k8s-prod", json!(["agents", "batch"])),
        ("k8s-edge", json!(["default"])),
    ];
    let all = all.into_iter().filter(|_| !options.no_listeners);
    all.map(|(name, namespaces)| {
        let asked = json!({"version": "0.3.1", "compute_id": name, "compute_config": {"k8s_namespaces": namespaces}});
        let times = ["2026-03-02T09:00:00.000000Z", "2026-11-01T09:00:00.000000Z"];
        listener(stable_uuid(&format!("{region} {name}")), &asked, times)
    })
    .collect()
}

fn listener(id: String, asked: &Value, [created, updated]: [&str; 2]) -> Value {
    json!({
        "id": id, "version": asked["version"], "compute_type": "k8s", "compute_id": asked["compute_id"],
        "compute_config": {"k8s_namespaces": asked["compute_config"]["k8s_namespaces"]}, "created_at": created,
        "updated_at": updated,
    })
}

/// Only some plans have listeners. A list asks for none.
fn allowed(plane: &ControlServer) -> Result<MutexGuard<'_, Vec<Value>>, Refusal> {
    if plane.options.no_listeners {
        let text = format!(
            "Listeners cannot be created for LangSmith workspace ID '{}'. Creating listeners is only allowed for LangSmith \
             organizations with self-hosted enterprise plans.",
            plane.workspace
        );
        return Err(refuse(StatusCode::FORBIDDEN, &text));
    }
    Ok(locked(&plane.listeners))
}

/// The listener that a path means.
fn with<R>(
    plane: &ControlServer,
    id: &str,
    act: impl FnOnce(&mut Vec<Value>, usize) -> R,
) -> Result<R, Refusal> {
    path_uuid("listener_id", id)?;
    let mut all = allowed(plane)?;
    match all.iter().position(|one| one["id"] == id) {
        Some(at) => Ok(act(&mut all, at)),
        None => Err(missing(&format!("Listener ID {id} not found."))),
    }
}

async fn list(State(plane): ThisControl, uri: Uri) -> Handled {
    let all = locked(&plane.listeners);
    Ok(ok(&page(&query_pairs(&uri), all.iter().cloned())?))
}

async fn create(State(plane): ThisControl, bytes: Bytes) -> Handled {
    let asked = body(&bytes, &["compute_type", "compute_id", "compute_config"])?;
    let mut all = allowed(&plane)?;
    if all
        .iter()
        .any(|one| one["compute_id"] == asked["compute_id"])
    {
        let text = format!(
            "Listener for LangSmith workspace ID '{}' and compute ID '{}' already exists.",
            plane.workspace,
            text_of(&asked["compute_id"])
        );
        return Err(conflict(&text));
    }
    let at = iso_z(now());
    let made = listener(uuid4(), &asked, [&at, &at]);
    all.push(made.clone());
    Ok(json_response(StatusCode::CREATED, &made))
}

async fn read(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    with(&plane, &id, |all, at| ok(&all[at]))
}

async fn patch(State(plane): ThisControl, Path(id): Path<String>, bytes: Bytes) -> Handled {
    let asked = body(&bytes, &[])?;
    with(&plane, &id, |all, at| {
        for key in ["version", "compute_config"] {
            if !asked[key].is_null() {
                all[at][key] = asked[key].clone();
            }
        }
        all[at]["updated_at"] = json!(iso_z(now()));
        ok(&all[at])
    })
}

async fn remove(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    with(&plane, &id, |all, at| {
        all.remove(at);
        done()
    })
}
