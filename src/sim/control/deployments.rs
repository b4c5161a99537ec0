//! Deployments over REST: listing, creating, changing, deleting, and where an upload goes.

use super::timetable::{Deployment, Fate, Object, Revision};
use super::{Plane, Refusal, body, invalid, now, number, ok, path_uuid, text};
use crate::sim::Dialect;
use crate::sim::agent::{detail, empty, json_response, query_pairs};
use crate::sim::ids::{stable_hex, uuid4};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde_json::{Value, json};
use std::sync::Arc;

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
const REVISION_FIELDS: [&str; 5] =
    ["repo_ref", "langgraph_config_path", "image_uri", "source_tarball_path", "repo_commit_sha"];

fn answer(result: Result<Response, Refusal>) -> Response {
    result.unwrap_or_else(|refusal| *refusal)
}

/// An object with all of these fields, from what was sent.
fn full(fields: &[&str], sent: &Value) -> Object {
    fields.iter().map(|field| ((*field).to_owned(), sent.get(field).cloned().unwrap_or_default())).collect()
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

/// What the dialect shows of a deployment.
fn shown(plane: &Plane, deployment: &Deployment) -> Option<Value> {
    let full = deployment.json(&plane.workspace, now(), plane.speed)?;
    if plane.dialect == Dialect::Python {
        return Some(full);
    }
    let source: Object =
        SOURCE_FIELDS[..6].iter().map(|&key| (key.to_owned(), full["source_config"][key].clone())).collect();
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

/// The deployment that a path means, to read or to change.
pub fn with<R>(plane: &Plane, id: &str, act: impl FnOnce(&mut Deployment) -> Result<R, Refusal>) -> Result<R, Refusal> {
    path_uuid("deployment_id", id)?;
    let mut deployments = plane.deployments();
    let found = deployments.iter_mut().find(|deployment| deployment.id == id);
    match found.filter(|deployment| deployment.status(now(), plane.speed).is_some()) {
        Some(deployment) => act(deployment),
        None => Err(Box::new(detail(StatusCode::NOT_FOUND, &format!("Deployment ID {id} not found.")))),
    }
}

fn bad(says: &str) -> Refusal {
    Box::new(detail(StatusCode::BAD_REQUEST, says))
}

/// `GET /v2/deployments`.
pub async fn list(State(plane): State<Arc<Plane>>, uri: Uri) -> Response {
    answer(listed(&plane, &query_pairs(&uri)))
}

fn listed(plane: &Plane, pairs: &[(String, String)]) -> Result<Response, Refusal> {
    let limit = number(pairs, "limit", 1, 100, 20)?;
    let offset = number(pairs, "offset", 0, usize::MAX >> 1, 0)?;
    let csv = |name: &str| text(pairs, name).map(|list| list.split(',').map(str::to_owned).collect::<Vec<_>>());
    let (ids, statuses) = (csv("deployment_ids"), csv("status"));
    let mut found: Vec<Value> = plane
        .deployments()
        .iter()
        .filter(|one| text(pairs, "name").is_none_or(|name| one.name == name))
        .filter(|one| text(pairs, "name_contains").is_none_or(|part| one.name.contains(part)))
        .filter(|_| text(pairs, "agent_id").is_none())
        .filter(|one| ids.as_ref().is_none_or(|ids| ids.contains(&one.id)))
        .filter(|one| text(pairs, "image_version").is_none_or(|v| one.image_version.as_deref() == Some(v)))
        .filter(|one| text(pairs, "deployment_type").is_none_or(|kind| one.config["deployment_type"] == kind))
        .filter_map(|one| shown(plane, one))
        .filter(|one| statuses.as_ref().is_none_or(|all| all.iter().any(|status| one["status"] == *status)))
        .collect();
    found.sort_by(|a, b| b["created_at"].as_str().cmp(&a["created_at"].as_str()));
    let resources: Vec<Value> = found.into_iter().skip(offset).take(limit).collect();
    let next = offset + resources.len();
    Ok(ok(&json!({"resources": resources, "offset": next})))
}

/// `GET /v2/deployments/{id}`.
pub async fn get(State(plane): State<Arc<Plane>>, Path(id): Path<String>) -> Response {
    answer(with(&plane, &id, |deployment| Ok(shown(&plane, deployment).unwrap_or_default())).map(|one| ok(&one)))
}

/// `POST /v2/deployments`.
pub async fn create(State(plane): State<Arc<Plane>>, bytes: Bytes) -> Response {
    answer(body(&bytes).and_then(|asked| created(&plane, &asked)))
}

fn created(plane: &Plane, asked: &Value) -> Result<Response, Refusal> {
    let agent = asked["agent"].is_object();
    let mut problems = Vec::new();
    for name in ["name", "source", "source_config", "source_revision_config", "secrets"] {
        if asked.get(name).is_none() && !(agent && name == "name") {
            problems.push((json!(["body", name]), "Field required", "missing"));
        }
    }
    for name in ["source_config", "source_revision_config"] {
        if asked.get(name).is_some_and(|value| !value.is_object()) {
            problems.push((json!(["body", name]), "Input should be a valid dictionary or object", "model_type"));
        }
    }
    let sources = ["github", "external_docker", "internal_docker", "internal_source", "internal_template"];
    if asked.get("source").is_some_and(|source| !sources.iter().any(|known| source == known)) {
        problems.push((
            json!(["body", "source"]),
            "Input should be 'github', 'external_docker', 'internal_docker' or 'internal_source'",
            "enum",
        ));
    }
    for (n, secret) in asked["secrets"].as_array().into_iter().flatten().enumerate() {
        for part in ["name", "value"] {
            if !secret[part].is_string() {
                problems.push((json!(["body", "secrets", n, part]), "Input should be a valid string", "string_type"));
            }
        }
    }
    if !problems.is_empty() {
        return Err(invalid(&problems));
    }
    let source = asked["source"].as_str().unwrap_or_default();
    let name = asked["name"].as_str().or(asked["agent"]["agent_id"].as_str()).unwrap_or("agent").to_owned();
    let config = source_config(&asked["source_config"]);
    let revision = revision_config(&asked["source_revision_config"]);
    check_rules(source, &config, &revision)?;
    let mut deployments = plane.deployments();
    let at = now();
    if deployments.iter().any(|one| one.name == name && one.status(at, plane.speed).is_some()) {
        let text = format!("A tracing project named '{name}' already exists.");
        return Err(Box::new(detail(StatusCode::CONFLICT, &text)));
    }
    let id = uuid4();
    let mut deployment = Deployment {
        id: id.clone(),
        name: name.clone(),
        display_name: None,
        source: source.to_owned(),
        config,
        secrets: asked["secrets"].as_array().cloned().unwrap_or_default(),
        created_at: at,
        updated_at: at,
        fixed_status: None,
        url: Some(format!("https://{name}-{}.{}.langgraph.app", stable_hex(&id, 32), plane.region)),
        image_version: None,
        deleted_at: None,
        preview: false,
        revisions: Vec::new(),
    };
    add_revision(&mut deployment, revision);
    let answer = shown(plane, &deployment).unwrap_or_default();
    deployments.push(deployment);
    Ok(json_response(StatusCode::CREATED, &answer))
}

/// The rules that the real one is known to hold.
fn check_rules(source: &str, config: &Object, revision: &Object) -> Result<(), Refusal> {
    let push = config["build_on_push"] == true;
    if push && source != "github" {
        return Err(bad("build_on_push is only supported for 'github' source deployments."));
    }
    if push && revision["repo_ref"].as_str().is_some_and(|name| name.starts_with("refs/tags/")) {
        return Err(bad("build_on_push cannot be enabled when repo_ref is a tag."));
    }
    if source == "external_docker" && !config["resource_spec"].is_object() {
        return Err(bad("source_config.resource_spec is required for 'external_docker' source deployments."));
    }
    Ok(())
}

/// Adds a revision that starts now.
pub fn add_revision(deployment: &mut Deployment, mut config: Object) -> String {
    let id = uuid4();
    let source = deployment.source.clone();
    let waits = source == "internal_source" && config["source_tarball_path"].is_null();
    if source == "github" && config["repo_commit_sha"].is_null() {
        config.insert("repo_commit_sha".into(), json!(stable_hex(&id, 40)));
    }
    let fate = match config["repo_ref"].as_str() {
        _ if waits => Fate::Waits,
        // So that a person, or a test, can make one fail.
        Some(name) if name.contains("build-fails") => Fate::BuildFails,
        Some(name) if name.contains("deploy-fails") => Fate::DeployFails,
        _ => Fate::Deployed,
    };
    deployment.updated_at = now();
    deployment.revisions.push(Revision {
        id: id.clone(),
        created_at: now(),
        source,
        config,
        fate,
        forced: None,
        interrupted_at: None,
        title: String::new(),
    });
    id
}

/// `PATCH /v2/deployments/{id}`.
pub async fn patch(State(plane): State<Arc<Plane>>, Path(id): Path<String>, bytes: Bytes) -> Response {
    answer(body(&bytes).and_then(|asked| {
        let changed = with(&plane, &id, |deployment| {
            change(deployment, &asked)?;
            Ok(shown(&plane, deployment).unwrap_or_default())
        })?;
        Ok(ok(&changed))
    }))
}

/// Changes a deployment and, where the change needs one, adds a revision.
pub fn change(deployment: &mut Deployment, asked: &Value) -> Result<bool, Refusal> {
    for name in ["source_config", "source_revision_config"] {
        let value = &asked[name];
        if !value.is_null() && !value.is_object() {
            let says = "Input should be a valid dictionary or object";
            return Err(invalid(&[(json!(["body", name]), says, "model_type")]));
        }
    }
    let mut config = deployment.config.clone();
    for (key, value) in asked["source_config"].as_object().into_iter().flatten() {
        if key == "repo_url" && !value.is_null() && deployment.config["repo_url"] != *value {
            return Err(bad("repo_url cannot be changed."));
        }
        if SOURCE_FIELDS.contains(&key.as_str()) && (!value.is_null() || key == "custom_url") {
            config.insert(key.clone(), value.clone());
        }
    }
    let latest = deployment.revisions.last().map(|latest| latest.config.clone()).unwrap_or_default();
    let mut revision = latest.clone();
    let mut sent = asked["source_revision_config"].clone();
    if let Some(path) = sent.get("graph_config_path").cloned() {
        sent["langgraph_config_path"] = path;
    }
    let mut new = false;
    for (key, value) in sent.as_object().into_iter().flatten() {
        if REVISION_FIELDS.contains(&key.as_str()) && !value.is_null() {
            revision.insert(key.clone(), value.clone());
            new = true;
        }
    }
    if sent["repo_commit_sha"].is_null() {
        revision.insert("repo_commit_sha".into(), Value::Null);
    }
    check_rules(&deployment.source, &config, &full(&REVISION_FIELDS, &Value::Object(revision.clone())))?;
    new |= !asked["source_config"]["resource_spec"].is_null();
    // An empty list does not clear the secrets; a list that is sent replaces them all.
    if let Some(secrets) = asked["secrets"].as_array().filter(|secrets| !secrets.is_empty()) {
        deployment.secrets = secrets.clone();
        new = true;
    }
    if let Some(name) = asked["display_name"].as_str() {
        deployment.display_name = Some(name.to_owned());
    }
    deployment.config = config;
    deployment.updated_at = now();
    if new {
        add_revision(deployment, full(&REVISION_FIELDS, &Value::Object(revision)));
    }
    Ok(new)
}

/// `DELETE /v2/deployments/{id}`: it can still be read for a while.
pub async fn delete(State(plane): State<Arc<Plane>>, Path(id): Path<String>, uri: Uri) -> Response {
    let force = text(&query_pairs(&uri), "force").is_some_and(|force| force == "true");
    let contract = plane.dialect == Dialect::Contract;
    answer(with(&plane, &id, |deployment| match (force, deployment.deleted_at) {
        (true, None) => Err(bad("force can only be used on a deployment that is already being deleted.")),
        (true, Some(_)) => {
            deployment.deleted_at = Some(jiff::Timestamp::MIN);
            Ok(empty(StatusCode::NO_CONTENT))
        }
        (false, _) => {
            // The contract knows no states between.
            let at = if contract { jiff::Timestamp::MIN } else { now() };
            deployment.deleted_at.get_or_insert(at);
            Ok(empty(StatusCode::NO_CONTENT))
        }
    }))
}

/// `POST /v2/deployments/{id}/upload-url`.
pub async fn upload_url(State(plane): State<Arc<Plane>>, Path(id): Path<String>) -> Response {
    answer(with(&plane, &id, |deployment| {
        let object = format!("{}-{}.tar.gz", deployment.name, stable_hex(&uuid4(), 12));
        Ok(ok(&json!({
            "upload_url": format!("{}/uploads/{object}", plane.url), "object_path": format!("uploads/{object}"),
            "upload_headers": {"Content-Type": "application/gzip"},
        })))
    }))
}

/// `POST /v2/deployments/{id}/push-token`.
pub async fn push_token(State(plane): State<Arc<Plane>>, Path(id): Path<String>) -> Response {
    answer(with(&plane, &id, |deployment| {
        if deployment.source != "internal_docker" {
            return Err(bad("Push tokens are only available for 'internal_docker' source deployments."));
        }
        let repository = format!("registry.{}.example/agents/{}", plane.region, deployment.name);
        Ok(ok(&json!({
            "token": stable_hex(&uuid4(), 40), "registry_url": format!("registry.{}.example", plane.region),
            "username": "oauth2accesstoken", "repository_url": repository,
        })))
    }))
}
