//! The control plane of one region: authentication, routes and state.

mod auth;
mod bodies;
mod deployments;
pub mod integrations;
mod listeners;
pub(crate) mod log_calls;
pub mod logs;
mod query;
mod revisions;
mod rules;
mod shape;
mod sign_in;
#[cfg(test)]
mod tests;
pub mod timetable;

use crate::http::detail;
use crate::ids::stable_uuid;
use crate::values::{Object, locked};
use crate::{KEY, Logs, Options, Scenario};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::{get, post, put};
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};
use timetable::Deployment;
use tokio::sync::Notify;
use uuid::Uuid;

/// The server of a request.
type ThisControl = axum::extract::State<Arc<ControlServer>>;

/// A control plane.
#[derive(Debug)]
pub struct ControlServer {
    pub name: String,
    pub region: String,
    /// Its base URL, without a prefix.
    pub url: String,
    pub workspace: String,
    /// Whether it has only the calls of the written contract.
    pub contract: bool,
    /// Speed of its revisions as a multiple of real time.
    pub speed: f64,
    prefix_only: bool,
    needs_workspace: bool,
    not_enabled: bool,
    needs_listener: bool,
    no_listeners: bool,
    aws: bool,
    logs: Logs,
    deployments: Mutex<Vec<Deployment>>,
    /// Names of tracing projects whose deployment was deleted without them.
    tracing_projects: Mutex<BTreeSet<String>>,
    /// Allowed paths of archives.
    uploads: Mutex<BTreeSet<String>>,
    listeners: Mutex<Vec<Object>>,
    vault: Mutex<auth::TokenStore>,
    /// Wakes waits for a sign-in.
    signed: Notify,
}

impl ControlServer {
    /// A control plane without deployments.
    pub fn new(name: &str, region: &str, url: &str, options: &Options) -> Arc<Self> {
        Arc::new(ControlServer {
            name: name.to_owned(),
            region: region.to_owned(),
            url: url.to_owned(),
            workspace: stable_uuid("runtail demo workspace"),
            contract: options.scenario == Scenario::Contract,
            speed: options.speed,
            prefix_only: options.prefix_only,
            needs_workspace: options.needs_workspace,
            not_enabled: options.not_enabled,
            needs_listener: options.needs_listener,
            no_listeners: options.no_listeners,
            aws: options.aws,
            logs: options.logs,
            deployments: Mutex::default(),
            tracing_projects: Mutex::default(),
            uploads: Mutex::default(),
            listeners: Mutex::new(if options.no_listeners {
                Vec::new()
            } else {
                listeners::first(name)
            }),
            vault: Mutex::new(auth::TokenStore::new()),
            signed: Notify::new(),
        })
    }

    /// Its deployments. Never held across an await, and locked before anything else of the plane.
    pub fn deployments(&self) -> MutexGuard<'_, Vec<Deployment>> {
        locked(&self.deployments)
    }

    fn tracing_projects(&self) -> MutexGuard<'_, BTreeSet<String>> {
        locked(&self.tracing_projects)
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<Object>> {
        locked(&self.listeners)
    }

    fn vault(&self) -> MutexGuard<'_, auth::TokenStore> {
        locked(&self.vault)
    }

    /// Allows an archive at this path.
    fn give_out(&self, object: &str) {
        locked(&self.uploads).insert(object.to_owned());
    }

    fn gave_out(&self, object: &str) -> bool {
        locked(&self.uploads).contains(object)
    }

    /// Sets a revision's status.
    pub fn force_status(&self, revision: &str, status: &str) {
        for deployment in self.deployments().iter_mut() {
            for one in deployment
                .revisions
                .iter_mut()
                .filter(|one| one.id == revision)
            {
                one.forced = Some(status.to_owned());
            }
        }
    }

    /// Its routes: plain and under the prefix of self-hosted installations, or only there.
    pub fn router(self: &Arc<Self>) -> Router {
        let contract = Router::new().route(
            "/v2/deployments/{id}/revisions/{revision}",
            get(revisions::get),
        );
        let api = if self.contract {
            contract
                .route("/v2/auth/authenticate", post(sign_in::authenticate))
                .route("/v2/deployments", post(deployments::create))
                .route(
                    "/v2/deployments/{id}",
                    get(deployments::get)
                        .patch(deployments::patch)
                        .delete(deployments::delete),
                )
                .route("/v2/deployments/{id}/revisions", get(revisions::list))
        } else {
            contract
                .route(
                    "/v2/deployments",
                    get(deployments::list)
                        .post(deployments::create)
                        .delete(deployments::delete_many),
                )
                .route("/v2/deployments/free-count", get(deployments::free_count))
                .route(
                    "/v2/deployments/{id}",
                    get(deployments::get)
                        .patch(deployments::patch)
                        .delete(deployments::delete),
                )
                .route(
                    "/v2/deployments/{id}/revisions",
                    get(revisions::list).post(revisions::create),
                )
                .route(
                    "/v2/deployments/{id}/revisions/{revision}/redeploy",
                    post(revisions::redeploy),
                )
                .route(
                    "/v2/deployments/{id}/upload-url",
                    post(deployments::upload_url),
                )
                .route(
                    "/v2/deployments/{id}/push-token",
                    post(deployments::push_token),
                )
                // Sources disagree about the word.
                .route(
                    "/v2/deployments/{id}/revisions/{revision}/interruption",
                    post(revisions::interrupt),
                )
                .route(
                    "/v2/deployments/{id}/revisions/{revision}/interrupt",
                    post(revisions::interrupt),
                )
                .merge(self.log_routes())
                .merge(integrations::routes())
                .merge(listeners::routes())
                .merge(auth::routes())
                .merge(sign_in::routes())
        };
        let api = api
            .fallback(|| async { detail(StatusCode::NOT_FOUND, "Not Found") })
            .method_not_allowed_fallback(|| async {
                detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
            })
            .layer(axum::middleware::from_fn_with_state(self.clone(), guard));
        // Signed URLs and the provider's page need no key.
        let open = Router::new()
            .route("/uploads/{object}", put(|| async { StatusCode::OK }))
            .route("/oauth/{provider}", get(sign_in::consent));
        let router = if self.prefix_only {
            Router::new()
                .nest("/api-host", api)
                .fallback(|| async { detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed") })
        } else {
            Router::new().nest("/api-host", api.clone()).merge(api)
        };
        router.merge(open).with_state(self.clone())
    }
}

impl ControlServer {
    /// The log calls of the generations that this region has.
    fn log_routes(&self) -> Router<Arc<ControlServer>> {
        let mut routes = Router::new();
        if self.logs.v1 {
            routes = routes
                .route(
                    "/v1/projects/{id}/revisions/{revision}/build_logs",
                    post(log_calls::build_v1),
                )
                .route(
                    "/v1/projects/{id}/revisions/{revision}/deploy_logs",
                    post(log_calls::server_v1),
                )
                .route(
                    "/v1/projects/{id}/deploy_logs",
                    post(log_calls::deployment_v1),
                );
        }
        if self.logs.v2 {
            routes = routes
                .route(
                    "/v2/deployments/{id}/revisions/{revision}/logs",
                    get(log_calls::revision_v2),
                )
                .route("/v2/deployment-logs", get(log_calls::deployment_v2));
        }
        routes
    }
}

/// Checks the key, and the workspace if one is required.
async fn guard(State(plane): State<Arc<ControlServer>>, request: Request, next: Next) -> Response {
    match refused(&plane, &request) {
        Some((status, text)) => detail(status, text),
        None => next.run(request).await,
    }
}

fn refused(plane: &ControlServer, request: &Request) -> Option<(StatusCode, &'static str)> {
    let path = request.uri().path();
    // The browser, redirected by a provider, has no key.
    if path.starts_with("/v2/auth/setup/") {
        return None;
    }
    let header = |name: &str| {
        request
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let bearer = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let only_bearer = path.starts_with("/v2/auth/callback/") && request.method() == Method::GET;
    match header("x-api-key").filter(|_| !only_bearer).or(bearer) {
        Some(KEY) => {}
        Some(_) => return Some((StatusCode::UNAUTHORIZED, "Invalid API key.")),
        None => return Some((StatusCode::UNAUTHORIZED, "Not authenticated")),
    }
    if plane.not_enabled {
        return Some((
            StatusCode::FORBIDDEN,
            "LangSmith Deployment is not enabled for this organization.",
        ));
    }
    match header("x-tenant-id") {
        None if plane.needs_workspace => Some((
            StatusCode::FORBIDDEN,
            "This API key is org-scoped and requires workspace specification. Please provide 'X-Tenant-ID' header.",
        )),
        Some(tenant) if Uuid::try_parse(tenant).is_err() => {
            Some((StatusCode::FORBIDDEN, "Invalid tenant ID."))
        }
        Some(tenant) if tenant != plane.workspace => Some((StatusCode::FORBIDDEN, "Forbidden")),
        _ => None,
    }
}

/// The current time.
fn now() -> Timestamp {
    Timestamp::now()
}
