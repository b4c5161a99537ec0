//! Servers that refuse, or that have other records.

use runtail_testkit::common::{Server, json as respond};
use runtail_testkit::process::run_at;
use serde_json::{Value, json};

/// A shell would change this id, so suggested commands quote it.
const THREAD: &str = "01a1fbb5$0";
const ASSISTANT: &str = "e234584d-b7bf-527f-9d06-ba77f8f5172d";

/// What differs from a server that accepts everything.
#[derive(Clone)]
struct Ways {
    /// The answers to an edit and to the start of a run.
    edit: (u16, Value),
    run: (u16, Value),
    /// Whether the assistant exists.
    has_assistant: bool,
    /// The graph that wrote the checkpoints.
    writer: &'static str,
    /// The options of the thread's run.
    kwargs: Value,
    /// The keys of the schemas, if the server has any.
    schemas: Value,
}

impl Default for Ways {
    fn default() -> Ways {
        Ways {
            edit: (200, json!({"checkpoint": {"checkpoint_id": "new"}})),
            run: (200, json!({"run_id": "r2", "status": "pending"})),
            has_assistant: true,
            writer: "approval",
            kwargs: json!({"input": {"n": 1}}),
            schemas: Value::Null,
        }
    }
}

fn state(id: &str, parent: Option<&str>, next: &[&str], writer: &str) -> Value {
    let task = |node: &&str| json!({"id": "t", "name": node, "error": null, "interrupts": [], "result": {"log": ["x"]}});
    let calls = json!([{"id": "1", "name": "refund"}, {"id": "2", "name": "notify"}]);
    json!({
        "values": {"log": ["a"], "messages": [{"type": "ai", "tool_calls": calls}]}, "next": next,
        "tasks": next.iter().map(task).collect::<Vec<_>>(), "created_at": "2026-11-22T03:00:00Z",
        "metadata": {"source": "loop", "step": 1, "run_id": "r1", "graph_id": writer, "assistant_id": ASSISTANT},
        "checkpoint": {"checkpoint_id": id}, "parent_checkpoint": parent.map(|id| json!({"checkpoint_id": id})),
    })
}

async fn serve(ways: Ways) -> Server {
    Server::start(move |seen| {
        let parts: Vec<&str> = seen.path.trim_matches('/').split('/').collect();
        let writer = ways.writer;
        let states = [state("end", Some("mid"), &[], writer), state("mid", None, &["act"], writer)];
        match (seen.method.as_str(), parts.as_slice()) {
            ("GET", ["info"]) => respond(200, r#"{"langgraph_py_version":"1","version":"0.16.7"}"#),
            ("GET", ["assistants", _]) if ways.has_assistant => respond(200, json!({"graph_id": "approval"})),
            ("GET", ["assistants", _, "schemas"]) if !ways.schemas.is_null() => respond(200, &ways.schemas),
            ("GET", ["assistants", _, "graph"]) => respond(
                200,
                json!({"nodes": [{"id": "__start__"}, {"id": "act"}, {"id": "__end__"}],
                       "edges": [{"source": "__start__", "target": "act"}, {"source": "act", "target": "__end__"}]}),
            ),
            ("GET", ["threads", THREAD]) => respond(
                200,
                json!({"thread_id": THREAD, "status": "idle", "interrupts": {}, "metadata": {"graph_id": "approval", "assistant_id": ASSISTANT}}),
            ),
            ("GET", ["threads", THREAD, "state"]) => {
                respond(200, state("end", Some("mid"), &[], writer))
            }
            ("GET", ["threads", THREAD, "state", "new"]) => respond(200, state("new", Some("mid"), &["act"], writer)),
            ("GET", ["threads", THREAD, "state", id]) => {
                let found = states.iter().find(|state| state["checkpoint"]["checkpoint_id"] == **id);
                respond(200, found.cloned().unwrap_or_else(|| json!({"values": {}, "next": [], "metadata": null, "created_at": null})))
            }
            ("GET", ["threads", THREAD, "history"]) => respond(200, json!(states)),
            ("GET", ["threads", THREAD, "runs"]) => {
                respond(200, json!([{"run_id": "r1", "status": "success", "assistant_id": ASSISTANT, "kwargs": ways.kwargs}]))
            }
            ("POST", ["threads", THREAD, "state"]) => respond(ways.edit.0, &ways.edit.1),
            ("POST", ["threads", THREAD, "runs"]) => respond(ways.run.0, &ways.run.1),
            _ => respond(404, r#"{"detail":"Not Found"}"#),
        }
    })
    .await
}

/// Returns the paths of the write requests.
fn writes(server: &Server) -> Vec<String> {
    let seen = server
        .seen()
        .into_iter()
        .filter(|seen| seen.method != "GET");
    seen.map(|seen| seen.path.rsplit('/').next().unwrap_or_default().to_string())
        .collect()
}

const EDIT: [&str; 6] = [
    "fork",
    THREAD,
    "--checkpoint",
    "mid",
    "--update",
    r#"{"log": ["x"]}"#,
];

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_run_after_an_edit_names_the_new_checkpoint() {
    for (status, code, means, says) in [
        (409, 1, "Only a part was done.", "the run was not started"),
        (
            502,
            5,
            "A part was done. It's unknown whether the rest was: `runtail",
            " threads history '01a1fbb5$0'` show it.",
        ),
    ] {
        let server = serve(Ways {
            run: (status, json!({"detail": "no"})),
            ..Ways::default()
        })
        .await;
        let done = run_at(server.url.as_str(), &EDIT).expect(code);
        let told = &done.stderr;
        assert!(
            told.contains(means) && told.contains(says),
            "{status}: {told}"
        );
        assert!(
            told.contains("the state was edited (new checkpoint new)"),
            "{status}: {told}"
        );
        assert!(done.stdout.is_empty());
        assert_eq!(writes(&server), ["state", "runs"], "each is sent once");
    }
    let unknown = Ways {
        run: (502, json!({"detail": "no"})),
        ..Ways::default()
    };
    run_at(serve(unknown).await.url.as_str(), &EDIT[..4])
        .expect(5)
        .says(" runs list '01a1fbb5$0'` shows it.");
    // The second request has the id that the first one answered.
    let server = serve(Ways::default()).await;
    let done = run_at(server.url.as_str(), &EDIT).expect(0);
    assert_eq!(
        (&done.json()["checkpoint_id"], &done.json()["run_id"]),
        (&json!("new"), &json!("r2"))
    );
    let sent: Vec<Value> = server
        .seen()
        .iter()
        .filter(|seen| seen.method == "POST")
        .map(|seen| seen.json())
        .collect();
    assert_eq!(
        (&sent[0]["checkpoint_id"], &sent[1]["checkpoint_id"]),
        (&json!("mid"), &json!("new"))
    );
    assert!(
        sent[1].get("input").is_some_and(Value::is_null)
            && sent[1]["multitask_strategy"] == "reject"
    );
    let told = &done.stderr;
    assert!(
        told.contains("Calls that the state asks for: refund, notify."),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_run_is_started_unless_the_edit_is_known_to_be_done() {
    let detail = json!({"detail": "Thread has in-flight runs: [{'config': {'key': 'canary-of-the-config'}}]"});
    for (edit, code, says) in [
        (
            (409, detail),
            1,
            "Another run is active on the thread, so the server refused.",
        ),
        (
            (400, json!({"detail": "Node x does not exist"})),
            1,
            "The server refused. Nothing was done.",
        ),
        // The thread is as it was, so the server did nothing.
        (
            (500, json!({"detail": "oops"})),
            5,
            "The server refused. Nothing was done.",
        ),
        (
            (200, json!({})),
            1,
            "names no checkpoint, so no run was started\n  `runtail threads history '01a1fbb5$0'`",
        ),
        // The edit led to the end of the graph.
        (
            (200, json!({"checkpoint_id": "end"})),
            1,
            "(new checkpoint end), but no node is next there, so no run was started",
        ),
    ] {
        let server = serve(Ways {
            edit,
            ..Ways::default()
        })
        .await;
        let done = run_at(server.url.as_str(), &EDIT).expect(code);
        done.says(says);
        assert!(
            !done.stderr.contains("canary") && done.stdout.is_empty(),
            "{}",
            done.stderr
        );
        assert_eq!(writes(&server), ["state"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_assistant_runs_nothing() {
    for args in [
        EDIT.to_vec(),
        vec!["fork", THREAD, "--checkpoint", "mid"],
        vec!["rerun", THREAD, "r1"],
    ] {
        let server = serve(Ways {
            has_assistant: false,
            ..Ways::default()
        })
        .await;
        run_at(server.url.as_str(), &args)
            .expect(1)
            .says(&format!("assistant {ASSISTANT} was deleted"));
        assert!(writes(&server).is_empty(), "{args:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_of_another_graph_is_run_by_its_own_assistant_and_not_edited() {
    let server = serve(Ways {
        writer: "agent",
        ..Ways::default()
    })
    .await;
    run_at(server.url.as_str(), &EDIT)
        .expect(1)
        .says("was written by the graph agent");
    assert!(writes(&server).is_empty());
    run_at(
        server.url.as_str(),
        format!("fork {THREAD} --checkpoint mid"),
    )
    .expect(0)
    .says("The graph agent wrote this checkpoint");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_saves_only_its_end_has_nothing_to_fork_from() {
    let server = serve(Ways {
        kwargs: json!({"durability": "exit", "input": {}}),
        ..Ways::default()
    })
    .await;
    run_at(server.url.as_str(), format!("fork {THREAD}"))
        .expect(1)
        .says("Only the last checkpoint was saved, so there's nothing to run again from.");
    let server = serve(Ways::default()).await;
    run_at(server.url.as_str(), format!("fork {THREAD}"))
        .expect(1)
        .says("Choose an earlier checkpoint");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_only_the_schemas_know_are_accepted() {
    let schemas = json!({"state_schema": {"properties": {"log": {}, "decision": {}}}});
    let set = |values| ["state", "set", THREAD, "--values", values, "--dry-run"];
    let server = serve(Ways {
        schemas,
        ..Ways::default()
    })
    .await;
    run_at(server.url.as_str(), &set(r#"{"decision": 1}"#)).expect(0);
    run_at(server.url.as_str(), &set(r#"{"decisions": 1}"#))
        .expect(2)
        .says("its keys are decision, log, messages");
    let server = serve(Ways::default()).await;
    run_at(server.url.as_str(), &set(r#"{"decision": 1}"#))
        .expect(2)
        .says("a key that was never written can't be told from a wrong one");
}
