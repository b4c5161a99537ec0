//! The metadata that the server adds to tasks, messages and checkpoints.

use crate::agent::prelude::*;

impl Output {
    /// The metadata of every task of the run, and more.
    pub(super) fn with(&self, more: Value) -> Value {
        let mut base = self.metadata.clone();
        base.extend(server_metadata(&self.agent.url));
        base.extend(object_of(&more));
        Value::Object(base)
    }

    /// The metadata of a saved checkpoint.
    pub fn checkpoint_metadata(&self, source: &str, step: i64) -> Value {
        let mut metadata = self.with(json!({
            "thread_id": self.thread, "run_id": self.run, "source": source, "step": step, "parents": {},
        }));
        metadata["user_id"] = json!("");
        metadata["langgraph_auth_user_id"] = json!("");
        metadata["langgraph_request_id"] = json!(self.configurable.get("langgraph_request_id"));
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

    /// The metadata of a token.
    pub fn model_metadata(&self, position: &Position) -> Value {
        let mut metadata = self.node_metadata(position);
        metadata["ls_integration"] = json!("langchain_chat_model");
        let ns = if position.ns.is_empty() {
            position.inner()
        } else {
            position.ns.clone()
        };
        metadata["checkpoint_ns"] = json!(ns.join("|"));
        metadata["ls_model_type"] = json!("chat");
        metadata["ls_provider"] = json!("scriptedmodel");
        metadata["lc_versions"] = json!({"langchain-core": "1.7.2"});
        metadata
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
pub fn server_metadata(url: &str) -> Object {
    object_of(&json!({
        "run_attempt": 1, "langgraph_version": "1.2.22", "langgraph_api_version": "0.16.7",
        "langgraph_plan": "enterprise", "langgraph_host": "self-hosted", "langgraph_api_url": url,
    }))
}

/// `configurable` of a run, as the server fills it in.
pub fn configurable(run: &str, thread: &str, assistant: &Assistant, at: Timestamp) -> Object {
    object_of(&json!({
        "langgraph_auth_user": null, "langgraph_auth_user_id": "", "langgraph_auth_permissions": [],
        "langgraph_request_id": uuid4(), "__request_start_time_ms__": at.as_millisecond(), "__after_seconds__": 0,
        "run_id": run, "thread_id": thread, "graph_id": assistant.graph.name(), "assistant_id": assistant.id,
        "user_id": "",
    }))
}
