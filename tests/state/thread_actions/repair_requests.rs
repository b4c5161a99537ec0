//! Requests of repairs, against a server with the records of a thread that two assistants ran on.

use super::THREAD;
use runtail_api::{Acted, PlanError, StartFailure, ThreadIntent, WriteKind};
use runtail_testkit::common::{Server, json as respond};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const OWN: &str = "e234584d-b7bf-527f-9d06-ba77f8f5172d";
const OTHER: &str = "fe096781-5601-53d2-b2f6-0d3403f7e9ca";

#[derive(Clone)]
struct World {
    info: Value,
    thread: Value,
    /// Newest first.
    runs: Vec<Value>,
    /// Newest first.
    history: Vec<Value>,
    /// The graphs of the two assistants; without one, the assistant is deleted.
    graphs: [Option<&'static str>; 2],
}

fn checkpoint(
    id: &str,
    assistant: Option<&str>,
    graph: Option<&str>,
    run: Option<&str>,
    next: &[&str],
) -> Value {
    json!({
        "values": {}, "next": next, "tasks": [], "created_at": "2026-11-22T03:00:00Z", "checkpoint": {"checkpoint_id": id},
        "metadata": {"source": "loop", "step": 1, "assistant_id": assistant, "graph_id": graph, "run_id": run},
    })
}

fn run(id: &str, assistant: &str, second: u8) -> Value {
    json!({"run_id": id, "status": "success", "assistant_id": assistant, "created_at": format!("2026-11-22T03:00:{second:02}Z"),
           "kwargs": {"input": {"n": 1}, "context": {"model": assistant}}})
}

impl World {
    /// A thread of `approval` on which a run of `agent` was started last, as a Python server keeps it.
    fn switched() -> World {
        World {
            info: json!({"langgraph_py_version": "1", "version": "0.16.7"}),
            thread: json!({"thread_id": THREAD, "status": "idle", "interrupts": {}, "metadata": {"graph_id": "agent", "assistant_id": OTHER}}),
            runs: vec![run("r2", OTHER, 20), run("r1", OWN, 10)],
            history: vec![
                checkpoint("c3", Some(OTHER), Some("agent"), Some("r2"), &[]),
                checkpoint("c2", Some(OWN), Some("approval"), Some("r1"), &[]),
                checkpoint("c1", Some(OWN), Some("approval"), Some("r1"), &[]),
            ],
            graphs: [Some("approval"), Some("agent")],
        }
    }

    fn stuck() -> World {
        World {
            thread: json!({"thread_id": THREAD, "status": "busy", "interrupts": {}, "metadata": {"graph_id": "agent", "assistant_id": OTHER}}),
            ..World::switched()
        }
    }
}

async fn serve(world: &Arc<Mutex<World>>) -> Server {
    let world = world.clone();
    Server::start(move |seen| {
        let mut world = world.lock().unwrap();
        let parts: Vec<&str> = seen.path.trim_matches('/').split('/').collect();
        match (seen.method.as_str(), parts.as_slice()) {
            ("GET", ["info"]) => respond(200, &world.info),
            ("GET", ["assistants", id]) => match world.graphs[usize::from(*id == OTHER)] {
                Some(graph) => respond(200, json!({"graph_id": graph})),
                None => respond(404, r#"{"detail":"not found"}"#),
            },
            ("GET", ["threads", THREAD]) => respond(200, &world.thread),
            ("GET", ["threads", THREAD, "state"]) => respond(200, &world.history[0]),
            ("GET", ["threads", THREAD, "history"]) => respond(200, json!(world.history)),
            ("GET", ["threads", THREAD, "runs"]) => respond(200, json!(world.runs)),
            ("POST", ["threads", THREAD, "state"]) => {
                world.thread["status"] = json!("idle");
                respond(200, json!({"checkpoint": {"checkpoint_id": "c4"}}))
            }
            ("POST", ["threads", THREAD, "runs"]) => respond(200, json!({"run_id": "r3"})),
            _ => respond(404, r#"{"detail":"Not Found"}"#),
        }
    })
    .await
}

fn shared(world: World) -> Arc<Mutex<World>> {
    Arc::new(Mutex::new(world))
}

/// Returns the bodies of the write requests.
fn sent(server: &Server) -> Vec<Value> {
    server
        .seen()
        .iter()
        .filter(|seen| seen.method == "POST")
        .map(|seen| seen.json())
        .collect()
}

async fn unplanned(world: World, intent: &ThreadIntent) -> String {
    let server = serve(&shared(world)).await;
    match server.agent().plan_on_thread(intent).await.map(|_| ()) {
        Err(PlanError::Unfit(why) | PlanError::Nothing(why)) => why,
        other => panic!("{other:?}"),
    }
}

fn restore() -> ThreadIntent {
    ThreadIntent::RestoreAssistant {
        thread: THREAD.into(),
    }
}

#[tokio::test]
async fn the_earlier_assistant_runs_from_its_newest_checkpoint() {
    let aegra = |mut world: World| {
        world.history.iter_mut().for_each(|state| {
            let metadata = state["metadata"].as_object_mut().unwrap();
            metadata.retain(|key, _| !matches!(key.as_str(), "assistant_id" | "graph_id"));
        });
        world
    };
    // Where the checkpoints name no assistant, their runs do.
    for world in [World::switched(), aegra(World::switched())] {
        let server = serve(&shared(world)).await;
        let plan = server.agent().plan_on_thread(&restore()).await.unwrap();
        let body = plan.preview.request.body.clone().unwrap();
        assert_eq!(
            (
                &body["assistant_id"],
                &body["checkpoint_id"],
                &body["input"]
            ),
            (&json!(OWN), &json!("c2"), &Value::Null)
        );
        assert_eq!(
            body["context"],
            json!({"model": OWN}),
            "the options of the assistant's own run"
        );
        let notes: Vec<&str> = plan
            .preview
            .notes
            .iter()
            .map(|note| note.text.as_str())
            .collect();
        let notes = notes.join("\n");
        for says in [
            "(graph agent)",
            "(graph approval)",
            "newest checkpoint (step 1, c2)",
            "1 newer checkpoint",
        ] {
            assert!(notes.contains(says), "{says}: {notes}");
        }
        assert!(sent(&server).is_empty());
        assert!(matches!(plan.apply().await, Ok(Acted::Started(run)) if run.run_id == "r3"));
        assert_eq!(sent(&server).len(), 1);
    }
}

#[tokio::test]
async fn only_a_thread_with_two_graphs_is_restored() {
    let world = World::switched;
    let same = World {
        graphs: [Some("agent"), Some("agent")],
        ..world()
    };
    assert!(
        unplanned(same, &restore())
            .await
            .contains("both run the same graph")
    );
    let one = World {
        runs: vec![run("r2", OTHER, 20)],
        ..world()
    };
    assert!(
        unplanned(one, &restore())
            .await
            .contains("used the same assistant")
    );
    let unnamed = World {
        thread: json!({"thread_id": THREAD, "status": "idle", "metadata": {}}),
        ..world()
    };
    assert!(
        unplanned(unnamed, &restore())
            .await
            .contains("names no assistant")
    );
    let deleted = World {
        graphs: [None, Some("agent")],
        ..world()
    };
    assert!(
        unplanned(deleted, &restore())
            .await
            .contains(&format!("assistant {OWN} was deleted"))
    );
    let lost = World {
        history: vec![checkpoint(
            "c3",
            Some(OTHER),
            Some("agent"),
            Some("r2"),
            &[],
        )],
        ..world()
    };
    assert!(
        unplanned(lost, &restore())
            .await
            .contains("None of the newest 1 checkpoints")
    );
    let aegra = World {
        info: json!({"name": "Aegra"}),
        ..world()
    };
    assert!(
        unplanned(aegra, &restore())
            .await
            .contains("starts no run without an input")
    );
}

#[tokio::test]
async fn a_stuck_thread_is_released_unless_a_run_is_active_by_then() {
    let release = ThreadIntent::Release {
        thread: THREAD.into(),
    };
    let world = shared(World::stuck());
    let server = serve(&world).await;
    let plan = server.agent().plan_on_thread(&release).await.unwrap();
    assert_eq!(plan.preview.request.body, Some(json!({"values": null})));
    // A run started after the preview.
    world.lock().unwrap().runs[0]["status"] = json!("running");
    let failed = plan.apply().await.unwrap_err();
    assert_eq!(failed.failure, StartFailure::Changed);
    assert!(sent(&server).is_empty());
    world.lock().unwrap().runs[0]["status"] = json!("success");
    let Ok(Acted::Written(written)) = plan.apply().await else {
        panic!()
    };
    assert_eq!(
        (written.kind, written.status.as_deref()),
        (WriteKind::Release, Some("idle"))
    );
    assert_eq!(sent(&server), [json!({"values": null})]);
    assert!(
        unplanned(World::switched(), &release)
            .await
            .contains("nothing to release")
    );
    for (info, says) in [
        (
            json!({"langgraph_js_version": "1"}),
            "A JavaScript server keeps the thread's status when its state is updated",
        ),
        (
            json!({"name": "Aegra"}),
            "ignores a state update without values, so Runtail can't release a thread here",
        ),
    ] {
        assert!(
            unplanned(
                World {
                    info,
                    ..World::stuck()
                },
                &release
            )
            .await
            .contains(says)
        );
    }
}

#[tokio::test]
async fn a_thread_is_ended_only_where_a_node_is_left() {
    let end = ThreadIntent::End {
        thread: THREAD.into(),
    };
    assert!(
        unplanned(World::switched(), &end)
            .await
            .contains("No node is left to run")
    );
    let left = || {
        let mut world = World::switched();
        world.history[0]["next"] = json!(["act"]);
        world.thread["status"] = json!("interrupted");
        world
    };
    let world = shared(left());
    let server = serve(&world).await;
    let plan = server.agent().plan_on_thread(&end).await.unwrap();
    assert_eq!(
        plan.preview.request.body,
        Some(json!({"values": null, "as_node": "__end__"}))
    );
    assert!(
        plan.preview.notes[0].text.contains("act is dropped"),
        "{:?}",
        plan.preview.notes
    );
    // Someone went on meanwhile.
    world.lock().unwrap().history[0]["checkpoint"]["checkpoint_id"] = json!("c5");
    assert_eq!(
        plan.apply().await.unwrap_err().failure,
        StartFailure::Changed
    );
    assert!(sent(&server).is_empty());
    assert!(
        unplanned(
            World {
                info: json!({"name": "Aegra"}),
                ..left()
            },
            &end
        )
        .await
        .contains("can't end a thread")
    );
}
