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
