//! `reproduce` and `bisect` against all real servers: copies by supersteps between them, and values whose first wrong step is
//! known.
//!
//! Ignored without them: `tests/real/serve -- cargo test --test real reproduce -- --ignored`.

use crate::servers::Real;
use runtail_api::ServerKind;
use runtail_core::model::same_message;
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
            self.runtail(format!("run '{graph}' --thread {thread} --input '{input}'"))
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
                    let continued = target
                        .runtail(format!("fork {copy} --wait"))
                        .expect(0)
                        .json();
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
        real.runtail(format!(
            r#"state set {thread} --values '{{"amount": 130, "log": ["by hand"]}}'"#
        ))
        .expect(0);
        // An edit drops the question; it is asked again and answered.
        real.runtail(format!("fork {thread} --wait")).expect(0);
        real.runtail(format!(
            r#"answer {thread} --json '{{"approved": true}}' --wait"#
        ))
        .expect(0);
        let row = real
            .runtail(&["reproduce", &thread, "--to", &real.url])
            .expect(0);
        row.says("The history doesn't say what was written in step 2");
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
            let before = target
                .agent
                .thread_rows(&Default::default())
                .await
                .unwrap()
                .items
                .len();
            let refused = source
                .runtail(&["reproduce", &thread, "--to", &target.url])
                .expect(1);
            let says = format!(
                "The target {} doesn't create threads with supersteps",
                target.url.trim_end_matches('/')
            );
            refused.says(&says).says("--state");
            assert_eq!(
                target
                    .agent
                    .thread_rows(&Default::default())
                    .await
                    .unwrap()
                    .items
                    .len(),
                before
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
