//! `reproduce` between simulators, and against targets that refuse, lose the reply, or change.

use crate::fork::World;
use runtail_sim::Scenario;
use runtail_testkit::common::{CANARY, Seen, Server, json as response};
use runtail_testkit::process::{Done, command, launch};
use runtail_testkit::server::text;
use serde_json::{Value, json};

fn reproduce(source: &World, thread: &str, target: &str, more: &str) -> Done {
    source.runtail(format!("reproduce {thread} --to {target} {more}"))
}

/// Returns the values and next nodes of a thread's states, oldest first.
async fn states(world: &World, thread: &str) -> Vec<(Value, Value)> {
    let states = world.history(thread).await;
    states
        .iter()
        .rev()
        .map(|state| (state["values"].clone(), state["next"].clone()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn histories_are_copied_state_by_state() {
    let (source, target) = (
        World::start(Scenario::Empty, 1000.0).await,
        World::start(Scenario::Empty, 1000.0).await,
    );
    for (graph, input) in [
        ("approval", json!({"amount": 7, "to": "x"})),
        ("release", json!({"seconds": 0})),
        ("two", json!({"left": "l", "right": "r"})),
        ("broken", json!({})),
    ] {
        let case = graph;
        let thread = source.ran(graph, input).await;
        let before = source.records(&thread).await;
        let done = reproduce(&source, &thread, &target.url, "").expect(0);
        let row = done.json();
        assert_eq!(
            (&row["same"], &row["differences"]),
            (&json!(true), &json!([])),
            "{case}: {row}"
        );
        assert_eq!(
            (&row["reproduced_from"], &row["server"]),
            (&json!(thread), &json!(target.url)),
            "{case}"
        );
        let copy = row["thread_id"].as_str().expect("an id");
        assert_eq!(
            states(&target, copy).await,
            states(&source, &thread).await,
            "{case}"
        );
        assert_eq!(
            source.records(&thread).await,
            before,
            "{case}: the original is unchanged"
        );
        assert!(target.runs(copy).await.is_empty(), "{case}: nothing runs");
        let asks = graph == "approval" || graph == "two";
        done.says("Not copied: ");
        assert_eq!(
            done.stderr.contains("open question"),
            asks,
            "{case}: {}",
            done.stderr
        );
        let command = row["command"].as_str().expect("a command");
        assert_eq!(
            command,
            format!("runtail --url {} threads history {copy} --tree", target.url),
            "{case}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_are_copied_and_said_to_be_inferred() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = world
        .ran("approval", json!({"amount": 1300, "to": "x"}))
        .await;
    world
        .post(
            &format!("/threads/{thread}/state"),
            json!({"values": {"amount": 130, "log": ["by hand"]}}),
        )
        .await;
    let done = reproduce(&world, &thread, &world.url, "").expect(0);
    done.says("! The history doesn't say what was written in step 2");
    let copy = text(&done.json(), "thread_id");
    assert_eq!(states(&world, &copy).await, states(&world, &thread).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn dry_runs_say_what_is_not_copied() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = world.ran("approval", json!({"amount": 7, "to": "x"})).await;
    let preview = reproduce(&world, &thread, &world.url, "--dry-run")
        .expect(0)
        .json();
    let notes = preview["notes"].to_string();
    for says in [
        "No run is started",
        "Everything in the copied states is sent there",
        "Not copied: 1 open question",
    ] {
        assert!(notes.contains(says), "{says}: {notes}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn targets_without_supersteps_get_the_state() {
    let source = World::start(Scenario::Empty, 1000.0).await;
    let thread = source
        .ran("approval", json!({"amount": 7, "to": "x"}))
        .await;
    let newest = source.history(&thread).await.remove(0);
    let strict = World::start(Scenario::Contract, 1000.0).await;
    reproduce(&source, &thread, &strict.url, "")
        .expect(1)
        .says("doesn't create threads with supersteps")
        .says(&strict.url)
        .says("--state");
    let target = World::start(Scenario::Empty, 1000.0).await;
    let done = reproduce(&source, &thread, &target.url, "--state").expect(0);
    let row = done.json();
    assert_eq!(
        (&row["same"], &row["states"]),
        (&json!(true), &json!(1)),
        "{row} {}",
        done.stderr
    );
    let states = target
        .history(row["thread_id"].as_str().expect("an id"))
        .await;
    assert_eq!((states.len(), &states[0]["values"]), (1, &newest["values"]));
    assert_eq!(states[0]["next"], json!(["ask"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_copied_is_refused_before_anything_is_sent() {
    let world = World::start(Scenario::Empty, 20.0).await;
    let empty = world
        .post("/threads", json!({"metadata": {"graph_id": "approval"}}))
        .await["thread_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let thread = world.ran("approval", json!({"amount": 7, "to": "x"})).await;
    let running = world.post("/threads", json!({})).await["thread_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let slow = json!({"assistant_id": "slow", "input": {"seconds": 900}});
    world.post(&format!("/threads/{running}/runs"), slow).await;
    let count = async || world.post("/threads/count", json!({})).await;
    let before = count().await;
    for (thread, more, code, says) in [
        (empty.as_str(), "", 1, "The thread has no checkpoint yet"),
        (&running, "", 1, "A run is active on this thread"),
        (
            &thread,
            "--graph nothing",
            1,
            "has no graph nothing; it has agent, approval",
        ),
        (
            &thread,
            "--graph support",
            1,
            "The graph of the target has no node draft",
        ),
        (&thread, "--read-only", 3, "nothing was changed"),
        ("11111111-1111-4111-8111-111111111111", "", 1, "not found"),
    ] {
        let done = reproduce(&world, thread, &world.url, more).expect(code);
        done.says(says);
        assert!(done.stdout.is_empty(), "{}", done.stderr);
    }
    let nowhere = reproduce(&world, &thread, "nobody/nothing", "").expect(2);
    assert!(
        nowhere.stderr.contains("nobody/nothing") || nowhere.stderr.contains("no profile"),
        "{}",
        nowhere.stderr
    );
    assert_eq!(count().await, before);
}

/// A target that passes on what it doesn't answer itself to a simulator.
async fn between(
    target: &World,
    own: impl Fn(&Seen) -> Option<axum::response::Response> + Send + Sync + 'static,
) -> Server {
    let (url, http) = (
        target.url.clone(),
        reqwest::Client::builder().no_proxy().build().unwrap(),
    );
    let runtime = tokio::runtime::Handle::current();
    Server::start(move |seen| {
        if let Some(answer) = own(seen) {
            return answer;
        }
        let path = seen.path.clone();
        let request = http.request(
            seen.method.parse().unwrap(),
            format!("{url}{path}?{}", seen.query),
        );
        let request = request
            .header("content-type", "application/json")
            .body(seen.body.clone());
        let answer = tokio::task::block_in_place(|| {
            runtime.block_on(async {
                let answer = request.send().await.unwrap();
                (answer.status().as_u16(), answer.text().await.unwrap())
            })
        });
        response(answer.0, answer.1)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_whose_supersteps_are_refused_is_named() {
    let source = World::start(Scenario::Empty, 1000.0).await;
    let thread = source
        .ran("approval", json!({"amount": 7, "to": "x"}))
        .await;
    // It names another thread, so something was done, and is known.
    let target = World::start(Scenario::Empty, 1000.0).await;
    let other = between(&target, |seen| {
        let is_creation = seen.method == "POST" && seen.path == "/threads";
        is_creation.then(|| response(200, r#"{"thread_id":"another"}"#))
    })
    .await;
    let url = other.url.as_str().trim_end_matches('/');
    reproduce(&source, &thread, url, "")
        .expect(1)
        .says("Only a part was done.")
        .says("but returned another");
    // It refuses the supersteps.
    let strict = World::start(Scenario::Empty, 1000.0).await;
    let url = strict.url.clone();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let runtime = tokio::runtime::Handle::current();
    let server = between(&strict, move |seen| {
        if seen.method != "POST" || seen.path != "/threads" {
            return None;
        }
        let mut body: Value = serde_json::from_str(&seen.body).unwrap();
        body["supersteps"][2]["updates"][0]["as_node"] = "renamed".into();
        let request = http
            .post(format!("{url}/threads"))
            .header("content-type", "application/json")
            .body(body.to_string());
        let (status, text) = tokio::task::block_in_place(|| {
            runtime.block_on(async {
                let answer = request.send().await.unwrap();
                (answer.status().as_u16(), answer.text().await.unwrap())
            })
        });
        Some(response(status, text))
    })
    .await;
    reproduce(
        &source,
        &thread,
        server.url.as_str().trim_end_matches('/'),
        "",
    )
    .expect(1)
    .says("Only a part was done.")
    .says("renamed")
    .says("delete it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_of_a_profile_is_a_target_and_its_key_goes_only_there() {
    let (source, target) = (
        World::start(Scenario::Empty, 1000.0).await,
        World::start(Scenario::Empty, 1000.0).await,
    );
    let thread = source
        .ran("approval", json!({"amount": 7, "to": "x"}))
        .await;
    let (left, right) = (
        between(&source, |_| None).await,
        between(&target, |_| None).await,
    );
    let config = format!(
        "[profiles.a]\nagent_server = {{ bot = \"{}\" }}\napi_key_env = \"KEY_A\"\n\
         [profiles.b]\nagent_server = {{ bot = \"{}\" }}\napi_key_env = \"KEY_B\"\n\
         [profiles.c]\nagent_server = {{ bot = \"{}\" }}\nread_only = true\n",
        left.url, right.url, right.url
    );
    let folder = crate::ended::write_config(&config);
    let run = |to: &str| {
        let mut reproduce = command(["-d", "a/bot", "reproduce", &thread, "--to", to]);
        reproduce
            .env("HOME", folder.path())
            .env("XDG_CONFIG_HOME", folder.path());
        reproduce
            .env("KEY_A", format!("{CANARY}-a"))
            .env("KEY_B", format!("{CANARY}-b"));
        launch(reproduce, "").wait()
    };
    let row = run("b/bot").expect(0).json();
    assert_eq!(
        (&row["profile"], &row["same"]),
        (&json!("b"), &json!(true)),
        "{row}"
    );
    assert!(
        row["command"]
            .as_str()
            .unwrap()
            .starts_with("runtail -d b/bot threads history "),
        "{row}"
    );
    for (server, own, other) in [(&left, "-a", "-b"), (&right, "-b", "-a")] {
        let keys: Vec<String> = server
            .seen()
            .iter()
            .map(|seen| format!("{:?}", seen.headers))
            .collect();
        assert!(
            !keys.is_empty()
                && keys
                    .iter()
                    .all(|key| key.contains(&format!("{CANARY}{own}")))
        );
        assert!(
            keys.iter()
                .all(|key| !key.contains(&format!("{CANARY}{other}")))
        );
    }
    run("c/bot").expect(3).says("nothing was changed");
}
