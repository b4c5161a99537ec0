//! `threads retry --values`: one edit of several failed threads, each of which then runs again.

use runtail_testkit::common::{Server, json as respond};
use runtail_testkit::process::{Done, command, launch, run_at};
use serde_json::{Value, json};

const ASSISTANT: &str = "e234584d-b7bf-527f-9d06-ba77f8f5172d";

fn id(n: usize) -> String {
    format!("01a1fbb5-0000-7000-8000-{n:012}")
}

fn state(checkpoint: &str) -> Value {
    let task =
        json!({"id": "t", "name": "act", "error": "ValueError('no price')", "interrupts": []});
    json!({
        "values": {"log": ["a"]}, "next": ["act"], "tasks": [task], "created_at": "2026-11-22T03:00:00Z",
        "metadata": {"source": "loop", "step": 1, "run_id": "r1", "graph_id": "approval", "assistant_id": ASSISTANT},
        "checkpoint": {"checkpoint_id": checkpoint},
    })
}

/// Serves failed threads. The third one refuses runs, the fourth one fails at their start, and the fifth one refuses edits.
/// The sixth one didn't fail.
async fn serve() -> Server {
    Server::start(move |seen| {
        let parts: Vec<&str> = seen.path.trim_matches('/').split('/').collect();
        let number = parts.get(1).and_then(|id| id.rsplit('-').next()?.parse::<usize>().ok()).unwrap_or_default();
        match (seen.method.as_str(), parts.as_slice()) {
            ("GET", ["info"]) => respond(200, r#"{"langgraph_py_version":"1","version":"0.16.7"}"#),
            ("GET", ["assistants", _]) => respond(200, json!({"graph_id": "approval"})),
            ("GET", ["assistants", _, "graph"]) => respond(
                200,
                json!({"nodes": [{"id": "__start__"}, {"id": "act"}, {"id": "__end__"}],
                       "edges": [{"source": "__start__", "target": "act"}, {"source": "act", "target": "__end__"}]}),
            ),
            ("GET", ["threads", thread]) => {
                let status = if number == 6 { "idle" } else { "error" };
                let metadata = json!({"graph_id": "approval", "assistant_id": ASSISTANT});
                respond(200, json!({"thread_id": thread, "status": status, "interrupts": {}, "metadata": metadata}))
            }
            ("GET", ["threads", _, "state"]) => respond(200, state("end")),
            ("GET", ["threads", _, "state", checkpoint]) => respond(200, state(checkpoint)),
            ("GET", ["threads", _, "history"]) => respond(200, json!([state("end")])),
            ("GET", ["threads", _, "runs"]) => {
                let status = if number == 6 { "success" } else { "error" };
                let kwargs = json!({"input": {"n": 1}});
                respond(200, json!([{"run_id": "r1", "status": status, "assistant_id": ASSISTANT, "kwargs": kwargs}]))
            }
            ("POST", ["threads", _, "state"]) if number == 5 => respond(422, r#"{"detail":"not this key"}"#),
            ("POST", ["threads", _, "state"]) => respond(200, json!({"checkpoint": {"checkpoint_id": "new"}})),
            ("POST", ["threads", _, "runs"]) if number == 3 => respond(409, r#"{"detail":"busy"}"#),
            ("POST", ["threads", _, "runs"]) if number == 4 => respond(502, r#"{"detail":"bad gateway"}"#),
            ("POST", ["threads", _, "runs"]) => respond(200, json!({"run_id": "r2", "status": "pending"})),
            _ => respond(404, r#"{"detail":"Not Found"}"#),
        }
    })
    .await
}

fn retry(server: &Server, threads: &[usize], options: &str) -> Done {
    let ids: Vec<String> = threads.iter().map(|n| id(*n)).collect();
    run_at(
        server.url.as_str(),
        format!("threads retry {} {options}", ids.join(" ")),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ctrl_c_sends_no_further_deletion_and_reports_all() {
    let (reached, starts) = std::sync::mpsc::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let server = Server::start(move |seen| {
        let parts: Vec<&str> = seen.path.trim_matches('/').split('/').collect();
        match (seen.method.as_str(), parts.as_slice()) {
            ("GET", ["info"]) => respond(200, r#"{"langgraph_py_version":"1","version":"0.16.7"}"#),
            ("GET", ["threads", thread]) => respond(
                200,
                json!({"thread_id": thread, "status": "idle", "metadata": {}}),
            ),
            ("GET", ["threads", _, "state"]) => respond(200, state("end")),
            ("GET", ["threads", _, "runs"]) => respond(200, "[]"),
            ("DELETE", ["threads", _]) => {
                let _ = reached.send(());
                let _ = tokio::task::block_in_place(|| released.lock().unwrap().recv());
                respond(204, "")
            }
            _ => respond(404, r#"{"detail":"Not Found"}"#),
        }
    })
    .await;
    let ids: Vec<String> = (1..=40).map(id).collect();
    let args = ["--url", server.url.as_str(), "threads", "delete"]
        .into_iter()
        .chain(ids.iter().map(String::as_str));
    let running = launch(command(args.chain(["--yes"])), "");
    starts.recv().unwrap();
    running.signal(libc::SIGINT);
    drop(release);
    let rows = running.wait().expect(130).json_lines();
    let words: Vec<&str> = rows
        .iter()
        .map(|row| row["status"].as_str().unwrap())
        .collect();
    let sent = server
        .seen()
        .iter()
        .filter(|seen| seen.method == "DELETE")
        .count();
    assert_eq!(
        (words.len(), words[0], words[39]),
        (40, "deleted", "not_sent"),
        "{words:?}"
    );
    assert_eq!(
        words.iter().filter(|word| **word == "deleted").count(),
        sent,
        "{words:?}"
    );
}

/// Returns the writes as `NUMBER/state`, in the order of the threads.
fn writes(server: &Server) -> Vec<String> {
    let seen = server
        .seen()
        .into_iter()
        .filter(|seen| seen.method != "GET");
    let mut writes: Vec<String> = seen
        .map(|seen| seen.path.rsplit("000").next().unwrap_or_default().into())
        .collect();
    writes.sort();
    writes
}

#[tokio::test(flavor = "multi_thread")]
async fn each_edited_thread_has_its_own_result() {
    let server = serve().await;
    let log = r#"{"log": ["b"]}"#;
    let done = retry(
        &server,
        &[1, 2, 3, 4, 5, 6],
        &format!("--values '{log}' --yes"),
    )
    .expect(5);
    let rows = done.json_lines();
    let statuses: Vec<&str> = rows
        .iter()
        .map(|row| row["status"].as_str().unwrap())
        .collect();
    assert_eq!(
        statuses,
        [
            "started", "started", "edited", "unknown", "refused", "refused"
        ]
    );
    assert_eq!(
        (&rows[0]["run_id"], &rows[0]["checkpoint_id"]),
        (&json!("r2"), &json!("new"))
    );
    let why = |n: usize| rows[n]["why"].as_str().unwrap();
    assert!(
        why(2).contains("the state was edited (new checkpoint new), but the run was not started"),
        "{}",
        why(2)
    );
    assert!(
        why(2).contains("run again from checkpoint new to start it"),
        "{}",
        why(2)
    );
    assert!(why(3).contains("it may not have started"), "{}", why(3));
    assert!(why(4).contains("not this key"), "{}", why(4));
    assert!(why(5).contains("nothing to retry"), "{}", why(5));
    let expected = [
        "1/runs", "1/state", "2/runs", "2/state", "3/runs", "3/state", "4/runs", "4/state",
        "5/state",
    ];
    assert_eq!(writes(&server), expected, "each is sent once");
    for seen in server.seen().iter().filter(|seen| seen.method == "POST") {
        match seen.path.ends_with("/runs") {
            true => assert_eq!(
                (&seen.json()["checkpoint_id"], &seen.json()["input"]),
                (&json!("new"), &Value::Null)
            ),
            false => assert_eq!(
                (&seen.json()["values"], &seen.json()["checkpoint_id"]),
                (&json!({"log": ["b"]}), &json!("end"))
            ),
        }
    }
    let told = &done.stderr;
    assert!(
        told.contains("The graph's reducers apply the edit on the server"),
        "{told}"
    );
    assert!(
        told.contains(r#"written to each, in the name of the node that wrote last: {"log":["b"]}"#),
        "{told}"
    );
    assert!(
        told.contains("! 5 threads: "),
        "the warnings are counted: {told}"
    );
    let done = retry(&server, &[3], &format!("--values '{log}' --yes")).expect(1);
    assert_eq!(done.json()["status"], "edited");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_several_threads_is_not_sent_without_a_yes_or_with_wrong_values() {
    let server = serve().await;
    let log = r#"{"log": ["b"]}"#;
    retry(&server, &[1, 2], &format!("--values '{log}'"))
        .expect(2)
        .says("Edit and retry 2 threads: not confirmed");
    let done = retry(&server, &[1, 6], &format!("--values '{log}' --dry-run")).expect(1);
    assert_eq!(done.json_lines()[0]["status"], "planned");
    for wrong in ["[1]", "null", "{}"] {
        retry(&server, &[1], &format!("--values '{wrong}' --yes"))
            .expect(2)
            .says("--values must be a JSON object with the keys to write");
    }
    retry(&server, &[1], "--as-node act --yes")
        .expect(2)
        .says("--as-node needs --values or --editor");
    // A misspelled key, and a node after which nothing runs.
    let done = retry(&server, &[1, 2], r#"--values '{"lgo": 1}' --yes"#).expect(1);
    assert!(
        done.json_lines()
            .iter()
            .all(|row| row["why"].as_str().unwrap().contains("no key lgo")),
        "{}",
        done.stdout
    );
    let done = retry(
        &server,
        &[1],
        &format!("--values '{log}' --as-node act --yes"),
    )
    .expect(1);
    assert!(
        done.json()["why"]
            .as_str()
            .unwrap()
            .contains("only the end follows act"),
        "{}",
        done.stdout
    );
    assert!(writes(&server).is_empty(), "{:?}", writes(&server));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_for_several_threads_are_typed_in_the_editor() {
    let server = serve().await;
    let run = |editor: &str| {
        let mut command = command(
            [
                "--url",
                server.url.as_str(),
                "threads",
                "retry",
                &id(1),
                &id(2),
                "--editor",
                "--yes",
            ]
            .iter()
            .copied(),
        );
        command
            .env("VISUAL", format!("sh -c '{editor}' --"))
            .env("TMPDIR", std::env::temp_dir());
        launch(command, "").wait()
    };
    run("true")
        .expect(0)
        .says("no key was written; nothing was sent");
    let refused = run(r#"echo "{\"lgo\": 1}" > "$1""#).expect(1);
    let (_, path) = refused
        .stderr
        .split_once("your text is kept in ")
        .expect(&refused.stderr);
    let kept = std::fs::read_to_string(path.trim()).unwrap();
    std::fs::remove_file(path.trim()).unwrap();
    assert!(kept.contains("lgo"), "{kept}");
    assert!(writes(&server).is_empty());
    run(r#"echo "{\"log\": [\"c\"]}" > "$1""#).expect(0);
    assert_eq!(writes(&server), ["1/runs", "1/state", "2/runs", "2/state"]);
}
