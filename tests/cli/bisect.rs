//! `bisect` on threads of the simulator, and on recordings.

use crate::ended::write_config;
use crate::fork::World;
use runtail_sim::Scenario;
use runtail_testkit::common::{CANARY, Server, json as response};
use runtail_testkit::process::{Done, command, launch, run};
use runtail_testkit::server::text;
use serde_json::{Value, json};

/// Returns a thread whose amount was right until an edit.
async fn edited(world: &World) -> String {
    let thread = world
        .ran(
            "approval",
            json!({"amount": 1300, "to": "Alpenblick Hotel"}),
        )
        .await;
    world
        .post(
            &format!("/threads/{thread}/state"),
            json!({"values": {"amount": 130}}),
        )
        .await;
    thread
}

#[tokio::test(flavor = "multi_thread")]
async fn first_wrong_step_of_a_thread_is_found_without_a_write() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = edited(&world).await;
    let before = world.records(&thread).await;
    let row = world
        .runtail(format!("bisect {thread} amount =1300"))
        .expect(0)
        .json();
    let newest = world.history(&thread).await.remove(0);
    assert_eq!(
        (&row["result"], &row["states"]),
        (&json!("became_wrong"), &json!(4)),
        "{row}"
    );
    assert_eq!(
        row["wrong"]["checkpoint_id"],
        newest["checkpoint"]["checkpoint_id"]
    );
    assert_eq!(
        (&row["wrong"]["nodes"], &row["wrong"]["step"]),
        (&json!(["edit"]), &json!(2))
    );
    assert_eq!(
        (&row["before"]["value"], &row["wrong"]["value"]),
        (&json!(1300), &json!(130))
    );
    assert_eq!(
        row["before"]["nodes"],
        json!(["draft"]),
        "the last step with the right value"
    );
    assert_eq!(
        (&row["complete"], &row["right_now"]),
        (&json!(true), &json!(false))
    );
    // A step of a node, with its run.
    let row = world
        .runtail(format!("bisect {thread} log []"))
        .expect(0)
        .json();
    assert_eq!(row["wrong"]["nodes"], json!(["draft"]), "{row}");
    assert_eq!(
        row["wrong"]["run_id"],
        world.runs(&thread).await[0]["run_id"]
    );
    // The branch before the edit.
    let earlier = text(&before[1][1]["checkpoint"], "checkpoint_id");
    let row = world
        .runtail(format!(
            "bisect {thread} amount 1300 --checkpoint '{earlier}'"
        ))
        .expect(0)
        .json();
    assert_eq!(
        (&row["result"], &row["wrong"]),
        (&json!("never_wrong"), &Value::Null)
    );
    assert_eq!(world.records(&thread).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_lists_no_states_is_named() {
    let world = World::start(Scenario::Contract, 1000.0).await;
    let thread = world.ran("approval", json!({"amount": 1300})).await;
    world
        .runtail(format!("bisect {thread} amount 1300"))
        .expect(1)
        .says("not offered by this server");
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_say_the_answer_and_list_the_changes() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = edited(&world).await;
    let table = |path: &str, expected: &str| {
        world
            .runtail(format!("bisect {thread} {path} '{expected}' -o table"))
            .expect(0)
            .stdout
    };
    let shown = table("amount", "1300");
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        lines[0],
        "amount became wrong at step 2 (edit); it was right until step 1 (draft)."
    );
    assert!(
        lines[2].starts_with("STEP  NODE") && lines[2].ends_with("VALUE"),
        "{shown}"
    );
    assert_eq!(lines.len(), 6, "missing, right and wrong: {shown}");
    assert!(
        lines[3].contains("(missing)") && lines[4].contains("right") && lines[4].ends_with("1300"),
        "{shown}"
    );
    assert!(
        lines[5].contains("first wrong") && lines[5].contains("edit") && lines[5].ends_with("130"),
        "{shown}"
    );
    assert!(
        table("amount", "7")
            .starts_with("amount was never right (4 states): it was 1300 first, at step 0 (input)")
    );
    assert!(
        table("to", "Alpenblick Hotel")
            .starts_with("to was never wrong once it was set: it is right since step 0")
    );
    assert!(
        table("nothing.here", "exists")
            .contains("never right (4 states): no state has a value there.")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_and_missing_things_are_errors() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = edited(&world).await;
    let empty = world.post("/threads", json!({})).await["thread_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    for (args, code, says) in [
        (&[&thread, "a[*]", "1"][..], 2, "it selects several values"),
        (&[&thread, "a..b", "1"], 2, "is not a path"),
        (&[&thread, "amount", "{\"a\""], 2, "is not JSON"),
        (&[&thread, "amount", ""], 2, "The expected value is missing"),
        (
            &[&thread, "amount", "1", "--checkpoint", "1f0a"],
            1,
            "has no checkpoint 1f0a among its newest",
        ),
        (
            &[&empty, "amount", "1"],
            1,
            "has no checkpoint: nothing ran on it",
        ),
        (
            &["11111111-1111-4111-8111-111111111111", "amount", "1"],
            1,
            "not found",
        ),
    ] {
        let done = world.runtail(&[&["bisect"], args].concat()).expect(code);
        done.says(says);
        assert!(done.stdout.is_empty(), "{}", done.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recordings_are_bisected_without_a_server() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder
        .path()
        .join("run.jsonl.gz")
        .to_string_lossy()
        .into_owned();
    let thread = world.post("/threads", json!({})).await["thread_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let input = r#"{"amount": 1300, "to": "x"}"#;
    let modes = format!("--mode values --mode updates --record {file}");
    world
        .runtail(format!(
            "run approval --thread {thread} --input '{input}' {modes}"
        ))
        .expect(0);
    let bisect = |path: &str, expected: &str| -> Done {
        launch(command(["bisect", &file, path, expected]), "").wait()
    };
    let row = bisect("draft", "missing").expect(0).json();
    assert_eq!(
        (&row["result"], &row["recording"]),
        (&json!("became_wrong"), &json!(file)),
        "{row}"
    );
    assert_eq!(row["wrong"]["nodes"], json!(["draft"]), "{row}");
    assert_eq!(
        row["wrong"]["run_id"],
        world.runs(&thread).await[0]["run_id"]
    );
    let event = row["wrong"]["event"].as_u64().expect("a number");
    let lines = run(["replay", &file, "-o", "jsonl"]).expect(0).stdout;
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let found = lines
        .iter()
        .find(|line| line["seq"] == event)
        .expect("the event");
    assert_eq!(
        (&found["event"], &found["data"]["draft"].is_string()),
        (&json!("values"), &true),
        "{found}"
    );
    assert_eq!(
        bisect("amount", "1300").expect(0).json()["result"],
        "never_wrong"
    );
    assert!(
        launch(
            command(["bisect", &file, "a", "1", "--checkpoint", "x"]),
            ""
        )
        .wait()
        .expect(2)
        .stderr
        .contains("events")
    );
    // Without states.
    world.runtail(&[
        "run",
        "approval",
        "--input",
        input,
        "--stateless",
        "--mode",
        "updates",
        "--record",
        &format!("{file}.2"),
    ]);
    launch(command(["bisect", &format!("{file}.2"), "a", "1"]), "")
        .wait()
        .expect(1)
        .says("contains no state");
}

#[tokio::test]
async fn hostile_histories_are_shown_as_text_and_end() {
    let entry = |id: &str, parent: Value, value: Value| {
        json!({"checkpoint_id": id, "parent_checkpoint_id": parent, "values": {"a": value}, "next": [],
            "metadata": {"source": "\u{1b}[31mloop", "step": "x"}, "tasks": [{"name": "\u{1b}]0;x\u{7}", "result": {}}]})
    };
    let long = "\u{1b}[2J\u{202e}".repeat(20_000);
    let rows = json!([
        entry("3", json!("2"), json!(long)),
        7,
        null,
        entry("2", json!("1"), json!("\u{1b}[1mok")),
        entry("1", json!("3"), json!(1))
    ]);
    // It ignores `before` and always answers a full page.
    let page: Vec<Value> = rows
        .as_array()
        .unwrap()
        .iter()
        .cycle()
        .take(50)
        .cloned()
        .collect();
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/threads/t-1/history" => response(200, json!(page)),
        "/info" => response(200, r#"{"langgraph_py_version":"1.0.0"}"#),
        _ => response(404, r#"{"detail":"it was not found"}"#),
    })
    .await;
    let config = format!(
        "[profiles.p]\nagent_server = \"{}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n",
        server.url
    );
    let folder = write_config(&config);
    for format in ["table", "json"] {
        let mut bisect = command(["bisect", "t-1", "a", "1", "-o", format]);
        bisect
            .env("HOME", folder.path())
            .env("XDG_CONFIG_HOME", folder.path())
            .env("RUNTAIL_TEST_KEY", CANARY);
        let done = tokio::task::spawn_blocking(move || launch(bisect, "").wait())
            .await
            .unwrap()
            .expect(0);
        let all = format!("{}{}", done.stdout, done.stderr);
        assert!(
            !all.contains(['\u{1b}', '\u{7}', '\u{202e}']),
            "{format}: {all:?}"
        );
        assert!(
            all.contains("became wrong") && all.len() < 20_000,
            "{format}: {} bytes",
            all.len()
        );
    }
}
