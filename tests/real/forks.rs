//! Forks, edits, reruns and repairs of threads against all real servers, with the servers' own records before and after.
//!
//! Ignored without them: `tests/real/serve -- cargo test --test real forks -- --ignored`.

use crate::servers::Real;
use runtail_api::{Acted, ServerKind, ThreadIntent};
use runtail_testkit::server;
use runtail_testkit::server::text;
use serde_json::{Value, json};

impl Real {
    /// Returns a thread on which `approval` asks.
    async fn asking(&self) -> String {
        let thread = self
            .agent
            .create_thread(&json!({}))
            .await
            .unwrap()
            .thread_id;
        self.runtail(format!(
            r#"run approval --thread {thread} --input '{{"amount": 5}}'"#
        ))
        .expect(0);
        thread
    }

    async fn history(&self, thread: &str) -> Vec<Value> {
        self.agent
            .thread_history(thread, 50, None)
            .await
            .unwrap()
            .items
    }

    /// Prints the server's own records.
    async fn show(&self, when: &str, thread: &str) {
        let (record, state) = (
            self.agent.thread(thread).await.unwrap(),
            self.state(thread).await,
        );
        let keys: Vec<&String> = state["values"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, _)| key)
            .collect();
        let checkpoints = self.history(thread).await.len();
        let (status, graph) = (&record.status, record.graph().unwrap_or_default());
        println!(
            "{:?} {when}: {status}, graph {graph}, next {}, keys {keys:?}, {checkpoints} checkpoints",
            self.kind, state["next"]
        );
    }

    async fn state(&self, thread: &str) -> Value {
        self.agent.thread_state(thread).await.unwrap()
    }

    /// Returns the name of the node before the question, and the checkpoint at which it is next.
    async fn first(&self, thread: &str) -> (&'static str, String) {
        let node = if self.kind == ServerKind::JavaScript {
            "prepare"
        } else {
            "draft"
        };
        let states = self.history(thread).await;
        let state = states
            .iter()
            .find(|state| state["next"] == json!([node]))
            .expect("a checkpoint");
        (node, id(state))
    }
}

fn id(state: &Value) -> String {
    text(&state["checkpoint"], "checkpoint_id")
}

fn children(states: &[Value], parent: &str) -> usize {
    states
        .iter()
        .filter(|state| state["parent_checkpoint"]["checkpoint_id"] == parent)
        .count()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real forks -- --ignored"]
async fn a_state_is_edited_with_and_without_a_run() {
    for real in Real::all().await {
        let kind = real.kind;
        let thread = real.asking().await;
        let (node, checkpoint) = real.first(&thread).await;
        let before = real.state(&thread).await;
        let row = real
            .runtail(format!(
                r#"state set {thread} --values '{{"draft": "edited"}}'"#
            ))
            .expect(0)
            .json();
        let state = real.state(&thread).await;
        assert_eq!(
            (&state["values"]["draft"], &state["next"]),
            (&json!("edited"), &json!(["ask"])),
            "{kind:?}"
        );
        assert_eq!(state["metadata"]["source"], "update", "{kind:?}");
        assert_eq!(
            (
                row["checkpoint_id"].as_str(),
                &state["parent_checkpoint"]["checkpoint_id"]
            ),
            (Some(id(&state).as_str()), &json!(id(&before))),
            "{kind:?}"
        );
        for (wrong, says) in [
            (
                ["--values", r#"{"nokey": 1}"#, "--as-node", node],
                "the state has no key nokey",
            ),
            (
                ["--values", r#"{"draft": "x"}"#, "--as-node", "nonode"],
                "the graph has no node nonode",
            ),
            (
                [
                    "--values",
                    r#"{"draft": "x"}"#,
                    "--checkpoint",
                    "1f1e0000-0000-6000-8000-000000000000",
                ],
                "has no checkpoint",
            ),
        ] {
            let done = real.runtail(&[&["state", "set", &thread], wrong.as_slice()].concat());
            done.says(says);
            assert!(done.code != Some(0), "{}", done.stderr);
        }
        let edit = format!(
            r#"fork {thread} --checkpoint {checkpoint} --update '{{"draft": "other"}}' --as-node {node}"#
        );
        let row = real.runtail(format!("{edit} --wait")).expect(0).json();
        assert_eq!(row["outcome"], "interrupted", "{kind:?}: {row}");
        let states = real.history(&thread).await;
        let edited = states
            .iter()
            .find(|state| id(state) == row["checkpoint_id"])
            .expect("the new checkpoint");
        assert_eq!(
            (&edited["values"]["draft"], &edited["metadata"]["source"]),
            (&json!("other"), &json!("update")),
            "{kind:?}"
        );
        assert_eq!(
            edited["parent_checkpoint"]["checkpoint_id"],
            json!(checkpoint),
            "{kind:?}"
        );
        assert_eq!(
            real.state(&thread).await["values"]["log"],
            json!([]),
            "{kind:?}: {node} did not run again"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real forks -- --ignored"]
async fn a_thread_whose_running_run_was_deleted_is_released() {
    for real in Real::all().await {
        let kind = real.kind;
        if kind == ServerKind::Aegra {
            // It refuses to delete an active run.
            continue;
        }
        let thread = real
            .agent
            .create_thread(&json!({}))
            .await
            .unwrap()
            .thread_id;
        let address = real.url.trim_start_matches("http://");
        let body = json!({"assistant_id": "slow", "input": {"steps": 120, "seconds": 1}});
        let (_, run) = server::request_at(
            address,
            "POST",
            &format!("/threads/{thread}/runs"),
            Some(&body),
        );
        let run = server::text(&run, "run_id");
        real.running(&thread, &run).await;
        real.agent.delete_run(&thread, &run).await.unwrap();
        assert_eq!(
            real.agent.thread(&thread).await.unwrap().status,
            "busy",
            "{kind:?}"
        );
        let plan = real
            .agent
            .plan_on_thread(&ThreadIntent::Release {
                thread: thread.clone(),
            })
            .await;
        match plan {
            Ok(plan) => {
                // The deleted run may write a checkpoint in between.
                let done = plan.apply().await;
                assert!(matches!(done, Ok(Acted::Written(_))), "{kind:?}: {done:?}");
                real.show("released", &thread).await;
                assert_ne!(
                    real.agent.thread(&thread).await.unwrap().status,
                    "busy",
                    "{kind:?}"
                );
            }
            Err(why) => {
                assert!(
                    kind == ServerKind::JavaScript && why.to_string().contains("A new run does."),
                    "{why}"
                );
                assert_eq!(real.agent.thread(&thread).await.unwrap().status, "busy");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real forks -- --ignored"]
async fn the_earlier_assistant_is_restored_after_a_run_of_another_graph() {
    for real in Real::all().await {
        let kind = real.kind;
        let thread = real.asking().await;
        let asking = real.state(&thread).await;
        real.show("asks", &thread).await;
        let input = r#"{"messages": [{"role": "user", "content": "hello"}]}"#;
        real.runtail(format!("run agent --thread {thread} --input '{input}'"))
            .expect(0);
        let hidden = real.state(&thread).await;
        real.show("after a run of agent", &thread).await;
        assert!(
            hidden["next"] == json!([]) && hidden["values"].get("draft").is_none(),
            "{kind:?}: {hidden}"
        );
        let graph = real
            .agent
            .thread(&thread)
            .await
            .unwrap()
            .graph()
            .map(str::to_string);
        assert_eq!(graph.as_deref(), Some("agent"), "{kind:?}");
        let intent = ThreadIntent::RestoreAssistant {
            thread: thread.clone(),
        };
        let plan = real.agent.plan_on_thread(&intent).await.unwrap();
        let body = plan.preview.request.body.clone().unwrap();
        let place = if kind.is_aegra() {
            &body["checkpoint"]["checkpoint_id"]
        } else {
            &body["checkpoint_id"]
        };
        assert_eq!(
            place,
            &json!(id(&asking)),
            "{kind:?}: {:?}",
            plan.preview.notes
        );
        let Ok(Acted::Started(started)) = plan.apply().await else {
            panic!("{kind:?}")
        };
        real.runtail(&["join", &thread, &started.run_id]);
        real.show("restored", &thread).await;
        let restored = real.state(&thread).await;
        assert_eq!(
            (&restored["values"]["draft"], &restored["next"]),
            (&json!("send 5 EUR"), &json!(["ask"])),
            "{kind:?}"
        );
        let loaded = real.agent.load_thread(&thread).await.unwrap();
        assert_eq!(
            loaded.answerable().len(),
            1,
            "{kind:?}: the question is open again"
        );
    }
}

/// A JavaScript server begins each run at the checkpoint of the last fork if the run names none: a rejection would be carried out
/// as the earlier approval.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real forks -- --ignored"]
async fn a_question_is_answered_in_two_ways() {
    for real in Real::all()
        .await
        .into_iter()
        .filter(|real| real.kind != ServerKind::Aegra)
    {
        let kind = real.kind;
        let thread = real.asking().await;
        let asking = id(&real.state(&thread).await);
        for (answer, decision) in [
            ("--approve", true),
            ("--reject", false),
            ("--approve", true),
        ] {
            real.runtail(format!("answer {thread} '{answer}' --wait"))
                .expect(0);
            assert_eq!(
                real.state(&thread).await["values"]["decision"],
                decision,
                "{kind:?} {answer}"
            );
            let row = real
                .runtail(format!("fork {thread} --checkpoint {asking} --wait"))
                .expect(0)
                .json();
            assert_eq!(row["outcome"], "interrupted", "{kind:?}: {row}");
        }
        // An input of its own begins at the newest state, too.
        real.runtail(format!("answer {thread} --reject --wait"))
            .expect(0);
        let newest = id(&real.state(&thread).await);
        real.runtail(format!(
            r#"run approval --thread {thread} --input '{{"amount": 9}}'"#
        ))
        .expect(0);
        assert_eq!(
            children(&real.history(&thread).await, &newest),
            1,
            "{kind:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real forks -- --ignored"]
async fn a_waiting_subgraph_has_its_state_at_its_task() {
    for real in Real::all().await {
        let kind = real.kind;
        if kind != ServerKind::Python {
            // Without a graph whose subgraph asks, the state must be the same as without subgraphs.
            let thread = real.asking().await;
            let newest = id(&real.state(&thread).await);
            let nested = real
                .agent
                .nested_state(&thread, &newest, 1 << 20)
                .await
                .unwrap();
            let plain = real
                .agent
                .checkpoint_state_raw(&thread, &newest, 1 << 20)
                .await
                .unwrap();
            let [nested_values, plain_values] = [&nested.state, &plain]
                .map(|raw| serde_json::from_str::<Value>(raw.get()).unwrap()["values"].clone());
            println!("{kind:?}: {:?}", nested.missing);
            assert_eq!(nested_values, plain_values, "{kind:?}");
            real.agent.delete_thread(&thread).await.unwrap();
            continue;
        }
        let thread = real
            .agent
            .create_thread(&json!({}))
            .await
            .unwrap()
            .thread_id;
        real.runtail(format!("run several --thread {thread} --input {{}}"))
            .expect(0);
        let newest = id(&real.state(&thread).await);
        let nested = real
            .agent
            .nested_state(&thread, &newest, 1 << 20)
            .await
            .unwrap();
        assert!(nested.missing.is_empty(), "{:?}", nested.missing);
        let state: Value = serde_json::from_str(nested.state.get()).unwrap();
        let tasks = state["tasks"].as_array().unwrap();
        let inside = tasks
            .iter()
            .find(|task| task["name"] == "inside")
            .expect("the subgraph");
        assert_eq!(inside["state"]["next"], json!(["ask_inside"]), "{inside}");
        real.agent.delete_thread(&thread).await.unwrap();
    }
}
