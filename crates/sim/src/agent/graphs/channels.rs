//! The channels of the graphs' states: their initial values, what they accept, and how updates change them.

use crate::agent::prelude::*;

impl Graph {
    /// The names of its channels. Servers ignore other keys of inputs and updates without a word.
    pub fn channels(self) -> &'static [&'static str] {
        use Graph::*;
        match self {
            Agent | Hitl => &["messages"],
            Support => &[
                "messages", "customer", "priority", "budget", "tags", "origin",
            ],
            Research | Critic | Sources => &["messages", "notes", "topic", "queries", "report"],
            Approval => &["log", "amount", "to", "draft", "decision"],
            Broken => &["log", "message", "error"],
            Slow => &["log", "seconds", "hold"],
            Firehose => &[
                "messages",
                "n",
                "size",
                "tokens",
                "per_ms",
                "hold",
                "hold_after",
                "done",
            ],
            Two => &["answers", "left", "right"],
            Clarify => &["messages", "orders", "order"],
            Schema => &["log", "question", "review"],
            Release => &["log", "seconds", "version"],
            Counter => &["log", "n", "pace_ms"],
            Failing => &["log", "n"],
            Crawl => &["log", "page", "pages", "seconds", "current", "indexed"],
            Sync => &["log", "source", "timeout"],
            Mailer => &["log", "answers", "to", "subject", "body", "text"],
        }
    }

    /// The state before any input.
    pub fn initial(self) -> Object {
        use Graph::*;
        object_of(&match self {
            Agent | Support | Firehose | Clarify | Hitl => {
                json!({"messages": []})
            }
            Research | Critic | Sources => {
                json!({"notes": [], "messages": []})
            }
            Two => json!({"answers": []}),
            Mailer => json!({"log": [], "answers": []}),
            Schema => json!({}),
            _ => json!({"log": []}),
        })
    }

    /// Merges a node's result or an input into a state: lists of the graph grow, everything else is replaced.
    pub fn merge(self, state: &mut Object, update: &Value) {
        let known = fields_of(update).filter(|(key, _)| self.channels().contains(&key.as_str()));
        for (key, value) in known {
            let added = match value {
                Value::Array(added) => added.as_slice(),
                one if key == "messages" => std::slice::from_ref(one),
                _ => &[],
            };
            let grows = self.initial().get(key).is_some_and(Value::is_array);
            let kept = state.entry(key.clone()).or_insert_with(|| json!([]));
            match kept
                .as_array_mut()
                .filter(|_| grows && (value.is_array() || key == "messages"))
            {
                Some(list) if key == "messages" => {
                    added.iter().for_each(|one| message::add(list, one))
                }
                Some(list) => list.extend_from_slice(added),
                None => *kept = value.clone(),
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
