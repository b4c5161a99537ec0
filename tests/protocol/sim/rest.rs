//! The agent server's REST API: searches, paging, states, and error messages.

use crate::sim::{fast, keys, world};
use runtail_sim::Options;
use serde_json::{Value, json};

async fn body(response: reqwest::Response) -> Value {
    response.json().await.expect("JSON")
}

#[tokio::test]
async fn threads_can_be_searched_page_by_page() {
    let world = world(fast()).await;
    for n in 0..5 {
        world
            .post(
                "/threads",
                json!({"metadata": {"owner": if n < 3 { "ana" } else { "bo" }, "n": n}}),
            )
            .await;
    }
    let page = world
        .post(
            "/threads/search",
            json!({"limit": 2, "metadata": {"owner": "ana"}}),
        )
        .await;
    assert_eq!(
        (
            &page.headers()["x-pagination-total"],
            &page.headers()["x-pagination-next"]
        ),
        (&"3".parse().unwrap(), &"2".parse().unwrap())
    );
    let found = body(page).await;
    assert_eq!(
        (&found[0]["metadata"]["n"], &found[1]["metadata"]["n"]),
        (&json!(2), &json!(1)),
        "newest first"
    );
    assert_eq!(
        keys(&found[0]),
        [
            "config",
            "created_at",
            "metadata",
            "state_updated_at",
            "status",
            "thread_id",
            "updated_at",
            "values"
        ]
    );
    let last = world.post("/threads/search", json!({"limit": 2, "offset": 4, "sort_by": "created_at", "sort_order": "asc", "select": ["metadata", "status"]})).await;
    assert!(last.headers().get("x-pagination-next").is_none());
    assert_eq!(
        body(last).await,
        json!([{"metadata": {"owner": "bo", "n": 4}, "status": "idle"}])
    );
    assert_eq!(
        body(
            world
                .post("/threads/count", json!({"metadata": {"owner": "ana"}}))
                .await
        )
        .await,
        3
    );
    let one = &found[0]["thread_id"];
    assert_eq!(
        body(world.post("/threads/search", json!({"ids": [one]})).await)
            .await
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(
        body(
            world
                .post("/threads/search", json!({"status": "busy"}))
                .await
        )
        .await,
        json!([])
    );
}

#[tokio::test]
async fn metrics_count_the_queue_as_the_python_server_does() {
    let world = world(fast()).await;
    let idle = world.json("/metrics?format=json").await;
    assert_eq!(
        idle["queue"],
        json!({"n_pending": 0, "n_running": 0, "pending_runs_wait_time_max_secs": null,
            "pending_runs_wait_time_med_secs": null, "pending_unblocked_runs_wait_time_max_secs": null})
    );
    assert_eq!(
        idle["workers"],
        json!({"max": 10, "active": 0, "available": 10})
    );
    let thread = world.thread().await;
    let run = json!({"assistant_id": "slow", "input": {"steps": 1, "seconds": 600}});
    for _ in 0..3 {
        world
            .post(&format!("/threads/{thread}/runs"), run.clone())
            .await;
    }
    let busy = world.json("/metrics?format=json").await;
    let active = |metrics: &Value| {
        metrics["queue"]["n_pending"].as_u64().unwrap()
            + metrics["queue"]["n_running"].as_u64().unwrap()
    };
    assert_eq!(active(&busy), 3, "{busy}");
    assert!(
        busy["queue"]["pending_runs_wait_time_max_secs"].is_f64(),
        "{busy}"
    );
}

#[tokio::test]
async fn threads_are_created_changed_and_deleted() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let twin = json!({"thread_id": thread});
    let refused = world.post("/threads", twin.clone()).await;
    assert_eq!(refused.status(), 409);
    assert_eq!(
        body(refused).await,
        json!({"detail": format!("Thread with ID {thread} already exists")})
    );
    let same = world
        .post(
            "/threads",
            json!({"thread_id": thread, "if_exists": "do_nothing"}),
        )
        .await;
    assert_eq!(body(same).await["thread_id"], json!(thread));
    let url = format!("{}/threads/{thread}", world.agent);
    let patched = world
        .http
        .patch(&url)
        .body(json!({"metadata": {"tag": "x"}}).to_string())
        .send()
        .await
        .expect("a response");
    assert_eq!(body(patched).await["metadata"], json!({"tag": "x"}));
    assert_eq!(
        world
            .http
            .delete(&url)
            .send()
            .await
            .expect("a response")
            .status(),
        204
    );
    assert_eq!(
        world
            .http
            .delete(&url)
            .send()
            .await
            .expect("a response")
            .status(),
        404
    );
    assert_eq!(
        world
            .http
            .put(&url)
            .send()
            .await
            .expect("a response")
            .status(),
        405
    );
}

#[tokio::test]
async fn state_and_history_match_the_python_server() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let path = format!("/threads/{thread}");
    let shape = [
        "checkpoint",
        "checkpoint_id",
        "created_at",
        "interrupts",
        "metadata",
        "next",
        "parent_checkpoint",
        "parent_checkpoint_id",
        "tasks",
        "values",
    ];
    let empty = world.json(&format!("{path}/state")).await;
    assert_eq!(
        (keys(&empty), &empty["values"], &empty["checkpoint"]),
        (shape.to_vec(), &json!({}), &Value::Null)
    );
    assert_eq!(world.json(&format!("{path}/history")).await, json!([]));
    world
        .run(
            &thread,
            json!({"assistant_id": "slow", "input": {"seconds": 0}}),
        )
        .await;
    let state = world.json(&format!("{path}/state")).await;
    assert_eq!(keys(&state), shape);
    assert_eq!(
        world
            .json(&format!("{path}/history"))
            .await
            .as_array()
            .map(Vec::len),
        Some(1),
        "one entry by default"
    );
    let all = world.json(&format!("{path}/history?limit=10")).await;
    assert_eq!(all[0], state);
    let before = all[1]["checkpoint_id"].as_str().expect("an id");
    let before = format!("{path}/history?limit=10&before={before}");
    assert_eq!(world.json(&before).await[0], all[2]);
    let at = all[2]["checkpoint_id"].as_str().expect("an id");
    let mut same = all[2].clone();
    // The server repeats the requested checkpoint, which has no namespace.
    same["checkpoint"] = json!({"checkpoint_id": at, "thread_id": thread});
    assert_eq!(world.json(&format!("{path}/state/{at}")).await, same);
    assert_eq!(
        keys(&all[1]["tasks"][0]),
        [
            "checkpoint",
            "error",
            "id",
            "interrupts",
            "name",
            "path",
            "result",
            "state"
        ]
    );

    let update = json!({"values": {"log": ["edit"]}, "as_node": "nap"});
    let saved = body(world.post(&format!("{path}/state"), update).await).await;
    assert_eq!(
        keys(&saved),
        ["checkpoint", "checkpoint_id", "configurable"]
    );
    let state = world.json(&format!("{path}/state")).await;
    assert_eq!(
        (&state["next"], &state["metadata"]["source"]),
        (&json!(["wake"]), &json!("update"))
    );
    assert_eq!(
        world.json(&path).await["status"],
        "interrupted",
        "the thread waits at a node"
    );
    let wrong = world
        .post(
            &format!("{path}/state"),
            json!({"values": {}, "as_node": "nonode"}),
        )
        .await;
    assert_eq!(
        (wrong.status().as_u16(), body(wrong).await),
        (400, json!({"detail": "Node nonode does not exist"}))
    );
}

#[tokio::test]
async fn assistants_and_runs_match_the_python_server() {
    let world = world(fast()).await;
    assert_eq!(world.json("/ok").await, json!({"ok": true, "services": {}}));
    assert_eq!(
        keys(&world.json("/info").await),
        ["flags", "host", "langgraph_py_version", "version"]
    );
    let all = body(
        world
            .post("/assistants/search", json!({"limit": 100}))
            .await,
    )
    .await;
    assert_eq!(
        keys(&all[0]),
        [
            "assistant_id",
            "config",
            "context",
            "created_at",
            "description",
            "graph_id",
            "metadata",
            "name",
            "updated_at",
            "version"
        ]
    );
    let agent = "fe096781-5601-53d2-b2f6-0d3403f7e9ca";
    assert_eq!(
        world.json(&format!("/assistants/{agent}")).await["graph_id"],
        "agent"
    );
    let drawing = world.json("/assistants/research/graph?xray=true").await;
    assert!(drawing.to_string().contains("critic:sources:check"));
    let thread = world.thread().await;
    let created = world
        .post(
            &format!("/threads/{thread}/runs"),
            json!({"assistant_id": agent, "input": {}, "metadata": {"mark": 1}}),
        )
        .await;
    assert!(created.headers().get("content-location").is_some());
    let run = body(created).await;
    assert_eq!(
        keys(&run),
        [
            "assistant_id",
            "created_at",
            "kwargs",
            "langsmith_session_name",
            "metadata",
            "multitask_strategy",
            "run_id",
            "status",
            "thread_id",
            "updated_at"
        ]
    );
    assert_eq!(run["metadata"]["mark"], 1);
    let listed = world
        .json(&format!(
            "/threads/{thread}/runs?limit=5&select=run_id&select=metadata"
        ))
        .await;
    assert_eq!(
        listed,
        json!([{"run_id": run["run_id"], "metadata": run["metadata"]}])
    );
}

#[tokio::test]
async fn errors_match_the_python_server() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let unknown = "00000000-0000-4000-8000-000000000000";
    let stream = format!("/threads/{thread}/runs/stream");
    let run = |path: String, body: Value| world.post(Box::leak(path.into_boxed_str()), body);
    let agent = |more: Value| {
        let mut body = json!({"assistant_id": "agent", "input": {}});
        body.as_object_mut()
            .expect("an object")
            .extend(more.as_object().cloned().unwrap_or_default());
        body
    };
    let place = "in schema[\"components\"][\"schemas\"][\"RunCreateStateful\"]";
    let cases = [
        (run(format!("/threads/{unknown}/runs/stream"), agent(json!({}))), 404, "Thread or assistant not found.".to_owned()),
        (run("/threads/nope/runs/stream".into(), agent(json!({}))), 400, "badly formed hexadecimal UUID string".into()),
        (run(stream.clone(), agent(json!({"assistant_id": unknown}))), 404, "Thread or assistant not found.".into()),
        (run(stream.clone(), agent(json!({"assistant_id": "nope"}))), 422, "Invalid assistant: 'nope'. Must be either:\n- A valid assistant UUID, or\n- One of the registered graphs: agent, support, research, approval, broken, slow, firehose, two, clarify, hitl, schema, \
             release, counter, failing, crawl, sync, mailer".into()),
        (run(stream.clone(), json!({"input": {}})), 422, format!("\"assistant_id\" is a required property\n\nFailed validating \"required\" {place}\n\nOn instance:\n    {{\"input\":{{}}}}")),
        (run(stream.clone(), agent(json!({"stream_mode": "banana"}))), 422, format!("\"banana\" is not valid under any of the schemas listed in the 'anyOf' keyword\n\nFailed validating \"anyOf\" {place}[\"properties\"][\"stream_mode\"]\n\nOn instance[\"stream_mode\"]:\n    \"banana\"")),
        (run(stream.clone(), agent(json!({"multitask_strategy": "x"}))), 422, format!("\"x\" is not one of \"reject\", \"rollback\" or 2 other candidates\n\nFailed validating \"enum\" {place}[\"properties\"][\"multitask_strategy\"]\n\nOn instance[\"multitask_strategy\"]:\n    \"x\"")),
        (run(stream.clone(), agent(json!({"config": "x"}))), 422, format!("\"x\" is not of type \"object\"\n\nFailed validating \"type\" {place}[\"properties\"][\"config\"]\n\nOn instance[\"config\"]:\n    \"x\"")),
        (run("/threads/search".into(), json!({"limit": 100_000})), 422, "100000 is greater than the maximum of 1000\n\nFailed validating \"maximum\" in schema[\"properties\"][\"limit\"]\n\nOn instance[\"limit\"]:\n    100000".into()),
        (run("/threads/search".into(), json!({"sort_by": "zzz"})), 422, "\"zzz\" is not one of \"thread_id\", \"status\" or 3 other candidates\n\nFailed validating \"enum\" in schema[\"properties\"][\"sort_by\"]\n\nOn instance[\"sort_by\"]:\n    \"zzz\"".into()),
        (run(format!("/threads/{thread}/runs/{unknown}/cancel"), json!({})), 404, "No runs found to cancel.".into()),
    ];
    for (response, status, text) in cases {
        let response = response.await;
        assert_eq!(
            (response.status().as_u16(), body(response).await),
            (status, json!({"detail": text}))
        );
    }
    for (path, status, text) in [
        ("/nope".to_owned(), 404, "Not Found".to_owned()),
        (
            format!("/threads/{unknown}"),
            404,
            format!("Thread with ID {unknown} not found"),
        ),
        (
            "/threads/nope".into(),
            422,
            "Invalid thread ID: must be a UUID".into(),
        ),
        (
            "/assistants/agent".into(),
            422,
            "Invalid assistant ID: must be a UUID".into(),
        ),
        (format!("/assistants/{unknown}"), 404, "Not Found".into()),
        (
            format!("/threads/{thread}/runs/{unknown}"),
            404,
            "Not Found".into(),
        ),
    ] {
        let response = world.get(&path).await;
        assert_eq!(
            (response.status().as_u16(), body(response).await),
            (status, json!({"detail": text})),
            "{path}"
        );
    }
    for broken in ["", "{\"assistant_id\":"] {
        let response = world
            .http
            .post(format!("{}{stream}", world.agent))
            .body(broken)
            .send()
            .await
            .expect("a response");
        assert_eq!(
            (response.status().as_u16(), body(response).await),
            (422, json!({"detail": "Invalid JSON in request body"}))
        );
    }
    let created = run(
        "/threads/00000000-0000-4000-8000-000000000007/runs/stream".into(),
        agent(json!({"if_not_exists": "create"})),
    );
    assert_eq!(created.await.status(), 200);
}

#[tokio::test]
async fn a_server_may_require_a_key() {
    let world = world(Options {
        agent_key: Some("k".into()),
        ..fast()
    })
    .await;
    assert_eq!(world.get("/ok").await.status(), 403);
    let known = world
        .http
        .get(format!("{}/ok", world.agent))
        .header("x-api-key", "k")
        .send()
        .await
        .expect("a response");
    assert_eq!(known.status(), 200);
}
