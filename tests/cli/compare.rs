//! `compare`: recordings of the demo's graphs, threads of its two regions, and servers that offer less.

use crate::ended::{Ended, command, ended, with_agent, write_config};
use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::common::{Server, json};
use serde_json::{Value, json as value};
use std::path::Path;

/// Runs a command in its home, where it finds files.
async fn runtail(home: &Path, args: &[&str]) -> Ended {
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
    let both = [
        "compare", "us/bot", "eu/bot", "--run", "support", "--input", QUESTION,
    ];
    let dry = runtail(
        folder.path(),
        &[&both[..], &["--dry-run", "-o", "json"]].concat(),
    )
    .await;
    assert_eq!(dry.code, 0, "{}", dry.err);
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
    let done = runtail(
        folder.path(),
        &[&both[..], &["-o", "json", "--save", "both.json"]].concat(),
    )
    .await;
    assert_eq!(done.code, 0, "{}", done.err);
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
    let table = runtail(folder.path(), &["compare", "both.json", "-o", "table"]).await;
    assert_eq!((table.code, table.err.as_str()), (0, ""));
    assert!(
        table.out.contains("First difference: step 3.") && table.out.contains("≠    3  chat"),
        "{}",
        table.out
    );
    assert!(table.out.contains("→ send_refund"), "{}", table.out);
    let saved = parsed(&runtail(folder.path(), &["compare", "both.json", "-o", "json"]).await);
    assert_eq!(saved["rows"], all["rows"]);
    let ascii = runtail(
        folder.path(),
        &["compare", "both.json", "-o", "table", "--ascii"],
    )
    .await;
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
    let again = parsed(&runtail(folder.path(), &["compare", &a, &b, "-o", "json"]).await);
    assert_eq!(again["first_difference"]["step"], 3);
    let same = runtail(folder.path(), &["compare", &a, &a, "-o", "jsonl"]).await;
    let lines: Vec<Value> = same
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
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
    let table = runtail(folder.path(), &["compare", &a, &a, "-o", "table"]).await;
    assert!(
        table.out.contains("No differences.")
            && table
                .out
                .contains("same input · same graph · same final state")
    );
    // An existing file is kept, and nothing is loaded.
    let refused = runtail(folder.path(), &["compare", &a, &b, "--save", "both.json"]).await;
    assert!(
        refused.code == 2 && refused.err.contains("already exists"),
        "{}",
        refused.err
    );
}

#[tokio::test]
async fn recordings_and_threads_are_compared_with_each_other() {
    let (_sim, folder) = regions().await;
    let record = async |profile: &str, modes: &str, file: &str, graph: &str, input: &str| {
        let args = [
            "-p", profile, "run", graph, "--input", input, "--mode", modes, "--record", file,
        ];
        let run = runtail(folder.path(), &args).await;
        assert_eq!(run.code, 0, "{}", run.err);
        let head: Value = serde_json::from_str(run.out.lines().next().unwrap()).unwrap();
        head["thread_id"].as_str().unwrap().to_string()
    };
    let thread = record("us", "updates,values", "us.jsonl", "support", QUESTION).await;
    record("eu", "tasks,values", "eu.jsonl.gz", "support", QUESTION).await;
    let compare = async |args: &[&str]| {
        let done = runtail(
            folder.path(),
            &[&["compare"], args, &["-o", "json"]].concat(),
        )
        .await;
        assert_eq!(done.code, 0, "{args:?}: {}", done.err);
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
    let done = runtail(
        folder.path(),
        &["compare", "us.jsonl", "research.jsonl", "-o", "table"],
    )
    .await;
    assert_eq!(done.code, 0, "{}", done.err);
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
        let done = runtail(folder.path(), &[&["compare"], args].concat()).await;
        assert!(
            done.code == code && done.err.contains(said),
            "{args:?}: {} {}",
            done.code,
            done.err
        );
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
    let done = runtail(folder.path(), &["--url", &url, "compare", "t-1", "t-2"]).await;
    assert!(
        done.code == 1 && done.err.contains("--record"),
        "{} {}",
        done.code,
        done.err
    );
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
        let done = runtail(folder.path(), &["compare", "t-1", "t-2", "-o", format]).await;
        assert_eq!(done.code, 0, "{}", done.err);
        assert!(
            !done.out.contains(['\u{1b}', '\u{7}', '\u{202e}']) && done.out.contains("one"),
            "{:?}",
            done.out
        );
    }
    assert!(server.seen().iter().all(|seen| seen.method == "GET"));
}

/// Two runs whose steps differ, in a thread where another graph ran later: the history lists no tasks for them.
#[tokio::test]
async fn runs_whose_steps_are_not_listed_are_not_called_equal() {
    let entry = |id: u8, run: &str, source: &str, start: bool| {
        let tasks = if start {
            value!([{"id": "1", "name": "__start__", "result": {"q": 1}}])
        } else {
            value!([])
        };
        let parent = (id > 1).then(|| format!("c{}", id - 1));
        value!({"checkpoint_id": format!("c{id}"), "parent_checkpoint_id": parent, "values": {"q": 1}, "tasks": tasks,
                "metadata": {"source": source, "step": id, "run_id": run, "graph_id": "agent"},
                "created_at": format!("2026-11-22T00:00:0{id}Z")})
    };
    let rows = value!([
        entry(6, "r-2", "loop", false),
        entry(5, "r-2", "loop", false),
        entry(4, "r-2", "input", true),
        entry(3, "r-1", "loop", false),
        entry(2, "r-1", "loop", false),
        entry(1, "r-1", "input", true),
    ]);
    let run = |id: &str| value!({"run_id": id, "thread_id": "t", "assistant_id": "a", "status": "success"});
    let runs = value!([run("r-2"), run("r-1")]);
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/threads/t/history" => json(200, rows.clone()),
        path if path.ends_with("/runs") => json(200, runs.clone()),
        "/info" => json(200, r#"{"langgraph_py_version":"1.0.0"}"#),
        _ => json(404, r#"{"detail":"it was not found"}"#),
    })
    .await;
    let folder = with_agent(&server);
    let done = runtail(folder.path(), &["compare", "t/r-1", "t/r-2", "-o", "json"]).await;
    let all = parsed(&done);
    assert_eq!(done.code, 1, "{all:#}");
    assert_eq!(
        (&all["same"], &all["comparable"], &all["same_input"]),
        (&Value::Null, &value!(false), &Value::Null)
    );
    assert_eq!(
        (&all["a"]["steps_known"], &all["state"]),
        (&value!(false), &Value::Null)
    );
    assert!(done.err.contains("A: steps unknown"), "{}", done.err);
    let table = runtail(folder.path(), &["compare", "t/r-1", "t/r-2", "-o", "table"]).await;
    assert_eq!(table.code, 1);
    assert!(
        table
            .out
            .contains("? Steps unknown: those of A and B are not listed."),
        "{}",
        table.out
    );
    assert!(
        !table.out.contains("No difference") && !table.out.contains("same final state"),
        "{}",
        table.out
    );
    assert!(
        table
            .out
            .contains("Total A  unknown: no steps are recorded"),
        "{}",
        table.out
    );
}
