//! The channels of the graphs' states: their initial values, what they accept, and how updates change them.

use super::Graph;
use crate::agent::message;
use crate::values::Object;
use serde_json::{Value, json};

impl Graph {
    /// The names of its channels. Servers ignore other keys of inputs and updates without a word.
    pub fn channels(self) -> &'static [&'static str] {
        match self {
            Graph::Agent | Graph::Hitl => &["messages"],
            Graph::Support => &[
                "messages", "customer", "priority", "budget", "tags", "origin",
            ],
            Graph::Research | Graph::Critic | Graph::Sources => {
                &["messages", "notes", "topic", "queries", "report"]
            }
            Graph::Approval => &["log", "amount", "to", "draft", "decision"],
            Graph::Broken => &["log", "message", "error"],
            Graph::Slow => &["log", "seconds", "hold"],
            Graph::Firehose => &[
                "messages",
                "n",
                "size",
                "tokens",
                "per_ms",
                "hold",
                "hold_after",
                "done",
            ],
            Graph::Two => &["answers", "left", "right"],
            Graph::Clarify => &["messages", "orders", "order"],
            Graph::Schema => &["log", "question", "review"],
            Graph::Release => &["log", "seconds", "version"],
            Graph::Counter => &["log", "n", "pace_ms"],
            Graph::Failing => &["log", "n"],
            Graph::Crawl => &["log", "page", "pages", "seconds", "current", "indexed"],
            Graph::Sync => &["log", "source", "timeout"],
            Graph::Mailer => &["log", "answers", "to", "subject", "body", "text"],
        }
    }

    /// The state before any input.
    pub fn initial(self) -> Object {
        let state = match self {
            Graph::Agent | Graph::Support | Graph::Firehose | Graph::Clarify | Graph::Hitl => {
                json!({"messages": []})
            }
            Graph::Research | Graph::Critic | Graph::Sources => {
                json!({"notes": [], "messages": []})
            }
            Graph::Two => json!({"answers": []}),
            Graph::Mailer => json!({"log": [], "answers": []}),
            Graph::Schema => json!({}),
            _ => json!({"log": []}),
        };
        match state {
            Value::Object(state) => state,
            _ => Object::new(),
        }
    }

    /// Merges a node's result or an input into a state: lists of the graph grow, everything else is replaced.
    pub fn merge(self, state: &mut Object, update: &Value) {
        let known = self.channels();
        for (key, value) in update
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| known.contains(&key.as_str()))
        {
            let grows = self.initial().get(key).is_some_and(Value::is_array);
            match (grows, value.as_array()) {
                (true, Some(added)) => {
                    let list = state.entry(key.clone()).or_insert_with(|| json!([]));
                    let Some(list) = list.as_array_mut() else {
                        continue;
                    };
                    for item in added {
                        if key == "messages" {
                            message::add(list, item)
                        } else {
                            list.push(item.clone())
                        }
                    }
                }
                (true, None) if key == "messages" => {
                    if let Some(list) = state
                        .entry(key.clone())
                        .or_insert_with(|| json!([]))
                        .as_array_mut()
                    {
                        message::add(list, value);
                    }
                }
                _ => {
                    state.insert(key.clone(), value.clone());
                }
            }
        }
    }

    /// Splits a saved state into what this graph reads and what only other graphs read. A thread on which several graphs ran has
    /// channels of all of them.
    pub fn split(self, saved: &Object) -> (Object, Object) {
        let (mut own, mut foreign) = (self.initial(), Object::new());
        for (key, value) in saved {
            let kept = if self.channels().contains(&key.as_str()) {
                &mut own
            } else {
                &mut foreign
            };
            kept.insert(key.clone(), value.clone());
        }
        (own, foreign)
    }

    /// Whether a saved task is one of this graph's. Tasks of other graphs do not run, and states do not show them.
    pub fn has(self, task: &str) -> bool {
        task == "__start__" || self.nodes().contains(&task)
    }
}
