//! The demo world: it is full, it moves, and it answers like any other.

use crate::{Live, World, world};
use runtail::sim::{KEY, Options, Sim};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;

async fn demo() -> World {
    world(Options { speed: 40.0, ..Options::demo() }).await
}

#[tokio::test]
async fn there_are_two_regions_with_a_dozen_deployments() {
    let world = demo().await;
    let names: Vec<&str> = world.sim.regions().iter().map(|region| region.name.as_str()).collect();
    assert_eq!(names, ["prod-us", "prod-eu"]);
    let mut all = Vec::new();
    for region in world.sim.regions() {
        let url = format!("{}/v2/deployments?limit=100", region.url);
        let list: Value =
            world.http.get(url).header("X-Api-Key", KEY).send().await.expect("an answer").json().await.expect("JSON");
        all.extend(list["resources"].as_array().expect("a list").clone());
    }
    assert!(all.len() >= 12);
    let agents: Vec<&str> = world.sim.agents().iter().map(|agent| agent.url.as_str()).collect();
    let serves = |one: &Value, key: &str| one.as_str().or(one[key].as_str()).is_some_and(|url| agents.contains(&url));
    assert!(all.iter().filter(|one| serves(&one["url"], "")).count() >= 4, "several lead to a live server");
    assert!(all.iter().any(|one| one["url"].is_null() && serves(&one["source_config"]["custom_url"], "")));
    assert!(all.iter().any(|one| one["url"].is_null() && one["source_config"]["custom_url"].is_null()));
    let bot = all.iter().find(|one| one["name"] == "support-bot").expect("a bot");
    let url = format!("{}/v2/deployments/{}/revisions", world.plane, bot["id"].as_str().expect("an id"));
    let list: Value =
        world.http.get(url).header("X-Api-Key", KEY).send().await.expect("an answer").json().await.expect("JSON");
    assert!(list["resources"].as_array().is_some_and(|all| (4..=8).contains(&all.len())));
}

#[tokio::test]
async fn agent_servers_have_threads_of_every_kind_and_some_that_live() {
    let world = demo().await;
    for agent in world.sim.agents() {
        let search = async |body: Value| {
            let request = world.http.post(format!("{}/threads/search", agent.url)).body(body.to_string());
            request.send().await.expect("an answer").json::<Value>().await.expect("JSON")
        };
        let all = search(json!({"limit": 100})).await;
        let all = all.as_array().expect("a list");
        assert!((12..=20).contains(&all.len()), "{}", all.len());
        for status in ["idle", "interrupted", "error"] {
            assert!(all.iter().any(|thread| thread["status"] == status), "{status}");
        }
        let failed = all.iter().find(|thread| thread["status"] == "error").expect("one");
        assert!(failed["error"]["message"].is_string());
        assert!(all.iter().any(|thread| thread["values"]["messages"].as_array().is_some_and(|all| all.len() >= 4)));
        let mut ages: Vec<&str> = all.iter().filter_map(|thread| thread["updated_at"].as_str()).collect();
        ages.sort_unstable();
        ages.dedup();
        assert!(ages.len() >= 10, "of different ages");
        let assistants = world.http.post(format!("{}/assistants/search", agent.url)).send().await.expect("an answer");
        let assistants: Value = assistants.json().await.expect("JSON");
        assert!(assistants.as_array().is_some_and(|all| (4..=7).contains(&all.len())));
        let living = search(json!({"metadata": {"live": true, "subject": "live chat"}})).await;
        let id = living[0]["thread_id"].as_str().expect("an id");
        let tail = world.http.get(format!("{}/threads/{id}/stream", agent.url)).header("Last-Event-ID", "-").send();
        let mut live = Live::new(tail.await.expect("an answer"));
        let seen = live.until(|event| event.data["status"] == "run_done").await;
        for name in ["metadata", "values", "messages", "updates", "tasks"] {
            assert!(seen.iter().any(|event| event.name == name), "{name}");
        }
    }
}

#[tokio::test]
async fn an_agent_server_remembers_its_past_when_it_is_first_asked() {
    rustls::crypto::ring::default_provider().install_default().ok();
    let sim = Sim::demo().await.expect("servers on loopback");
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    let url = sim.agents()[0].url.clone();
    // Who it is, it knows without one.
    assert!(http.get(format!("{url}/info")).send().await.expect("an answer").status().is_success());
    let threads = async || {
        let request = http.post(format!("{url}/threads/search")).body(json!({"limit": 100}).to_string());
        let found: Value = request.send().await.expect("an answer").json().await.expect("JSON");
        found.as_array().map_or(0, Vec::len)
    };
    // The first goes away before it has its answer; the others wait for the same past.
    let mut impatient = TcpStream::connect(url.trim_start_matches("http://")).expect("it listens");
    impatient.write_all(b"POST /threads/search HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}").expect("it reads");
    drop(impatient);
    let (one, other) = tokio::join!(threads(), threads());
    assert!((12..=20).contains(&one), "{one}");
    assert_eq!(one, other);
}
