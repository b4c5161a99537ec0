//! Run streams and thread streams: ids, replay, joining, tailing.

use crate::sim::{Live, fast, names, world};
use runtail_sim::Options;
use serde_json::{Value, json};
use std::time::Duration;

fn burst() -> serde_json::Value {
    json!({"assistant_id": "firehose", "input": {"n": 21}, "stream_mode": ["custom"], "stream_resumable": true})
}

#[tokio::test]
async fn ids_repeat_and_resuming_skips_events_with_the_same_id() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let (run, all) = world.run(&thread, burst()).await;
    assert_eq!(all.len(), 22, "metadata and 21 events");
    let same_id: Vec<&str> = all[1..8]
        .iter()
        .filter_map(|event| event.id.as_deref())
        .collect();
    assert_eq!(same_id.len(), 7);
    assert!(
        same_id
            .iter()
            .all(|id| *id == same_id[0] && id.ends_with("-0")),
        "{same_id:?}"
    );
    // Cut after the third of seven events: the real server continues after the whole millisecond.
    let rest = world.join(&thread, &run, Some(same_id[0])).await;
    assert_eq!(rest.len(), 14);
    assert_eq!(rest[0].data["i"], 7);
    // Resuming from the previous distinct id loses nothing.
    let safe = world.join(&thread, &run, all[0].id.as_deref()).await;
    assert_eq!(safe, all[1..]);
}

#[tokio::test]
async fn finished_runs_are_replayed_only_with_an_id() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let (run, all) = world.run(&thread, burst()).await;
    for start in ["-", "-1", "0"] {
        assert_eq!(world.join(&thread, &run, Some(start)).await, all, "{start}");
    }
    assert_eq!(world.join(&thread, &run, None).await, []);
    assert_eq!(
        world.join(&thread, &run, Some("zzz")).await,
        [],
        "garbage is larger than every id"
    );
    assert_eq!(world.join(&thread, &run, all[21].id.as_deref()).await, []);
}

#[tokio::test]
async fn only_resumable_runs_have_ids_and_a_replay() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let body = json!({"assistant_id": "firehose", "input": {"n": 3}, "stream_mode": "custom"});
    let (run, all) = world.run(&thread, body).await;
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|event| event.id.is_none()));
    assert_eq!(world.join(&thread, &run, Some("-")).await, []);
}

#[tokio::test]
async fn joining_a_running_run_sends_later_events() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let body = json!({"assistant_id": "slow", "input": {"hold": "gate"}, "stream_mode": ["values", "custom"],
        "stream_resumable": true});
    let started = world
        .post(&format!("/threads/{thread}/runs/stream"), body)
        .await;
    let place = started.headers()["content-location"]
        .to_str()
        .expect("text")
        .to_owned();
    let mut first = Live::new(started);
    first.until(|event| event.name == "custom").await;
    let later = Live::new(world.get(&format!("{place}/stream")).await);
    let values_only = Live::new(
        world
            .get(&format!("{place}/stream?stream_mode=values"))
            .await,
    );
    let replayed = world
        .http
        .get(format!("{}{place}/stream", world.agent))
        .header("Last-Event-ID", "-")
        .send()
        .await;
    let replayed = Live::new(replayed.expect("a response"));
    world.sim.release("gate");
    let all = first.rest().await;
    assert_eq!(
        names(&all),
        ["metadata", "values", "custom", "values", "values"]
    );
    assert_eq!(later.rest().await, all[3..]);
    assert_eq!(values_only.rest().await, all[3..]);
    assert_eq!(replayed.rest().await, all);
}

#[tokio::test]
async fn unknown_runs_and_threads_still_return_200() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let unknown = "00000000-0000-4000-8000-000000000000";
    let response = world.join(&thread, unknown, None).await;
    assert_eq!(names(&response), ["error"]);
    assert_eq!(
        response[0].data,
        json!({"error": "HTTPException", "message": "404: Run not found"})
    );
    let joined = world
        .json(&format!("/threads/{thread}/runs/{unknown}/join"))
        .await;
    assert_eq!(joined["__error__"]["message"], "404: Run not found");
    let silent = world.tail(unknown, "", None).await;
    assert_eq!(silent.status(), 200);
    assert_eq!(
        silent.headers()["content-type"],
        "text/event-stream; charset=utf-8"
    );
}

#[tokio::test]
async fn a_failed_run_does_not_replay_its_error() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let body = json!({"assistant_id": "broken", "input": {}, "stream_mode": ["updates"], "stream_resumable": true});
    let (run, all) = world.run(&thread, body).await;
    assert_eq!(names(&all), ["metadata", "updates", "error"]);
    assert_eq!(
        all[2].data,
        json!({"error": "ValueError", "message": "boom: the node failed — détails"})
    );
    assert!(all[2].id.is_some(), "the live event has an id");
    assert_eq!(
        names(&world.join(&thread, &run, Some("-")).await),
        ["metadata", "updates"]
    );
    let after = world.json(&format!("/threads/{thread}")).await;
    assert_eq!(
        (&after["status"], &after["error"]),
        (&json!("error"), &all[2].data)
    );
    assert_eq!(
        world.json(&format!("/threads/{thread}/runs/{run}")).await["status"],
        "error"
    );
    let joined = world
        .json(&format!("/threads/{thread}/runs/{run}/join"))
        .await;
    assert_eq!(joined["__error__"], all[2].data);
}

#[tokio::test]
async fn thread_streams_send_all_runs_and_replay_resumable_ones() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let mut live = Live::new(world.tail(&thread, "", None).await);
    let plain = json!({"assistant_id": "slow", "input": {"seconds": 0}, "stream_mode": "updates"});
    let (first, _) = world.run(&thread, plain).await;
    let (second, _) = world.run(&thread, burst()).await;
    let done = |run: &str| json!({"status": "run_done", "run_id": run});
    let all = live.until(|event| event.data == done(&second)).await;
    assert!(
        all.iter().all(|event| event.id.is_some()),
        "thread streams always have ids"
    );
    assert!(all.iter().any(|event| event.data == done(&first)));
    assert_eq!(all[0].data, json!({"run_id": first, "attempt": 1}));
    assert_eq!(
        all.iter().filter(|event| event.name == "custom").count(),
        21,
        "regardless of the run's modes"
    );
    for start in ["-", "0", "0-0"] {
        let mut replay = Live::new(
            world
                .tail(&thread, "?stream_modes=run_modes", Some(start))
                .await,
        );
        let again = replay.until(|event| event.data == done(&second)).await;
        assert_eq!(
            again.len(),
            23,
            "the run that was not resumable is not replayed"
        );
        assert_eq!(again[0].data["run_id"], json!(second));
    }
    let from = all[all.len() - 2].id.clone().expect("an id");
    let mut rest = Live::new(world.tail(&thread, "", Some(&from)).await);
    let rest = rest.until(|event| event.data == done(&second)).await;
    assert_eq!(rest.len(), 1, "strictly greater");
    for wrong in ["-1", "$", "zzz"] {
        let refused = world.tail(&thread, "", Some(wrong)).await;
        assert_eq!(refused.status(), 422);
        assert!(
            refused
                .text()
                .await
                .expect("text")
                .contains("must be a valid Redis stream ID")
        );
    }
}

#[tokio::test]
async fn thread_stream_modes_select_events() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let nap = || json!({"assistant_id": "slow", "input": {"seconds": 0}, "stream_mode": "values"});
    world.run(&thread, nap()).await;
    let mut lifecycle = Live::new(world.tail(&thread, "?stream_modes=lifecycle", None).await);
    let mut state = Live::new(
        world
            .tail(&thread, "?stream_modes=state_update", None)
            .await,
    );
    let mut last_wins = Live::new(
        world
            .tail(
                &thread,
                "?stream_modes=state_update&stream_modes=lifecycle",
                None,
            )
            .await,
    );
    let mut both = Live::new(
        world
            .tail(&thread, "?stream_modes=lifecycle,state_update", None)
            .await,
    );
    let (run, _) = world.run(&thread, nap()).await;
    let edit = world
        .post(
            &format!("/threads/{thread}/state"),
            json!({"values": {"log": ["by hand"]}}),
        )
        .await;
    assert_eq!(edit.status(), 200);
    let end = |event: &crate::sim::Event| event.data["status"] == "run_done";
    for stream in [&mut lifecycle, &mut last_wins] {
        let seen = stream.until(end).await;
        assert_eq!(
            seen.iter()
                .map(|event| event.data.clone())
                .collect::<Vec<_>>(),
            [
                json!({"run_id": run, "attempt": 1}),
                json!({"status": "run_done", "run_id": run}),
            ]
        );
    }
    let seen = state.until(|event| event.name == "state_update").await;
    assert_eq!(seen.len(), 1);
    assert_eq!(crate::sim::keys(&seen[0].data), ["state", "thread_id"]);
    assert_eq!(
        seen[0].data["state"]["values"]["log"],
        json!(["napped", "woke", "napped", "woke", "by hand"])
    );
    assert_eq!(
        names(&both.until(|event| event.name == "state_update").await).len(),
        3
    );
    let refused = world.tail(&thread, "?stream_modes=values", None).await;
    assert_eq!(refused.status(), 422);
    assert_eq!(
        refused.json::<serde_json::Value>().await.expect("JSON"),
        json!({"detail": "Invalid stream mode: values"})
    );
    // A manual state update is not stored.
    let mut again = Live::new(
        world
            .tail(&thread, "?stream_modes=state_update,run_modes", Some("-"))
            .await,
    );
    world.run(&thread, burst()).await;
    assert!(
        again
            .until(end)
            .await
            .iter()
            .all(|event| event.name != "state_update")
    );
}

#[tokio::test]
async fn wire_format_is_that_of_the_python_server() {
    let heartbeat = Duration::from_millis(5);
    let options = Options {
        heartbeat,
        ..fast()
    };
    let nap = json!({"assistant_id": "slow", "input": {"hold": "x"}, "stream_mode": "custom", "stream_resumable": true});
    let one = world(options).await;
    let thread = one.thread().await;
    let response = one
        .post(&format!("/threads/{thread}/runs/stream"), nap.clone())
        .await;
    let headers = response.headers().clone();
    let place = headers["content-location"]
        .to_str()
        .expect("text")
        .to_owned();
    assert_eq!(headers["location"], format!("{place}/stream"));
    assert_eq!(
        (&headers["cache-control"], &headers["x-accel-buffering"]),
        (&"no-store".parse().unwrap(), &"no".parse().unwrap())
    );
    let mut live = Live::new(response);
    live.until_text(|text| text.contains(": heartbeat\r\n\r\n") && text.contains("event: custom"))
        .await;
    let first = live
        .text
        .split("\r\n\r\n")
        .find(|block| block.starts_with("event"))
        .expect("an event")
        .to_owned();
    let lines: Vec<&str> = first
        .split("\r\n")
        .map(|line| line.split(':').next().unwrap_or_default())
        .collect();
    assert_eq!(lines, ["event", "data", "id"]);
    one.sim.release("x");
    drop(live);
}

#[tokio::test]
async fn stopped_servers_break_their_streams() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let response = world.tail(&thread, "", None).await;
    drop(world);
    assert!(response.text().await.is_err(), "no clean end");
}

#[tokio::test]
async fn a_run_older_than_the_replay_window_replays_nothing() {
    let world = world(Options {
        replay_window: std::time::Duration::ZERO,
        ..fast()
    })
    .await;
    let thread = world.thread().await;
    let (run, all) = world.run(&thread, burst()).await;
    assert!(
        all.iter().all(|event| event.id.is_some()),
        "the run is resumable"
    );
    assert_eq!(world.join(&thread, &run, Some("-")).await, []);
}

#[tokio::test]
async fn a_join_with_modes_hides_metadata_and_errors() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let body = json!({"assistant_id": "slow", "input": {"hold": "gate"}, "stream_mode": ["values", "custom"],
        "stream_resumable": true});
    let created: Value = world
        .post(&format!("/threads/{thread}/runs"), body)
        .await
        .json()
        .await
        .expect("JSON");
    let run = created["run_id"].as_str().expect("an id");
    let path = format!("{}/threads/{thread}/runs/{run}/stream", world.agent);
    let join = async |modes: &str| {
        let request = world
            .http
            .get(format!("{path}?stream_mode={modes}"))
            .header("Last-Event-ID", "-");
        Live::new(request.send().await.expect("a response"))
    };
    let (values, named) = (
        join("values").await,
        join("%5B%22values%22,%22metadata%22%5D").await,
    );
    world.sim.release("gate");
    assert_eq!(names(&values.rest().await), ["values", "values", "values"]);
    assert_eq!(
        names(&named.rest().await),
        ["metadata", "values", "values", "values"]
    );
}
