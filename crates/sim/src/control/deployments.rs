//! Deployments over REST: listing, creating, changing, deleting, and where an upload goes.

use super::ThisControl;
use super::query::{flag, number, offset, path_uuid, text, uuids, word};
use super::rules::{self, Draft};
use super::shape::body;
use super::timetable::{Deployment, Revision, ScheduledOutcome};
use super::{ControlServer, bodies, now};
use crate::http::{Handled, Refusal, bad, conflict, done, json_response, missing, ok, query_pairs};
use crate::ids::{stable_hex, uuid4};
use crate::values::{Object, text_of};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde_json::{Value, json};

/// All fields of `source_config`.
const SOURCE_FIELDS: [&str; 10] = [
    "integration_id",
    "repo_url",
    "deployment_type",
    "build_on_push",
    "custom_url",
    "resource_spec",
    "listener_id",
    "listener_config",
    "install_command",
    "build_command",
];
/// All fields of `source_revision_config`.
const REVISION_FIELDS: [&str; 5] = [
    "repo_ref",
    "langgraph_config_path",
    "image_uri",
    "source_tarball_path",
    "repo_commit_sha",
];

/// An object with all of these fields, from what was sent.
fn full(fields: &[&str], sent: &Value) -> Object {
    fields
        .iter()
        .map(|field| {
            (
                (*field).to_owned(),
                sent.get(field).cloned().unwrap_or_default(),
            )
        })
        .collect()
}

/// `source_config` with all its fields.
pub fn source_config(sent: &Value) -> Object {
    full(&SOURCE_FIELDS, sent)
}

/// `source_revision_config` with all its fields. The contract calls one of them by another name.
pub fn revision_config(sent: &Value) -> Object {
    let mut config = full(&REVISION_FIELDS, sent);
    if let Some(path) = sent.get("graph_config_path") {
        config.insert("langgraph_config_path".into(), path.clone());
    }
    config
}

/// Returns a deployment's record.
fn shown(plane: &ControlServer, deployment: &Deployment) -> Option<Value> {
    let full = deployment.json(&plane.workspace, now(), plane.speed)?;
    if !plane.contract {
        return Some(full);
    }
    let source: Object = SOURCE_FIELDS[..6]
        .iter()
        .map(|&key| (key.to_owned(), full["source_config"][key].clone()))
        .collect();
    let config = &full["source_revision_config"];
    Some(json!({
        "id": full["id"], "latest_revision_id": full["latest_revision_id"], "name": full["name"],
        "source": full["source"], "source_config": source,
        "source_revision_config": {
            "repo_ref": config["repo_ref"], "graph_config_path": config["langgraph_config_path"],
            "image_uri": config["image_uri"],
        },
        "secrets": full["secrets"],
    }))
}

/// Finds the deployment of a path.
pub fn with<R>(
    plane: &ControlServer,
    id: &str,
    act: impl FnOnce(&mut Deployment) -> Result<R, Refusal>,
) -> Result<R, Refusal> {
    path_uuid("deployment_id", id)?;
    let mut deployments = plane.deployments();
    let found = deployments
        .iter_mut()
        .find(|deployment| deployment.id.eq_ignore_ascii_case(id));
    match found.filter(|deployment| deployment.status(now(), plane.speed).is_some()) {
        Some(deployment) => act(deployment),
        None => Err(unknown(id)),
    }
}

fn unknown(id: &str) -> Refusal {
    missing(&format!("Deployment ID {id} not found."))
}

/// `GET /v2/deployments`.
pub async fn list(State(plane): ThisControl, uri: Uri) -> Handled {
    listed(&plane, &query_pairs(&uri))
}

fn listed(plane: &ControlServer, pairs: &[(String, String)]) -> Handled {
    let limit = number(pairs, "limit", 1, 100, 20)?;
    let offset = offset(pairs)?;
    let kind = word(pairs, "deployment_type", bodies::TYPES)?;
    flag(pairs, "remote_reconciled")?;
    let csv = |name: &str| {
        text(pairs, name).map(|list| list.split(',').map(str::to_owned).collect::<Vec<_>>())
    };
    let (ids, statuses) = (csv("deployment_ids"), csv("status"));
    let agent = |one: &Deployment, query: &str, key: &str| {
        text(pairs, query).is_none_or(|wanted| {
            one.newer
                .get("agent")
                .is_some_and(|agent| agent[key] == wanted)
        })
    };
    let mut found: Vec<Value> = plane
        .deployments()
        .iter()
        .filter(|one| text(pairs, "name").is_none_or(|name| one.name == name))
        .filter(|one| text(pairs, "name_contains").is_none_or(|part| one.name.contains(part)))
        .filter(|one| {
            agent(one, "agent_id", "agent_id") && agent(one, "agent_environment", "environment")
        })
        .filter(|one| ids.as_ref().is_none_or(|ids| ids.contains(&one.id)))
        .filter(|one| {
            text(pairs, "image_version").is_none_or(|v| one.image_version.as_deref() == Some(v))
        })
        .filter(|one| kind.is_none_or(|kind| one.config["deployment_type"] == kind))
        // Nothing here is tagged.
        .filter(|_| text(pairs, "tag_value_ids").is_none())
        .filter_map(|one| shown(plane, one))
        .filter(|one| {
            statuses
                .as_ref()
                .is_none_or(|all| all.iter().any(|status| one["status"] == *status))
        })
        .collect();
    found.sort_by(|a, b| b["created_at"].as_str().cmp(&a["created_at"].as_str()));
    let resources: Vec<Value> = found.into_iter().skip(offset).take(limit).collect();
    let next = offset.saturating_add(resources.len());
    Ok(ok(&json!({"resources": resources, "offset": next})))
}

/// `GET /v2/deployments/{id}`.
pub async fn get(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    let one = with(&plane, &id, |deployment| {
        Ok(shown(&plane, deployment).unwrap_or_default())
    })?;
    Ok(ok(&one))
}

/// `GET /v2/deployments/free-count`.
pub async fn free_count(State(plane): ThisControl) -> Response {
    let free = plane
        .deployments()
        .iter()
        .filter(|one| one.config["deployment_type"] == "dev_free")
        .count();
    ok(&json!({"count": free}))
}

/// `POST /v2/deployments`.
pub async fn create(State(plane): ThisControl, bytes: Bytes) -> Handled {
    let for_agent =
        serde_json::from_slice::<Value>(&bytes).is_ok_and(|asked| asked["agent"].is_object());
    let fields = match plane.contract {
        true => bodies::CREATE_BY_CONTRACT,
        _ if for_agent => bodies::CREATE_FOR_AGENT,
        _ => bodies::CREATE,
    };
    let asked = body(&bytes, fields)?;
    created(&plane, &asked)
}

fn created(plane: &ControlServer, asked: &Value) -> Handled {
    let source = text_of(&asked["source"]);
    let agent = &asked["agent"];
    let called = asked["name"]
        .as_str()
        .or(agent["agent_id"].as_str())
        .unwrap_or_default();
    let mut config = source_config(&asked["source_config"]);
    let revision = revision_config(&asked["source_revision_config"]);
    rules::name(called)?;
    rules::secrets(plane, source, asked)?;
    Draft {
        source,
        from: source,
        config: &config,
        revision: &revision,
    }
    .check_new(plane)?;
    let mut deployments = plane.deployments();
    let at = now();
    let mut living = deployments
        .iter()
        .filter(|one| one.status(at, plane.speed).is_some());
    if agent.is_object()
        && living
            .clone()
            .any(|one| one.newer.get("agent") == Some(agent))
    {
        return Err(conflict(
            "A deployment already exists for this agent environment",
        ));
    }
    // The tracing project of a deployment has its name, and outlives it unless it is deleted with it.
    if living.any(|one| one.name == called) || plane.tracing_projects().contains(called) {
        return Err(conflict(&format!(
            "A tracing project named '{called}' already exists."
        )));
    }
    let id = uuid4();
    let cloud = !plane.prefix_only && source != "external_docker";
    let url = cloud.then(|| {
        format!(
            "https://{called}-{}.{}.langgraph.app",
            stable_hex(&id, 32),
            plane.region
        )
    });
    if let Some(url) = &url {
        config.insert("custom_url".into(), json!(url));
    }
    let mut deployment = Deployment {
        id,
        name: called.to_owned(),
        source: source.to_owned(),
        config,
        secrets: asked["secrets"].as_array().cloned().unwrap_or_default(),
        references: asked["secret_references"].clone(),
        created_at: at,
        updated_at: at,
        url,
        ..Deployment::default()
    };
    if agent.is_object() {
        deployment.newer.insert("agent".into(), agent.clone());
    }
    add_revision(&mut deployment, source, revision);
    let answer = shown(plane, &deployment).unwrap_or_default();
    deployments.push(deployment);
    Ok(json_response(StatusCode::CREATED, &answer))
}

/// Adds a revision that starts now. It fails on request: if any part of its source (a branch, an image, a path in the
/// repository, an archive and thereby the deployment's name) contains `build-fails` or `deploy-fails`.
pub fn add_revision(deployment: &mut Deployment, source: &str, mut config: Object) {
    let id = uuid4();
    let says = |word: &str| {
        config
            .values()
            .filter_map(Value::as_str)
            .any(|text| text.contains(word))
    };
    let fate = if source == "internal_source" && config["source_tarball_path"].is_null() {
        ScheduledOutcome::Waits
    } else if says("build-fails") {
        ScheduledOutcome::BuildFails
    } else if says("deploy-fails") {
        ScheduledOutcome::DeployFails
    } else {
        ScheduledOutcome::Deployed
    };
    if source == "github" && config["repo_commit_sha"].is_null() {
        // A repo_ref may be a commit.
        let commit = config["repo_ref"].as_str().filter(|name| is_commit(name));
        let commit = commit.map_or_else(|| stable_hex(&id, 40), str::to_string);
        config.insert("repo_commit_sha".into(), json!(commit));
    }
    deployment.updated_at = now();
    deployment.revisions.push(Revision {
        id,
        created_at: now(),
        source: source.to_owned(),
        config,
        fate,
        forced: None,
        interrupted_at: None,
        title: String::new(),
    });
}

/// Whether a name in a repository can only be a commit.
fn is_commit(name: &str) -> bool {
    name.len() == 40 && name.chars().all(|c| c.is_ascii_hexdigit())
}

/// The shape of what changes a deployment.
pub fn patch_body(plane: &ControlServer, bytes: &[u8]) -> Result<Value, Refusal> {
    let fields = if plane.contract {
        bodies::PATCH_BY_CONTRACT
    } else {
        bodies::PATCH
    };
    body(bytes, fields)
}

/// `PATCH /v2/deployments/{id}`.
pub async fn patch(State(plane): ThisControl, Path(id): Path<String>, bytes: Bytes) -> Handled {
    let asked = patch_body(&plane, &bytes)?;
    with(&plane, &id, |deployment| {
        change(&plane, deployment, &asked)?;
        Ok(ok(&shown(&plane, deployment).unwrap_or_default()))
    })
}

/// Changes a deployment and adds a revision if needed; returns whether it did. Changes nothing if anything is rejected.
pub fn change(
    plane: &ControlServer,
    deployment: &mut Deployment,
    asked: &Value,
) -> Result<bool, Refusal> {
    let source = asked["revision_source"]
        .as_str()
        .unwrap_or(&deployment.source)
        .to_owned();
    rules::secrets(plane, &source, asked)?;
    rules::fixed(deployment, asked)?;
    rules::packages(asked)?;
    let mut config = deployment.config.clone();
    for (key, value) in asked["source_config"].as_object().into_iter().flatten() {
        if SOURCE_FIELDS.contains(&key.as_str()) && (!value.is_null() || key == "custom_url") {
            config.insert(key.clone(), value.clone());
        }
    }
    let mut sent = revision_config(&asked["source_revision_config"]);
    // Read-only: it is what a build found.
    sent.insert("repo_commit_sha".into(), Value::Null);
    sent.retain(|_, value| !value.is_null());
    let tarball = sent.get("source_tarball_path").and_then(Value::as_str);
    if tarball.is_some_and(|path| {
        !plane.gave_out(path)
            && deployment
                .revisions
                .iter()
                .all(|one| one.config["source_tarball_path"] != path)
    }) {
        return Err(bad(
            "source_tarball_path must be an object path from the upload-url endpoint.",
        ));
    }
    // Missing fields are taken from the latest revision of the same kind of source.
    let latest = deployment
        .revisions
        .iter()
        .rfind(|one| one.source == source);
    let mut revision = latest.map_or_else(
        || revision_config(&Value::Null),
        |latest| latest.config.clone(),
    );
    revision.insert("repo_commit_sha".into(), Value::Null);
    let mut new = !sent.is_empty();
    revision.extend(sent);
    Draft {
        source: &deployment.source,
        from: &source,
        config: &config,
        revision: &revision,
    }
    .check()?;
    new |=
        !asked["source_config"]["resource_spec"].is_null() || !asked["secret_references"].is_null();
    // A list replaces all of them, but an empty one changes nothing.
    if let Some(secrets) = asked["secrets"]
        .as_array()
        .filter(|secrets| !secrets.is_empty())
    {
        deployment.secrets = secrets.clone();
        new = true;
    }
    if !asked["secret_references"].is_null() {
        deployment.references = asked["secret_references"].clone();
    }
    if let Some(name) = asked["display_name"].as_str() {
        deployment.display_name = Some(name.to_owned());
    }
    deployment.config = config;
    deployment.updated_at = now();
    if new {
        add_revision(deployment, &source, revision);
    }
    Ok(new)
}

/// Redeploys as a new revision.
pub fn repeat(deployment: &mut Deployment) {
    if let Some(latest) = deployment.revisions.last() {
        let (source, config) = (latest.source.clone(), latest.config.clone());
        add_revision(deployment, &source, config);
    }
}

/// Marks a deployment as deleted. Its tracing project is kept unless it is deleted too.
fn soft_delete(plane: &ControlServer, deployment: &mut Deployment, with_tracing: bool) {
    // The contract has no intermediate states.
    let at = if plane.contract {
        jiff::Timestamp::MIN
    } else {
        now()
    };
    deployment.deleted_at.get_or_insert(at);
    let mut projects = plane.tracing_projects();
    if with_tracing {
        projects.remove(&deployment.name);
    } else {
        projects.insert(deployment.name.clone());
    }
}

/// `DELETE /v2/deployments/{id}`: it can still be read for a while.
pub async fn delete(State(plane): ThisControl, Path(id): Path<String>, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    with(&plane, &id, |deployment| {
        let with_tracing = flag(&pairs, "delete_tracing_project")?.unwrap_or(false);
        match (
            flag(&pairs, "force")?.unwrap_or(false),
            deployment.deleted_at,
        ) {
            (true, None) => {
                return Err(bad(
                    "force can only be used on a deployment that is already being deleted.",
                ));
            }
            (true, Some(_)) => deployment.deleted_at = Some(jiff::Timestamp::MIN),
            (false, _) => soft_delete(&plane, deployment, with_tracing),
        }
        Ok(done())
    })
}

/// `DELETE /v2/deployments?deployment_ids=…`: 200 where all were found, 207 where some were. The real bodies are
/// unknown.
pub async fn delete_many(State(plane): ThisControl, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    let asked = uuids(&pairs, "deployment_ids")?;
    let gone = |deployment: &mut Deployment| {
        soft_delete(&plane, deployment, false);
        Ok(())
    };
    let (done, failed): (Vec<&str>, Vec<&str>) =
        asked.iter().partition(|id| with(&plane, id, gone).is_ok());
    let status = match (done.first(), failed.first()) {
        (None, Some(id)) => return Err(unknown(id)),
        (Some(_), Some(_)) => StatusCode::MULTI_STATUS,
        _ => StatusCode::OK,
    };
    Ok(json_response(
        status,
        &json!({"deleted": done, "not_found": failed}),
    ))
}

/// `POST /v2/deployments/{id}/upload-url`.
pub async fn upload_url(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    with(&plane, &id, |deployment| {
        let object = format!(
            "uploads/{}-{}.tar.gz",
            deployment.name,
            stable_hex(&uuid4(), 12)
        );
        plane.give_out(&object);
        Ok(ok(&json!({
            "upload_url": format!("{}/{object}", plane.url), "object_path": object,
            "upload_headers": {"Content-Type": "application/gzip"},
        })))
    })
}

/// `POST /v2/deployments/{id}/push-token`.
pub async fn push_token(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    with(&plane, &id, |deployment| {
        if deployment.source != "internal_docker" {
            return Err(bad(
                "Push tokens are only available for 'internal_docker' source deployments.",
            ));
        }
        let repository = format!(
            "registry.{}.example/agents/{}",
            plane.region, deployment.name
        );
        Ok(ok(&json!({
            "token": stable_hex(&uuid4(), 40), "registry_url": format!("registry.{}.example", plane.region),
            "username": "oauth2accesstoken", "repository_url": repository,
        })))
    })
}
