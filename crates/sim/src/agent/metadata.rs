//! The metadata that servers add to tasks, messages and checkpoints.

use super::emit::{Output, Position};
use super::graphs::Graph;
use super::state::Object;
use crate::Dialect;
use crate::ids::uuid4;
use jiff::Timestamp;
use serde_json::{Value, json};

impl Output {
    /// The metadata of every task of the run.
    pub fn base(&self) -> Value {
        if self.dialect() == Dialect::Aegra {
            return json!({});
        }
        let mut base = self.metadata.clone();
        if let Value::Object(fixed) = server_metadata(self.dialect(), &self.agent.url) {
            base.extend(fixed);
        }
        Value::Object(base)
    }

    pub(super) fn with(&self, more: Value) -> Value {
        let mut base = self.base();
        if let (Some(base), Value::Object(more)) = (base.as_object_mut(), more) {
            base.extend(more);
        }
        base
    }

    /// The metadata of a saved checkpoint.
    pub fn checkpoint_metadata(&self, source: &str, step: i64) -> Value {
        let mut metadata = self.with(json!({
            "thread_id": self.thread, "run_id": self.run, "source": source, "step": step, "parents": {},
        }));
        if self.dialect() == Dialect::Python {
            metadata["user_id"] = json!("");
            metadata["langgraph_auth_user_id"] = json!("");
            metadata["langgraph_request_id"] = self
                .configurable
                .get("langgraph_request_id")
                .cloned()
                .unwrap_or_default();
        }
        if let Some(id) = self.configurable.get("checkpoint_id") {
            metadata["checkpoint_id"] = id.clone();
        }
        metadata
    }

    /// The metadata of a message that a node returned.
    pub fn node_metadata(&self, position: &Position) -> Value {
        self.with(json!({
            "thread_id": self.thread, "run_id": self.run, "ls_integration": "langgraph",
            "langgraph_step": position.step, "langgraph_node": position.node,
            "langgraph_triggers": [format!("branch:to:{}", position.node)],
            "langgraph_path": ["__pregel_pull", position.node],
            "langgraph_checkpoint_ns": position.inner().join("|"),
        }))
    }

    /// The metadata of a message in `messages-tuple`. The JavaScript server adds the tracer's tags.
    pub fn tuple_metadata(&self, position: &Position, token: bool) -> Value {
        let mut metadata = if token {
            self.model_metadata(position)
        } else {
            self.node_metadata(position)
        };
        if self.dialect() == Dialect::JavaScript {
            metadata["tags"] = if token {
                json!([])
            } else {
                json!([format!("graph:step:{}", position.step)])
            };
            if !token {
                metadata["name"] = json!(position.node);
                metadata["checkpoint_ns"] = metadata["langgraph_checkpoint_ns"].clone();
            }
        }
        metadata
    }

    /// The metadata of a token.
    pub fn model_metadata(&self, position: &Position) -> Value {
        let mut metadata = self.node_metadata(position);
        metadata["ls_integration"] = json!("langchain_chat_model");
        let javascript = self.dialect() == Dialect::JavaScript;
        let ns = if position.ns.is_empty() || javascript {
            position.inner()
        } else {
            position.ns.clone()
        };
        metadata["checkpoint_ns"] = json!(ns.join("|"));
        metadata["ls_model_type"] = json!("chat");
        if javascript {
            metadata["ls_provider"] = json!("Scripted");
            metadata["versions"] = json!({"@langchain/core": "1.2.13"});
        } else {
            metadata["ls_provider"] = json!("scriptedmodel");
            metadata["lc_versions"] = json!({"langchain-core": "1.7.2"});
        }
        metadata
    }

    /// The namespace of a message's event. The JavaScript server includes the node, even at the root.
    pub fn message_ns(&self, position: &Position) -> Vec<String> {
        if self.dialect() == Dialect::JavaScript && self.subgraphs {
            position.inner()
        } else {
            position.ns.clone()
        }
    }

    /// The configuration that points to a checkpoint.
    pub fn checkpoint_config(&self, ns: &[String], parents: &Object, id: &str) -> Value {
        let mut configurable = Object::new();
        configurable.insert("checkpoint_ns".into(), json!(ns.join("|")));
        configurable.extend(self.configurable.clone());
        if !ns.is_empty() {
            let mut map = parents.clone();
            map.insert(ns.join("|"), json!(id));
            configurable.insert("checkpoint_map".into(), Value::Object(map));
        }
        configurable.insert("checkpoint_id".into(), json!(id));
        json!({"configurable": configurable})
    }
}

/// Data about the server itself in the metadata of its runs.
pub fn server_metadata(dialect: Dialect, url: &str) -> Value {
    match dialect {
        Dialect::Aegra => json!({}),
        Dialect::JavaScript => json!({
            "ls_integration": "langgraph", "run_attempt": 1, "langgraph_version": "1.4.18",
            "langgraph_plan": "developer", "langgraph_host": "self-hosted", "langgraph_api_url": url,
        }),
        Dialect::Python | Dialect::Contract => json!({
            "run_attempt": 1, "langgraph_version": "1.2.22", "langgraph_api_version": "0.16.7",
            "langgraph_plan": "enterprise", "langgraph_host": "self-hosted", "langgraph_api_url": url,
        }),
    }
}

/// `configurable` of a run, as the server fills it in.
pub fn configurable(
    dialect: Dialect,
    run: &str,
    thread: &str,
    graph: Graph,
    assistant: &str,
    at: Timestamp,
) -> Object {
    let filled = match dialect {
        Dialect::JavaScript => {
            json!({"run_id": run, "thread_id": thread, "graph_id": graph.name(), "assistant_id": assistant})
        }
        Dialect::Aegra => json!({
            "thread_id": thread, "run_id": run, "user_id": "anonymous", "user_display_name": "Anonymous User",
            "langgraph_auth_user": {"identity": "anonymous", "is_authenticated": true, "permissions": [],
                "display_name": "Anonymous User", "org_id": null, "email": null},
        }),
        Dialect::Python | Dialect::Contract => json!({
            "langgraph_auth_user": null, "langgraph_auth_user_id": "", "langgraph_auth_permissions": [],
            "langgraph_request_id": uuid4(), "__request_start_time_ms__": at.as_millisecond(), "__after_seconds__": 0,
            "run_id": run, "thread_id": thread, "graph_id": graph.name(), "assistant_id": assistant, "user_id": "",
        }),
    };
    match filled {
        Value::Object(filled) => filled,
        _ => Object::new(),
    }
}
