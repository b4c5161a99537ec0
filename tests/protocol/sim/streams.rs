//! What the streams of both modes replay, to clients that cannot know it from captures.

use crate::sim::{Event, Live, World, fast, world};
use runtail_sim::{Options, Scenario};
use serde_json::{Value, json};

/// A run of 21 events, seven of which are published together.
fn burst() -> Value {
    json!({"assistant_id": "firehose", "input": {"n": 21}, "stream_mode": ["custom"]})
}

async fn strict() -> World {
    world(Options {
        scenario: Scenario::Contract,
        ..fast()
    })
    .await
}

fn done(run: &str) -> impl Fn(&Event) -> bool {
    let end = json!({"status": "run_done", "run_id": run});
    move |event| event.data == end
}

#[tokio::test]
async fn ids_repeat_and_resuming_skips_events_with_the_same_id() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let mut body = burst();
    body["stream_resumable"] = json!(true);
    let (run, all) = world.run(&thread, body).await;
    let ids: Vec<&str> = all.iter().filter_map(|event| event.id.as_deref()).collect();
    assert!(
        ids.len() == 22 && ids[1..8] == [ids[1]; 7] && ids[1].ends_with("-0"),
        "{ids:?}"
    );
    // The real server continues after the whole millisecond.
    assert_eq!(world.join(&thread, &run, Some(ids[1])).await, all[8..]);
    assert_eq!(world.join(&thread, &run, Some(ids[0])).await, all[1..]);
    assert_eq!(world.join(&thread, &run, None).await, []);
    let mut replay = Live::new(world.tail(&thread, "", Some("-")).await);
    assert_eq!(replay.until(done(&run)).await.len(), 23);
    let (plain, all) = world.run(&thread, burst()).await;
    assert!(all.iter().all(|event| event.id.is_none()));
    assert_eq!(world.join(&thread, &plain, Some("-")).await, []);
    assert_eq!(world.tail(&thread, "", Some("zzz")).await.status(), 422);
}

#[tokio::test]
async fn a_contract_only_server_numbers_events_and_replays_none_to_who_joins() {
    let world = strict().await;
    let thread = world.thread().await;
    let (run, all) = world.run(&thread, burst()).await;
    let mut replay = Live::new(world.tail(&thread, "", Some("-")).await);
    let replayed = replay.until(done(&run)).await;
    assert_eq!(replayed.len(), all.len() + 1, "nothing is dropped");
    for cut in [0, 4, 9] {
        let mut rest = Live::new(world.tail(&thread, "", replayed[cut].id.as_deref()).await);
        assert_eq!(rest.until(done(&run)).await, replayed[cut + 1..]);
    }
    assert_eq!(world.join(&thread, &run, Some("-")).await, []);
    let ids = all.iter().map(|event| event.id.clone().expect("an id"));
    assert!(ids.eq((1..=all.len()).map(|n| format!("{n}-0"))));
    let commas = "?stream_modes=lifecycle,state_update";
    assert_eq!(world.tail(&thread, commas, None).await.status(), 422);
    for path in ["/info", &format!("/threads/{thread}/state")] {
        assert_eq!(world.get(path).await.status(), 404, "{path}");
    }
}
