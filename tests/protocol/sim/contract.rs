//! The contract-only server.

use crate::sim::{Live, events, keys, names, world};
use runtail_sim::{Ids, KEY, Options, Scenario};
use serde_json::{Value, json};

fn strict() -> Options {
    Options {
        scenario: Scenario::Contract,
        speed: 1000.0,
        ..Options::default()
    }
}

#[tokio::test]
async fn endpoints_outside_the_contract_are_missing() {
    let world = world(strict()).await;
    for path in [
        "/ok",
        "/info",
        "/assistants/agent",
        "/threads/00000000-0000-4000-8000-000000000000",
    ] {
        assert_eq!(world.get(path).await.status(), 404, "{path}");
    }
    let thread = format!("/threads/{}", world.thread().await);
    for path in ["", "/state", "/history", "/runs"] {
        let path = format!("{thread}{path}");
        assert_eq!(world.get(&path).await.status(), 404, "{path}");
    }
    let run = "00000000-0000-4000-8000-000000000000";
    for path in ["/threads/search", &format!("{thread}/runs/{run}/cancel")] {
        assert_eq!(world.post(path, json!({})).await.status(), 404, "{path}");
    }
    for path in [
        "/v2/listeners",
        "/v2/deployments/free-count/logs",
        "/v1/integrations/github/install",
    ] {
        let response = world
            .http
            .get(format!("{}{path}", world.control_plane))
            .header("X-Api-Key", KEY)
            .send()
            .await;
        assert_eq!(response.expect("a response").status(), 404, "{path}");
    }
}

#[tokio::test]
async fn ids_are_unique_and_resuming_loses_nothing() {
    let world = world(strict()).await;
    let thread = world.thread().await;
    let body = json!({"assistant_id": "firehose", "input": {"n": 21}, "stream_mode": ["custom"]});
    let (run, all) = world.run(&thread, body).await;
    let done =
        |event: &crate::sim::Event| event.data == json!({"status": "run_done", "run_id": run});
    let mut replay = Live::new(world.tail(&thread, "", Some("-")).await);
    let replayed = replay.until(done).await;
    assert_eq!(replayed.len(), all.len() + 1, "nothing is dropped");
    for cut in [0, 4, 9] {
        let mut rest = Live::new(world.tail(&thread, "", replayed[cut].id.as_deref()).await);
        assert_eq!(rest.until(done).await, replayed[cut + 1..]);
    }
    assert_eq!(
        world.join(&thread, &run, Some("-")).await,
        [],
        "a joined run sends only later events"
    );
    let ids = all.iter().map(|event| event.id.clone().expect("an id"));
    let numbers: Vec<String> = (1..=all.len()).map(|n| format!("{n}-0")).collect();
    assert!(ids.eq(numbers), "ids are no times");
}

#[tokio::test]
async fn a_server_may_send_no_ids() {
    let world = world(Options {
        ids: Some(Ids::Absent),
        ..strict()
    })
    .await;
    let thread = world.thread().await;
    let body = json!({"assistant_id": "firehose", "input": {"n": 21}, "stream_mode": ["custom"]});
    let (_, all) = world.run(&thread, body).await;
    assert!(all.len() > 21 && all.iter().all(|event| event.id.is_none()));
}

#[tokio::test]
async fn repeated_mode_parameters_are_combined_and_commas_do_not_split() {
    let world = world(strict()).await;
    let thread = world.thread().await;
    let mut both = Live::new(
        world
            .tail(
                &thread,
                "?stream_modes=lifecycle&stream_modes=state_update",
                None,
            )
            .await,
    );
    let (run, _) = world
        .run(
            &thread,
            json!({"assistant_id": "slow", "input": {"seconds": 0}}),
        )
        .await;
    let all = both.until(|event| event.name == "state_update").await;
    assert_eq!(names(&all), ["metadata", "metadata", "state_update"]);
    assert_eq!(all[1].data, json!({"status": "run_done", "run_id": run}));
    assert_eq!(
        all[2].data["state"]["values"]["log"],
        json!(["napped", "woke"])
    );
    assert_eq!(
        world
            .tail(&thread, "?stream_modes=lifecycle,state_update", None)
            .await
            .status(),
        422
    );
    let stateless = world
        .post(
            "/runs/stream",
            json!({"assistant_id": "slow", "input": {"seconds": 0}}),
        )
        .await;
    assert_eq!(
        events(&stateless.text().await.expect("text"))[0].data["attempt"],
        1
    );
}

#[tokio::test]
async fn control_plane_uses_the_contract_field_names() {
    let world = world(strict()).await;
    let call = |method: reqwest::Method, path: &str, body: Value| {
        let request = world
            .http
            .request(method, format!("{}{path}", world.control_plane))
            .header("X-Api-Key", KEY);
        request
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
    };
    use reqwest::Method as M;
    let new = json!({
        "name": "bot", "source": "github",
        "source_config": {"integration_id": "i", "repo_url": "https://github.com/acme/bot", "deployment_type": "dev",
            "build_on_push": true, "custom_url": null, "resource_spec": null},
        "source_revision_config": {"repo_ref": "main", "graph_config_path": "graphs.json", "image_uri": null},
        "secrets": [{"name": "A", "value": "b"}],
    });
    let created = call(M::POST, "/v2/deployments", new)
        .await
        .expect("a response");
    assert_eq!(created.status(), 201);
    let created: Value = created.json().await.expect("JSON");
    assert_eq!(
        keys(&created),
        [
            "id",
            "latest_revision_id",
            "name",
            "secrets",
            "source",
            "source_config",
            "source_revision_config"
        ]
    );
    assert_eq!(
        created["source_revision_config"],
        json!({"repo_ref": "main", "graph_config_path": "graphs.json", "image_uri": null})
    );
    assert_eq!(created["secrets"], json!([{"name": "A", "value": "b"}]));
    let id = created["id"].as_str().expect("an id");
    let path = format!("/v2/deployments/{id}");
    let patch = json!({"source_config": {"build_on_push": false}});
    assert_eq!(
        call(M::PATCH, &path, patch)
            .await
            .expect("a response")
            .status(),
        200
    );
    let patch =
        json!({"source_revision_config": {"repo_ref": "next", "graph_config_path": "g.json"}});
    assert_eq!(
        call(M::PATCH, &path, patch)
            .await
            .expect("a response")
            .status(),
        200
    );
    let list: Value = call(M::GET, &format!("{path}/revisions"), json!({}))
        .await
        .expect("a response")
        .json()
        .await
        .expect("JSON");
    assert_eq!(
        (keys(&list), list["resources"].as_array().map(Vec::len)),
        (vec!["resources"], Some(2))
    );
    assert_eq!(keys(&list["resources"][0]), ["created_at", "id", "status"]);
    assert!(
        list["resources"][0]["created_at"].as_str() > list["resources"][1]["created_at"].as_str()
    );
    assert_eq!(
        call(M::DELETE, &path, json!({}))
            .await
            .expect("a response")
            .status(),
        204
    );
    assert_eq!(
        call(M::GET, &path, json!({}))
            .await
            .expect("a response")
            .status(),
        404
    );
}

#[tokio::test]
async fn streams_have_a_connection_of_their_own_and_no_location() {
    let world = world(strict()).await;
    let thread = world.thread().await;
    let body = json!({"assistant_id": "slow", "input": {"seconds": 0}});
    let response = world
        .post(&format!("/threads/{thread}/runs/stream"), body.clone())
        .await;
    let is_bare = |response: &reqwest::Response| {
        let headers = response.headers();
        headers["connection"] == "close"
            && !headers.contains_key("content-location")
            && !headers.contains_key("location")
            && !headers.contains_key("content-length")
    };
    assert!(is_bare(&response), "{response:?}");
    let run = events(&response.text().await.expect("text"))[0].data["run_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let joined = world
        .get(&format!("/threads/{thread}/runs/{run}/stream"))
        .await;
    assert!(joined.status() == 200 && is_bare(&joined), "{joined:?}");
    assert!(is_bare(&world.post("/runs/stream", body).await));
    let (_, failed) = world
        .run(&thread, json!({"assistant_id": "broken", "input": {}}))
        .await;
    assert_eq!(
        failed.last().map(|event| event.name.as_str()),
        Some("error")
    );
}
