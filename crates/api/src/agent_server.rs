//! An agent server: assistants, threads, runs and their streams (contract §4, agent-server reference §4 and §6).

mod cancel;
mod checkpoints;
mod compose;
mod find;
mod health;
mod runs;
mod threads;

use crate::prelude::*;
pub use cancel::{CancelState, CancelTarget};
pub use compose::{GraphFacts, PastInput};
use find::put_filter;
pub use find::{FoundThread, FoundThreads, ThreadPage};
pub use health::{ServerHealth, ServerLoad};
pub use runs::CancelAction;

use crate::http::{MAX_BODY, join};
use crate::lost_start::MARK;
use crate::pages::{NextPage, Page, PageRequest, Pages};
use crate::quirks::Quirks;
use crate::{EventStream, Retry};
use runtail_core::model::{Assistant, ThreadSort};
use std::borrow::Cow;
use std::future::Future;

/// The fields of a thread in a list: all but its values, which may be megabytes each. All servers with `select` accept
/// these; `error` is not one of them.
const THREAD_FIELDS: [&str; 7] = [
    "thread_id",
    "created_at",
    "updated_at",
    "state_updated_at",
    "metadata",
    "status",
    "interrupts",
];

/// Maximum number of states that are read to skip the newest ones.
const MAX_SKIPPED: usize = 1_000;

/// A client of an agent server, with the keys of one profile.
#[derive(Debug, Clone)]
pub struct AgentServer {
    pub(super) http: Http,
    pub(super) base: Url,
    /// The base as text, without a trailing slash.
    text: Arc<str>,
    retry: Retry,
    pub(super) quirks: Arc<Quirks>,
}

/// The server's software.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// The Python server.
    Python,
    /// The JavaScript server.
    JavaScript,
    Aegra,
    /// Aegra before 0.9.25: each event goes to one reader, and no run starts without an input.
    EarlyAegra,
    /// Another implementation of the contract.
    Other,
}

impl ServerKind {
    pub fn is_aegra(self) -> bool {
        matches!(self, ServerKind::Aegra | ServerKind::EarlyAegra)
    }

    /// Returns whether a run without an input continues a thread. Early Aegra refuses such a run with 422.
    pub fn continues_without_input(self) -> bool {
        self != ServerKind::EarlyAegra
    }

    /// Returns whether an update without values makes a thread idle that is busy without a run. Aegra answers such an update by
    /// reading the state, and JavaScript leaves the thread's status as it is.
    pub fn releases_by_update(self) -> bool {
        matches!(self, ServerKind::Python | ServerKind::Other)
    }

    /// Returns whether the server can copy threads. Aegra has no such call.
    pub(crate) fn copies_threads(self) -> bool {
        matches!(self, ServerKind::Python | ServerKind::JavaScript)
    }

    /// Returns whether an update without values ends a thread that stopped. Early Aegra answers such an update by reading the
    /// state.
    pub fn ends_by_update(self) -> bool {
        self != ServerKind::EarlyAegra
    }

    /// Returns whether runs go through their breakpoints: early Aegra accepts them, and does not stop.
    pub fn ignores_breakpoints(self) -> bool {
        self == ServerKind::EarlyAegra
    }
}

/// A server's description of itself.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// Its software.
    pub kind: ServerKind,
    /// Its version; empty if unknown.
    pub version: String,
    /// The whole response; null if the server has no `/info`.
    pub raw: Value,
}

impl ServerInfo {
    /// Returns the revision of the deployment that answered.
    pub fn revision(&self) -> Option<&str> {
        self.raw["host"]["host_revision_id"]
            .as_str()
            .filter(|id| !id.is_empty())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ThreadQuery {
    /// Maximum number of rows.
    pub limit: usize,
    /// Number of rows to skip.
    pub offset: usize,
    /// Only threads with this status.
    pub status: Option<String>,
    /// Only threads with this metadata (an object).
    pub metadata: Option<Value>,
    /// Only these threads, if the server supports the field; empty means all.
    pub ids: Vec<String>,
    /// Only threads whose state has these values (an object), if the server supports the field.
    pub values: Option<Value>,
    /// The order, if the server sorts.
    pub sort: ThreadSort,
    /// Whether the order is reversed: the rows that changed longest ago come first.
    pub oldest_first: bool,
    /// Paths to extract from the states, by alias, if the server supports it.
    pub extract: Map<String, Value>,
    /// Whether the rows have the whole states, which may be large.
    pub with_values: bool,
}

impl Default for ThreadQuery {
    fn default() -> ThreadQuery {
        ThreadQuery {
            limit: 50,
            offset: 0,
            status: None,
            metadata: None,
            ids: Vec::new(),
            values: None,
            sort: ThreadSort::default(),
            oldest_first: false,
            extract: Map::new(),
            with_values: false,
        }
    }
}

/// The fields of a start that we add, and that the contract doesn't have.
const OPTIONS: [&str; 3] = ["stream_resumable", "on_disconnect", "metadata"];

/// Returns whether an invalid request was refused for one of our optional fields.
fn names_option(error: &ApiError) -> bool {
    let Kind::Invalid(fields) = &error.kind else {
        return false;
    };
    fields
        .iter()
        .chain([&error.detail])
        .any(|said| OPTIONS.iter().any(|name| said.contains(name)))
}

/// Returns the path at which a run is started and streamed.
pub fn stream_path(thread: Option<&str>) -> Vec<&str> {
    match thread {
        Some(thread) => vec!["threads", thread, "runs", "stream"],
        None => vec!["runs", "stream"],
    }
}

/// Removes our optional fields from a start, but not the user's metadata. Returns whether it had any.
fn remove_options(body: &mut Value) -> bool {
    let Some(fields) = body.as_object_mut() else {
        return false;
    };
    let before = fields.len();
    fields.retain(|name, value| {
        let is_ours = |metadata: &Map<String, Value>| metadata.keys().all(|key| key == MARK);
        !OPTIONS.contains(&&**name)
            || (name == "metadata" && !value.as_object().is_some_and(is_ours))
    });
    fields.len() < before
}

/// Parses the response to `GET /info` (agent-server reference §6).
pub fn server_info(raw: Value) -> ServerInfo {
    let version = text::clean(text_of(&raw, "version")).into_owned();
    let kind = if raw["name"]
        .as_str()
        .is_some_and(|name| name.eq_ignore_ascii_case("aegra"))
    {
        // Aegra 0.6 calls itself 0.1.0.
        let mut parts = version
            .split('.')
            .map_while(|part| part.parse::<u32>().ok());
        let is_early = [(); 3].map(|()| parts.next().unwrap_or_default()) < [0, 9, 25];
        if is_early {
            ServerKind::EarlyAegra
        } else {
            ServerKind::Aegra
        }
    } else if raw["langgraph_js_version"].is_string() || raw["context"] == "js" {
        ServerKind::JavaScript
    } else if raw["langgraph_py_version"].is_string() {
        ServerKind::Python
    } else {
        ServerKind::Other
    };
    ServerInfo { kind, version, raw }
}

impl AgentServer {
    /// Creates a client from the server's base URL. Its origin is trusted with the profile's keys from then on, so use only
    /// addresses from the configuration or from the control plane's records.
    pub fn new(http: Http, base: Url) -> AgentServer {
        http.allow(&base);
        let text: Arc<str> = base.as_str().trim_end_matches('/').into();
        let quirks = http.quirks(&text);
        AgentServer {
            http,
            base,
            text,
            retry: Retry::NONE,
            quirks,
        }
    }

    /// Sets the retry policy for GETs; the default is no retries. Writes and streams are never retried.
    pub fn retrying(self, retry: Retry) -> AgentServer {
        AgentServer { retry, ..self }
    }

    /// Returns the server's address, without a trailing slash.
    pub fn base(&self) -> &str {
        &self.text
    }

    /// Returns the server's software, from `GET /info`. A server without that call is [`ServerKind::Other`].
    #[boxed]
    pub async fn info(&self) -> Result<ServerInfo, ApiError> {
        let raw: Value = match self.get(&["info"], &[]).await {
            Ok(answer) => answer.json()?,
            Err(e) if matches!(e.kind, Kind::NotFound | Kind::Status(405)) => {
                return Ok(ServerInfo {
                    kind: ServerKind::Other,
                    version: String::new(),
                    raw: Value::Null,
                });
            }
            Err(e) => return Err(e),
        };
        Ok(server_info(raw))
    }

    /// Returns whether an agent server responds: `GET /ok` says that it is healthy, or, where that is missing, `GET /info`
    /// names its software.
    #[boxed]
    pub async fn is_up(&self) -> bool {
        match self
            .get(&["ok"], &[])
            .await
            .and_then(|answer| answer.json::<Value>())
        {
            Ok(said) => said["ok"] == true,
            Err(error) if error.may_lack_call() => self
                .info()
                .await
                .is_ok_and(|info| info.kind != ServerKind::Other),
            Err(_) => false,
        }
    }

    /// Returns assistants in the server's order, with one request per page.
    #[boxed]
    pub async fn assistants(
        &self,
        limit: usize,
        offset: usize,
    ) -> Result<Listing<Assistant>, ApiError> {
        self.assistant_pages(limit, offset).whole().await
    }

    /// Like [`AgentServer::assistants`], as received.
    #[boxed]
    pub async fn assistant_rows(
        &self,
        limit: usize,
        offset: usize,
    ) -> Result<Listing<Value>, ApiError> {
        self.assistant_pages(limit, offset).whole().await
    }

    fn assistant_pages(&self, limit: usize, offset: usize) -> Pages<'_> {
        self.pages(
            "assistants",
            None,
            (limit, offset),
            usize::MAX,
            move |limit, offset| async move {
                self.search(
                    &["assistants", "search"],
                    &json!({"limit": limit, "offset": offset}),
                )
                .await
            },
        )
    }

    /// Returns an assistant as received.
    #[boxed]
    pub async fn assistant_row(&self, id: &str) -> Result<Value, ApiError> {
        self.get(&["assistants", id], &[]).await?.json()
    }

    /// Returns the graph of an assistant, by its id or by the graph's name: `{nodes, edges}`. `deep` includes subgraphs.
    #[boxed]
    pub async fn assistant_graph(&self, assistant: &str, deep: bool) -> Result<Value, ApiError> {
        let query = [("xray", "true".to_string())];
        self.get(
            &["assistants", assistant, "graph"],
            if deep { &query } else { &[] },
        )
        .await?
        .json()
    }

    /// Returns the graph of an assistant with its subgraphs, or without them if the server can't include them.
    #[boxed]
    pub async fn whole_graph(&self, assistant: &str) -> Result<Value, ApiError> {
        match self.assistant_graph(assistant, true).await {
            Err(error) if matches!(error.status(), Some(400 | 422 | 500 | 501)) => {
                self.assistant_graph(assistant, false).await
            }
            result => result,
        }
    }

    /// Starts a run, with or without a thread, and opens its stream. Never sent twice: if the response is lost, the run may
    /// exist nevertheless.
    #[boxed]
    pub async fn start_run(
        &self,
        thread: Option<&str>,
        body: &RunCreate,
    ) -> Result<EventStream, ApiError> {
        let url = self.url(&Method::POST, &stream_path(thread))?;
        let mut body = self.run_body(&url, body)?;
        if self.quirks.known().refuses_options {
            remove_options(&mut body);
        }
        match self
            .http
            .open(Method::POST, url.clone(), Some(&body), None)
            .await
        {
            // It was refused, so nothing was started.
            Err(error) if names_option(&error) && remove_options(&mut body) => {
                self.quirks.learn(|known| known.refuses_options = true);
                self.http.open(Method::POST, url, Some(&body), None).await
            }
            result => result,
        }
    }

    pub(super) fn run_body(&self, url: &Url, body: &RunCreate) -> Result<Value, ApiError> {
        let refused = |e: serde_json::Error| {
            self.http
                .refuse(&self.http.place(&Method::POST, url), e.to_string(), None)
        };
        serde_json::to_value(body).map_err(refused)
    }

    /// Opens the stream of an existing run. Modes are sent as a JSON list in one parameter, as the server expects; none means
    /// all. `last_event_id`: `-1` is the beginning.
    #[boxed]
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

    /// Returns whether the server has the call that joins a run, and not this run. Both missing are a 404, but not for `OPTIONS`.
    #[boxed]
    pub async fn is_run_missing(&self, thread: &str, run: &str) -> bool {
        let Ok(url) = self.url(&Method::GET, &["threads", thread, "runs", run, "stream"]) else {
            return false;
        };
        let is_missing = |answer: Result<EventStream, ApiError>| {
            answer.is_err_and(|error| error.status() == Some(404))
        };
        is_missing(self.http.open(Method::GET, url.clone(), None, None).await)
            && !is_missing(self.http.open(Method::OPTIONS, url, None, None).await)
    }

    /// Returns the error of a stream that could not be opened. `path` is relative to the server's base.
    pub fn refuse_stream(&self, path: &[&str], kind: Kind, detail: &str) -> ApiError {
        let at = match self.url(&Method::GET, path) {
            Ok(url) => self.http.place(&Method::GET, &url),
            Err(error) => error.at,
        };
        ApiError::new(kind, at, detail)
    }

    /// Whether the server is known to have no thread streams.
    pub fn lacks_thread_streams(&self) -> bool {
        self.quirks.known().lacks_thread_streams
    }

    /// Records that the server has no thread streams.
    pub fn note_thread_streams_missing(&self) {
        self.quirks.learn(|known| known.lacks_thread_streams = true);
    }

    /// Opens the stream of a thread. The contract repeats the parameter for each mode; the Python server takes one
    /// comma-separated value and uses only the last repeat (agent-server reference §4): `repeat_modes` chooses.
    /// `last_event_id`: `-` is the beginning.
    #[boxed]
    pub async fn thread_stream(
        &self,
        thread: &str,
        modes: &[String],
        repeat_modes: bool,
        last_event_id: Option<&str>,
    ) -> Result<EventStream, ApiError> {
        let mut url = self.url(&Method::GET, &["threads", thread, "stream"])?;
        if !modes.is_empty() {
            let values = if repeat_modes {
                modes.to_vec()
            } else {
                vec![modes.join(",")]
            };
            url.query_pairs_mut()
                .extend_pairs(values.iter().map(|value| ("stream_modes", value)));
        }
        self.http.open(Method::GET, url, None, last_event_id).await
    }

    /// Returns the pages of a list, whose rows are in the field `field` or are the whole answer. If a page size is rejected, a
    /// smaller one is tried and remembered.
    pub(super) fn pages<'a, F>(
        &'a self,
        what: impl Into<Cow<'static, str>>,
        field: Option<&'static str>,
        range: (usize, usize),
        page_size: usize,
        request: impl Fn(usize, usize) -> F + Send + Sync + 'a,
    ) -> Pages<'a>
    where
        F: Future<Output = Result<Answer, ApiError>> + Send + 'a,
    {
        let request = Arc::new(request);
        Pages::new(
            what,
            range,
            page_size,
            move |PageRequest {
                      limit: wanted,
                      offset,
                      ..
                  }| {
                let request = request.clone();
                Box::pin(async move {
                    loop {
                        let limit = wanted.min(self.quirks.known().largest_page());
                        let answer = match request(limit, offset).await {
                            Err(error)
                                if matches!(error.kind, Kind::Invalid(_))
                                    && self.quirks.page_refused(limit) =>
                            {
                                continue;
                            }
                            answer => answer?,
                        };
                        let rows = match field {
                            Some(field) => answer.rows(field)?,
                            None => answer.json()?,
                        };
                        let next = NextPage::of(&answer, rows.len(), limit);
                        return Ok(Page {
                            answer,
                            rows,
                            limit,
                            next,
                        });
                    }
                })
            },
        )
    }

    /// Returns a document of the server, such as the description of its calls.
    pub(super) async fn document(
        &self,
        parts: &[&str],
        max_bytes: usize,
    ) -> Result<Value, ApiError> {
        self.get_up_to(parts, &[], max_bytes).await?.json()
    }

    pub(super) async fn get(
        &self,
        parts: &[&str],
        query: &[(&str, String)],
    ) -> Result<Answer, ApiError> {
        self.get_up_to(parts, query, MAX_BODY).await
    }

    async fn get_up_to(
        &self,
        parts: &[&str],
        query: &[(&str, String)],
        max_bytes: usize,
    ) -> Result<Answer, ApiError> {
        let mut url = self.url(&Method::GET, parts)?;
        for (name, value) in query {
            url.query_pairs_mut().append_pair(name, value);
        }
        self.send(Method::GET, url, None, &[200], true, max_bytes)
            .await
    }

    async fn post(&self, parts: &[&str], body: &Value) -> Result<Answer, ApiError> {
        let url = self.url(&Method::POST, parts)?;
        self.call(Method::POST, url, Some(body), &[200, 201]).await
    }

    /// Sends a POST that only reads.
    pub(super) async fn search(&self, parts: &[&str], body: &Value) -> Result<Answer, ApiError> {
        self.search_up_to(parts, body, MAX_BODY).await
    }

    async fn search_up_to(
        &self,
        parts: &[&str],
        body: &Value,
        max_bytes: usize,
    ) -> Result<Answer, ApiError> {
        let url = self.url(&Method::POST, parts)?;
        self.send(Method::POST, url, Some(body), &[200], true, max_bytes)
            .await
    }

    async fn call(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
        expect: &[u16],
    ) -> Result<Answer, ApiError> {
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
        let optional = self.optional_call(&method, &url).filter(|_| reads);
        if let Some(error) = optional
            .as_deref()
            .and_then(|call| self.quirks.missing(call))
        {
            return Err(error);
        }
        let call = Call {
            body,
            expect,
            reads,
            retry: self.retry,
            max_body,
            ..Call::new(Service::Agent, method, url)
        };
        let answer = self.http.call(call).await;
        match &answer {
            Err(error) if error.kind == Kind::NoConnection => self.quirks.forget_missing(),
            Err(error) if error.may_lack_call() => {
                optional
                    .into_iter()
                    .for_each(|call| self.quirks.note_missing(&call, error.clone()));
            }
            _ => {}
        }
        answer
    }

    /// Returns the name of a call without ids: its 404 means that the server doesn't have the call.
    fn optional_call(&self, method: &Method, url: &Url) -> Option<String> {
        let path = url
            .path()
            .strip_prefix(self.base.path().trim_end_matches('/'))?
            .trim_start_matches('/');
        let has_no_id = match *method {
            Method::GET => !path.contains('/'),
            _ => matches!(
                path.rsplit_once('/'),
                Some((_, "search" | "count" | "namespaces"))
            ),
        };
        has_no_id.then(|| format!("{method} {path}"))
    }

    pub(super) fn url(&self, method: &Method, parts: &[&str]) -> Result<Url, ApiError> {
        join(&self.http, method, &self.base, parts)
    }
}
