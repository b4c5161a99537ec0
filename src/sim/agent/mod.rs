//! The agent server: its memory, its clock and its routes.

pub mod check;
pub mod emit;
pub mod exec;
pub mod feed;
pub mod graphs;
pub mod life;
pub mod message;
pub mod runs;
pub mod scripts;
pub mod state;
pub mod streams;
pub mod threads;

use crate::sim::ids::{IdClock, Ids};
use crate::sim::{Dialect, Wire};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use feed::Feed;
use graphs::{GRAPHS, Graph};
use jiff::Timestamp;
use serde_json::{Value, json};
use state::{Assistant, Memory, Thread};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long somebody who asked for something is taken to be here.
const VISIT: Duration = Duration::from_secs(60);

/// One agent server.
#[derive(Debug)]
pub struct Agent {
    /// Its name in the simulator.
    pub name: String,
    /// Its base URL.
    pub url: String,
    /// Whose rules it follows.
    pub dialect: Dialect,
    /// How its streams look on the wire.
    pub wire: Wire,
    /// How many times faster than life its graphs run.
    pub speed: f64,
    /// Time between heartbeats.
    pub heartbeat: Duration,
    /// The key that it wants, if it wants one.
    pub key: Option<String>,
    /// Bytes of events that each stream keeps for a replay.
    pub kept_bytes: usize,
    /// Hands out the ids of events.
    pub ids: IdClock,
    /// Ends everything when the simulator goes.
    pub stop: CancellationToken,
    /// While the world is made, its past takes no time.
    pub hurried: AtomicBool,
    memory: Mutex<Memory>,
    /// When somebody last asked for something that happens here.
    asked: watch::Sender<Instant>,
    changed: watch::Sender<u64>,
    released: watch::Sender<HashSet<String>>,
}

impl Agent {
    /// A server with the assistants of its graphs and no threads.
    pub fn new(name: &str, url: &str, options: &crate::sim::Options, stop: CancellationToken) -> Arc<Self> {
        let now = Timestamp::now();
        let assistants = GRAPHS
            .into_iter()
            .map(|graph| Assistant {
                id: graph.assistant().to_owned(),
                graph,
                name: graph.name().to_owned(),
                description: None,
                config: json!({}),
                metadata: json!({"created_by": "system"}),
                created_at: now,
                version: 1,
            })
            .collect();
        let kind = match (options.dialect, options.wire.ids) {
            (_, Some(ids)) => ids,
            (Dialect::Contract, None) => Ids::Unique,
            (Dialect::Python, None) => Ids::PerMillisecond,
        };
        Arc::new(Agent {
            name: name.to_owned(),
            url: url.to_owned(),
            dialect: options.dialect,
            wire: options.wire,
            speed: options.speed,
            heartbeat: options.heartbeat,
            key: options.agent_key.clone(),
            kept_bytes: options.kept_bytes,
            ids: IdClock::new(kind),
            stop,
            hurried: AtomicBool::new(false),
            memory: Mutex::new(Memory { assistants, ..Memory::default() }),
            asked: watch::channel(Instant::now()).0,
            changed: watch::channel(0).0,
            released: watch::channel(HashSet::new()).0,
        })
    }

    /// Its memory. Never held across an await.
    pub fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a thread, where it exists, and wakes who waits for a change.
    pub fn with_thread<R>(&self, id: &str, change: impl FnOnce(&mut Thread) -> R) -> Option<R> {
        let result = self.memory().threads.get_mut(id).map(change);
        self.changed.send_modify(|n| *n += 1);
        result
    }

    /// Waits until something is so.
    pub async fn until<R>(&self, mut check: impl FnMut(&Memory) -> Option<R>) -> Option<R> {
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let found = check(&self.memory());
            if found.is_some() {
                return found;
            }
            tokio::select! {
                () = self.stop.cancelled() => return None,
                change = changed.changed() => if change.is_err() { return None },
            }
        }
    }

    /// The stream of a thread, which may not exist yet.
    pub fn thread_feed(&self, thread: &str) -> Arc<Feed> {
        self.memory().feeds.entry(thread.to_owned()).or_insert_with(|| Arc::new(Feed::new(self.kept_bytes))).clone()
    }

    /// Somebody asks for something that happens here.
    pub fn visit(&self) {
        self.asked.send_replace(Instant::now());
    }

    /// Waits until somebody is here: one who asked for something in the last minute, or who follows a thread.
    pub async fn company(&self) {
        let mut asked = self.asked.subscribe();
        loop {
            let lately = asked.borrow_and_update().elapsed() < VISIT;
            if lately || self.memory().feeds.values().any(|feed| feed.is_read()) {
                return;
            }
            // The sender lives as long as the server.
            let _ = asked.changed().await;
        }
    }

    /// Lets time pass, faster by the simulator's speed. Too little to measure is only a chance for others to run.
    pub async fn pause(&self, time: Duration) {
        let time = time.div_f64(self.speed.max(1e-6));
        if time < Duration::from_millis(1) || self.hurried.load(Relaxed) {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(time).await;
        }
    }

    /// Waits until a test releases this name.
    pub async fn held(&self, name: &str) {
        let mut released = self.released.subscribe();
        // The sender lives as long as the server.
        let _ = released.wait_for(|released| released.contains(name)).await;
    }

    /// Lets the runs go on that wait for this name, now and later.
    pub fn release(&self, name: &str) {
        self.released.send_modify(|released| {
            released.insert(name.to_owned());
        });
    }

    /// The assistant that a client means: an id, or the name of a graph.
    pub fn assistant(&self, asked: &str) -> Option<Assistant> {
        let memory = self.memory();
        let own = Graph::named(asked).map(Graph::assistant);
        memory.assistants.iter().find(|one| one.id == asked || Some(one.id.as_str()) == own).cloned()
    }

    /// Its routes. What the dialect does not know is not there.
    pub fn router(self: &Arc<Self>) -> Router {
        let contract = Router::new()
            .route("/threads", post(threads::create))
            .route("/threads/{thread}/runs/stream", post(runs::stream))
            .route("/threads/{thread}/runs/{run}/stream", get(streams::join_run))
            .route("/threads/{thread}/stream", get(streams::thread))
            .route("/runs/stream", post(runs::stateless_stream));
        let router = if self.dialect == Dialect::Contract {
            contract
        } else {
            contract
                .route("/ok", get(|| async { json_response(StatusCode::OK, &json!({"ok": true, "services": {}})) }))
                .route("/info", get(info))
                .route("/assistants/search", post(threads::search_assistants))
                .route("/assistants/count", post(threads::count_assistants))
                .route("/assistants/{assistant}", get(threads::assistant))
                .route("/assistants/{assistant}/graph", get(threads::drawing))
                .route("/threads/search", post(threads::search))
                .route("/threads/count", post(threads::count))
                .route("/threads/{thread}", get(threads::get).patch(threads::patch).delete(threads::delete))
                .route("/threads/{thread}/state", get(threads::state).post(threads::update_state))
                .route("/threads/{thread}/state/{checkpoint}", get(threads::state_at))
                .route("/threads/{thread}/history", get(threads::history_get).post(threads::history_post))
                .route("/threads/{thread}/runs", post(runs::create).get(runs::list))
                .route("/threads/{thread}/runs/wait", post(runs::wait))
                .route("/threads/{thread}/runs/{run}", get(runs::get).delete(runs::delete))
                .route("/threads/{thread}/runs/{run}/join", get(runs::join))
                .route("/threads/{thread}/runs/{run}/cancel", post(runs::cancel))
                .route("/runs", post(runs::stateless_create))
                .route("/runs/wait", post(runs::stateless_wait))
        };
        router
            .fallback(|| async { detail(StatusCode::NOT_FOUND, "Not Found") })
            .method_not_allowed_fallback(|| async { detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed") })
            .layer(axum::middleware::from_fn_with_state(self.clone(), guard))
            .with_state(self.clone())
    }
}

/// Asks for the key, where one is wanted, and adds the headers that every answer of the real server has.
async fn guard(
    axum::extract::State(agent): axum::extract::State<Arc<Agent>>,
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> Response {
    let given = request.headers().get("x-api-key").and_then(|key| key.to_str().ok());
    if agent.key.is_some() && agent.key.as_deref() != given && request.method() != Method::OPTIONS {
        return detail(StatusCode::FORBIDDEN, "Missing authentication headers");
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::SERVER, HeaderValue::from_static("uvicorn"));
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    response
}

async fn info() -> Response {
    json_response(
        StatusCode::OK,
        &json!({
            "version": "0.16.7", "langgraph_py_version": "1.2.22",
            "flags": {"assistants": true, "crons": true, "langsmith": false, "langsmith_tracing_replicas": true,
                "langsmith_tracing_session_on_runs": true},
            "host": {"kind": "self-hosted", "project_id": null, "host_revision_id": null, "revision_id": null,
                "tenant_id": null},
        }),
    )
}

/// A JSON answer.
pub fn json_response(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An error as both services write it.
pub fn detail(status: StatusCode, text: &str) -> Response {
    json_response(status, &json!({"detail": text}))
}

/// An answer without a body.
pub fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Sets a header whose value we made ourselves; one that cannot be a header is left out.
pub fn set_header(response: &mut Response, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
}

/// The pairs of a query, in order, decoded.
pub fn query_pairs(uri: &axum::http::Uri) -> Vec<(String, String)> {
    let text = uri.query().unwrap_or_default();
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(key), decoded(value))
        })
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let hex = |byte: u8| char::from(byte).to_digit(16);
        match (byte, after) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [high, low, ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                bytes.push((hex(*high).unwrap_or(0) * 16 + hex(*low).unwrap_or(0)) as u8);
                rest = &after[2..];
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;

    #[tokio::test(start_paused = true)]
    async fn who_asked_a_minute_ago_is_gone_and_who_follows_a_thread_is_not() {
        let agent = Agent::new("a", "http://127.0.0.1:1", &crate::sim::Options::demo(), CancellationToken::new());
        let alone = async || futures::poll!(pin!(agent.company())).is_pending();
        assert!(!alone().await);
        tokio::time::advance(VISIT).await;
        assert!(alone().await);
        let mut waits = pin!(agent.company());
        assert!(futures::poll!(waits.as_mut()).is_pending());
        agent.visit();
        assert!(futures::poll!(waits).is_ready(), "it is told of somebody who comes");
        let reader = agent.thread_feed("t").reader(|_| true);
        tokio::time::advance(VISIT).await;
        assert!(!alone().await);
        drop(reader);
        assert!(alone().await);
    }
}
