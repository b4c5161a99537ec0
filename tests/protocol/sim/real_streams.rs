//! The streams of the JavaScript server and of Aegra. Other responses of these servers are checked in `real_requests`.

use crate::sim::{Event, Live, World, events, names, world};
use runtail_sim::{Options, Scenario};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

fn of(scenario: Scenario) -> Options {
    Options {
        scenario,
        speed: 1000.0,
        ..Options::default()
    }
}

/// Returns types and keys without contents. A list has the distinct shapes of its entries.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let id = |key: &str| key.len() > 30 && key.contains('-');
            let name = |key: &str| {
                if id(key) {
                    "an id".to_owned()
                } else {
                    key.to_owned()
                }
            };
            let sorted: BTreeMap<String, Value> = map
                .iter()
                .map(|(key, value)| (name(key), shape(value)))
                .collect();
            json!(sorted)
        }
        Value::Array(list) => {
            let shapes: BTreeSet<String> =
                list.iter().map(|value| shape(value).to_string()).collect();
            json!(shapes)
        }
        Value::Null => json!("null"),
        Value::Bool(_) => json!("boolean"),
        Value::Number(_) => json!("number"),
        Value::String(_) => json!("string"),
    }
}

/// Returns the shapes of the events of each name.
fn shapes(events: &[Event]) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in events {
        found
            .entry(event.name.clone())
            .or_default()
            .insert(shape(&event.data).to_string());
    }
    found
}

fn order(events: &[Event]) -> Vec<&str> {
    let mut names = names(events);
    names.dedup();
    names
}

async fn check_streams(scenario: Scenario, captures: &[(&str, &str)]) {
    let world = world(of(scenario)).await;
    let input = json!({"messages": [{"role": "user", "content": "weather in Kraków?"}]});
    for (mode, capture) in captures {
        let real = events(capture);
        let thread = world.thread().await;
        let body = json!({"assistant_id": "agent", "input": input, "stream_mode": [mode]});
        let (_, own) = world.run(&thread, body).await;
        assert_eq!(order(&own), order(&real), "{mode}");
        for (name, real) in shapes(&real) {
            let own = shapes(&own).remove(&name).unwrap_or_default();
            let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| {
                a.difference(b)
                    .map(|shape| shape.replace('\\', ""))
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            let (missing, added) = (only(&real, &own), only(&own, &real));
            assert!(
                missing.is_empty() && added.is_empty(),
                "{name} in {mode}\nreal: {missing}\nsimulator: {added}"
            );
        }
    }
}

#[tokio::test]
async fn javascript_streams_match_the_captured_shapes() {
    let captures = [
        ("values", include_str!("../../captures/js-agent-values.sse")),
        (
            "updates",
            include_str!("../../captures/js-agent-updates.sse"),
        ),
        (
            "messages",
            include_str!("../../captures/js-agent-messages.sse"),
        ),
        (
            "messages-tuple",
            include_str!("../../captures/js-agent-messages-tuple.sse"),
        ),
        ("tasks", include_str!("../../captures/js-agent-tasks.sse")),
        (
            "checkpoints",
            include_str!("../../captures/js-agent-checkpoints.sse"),
        ),
    ];
    check_streams(Scenario::JavaScript, &captures).await;
}

#[tokio::test]
async fn aegra_streams_match_the_captured_shapes() {
    let captures = [
        (
            "values",
            include_str!("../../captures/aegra-agent-values.sse"),
        ),
        (
            "updates",
            include_str!("../../captures/aegra-agent-updates.sse"),
        ),
        (
            "messages",
            include_str!("../../captures/aegra-agent-messages.sse"),
        ),
        (
            "messages-tuple",
            include_str!("../../captures/aegra-agent-messages-tuple.sse"),
        ),
        (
            "tasks",
            include_str!("../../captures/aegra-agent-tasks.sse"),
        ),
        (
            "checkpoints",
            include_str!("../../captures/aegra-agent-checkpoints.sse"),
        ),
        (
            "debug",
            include_str!("../../captures/aegra-agent-debug.sse"),
        ),
    ];
    check_streams(Scenario::Aegra, &captures).await;
}

fn ids(events: &[Event]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event.id.as_deref().unwrap_or("none"))
        .collect()
}

fn header(response: &reqwest::Response, name: &str) -> Option<String> {
    response
        .headers()
        .get(name)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
}

/// Starts a streamed run of `slow` that waits for `gate`. Returns its id, and the stream after its first events.
async fn start_held_run(world: &World, thread: &str, more: Value) -> (String, Live) {
    let mut body = json!({"assistant_id": "slow", "input": {"hold": "gate"}, "stream_mode": ["values", "custom"]});
    for (key, value) in more.as_object().into_iter().flatten() {
        body[key] = value.clone();
    }
    let response = world
        .post(&format!("/threads/{thread}/runs/stream"), body)
        .await;
    let mut live = Live::new(response);
    let all = live.until(|event| event.name == "custom").await;
    (
        all[0].data["run_id"].as_str().expect("an id").to_owned(),
        live,
    )
}

async fn join_stream(world: &World, thread: &str, run: &str, after: Option<&str>) -> Live {
    let mut request = world.http.get(format!(
        "{}/threads/{thread}/runs/{run}/stream",
        world.agent
    ));
    if let Some(after) = after {
        request = request.header("Last-Event-ID", after);
    }
    Live::new(request.send().await.expect("a response"))
}

#[tokio::test]
async fn resumable_javascript_runs_replay_from_any_index_indefinitely() {
    let world = world(Options {
        replay_window: Duration::ZERO,
        ..of(Scenario::JavaScript)
    })
    .await;
    let thread = world.thread().await;
    let (run, first) = start_held_run(&world, &thread, json!({"stream_resumable": true})).await;
    let after = ["-1", "1", "-", "99"];
    let mut joins = Vec::new();
    for after in after {
        joins.push(join_stream(&world, &thread, &run, Some(after)).await);
    }
    joins.push(join_stream(&world, &thread, &run, None).await);
    world.sim.release("gate");
    let all = first.rest().await;
    assert_eq!(ids(&all), ["0", "1", "2", "3", "4"]);
    let mut seen = Vec::new();
    for join in joins {
        seen.push(join.rest().await);
    }
    assert_eq!(seen[0], all);
    assert_eq!(seen[1], all[2..]);
    for live_only in &seen[2..] {
        assert_eq!(ids(live_only), ["3", "4"]);
    }
    // The run and its replay window are over, but this server keeps all events.
    assert_eq!(world.join(&thread, &run, Some("-1")).await, all);
    assert_eq!(world.join(&thread, &run, Some("3")).await, all[4..]);
    for nothing in [None, Some("-"), Some("4")] {
        assert_eq!(world.join(&thread, &run, nothing).await, [], "{nothing:?}");
    }
}

#[tokio::test]
async fn events_of_other_javascript_runs_have_one_reader() {
    let world = world(of(Scenario::JavaScript)).await;
    let thread = world.thread().await;
    let (run, first) = start_held_run(&world, &thread, json!({})).await;
    let second = join_stream(&world, &thread, &run, Some("-1")).await;
    world.sim.release("gate");
    let (first, second) = tokio::join!(first.rest(), second.rest());
    assert!(
        first.iter().all(|event| !second.contains(event)),
        "{first:?} {second:?}"
    );
    let mut both: Vec<&str> = ids(&first).into_iter().chain(ids(&second)).collect();
    both.sort_unstable();
    assert_eq!(both, ["0", "1", "2", "3", "4"]);
    assert_eq!(
        world.join(&thread, &run, Some("-1")).await,
        [],
        "no event is left"
    );
}

#[tokio::test]
async fn javascript_wire_format() {
    let world = world(Options {
        heartbeat: Duration::from_millis(1),
        ..of(Scenario::JavaScript)
    })
    .await;
    let thread = world.thread().await;
    let body = json!({"assistant_id": "agent", "input": {"messages": "hi"}, "stream_mode": ["messages", "messages-tuple"]});
    let response = world
        .post(&format!("/threads/{thread}/runs/stream"), body)
        .await;
    let [kind, cache, place, other] = [
        "content-type",
        "cache-control",
        "content-location",
        "location",
    ]
    .map(|name| header(&response, name));
    assert_eq!(
        (kind.as_deref(), cache.as_deref()),
        (Some("text/event-stream"), Some("no-cache"))
    );
    let place = place.expect("content-location");
    assert!(place.starts_with(&format!("/threads/{thread}/runs/")) && other.is_none());
    let text = response.text().await.expect("a clean end");
    assert!(
        !text.contains('\r') && !text.lines().any(|line| line.starts_with(':')),
        "LF and no heartbeats"
    );
    let all = events(&text);
    for name in [
        "messages",
        "messages/metadata",
        "messages/partial",
        "messages/complete",
    ] {
        assert!(names(&all).contains(&name), "{name}: both modes are sent");
    }
    let joined = world.get(&format!("{place}/stream")).await;
    assert_eq!(
        (
            joined.status().as_u16(),
            header(&joined, "content-location")
        ),
        (200, None)
    );
    let unknown = world
        .join(&thread, "00000000-0000-4000-8000-000000000000", None)
        .await;
    assert_eq!(
        (names(&unknown), &unknown[0].data),
        (vec!["error"], &json!("Run not found"))
    );
    let tail = world.tail(&thread, "", None).await;
    assert_eq!(
        (
            tail.status().as_u16(),
            tail.text().await.expect("text").as_str()
        ),
        (404, "404 Not Found")
    );
    let stateless = world
        .post(
            "/runs/stream",
            json!({"assistant_id": "slow", "input": {"seconds": 0}}),
        )
        .await;
    let place = header(&stateless, "content-location").expect("content-location");
    assert!(place.starts_with("/runs/"));
    let all = events(&stateless.text().await.expect("a clean end"));
    assert!(
        all.iter().all(|event| event.id.is_none()),
        "stateless runs have no ids"
    );
    assert_eq!(world.get(&format!("{place}/stream")).await.status(), 200);
    assert_eq!(world.json("/info").await["langgraph_js_version"], "1.4.18");
    let id = "fe096781-5601-53d2-b2f6-0d3403f7e9ca";
    assert_eq!(
        world
            .get(&format!("/assistants/{id}/schemas"))
            .await
            .status(),
        400
    );
}

#[tokio::test]
async fn javascript_lists_runs_oldest_first() {
    let world = world(of(Scenario::JavaScript)).await;
    let thread = world.thread().await;
    let mut created = Vec::new();
    for _ in 0..3 {
        created.push(
            world
                .run(
                    &thread,
                    json!({"assistant_id": "slow", "input": {"seconds": 0}}),
                )
                .await
                .0,
        );
    }
    let runs = world.json(&format!("/threads/{thread}/runs")).await;
    let listed: Vec<&str> = runs
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|run| run["run_id"].as_str())
        .collect();
    assert_eq!(listed, created);
    let first = world.json(&format!("/threads/{thread}/runs?limit=1")).await;
    assert_eq!(
        (first.as_array().map(Vec::len), first[0]["run_id"].as_str()),
        (Some(1), Some(created[0].as_str()))
    );
}

#[tokio::test]
async fn aegra_replays_stored_events_and_shares_its_queue() {
    let world = world(of(Scenario::Aegra)).await;
    let thread = world.thread().await;
    let (run, first) = start_held_run(&world, &thread, json!({})).await;
    let mut second = join_stream(&world, &thread, &run, None).await;
    let stored = second.until(|event| event.name == "values").await;
    let id = |n: usize| format!("{run}_event_{n}");
    assert_eq!(
        ids(&stored),
        [id(2)],
        "neither metadata nor custom events are stored"
    );
    world.sim.release("gate");
    let (first, second) = tokio::join!(first.rest(), second.rest());
    let later = [id(4), id(5)];
    let of = |events: &[Event]| {
        ids(events)
            .iter()
            .filter(|id| later.iter().any(|later| later == *id))
            .count()
    };
    assert_eq!(of(&first) + of(&second), 2, "{first:?} {second:?}");
    for after in [None, Some("-"), Some(id(1).as_str())] {
        let over = world.join(&thread, &run, after).await;
        assert_eq!(
            (names(&over), &over[0].data, &over[0].id),
            (vec!["end"], &json!({"status": "success"}), &None)
        );
    }
}

#[tokio::test]
async fn aegra_wire_format() {
    let world = world(Options {
        heartbeat: Duration::from_millis(1),
        ..of(Scenario::Aegra)
    })
    .await;
    let thread = world.thread().await;
    let input = json!({"messages": [{"role": "user", "content": "weather in Kraków?"}]});
    let body = json!({"assistant_id": "agent", "input": input, "stream_mode": ["values"]});
    let response = world
        .post(&format!("/threads/{thread}/runs/stream"), body)
        .await;
    let place = header(&response, "content-location").expect("content-location");
    assert_eq!(
        header(&response, "location"),
        Some(format!("{place}/stream"))
    );
    assert_eq!(
        header(&response, "content-type").as_deref(),
        Some("text/event-stream")
    );
    let text = response.text().await.expect("a clean end");
    assert!(text.is_ascii() && text.contains("Krak\\u00f3w") && !text.contains('\r'));
    assert!(
        !text.lines().any(|line| line.starts_with(':')),
        "no heartbeats"
    );
    let run = place.rsplit('/').next().expect("an id");
    assert_eq!(events(&text)[0].id, Some(format!("{run}_event_1")));
    for (path, status) in [
        ("/ok", 404),
        ("/health", 200),
        ("/info", 200),
        ("/assistants/agent", 404),
    ] {
        assert_eq!(world.get(path).await.status(), status, "{path}");
    }
    assert_eq!(world.tail(&thread, "", None).await.status(), 404);
    let stateless = json!({"assistant_id": "agent", "input": {}});
    for path in ["/runs", "/runs/stream", "/runs/wait"] {
        assert_eq!(
            world.post(path, stateless.clone()).await.status(),
            404,
            "{path}"
        );
    }
    assert_eq!(
        world
            .post("/threads/search", json!({"limit": 100}))
            .await
            .status(),
        200
    );
    assert_eq!(
        world
            .post("/threads/search", json!({"limit": 101}))
            .await
            .status(),
        422
    );
}

#[tokio::test]
async fn contract_only_responses_have_no_location_and_other_endpoints_are_missing() {
    let world = world(of(Scenario::Contract)).await;
    let thread = world.thread().await;
    let body = json!({"assistant_id": "slow", "input": {"seconds": 0}});
    let response = world
        .post(&format!("/threads/{thread}/runs/stream"), body.clone())
        .await;
    let headers = |response: &reqwest::Response| {
        [
            header(response, "content-location"),
            header(response, "location"),
        ]
    };
    assert_eq!(headers(&response), [None, None]);
    let run = events(&response.text().await.expect("text"))[0].data["run_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let joined = world
        .get(&format!("/threads/{thread}/runs/{run}/stream"))
        .await;
    assert_eq!(
        (joined.status().as_u16(), headers(&joined)),
        (200, [None, None])
    );
    assert_eq!(
        headers(&world.post("/runs/stream", body).await),
        [None, None]
    );
    let path = format!("/threads/{thread}");
    for path in [
        "/ok",
        "/info",
        &path,
        &format!("{path}/state"),
        &format!("{path}/history"),
        &format!("{path}/runs"),
    ] {
        assert_eq!(world.get(path).await.status(), 404, "{path}");
    }
    let cancel = world
        .post(&format!("{path}/runs/{run}/cancel"), json!({}))
        .await;
    assert_eq!(cancel.status(), 404);
    let (_, failed) = world
        .run(&thread, json!({"assistant_id": "broken", "input": {}}))
        .await;
    assert_eq!(
        failed.last().map(|event| event.name.as_str()),
        Some("error")
    );
}
