//! The cause of a failed run that a server masks in its thread and its event.

use crate::ended::{Ended, ended, write_config};
use axum::response::Response;
use runtail_testkit::common::{CANARY, Seen, Server, json, response};
use serde_json::{Value, json as value};
use std::path::Path;
use std::process::Stdio;

const CAUSE: &str = "ConnectionError: Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'Overloaded'}}";

async fn runtail(folder: &Path, args: &[&str]) -> Ended {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_runtail"));
    command
        .env_clear()
        .env("HOME", folder)
        .env("XDG_CONFIG_HOME", folder)
        .env("RUNTAIL_TEST_KEY", CANARY);
    command.stdin(Stdio::null()).args(args);
    ended(command).await
}

fn captured(name: &str) -> Value {
    let path = format!("tests/captures/agents/modelfail-{name}.json");
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
    let own = runs[0]["run_id"].as_str().unwrap().to_string();
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

fn configured(server: &Server) -> tempfile::TempDir {
    write_config(&format!(
        "[profiles.p]\nagent_server = \"{}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n",
        server.url
    ))
}

#[tokio::test]
async fn commands_report_the_cause_that_the_state_has() {
    let server = server(200).await;
    let folder = configured(&server);
    let thread = captured("thread")["thread_id"]
        .as_str()
        .unwrap()
        .to_string();
    let run = captured("runs")[0]["run_id"].as_str().unwrap().to_string();
    let joined = runtail(folder.path(), &["join", &thread, &run, "-o", "jsonl"])
        .await
        .expect(1);
    assert_eq!(joined.rows().last().unwrap()["detail"], CAUSE);
    assert!(
        joined.err.contains(&format!("the run failed: {CAUSE}")),
        "{}",
        joined.err
    );
    let states = server
        .seen()
        .iter()
        .filter(|seen| seen.path.ends_with("/state"))
        .count();
    assert_eq!(states, 1, "the state is read once");

    let row = &runtail(
        folder.path(),
        &["runs", "get", &thread, &run, "-o", "jsonl"],
    )
    .await
    .expect(0)
    .rows()[0];
    assert_eq!(
        (&row["cause"], row.get("answered_by")),
        (&value!(CAUSE), None)
    );
    // The records of the thread are those of its newest run, and its history has all.
    let row = &runtail(
        folder.path(),
        &["runs", "get", &thread, "old", "-o", "jsonl"],
    )
    .await
    .expect(0)
    .rows()[0];
    assert_eq!(row["cause"], "RateLimitError: Error code: 429", "{row}");

    let inbox = runtail(
        folder.path(),
        &["inbox", "--failed-since", "9999d", "-o", "jsonl"],
    )
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
        configured(&server).path(),
        &["join", "t-1", &run, "-o", "jsonl"],
    )
    .await
    .expect(1);
    assert_eq!(joined.rows().last().unwrap()["detail"], CAUSE);
}

#[tokio::test]
async fn a_state_that_fails_leaves_the_text_that_was_received() {
    for status in [404, 500] {
        let server = server(status).await;
        let folder = configured(&server);
        let run = captured("runs")[0]["run_id"].as_str().unwrap().to_string();
        let joined = runtail(folder.path(), &["join", "t-1", &run, "-o", "jsonl"])
            .await
            .expect(1);
        assert_eq!(
            joined.rows().last().unwrap()["detail"],
            "ConnectionError: An internal error occurred"
        );
        // Without a history, nothing is said of an older run.
        let row = &runtail(folder.path(), &["runs", "get", "t-1", "old", "-o", "jsonl"])
            .await
            .expect(0)
            .rows()[0];
        assert_eq!(row.get("cause"), None, "{row}");
    }
}
