//! Aegra since 0.9.25, which runs stop at breakpoints on, and before, from captured records.

use runtail_api::{PlanError, ThreadIntent};
use runtail_testkit::common::{Server, json};
use serde_json::{Value, json as value};
use std::time::Duration;

const THREAD: &str = "28bcbf4c-e07d-45a4-bc79-89791bcf829c";

fn captured(text: &str) -> Value {
    serde_json::from_str::<Value>(text).unwrap()["response"]["body"].take()
}

/// A server of this version with a thread that stopped before its node `tools`: its status and that of its run.
async fn paused(version: &str, of_thread: &str, of_run: &str) -> Server {
    let mut thread = captured(include_str!(
        "../captures/agents/aegra-breakpoint-thread.json"
    ));
    let state = captured(include_str!(
        "../captures/agents/aegra-breakpoint-state.json"
    ));
    let mut runs = captured(include_str!(
        "../captures/agents/aegra-breakpoint-runs.json"
    ));
    (thread["status"], runs[0]["status"]) = (of_thread.into(), of_run.into());
    let info = value!({"name": "Aegra", "version": version});
    Server::start(move |seen| match &*seen.path {
        "/info" => json(200, &info),
        "/threads/search" if seen.json()["status"] == thread["status"] => {
            json(200, value!([thread]))
        }
        "/threads/search" => json(200, "[]"),
        path if path == format!("/threads/{THREAD}") => json(200, &thread),
        path if path == format!("/threads/{THREAD}/state") => json(200, &state),
        path if path == format!("/threads/{THREAD}/runs") => json(200, &runs),
        _ => json(404, r#"{"detail":"Not Found"}"#),
    })
    .await
}

#[tokio::test]
async fn a_thread_at_a_breakpoint_is_in_the_inbox_and_continues() {
    // With the mode `updates`, and without it.
    for (of_thread, of_run) in [("interrupted", "interrupted"), ("idle", "success")] {
        let server = paused("0.11.0", of_thread, of_run).await;
        let inbox = server.agent().inbox(Duration::from_secs(3600)).await;
        let rows: Vec<_> = inbox
            .threads
            .iter()
            .map(|row| (row.thread_id.as_str(), row.detail.as_str()))
            .collect();
        assert_eq!(
            rows,
            [(THREAD, "before tools")],
            "{of_thread} {:?}",
            inbox.failures
        );
        let intent = ThreadIntent::Continue {
            thread: THREAD.into(),
        };
        let plan = server.agent().plan_on_thread(&intent).await.unwrap();
        let body = plan.preview.request.body.unwrap();
        let head = captured(include_str!(
            "../captures/agents/aegra-breakpoint-state.json"
        ));
        let place =
            value!({"checkpoint_id": head["checkpoint"]["checkpoint_id"], "checkpoint_ns": ""});
        assert_eq!(
            (&body["input"], &body["checkpoint"]),
            (&Value::Null, &place),
            "without it, the server refuses"
        );
        assert_eq!(body["checkpoint_id"], Value::Null);
    }
    // A cancelled run is no breakpoint.
    let server = paused("0.11.0", "idle", "interrupted").await;
    assert!(
        server
            .agent()
            .inbox(Duration::from_secs(3600))
            .await
            .threads
            .is_empty()
    );
    // Earlier versions start no run without an input.
    let server = paused("0.9.24", "interrupted", "interrupted").await;
    let intent = ThreadIntent::Continue {
        thread: THREAD.into(),
    };
    let refused = server.agent().plan_on_thread(&intent).await;
    assert!(
        matches!(refused, Err(PlanError::Unfit(why)) if why.contains("starts no run without an input"))
    );
}

#[tokio::test]
async fn a_cron_is_found_where_none_can_be_read() {
    let server = Server::start(|seen| match (&*seen.method, &*seen.path) {
        (_, "/info") => json(
            200,
            value!({"name": "Aegra", "version": "0.11.0", "flags": {"crons": true}}),
        ),
        ("POST", "/runs/crons/search") => json(
            200,
            value!([{"cron_id": "a"}, {"cron_id": "b", "schedule": "0 9 * * *"}]),
        ),
        _ => json(405, r#"{"detail":"Method Not Allowed"}"#),
    })
    .await;
    assert_eq!(
        server.agent().cron("b").await.unwrap()["schedule"],
        "0 9 * * *"
    );
    assert!(
        server
            .agent()
            .cron("c")
            .await
            .unwrap_err()
            .detail
            .contains("there is no cron c")
    );
}
