//! The control plane of one region: authentication, routes and state.

mod auth;
mod deployments;
pub mod integrations;
mod listeners;
mod log_calls;
mod logs;
mod query;
mod revisions;
mod sign_in;
pub mod timetable;

use crate::prelude::*;
use crate::{KEY, Options, Scenario};
use axum::extract::Request;
use axum::middleware::Next;
use std::collections::BTreeSet;
use timetable::Deployment;
use tokio::sync::Notify;
use uuid::Uuid;

/// The server of a request.
type ThisControl = State<Arc<ControlServer>>;

/// A control plane.
#[derive(Debug)]
pub struct ControlServer {
    pub name: String,
    pub region: String,
    /// Its base URL.
    pub url: String,
    pub workspace: String,
    /// Whether it has only the calls of the written contract.
    contract: bool,
    /// Speed of its revisions as a multiple of real time.
    pub speed: f64,
    options: Options,
    deployments: Mutex<Vec<Deployment>>,
    /// Names of tracing projects whose deployment was deleted without them.
    tracing_projects: Mutex<BTreeSet<String>>,
    listeners: Mutex<Vec<Value>>,
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
            options: options.clone(),
            deployments: Mutex::default(),
            tracing_projects: Mutex::default(),
            listeners: Mutex::new(listeners::first(name, options)),
            vault: Mutex::new(auth::TokenStore::new()),
            signed: Notify::new(),
        })
    }

    /// Its deployments. Never held across an await, and locked before anything else of the plane.
    pub fn deployments(&self) -> MutexGuard<'_, Vec<Deployment>> {
        locked(&self.deployments)
    }

    fn vault(&self) -> MutexGuard<'_, auth::TokenStore> {
        locked(&self.vault)
    }

    /// Sets a revision's status.
    pub fn force_status(&self, revision: &str, status: &str) {
        let mut deployments = self.deployments();
        let all = deployments.iter_mut().flat_map(|one| &mut one.revisions);
        all.filter(|one| one.id == revision)
            .for_each(|one| one.forced = Some(status.to_owned()));
    }

    /// Its routes: plain and under the prefix of self-hosted installations.
    pub fn router(self: &Arc<Self>) -> Router {
        let mut api = Router::new()
            .route("/v2/auth/authenticate", post(sign_in::authenticate))
            .route("/v2/deployments", post(deployments::create))
            .route(
                "/v2/deployments/{id}",
                get(deployments::get)
                    .patch(deployments::patch)
                    .delete(deployments::delete),
            )
            .route("/v2/deployments/{id}/revisions", get(revisions::list))
            .route(
                "/v2/deployments/{id}/revisions/{revision}",
                get(revisions::get),
            );
        if !self.contract {
            // Sources disagree about the word.
            for word in ["interruption", "interrupt"] {
                let path = format!("/v2/deployments/{{id}}/revisions/{{revision}}/{word}");
                api = api.route(&path, post(revisions::interrupt));
            }
            api = api
                .route("/v2/deployments", get(deployments::list))
                .route("/v2/deployments/free-count", get(deployments::free_count))
                .route("/v2/deployments/{id}/revisions", post(revisions::create))
                .route(
                    "/v2/deployments/{id}/revisions/{revision}/redeploy",
                    post(revisions::redeploy),
                )
                .route("/v2/auth/wait/{id}", get(sign_in::wait))
                .merge(log_calls::routes(self.options.logs))
                .merge(integrations::routes())
                .merge(listeners::routes())
                .merge(auth::routes());
        }
        let api = api
            .fallback(async || detail(StatusCode::NOT_FOUND, "Not Found"))
            .method_not_allowed_fallback(async || {
                detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
            })
            .layer(axum::middleware::from_fn_with_state(self.clone(), guard));
        Router::new()
            .nest("/api-host", api.clone())
            .merge(api)
            // The provider's page needs no key.
            .route("/oauth/{provider}", get(sign_in::consent))
            .with_state(self.clone())
    }
}

/// Checks the key and the workspace.
async fn guard(State(plane): ThisControl, request: Request, next: Next) -> Response {
    match refused(&plane, &request) {
        Some((status, text)) => detail(status, text),
        None => next.run(request).await,
    }
}

fn refused(plane: &ControlServer, request: &Request) -> Option<(StatusCode, &'static str)> {
    let header = |name: &str| request.headers().get(name)?.to_str().ok();
    let bearer = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    match header("x-api-key").or(bearer) {
        Some(KEY) => {}
        Some(_) => return Some((StatusCode::UNAUTHORIZED, "Invalid API key.")),
        None => return Some((StatusCode::UNAUTHORIZED, "Not authenticated")),
    }
    match header("x-tenant-id")? {
        tenant if Uuid::try_parse(tenant).is_err() => {
            Some((StatusCode::FORBIDDEN, "Invalid tenant ID."))
        }
        tenant if tenant != plane.workspace => Some((StatusCode::FORBIDDEN, "Forbidden")),
        _ => None,
    }
}
