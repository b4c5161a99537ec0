//! `threads history`: the tree of a captured history, and a part of the history on every kind of server.

use crate::ended::{runtail, with_agent};
use crate::fork::World;
use runtail_sim::Scenario;
use runtail_testkit::common::{Server, json};
use serde_json::{Value, json as value};

const CAPTURE: &str = include_str!("../fixtures/history/fork-history.json");

/// Starts a server that has the captured history, and nothing else.
async fn server(history: Value) -> Server {
    Server::start(
        move |seen| match (seen.method.as_str(), seen.path.as_str()) {
            ("GET", "/threads/t-1/history") => json(200, history.clone()),
            (_, "/info") => json(200, r#"{"langgraph_py_version":"1.0.0"}"#),
            _ => json(404, r#"{"detail":"it was not found"}"#),
        },
    )
    .await
}

#[tokio::test]
async fn the_tree_of_a_history_is_drawn_and_json_is_unchanged() {
    let capture: Value = serde_json::from_str(CAPTURE).unwrap();
    let server = server(capture["response"]["body"].clone()).await;
    let folder = with_agent(&server);
    let out = async |args: &[&str]| {
        let ended = runtail(
            folder.path(),
            &[&["threads", "history", "t-1"], args].concat(),
        )
        .await;
        assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{args:?}");
        ended.out
    };
    let tree = out(&["--tree"]).await;
    let lines: Vec<&str> = tree.lines().collect();
    // A heading, 22 checkpoints, and a line where their branches join.
    assert_eq!(lines.len(), 24, "{tree}");
    let column = lines[0].find("CHECKPOINT").unwrap();
    assert!(
        lines[1].ends_with("1f1e6200-d70b-667d-8005-1b86d6f4c2c1  head"),
        "{tree}"
    );
    assert_eq!(
        lines[1].chars().skip(column).take(8).collect::<String>(),
        "1f1e6200",
        "{tree}"
    );
    assert!(
        lines[1].starts_with("●               5  fork ") && lines[1].contains("run again · end"),
        "{tree}"
    );
    assert!(
        lines[5].starts_with("│ ●             6  c ") && lines[5].contains("log [\"c\"] · end"),
        "{tree}"
    );
    assert_eq!(lines[20], "├─┴─┴─┴─┴─╯");
    assert!(
        lines[23].starts_with("●              -1  input ") && lines[23].contains("\"in\""),
        "{tree}"
    );
    assert_eq!(out(&["--tree", "-o", "table"]).await, tree);
    let ascii = out(&["--tree", "--ascii"]).await;
    assert!(
        ascii.is_ascii() && ascii.contains("\n+-+-+-+-+-'\n"),
        "{ascii}"
    );
    for format in ["json", "jsonl"] {
        assert_eq!(
            out(&["--tree", "-o", format]).await,
            out(&["-o", format]).await,
            "{format}"
        );
    }
    assert!(server.seen().iter().all(|seen| seen.method == "GET"));
}

#[tokio::test]
async fn hostile_histories_are_drawn_as_text() {
    let entry = |id: &str, parent: Value| {
        value!({"checkpoint_id": id, "parent_checkpoint_id": parent, "next": ["\u{1b}[31mn"], "metadata": {"source": "loop\u{202e}"},
                "tasks": [{"name": "\u{1b}]0;x\u{7}", "error": "\u{1b}[2Jboom"}]})
    };
    let server = server(value!([
        entry("1\u{1b}[1m", value!("2")),
        entry("2", value!("1\u{1b}[1m")),
        3,
        null
    ]))
    .await;
    let folder = with_agent(&server);
    let ended = runtail(folder.path(), "threads history t-1 --tree")
        .await
        .expect(0);
    assert!(
        !ended.out.contains(['\u{1b}', '\u{7}', '\u{202e}']) && ended.out.contains("boom"),
        "{:?}",
        ended.out
    );
    assert_eq!(ended.out.lines().count(), 3, "{}", ended.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn states_before_a_checkpoint_are_listed() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = world.ran("approval", value!({"amount": 5})).await;
    let ids: Vec<Value> = world
        .history(&thread)
        .await
        .iter()
        .map(|state| state["checkpoint"]["checkpoint_id"].clone())
        .collect();
    assert!(ids.len() > 2, "{ids:?}");
    let before = |id: &str, more: &[&str]| {
        world.runtail(&[&["threads", "history", &thread, "--before", id], more].concat())
    };
    let rows = before(ids[0].as_str().unwrap(), &[]).expect(0).json_lines();
    let listed: Vec<Value> = rows
        .iter()
        .map(|row| row["checkpoint"]["checkpoint_id"].clone())
        .collect();
    assert_eq!(listed, ids[1..]);
    let rows = before(ids[0].as_str().unwrap(), &["--limit", "1"])
        .expect(0)
        .json_lines();
    assert_eq!(rows.len(), 1);
    let tree = before(ids[0].as_str().unwrap(), &["--tree", "-o", "table"])
        .expect(0)
        .stdout;
    assert!(
        !tree.contains("head") && tree.contains(ids[1].as_str().unwrap()),
        "{tree}"
    );
    // Servers compare ids as texts, so an unknown one would list any part of the history.
    for id in ["nonsense", "1f1e6200-d70b-667d-8005-1b86d6f4c2c1"] {
        let refused = before(id, &[]).expect(1).stderr;
        assert!(
            refused.contains(&format!("thread {thread} has no checkpoint {id}")),
            "{refused}"
        );
    }
}
