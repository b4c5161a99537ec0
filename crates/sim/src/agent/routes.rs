//! The routes of the server. A contract-only one has a few of them.

use super::{assistants, crons, join, runs, search, store, threads};
use crate::agent::prelude::*;
use axum::middleware::map_response;

type Routes = Router<Arc<Agent>>;

impl Agent {
    /// Returns its routes.
    pub fn router(self: &Arc<Self>) -> Router {
        let router = if self.contract {
            contract()
        } else {
            contract().merge(others())
        };
        router
            .fallback(async || detail(StatusCode::NOT_FOUND, "Not Found"))
            .method_not_allowed_fallback(async || {
                detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
            })
            .layer(map_response(finished))
            .with_state(self.clone())
    }
}

/// The routes of the written contract.
fn contract() -> Routes {
    Router::new()
        .route("/threads", post(threads::create))
        .route("/threads/{thread}/runs/stream", post(runs::stream))
        .route("/threads/{thread}/runs/{run}/stream", get(join::run))
        .route("/threads/{thread}/stream", get(join::thread))
        .route("/runs/stream", post(runs::stateless_stream))
}

/// The routes that the contract does not have.
fn others() -> Routes {
    Router::new()
        .route("/info", get(info))
        .route("/assistants/search", post(search::assistants))
        .route("/assistants", post(assistants::create))
        .route(
            "/assistants/{assistant}",
            get(search::assistant)
                .patch(assistants::patch)
                .delete(assistants::delete),
        )
        .route(
            "/assistants/{assistant}/versions",
            post(assistants::versions),
        )
        .route("/assistants/{assistant}/latest", post(assistants::latest))
        .route(
            "/store/items",
            get(store::get).put(store::put).delete(store::delete),
        )
        .route("/store/items/search", post(store::search))
        .route("/store/namespaces", post(store::namespaces))
        .route("/assistants/{assistant}/graph", get(search::drawing))
        .route("/threads/search", post(search::threads))
        .route(
            "/threads/{thread}",
            get(threads::get)
                .patch(threads::patch)
                .delete(threads::delete),
        )
        .route(
            "/threads/{thread}/state",
            get(threads::state).post(threads::update_state),
        )
        .route(
            "/threads/{thread}/state/{checkpoint}",
            get(threads::state_at),
        )
        .route("/threads/{thread}/history", get(threads::history))
        .route("/threads/{thread}/runs", post(runs::create).get(runs::list))
        .route("/threads/{thread}/runs/wait", post(runs::wait))
        .route(
            "/threads/{thread}/runs/{run}",
            get(runs::get).delete(runs::delete),
        )
        .route("/threads/{thread}/runs/{run}/join", get(runs::join))
        .route("/threads/{thread}/runs/{run}/cancel", post(runs::cancel))
        .route("/ok", get(is_ok))
        .route("/threads/count", post(search::count_threads))
        .route("/threads/prune", post(threads::prune))
        .route("/threads/{thread}/copy", post(threads::copy))
        .route("/metrics", get(metrics))
        .route("/assistants/{assistant}/schemas", get(assistants::schemas))
        .route("/runs/crons", post(crons::post))
        .route("/runs/crons/search", post(crons::search))
        .route(
            "/runs/crons/{cron}",
            get(crons::get).patch(crons::patch).delete(crons::delete),
        )
        .route("/threads/{thread}/runs/crons", post(crons::post_on_thread))
}

/// Adds the headers that the real server sends with every response.
async fn finished(mut response: Response) -> Response {
    set_header(&mut response, "server", "uvicorn");
    set_header(&mut response, "vary", "Origin");
    response
}

async fn is_ok() -> Response {
    ok(&json!({"ok": true, "services": {}}))
}

/// The part of the metrics that describes the queue.
async fn metrics(State(agent): ThisAgent) -> Response {
    const WORKERS: usize = 10;
    let memory = agent.memory();
    let runs = || memory.threads.values().flat_map(|thread| &thread.runs);
    let pending = runs().filter(|run| run.status == "pending");
    let age = |run: &Run| now().duration_since(run.created_at).as_secs_f64();
    let mut waits: Vec<f64> = pending.map(age).collect();
    let running = runs().filter(|run| run.status == "running").count();
    waits.sort_by(f64::total_cmp);
    let active = running.min(WORKERS);
    let metrics = json!({
        "queue": {
            "n_pending": waits.len(), "n_running": running,
            "pending_runs_wait_time_max_secs": waits.last(),
            "pending_runs_wait_time_med_secs": waits.get(waits.len() / 2),
            "pending_unblocked_runs_wait_time_max_secs": null,
        },
        "api": {"http_requests_total": []},
        "workers": {"max": WORKERS, "active": active, "available": WORKERS - active},
    });
    ok(&metrics)
}

async fn info(State(agent): ThisAgent) -> Response {
    let host = agent.host.get();
    let revision = host.and_then(|host| host.revision(Timestamp::now()));
    let info = json!({
        "version": "0.16.7", "langgraph_py_version": "1.2.22",
        "flags": {"assistants": true, "crons": true, "langsmith": false, "langsmith_tracing_replicas": true,
            "langsmith_tracing_session_on_runs": true},
        "host": {"kind": if host.is_some() { "saas" } else { "self-hosted" }, "project_id": null,
            "host_revision_id": revision, "revision_id": null, "tenant_id": null},
    });
    ok(&info)
}
