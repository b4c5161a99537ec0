//! An agent server: assistants, threads, runs and their streams (contract §4, agent-server reference §4 and §6).

mod cancel;
mod quirks;
mod runs;

pub use cancel::{CancelState, CancelTarget};
pub(super) use quirks::Quirks;
pub use runs::CancelAction;

use super::answer::Plane;
use super::http::{Answer, Call, Http, MAX_BODY, REQUEST_TIMEOUT, join};
use super::rows::{Received, Row};
use super::{ApiError, EventStream, Kind, Retry};
use reqwest::{Method, Url};
use runtail_core::model::{Assistant, RunCreate, Thread};
use runtail_core::text;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::convert::identity;
use std::sync::Arc;

/// What is asked of a thread in a list: everything but its values, which may be megabytes each. These are the fields
/// that all servers with `select` know; `error` is not among them.
const THREAD_FIELDS: [&str; 6] = ["thread_id", "created_at", "updated_at", "metadata", "status", "interrupts"];

/// An agent server, spoken to with the keys of one profile.
#[derive(Debug, Clone)]
pub struct AgentServer {
    pub(super) http: Http,
    pub(super) base: Url,
    /// The base as text, without a trailing slash.
    text: Arc<str>,
    retry: Retry,
    quirks: Arc<Quirks>,
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
    /// Only these threads, where the server knows the field; none means all.
    pub ids: Vec<String>,
}

impl Default for ThreadQuery {
    fn default() -> ThreadQuery {
        ThreadQuery { limit: 50, offset: 0, status: None, metadata: None, ids: Vec::new() }
    }
}

/// A list that is read in pages, and the rows wanted of it.
#[derive(Clone, Copy)]
enum List<'q> {
    Assistants { limit: usize, offset: usize },
    Threads(&'q ThreadQuery),
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
    let version = text::clean(raw["version"].as_str().unwrap_or_default()).into_owned();
    ServerInfo { kind, version, raw }
}

impl AgentServer {
    /// An agent server by its base. Its origin is trusted with the profile's keys from now on: call this with addresses
    /// out of the configuration or of the control plane's own records only.
    pub fn new(http: Http, base: Url) -> AgentServer {
        http.allow(&base);
        let text: Arc<str> = base.as_str().trim_end_matches('/').into();
        let quirks = http.quirks(&text);
        AgentServer { http, base, text, retry: Retry::NONE, quirks }
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

    /// Assistants, in the server's order, in as many requests as the server's page size takes.
    pub async fn assistants(&self, limit: usize, offset: usize) -> Result<Vec<Assistant>, ApiError> {
        self.pages(List::Assistants { limit, offset }, identity).await
    }

    /// The same as [`AgentServer::assistants`], as the server describes them.
    pub async fn assistant_rows(&self, limit: usize, offset: usize) -> Result<Vec<Value>, ApiError> {
        self.pages(List::Assistants { limit, offset }, identity).await
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

    /// Threads, newest first by their last change, without their values.
    pub async fn threads(&self, query: &ThreadQuery) -> Result<Vec<Thread>, ApiError> {
        let mut threads = self.pages(List::Threads(query), Thread::in_a_list).await?;
        threads.sort_by_key(|t| std::cmp::Reverse(t.updated_at.or(t.created_at)));
        Ok(threads)
    }

    /// Threads as the server describes them, in its order.
    pub async fn thread_rows(&self, query: &ThreadQuery) -> Result<Vec<Value>, ApiError> {
        self.pages(List::Threads(query), identity).await
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

    /// Counts threads, where the server offers that.
    pub async fn count_threads(&self, status: Option<&str>, metadata: Option<&Value>) -> Result<u64, ApiError> {
        let mut body = json!({});
        if let Some(status) = status {
            body["status"] = status.into();
        }
        if let Some(metadata) = metadata {
            body["metadata"] = metadata.clone();
        }
        self.search(&["threads", "count"], &body).await?.json()
    }

    /// Copies a thread with its history, where the server offers that. Sent once.
    pub async fn copy_thread(&self, id: &str) -> Result<Value, ApiError> {
        self.post(&["threads", id, "copy"], &json!({})).await?.json()
    }

    /// Deletes a thread with its runs and checkpoints. Sent once.
    pub async fn delete_thread(&self, id: &str) -> Result<(), ApiError> {
        let url = self.url(&Method::DELETE, &["threads", id])?;
        self.call(Method::DELETE, url, None, &[200, 202, 204]).await.map(drop)
    }

    /// The record of a thread as received.
    ///
    /// # Errors
    /// [`Kind::TooLarge`] where the answer is larger than `max_bytes`; see [`ApiError`] for the rest.
    pub async fn thread_raw(&self, id: &str, max_bytes: usize) -> Result<Box<RawValue>, ApiError> {
        self.get_up_to(&["threads", id], &[], max_bytes).await?.json()
    }

    /// The state of a thread: `{values, next, tasks, interrupts, …}`.
    pub async fn thread_state(&self, thread: &str) -> Result<Value, ApiError> {
        self.get(&["threads", thread, "state"], &[]).await?.json()
    }

    /// The state of a thread as received.
    ///
    /// # Errors
    /// [`Kind::TooLarge`] where the answer is larger than `max_bytes`; see [`ApiError`] for the rest.
    pub async fn thread_state_raw(&self, thread: &str, max_bytes: usize) -> Result<Box<RawValue>, ApiError> {
        self.get_up_to(&["threads", thread, "state"], &[], max_bytes).await?.json()
    }

    /// The past states of a thread, newest first; only those before the checkpoint `before`, where one is given. The
    /// limit is always sent, because the Python server's default is one.
    pub async fn thread_history(
        &self,
        thread: &str,
        limit: usize,
        before: Option<&str>,
    ) -> Result<Vec<Value>, ApiError> {
        self.history(thread, limit, before, MAX_BODY).await?.json()
    }

    /// The same as [`AgentServer::thread_history`], each state as received. Every state repeats all values of the thread,
    /// so a limit that fits one thread is too much for another: on [`Kind::TooLarge`] request fewer.
    ///
    /// # Errors
    /// [`Kind::TooLarge`] where the answer is larger than `max_bytes`; see [`ApiError`] for the rest.
    pub async fn thread_history_raw(
        &self,
        thread: &str,
        limit: usize,
        before: Option<&str>,
        max_bytes: usize,
    ) -> Result<Vec<Box<RawValue>>, ApiError> {
        self.history(thread, limit, before, max_bytes).await?.json()
    }

    async fn history(
        &self,
        thread: &str,
        limit: usize,
        before: Option<&str>,
        max_bytes: usize,
    ) -> Result<Answer, ApiError> {
        let mut query = vec![("limit", limit.to_string())];
        query.extend(before.map(|id| ("before", id.to_string())));
        self.get_up_to(&["threads", thread, "history"], &query, max_bytes).await
    }

    /// Edits the state of a thread: `{values, as_node, checkpoint_id}` (acting reference §6). Returns the new checkpoint.
    /// Sent once.
    pub async fn update_state(&self, thread: &str, body: &Value) -> Result<Value, ApiError> {
        self.post(&["threads", thread, "state"], body).await?.json()
    }

    /// Starts a run on a thread, or one without a thread, and opens its stream. Never sent twice: where the answer is
    /// lost, the run may exist all the same.
    pub async fn start_run(&self, thread: Option<&str>, body: &RunCreate) -> Result<EventStream, ApiError> {
        let url = match thread {
            Some(thread) => self.url(&Method::POST, &["threads", thread, "runs", "stream"])?,
            None => self.url(&Method::POST, &["runs", "stream"])?,
        };
        let body = self.run_body(&url, body)?;
        self.http.open(Method::POST, url, Some(&body), None).await
    }

    pub(super) fn run_body(&self, url: &Url, body: &RunCreate) -> Result<Value, ApiError> {
        let refused =
            |e: serde_json::Error| self.http.refuse(&self.http.place(&Method::POST, url), e.to_string(), None);
        serde_json::to_value(body).map_err(refused)
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

    /// The error of a stream that is not opened. `path` is its path below the server's base.
    pub fn refuse_stream(&self, path: &[&str], kind: Kind, detail: &str) -> ApiError {
        let at = match self.url(&Method::GET, path) {
            Ok(url) => self.http.place(&Method::GET, &url),
            Err(error) => error.at,
        };
        ApiError { kind, at, detail: detail.into(), hint: None }
    }

    /// Whether the server is known to have no streams of whole threads.
    pub fn lacks_thread_streams(&self) -> bool {
        self.quirks.lacks_thread_streams()
    }

    /// Notes that the server has no streams of whole threads.
    pub fn note_thread_streams_missing(&self) {
        self.quirks.note_thread_streams_missing();
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
        if !query.ids.is_empty() {
            body["ids"] = json!(query.ids);
        }
        let known = self.quirks.thread_search();
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
                    self.quirks.set_thread_search(level);
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

    /// Rows of a list that is read in pages, each request by a limit and an offset, and `kept` of each row. A page that is
    /// refused as too large is requested again in a smaller size, which is remembered.
    async fn pages<T: DeserializeOwned>(&self, list: List<'_>, kept: impl Fn(T) -> T) -> Result<Vec<T>, ApiError> {
        let (limit, offset) = match list {
            List::Assistants { limit, offset } => (limit, offset),
            List::Threads(query) => (query.limit, query.offset),
        };
        let mut rows = Vec::new();
        let mut received = Received::default();
        let mut read = 0;
        while read < limit {
            let wanted = (limit - read).min(self.quirks.largest_page());
            let page = (wanted, offset + read);
            let answer = match self.page(list, page).await {
                Err(error) if matches!(error.kind, Kind::Invalid(_)) && self.quirks.page_refused(wanted) => continue,
                answer => answer?,
            };
            let page: Vec<Row> = answer.json()?;
            read += page.len();
            let is_last = page.is_empty() || (page.len() < wanted && !answer.has_next_page());
            for row in received.new_of(page) {
                if !row.get().starts_with('{') {
                    return Err(answer.odd(&format!("a row is not a record: {}", text::fit(row.get(), 40))));
                }
                let row = text::depth::parse(row.get().as_bytes());
                rows.push(kept(row.map_err(|e| answer.odd(&e.to_string()))?));
            }
            if is_last {
                break;
            }
            if received.is_full() {
                let n = rows.len();
                let mut error = answer.odd(&format!("the first {n} rows take as much memory as a list may"));
                error.hint = Some("request fewer of them (--limit)".into());
                return Err(error);
            }
        }
        Ok(rows)
    }

    async fn page(&self, list: List<'_>, (limit, offset): (usize, usize)) -> Result<Answer, ApiError> {
        match list {
            List::Assistants { .. } => {
                self.search(&["assistants", "search"], &json!({"limit": limit, "offset": offset})).await
            }
            List::Threads(query) => self.search_threads(&ThreadQuery { limit, offset, ..query.clone() }).await,
        }
    }

    async fn get(&self, parts: &[&str], query: &[(&str, String)]) -> Result<Answer, ApiError> {
        self.get_up_to(parts, query, MAX_BODY).await
    }

    async fn get_up_to(&self, parts: &[&str], query: &[(&str, String)], max_bytes: usize) -> Result<Answer, ApiError> {
        let mut url = self.url(&Method::GET, parts)?;
        for (name, value) in query {
            url.query_pairs_mut().append_pair(name, value);
        }
        self.send(Method::GET, url, None, &[200], true, max_bytes).await
    }

    async fn post(&self, parts: &[&str], body: &Value) -> Result<Answer, ApiError> {
        let url = self.url(&Method::POST, parts)?;
        self.call(Method::POST, url, Some(body), &[200, 201]).await
    }

    /// A POST that carries a question and changes nothing.
    async fn search(&self, parts: &[&str], body: &Value) -> Result<Answer, ApiError> {
        let url = self.url(&Method::POST, parts)?;
        self.send(Method::POST, url, Some(body), &[200], true, MAX_BODY).await
    }

    async fn call(&self, method: Method, url: Url, body: Option<&Value>, expect: &[u16]) -> Result<Answer, ApiError> {
        let reads = method == Method::GET;
        self.send(method, url, body, expect, reads, MAX_BODY).await
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
        expect: &[u16],
        reads: bool,
        max_body: usize,
    ) -> Result<Answer, ApiError> {
        let (plane, retry, timeout) = (Plane::Agent, self.retry, REQUEST_TIMEOUT);
        let call =
            Call { plane, method, url, body, about: None, expect, is_list: false, reads, retry, timeout, max_body };
        self.http.call(call).await
    }

    pub(super) fn url(&self, method: &Method, parts: &[&str]) -> Result<Url, ApiError> {
        join(&self.http, method, &self.base, parts)
    }
}
