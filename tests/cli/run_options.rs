//! The options of `run`: what is sent, what is refused before anything is sent, and what a strategy ends.

use crate::fork::World;
use runtail_sim::Scenario;
use runtail_testkit::common::{Server, json as respond};
use runtail_testkit::process::{Done, TIMEOUT, run_at};
use serde_json::{Value, json};
use std::time::Duration;

/// Returns a thread with a run that takes long, and its queue.
async fn busy(world: &World) -> String {
    let thread = world.thread().await;
    for seconds in [600, 601] {
        let body = json!({"assistant_id": "slow", "input": {"seconds": seconds}, "multitask_strategy": "enqueue"});
        world.post(&format!("/threads/{thread}/runs"), body).await;
    }
    thread
}

fn run(world: &World, args: &[&str]) -> Done {
    world.runtail(&[&["run"], args].concat())
}

const INPUT: &str = r#"{"log": [], "seconds": 0}"#;

#[tokio::test(flavor = "multi_thread")]
async fn options_reach_the_server() {
    let world = World::start(Scenario::Empty, 20.0).await;
    let thread = world.thread().await;
    let args = [
        "release",
        "--thread",
        &thread,
        "--input",
        INPUT,
        "--break-before",
        "release",
        "--recursion-limit",
        "9",
    ];
    let more = [
        "--durability",
        "sync",
        "--metadata",
        r#"{"who": "me"}"#,
        "--context",
        r#"{"k": 1}"#,
        "-o",
        "jsonl",
    ];
    // A run that stopped at a breakpoint has not failed.
    run(&world, &[&args[..], &more].concat());
    let state = world.get(&format!("/threads/{thread}/state")).await;
    assert_eq!(state["next"], json!(["release"]), "{state}");
    let run = &world.runs(&thread).await[0];
    assert_eq!(
        (
            &run["metadata"]["who"],
            &run["kwargs"]["config"]["recursion_limit"]
        ),
        (&json!("me"), &json!(9)),
        "{run}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_options_are_refused_before_anything_is_sent() {
    let world = World::start(Scenario::Empty, 20.0).await;
    for (args, expected) in [
        (
            vec!["--break-after", "tset"],
            "--break-after: the graph has no node tset; did you mean test?; nothing was sent",
        ),
        (
            vec!["--break-before", "x,build"],
            "--break-before: the graph has no node x; it has build, test, release",
        ),
        (
            vec![
                "--context",
                r#"{"a": 1}"#,
                "--config-json",
                r#"{"configurable": {"b": 1}}"#,
            ],
            "--context: the server refuses a context beside config.configurable; give one of them",
        ),
        (vec!["--metadata", "[]"], "--metadata: must be an object"),
        (
            vec!["--webhook", "hook"],
            "--webhook: must be an http or https address",
        ),
        (
            vec!["--recursion-limit", "0"],
            "--recursion-limit: must be at least 1",
        ),
    ] {
        let thread = world.thread().await;
        run(
            &world,
            &[
                &["release", "--thread", &thread, "--input", INPUT][..],
                &args,
            ]
            .concat(),
        )
        .expect(2)
        .says(expected);
        assert_eq!(world.runs(&thread).await, Vec::<Value>::new());
    }
    run(
        &world,
        &["release", "--input", INPUT, "--on-conflict", "reject"],
    )
    .expect(2)
    .says("--thread");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strategy_that_ends_runs_needs_consent() {
    for strategy in ["interrupt", "rollback"] {
        let world = World::start(Scenario::Empty, 20.0).await;
        let thread = busy(&world).await;
        let args = [
            "slow",
            "--thread",
            &thread,
            "--input",
            r#"{"seconds": 0}"#,
            "--on-conflict",
            strategy,
        ];
        let shown = run(&world, &[&args[..], &["--dry-run"]].concat()).expect(0);
        let preview = shown.json();
        assert_eq!(preview["request"]["body"]["multitask_strategy"], strategy);
        assert!(preview["notes"].to_string().contains("2 runs"), "{preview}");
        let done = run(&world, &args).expect(2);
        let verb = if strategy == "rollback" {
            "Deletes 2 runs"
        } else {
            "Cancels 2 runs"
        };
        done.says(verb).says("add --yes");
        assert_eq!(world.runs(&thread).await.len(), 2);
        run(&world, &[&args[..], &["--yes"]].concat()).expect(0);
        let active = |run: &Value| matches!(run["status"].as_str(), Some("pending" | "running"));
        let ends = async {
            while world.runs(&thread).await.iter().any(active) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let ends = tokio::time::timeout(TIMEOUT, ends).await;
        ends.expect("no run is active any more");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_thread_refuses_or_queues_a_run() {
    let world = World::start(Scenario::Empty, 20.0).await;
    let thread = busy(&world).await;
    let args = [
        "slow",
        "--thread",
        &thread,
        "--input",
        r#"{"seconds": 0}"#,
        "--on-conflict",
        "reject",
    ];
    let done = run(&world, &args);
    done.says("already running");
    assert!(done.code != Some(0), "{}", done.stderr);
    assert_eq!(world.runs(&thread).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strategy_that_the_server_ignores_is_refused() {
    let server = Server::start(|seen| match &*seen.path {
        "/info" => respond(200, r#"{"name":"Aegra","version":"0.11.0"}"#),
        "/threads/t" => respond(200, r#"{"thread_id":"t","status":"busy","metadata":{}}"#),
        "/assistants/search" => respond(200, r#"[{"assistant_id":"slow","graph_id":"slow"}]"#),
        _ => respond(404, r#"{"detail":"Not Found"}"#),
    })
    .await;
    let args = "run slow --thread t --input {} --on-conflict rollback --yes";
    run_at(server.url.as_str(), args)
        .expect(1)
        .says("This server ignores the strategy rollback");
    assert!(
        server
            .seen()
            .iter()
            .all(|seen| seen.method == "GET" || seen.path.ends_with("/search"))
    );
}
