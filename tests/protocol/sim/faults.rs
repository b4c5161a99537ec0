//! Injected faults, and the request log.

use crate::sim::{Live, events, fast, names, world};
use futures::StreamExt;
use runtail_sim::{KEY, Rule};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn responses_can_be_replaced_temporarily() {
    let world = world(fast()).await;
    world.sim.rule(
        Rule::on("GET", "/info")
            .skip(1)
            .times(2)
            .status(429)
            .header("retry-after", "3"),
    );
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(world.get("/info").await.status().as_u16());
    }
    assert_eq!(seen, [200, 429, 429, 200]);
    world.sim.rule(Rule::on("*", "/ok").html(502));
    let page = world.get("/ok").await;
    assert_eq!(
        (page.status().as_u16(), &page.headers()["content-type"]),
        (502, &"text/html".parse().unwrap())
    );
    world.sim.clear_rules();
    world.sim.rule(Rule::on("*", "/ok").body("{\"ok\":"));
    assert!(
        world
            .get("/ok")
            .await
            .json::<serde_json::Value>()
            .await
            .is_err(),
        "broken JSON"
    );
    world.sim.clear_rules();
    world
        .sim
        .rule(Rule::on("*", "/ok").redirect("http://127.0.0.1:9/elsewhere"));
    let plain = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client");
    let sent = plain
        .get(format!("{}/ok", world.agent))
        .send()
        .await
        .expect("a response");
    assert_eq!(
        (sent.status().as_u16(), &sent.headers()["location"]),
        (307, &"http://127.0.0.1:9/elsewhere".parse().unwrap())
    );
    world.sim.clear_rules();
    world.sim.rule(Rule::on("GET", "/ok").hang());
    let impatient = world
        .http
        .get(format!("{}/ok", world.agent))
        .timeout(Duration::from_millis(60))
        .send()
        .await;
    assert!(impatient.is_err_and(|error| error.is_timeout()));
}

#[tokio::test]
async fn streams_can_be_cut_closed_and_chopped() {
    let world = world(fast()).await;
    let burst = json!({"assistant_id": "firehose", "input": {"n": 50}, "stream_mode": "custom", "stream_resumable": true});
    let thread = world.thread().await;
    let (run, all) = world.run(&thread, burst).await;
    let path = format!("{}/threads/{thread}/runs/{run}/stream", world.agent);
    let replay = || world.http.get(&path).header("Last-Event-ID", "-").send();
    let whole = replay()
        .await
        .expect("a response")
        .text()
        .await
        .expect("text");

    world
        .sim
        .rule(Rule::on("GET", "/stream").times(1).cut_after_events(5));
    let mut body = replay().await.expect("a response").bytes_stream();
    let (mut text, mut broken) = (String::new(), false);
    while let Some(part) = body.next().await {
        match part {
            Ok(part) => text.push_str(&String::from_utf8_lossy(&part)),
            Err(_) => broken = true,
        }
    }
    assert!(broken, "no clean end");
    assert_eq!(events(&text), all[..5]);

    world.sim.rule(
        Rule::on("GET", "/stream")
            .skip(1)
            .times(1)
            .close_after_bytes(100),
    );
    world.sim.clear_rules();
    world
        .sim
        .rule(Rule::on("GET", "/stream").times(1).close_after_bytes(100));
    assert_eq!(
        replay()
            .await
            .expect("a response")
            .text()
            .await
            .expect("a clean end"),
        whole[..100]
    );

    world.sim.rule(
        Rule::on("GET", "/stream")
            .skip(1)
            .times(1)
            .rechunk(3)
            .pause_after_bytes(10, Duration::from_millis(1)),
    );
    assert_eq!(
        replay()
            .await
            .expect("a response")
            .text()
            .await
            .expect("text"),
        whole
    );
    world.sim.clear_rules();
    world
        .sim
        .rule(Rule::on("GET", "/stream").cut_after_bytes(77));
    assert!(replay().await.expect("a response").text().await.is_err());
}

#[tokio::test]
async fn a_cut_post_does_not_stop_the_run() {
    let world = world(fast()).await;
    let thread = world.thread().await;
    world.sim.rule(
        Rule::on("POST", "/runs/stream")
            .times(1)
            .cut_after_events(2),
    );
    let body = json!({"assistant_id": "slow", "input": {"hold": "gate"}, "stream_resumable": true});
    let response = world
        .post(&format!("/threads/{thread}/runs/stream"), body)
        .await;
    let place = response.headers()["content-location"]
        .to_str()
        .expect("text")
        .to_owned();
    assert!(response.bytes().await.is_err());
    let live = Live::new(
        world
            .http
            .get(format!("{}{place}/stream", world.agent))
            .header("Last-Event-ID", "-")
            .send()
            .await
            .expect("a response"),
    );
    world.sim.release("gate");
    assert_eq!(
        names(&live.rest().await),
        ["metadata", "values", "values", "values"]
    );
}

#[tokio::test]
async fn every_request_is_logged() {
    let world = world(fast()).await;
    world.sim.rule(
        Rule::on("GET", "/v2/deployments")
            .server("local")
            .status(401),
    );
    world.post("/threads/search?x=1", json!({"limit": 1})).await;
    let refused = world
        .http
        .get(format!("{}/v2/deployments", world.control_plane))
        .header("X-Api-Key", KEY)
        .send()
        .await;
    assert_eq!(refused.expect("a response").status(), 401);
    let seen = world.sim.requests();
    assert_eq!(seen.len(), 2);
    assert_eq!(
        (
            seen[0].method.as_str(),
            seen[0].path.as_str(),
            seen[0].query.as_str()
        ),
        ("POST", "/threads/search", "x=1")
    );
    assert_eq!(
        (seen[0].json(), seen[0].server.as_str()),
        (json!({"limit": 1}), "agents-local")
    );
    assert_eq!(
        (seen[1].header("x-api-key"), seen[1].server.as_str()),
        (Some(KEY), "local")
    );
    assert!(seen[0].at <= seen[1].at);
    world.sim.forget_requests();
    assert!(world.sim.requests().is_empty());
}
