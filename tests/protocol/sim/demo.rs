//! The demo: its deployments, threads and runs, and that it responds like the other scenarios.

use crate::sim::{Live, World, world};
use runtail_sim::{KEY, Options, Scenario, Sim};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::net::TcpStream;

async fn demo() -> World {
    world(Options {
        speed: 40.0,
        ..Options::demo()
    })
    .await
}

#[tokio::test]
async fn demo_has_two_regions_with_a_dozen_deployments() {
    let world = demo().await;
    let names: Vec<&str> = world
        .sim
        .regions()
        .iter()
        .map(|region| region.name.as_str())
        .collect();
    assert_eq!(names, ["prod-us", "prod-eu"]);
    let mut all = Vec::new();
    for region in world.sim.regions() {
        let url = format!("{}/v2/deployments?limit=100", region.url);
        let list: Value = world
            .http
            .get(url)
            .header("X-Api-Key", KEY)
            .send()
            .await
            .expect("a response")
            .json()
            .await
            .expect("JSON");
        all.extend(list["resources"].as_array().expect("a list").clone());
    }
    assert!(all.len() >= 12);
    let agents: Vec<&str> = world
        .sim
        .agents()
        .iter()
        .map(|agent| agent.url.as_str())
        .collect();
    let serves = |one: &Value, key: &str| {
        one.as_str()
            .or(one[key].as_str())
            .is_some_and(|url| agents.contains(&url))
    };
    assert!(
        all.iter().filter(|one| serves(&one["url"], "")).count() >= 4,
        "several have a live agent server"
    );
    assert!(
        all.iter()
            .any(|one| one["url"].is_null() && serves(&one["source_config"]["custom_url"], ""))
    );
    assert!(
        all.iter()
            .any(|one| one["url"].is_null() && one["source_config"]["custom_url"].is_null())
    );
    let bot = all
        .iter()
        .find(|one| one["name"] == "support-bot")
        .expect("a bot");
    let url = format!(
        "{}/v2/deployments/{}/revisions",
        world.control_plane,
        bot["id"].as_str().expect("an id")
    );
    let list: Value = world
        .http
        .get(url)
        .header("X-Api-Key", KEY)
        .send()
        .await
        .expect("a response")
        .json()
        .await
        .expect("JSON");
    assert!(
        list["resources"]
            .as_array()
            .is_some_and(|all| (4..=8).contains(&all.len()))
    );
}

#[tokio::test]
async fn demo_servers_have_threads_of_their_own_and_live_ones() {
    let world = demo().await;
    let (mut statuses, mut ages) = (BTreeSet::new(), BTreeSet::new());
    let mut homes: BTreeMap<(String, String), String> = BTreeMap::new();
    for agent in world.sim.agents() {
        let search = async |body: Value| {
            let request = world
                .http
                .post(format!("{}/threads/search", agent.url))
                .body(body.to_string());
            request
                .send()
                .await
                .expect("a response")
                .json::<Value>()
                .await
                .expect("JSON")
        };
        let all = search(json!({"limit": 100})).await;
        let all = all.as_array().expect("a list");
        assert!(
            (3..=20).contains(&all.len()),
            "{}: {}",
            agent.name,
            all.len()
        );
        for thread in all {
            statuses.insert(thread["status"].as_str().unwrap_or_default().to_owned());
            ages.extend(thread["updated_at"].as_str().map(str::to_owned));
            assert!(
                thread["status"] != "error" || thread["error"]["message"].is_string(),
                "{thread}"
            );
            let field = |name: &str| {
                thread["metadata"][name]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            };
            let other = homes.insert((field("region"), field("subject")), agent.name.clone());
            assert!(
                other.as_ref().is_none_or(|other| *other == agent.name),
                "{} and {other:?}: {thread}",
                agent.name
            );
        }
        let assistants = world
            .http
            .post(format!("{}/assistants/search", agent.url))
            .send()
            .await
            .expect("a response");
        let assistants: Value = assistants.json().await.expect("JSON");
        assert!(
            assistants
                .as_array()
                .is_some_and(|all| (8..=16).contains(&all.len()))
        );
        let active = search(json!({"metadata": {"live": true}})).await;
        let id = active[0]["thread_id"].as_str().expect("an id");
        let tail = world
            .http
            .get(format!("{}/threads/{id}/stream", agent.url))
            .header("Last-Event-ID", "-")
            .send();
        let mut live = Live::new(tail.await.expect("a response"));
        let seen = live.until(|event| event.data["status"] == "run_done").await;
        for name in ["metadata", "values", "updates", "tasks"] {
            assert!(
                seen.iter().any(|event| event.name == name),
                "{}: {name}",
                agent.name
            );
        }
    }
    for status in ["idle", "busy", "interrupted", "error"] {
        assert!(statuses.contains(status), "{status}");
    }
    assert!(ages.len() >= 40, "threads have different ages");
}

/// Returns how many threads of a server have each status.
async fn counts(world: &World, name: &str) -> BTreeMap<String, usize> {
    let agent = world
        .sim
        .agents()
        .iter()
        .find(|agent| agent.name == name)
        .expect("a server");
    let request = world
        .http
        .post(format!("{}/threads/search", agent.url))
        .body(r#"{"limit": 100}"#);
    let all: Value = request
        .send()
        .await
        .expect("a response")
        .json()
        .await
        .expect("JSON");
    let mut counts = BTreeMap::new();
    for thread in all.as_array().expect("a list") {
        *counts
            .entry(thread["status"].as_str().unwrap_or_default().to_owned())
            .or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn demo_threads_wait_and_fail_where_its_deployments_show_it() {
    let world = world(Options::demo()).await;
    let support = counts(&world, "support-bot-us").await;
    assert_eq!(
        (support.get("interrupted"), support.get("error")),
        (None, None),
        "{support:?}"
    );
    assert_eq!(
        counts(&world, "support-bot-eu").await.get("interrupted"),
        Some(&2)
    );
    let invoices = counts(&world, "invoice-agent-us").await;
    assert!(
        invoices.get("interrupted").is_some_and(|count| *count >= 1)
            && !invoices.contains_key("error"),
        "{invoices:?}"
    );
    assert!(counts(&world, "triage-us").await.contains_key("error"));
}

#[tokio::test]
async fn demo_history_is_created_on_the_first_request() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let sim = Sim::demo().await.expect("servers on loopback");
    let http = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client");
    let url = sim.agents()[0].url.clone();
    // `/info` needs no history.
    assert!(
        http.get(format!("{url}/info"))
            .send()
            .await
            .expect("a response")
            .status()
            .is_success()
    );
    let threads = async || {
        let request = http
            .post(format!("{url}/threads/search"))
            .body(json!({"limit": 100}).to_string());
        let found: Value = request
            .send()
            .await
            .expect("a response")
            .json()
            .await
            .expect("JSON");
        found.as_array().map_or(0, Vec::len)
    };
    // The first client disconnects before its response; the others wait for the same history.
    let mut impatient =
        TcpStream::connect(url.trim_start_matches("http://")).expect("the server listens");
    impatient
        .write_all(b"POST /threads/search HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}")
        .expect("the server reads");
    drop(impatient);
    let (one, other) = tokio::join!(threads(), threads());
    assert!((8..=20).contains(&one), "{one}");
    assert_eq!(one, other);
}

/// Returns the thread with this subject, its state and its runs, newest first. Later requests of the world are sent to its server.
async fn thread_about(world: &mut World, subject: &str) -> (Value, Value, Vec<Value>) {
    let search = json!({"metadata": {"subject": subject}});
    for agent in world
        .sim
        .agents()
        .iter()
        .map(|agent| agent.url.clone())
        .collect::<Vec<_>>()
    {
        world.agent = agent;
        let threads: Value = world
            .post("/threads/search", search.clone())
            .await
            .json()
            .await
            .expect("JSON");
        if let Some(id) = threads[0]["thread_id"].as_str() {
            let [thread, state, runs] =
                ["", "/state", "/runs"].map(|part| format!("/threads/{id}{part}"));
            let runs = world.json(&runs).await.as_array().expect("a list").clone();
            return (world.json(&thread).await, world.json(&state).await, runs);
        }
    }
    panic!("no thread about {subject}");
}

#[tokio::test]
async fn demo_has_a_thread_of_every_status() {
    let mut world = world(Options::demo()).await;
    // Subject, status of the thread, statuses of its runs (newest first), next nodes.
    let table: [(&str, &str, &[&str], &[&str]); 23] = [
        ("late parcel", "idle", &["success", "success"], &[]),
        ("docs crawl", "busy", &["running"], &["fetch", "index"]),
        (
            "price import",
            "busy",
            &["pending", "running"],
            &["fetch", "index"],
        ),
        ("which order", "interrupted", &["success"], &["ask"]),
        (
            "October export",
            "interrupted",
            &["success"],
            &["HumanInTheLoopMiddleware.after_model"],
        ),
        ("newsletter review", "interrupted", &["success"], &["ask"]),
        (
            "two checks",
            "interrupted",
            &["success"],
            &["left", "right"],
        ),
        ("release 2.4.1", "interrupted", &["success"], &["release"]),
        (
            "supplier crawl",
            "interrupted",
            &["interrupted"],
            &["fetch", "index"],
        ),
        ("corrected answer", "idle", &["success"], &[]),
        ("warehouse sync", "error", &["error", "success"], &["fetch"]),
        ("retry loop", "error", &["error"], &["step"]),
        ("orphaned import", "busy", &[], &[]),
        ("invoice 4468, what if", "idle", &[], &["ask"]),
        (
            "September export",
            "error",
            &["error", "success"],
            &["HumanInTheLoopMiddleware.after_model"],
        ),
        ("returns", "idle", &["success", "success", "success"], &[]),
        ("release 2.4.0", "idle", &["success"], &[]),
        ("delay notice", "interrupted", &["success"], &["ask"]),
        ("invoice 4470", "interrupted", &["success"], &["ask"]),
        ("invoice 4475", "idle", &["success", "success"], &[]),
        ("search index", "busy", &["pending", "success"], &[]),
        ("embeddings", "busy", &["running"], &["nap"]),
        ("three attempts", "idle", &["success"; 7], &[]),
    ];
    for (subject, status, statuses, next) in table {
        let (thread, state, runs) = thread_about(&mut world, subject).await;
        assert_eq!(thread["status"], status, "{subject}");
        let of_runs: Vec<&str> = runs
            .iter()
            .filter_map(|run| run["status"].as_str())
            .collect();
        assert_eq!(of_runs, statuses, "{subject}");
        let nodes: Vec<&str> = state["next"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let known =
            nodes.iter().all(|node| next.contains(node)) && nodes.is_empty() == next.is_empty();
        assert!(known, "{subject}: {nodes:?}");
        // Only failed threads have an error.
        assert_eq!(
            thread["error"].is_object(),
            status == "error" || subject == "supplier crawl",
            "{subject}"
        );
    }
}

#[tokio::test]
async fn demo_questions_and_errors_match_real_graphs() {
    let mut world = world(Options::demo()).await;
    let mut questions =
        async |subject: &str| thread_about(&mut world, subject).await.1["interrupts"].clone();
    assert!(questions("which order").await[0]["value"].is_string());
    let approval = questions("October export").await[0]["value"].clone();
    let names: Vec<&Value> = approval["action_requests"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(json!(names), json!(["send_email", "delete_file"]));
    assert_eq!(
        approval["review_configs"][1]["allowed_decisions"],
        json!(["approve", "reject"])
    );
    assert_eq!(
        questions("newsletter review").await[0]["response_schema"]["required"],
        json!(["approve"])
    );
    assert_eq!(
        questions("two checks").await.as_array().map(Vec::len),
        Some(2)
    );
    assert_eq!(questions("release 2.4.1").await, json!([]));
    assert_eq!(
        questions("invoice 4468, what if")
            .await
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    let mut error_of =
        async |subject: &str| thread_about(&mut world, subject).await.0["error"]["error"].clone();
    assert_eq!(error_of("warehouse sync").await, "ConnectTimeout");
    assert_eq!(error_of("retry loop").await, "GraphRecursionError");
    assert_eq!(error_of("supplier crawl").await, "UserInterrupt");
    let task = thread_about(&mut world, "September export").await.1["tasks"][0].clone();
    assert!(
        task["error"]
            .as_str()
            .is_some_and(|error| error.starts_with("ValueError(")),
        "{task}"
    );
    assert_eq!(
        task["interrupts"].as_array().map(Vec::len),
        Some(1),
        "the question stays open after a wrong answer"
    );
    assert_eq!(
        thread_about(&mut world, "corrected answer").await.1["metadata"]["source"],
        "update"
    );
    let copy = thread_about(&mut world, "invoice 4468, what if").await.0;
    assert!(
        copy.get("values").is_none(),
        "the record of a copy has no values"
    );
}

#[tokio::test]
async fn demo_has_a_thread_with_three_branches() {
    let mut world = world(Options::demo()).await;
    let (thread, state, runs) = thread_about(&mut world, "three attempts").await;
    let id = thread["thread_id"].as_str().expect("an id");
    let history = world
        .json(&format!("/threads/{id}/history?limit=1000"))
        .await;
    let history = history.as_array().expect("a list");
    assert!(history.len() >= 25, "{}", history.len());
    let parents: Vec<&Value> = history
        .iter()
        .map(|state| &state["parent_checkpoint_id"])
        .collect();
    let tips: Vec<&Value> = history
        .iter()
        .filter(|state| !parents.contains(&&state["checkpoint_id"]))
        .collect();
    assert_eq!(tips.len(), 3, "three branches");
    assert!(
        history[1..]
            .iter()
            .all(|state| state["next"] != json!([]) || state["tasks"] == json!([]))
    );
    let count = |source: &str| {
        history
            .iter()
            .filter(|state| state["metadata"]["source"] == source)
            .count()
    };
    assert_eq!((count("fork"), count("update"), count("input")), (1, 1, 5));
    assert_eq!(
        state["checkpoint_id"], history[0]["checkpoint_id"],
        "the head is on the edited branch"
    );
    assert!(
        state["values"]["messages"]
            .to_string()
            .contains("answer in Polish")
    );
    assert_eq!(runs.len(), 7);
}

#[tokio::test]
async fn demo_has_five_kinds_of_questions_in_both_regions() {
    let world = world(Options::demo()).await;
    let mut kinds: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for agent in world.sim.agents() {
        let search = json!({"status": "interrupted", "limit": 100, "select": ["thread_id", "interrupts", "metadata"]});
        let request = world
            .http
            .post(format!("{}/threads/search", agent.url))
            .body(search.to_string());
        let found: Value = request
            .send()
            .await
            .expect("a response")
            .json()
            .await
            .expect("JSON");
        let asked = found.as_array().expect("a list").iter().map(|thread| {
            let all = thread["interrupts"].as_object().into_iter().flatten();
            let first = all.filter_map(|(_, asked)| asked.get(0)).next().cloned();
            first.map_or("none", |asked| match &asked["value"] {
                _ if asked["response_schema"].is_object() => "form",
                Value::Array(list) if list[0]["action_request"].is_object() => "agent-inbox",
                Value::Object(value) if value.contains_key("action_requests") => {
                    "approval of tools"
                }
                Value::Object(_) => "question in JSON",
                Value::String(_) => "text",
                _ => "other",
            })
        });
        kinds
            .entry(&agent.name[agent.name.len() - 2..])
            .or_default()
            .extend(asked);
    }
    let of = |region: &str| kinds[region].iter().copied().collect::<Vec<_>>();
    assert_eq!(
        of("us"),
        [
            "agent-inbox",
            "approval of tools",
            "form",
            "none",
            "question in JSON",
            "text"
        ]
    );
    assert_eq!(of("eu"), ["agent-inbox", "question in JSON", "text"]);
}

#[tokio::test]
async fn stuck_demo_runs_can_be_stopped() {
    let mut world = world(Options::demo()).await;
    // Pending for long, because no worker is free; and running for long without events.
    for (subject, hours, status) in [
        ("search index", 1.5, "pending"),
        ("embeddings", 0.8, "running"),
    ] {
        let (thread, _, runs) = thread_about(&mut world, subject).await;
        let age = jiff::Timestamp::now()
            .duration_since(time(&runs[0]["created_at"]))
            .as_secs_f64()
            / 3600.0;
        assert!(
            runs[0]["status"] == status && age > hours && age < hours + 0.5,
            "{subject}: {age} hours"
        );
        let [thread, run] = [&thread["thread_id"], &runs[0]["run_id"]]
            .map(|id| id.as_str().expect("an id").to_owned());
        let cancel = world
            .post(
                &format!("/threads/{thread}/runs/{run}/cancel?wait=1"),
                json!({}),
            )
            .await;
        assert_eq!(cancel.status(), 200, "{subject}");
        assert_ne!(
            world.json(&format!("/threads/{thread}")).await["status"],
            "busy",
            "{subject}"
        );
    }
    // Busy without a run: an edit frees it.
    let (thread, _, runs) = thread_about(&mut world, "orphaned import").await;
    assert_eq!((&thread["status"], runs.len()), (&json!("busy"), 0));
    let path = format!(
        "/threads/{}/state",
        thread["thread_id"].as_str().expect("an id")
    );
    assert_eq!(
        world.post(&path, json!({"values": null})).await.status(),
        200
    );
    assert_ne!(
        thread_about(&mut world, "orphaned import").await.0["status"],
        "busy"
    );
    // Hidden by a run of another assistant: a rerun of the checkpoint that asks brings the question back.
    let (thread, state, _) = thread_about(&mut world, "invoice 4475").await;
    assert_eq!(
        (&thread["metadata"]["graph_id"], &state["values"]),
        (&json!("support"), &json!({"messages": []}))
    );
    let path = format!("/threads/{}", thread["thread_id"].as_str().expect("an id"));
    let rerun =
        json!({"assistant_id": "approval", "input": null, "checkpoint_id": state["checkpoint_id"]});
    let asked: Value = world
        .post(&format!("{path}/runs/wait"), rerun)
        .await
        .json()
        .await
        .expect("JSON");
    assert_eq!(
        asked["__interrupt__"][0]["value"]["draft"],
        "send 742 EUR to Göteborg Logistics"
    );
}

#[tokio::test]
async fn long_histories_are_paged() {
    let mut world = world(Options {
        scenario: Scenario::History { checkpoints: 1000 },
        ..Options::default()
    })
    .await;
    let (thread, state, _) = thread_about(&mut world, "long history").await;
    let path = format!(
        "/threads/{}/history?limit=100",
        thread["thread_id"].as_str().expect("an id")
    );
    let (mut before, mut seen) = (String::new(), Vec::new());
    loop {
        let page = world.json(&format!("{path}{before}")).await;
        let ids = page
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| one["checkpoint_id"].as_str().expect("an id").to_owned());
        let ids: Vec<String> = ids.collect();
        let Some(last) = ids.last() else { break };
        before = format!("&before={last}");
        seen.extend(ids);
    }
    assert_eq!(
        (seen.len(), json!(seen[0])),
        (1000, state["checkpoint_id"].clone())
    );
    assert!(seen.is_sorted_by(|a, b| a > b), "newest first, each once");
    assert_eq!(
        (&thread["status"], &state["values"]["page"]),
        (&json!("idle"), &json!(498))
    );
}

fn time(value: &Value) -> jiff::Timestamp {
    value
        .as_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("a time: {value}"))
}

/// Checks that the times of the threads of a server agree.
async fn check_times(world: &World) {
    let threads: Value = world
        .post("/threads/search", json!({"limit": 100}))
        .await
        .json()
        .await
        .expect("JSON");
    let now = jiff::Timestamp::now();
    for thread in threads.as_array().expect("a list") {
        let (id, subject) = (
            thread["thread_id"].as_str().expect("an id"),
            &thread["metadata"]["subject"],
        );
        if thread["metadata"]["live"] == true {
            continue;
        }
        let runs = world.json(&format!("/threads/{id}/runs?limit=100")).await;
        let runs = runs.as_array().expect("a list");
        let history = world
            .json(&format!("/threads/{id}/history?limit=1000"))
            .await;
        let history = history.as_array().expect("a list");
        assert!(!history.is_empty(), "{subject}");
        let saved: Vec<_> = history
            .iter()
            .map(|state| time(&state["created_at"]))
            .collect();
        assert!(
            saved.windows(2).all(|pair| pair[0] > pair[1]),
            "{subject}: newest first"
        );
        assert!(saved[0] <= now, "{subject}");
        for run in runs {
            let (from, to) = (time(&run["created_at"]), time(&run["updated_at"]));
            assert!(
                time(&thread["created_at"]) < from && from <= to,
                "{subject}"
            );
            let own = history
                .iter()
                .filter(|state| state["metadata"]["run_id"] == run["run_id"]);
            let own: Vec<_> = own.map(|state| time(&state["created_at"])).collect();
            let running = run["status"] == "running";
            assert!(
                own.iter().all(|at| *at >= from && (running || *at <= to)),
                "{subject}"
            );
            // A run that answers a question continues from the checkpoint of the run that asked.
            let starts = run["status"] != "pending" && run["kwargs"]["command"].is_null();
            assert!(!starts || !own.is_empty(), "{subject}");
        }
        if thread["status"] != "busy" && !runs.is_empty() {
            assert!(time(&thread["updated_at"]) >= saved[0], "{subject}");
            assert!(
                time(&thread["updated_at"]) >= time(&runs[0]["updated_at"]),
                "{subject}"
            );
        }
    }
}

#[tokio::test]
async fn demo_times_are_consistent() {
    let mut world = world(Options::demo()).await;
    for agent in world
        .sim
        .agents()
        .iter()
        .map(|agent| agent.url.clone())
        .collect::<Vec<_>>()
    {
        world.agent = agent;
        check_times(&world).await;
    }
    let now = jiff::Timestamp::now();
    let (_, _, runs) = thread_about(&mut world, "release 2.4.0").await;
    let duration = time(&runs[0]["updated_at"]).duration_since(time(&runs[0]["created_at"]));
    assert_eq!(duration.as_secs(), 625, "ten minutes and 25 seconds");
    let id = runs[0]["thread_id"].as_str().expect("an id");
    let history = world.json(&format!("/threads/{id}/history?limit=10")).await;
    let at = |n: usize| time(&history[n]["created_at"]);
    let between: Vec<i64> = (0..3)
        .map(|n| at(n).duration_since(at(n + 1)).as_secs())
        .collect();
    assert_eq!(between, [208, 208, 208], "its nodes take time");
    let (_, _, runs) = thread_about(&mut world, "warehouse sync").await;
    let age = now
        .duration_since(time(&runs[0]["created_at"]))
        .as_secs_f64()
        / 3600.0;
    assert!((4.9..5.1).contains(&age), "{age} hours");
}

#[tokio::test]
async fn active_demo_run_is_replayable_and_an_old_one_is_not() {
    let mut world = world(Options::demo()).await;
    let (thread, _, runs) = thread_about(&mut world, "docs crawl").await;
    let [thread, run] =
        [&thread["thread_id"], &runs[0]["run_id"]].map(|id| id.as_str().expect("an id").to_owned());
    let request = world.http.get(format!(
        "{}/threads/{thread}/runs/{run}/stream",
        world.agent
    ));
    let mut live = Live::new(
        request
            .header("Last-Event-ID", "-")
            .send()
            .await
            .expect("a response"),
    );
    live.until_text(|text| text.matches("event: updates").count() > 40)
        .await;
    let events = crate::sim::events(&live.text);
    let millis = |event: &crate::sim::Event| -> i64 {
        let id = event.id.as_deref().expect("an id");
        id.trim_end_matches("-0").parse().expect("milliseconds")
    };
    assert!(
        events
            .windows(2)
            .all(|pair| millis(&pair[0]) <= millis(&pair[1]))
    );
    let first = time(&runs[0]["created_at"]).as_millisecond();
    assert!(
        (0..5_000).contains(&(millis(&events[0]) - first)),
        "the first event is as old as the run"
    );
    let span = (millis(&events[events.len() - 1]) - first) / 60_000;
    assert!((10..=38).contains(&span), "{span} minutes");

    let (thread, _, runs) = thread_about(&mut world, "late parcel").await;
    let [thread, run] =
        [&thread["thread_id"], &runs[0]["run_id"]].map(|id| id.as_str().expect("an id").to_owned());
    assert_eq!(runs[0]["kwargs"]["resumable"], true);
    assert_eq!(
        world.join(&thread, &run, Some("-")).await,
        [],
        "the run ended more than two minutes ago"
    );
}
