//! Deployments over REST: listing, creating, changing and deleting.

use super::query::{body, page, path_uuid, refused, text};
use super::timetable::{Deployment, Revision, ScheduledOutcome};
use super::{ControlServer, ThisControl};
use crate::prelude::*;

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
/// Where a deployment's code or image may come from; the client leaves unknown words to the service.
const SOURCES: [&str; 5] = [
    "github",
    "external_docker",
    "internal_docker",
    "internal_source",
    "internal_template",
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
    let field = |field: &&str| ((*field).to_owned(), sent[*field].clone());
    fields.iter().map(field).collect()
}

/// `source_revision_config` with all its fields. The contract calls one of them by another name.
fn revision_config(sent: &Value) -> Object {
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
    let config = &full["source_revision_config"];
    Some(json!({
        "id": full["id"], "latest_revision_id": full["latest_revision_id"], "name": full["name"],
        "source": full["source"], "source_config": self::full(&SOURCE_FIELDS[..6], &full["source_config"]),
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
    let found = deployments.iter_mut().find(|deployment| {
        deployment.id.eq_ignore_ascii_case(id) && deployment.status(now(), plane.speed).is_some()
    });
    act(found.ok_or_else(|| missing(&format!("Deployment ID {id} not found.")))?)
}

/// `GET /v2/deployments`.
pub async fn list(State(plane): ThisControl, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    let asked = |name: &str| text(&pairs, name);
    let fits = |one: &Value| {
        let is = |name: &str, value: &Value| {
            asked(name).is_none_or(|list| list.split(',').any(|one| value == one))
        };
        is("name", &one["name"])
            && is("deployment_ids", &one["id"])
            && is("status", &one["status"])
            && is("image_version", &one["image_version"])
            && is("deployment_type", &one["source_config"]["deployment_type"])
            && asked("name_contains").is_none_or(|part| text_of(&one["name"]).contains(part))
            // Nothing here is tagged.
            && asked("tag_value_ids").is_none()
    };
    let all = plane.deployments();
    let mut found: Vec<Value> = all.iter().filter_map(|one| shown(&plane, one)).collect();
    found.retain(fits);
    found.sort_by(|a, b| b["created_at"].as_str().cmp(&a["created_at"].as_str()));
    Ok(ok(&page(&pairs, found.into_iter())?))
}

/// `GET /v2/deployments/{id}`.
pub async fn get(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    with(&plane, &id, |deployment| {
        Ok(ok(&json!(shown(&plane, deployment))))
    })
}

/// `GET /v2/deployments/free-count`.
pub async fn free_count(State(plane): ThisControl) -> Response {
    let all = plane.deployments();
    let free = all
        .iter()
        .filter(|one| one.config["deployment_type"] == "dev_free");
    ok(&json!({"count": free.count()}))
}

/// `POST /v2/deployments`.
pub async fn create(State(plane): ThisControl, bytes: Bytes) -> Handled {
    let asked = body(
        &bytes,
        &[
            "name",
            "source",
            "source_config",
            "source_revision_config",
            "secrets",
        ],
    )?;
    let (name, source) = (text_of(&asked["name"]), text_of(&asked["source"]));
    if !plane.contract && !SOURCES.contains(&source) {
        let says = format!("Input should be '{}'", SOURCES.join("', '"));
        return refused(["body", "source"], &says, "enum");
    }
    let mut deployments = plane.deployments();
    let at = now();
    let lives = |one: &Deployment| one.name == name && one.status(at, plane.speed).is_some();
    // The tracing project of a deployment has its name, and outlives it unless it is deleted with it.
    if deployments.iter().any(lives) || locked(&plane.tracing_projects).contains(name) {
        let text = format!("A tracing project named '{name}' already exists.");
        return Err(conflict(&text));
    }
    let id = uuid4();
    let mut config = full(&SOURCE_FIELDS, &asked["source_config"]);
    let host = stable_hex(&id, 32);
    let url = (source != "external_docker")
        .then(|| format!("https://{name}-{host}.{}.langgraph.app", plane.region));
    if let Some(url) = &url {
        config.insert("custom_url".into(), json!(url));
    }
    let mut deployment = Deployment {
        id,
        name: name.to_owned(),
        source: source.to_owned(),
        config,
        secrets: items_of(&asked["secrets"]).cloned().collect(),
        references: asked["secret_references"].clone(),
        created_at: at,
        updated_at: at,
        url,
        ..Deployment::default()
    };
    let revision = revision_config(&asked["source_revision_config"]);
    add_revision(&mut deployment, source, revision);
    let answer = shown(&plane, &deployment);
    deployments.push(deployment);
    Ok(json_response(StatusCode::CREATED, &json!(answer)))
}

/// Adds a revision that starts now. It fails on request: if any part of its source (a branch, an image, a path in the
/// repository) contains `build-fails` or `deploy-fails`.
pub fn add_revision(deployment: &mut Deployment, source: &str, mut config: Object) {
    let id = uuid4();
    let says = |word: &str| config.values().any(|part| text_of(part).contains(word));
    let fate = if says("build-fails") {
        ScheduledOutcome::BuildFails
    } else if says("deploy-fails") {
        ScheduledOutcome::DeployFails
    } else {
        ScheduledOutcome::Deployed
    };
    if source == "github" && config["repo_commit_sha"].is_null() {
        // A repo_ref may be a commit.
        let name = text_of(&config["repo_ref"]);
        let is_commit = name.len() == 40 && name.chars().all(|c| c.is_ascii_hexdigit());
        let commit = if is_commit {
            name.to_owned()
        } else {
            stable_hex(&id, 40)
        };
        config.insert("repo_commit_sha".into(), json!(commit));
    }
    deployment.updated_at = now();
    deployment.revisions.push(Revision {
        id,
        created_at: now(),
        source: source.to_owned(),
        config,
        fate,
        ..Revision::default()
    });
}

/// `PATCH /v2/deployments/{id}`.
pub async fn patch(State(plane): ThisControl, Path(id): Path<String>, bytes: Bytes) -> Handled {
    let asked = body(&bytes, &[])?;
    with(&plane, &id, |deployment| {
        change(deployment, &asked);
        Ok(ok(&json!(shown(&plane, deployment))))
    })
}

/// Changes a deployment and adds a revision if needed; returns whether it did.
pub fn change(deployment: &mut Deployment, asked: &Value) -> bool {
    let source = asked["revision_source"]
        .as_str()
        .unwrap_or(&deployment.source)
        .to_owned();
    for (key, value) in fields_of(&asked["source_config"]) {
        if SOURCE_FIELDS.contains(&key.as_str()) && (!value.is_null() || key == "custom_url") {
            deployment.config.insert(key.clone(), value.clone());
        }
    }
    let mut sent = revision_config(&asked["source_revision_config"]);
    // A commit is read-only: it is what a build found.
    sent.retain(|key, value| !value.is_null() && key != "repo_commit_sha");
    // Missing fields are taken from the latest revision of the same kind of source.
    let latest = deployment
        .revisions
        .iter()
        .rfind(|one| one.source == source);
    let mut revision =
        latest.map_or_else(|| revision_config(&Value::Null), |one| one.config.clone());
    revision.insert("repo_commit_sha".into(), Value::Null);
    let references = &asked["secret_references"];
    let mut new = !sent.is_empty()
        || !references.is_null()
        || !asked["source_config"]["resource_spec"].is_null();
    revision.extend(sent);
    // A list replaces all of them, but an empty one changes nothing.
    if items_of(&asked["secrets"]).next().is_some() {
        deployment.secrets = items_of(&asked["secrets"]).cloned().collect();
        new = true;
    }
    if !references.is_null() {
        deployment.references = references.clone();
    }
    if let Some(name) = asked["display_name"].as_str() {
        deployment.display_name = Some(name.to_owned());
    }
    deployment.updated_at = now();
    if new {
        add_revision(deployment, &source, revision);
    }
    new
}

/// `DELETE /v2/deployments/{id}`: it can still be read for a while. Its tracing project is kept unless it is deleted too.
pub async fn delete(State(plane): ThisControl, Path(id): Path<String>, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    let is = |name: &str| text(&pairs, name) == Some("true");
    with(&plane, &id, |deployment| {
        if is("force") {
            if deployment.deleted_at.is_none() {
                let text = "force can only be used on a deployment that is already being deleted.";
                return Err(bad(text));
            }
            deployment.deleted_at = Some(Timestamp::MIN);
            return Ok(done());
        }
        // The contract has no intermediate states.
        let at = if plane.contract {
            Timestamp::MIN
        } else {
            now()
        };
        deployment.deleted_at.get_or_insert(at);
        let mut projects = locked(&plane.tracing_projects);
        if is("delete_tracing_project") {
            projects.remove(&deployment.name);
        } else {
            projects.insert(deployment.name.clone());
        }
        Ok(done())
    })
}
