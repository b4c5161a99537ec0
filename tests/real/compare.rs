//! `compare` against all real servers: two runs whose first difference is known, threads against recordings, and the same run on
//! two servers.
//!
//! Ignored without the servers: `tests/real/serve -- cargo test --test real compare -- --ignored`.

use runtail_testkit::process::run_at;
use runtail_testkit::server::{self, all_urls};
use serde_json::{Value, json};

/// A thread that is deleted at the end.
struct Thread<'a> {
    url: &'a str,
    id: String,
}

impl Thread<'_> {
    #[track_caller]
    fn new(url: &str) -> Thread<'_> {
        let row = run_at(url, "threads create -o json").expect(0).json();
        Thread {
            url,
            id: server::text(&row, "thread_id"),
        }
    }

    /// Runs a graph, and returns the id of the run.
    #[track_caller]
    fn run(&self, graph: &str, input: &Value, more: &[&str]) -> String {
        let input = input.to_string();
        let args = [
            &[
                "run", graph, "--thread", &self.id, "--input", &input, "-o", "jsonl",
            ],
            more,
        ]
        .concat();
        let lines = run_at(self.url, &args).expect(0).json_lines();
        let id = lines
            .iter()
            .find_map(|line| line["data"]["run_id"].as_str());
        id.unwrap_or_else(|| panic!("no run id: {lines:?}"))
            .to_string()
    }
}

impl Drop for Thread<'_> {
    fn drop(&mut self) {
        run_at(self.url, &["threads", "delete", &self.id, "--yes"]);
    }
}

#[track_caller]
fn compare(url: &str, a: &str, b: &str) -> Value {
    run_at(url, format!("compare {a} {b} -o json"))
        .expect(0)
        .json()
}

fn verdicts(all: &Value) -> Vec<&str> {
    all["rows"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| row["verdict"].as_str())
        .collect()
}

fn said(text: &str) -> Value {
    json!({"messages": [{"role": "user", "content": text}]})
}

#[test]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real compare -- --ignored"]
fn runs_are_aligned_and_the_first_difference_is_found() {
    for url in all_urls() {
        let url = url.as_str();
        let (one, two) = (Thread::new(url), Thread::new(url));
        let first = one.run("agent", &said("hello"), &[]);
        let other = two.run("agent", &said("hello"), &[]);
        // The same input: equal, although all ids differ.
        let all = compare(url, &one.id, &two.id);
        assert_eq!(
            (&all["same"], &all["same_input"]),
            (&json!(true), &json!(true)),
            "{url}: {all:#}"
        );
        assert_eq!(verdicts(&all), ["same"; 4], "{url}");
        let nodes: Vec<&Value> = all["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| &row["node"])
            .collect();
        assert_eq!(nodes, ["__start__", "chat", "tools", "chat"], "{url}");
        assert_eq!(
            (&all["a"]["input_tokens"], &all["a"]["output_tokens"]),
            (&json!(68), &json!(21)),
            "{url}"
        );
        assert_eq!(all["a"]["graph_id"], "agent", "{url}");
        // The second turn's answer counts the turns, so that only step 3 differs, besides the input.
        let second = one.run("agent", &said("hello"), &[]);
        let run = |thread: &Thread<'_>, run: &str| format!("{}/{run}", thread.id);
        let all = compare(url, &run(&one, &second), &run(&two, &other));
        assert_eq!(
            verdicts(&all),
            ["same", "same", "same", "differs"],
            "{url}: {all:#}"
        );
        let first_difference = &all["first_difference"];
        assert_eq!(
            (&first_difference["step"], &first_difference["differs"]),
            (&json!(3), &json!("text")),
            "{url}"
        );
        let all = compare(url, &run(&one, &first), &run(&two, &other));
        assert_eq!(verdicts(&all), ["same"; 4], "{url}: {all:#}");
        // The thread has a turn more.
        let all = compare(url, &one.id, &two.id);
        assert_eq!(
            verdicts(&all)
                .iter()
                .filter(|word| **word == "only_a")
                .count(),
            4,
            "{url}: {all:#}"
        );
        assert_eq!(all["same"], false, "{url}");
    }
}

#[test]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real compare -- --ignored"]
fn recordings_agree_with_the_history_of_their_thread() {
    let folder = tempfile::tempdir().unwrap();
    for (n, url) in all_urls().iter().enumerate() {
        for (m, modes) in [
            "updates,values",
            "tasks,values",
            "messages-tuple,updates,values",
        ]
        .iter()
        .enumerate()
        {
            let thread = Thread::new(url);
            let file = folder.path().join(format!("{n}-{m}.jsonl"));
            let file = file.to_str().unwrap();
            thread.run(
                "agent",
                &said("hello"),
                &["--mode", modes, "--record", file],
            );
            let all = compare(url, file, &thread.id);
            assert_eq!(
                all["first_difference"],
                Value::Null,
                "{url} {modes}: {all:#}"
            );
            assert_eq!(&verdicts(&all)[1..], ["same"; 3], "{url} {modes}: {all:#}");
        }
    }
}
