//! The node in whose name a state is edited, and graphs that changed since a checkpoint was written.

use super::{capture, opened, serve};
use runtail_api::{Choice, ForkChange, Plan, PlanError, StateEdit, ThreadIntent, Writer};
use runtail_testkit::common::{Server, json as respond};
use runtail_testkit::dash::{Dash, thread_plan};
use runtail_testkit::says::Says;
use runtail_tui::session::msg::{Effect, EffectResult, Msg};
use serde_json::{Value, json};

const THREAD: &str = "01a1fbb5-0000-7000-8000-000000000001";

fn writer(node: &str, then: &str) -> Writer {
    Writer {
        node: node.into(),
        then: then.into(),
    }
}

/// Serves a thread with two checkpoints, `end` (no node is next) and `mid` (these are next).
async fn serving(next: &'static [&'static str], has_graph: bool) -> Server {
    Server::start(move |seen| {
        let parts: Vec<&str> = seen.path.trim_matches('/').split('/').collect();
        let state = |id: &str, next: &[&str]| {
            json!({"values": {"n": 1}, "next": next, "tasks": [], "created_at": "2026-11-22T03:00:00Z",
                   "metadata": {"source": "loop", "step": 1, "run_id": "r1"}, "checkpoint": {"checkpoint_id": id}})
        };
        match (seen.method.as_str(), parts.as_slice()) {
            ("GET", ["info"]) => respond(200, r#"{"langgraph_py_version":"1","version":"0.16.7"}"#),
            ("GET", ["assistants", _, "graph"]) if has_graph => {
                let mut graph = json!({
                    "nodes": [{"id": "__start__"}, {"id": "plan"}, {"id": "act"}, {"id": "__end__"}],
                    "edges": [{"source": "__start__", "target": "plan"}, {"source": "plan", "target": "act"},
                              {"source": "act", "target": "plan", "conditional": true},
                              {"source": "act", "target": "__end__", "conditional": true}]});
                if next.contains(&"finish") {
                    graph["nodes"].as_array_mut().unwrap().push(json!({"id": "finish"}));
                    graph["edges"].as_array_mut().unwrap().push(json!({"source": "finish", "target": "__end__"}));
                }
                respond(200, graph)
            }
            ("GET", ["threads", THREAD]) => respond(
                200,
                json!({"thread_id": THREAD, "status": "idle", "metadata": {"graph_id": "g", "assistant_id": "g"}}),
            ),
            ("GET", ["threads", THREAD, "state"]) => respond(200, state("end", &[])),
            ("GET", ["threads", THREAD, "state", "end"]) => respond(200, state("end", &[])),
            ("GET", ["threads", THREAD, "state", "mid"]) => respond(200, state("mid", next)),
            ("GET", ["threads", THREAD, "state", _]) => {
                respond(200, json!({"values": {}, "next": [], "metadata": null, "created_at": null}))
            }
            ("GET", ["threads", THREAD, "history" | "runs"]) => respond(200, "[]"),
            _ => respond(404, r#"{"detail":"Not Found"}"#),
        }
    })
    .await
}

fn edit(checkpoint: &str, as_node: Option<&str>) -> StateEdit {
    StateEdit {
        checkpoint: Some(checkpoint.into()),
        values: json!({"n": 2}),
        as_node: as_node.map(str::to_string),
    }
}

fn fork(checkpoint: &str, change: ForkChange) -> ThreadIntent {
    ThreadIntent::Fork {
        thread: THREAD.into(),
        checkpoint: Some(checkpoint.into()),
        change,
    }
}

async fn plan(server: &Server, intent: ThreadIntent) -> Result<Plan, PlanError> {
    server.agent().plan_on_thread(&intent).await
}

fn notes(plan: &Plan) -> String {
    plan.preview
        .notes
        .iter()
        .map(|note| format!("{}\n", note.text))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_lists_the_nodes_in_whose_name_it_can_write() {
    let server = serving(&["act"], true).await;
    let nodes = vec![
        writer("plan", "Next: act"),
        writer("act", "Next is decided by a condition: plan, the end"),
        writer("__start__", "Next: plan"),
    ];
    for as_node in [None, Some("act")] {
        let wanted = Some(Choice::AsNode {
            node: as_node.map(str::to_string),
            nodes: nodes.clone(),
        });
        let edited = ThreadIntent::EditState {
            thread: THREAD.into(),
            edit: edit("end", as_node),
        };
        assert_eq!(plan(&server, edited).await.unwrap().choice, wanted);
        let forked = fork("mid", ForkChange::Edit(edit("mid", as_node)));
        assert_eq!(plan(&server, forked).await.unwrap().choice, wanted);
    }
    // Where no node is next, a node must be named.
    match plan(&server, fork("end", ForkChange::Edit(edit("end", None))))
        .await
        .map(|_| ())
    {
        Err(PlanError::NeedsNode(why, listed)) => {
            why.has("Name the node in whose name to edit");
            assert_eq!(listed, nodes);
        }
        other => panic!("{other:?}"),
    }
    // Only the end follows this node, so no run would follow the edit; without a run the edit is possible.
    let finished = serving(&["finish"], true).await;
    match plan(
        &finished,
        fork("mid", ForkChange::Edit(edit("mid", Some("finish")))),
    )
    .await
    .map(|_| ())
    {
        Err(PlanError::NeedsNode(why, _)) => {
            assert!(why.contains("only the end follows finish"), "{why}")
        }
        other => panic!("{other:?}"),
    }
    let edited = ThreadIntent::EditState {
        thread: THREAD.into(),
        edit: edit("mid", Some("finish")),
    };
    assert!(plan(&finished, edited).await.is_ok());
    // A server without drawings has none to choose from.
    let server = serving(&["act"], false).await;
    let edited = ThreadIntent::EditState {
        thread: THREAD.into(),
        edit: edit("end", None),
    };
    assert_eq!(plan(&server, edited).await.unwrap().choice, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_the_graph_no_longer_has_are_named() {
    let server = serving(&["review", "act"], true).await;
    let says = "The graph no longer lists the node review, which is next at this checkpoint";
    let again = plan(&server, fork("mid", ForkChange::Nothing))
        .await
        .unwrap();
    assert!(notes(&again).contains(says), "{}", notes(&again));
    let edited = plan(&server, fork("mid", ForkChange::Edit(edit("mid", None))))
        .await
        .unwrap();
    assert!(notes(&edited).contains(says), "{}", notes(&edited));
    for (next, has_graph) in [(&["act"], true), (&["act"], false)] {
        let server = serving(next, has_graph).await;
        let again = plan(&server, fork("mid", ForkChange::Nothing))
            .await
            .unwrap();
        notes(&again).lacks("no longer lists");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_that_is_gone_is_no_base() {
    let server = serving(&["act"], true).await;
    for intent in [
        fork("gone", ForkChange::Nothing),
        fork("gone", ForkChange::Edit(edit("gone", None))),
        ThreadIntent::EditState {
            thread: THREAD.into(),
            edit: edit("gone", None),
        },
    ] {
        match plan(&server, intent).await.map(|_| ()) {
            Err(PlanError::Unfit(why)) => assert!(why.contains("has no checkpoint gone."), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    assert!(server.seen().iter().all(|seen| seen.method == "GET"));
}

/// Returns the number of the planned action, and the node in whose name it edits.
fn planned(effects: &[Effect]) -> (u64, Option<String>) {
    let wanted = effects
        .iter()
        .find_map(thread_plan)
        .map(|(number, _, intent)| (number, intent));
    match wanted.unwrap_or_else(|| panic!("{effects:?}")) {
        (number, ThreadIntent::EditState { edit, .. })
        | (
            number,
            ThreadIntent::Fork {
                change: ForkChange::Edit(edit),
                ..
            },
        ) => (number, edit.as_node),
        other => panic!("{other:?}"),
    }
}

/// Edits the state under the cursor, and returns the effects of its preview.
fn preview(dash: &mut Dash, history: &[Value]) -> Vec<Effect> {
    dash.keys("u");
    serve(dash, history);
    let document = dash.document().replacen("\"in\"", "\"other\"", 1);
    dash.feed(Msg::Edited(Ok(document)));
    dash.keys("<F5>")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_of_an_edit_is_chosen_in_its_preview() {
    let server = serving(&["act"], true).await;
    let history = capture("fork-history");
    for size in [(140, 40), (80, 24)] {
        let mut dash = opened(size, &history);
        let (number, node) = planned(&preview(&mut dash, &history));
        assert_eq!(node, None);
        let answer = |as_node: Option<String>| {
            let intent = ThreadIntent::EditState {
                thread: THREAD.into(),
                edit: edit("end", as_node.as_deref()),
            };
            let server = &server;
            async move {
                let plan = plan(server, intent).await.unwrap();
                (Box::new(plan.preview), plan.choice)
            }
        };
        let mut reply = answer(None).await;
        // The address of the test server differs from run to run.
        reply.0.request.url = "http://127.0.0.1/threads/t/state".into();
        dash.done(EffectResult::Planned(number, Ok(reply)));
        let screen = dash.screen();
        insta::assert_snapshot!(format!("as_node_{}x{}", size.0, size.1), screen);
        let mut seen = Vec::new();
        for _ in 0..4 {
            let (number, node) = planned(&dash.keys("<ctrl-t>"));
            dash.done(EffectResult::Planned(
                number,
                Ok(answer(node.clone()).await),
            ));
            if let Some(node) = &node {
                dash.keys("<End>");
                dash.shows(&format!("● {node}"));
            }
            seen.push(node);
        }
        let names = ["plan", "act", "__start__"].map(|node| Some(node.to_string()));
        assert_eq!(seen, [names.as_slice(), &[None]].concat());
    }
    // A checkpoint without a next node needs one before there is a preview.
    let mut dash = opened((140, 40), &history);
    let (number, _) = planned(&preview(&mut dash, &history));
    let nodes = vec![writer("plan", "Next: act"), writer("act", "Next: the end")];
    let why = "The checkpoint is the end of its run.".to_string();
    dash.done(EffectResult::Planned(
        number,
        Err(PlanError::NeedsNode(why, nodes)),
    ));
    dash.shows(["ctrl-t choose node", "Next: act"]);
    assert_eq!(planned(&dash.keys("<ctrl-t>")).1.as_deref(), Some("plan"));
}
