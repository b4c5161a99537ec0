//! The journal: every write request of the session and its result.

use crate::connections::lock;
use crate::prelude::*;
use runtail_core::model::PlainRequest;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Instant;

/// Maximum number of entries; the oldest are removed first.
const MOST: usize = 500;

/// Write requests, oldest first, without secrets. Shared by all clones.
#[derive(Debug, Clone, Default)]
pub struct Journal(Arc<Mutex<VecDeque<SentRequest>>>);

/// A write request.
#[derive(Debug, Clone, PartialEq)]
pub struct SentRequest {
    /// Its purpose, such as `Roll back invoice-agent`; empty if only its path is known.
    pub title: String,
    /// When it was sent.
    pub at: Timestamp,
    /// Its target.
    pub place: Place,
    /// The whole request, without secrets.
    pub request: PlainRequest,
    /// Its result.
    pub outcome: Outcome,
    /// Its duration.
    pub took: Duration,
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The server answered with this status.
    Status(u16),
    /// There was no response, for this reason; whether it was applied is unknown.
    NoAnswer(String),
}

impl SentRequest {
    /// Whether the server reported success.
    pub fn is_done(&self) -> bool {
        matches!(self.outcome, Outcome::Status(200..=299))
    }
}

impl Journal {
    /// Returns the entries, oldest first.
    pub fn entries(&self) -> Vec<SentRequest> {
        lock(&self.0).iter().cloned().collect()
    }

    /// Starts an entry. It is added when it ends or is dropped. `title` is the request's purpose, if the path doesn't show it.
    pub(super) fn begin(
        &self,
        title: Option<&str>,
        place: &Place,
        request: PlainRequest,
    ) -> OpenEntry {
        let outcome = Outcome::NoAnswer("stopped waiting for the response".into());
        let title = title.map_or_else(|| meaning(place, &request), str::to_string);
        let sent = SentRequest {
            title,
            at: Timestamp::now(),
            place: place.clone(),
            request,
            outcome,
            took: Duration::ZERO,
        };
        OpenEntry {
            journal: self.clone(),
            began: Instant::now(),
            sent: Some(sent),
        }
    }

    fn write(&self, sent: SentRequest) {
        let mut entries = lock(&self.0);
        if entries.len() == MOST {
            entries.pop_front();
        }
        entries.push_back(sent);
    }
}

/// An open entry of the journal.
pub struct OpenEntry {
    journal: Journal,
    began: Instant,
    sent: Option<SentRequest>,
}

impl OpenEntry {
    /// Adds it with its result.
    pub fn ended(&mut self, outcome: Outcome) {
        if let Some(sent) = &mut self.sent {
            sent.outcome = outcome;
        }
        self.write();
    }

    fn write(&mut self) {
        if let Some(mut sent) = self.sent.take() {
            sent.took = self.began.elapsed();
            self.journal.write(sent);
        }
    }
}

impl Drop for OpenEntry {
    fn drop(&mut self) {
        self.write();
    }
}

/// Returns the purpose of a request to an agent server, from its path and its body. Empty for all others.
fn meaning(place: &Place, request: &PlainRequest) -> String {
    let segments: Vec<&str> = place
        .path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .collect();
    // A server's address may have a path, even one that looks like a call.
    let calls = segments
        .iter()
        .rposition(|segment| *segment == "threads")
        .unwrap_or(segments.len().saturating_sub(2));
    match (
        place.method.as_str(),
        &segments[calls.min(segments.len())..],
    ) {
        ("POST", ["threads"] | [.., "threads"]) => "Create thread".into(),
        ("DELETE", ["threads", thread]) => format!("Delete thread {}", short_id(thread)),
        ("PATCH", ["threads", thread]) => format!("Edit metadata of thread {}", short_id(thread)),
        ("POST", ["threads", thread, "copy"]) => format!("Copy thread {}", short_id(thread)),
        ("POST", ["threads", thread, "state"]) => {
            format!("Edit state of thread {}", short_id(thread))
        }
        ("POST", ["threads", thread, "runs"] | ["threads", thread, "runs", "stream"]) => {
            let body = request.body.as_ref().unwrap_or(&Value::Null);
            let what = match (&body["command"]["resume"], body.get("input")) {
                (Value::Null, Some(Value::Null)) => "Continue",
                (Value::Null, _) => "Start run on",
                _ => "Answer",
            };
            format!("{what} thread {}", short_id(thread))
        }
        ("POST", ["threads", _, "runs", run, "cancel"])
            if request.url.contains("action=rollback") =>
        {
            format!("Cancel and roll back run {}", short_id(run))
        }
        ("POST", ["threads", _, "runs", run, "cancel"]) => format!("Cancel run {}", short_id(run)),
        ("DELETE", ["threads", _, "runs", run]) => format!("Delete run {}", short_id(run)),
        ("POST", [.., "runs", "stream"]) => "Start stateless run".into(),
        ("POST", [.., "auth", "authenticate"]) => "Authenticate".into(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn title(method: &str, path: &str, query: &str, body: Value) -> String {
        let place = Place {
            method: method.into(),
            path: path.into(),
            ..Place::default()
        };
        let url = format!("http://h{path}{query}");
        meaning(
            &place,
            &PlainRequest {
                method: method.into(),
                url,
                headers: Vec::new(),
                body: Some(body),
            },
        )
    }

    #[test]
    fn agent_server_requests_have_readable_titles() {
        for (method, path, expected) in [
            ("POST", "/threads", "Create thread"),
            ("POST", "/own/prefix/threads", "Create thread"),
            ("DELETE", "/threads/t-1", "Delete thread t-1"),
            ("PATCH", "/threads/t-1", "Edit metadata of thread t-1"),
            ("POST", "/threads/t-1/copy", "Copy thread t-1"),
            ("POST", "/threads/t-1/state", "Edit state of thread t-1"),
            (
                "POST",
                "/threads/t-1/runs/stream",
                "Start run on thread t-1",
            ),
            ("POST", "/x/threads/t-1/runs/r-1/cancel", "Cancel run r-1"),
            ("DELETE", "/threads/t-1/runs/r-1", "Delete run r-1"),
            ("POST", "/runs/stream", "Start stateless run"),
            ("POST", "/v2/auth/authenticate", "Authenticate"),
            ("PATCH", "/v2/deployments/d", ""),
            ("POST", "/", ""),
        ] {
            assert_eq!(
                title(method, path, "", Value::Null),
                expected,
                "{method} {path}"
            );
        }
        let cancel = title(
            "POST",
            "/threads/t-1/runs/r-1/cancel",
            "?wait=0&action=rollback",
            Value::Null,
        );
        assert_eq!(cancel, "Cancel and roll back run r-1");
    }

    #[test]
    fn run_requests_are_titled_by_their_effect() {
        for (body, expected) in [
            (json!({"input": {"a": 1}}), "Start run on thread t-1"),
            (json!({"input": null}), "Continue thread t-1"),
            (
                json!({"command": {"resume": {"i": false}}}),
                "Answer thread t-1",
            ),
            (json!({"command": {"goto": "x"}}), "Start run on thread t-1"),
        ] {
            assert_eq!(
                title("POST", "/threads/t-1/runs", "", body.clone()),
                expected,
                "{body}"
            );
        }
    }
}
