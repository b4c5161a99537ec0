//! An agent server: assistants, threads, runs and their streams (contract §4, agent-server reference §4 and §6).

use super::answer::Plane;
use super::http::{Answer, Call, Http, REQUEST_TIMEOUT, join};
use super::{ApiError, EventStream, Kind, Retry};
use crate::model::{Assistant, Run, RunCreate, Thread};
use reqwest::{Method, Url};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// What is asked of a thread in a list: everything but its values, which may be megabytes each. These are the fields
/// that all servers with `select` know; `error` is not among them.
const THREAD_FIELDS: [&str; 6] = ["thread_id", "created_at", "updated_at", "metadata", "status", "interrupts"];

/// An agent server, spoken to with the keys of one profile.
#[derive(Debug, Clone)]
pub struct AgentServer {
    http: Http,
    base: Url,
    /// The base as text, without a trailing slash.
    text: Arc<str>,
    retry: Retry,
    /// How plainly this server must be asked for threads; found out once and kept, so that polls do not ask twice.
    plain: Arc<AtomicU8>,
}

/// Which software answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// The Python server.
    Python,
    /// The JavaScript server.
    JavaScript,
    /// Aegra.
    Aegra,
    /// Something else that speaks the contract.
    Other,
}

/// What a server says of itself.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// Which software it is.
    pub kind: ServerKind,
    /// Its version; empty where it says none.
    pub version: String,
    /// The whole answer; null where the server has no `/info`.
    pub raw: Value,
}

/// Which threads to list.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadQuery {
    /// Most rows.
    pub limit: usize,
    /// Rows to leave out.
    pub offset: usize,
    /// Only with this status.
    pub status: Option<String>,
    /// Only with these notes (an object).
    pub metadata: Option<Value>,
}

impl Default for ThreadQuery {
    fn default() -> ThreadQuery {
        ThreadQuery { limit: 50, offset: 0, status: None, metadata: None }
    }
}

/// What the answer to `GET /info` says of a server (agent-server reference §6).
pub(super) fn server_info(raw: Value) -> ServerInfo {
    let kind = if raw["name"].as_str().is_some_and(|name| name.eq_ignore_ascii_case("aegra")) {
        ServerKind::Aegra
    } else if raw["langgraph_js_version"].is_string() || raw["context"] == "js" {
        ServerKind::JavaScript
    } else if raw["langgraph_py_version"].is_string() {
        ServerKind::Python
    } else {
        ServerKind::Other
    };
    let version = crate::text::clean(raw["version"].as_str().unwrap_or_default()).into_owned();
    ServerInfo { kind, version, raw }
}

impl AgentServer {
    /// An agent server by its base. Its origin is trusted with the profile's keys from now on: call this with addresses
    /// out of the configuration or of the control plane's own records only.
    pub fn new(http: Http, base: Url) -> AgentServer {
        http.allow(&base);
        let text = base.as_str().trim_end_matches('/').into();
        AgentServer { http, base, text, retry: Retry::NONE, plain: Arc::default() }
    }

    /// The same with another policy for GETs; without this every request is made once. What writes, and every stream,
    /// is asked for once whatever this says.
    pub fn retrying(self, retry: Retry) -> AgentServer {
        AgentServer { retry, ..self }
    }

    /// The server's address, without a trailing slash.
    pub fn base(&self) -> &str {
        &self.text
    }

    /// Which software answers, from `GET /info`. A server without that call is [`ServerKind::Other`].
    pub async fn info(&self) -> Result<ServerInfo, ApiError> {
        let raw: Value = match self.get(&["info"], &[]).await {
            Ok(answer) => answer.json()?,
            Err(e) if matches!(e.kind, Kind::NotFound | Kind::Status(405)) => {
                return Ok(ServerInfo { kind: ServerKind::Other, version: String::new(), raw: Value::Null });
            }
            Err(e) => return Err(e),
        };
        Ok(server_info(raw))
    }

    /// Assistants, in the server's order.
    pub async fn assistants(&self, limit: usize, offset: usize) -> Result<Vec<Assistant>, ApiError> {
        self.search(&["assistants", "search"], &json!({"limit": limit, "offset": offset})).await?.json()
    }

    /// Assistants as the server describes them.
    pub async fn assistant_rows(&self, limit: usize, offset: usize) -> Result<Vec<Value>, ApiError> {
        self.search(&["assistants", "search"], &json!({"limit": limit, "offset": offset})).await?.json()
    }

    /// One assistant as the server describes it.
    pub async fn assistant_row(&self, id: &str) -> Result<Value, ApiError> {
        self.get(&["assistants", id], &[]).await?.json()
    }

    /// The graph of an assistant, by its id or by the graph's name: `{nodes, edges}`. `deep` looks into subgraphs.
    pub async fn assistant_graph(&self, assistant: &str, deep: bool) -> Result<Value, ApiError> {
        let query = [("xray", "true".to_string())];
        self.get(&["assistants", assistant, "graph"], if deep { &query } else { &[] }).await?.json()
    }

    /// Threads, newest first by their last change, without their values where the server can leave them out.
    pub async fn threads(&self, query: &ThreadQuery) -> Result<Vec<Thread>, ApiError> {
        let mut threads: Vec<Thread> = self.search_threads(query).await?.json()?;
        threads.sort_by_key(|t| std::cmp::Reverse(t.updated_at.or(t.created_at)));
        Ok(threads)
    }

    /// Threads as the server describes them, in its order.
    pub async fn thread_rows(&self, query: &ThreadQuery) -> Result<Vec<Value>, ApiError> {
        self.search_threads(query).await?.json()
    }

    /// One thread.
    pub async fn thread(&self, id: &str) -> Result<Thread, ApiError> {
        self.get(&["threads", id], &[]).await?.json()
    }

    /// One thread as the server describes it.
    pub async fn thread_row(&self, id: &str) -> Result<Value, ApiError> {
        self.get(&["threads", id], &[]).await?.json()
    }

    /// Creates a thread; an empty object is enough of a body. Sent once.
    pub async fn create_thread(&self, body: &Value) -> Result<Thread, ApiError> {
        self.post(&["threads"], body).await?.json()
    }

    /// Creates a thread and gives it as the server describes it.
    pub async fn create_thread_row(&self, body: &Value) -> Result<Value, ApiError> {
        self.post(&["threads"], body).await?.json()
    }

    /// Deletes a thread with its runs and checkpoints. Sent once.
    pub async fn delete_thread(&self, id: &str) -> Result<(), ApiError> {
        let url = self.url(&Method::DELETE, &["threads", id])?;
        self.call(Method::DELETE, url, None, &[200, 202, 204]).await.map(drop)
    }

    /// Runs of a thread as the server describes them, in its order.
    pub async fn run_rows(&self, thread: &str, limit: usize, offset: usize) -> Result<Vec<Value>, ApiError> {
        let query = [("limit", limit.to_string()), ("offset", offset.to_string())];
        self.get(&["threads", thread, "runs"], &query).await?.json()
    }

    /// One run as the server describes it.
    pub async fn run_row(&self, thread: &str, run: &str) -> Result<Value, ApiError> {
        self.get(&["threads", thread, "runs", run], &[]).await?.json()
    }

    /// Runs of a thread, newest first.
    pub async fn runs(&self, thread: &str, limit: usize) -> Result<Vec<Run>, ApiError> {
        let answer = self.get(&["threads", thread, "runs"], &[("limit", limit.to_string())]).await?;
        let mut runs: Vec<Run> = answer.json()?;
        runs.sort_by_key(|r| std::cmp::Reverse(r.created_at));
        Ok(runs)
    }

    /// One run.
    pub async fn run(&self, thread: &str, run: &str) -> Result<Run, ApiError> {
        self.get(&["threads", thread, "runs", run], &[]).await?.json()
    }

    /// Cancels a run and does not wait for its end. Sent once; 404 says that there is nothing left to cancel. Servers
    /// answer 202, 204 or 200.
    pub async fn cancel(&self, thread: &str, run: &str) -> Result<(), ApiError> {
        let mut url = self.url(&Method::POST, &["threads", thread, "runs", run, "cancel"])?;
        url.query_pairs_mut().append_pair("wait", "0").append_pair("action", "interrupt");
        self.call(Method::POST, url, Some(&json!({})), &[200, 202, 204]).await.map(drop)
    }

    /// The state of a thread: `{values, next, tasks, interrupts, …}`.
    pub async fn thread_state(&self, thread: &str) -> Result<Value, ApiError> {
        self.get(&["threads", thread, "state"], &[]).await?.json()
    }

    /// The states that a thread went through, newest first, from before a checkpoint on or from the newest. Without a
    /// limit the Python server would give one.
    pub async fn thread_history(
        &self,
        thread: &str,
        limit: usize,
        before: Option<&str>,
    ) -> Result<Vec<Value>, ApiError> {
        let mut query = vec![("limit", limit.to_string())];
        query.extend(before.map(|id| ("before", id.to_string())));
        self.get(&["threads", thread, "history"], &query).await?.json()
    }

    /// Starts a run on a thread, or one without a thread, and opens its stream. Never sent twice: where the answer is
    /// lost, the run may exist all the same.
    pub async fn start_run(&self, thread: Option<&str>, body: &RunCreate) -> Result<EventStream, ApiError> {
        let url = match thread {
            Some(thread) => self.url(&Method::POST, &["threads", thread, "runs", "stream"])?,
            None => self.url(&Method::POST, &["runs", "stream"])?,
        };
        let body = serde_json::to_value(body)
            .map_err(|e| self.http.refuse(&self.http.place(&Method::POST, &url), e.to_string(), None))?;
        self.http.open(Method::POST, url, Some(&body), None).await
    }

    /// Opens the stream of a run that is there already. Several modes travel as a JSON list in one parameter, which is
    /// how the server reads them; none means all. `last_event_id`: `-1` is the beginning.
    pub async fn join_run(
        &self,
        thread: &str,
        run: &str,
        modes: &[String],
        last_event_id: Option<&str>,
    ) -> Result<EventStream, ApiError> {
        let mut url = self.url(&Method::GET, &["threads", thread, "runs", run, "stream"])?;
        let asked = match modes {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(json!(several).to_string()),
        };
        if let Some(asked) = asked {
            url.query_pairs_mut().append_pair("stream_mode", &asked);
        }
        self.http.open(Method::GET, url, None, last_event_id).await
    }

    /// The error of a run's stream that is not opened.
    pub(crate) fn refuse_stream(&self, thread: &str, run: &str, kind: Kind, detail: &str) -> ApiError {
        let at = match self.url(&Method::GET, &["threads", thread, "runs", run, "stream"]) {
            Ok(url) => self.http.place(&Method::GET, &url),
            Err(error) => error.at,
        };
        ApiError { kind, at, detail: detail.into(), hint: None }
    }

    /// Opens the stream of a whole thread. The contract repeats the parameter for each mode; the Python server reads one
    /// value with commas and honours only the last repeat (agent-server reference §4): `repeat_modes` chooses.
    /// `last_event_id`: `-` is the beginning.
    pub async fn thread_stream(
        &self,
        thread: &str,
        modes: &[String],
        repeat_modes: bool,
        last_event_id: Option<&str>,
    ) -> Result<EventStream, ApiError> {
        let mut url = self.url(&Method::GET, &["threads", thread, "stream"])?;
        if !modes.is_empty() {
            let values = if repeat_modes { modes.to_vec() } else { vec![modes.join(",")] };
            url.query_pairs_mut().extend_pairs(values.iter().map(|value| ("stream_modes", value)));
        }
        self.http.open(Method::GET, url, None, last_event_id).await
    }

    /// Asks for threads as well as the server can: sorted and without values, then sorted, then plainly.
    async fn search_threads(&self, query: &ThreadQuery) -> Result<Answer, ApiError> {
        let mut body = json!({"limit": query.limit, "offset": query.offset});
        if let Some(status) = &query.status {
            body["status"] = json!(status);
        }
        if let Some(metadata) = &query.metadata {
            body["metadata"] = metadata.clone();
        }
        let known = self.plain.load(Ordering::Relaxed);
        let mut first = None;
        for level in known..=2 {
            let mut body = body.clone();
            if level < 2 {
                body["sort_by"] = json!("updated_at");
                body["sort_order"] = json!("desc");
            }
            if level < 1 {
                body["select"] = json!(THREAD_FIELDS);
            }
            match self.search(&["threads", "search"], &body).await {
                Ok(answer) => {
                    self.plain.store(level, Ordering::Relaxed);
                    return Ok(answer);
                }
                // Refused for something else, the plainest form fails too; the first refusal then tells more.
                Err(e) if matches!(e.kind, Kind::Invalid(_)) => first = first.or(Some(e)),
                Err(e) => return Err(e),
            }
        }
        Err(first.unwrap_or_else(|| {
            let at = self.http.place(&Method::POST, &self.base);
            self.http.refuse(&at, "the list of threads was refused".into(), None)
        }))
    }

    async fn get(&self, parts: &[&str], query: &[(&str, String)]) -> Result<Answer, ApiError> {
        let mut url = self.url(&Method::GET, parts)?;
        for (name, value) in query {
            url.query_pairs_mut().append_pair(name, value);
        }
        self.call(Method::GET, url, None, &[200]).await
    }

    async fn post(&self, parts: &[&str], body: &Value) -> Result<Answer, ApiError> {
        let url = self.url(&Method::POST, parts)?;
        self.call(Method::POST, url, Some(body), &[200, 201]).await
    }

    /// A POST that carries a question and changes nothing.
    async fn search(&self, parts: &[&str], body: &Value) -> Result<Answer, ApiError> {
        let url = self.url(&Method::POST, parts)?;
        self.send(Method::POST, url, Some(body), &[200], true).await
    }

    async fn call(&self, method: Method, url: Url, body: Option<&Value>, expect: &[u16]) -> Result<Answer, ApiError> {
        let reads = method == Method::GET;
        self.send(method, url, body, expect, reads).await
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
        expect: &[u16],
        reads: bool,
    ) -> Result<Answer, ApiError> {
        let (plane, retry, timeout) = (Plane::Agent, self.retry, REQUEST_TIMEOUT);
        let call = Call { plane, method, url, body, about: None, expect, is_list: false, reads, retry, timeout };
        self.http.call(call).await
    }

    fn url(&self, method: &Method, parts: &[&str]) -> Result<Url, ApiError> {
        join(&self.http, method, &self.base, parts)
    }
}
