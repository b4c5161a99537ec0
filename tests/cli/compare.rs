//! `compare`: recordings of the demo's graphs, threads of its two regions, and servers that offer less.

use crate::ended::{Ended, command, ended, with_agent, write_config};
use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::common::{Server, json};
use runtail_testkit::process::Args;
use runtail_testkit::server::text;
use serde_json::{Value, json as value};
use std::path::Path;

/// Runs a command in its home, where it finds files.
async fn runtail(home: &Path, args: impl Args) -> Ended {
    let mut command = command(home, args);
    command.current_dir(home);
    ended(command).await
}

const QUESTION: &str =
    r#"{"messages": [{"role": "user", "content": "Why was I charged twice in October?"}]}"#;

/// The demo's servers, as fast as possible, and a configuration for them.
async fn regions() -> (Sim, tempfile::TempDir) {
    let sim = Sim::start(Options {
        speed: 100.0,
        ..Options::demo()
    })
    .await
    .unwrap();
    let profile = |name: &str, at: usize| {
        format!(
            "[profiles.{name}]\nagent_server = {{ bot = \"{}\" }}\napi_key_env = \"RUNTAIL_TEST_KEY\"\n",
            sim.agents()[at].url
        )
    };
    let folder = write_config(&(profile("us", 0) + &profile("eu", 1)));
    (sim, folder)
}

fn parsed(ended: &Ended) -> Value {
    serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {}\n{}", ended.out, ended.err))
}

#[tokio::test]
async fn the_same_input_in_two_regions_differs_in_one_node() {
    let (_sim, folder) = regions().await;
    let both = format!("compare us/bot eu/bot --run support --input '{QUESTION}'");
    let dry = runtail(folder.path(), format!("{both} --dry-run -o json"))
        .await
        .expect(0);
    let previews = parsed(&dry);
    assert_eq!(previews.as_array().map(Vec::len), Some(2), "{previews}");
    assert!(
        previews[0]["request"]["url"]
            .as_str()
            .unwrap()
            .ends_with("/threads"),
        "{previews}"
    );
    assert_eq!(previews[0]["then"]["body"]["assistant_id"], "support");
    let done = runtail(folder.path(), format!("{both} -o json --save both.json"))
        .await
        .expect(0);
    assert_eq!(
        done.err.matches("Start support on a new thread").count(),
        2,
        "both are previewed: {}",
        done.err
    );
    let all = parsed(&done);
    assert_eq!(
        (&all["same"], &all["same_input"]),
        (&value!(false), &value!(true)),
        "{all:#}"
    );
    let first = &all["first_difference"];
    assert_eq!(
        (&first["step"], &first["node"], &first["differs"]),
        (&value!(3), &value!("chat"), &value!("calls"))
    );
    assert_eq!(first["b"]["calls"], value!(["send_refund"]));
    let verdicts: Vec<&str> = all["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(
        verdicts,
        ["same", "same", "same", "differs", "only_b", "only_b"]
    );
    assert!(all["a"]["input_tokens"].as_u64() > Some(0), "{}", all["a"]);
    // The file has everything.
    let table = runtail(folder.path(), "compare both.json -o table").await;
    assert_eq!((table.code, table.err.as_str()), (0, ""));
    assert!(
        table.out.contains("First difference: step 3.") && table.out.contains("≠    3  chat"),
        "{}",
        table.out
    );
    assert!(table.out.contains("→ send_refund"), "{}", table.out);
    let saved = parsed(&runtail(folder.path(), "compare both.json -o json").await);
    assert_eq!(saved["rows"], all["rows"]);
    let ascii = runtail(folder.path(), "compare both.json -o table --ascii").await;
    assert!(
        ascii.out.contains("!=    3  chat") && !ascii.out.contains('≠'),
        "{}",
        ascii.out
    );
    // The same threads again, by name.
    let thread = |side: &str| {
        all[side]["source"]["thread_id"]
            .as_str()
            .unwrap()
            .to_string()
    };
    let (a, b) = (
        format!("us/bot:{}", thread("a")),
        format!("eu/bot:{}", thread("b")),
    );
    let again = parsed(&runtail(folder.path(), format!("compare {a} {b} -o json")).await);
    assert_eq!(again["first_difference"]["step"], 3);
    let same = runtail(folder.path(), format!("compare {a} {a} -o jsonl")).await;
    let lines: Vec<Value> = same.rows();
    let (last, rows) = lines.split_last().unwrap();
    assert_eq!(
        (&last["kind"], &last["same"]),
        (&value!("comparison"), &value!(true)),
        "{last:#}"
    );
    assert!(
        rows.iter()
            .all(|row| row["kind"] == "row" && row["verdict"] == "same")
            && rows.len() == 4
    );
    let table = runtail(folder.path(), format!("compare {a} {a} -o table")).await;
    assert!(
        table.out.contains("No differences.")
            && table
                .out
                .contains("same input · same graph · same final state")
    );
    // An existing file is kept, and nothing is loaded.
    runtail(folder.path(), format!("compare {a} {b} --save both.json"))
        .await
        .expect(2)
        .says("already exists");
}

#[tokio::test]
async fn recordings_and_threads_are_compared_with_each_other() {
    let (_sim, folder) = regions().await;
    let record = async |profile: &str, modes: &str, file: &str, graph: &str, input: &str| {
        let args = format!(
            "-p '{profile}' run '{graph}' --input '{input}' --mode '{modes}' --record {file}"
        );
        let run = runtail(folder.path(), args).await.expect(0);
        let head: Value = serde_json::from_str(run.out.lines().next().unwrap()).unwrap();
        text(&head, "thread_id")
    };
    let thread = record("us", "updates,values", "us.jsonl", "support", QUESTION).await;
    record("eu", "tasks,values", "eu.jsonl.gz", "support", QUESTION).await;
    let compare = async |args: &[&str]| {
        let done = runtail(
            folder.path(),
            &[&["compare"], args, &["-o", "json"]].concat(),
        )
        .await
        .expect(0);
        parsed(&done)
    };
    let all = compare(&["us.jsonl", "eu.jsonl.gz"]).await;
    assert_eq!(
        (
            &all["first_difference"]["step"],
            &all["first_difference"]["differs"]
        ),
        (&value!(3), &value!("calls")),
        "{all:#}"
    );
    // Only messages: what the nodes wrote is known from them.
    record(
        "us",
        "messages-tuple,values",
        "messages.jsonl",
        "support",
        QUESTION,
    )
    .await;
    let all = compare(&["us.jsonl", "messages.jsonl"]).await;
    assert_eq!(all["first_difference"], Value::Null, "{all:#}");
    let all = compare(&["us.jsonl", &format!("us/bot:{thread}")]).await;
    assert_eq!(all["first_difference"], Value::Null, "{all:#}");
    assert!(
        all["rows"]
            .as_array()
            .unwrap()
            .iter()
            .skip(1)
            .all(|row| row["verdict"] == "same"),
        "{all:#}"
    );
    // Another graph.
    record(
        "us",
        "updates",
        "research.jsonl",
        "research",
        r#"{"topic": "x"}"#,
    )
    .await;
    let done = runtail(folder.path(), "compare us.jsonl research.jsonl -o table")
        .await
        .expect(0);
    assert!(done.out.contains("showing totals only"), "{}", done.out);
}

#[tokio::test]
async fn what_cannot_be_compared_is_an_error() {
    let (_sim, folder) = regions().await;
    let missing = "00000000-0000-4000-8000-000000000000";
    std::fs::write(folder.path().join("empty.jsonl"), "").unwrap();
    std::fs::write(
        folder.path().join("other.jsonl"),
        "{\"kind\":\"comparison\",\"version\":9}\n",
    )
    .unwrap();
    for (args, code, said) in [
        (&["nope.jsonl", "nope.jsonl"][..], 1, "no such file"),
        (&["empty.jsonl", "empty.jsonl"], 2, "not a recording"),
        (&["other.jsonl"], 2, "not a saved comparison"),
        (&["us/bot:", "us/bot:x"], 2, "T, T/R or PROFILE"),
        (&["us/nope:x", "us/bot:x"], 1, "there is no agent server"),
        (
            &[&format!("us/bot:{missing}"), &format!("us/bot:{missing}")],
            1,
            "not found",
        ),
        (
            &["us/bot", "eu/bot", "--run", "nope", "--input", "{}"],
            1,
            "there is no assistant",
        ),
        (
            &["us/bot", "eu/bot", "--run", "support", "--input", "{"],
            2,
            "--input",
        ),
        (&["us/bot", "eu/bot", "--run", "support"], 2, "--input"),
    ] {
        let done = runtail(folder.path(), &[&["compare"], args].concat())
            .await
            .expect(code);
        done.says(said);
        assert_eq!(done.out, "", "{args:?}");
    }
}

#[tokio::test]
async fn a_server_with_only_the_contract_offers_no_history() {
    let sim = Sim::start(Options {
        scenario: Scenario::Contract,
        speed: 100.0,
        ..Options::default()
    })
    .await
    .unwrap();
    let folder = write_config("");
    let url = sim.agents()[0].url.clone();
    runtail(folder.path(), format!("--url {url} compare t-1 t-2"))
        .await
        .expect(1)
        .says("--record");
}

#[tokio::test]
async fn hostile_histories_are_compared_as_text() {
    let entry = |id: &str, parent: Value, text: &str| {
        value!({"checkpoint_id": id, "parent_checkpoint_id": parent, "metadata": {"source": "loop", "step": 1, "run_id": "r"},
                "values": {"\u{1b}[31mk": text}, "created_at": "2026-11-22T00:00:00Z",
                "tasks": [{"id": "1", "name": "\u{1b}]0;x\u{7}", "result": {"messages": [
                    {"type": "ai", "content": text, "tool_calls": [{"name": "\u{202e}f", "args": text}]}]}}]})
    };
    let server = Server::start(move |seen| {
        let text = if seen.path.contains("t-1") {
            "\u{1b}[2Jone"
        } else {
            "\u{1b}[2Jtwo"
        };
        match seen.path.as_str() {
            "/threads/t-1/history" | "/threads/t-2/history" => json(
                200,
                value!([
                    entry("2", value!("1"), text),
                    entry("1", value!("2"), text),
                    3,
                    null
                ]),
            ),
            path if path.ends_with("/runs") => json(200, value!([])),
            "/info" => json(200, r#"{"langgraph_py_version":"1.0.0"}"#),
            _ => json(404, r#"{"detail":"it was not found"}"#),
        }
    })
    .await;
    let folder = with_agent(&server);
    for format in ["table", "json", "jsonl"] {
        let done = runtail(folder.path(), format!("compare t-1 t-2 -o '{format}'"))
            .await
            .expect(0);
        assert!(
            !done.out.contains(['\u{1b}', '\u{7}', '\u{202e}']) && done.out.contains("one"),
            "{:?}",
            done.out
        );
    }
    assert!(server.seen().iter().all(|seen| seen.method == "GET"));
}
