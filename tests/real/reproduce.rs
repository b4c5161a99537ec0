//! `reproduce` and `bisect` against all real servers: copies by supersteps between them, and values whose first wrong step is
//! known.
//!
//! Ignored without them: `tests/real/serve -- cargo test --test real reproduce -- --ignored`.

use crate::servers::Real;
use runtail_api::ServerKind;
use runtail_core::model::same_message;
use runtail_testkit::proxy::Proxy;
use serde_json::{Value, json};

impl Real {
    /// Returns a thread on which a graph ran with these inputs.
    async fn ran(&self, graph: &str, inputs: &[Value]) -> String {
        let thread = self
            .agent
            .create_thread(&json!({}))
            .await
            .unwrap()
            .thread_id;
        for input in inputs {
            let input = input.to_string();
            self.runtail(&["run", graph, "--thread", &thread, "--input", &input])
                .expect(0);
        }
        thread
    }

    /// Returns the values and next nodes of a thread's states, oldest first.
    async fn states(&self, thread: &str) -> Vec<(Value, Value)> {
        let mut states = self
            .agent
            .thread_history(thread, 100, None)
            .await
            .unwrap()
            .items;
        states.reverse();
        states
            .into_iter()
            .map(|state| (state["values"].clone(), state["next"].clone()))
            .collect()
    }

    fn copies_histories(&self) -> bool {
        self.kind != ServerKind::Aegra
    }
}

/// Returns the names of the values that differ.
fn different(a: &Value, b: &Value) -> Vec<String> {
    let (a, b) = (a.as_object().unwrap(), b.as_object().unwrap());
    let keys = a.keys().chain(b.keys());
    keys.filter(|key| !same_message(&a[*key], &b[*key]))
        .cloned()
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real reproduce -- --ignored"]
async fn a_history_is_copied_between_servers_state_by_state() {
    let hello = json!({"messages": [{"type": "human", "content": "weather?"}]});
    let all = Real::all().await;
    for source in &all {
        // Two runs of a chat with tools; tasks that were sent; two questions at once; a node that failed.
        for (graph, inputs) in [
            ("agent", vec![hello.clone(), hello.clone()]),
            ("ask", vec![json!({"asks": [1, "b"]})]),
            ("two", vec![json!({})]),
        ] {
            let thread = source.ran(graph, &inputs).await;
            let original = source.states(&thread).await;
            for target in all.iter().filter(|target| target.copies_histories()) {
                let case = format!("{graph}: {:?} to {:?}", source.kind, target.kind);
                let before = source.agent.thread_row(&thread).await.unwrap();
                let row = source
                    .runtail(&["reproduce", &thread, "--to", &target.url])
                    .expect(0)
                    .json();
                assert_eq!(
                    (&row["same"], &row["states"]),
                    (&json!(true), &json!(original.len())),
                    "{case}: {row}"
                );
                let copy = row["thread_id"].as_str().expect("an id");
                let copied = target.states(copy).await;
                assert_eq!(copied.len(), original.len(), "{case}");
                for ((values, next), (own, own_next)) in original.iter().zip(&copied) {
                    assert_eq!(
                        (different(values, own), next),
                        (Vec::new(), own_next),
                        "{case}"
                    );
                }
                assert_eq!(
                    source.agent.thread_row(&thread).await.unwrap(),
                    before,
                    "{case}: the original is unchanged"
                );
                // It can be run on: the questions are asked again.
                if graph == "two" {
                    let continued = target.runtail(&["fork", copy, "--wait"]).expect(0).json();
                    assert_eq!(continued["outcome"], "interrupted", "{case}: {continued}");
                }
                target.delete(copy).await;
            }
            source.delete(&thread).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real reproduce -- --ignored"]
async fn an_edited_and_answered_thread_is_copied_with_its_edits() {
    for real in Real::all()
        .await
        .iter()
        .filter(|real| real.copies_histories())
    {
        let thread = real.ran("approval", &[json!({"amount": 1300})]).await;
        real.runtail(&[
            "state",
            "set",
            &thread,
            "--values",
            r#"{"amount": 130, "log": ["by hand"]}"#,
        ])
        .expect(0);
        // An edit drops the question; it is asked again and answered.
        real.runtail(&["fork", &thread, "--wait"]).expect(0);
        real.runtail(&[
            "answer",
            &thread,
            "--json",
            r#"{"approved": true}"#,
            "--wait",
        ])
        .expect(0);
        let row = real
            .runtail(&["reproduce", &thread, "--to", &real.url])
            .expect(0);
        assert!(
            row.stderr
                .contains("The history doesn't say what was written in step 2"),
            "{}",
            row.stderr
        );
        let row = row.json();
        assert_eq!(row["same"], true, "{:?}: {row}", real.kind);
        let copy = row["thread_id"].as_str().expect("an id");
        let state = real.agent.thread_state(copy).await.unwrap();
        assert_eq!(
            state["values"]["log"],
            json!(["drafted", "by hand", "asked", "sent"]),
            "{:?}",
            real.kind
        );
        assert_eq!(
            (&state["values"]["amount"], &state["next"]),
            (&json!(130), &json!([])),
            "{:?}",
            real.kind
        );
        // A copy can be copied, although all its checkpoints count as edits.
        let again = real
            .runtail(&["reproduce", copy, "--to", &real.url])
            .expect(0)
            .json();
        assert_eq!(again["same"], true, "{:?}: {again}", real.kind);
        for made in [&thread, copy, again["thread_id"].as_str().expect("an id")] {
            real.delete(made).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real reproduce -- --ignored"]
async fn only_the_state_is_copied_to_a_server_without_supersteps() {
    let all = Real::all().await;
    let source = all
        .iter()
        .find(|real| real.kind == ServerKind::Python)
        .expect("the Python server");
    let thread = source.ran("approval", &[json!({"amount": 7})]).await;
    let state = source.agent.thread_state(&thread).await.unwrap();
    for target in all
        .iter()
        .filter(|target| target.kind != ServerKind::JavaScript)
    {
        if target.kind == ServerKind::Aegra {
            let address = target.url.trim_start_matches("http://");
            let link = Proxy::to(address.trim_end_matches('/').into(), []);
            let refused = source
                .runtail(&["reproduce", &thread, "--to", &link.url()])
                .expect(1);
            let says = format!(
                "The target {} doesn't create threads with supersteps",
                link.url()
            );
            assert!(
                refused.stderr.contains(&says) && refused.stderr.contains("--state"),
                "{}",
                refused.stderr
            );
            let requests = link.requests();
            assert!(
                !requests
                    .iter()
                    .any(|line| line.starts_with("POST /threads ")),
                "no thread is created: {requests:?}"
            );
        }
        let row = source
            .runtail(&["reproduce", &thread, "--to", &target.url, "--state"])
            .expect(0)
            .json();
        assert_eq!(
            (&row["same"], &row["states"]),
            (&json!(true), &json!(1)),
            "{:?}: {row}",
            target.kind
        );
        let copy = row["thread_id"].as_str().expect("an id");
        let copied = target.agent.thread_state(copy).await.unwrap();
        assert_eq!(
            (&copied["values"], &copied["next"]),
            (&state["values"], &json!(["ask"])),
            "{:?}",
            target.kind
        );
        assert_eq!(
            target
                .agent
                .thread_history(copy, 10, None)
                .await
                .unwrap()
                .items
                .len(),
            1,
            "{:?}",
            target.kind
        );
        target.delete(copy).await;
    }
    source.delete(&thread).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real reproduce -- --ignored"]
async fn graphs_and_nodes_that_the_target_lacks_are_named() {
    let all = Real::all().await;
    let find = |kind: ServerKind| all.iter().find(|real| real.kind == kind).expect("a server");
    let (python, javascript) = (find(ServerKind::Python), find(ServerKind::JavaScript));
    // Their graphs `approval` have another first node.
    let thread = python.ran("approval", &[json!({"amount": 7})]).await;
    let refused = python
        .runtail(&["reproduce", &thread, "--to", &javascript.url])
        .expect(1);
    assert!(
        refused
            .stderr
            .contains("The graph of the target has no node draft"),
        "{}",
        refused.stderr
    );
    let refused = python
        .runtail(&[
            "reproduce",
            &thread,
            "--to",
            &javascript.url,
            "--graph",
            "nothing",
        ])
        .expect(1);
    assert!(
        refused
            .stderr
            .contains("has no graph nothing; it has agent, approval,"),
        "{}",
        refused.stderr
    );
    let refused = python
        .runtail(&["reproduce", &thread, "--to", &javascript.url, "--read-only"])
        .expect(3);
    assert!(
        refused.stderr.contains("nothing was changed"),
        "{}",
        refused.stderr
    );
    python.delete(&thread).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real reproduce -- --ignored"]
async fn the_step_that_made_a_value_wrong_is_found() {
    for real in Real::all().await {
        let kind = real.kind;
        let thread = real.ran("approval", &[json!({"amount": 1300})]).await;
        real.runtail(&["state", "set", &thread, "--values", r#"{"amount": 130}"#])
            .expect(0);
        let bisect = |path: &str, expected: &str| {
            real.runtail(&["bisect", &thread, path, expected])
                .expect(0)
                .json()
        };
        let found = bisect("amount", "1300");
        assert_eq!(found["result"], "became_wrong", "{kind:?}: {found}");
        let newest = real.agent.thread_state(&thread).await.unwrap();
        assert_eq!(
            found["wrong"]["checkpoint_id"], newest["checkpoint"]["checkpoint_id"],
            "{kind:?}"
        );
        assert_eq!(
            (&found["wrong"]["step"], &found["wrong"]["nodes"]),
            (&json!(2), &json!(["edit"])),
            "{kind:?}"
        );
        assert_eq!(
            (&found["before"]["value"], &found["wrong"]["value"]),
            (&json!(1300), &json!(130)),
            "{kind:?}"
        );
        // A node wrote the log, in the run.
        let first = if kind == ServerKind::JavaScript {
            "prepare"
        } else {
            "draft"
        };
        let found = bisect("log", "[]");
        assert_eq!(
            (&found["wrong"]["step"], &found["wrong"]["nodes"]),
            (&json!(1), &json!([first])),
            "{kind:?}: {found}"
        );
        let run = real
            .agent
            .runs(&thread, 1)
            .await
            .unwrap()
            .items
            .remove(0)
            .run_id;
        assert_eq!(found["wrong"]["run_id"], run.as_str(), "{kind:?}");
        assert_eq!(bisect("amount", "9")["result"], "never_right", "{kind:?}");
        assert_eq!(
            bisect("draft", "!=nothing")["result"],
            "never_wrong",
            "{kind:?}"
        );
        real.delete(&thread).await;
    }
}
