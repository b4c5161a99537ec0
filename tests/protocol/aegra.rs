//! Aegra since 0.9.25, which runs stop at breakpoints on, and before, which lists, histories and the store work differently on.

use runtail_api::{PlanError, ThreadIntent};
use runtail_core::model::{ThreadSearch, ThreadSort};
use runtail_testkit::common::{Server, json};
use serde_json::{Value, json as value};
use std::collections::BTreeSet;
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

/// An early Aegra with threads that changed a minute apart: it lists at most 100, ignores `sort_by`, `select` and values, and finds
/// no nested metadata.
async fn early(threads: usize) -> Server {
    let now = jiff::Timestamp::now();
    let rows: Vec<Value> = (0..threads)
        .map(|n| {
            let at = now - jiff::SignedDuration::from_mins(n as i64);
            let id = format!("00000000-0000-4000-8000-{n:012}");
            value!({"thread_id": id, "status": "idle", "metadata": {"deep": {"id": n}}, "user_id": "anonymous",
                    "created_at": at, "updated_at": at})
        })
        .collect();
    Server::start(move |seen| match &*seen.path {
        "/info" => json(200, value!({"name": "Aegra", "version": "0.9.24"})),
        "/threads/search" => {
            let body = seen.json();
            let at = |field: &str, usual: u64| body[field].as_u64().unwrap_or(usual) as usize;
            let is_nested = body["metadata"]["deep"].is_object();
            match at("limit", 20) {
                101.. => json(422, r#"{"detail":[{"loc":["body","limit"],"msg":"Input should be less than or equal to 100"}]}"#),
                _ if is_nested => json(200, "[]"),
                limit => {
                    let page = rows.iter().skip(at("offset", 0)).take(limit);
                    json(200, value!(page.collect::<Vec<_>>()))
                }
            }
        }
        _ => json(404, r#"{"detail":"Not Found"}"#),
    })
    .await
}

#[tokio::test]
async fn lists_that_may_be_unsorted_are_read_to_their_end_in_small_pages() {
    let agent = early(250).await.agent();
    let search = |text: &str| ThreadSearch::parse(text).unwrap();
    let (mut seen, mut offset) = (BTreeSet::new(), 0);
    loop {
        let page = agent
            .find_threads(&search(""), ThreadSort::Updated, (offset, 500))
            .await
            .unwrap();
        let ids = page.threads.iter().map(|found| &found.thread.thread_id);
        seen.extend(ids.cloned());
        assert!(!page.is_sorted, "its rows are in this order by chance");
        assert!(page.next_offset > offset || page.is_last);
        offset = page.next_offset;
        if page.is_last {
            break;
        }
    }
    assert_eq!(seen.len(), 250);
    assert_eq!(agent.count_found(&search("status:idle")).await, Ok(None));
    let found = async |text: &str| {
        let now = jiff::Timestamp::now();
        let found = agent.find_all_threads(&search(text), usize::MAX, now).await;
        let found = found.unwrap();
        (found.threads.len(), found.scanned, found.unchecked)
    };
    assert_eq!(found("age<1h").await, (60, 250, 0), "all are read");
    assert_eq!(found("meta.deep.id=7").await, (1, 250, 0));
    assert_eq!(found("values.order=7").await, (0, 250, 250));
}

#[tokio::test]
async fn states_before_a_checkpoint_are_found_where_before_fails() {
    let server = Server::start(|seen| match &*seen.path {
        "/info" => json(200, value!({"name": "Aegra", "version": "0.9.24"})),
        "/threads/t/history" if seen.query.contains("before=") => {
            json(500, r#"{"error":"internal_error"}"#)
        }
        "/threads/t/history" => {
            let states =
                ["d", "c", "b", "a"].map(|id| value!({"checkpoint": {"checkpoint_id": id}}));
            json(200, value!(states))
        }
        _ => json(404, r#"{"detail":"Not Found"}"#),
    })
    .await;
    let states = server.agent().thread_history("t", 2, Some("d")).await;
    let ids: Vec<Value> = states
        .unwrap()
        .items
        .iter()
        .map(|state| state["checkpoint"]["checkpoint_id"].clone())
        .collect();
    assert_eq!(ids, ["c", "b"]);
}

#[tokio::test]
async fn an_item_is_read_where_dots_in_a_namespace_fail() {
    let server = Server::start(|seen| match &*seen.path {
        "/info" => json(200, value!({"name": "Aegra", "version": "0.11.0"})),
        "/store/items" if seen.query.contains("namespace=memo.u1") => {
            json(500, r#"{"error":"internal_error"}"#)
        }
        "/store/items" if seen.query == "namespace=memo&namespace=u1&key=k" => json(
            200,
            value!({"namespace": ["memo", "u1"], "key": "k", "value": {"n": 1}}),
        ),
        _ => json(404, r#"{"error":"not_found"}"#),
    })
    .await;
    let agent = server.agent();
    let namespace = ["memo".to_string(), "u1".to_string()];
    for _ in 0..2 {
        let item = agent.store_item(&namespace, "k").await.unwrap();
        assert_eq!(item["value"], value!({"n": 1}));
    }
    assert_eq!(agent.store_item(&namespace, "x").await, Ok(Value::Null));
    let tried = |seen: &&runtail_testkit::common::Seen| seen.query.contains("memo.u1");
    assert_eq!(server.seen().iter().filter(tried).count(), 1);
}
