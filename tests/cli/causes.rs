//! The cause of a failed run that a server masks in its thread and its event.

use crate::ended::{command, runtail, with_agent};
use axum::response::Response;
use runtail_testkit::common::{Seen, Server, json, response};
use runtail_testkit::server::text;
use serde_json::{Value, json as value};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};

const CAUSE: &str = "ConnectionError: Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'Overloaded'}}";

fn captured(name: &str) -> Value {
    captured_of("modelfail", name)
}

fn captured_of(failure: &str, name: &str) -> Value {
    let path = format!("tests/captures/agents/{failure}-{name}.json");
    serde_json::from_str::<Value>(&std::fs::read_to_string(path).unwrap()).unwrap()["response"]["body"].clone()
}

/// Returns the captured thread and run, and the captured state if `state` is 200.
async fn server(state: u16) -> Server {
    Server::start(move |seen| respond(seen, state)).await
}

fn respond(seen: &Seen, state: u16) -> Response {
    let stream = || {
        response(
            200,
            "text/event-stream",
            std::fs::read("tests/captures/agents/modelfail-stream.sse").unwrap(),
        )
    };
    let runs = captured("runs");
    let own = text(&runs[0], "run_id");
    match (
        seen.method.as_str(),
        seen.path.rsplit('/').next().unwrap_or_default(),
    ) {
        (_, "info") => json(
            200,
            value!({"version": "0.16.7", "langgraph_py_version": "1.2.24"}),
        ),
        (_, "stream") => stream(),
        ("GET", "state") if state == 200 => json(200, captured("state")),
        ("GET", "state") => json(state, value!({"detail": "down"})),
        ("GET", "runs") => json(200, runs),
        ("GET", "history") if state == 200 => {
            let mut old = captured("state");
            old["metadata"]["run_id"] = "old".into();
            old["checkpoint"]["checkpoint_id"] = "1f0ca000-0000-6000-8000-000000000000".into();
            old["checkpoint_id"] = old["checkpoint"]["checkpoint_id"].clone();
            old["tasks"][0]["error"] = "RateLimitError('Error code: 429')".into();
            json(200, value!([captured("state"), old]))
        }
        ("GET", "old") => {
            let mut old = runs[0].clone();
            (old["run_id"], old["updated_at"]) = ("old".into(), "2026-11-26T21:49:46.5Z".into());
            json(200, old)
        }
        ("GET", id) if id == own => json(200, &runs[0]),
        ("POST", "search") => {
            let mut row = captured("thread");
            row["error"] = Value::Null;
            let is_wanted = seen.json()["status"] == "error"
                && seen.json()["offset"].as_u64().unwrap_or(0) == 0;
            json(200, if is_wanted { value!([row]) } else { value!([]) })
        }
        ("GET", _) if seen.path.starts_with("/threads/") => json(200, captured("thread")),
        _ => json(404, value!({"detail": "Not Found"})),
    }
}

#[tokio::test]
async fn commands_report_the_cause_that_the_state_has() {
    let server = server(200).await;
    let folder = with_agent(&server);
    let thread = captured("thread")["thread_id"]
        .as_str()
        .unwrap()
        .to_string();
    let run = captured("runs")[0]["run_id"].as_str().unwrap().to_string();
    let joined = runtail(folder.path(), format!("join {thread} {run} -o jsonl"))
        .await
        .expect(1);
    assert_eq!(joined.rows().last().unwrap()["detail"], CAUSE);
    joined.says(&format!("the run failed: {CAUSE}"));
    let states = server
        .seen()
        .iter()
        .filter(|seen| seen.path.ends_with("/state"))
        .count();
    assert_eq!(states, 1, "the state is read once");

    let row = &runtail(folder.path(), format!("runs get {thread} {run} -o jsonl"))
        .await
        .expect(0)
        .rows()[0];
    assert_eq!(
        (&row["cause"], row.get("answered_by")),
        (&value!(CAUSE), None)
    );
    // The records of the thread are those of its newest run, and its history has all.
    let row = &runtail(folder.path(), format!("runs get {thread} old -o jsonl"))
        .await
        .expect(0)
        .rows()[0];
    assert_eq!(row["cause"], "RateLimitError: Error code: 429", "{row}");

    let inbox = runtail(folder.path(), "inbox --failed-since 9999d -o jsonl")
        .await
        .expect(0)
        .rows();
    assert!(
        inbox[0]["detail"]
            .as_str()
            .unwrap()
            .starts_with("ConnectionError: Error code: 529"),
        "{inbox:?}"
    );
}

#[tokio::test]
async fn an_edit_of_the_state_leaves_the_cause_in_the_history() {
    let server = Server::start(|seen| {
        match (
            seen.method.as_str(),
            seen.path.rsplit('/').next().unwrap_or_default(),
        ) {
            ("GET", "history") => json(200, value!([captured("state")])),
            ("GET", "state") => {
                let mut state = captured("state");
                (state["next"], state["tasks"]) = (value!([]), value!([]));
                json(200, state)
            }
            ("GET", last) if seen.path == format!("/threads/{last}") => {
                let mut thread = captured("thread");
                (thread["status"], thread["error"]) = ("idle".into(), Value::Null);
                json(200, thread)
            }
            _ => respond(seen, 200),
        }
    })
    .await;
    let run = captured("runs")[0]["run_id"].as_str().unwrap().to_string();
    let joined = runtail(
        with_agent(&server).path(),
        format!("join t-1 {run} -o jsonl"),
    )
    .await
    .expect(1);
    assert_eq!(joined.rows().last().unwrap()["detail"], CAUSE);
}

#[tokio::test]
async fn a_state_that_fails_leaves_the_text_that_was_received() {
    for status in [404, 500] {
        let server = server(status).await;
        let folder = with_agent(&server);
        let run = captured("runs")[0]["run_id"].as_str().unwrap().to_string();
        let joined = runtail(folder.path(), format!("join t-1 {run} -o jsonl"))
            .await
            .expect(1);
        assert_eq!(
            joined.rows().last().unwrap()["detail"],
            "ConnectionError: An internal error occurred"
        );
        // Without a history, nothing is said of an older run.
        let row = &runtail(folder.path(), "runs get t-1 old -o jsonl")
            .await
            .expect(0)
            .rows()[0];
        assert_eq!(row.get("cause"), None, "{row}");
    }
}

/// A run that begins and ends between two listings is read from the events that the server keeps.
#[tokio::test]
async fn tail_reports_the_cause_of_a_replayed_error() {
    let server = Server::start(|seen| {
        match (
            seen.method.as_str(),
            seen.path.rsplit('/').next().unwrap_or_default(),
        ) {
            (_, "info") => json(200, value!({"name": "Aegra", "version": "0.11.0"})),
            (_, "stream") if seen.path.contains("/runs/") => {
                let events =
                    std::fs::read("tests/captures/agents/aegra-modelfail-stream.sse").unwrap();
                response(200, "text/event-stream", events)
            }
            ("GET", "runs") => json(200, recent_runs()),
            ("GET", _) if seen.path.contains("/runs/") && !seen.path.ends_with("stream") => {
                json(200, &recent_runs()[0])
            }
            ("GET", last) if seen.path == format!("/threads/{last}") => {
                json(200, captured_of("aegra-modelfail", "thread"))
            }
            _ => json(404, value!({"detail": "Not Found"})),
        }
    })
    .await;
    let folder = with_agent(&server);
    let mut tail = command(
        folder.path(),
        &["tail", "t-1", "--since", "-", "-o", "jsonl"],
    );
    let mut tail = tail.stdout(std::process::Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(tail.stderr.take().unwrap()).lines();
    let failed = async {
        loop {
            let line = lines
                .next_line()
                .await
                .unwrap()
                .expect("the tail continues");
            if line.contains("failed") {
                return line;
            }
        }
    };
    let line = tokio::time::timeout(Duration::from_secs(30), failed)
        .await
        .expect("a cause");
    let cause = CAUSE.strip_prefix("ConnectionError: ").unwrap();
    assert_eq!(line, format!("runtail: the run failed: {cause}"));
}

/// Returns the captured runs as if they had just ended: Aegra keeps events for ten minutes.
fn recent_runs() -> Value {
    let mut runs = captured_of("aegra-modelfail", "runs");
    let now = jiff::Timestamp::now().to_string();
    (runs[0]["created_at"], runs[0]["updated_at"]) = (now.clone().into(), now.into());
    runs
}

#[tokio::test]
async fn an_event_that_has_the_cause_needs_no_state() {
    let server = Server::start(|seen| {
        match (
            seen.method.as_str(),
            seen.path.rsplit('/').next().unwrap_or_default(),
        ) {
            (_, "info") => json(
                200,
                value!({"version": "1.5.1", "langgraph_js_version": "1.4.18"}),
            ),
            ("POST", "threads") => json(200, value!({"thread_id": seen.json()["thread_id"]})),
            ("POST", "stream") => {
                let events = "event: metadata\ndata: {\"run_id\":\"r-1\",\"attempt\":1}\n\n\
                          event: error\ndata: {\"error\":\"Error\",\"message\":\"boom\"}\n\n";
                response(200, "text/event-stream", events)
            }
            ("GET", "r-1") => json(200, value!({"run_id": "r-1", "status": "error"})),
            ("GET", last) if seen.path == format!("/threads/{last}") => json(
                200,
                value!({"thread_id": last, "status": "error", "error": null}),
            ),
            _ => json(404, value!({"detail": "Not Found"})),
        }
    })
    .await;
    let ran = runtail(with_agent(&server).path(), "run agent --input {} -o jsonl")
        .await
        .expect(1);
    assert_eq!(ran.rows().last().unwrap()["detail"], "Error: boom");
    let read: Vec<String> = server.seen().into_iter().map(|seen| seen.path).collect();
    assert!(
        !read
            .iter()
            .any(|path| path.ends_with("/state") || path.ends_with("/history")),
        "{read:?}"
    );
}

#[tokio::test]
async fn an_older_run_that_took_all_its_steps_reached_its_limit() {
    let server = Server::start(|seen| match (seen.method.as_str(), seen.path.rsplit('/').next().unwrap_or_default()) {
        (_, "info") => json(200, value!({"version": "1.5.1", "langgraph_js_version": "1.4.18"})),
        ("GET", "r-1") => json(200, run("r-1", "error", 1)),
        ("GET", "runs") => json(200, value!([run("r-1", "error", 1), run("r-2", "success", 9)])),
        (_, "history") => {
            json(200, value!([checkpoint("r-2", 3), checkpoint("r-1", 1), checkpoint("r-1", 0), checkpoint("r-1", -1)]))
        }
        ("GET", "t-1") => {
            json(200, value!({"thread_id": "t-1", "status": "idle", "updated_at": "2027-01-15T08:00:09Z"}))
        }
        _ => json(404, value!({"detail": "Not Found"})),
    })
    .await;
    let row = &runtail(with_agent(&server).path(), "runs get t-1 r-1 -o jsonl")
        .await
        .expect(0)
        .rows()[0];
    assert_eq!(
        row["cause"],
        "GraphRecursionError: Recursion limit of 1 reached without hitting a stop condition.",
        "{row}"
    );
}

fn run(id: &str, status: &str, second: u32) -> Value {
    let at = format!("2027-01-15T08:00:0{second}Z");
    let kwargs = value!({"config": {"recursion_limit": 1}});
    value!({"run_id": id, "status": status, "created_at": at, "updated_at": at, "kwargs": kwargs})
}

fn checkpoint(run: &str, step: i64) -> Value {
    value!({"checkpoint": {"checkpoint_id": format!("c{step}")}, "metadata": {"run_id": run, "source": "loop", "step": step}})
}
