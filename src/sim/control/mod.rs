//! The control plane of one region: who may ask, what is where, and what it remembers.

mod deployments;
mod log_calls;
pub mod logs;
mod revisions;
pub mod timetable;

use crate::sim::agent::{detail, json_response, query_pairs};
use crate::sim::ids::stable_uuid;
use crate::sim::{Dialect, KEY, Logs, Options};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::{get, post, put};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use timetable::Deployment;
use uuid::Uuid;

/// An answer that refuses, boxed because it is rare and large.
type Refusal = Box<Response>;

/// A control plane.
#[derive(Debug)]
pub struct Plane {
    /// Its name.
    pub name: String,
    /// Its region.
    pub region: String,
    /// Its base URL, without a prefix.
    pub url: String,
    /// Its workspace.
    pub workspace: String,
    /// Whose rules it follows.
    pub dialect: Dialect,
    /// How many times faster than life its revisions move.
    pub speed: f64,
    prefix_only: bool,
    needs_workspace: bool,
    not_enabled: bool,
    logs: Logs,
    deployments: Mutex<Vec<Deployment>>,
}

impl Plane {
    /// A control plane without deployments.
    pub fn new(name: &str, region: &str, url: &str, options: &Options) -> Arc<Self> {
        Arc::new(Plane {
            name: name.to_owned(),
            region: region.to_owned(),
            url: url.to_owned(),
            workspace: stable_uuid("runtail demo workspace"),
            dialect: options.dialect,
            speed: options.speed,
            prefix_only: options.prefix_only,
            needs_workspace: options.needs_workspace,
            not_enabled: options.not_enabled,
            logs: options.logs,
            deployments: Mutex::default(),
        })
    }

    /// Its deployments. Never held across an await.
    pub fn deployments(&self) -> MutexGuard<'_, Vec<Deployment>> {
        self.deployments.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a revision a status of our choice.
    pub fn force_status(&self, revision: &str, status: &str) {
        for deployment in self.deployments().iter_mut() {
            for one in deployment.revisions.iter_mut().filter(|one| one.id == revision) {
                one.forced = Some(status.to_owned());
            }
        }
    }

    /// Its routes: plain and under the prefix of self-hosted installations, or only there.
    pub fn router(self: &Arc<Self>) -> Router {
        let contract = Router::new()
            .route("/v2/auth/authenticate", post(authenticate))
            .route("/v2/deployments/{id}/revisions/{revision}", get(revisions::get));
        let api = if self.dialect == Dialect::Contract {
            contract
                .route("/v2/deployments", post(deployments::create))
                .route(
                    "/v2/deployments/{id}",
                    get(deployments::get).patch(deployments::patch).delete(deployments::delete),
                )
                .route("/v2/deployments/{id}/revisions", get(revisions::list))
        } else {
            contract
                .route("/v2/deployments", get(deployments::list).post(deployments::create))
                .route("/v2/deployments/free-count", get(|| async { ok(&json!({"count": 0})) }))
                .route(
                    "/v2/deployments/{id}",
                    get(deployments::get).patch(deployments::patch).delete(deployments::delete),
                )
                .route("/v2/deployments/{id}/revisions", get(revisions::list).post(revisions::create))
                .route("/v2/deployments/{id}/revisions/{revision}/redeploy", post(revisions::redeploy))
                .route("/v2/deployments/{id}/revisions/{revision}/interrupt", post(revisions::interrupt))
                .route("/v2/deployments/{id}/revisions/{revision}/interruption", post(revisions::interrupt))
                .route("/v2/deployments/{id}/upload-url", post(deployments::upload_url))
                .route("/v2/deployments/{id}/push-token", post(deployments::push_token))
                .route("/v2/listeners", get(listeners))
                .route("/v1/integrations/github/install", get(integrations))
                .route("/v1/integrations/github/{id}/repos", get(repositories))
                .merge(self.log_routes())
        };
        let api = api
            .fallback(|| async { detail(StatusCode::NOT_FOUND, "Not Found") })
            .method_not_allowed_fallback(|| async { detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed") })
            .layer(axum::middleware::from_fn_with_state(self.clone(), guard));
        // The archive goes to a signed URL that wants no key.
        let upload = Router::new().route("/uploads/{object}", put(|| async { StatusCode::OK }));
        let router = if self.prefix_only {
            Router::new()
                .nest("/api-host", api)
                .fallback(|| async { detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed") })
        } else {
            Router::new().nest("/api-host", api.clone()).merge(api)
        };
        router.merge(upload).with_state(self.clone())
    }
}

impl Plane {
    /// The log calls of the generations that this region has.
    fn log_routes(&self) -> Router<Arc<Plane>> {
        let mut routes = Router::new();
        if self.logs.v1 {
            routes = routes
                .route("/v1/projects/{id}/revisions/{revision}/build_logs", post(log_calls::build_v1))
                .route("/v1/projects/{id}/revisions/{revision}/deploy_logs", post(log_calls::server_v1))
                .route("/v1/projects/{id}/deploy_logs", post(log_calls::deployment_v1));
        }
        if self.logs.v2 {
            routes = routes
                .route("/v2/deployments/{id}/revisions/{revision}/logs", get(log_calls::revision_v2))
                .route("/v2/deployment-logs", get(log_calls::deployment_v2));
        }
        routes
    }
}

/// Lets in who has the key, and the workspace where one is wanted.
async fn guard(State(plane): State<Arc<Plane>>, request: Request, next: Next) -> Response {
    match refused(&plane, request.headers()) {
        Some((status, text)) => detail(status, text),
        None => next.run(request).await,
    }
}

fn refused(plane: &Plane, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    match header("x-api-key").or(bearer) {
        Some(KEY) => {}
        Some(_) => return Some((StatusCode::UNAUTHORIZED, "Invalid API key.")),
        None => return Some((StatusCode::UNAUTHORIZED, "Not authenticated")),
    }
    if plane.not_enabled {
        return Some((StatusCode::FORBIDDEN, "LangSmith Deployment is not enabled for this organization."));
    }
    match header("x-tenant-id") {
        None if plane.needs_workspace => Some((
            StatusCode::FORBIDDEN,
            "This API key is org-scoped and requires workspace specification. Please provide 'X-Tenant-ID' header.",
        )),
        Some(tenant) if Uuid::try_parse(tenant).is_err() => Some((StatusCode::FORBIDDEN, "Invalid tenant ID.")),
        Some(tenant) if tenant != plane.workspace => Some((StatusCode::FORBIDDEN, "Forbidden")),
        _ => None,
    }
}

fn ok(value: &Value) -> Response {
    json_response(StatusCode::OK, value)
}

/// A 422 as the control plane writes it: one entry for each thing that is wrong.
fn invalid(problems: &[(Value, &str, &str)]) -> Refusal {
    let list: Vec<Value> =
        problems.iter().map(|(place, says, kind)| json!({"loc": place, "msg": says, "type": kind})).collect();
    Box::new(json_response(StatusCode::UNPROCESSABLE_ENTITY, &json!({"detail": list})))
}

/// A path's id must be a UUID.
fn path_uuid(name: &str, id: &str) -> Result<(), Refusal> {
    if Uuid::try_parse(id).is_ok() {
        return Ok(());
    }
    Err(invalid(&[(json!(["path", name]), "Input should be a valid UUID", "uuid_parsing")]))
}

/// A body must be a JSON object.
fn body(bytes: &[u8]) -> Result<Value, Refusal> {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(value) if value.is_object() => Ok(value),
        Ok(_) => Err(invalid(&[(json!(["body"]), "Input should be a valid dictionary or object", "model_type")])),
        Err(_) => Err(invalid(&[(json!(["body", 0]), "JSON decode error", "json_invalid")])),
    }
}

/// A number of a query within its bounds.
fn number(pairs: &[(String, String)], name: &str, least: usize, most: usize, or: usize) -> Result<usize, Refusal> {
    let Some((_, text)) = pairs.iter().rev().find(|(key, _)| key == name) else { return Ok(or) };
    let place = json!(["query", name]);
    match text.parse::<i64>() {
        Err(_) => Err(invalid(&[(place, "Input should be a valid integer", "int_parsing")])),
        Ok(n) if n > most as i64 => {
            Err(invalid(&[(place, &format!("Input should be less than or equal to {most}"), "less_than_equal")]))
        }
        Ok(n) if n < least as i64 => {
            Err(invalid(&[(place, &format!("Input should be greater than or equal to {least}"), "greater_than_equal")]))
        }
        Ok(n) => Ok(n as usize),
    }
}

fn text<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = pairs.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    found.filter(|value| !value.is_empty())
}

/// `POST /v2/auth/authenticate`. `github` is connected; other providers wait for a person; `check_only` only looks.
async fn authenticate(State(plane): State<Arc<Plane>>, bytes: axum::body::Bytes) -> Response {
    let asked = match body(&bytes) {
        Ok(asked) => asked,
        Err(refusal) => return *refusal,
    };
    let mut problems = Vec::new();
    for (name, right, says, kind) in [
        ("provider", asked["provider"].is_string(), "Input should be a valid string", "string_type"),
        ("scopes", asked["scopes"].is_array(), "Input should be a valid list", "list_type"),
    ] {
        if asked.get(name).is_none() {
            problems.push((json!(["body", name]), "Field required", "missing"));
        } else if !right {
            problems.push((json!(["body", name]), says, kind));
        }
    }
    for (n, scope) in asked["scopes"].as_array().into_iter().flatten().enumerate() {
        if !scope.is_string() {
            problems.push((json!(["body", "scopes", n]), "Input should be a valid string", "string_type"));
        }
    }
    if asked["token_id"].as_str().is_some_and(|id| Uuid::try_parse(id).is_err()) {
        problems.push((json!(["body", "token_id"]), "Input should be a valid UUID", "uuid_parsing"));
    }
    if !problems.is_empty() {
        return *invalid(&problems);
    }
    let provider = asked["provider"].as_str().unwrap_or_default();
    let id = stable_uuid(&format!("auth {provider}"));
    let mut answer =
        json!({"status": "pending", "url": null, "auth_id": null, "token": null, "user_id": null, "metadata": null});
    if provider == "expired" {
        answer["status"] = json!("token_expired");
        answer["auth_id"] = json!(id);
    } else if asked["check_only"] == true {
        answer["status"] = json!(if provider == "github" { "completed" } else { "connection_required" });
    } else if provider == "github" && asked["force_new"] != true {
        answer["status"] = json!("completed");
        answer["token"] = json!("gho_simulated");
        answer["user_id"] = asked["user_id"].clone();
        answer["metadata"] = json!({"scopes": asked["scopes"]});
    } else {
        answer["url"] = json!(format!("{}/oauth/{provider}?state={id}", plane.url));
        answer["auth_id"] = json!(id);
    }
    ok(&answer)
}

/// `GET /v2/listeners`.
async fn listeners(State(plane): State<Arc<Plane>>, uri: Uri) -> Response {
    let pairs = query_pairs(&uri);
    let offset = match number(&pairs, "limit", 1, 100, 20).and(number(&pairs, "offset", 0, usize::MAX >> 1, 0)) {
        Ok(offset) => offset,
        Err(refusal) => return *refusal,
    };
    let all = [("k8s-prod", json!(["agents", "batch"])), ("k8s-edge", json!(["default"]))];
    let resources: Vec<Value> = all
        .iter()
        .skip(offset)
        .map(|(name, namespaces)| {
            json!({
                "id": stable_uuid(&format!("{} {name}", plane.name)), "version": "0.3.1", "compute_type": "k8s",
                "compute_id": name, "compute_config": {"k8s_namespaces": namespaces},
                "created_at": "2026-03-02T09:00:00.000000Z", "updated_at": "2026-11-01T09:00:00.000000Z",
            })
        })
        .collect();
    let next = offset + resources.len();
    ok(&json!({"resources": resources, "offset": next}))
}

/// `GET /v1/integrations/github/install`.
async fn integrations() -> Response {
    ok(&json!([{"id": stable_uuid("integration acme"), "installation_id": 51_330_442, "name": "acme"}]))
}

/// `GET /v1/integrations/github/{id}/repos`.
async fn repositories(State(plane): State<Arc<Plane>>) -> Response {
    let names: Vec<String> = plane.deployments().iter().map(|deployment| deployment.name.clone()).collect();
    let repositories: Vec<Value> = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            json!({
                "host_integration_id": stable_uuid("integration acme"), "id": 7_001 + n, "name": name, "owner": "acme",
                "url": format!("https://github.com/acme/{name}"), "default_branch": "main",
            })
        })
        .collect();
    ok(&json!(repositories))
}

/// The moment now, in one place.
fn now() -> Timestamp {
    Timestamp::now()
}
