//! A server of fixed answers, which records the requests that it receives.

use crate::normal::sorted;
use anyhow::Context;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use regex::{Captures, Regex};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use tokio::runtime::Runtime;

const WORLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/world.txt");
/// The folder that `@FILE` in an answer is relative to.
const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));
static FRAGMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\$\{([^}]+)\}").expect("a regex"));
/// An id, a UUID.
static ID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").expect("a regex"));
/// Headers that every client sends, or that depend on the connection.
const USUAL: [&str; 5] = [
    "host",
    "accept-encoding",
    "content-length",
    "user-agent",
    "connection",
];
/// Headers whose values are part of a request. Of others, which may be secrets, only the names are.
const PLAIN: [&str; 3] = ["accept", "content-type", "last-event-id"];

#[derive(Clone, Debug, Default)]
struct Answer {
    method: String,
    path: String,
    query: Vec<String>,
    /// Texts that the request's body must contain.
    contains: Vec<String>,
    headers: Vec<(String, String)>,
    status: u16,
    /// Whether the connection stays open after the body.
    hold: bool,
    /// Whether the connection is closed instead of an answer.
    cut: bool,
    body: String,
}

impl Answer {
    /// Parses `METHOD PATH[?QUERY] [STATUS] [hold] [cut] [~TEXT]… [HEADER=VALUE]…`; the body follows below.
    fn parse(head: &str) -> Option<Answer> {
        let mut words = head.split(' ');
        let method = words
            .next()
            .filter(|word| ["GET", "POST", "PUT", "PATCH", "DELETE"].contains(word))?;
        let (path, query) = words
            .next()
            .map(|target| target.split_once('?').unwrap_or((target, "")))?;
        let query = query
            .split('&')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        let (method, path) = (method.to_owned(), path.to_owned());
        let mut answer = Answer {
            method,
            path,
            query,
            status: 200,
            ..Answer::default()
        };
        for word in words {
            match (word, word.strip_prefix('~'), word.split_once('=')) {
                ("hold", ..) => answer.hold = true,
                ("cut", ..) => answer.cut = true,
                (_, Some(text), _) => answer.contains.push(text.to_owned()),
                (_, _, Some((name, value))) => {
                    answer.headers.push((name.to_owned(), value.to_owned()))
                }
                _ => answer.status = word.parse().ok()?,
            }
        }
        Some(answer)
    }

    fn fits(&self, method: &str, path: &str, query: &str, body: &str) -> bool {
        // The second agent server has the same answers.
        let path = path.strip_prefix("/two").unwrap_or(path);
        let (mut wanted, mut segments) = (self.path.split('/'), path.split('/'));
        let same_path = loop {
            match (wanted.next(), segments.next()) {
                (None, None) => break true,
                (Some(wanted), Some(segment)) if wanted == "*" || wanted == segment => {}
                _ => break false,
            }
        };
        same_path
            && self.method == method
            && self
                .query
                .iter()
                .all(|part| query.split('&').any(|other| other == part))
            && self.contains.iter().all(|text| body.contains(text))
    }
}

#[derive(Default)]
struct Known {
    fragments: BTreeMap<String, String>,
    /// The last one that fits is sent, so that scripts can replace answers.
    answers: Vec<Answer>,
    requests: Vec<String>,
    /// The ids in the answers so far.
    ids: BTreeSet<String>,
    /// The ids that the client made, in the order in which they were seen.
    client_ids: Vec<String>,
}

impl Known {
    fn note_client_ids(&mut self, text: &str) {
        for id in ID.find_iter(text).map(|found| found.as_str().to_owned()) {
            if !self.ids.contains(&id) && !self.client_ids.contains(&id) {
                self.client_ids.push(id);
            }
        }
    }

    fn note_ids(&mut self, text: &str) {
        let ids = ID.find_iter(text).map(|found| found.as_str().to_owned());
        self.ids
            .extend(ids.filter(|id| !self.client_ids.contains(id)));
    }
}

/// A server on a port of its own.
pub struct World {
    known: Mutex<Known>,
    in_flight: AtomicUsize,
    pub port: u16,
    base: String,
    started: Timestamp,
}

impl World {
    /// Starts a server with the answers of `world.txt`.
    pub fn start() -> anyhow::Result<Arc<World>> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let base = format!("http://127.0.0.1:{port}");
        let started = Timestamp::now();
        let world = Arc::new(World {
            known: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            port,
            base,
            started,
        });
        world.add(&std::fs::read_to_string(WORLD).context(WORLD)?)?;
        let router = Router::new().fallback(serve).with_state(Arc::clone(&world));
        RUNTIME.spawn(async move {
            axum::serve(tokio::net::TcpListener::from_std(listener)?, router).await
        });
        Ok(world)
    }

    /// Adds fragments (`NAME := TEXT`) and answers, which come before the present ones.
    pub fn add(&self, text: &str) -> anyhow::Result<()> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_open = false;
        known.note_ids(text);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(answer) = Answer::parse(&self.fill(line, &known.fragments, "")) {
                known.answers.push(answer);
                is_open = true;
            } else if let Some((name, value)) = line.split_once(" := ") {
                known.fragments.insert(name.to_owned(), value.to_owned());
            } else if line.is_empty() {
                is_open = false;
            } else {
                let answer = known.answers.last_mut().filter(|_| is_open);
                let answer = answer.ok_or_else(|| {
                    anyhow::anyhow!("the world has a line without a request: {line}")
                })?;
                answer.body += line;
                answer.body.push('\n');
            }
        }
        Ok(())
    }

    /// Replaces `${NAME}` in a text of a script.
    pub fn filled(&self, text: &str) -> String {
        self.fill(
            text,
            &self
                .known
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .fragments,
            "",
        )
    }

    /// Replaces `${base}`, `${-SPAN}` (a time before the start), `${body.FIELD}`, `${@FILE#POINTER}` and fragments.
    fn fill(&self, text: &str, fragments: &BTreeMap<String, String>, body: &str) -> String {
        let replace = |found: &Captures<'_>| {
            let name = &found[1];
            if let Some(file) = name.strip_prefix('@') {
                return self.fill(&included(file), fragments, body);
            }
            if let Some(field) = name.strip_prefix("body.") {
                let body: Value = serde_json::from_str(body).unwrap_or_default();
                return body[field]
                    .as_str()
                    .unwrap_or("00000000-0000-4000-8000-00000000000b")
                    .to_owned();
            }
            if let Some(span) = name
                .strip_prefix('-')
                .and_then(|span| span.parse::<SignedDuration>().ok())
            {
                return format!("{:.6}", self.started - span);
            }
            match name {
                "base" => self.base.clone(),
                _ => match fragments.get(name) {
                    Some(text) => self.fill(text, fragments, body),
                    None => found[0].to_owned(),
                },
            }
        };
        FRAGMENT.replace_all(text, replace).into_owned()
    }

    /// Returns whether a request isn't answered yet.
    pub fn is_busy(&self) -> bool {
        self.in_flight.load(Ordering::SeqCst) > 0
    }

    /// Returns the requests so far, in the order of their arrival.
    pub fn requests(&self) -> Vec<String> {
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .requests
            .clone()
    }

    /// Returns the place of an id among those that the client made; `None` for one of the world.
    pub fn client_id(&self, id: &str) -> Option<usize> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.note_client_ids(id);
        known.client_ids.iter().position(|one| one == id)
    }

    /// Returns the ids that the client made.
    pub fn client_ids(&self) -> Vec<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.client_ids.clone()
    }

    fn answer(&self, method: &str, path: &str, query: &str, headers: &str, body: &str) -> Answer {
        let mut parts: Vec<_> = query.split('&').collect();
        parts.sort_unstable();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.note_client_ids(path);
        known.note_client_ids(body);
        known.requests.push(format!(
            "{method} {path}?{} [{headers}] {body}",
            parts.join("&")
        ));
        let answer = known
            .answers
            .iter()
            .rev()
            .find(|answer| answer.fits(method, path, query, body))
            .cloned();
        let mut answer = answer.unwrap_or_else(|| Answer {
            status: 404,
            body: r#"{"detail":"Not Found"}"#.to_owned(),
            ..Answer::default()
        });
        answer.body = self.fill(&answer.body, &known.fragments, body);
        known.note_ids(&answer.body);
        answer
    }
}

/// Reads `FILE` or `FILE#POINTER`, a value of a JSON file.
fn included(name: &str) -> String {
    let (file, pointer) = name.split_once('#').unwrap_or((name, ""));
    let text = std::fs::read_to_string(format!("{TESTS}/{file}"))
        .unwrap_or_else(|error| panic!("{file}: {error}"));
    if pointer.is_empty() {
        return text;
    }
    let document: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    document
        .pointer(pointer)
        .unwrap_or_else(|| panic!("{file} has no {pointer}"))
        .to_string()
}

async fn serve(State(world): State<Arc<World>>, request: Request) -> Response {
    world.in_flight.fetch_add(1, Ordering::SeqCst);
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let body = match serde_json::from_slice::<Value>(&body) {
        Ok(json) => sorted(&json).to_string(),
        Err(_) => String::from_utf8_lossy(&body).into_owned(),
    };
    let mut headers: Vec<_> = (head.headers.iter())
        .filter(|(name, _)| !USUAL.contains(&name.as_str()))
        .map(|(name, value)| match value.to_str() {
            Ok(value) if PLAIN.contains(&name.as_str()) => format!("{name}={value}"),
            _ => name.to_string(),
        })
        .collect();
    headers.sort_unstable();
    let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
    let answer = world.answer(head.method.as_str(), path, query, &headers.join(" "), &body);
    if answer.cut {
        world.in_flight.fetch_sub(1, Ordering::SeqCst);
        // Unwinding drops the connection; a panic would also print a message.
        std::panic::resume_unwind(Box::new(()));
    }
    let is_stream = answer.hold || answer.body.starts_with("event:");
    let kind = match (is_stream, answer.body.starts_with('<')) {
        (true, _) => "text/event-stream",
        (_, true) => "text/html",
        _ => "application/json",
    };
    let mut response = Response::builder()
        .status(answer.status)
        .header("content-type", kind);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    let first = stream::iter([Ok::<_, std::io::Error>(answer.body.into_bytes())]);
    let body = match answer.hold {
        true => Body::from_stream(first.chain(stream::pending())),
        false if answer.status == 204 => Body::empty(),
        false => Body::from_stream(first),
    };
    world.in_flight.fetch_sub(1, Ordering::SeqCst);
    response.body(body).unwrap_or_default()
}
