//! Runs: interrupts and answers, failures, cancellation, queues, stateless runs.

use crate::sim::{Live, events, fast, names, world};
use serde_json::{Value, json};

#[tokio::test]
async fn threads_report_interrupts_until_answered() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let input = json!({"amount": 5, "to": "Ana"});
    let body = json!({"assistant_id": "approval", "input": input, "stream_mode": ["values", "updates", "tasks"]});
    let (run, all) = world.run(&thread, body).await;
    assert_eq!(
        names(&all),
        [
            "metadata", "values", "tasks", "updates", "tasks", "values", "tasks", "updates",
            "values", "tasks"
        ]
    );
    let raised = &all[7].data["__interrupt__"][0];
    assert_eq!(crate::sim::keys(raised), ["id", "response_schema", "value"]);
    assert_eq!(
        raised["value"],
        json!({"question": "Approve this payment?", "draft": "send 5 EUR to Ana", "amount": 5})
    );
    assert_eq!(all[8].data["__interrupt__"][0], *raised);
    assert_eq!(all[9].data["interrupts"][0], *raised);
    assert_eq!(all[9].data["result"], json!({}));
    assert_eq!(
        world.json(&format!("/threads/{thread}/runs/{run}")).await["status"],
        "success"
    );
    let there = world.json(&format!("/threads/{thread}")).await;
    assert_eq!(there["status"], "interrupted");
    let task = all[9].data["id"].as_str().expect("an id");
    assert_eq!(
        there["interrupts"][task],
        json!([{"id": raised["id"], "value": raised["value"]}])
    );
    let state = world.json(&format!("/threads/{thread}/state")).await;
    // Outside a stream, a question without a schema has no key for it.
    let question = json!({"id": raised["id"], "value": raised["value"]});
    assert_eq!(
        (&state["next"], &state["interrupts"][0]),
        (&json!(["ask"]), &question)
    );
    assert_eq!(state["tasks"][0]["interrupts"][0], question);

    let answer = json!({"assistant_id": "approval", "command": {"resume": {"ok": true}}, "stream_mode": ["values", "updates"]});
    let (_, resumed) = world.run(&thread, answer).await;
    assert_eq!(
        names(&resumed),
        [
            "metadata", "values", "updates", "values", "updates", "values"
        ]
    );
    assert_eq!(
        resumed[1].data["log"],
        json!(["drafted"]),
        "the old state is sent first"
    );
    assert_eq!(resumed[2].data["ask"]["decision"], json!({"ok": true}));
    assert_eq!(resumed[5].data["log"], json!(["drafted", "asked", "paid"]));
    assert_eq!(
        world.json(&format!("/threads/{thread}")).await["status"],
        "idle"
    );
    assert_eq!(
        world.json(&format!("/threads/{thread}")).await["interrupts"],
        json!({})
    );
}

#[tokio::test]
async fn interrupts_are_answered_by_id_even_without_an_event() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let (_, all) = world
        .run(
            &thread,
            json!({"assistant_id": "approval", "input": {}, "stream_mode": "custom"}),
        )
        .await;
    assert!(
        names(&all)
            .iter()
            .all(|name| ["metadata", "custom"].contains(name)),
        "no event shows the interrupt"
    );
    let there = world.json(&format!("/threads/{thread}")).await;
    let id = there["interrupts"]
        .as_object()
        .and_then(|all| all.values().next())
        .expect("one")[0]["id"]
        .clone();
    let resume = json!({id.as_str().expect("text"): false});
    let answer = json!({"assistant_id": "approval", "command": {"resume": resume}, "stream_mode": "updates"});
    let (_, resumed) = world.run(&thread, answer).await;
    assert_eq!(resumed[1].data["ask"]["decision"], false);
    assert_eq!(resumed[2].data["act"]["log"], json!(["put aside"]));
    let nothing =
        json!({"assistant_id": "approval", "command": {"resume": 1}, "stream_mode": "values"});
    let (_, again) = world.run(&thread, nothing).await;
    assert_eq!(
        names(&again),
        ["metadata", "values"],
        "resuming a thread that doesn't wait is not an error"
    );
}

#[tokio::test]
async fn a_static_interrupt_stops_before_a_node() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let input = json!({"messages": [{"role": "user", "content": "weather in Kraków?"}]});
    let body = json!({"assistant_id": "agent", "input": input, "stream_mode": ["updates"], "interrupt_before": ["tools"]});
    let (_, all) = world.run(&thread, body.clone()).await;
    assert_eq!(names(&all), ["metadata", "updates", "updates"]);
    assert_eq!(all[2].data, json!({"__interrupt__": []}));
    assert_eq!(
        world.json(&format!("/threads/{thread}")).await["status"],
        "interrupted"
    );
    assert_eq!(
        world.json(&format!("/threads/{thread}/state")).await["next"],
        json!(["tools"])
    );
    // Interrupting after a node stops at the same place.
    let after = json!({"assistant_id": "agent", "input": body["input"], "stream_mode": "updates", "interrupt_after": "chat"});
    assert_eq!(
        names(&world.run(&world.thread().await, after).await.1),
        ["metadata", "updates", "updates"]
    );
    let (_, rest) = world
        .run(
            &thread,
            json!({"assistant_id": "agent", "input": null, "stream_mode": ["updates"]}),
        )
        .await;
    assert_eq!(
        rest.iter()
            .map(|event| crate::sim::keys(&event.data)[0].to_owned())
            .collect::<Vec<_>>(),
        ["attempt", "tools", "chat"]
    );
}

#[tokio::test]
async fn wait_returns_the_state_the_question_or_the_error() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let wait = async |assistant: &str| {
        let body = json!({"assistant_id": assistant, "input": {"seconds": 0, "amount": 5}});
        let thread = world.thread().await;
        world
            .post(&format!("/threads/{thread}/runs/wait"), body)
            .await
    };
    let value =
        |response: reqwest::Response| async { response.json::<Value>().await.expect("JSON") };
    assert_eq!(
        value(wait("slow").await).await["log"],
        json!(["napped", "woke"])
    );
    assert_eq!(
        value(wait("approval").await).await["__interrupt__"][0]["value"]["amount"],
        5
    );
    assert_eq!(
        value(wait("broken").await).await["__error__"]["error"],
        "ValueError"
    );
    let body = json!({"assistant_id": "approval", "input": {"amount": 5}});
    let response = world
        .post(&format!("/threads/{thread}/runs/wait"), body)
        .await;
    assert!(
        response.headers()["location"]
            .to_str()
            .expect("text")
            .ends_with("/join")
    );
    assert_eq!(
        value(response).await["__interrupt__"][0]["value"]["amount"],
        5
    );
}

async fn start_held_run(world: &crate::sim::World, thread: &str, gate: &str) -> (String, Live) {
    let body = json!({"assistant_id": "slow", "input": {"hold": gate}, "stream_mode": ["values", "custom"],
        "stream_resumable": true});
    let response = world
        .post(&format!("/threads/{thread}/runs/stream"), body)
        .await;
    let place = response.headers()["content-location"]
        .to_str()
        .expect("text")
        .to_owned();
    let mut live = Live::new(response);
    live.until(|event| event.name == "custom").await;
    (place, live)
}

#[tokio::test]
async fn cancelled_run_ends_without_a_final_event() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let (place, live) = start_held_run(&world, &thread, "never").await;
    let cancel = world
        .post(
            &format!("{place}/cancel?wait=1&action=interrupt"),
            json!({}),
        )
        .await;
    assert_eq!(
        (
            cancel.status().as_u16(),
            cancel.json::<Value>().await.expect("JSON")
        ),
        (200, json!({}))
    );
    assert_eq!(names(&live.rest().await), ["metadata", "values", "custom"]);
    assert_eq!(world.json(&place).await["status"], "interrupted");
    assert_eq!(
        world.json(&format!("/threads/{thread}")).await["status"],
        "interrupted"
    );
    let again = world.post(&format!("{place}/cancel"), json!({})).await;
    assert_eq!(again.status(), 404);
    assert!(
        again
            .text()
            .await
            .expect("text")
            .starts_with("{\"detail\":\"No matching runs to cancel.")
    );

    let (place, live) = start_held_run(&world, &thread, "never").await;
    let cancel = world
        .post(&format!("{place}/cancel?action=rollback"), json!({}))
        .await;
    assert_eq!(
        (cancel.status().as_u16(), cancel.content_length()),
        (202, Some(0))
    );
    live.rest().await;
    assert_eq!(world.get(&place).await.status(), 404, "the run is deleted");
}

#[tokio::test]
async fn busy_threads_enqueue_reject_or_interrupt() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let (first, live) = start_held_run(&world, &thread, "one").await;
    let path = format!("/threads/{thread}/runs/stream");
    let nap = |strategy: &str| json!({"assistant_id": "slow", "input": {"seconds": 0, "hold": null}, "multitask_strategy": strategy});
    let refused = world.post(&path, nap("reject")).await;
    assert_eq!(refused.status(), 409);
    assert!(
        refused
            .text()
            .await
            .expect("text")
            .contains("already running a task")
    );
    let queued: Value = world
        .post(&format!("/threads/{thread}/runs"), nap("enqueue"))
        .await
        .json()
        .await
        .expect("JSON");
    assert_eq!(queued["status"], "pending");
    assert_eq!(
        world.json(&format!("/threads/{thread}")).await["status"],
        "busy"
    );
    world.sim.release("one");
    live.rest().await;
    let joined = world
        .json(&format!(
            "/threads/{thread}/runs/{}/join",
            queued["run_id"].as_str().expect("id")
        ))
        .await;
    assert_eq!(joined["log"], json!(["napped", "woke", "napped", "woke"]));
    assert_eq!(world.json(&first).await["status"], "success");

    for (strategy, status) in [("interrupt", 200), ("rollback", 404)] {
        let (older, live) = start_held_run(&world, &thread, "never").await;
        let newer = world.post(&path, nap(strategy)).await;
        assert_eq!(names(&live.rest().await), ["metadata", "values", "custom"]);
        assert!(events(&newer.text().await.expect("text")).len() > 1);
        let gone = world.get(&older).await;
        assert_eq!(gone.status(), status);
        if status == 200 {
            assert_eq!(
                gone.json::<Value>().await.expect("JSON")["status"],
                "interrupted"
            );
        }
    }
}

#[tokio::test]
async fn disconnecting_cancels_the_run_on_request() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let body = json!({"assistant_id": "slow", "input": {"hold": "never"}, "stream_mode": "custom", "on_disconnect": "cancel"});
    let response = world
        .post(&format!("/threads/{thread}/runs/stream"), body)
        .await;
    let place = response.headers()["content-location"]
        .to_str()
        .expect("text")
        .to_owned();
    let mut live = Live::new(response);
    live.until(|event| event.name == "custom").await;
    drop(live);
    // The join returns when the run is over.
    world.json(&format!("{place}/join")).await;
    assert_eq!(world.json(&place).await["status"], "interrupted");

    let (place, live) = start_held_run(&world, &thread, "stays").await;
    drop(live);
    world.sim.release("stays");
    world.json(&format!("{place}/join")).await;
    assert_eq!(world.json(&place).await["status"], "success");

    let (place, live) = start_held_run(&world, &thread, "joined").await;
    let joined = world
        .get(&format!("{place}/stream?cancel_on_disconnect=1"))
        .await;
    drop(joined);
    assert_eq!(
        names(&live.rest().await),
        ["metadata", "values", "custom"],
        "one disconnect ends the run for all readers"
    );
}

#[tokio::test]
async fn stateless_runs_leave_nothing_behind() {
    let world = world(fast()).await;
    let response = world
        .post(
            "/runs/stream",
            json!({"assistant_id": "slow", "input": {"seconds": 0}}),
        )
        .await;
    let location = response.headers()["location"]
        .to_str()
        .expect("text")
        .to_owned();
    assert!(
        location.starts_with("/runs/") && location.ends_with("/stream"),
        "{location}"
    );
    assert_eq!(
        names(&events(&response.text().await.expect("text"))),
        ["metadata", "values", "values", "values"]
    );
    assert_eq!(world.get(&location).await.status(), 404);
    let count: Value = world
        .post("/threads/count", json!({}))
        .await
        .json()
        .await
        .expect("JSON");
    assert_eq!(count, 0);
}

#[tokio::test]
async fn recursion_limit_ends_a_run() {
    let world = world(fast()).await;
    let body = json!({"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": "hi"}]},
        "stream_mode": "updates", "config": {"recursion_limit": 2}});
    let all = events(
        &world
            .post("/runs/stream", body)
            .await
            .text()
            .await
            .expect("text"),
    );
    assert_eq!(names(&all), ["metadata", "updates", "updates", "error"]);
    assert_eq!(all[3].data["error"], "GraphRecursionError");
}

#[tokio::test]
async fn runs_can_start_from_an_older_checkpoint() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    world
        .run(
            &thread,
            json!({"assistant_id": "slow", "input": {"seconds": 0}}),
        )
        .await;
    let history = world
        .json(&format!("/threads/{thread}/history?limit=10"))
        .await;
    assert_eq!(history.as_array().map(Vec::len), Some(4));
    assert!(history[0]["checkpoint_id"].as_str() > history[1]["checkpoint_id"].as_str());
    let before_wake = &history[1];
    assert_eq!(
        (&before_wake["next"], &before_wake["tasks"][0]["result"]),
        (&json!(["wake"]), &json!({"log": ["woke"]}))
    );
    let fork = json!({"assistant_id": "slow", "input": null, "checkpoint_id": before_wake["checkpoint_id"], "stream_mode": "updates"});
    let (_, all) = world.run(&thread, fork).await;
    assert_eq!(names(&all), ["metadata", "updates"]);
    let state = world.json(&format!("/threads/{thread}/state")).await;
    let fork = state["parent_checkpoint_id"].as_str().expect("an id");
    let fork = world.json(&format!("/threads/{thread}/state/{fork}")).await;
    assert_eq!(
        (&fork["metadata"]["source"], &fork["next"]),
        (&json!("fork"), &json!(["wake"]))
    );
    assert_eq!(fork["parent_checkpoint_id"], before_wake["checkpoint_id"]);
}
