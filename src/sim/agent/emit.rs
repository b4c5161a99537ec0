//! One run's way out: which events it asked for, what they carry, and the streams that they go to.

use super::feed::{Feed, Item, Kind};
use super::message::{self, Piece};
use super::state::Object;
use super::{Agent, graphs::Graph};
use crate::sim::ids::{iso, uuid4};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The stream modes that a run was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, clippy::struct_excessive_bools)]
pub struct Modes {
    pub values: bool,
    pub updates: bool,
    pub tuple: bool,
    pub legacy: bool,
    pub custom: bool,
    pub tasks: bool,
    pub checkpoints: bool,
    pub debug: bool,
    pub events: bool,
}

/// The names of the modes, as a client writes them.
pub const MODES: [&str; 9] =
    ["values", "messages", "updates", "events", "debug", "tasks", "checkpoints", "custom", "messages-tuple"];

impl Modes {
    /// From the list that a run was created with. Of the two ways to send messages the tuples win.
    pub fn new(asked: &Value) -> Self {
        let has = |name: &str| asked.as_array().is_some_and(|asked| asked.iter().any(|mode| mode == name));
        Modes {
            values: has("values"),
            updates: has("updates"),
            tuple: has("messages-tuple"),
            legacy: has("messages") && !has("messages-tuple"),
            custom: has("custom"),
            tasks: has("tasks"),
            checkpoints: has("checkpoints"),
            debug: has("debug"),
            events: has("events"),
        }
    }
}

/// What a run knows about itself, and where its events go.
#[derive(Debug)]
pub struct Output {
    /// The server.
    pub agent: Arc<Agent>,
    /// The run.
    pub run: String,
    /// Its thread.
    pub thread: String,
    /// Its assistant.
    pub assistant: String,
    /// Its graph.
    pub graph: Graph,
    /// Its metadata, with those of its thread; every task and message repeats them.
    pub metadata: Object,
    /// What it sends.
    pub modes: Modes,
    /// Whether it sends the events of subgraphs too.
    pub subgraphs: bool,
    /// Whether its events are kept for a replay.
    pub stored: bool,
    /// Its own stream.
    pub feed: Arc<Feed>,
    /// Its thread's stream.
    pub thread_feed: Arc<Feed>,
    /// `configurable` of its configuration, as checkpoints repeat it.
    pub configurable: Object,
    /// Messages that went out as tokens, so that they do not go out again as a whole.
    pub streamed: Mutex<HashSet<String>>,
}

/// Where in the graph a task stands.
#[derive(Debug, Clone)]
pub struct Spot {
    /// The namespace of its level.
    pub ns: Vec<String>,
    /// The node.
    pub node: String,
    /// The task's id.
    pub task: String,
    /// The step of its level.
    pub step: i64,
}

impl Spot {
    /// The task's own namespace.
    pub fn inner(&self) -> Vec<String> {
        let mut ns = self.ns.clone();
        ns.push(format!("{}:{}", self.node, self.task));
        ns
    }
}

/// Events that are published together, and so share a millisecond.
#[derive(Debug)]
pub struct Burst<'a> {
    out: &'a Output,
    events: Vec<(String, String, Kind, bool)>,
}

impl Burst<'_> {
    /// Adds an event, unless it belongs to a subgraph and the run did not ask for those.
    pub fn add(&mut self, name: &str, ns: &[String], data: &Value) -> &mut Self {
        self.raw(name, ns, data.to_string())
    }

    /// The same with JSON that is written already.
    pub fn raw(&mut self, name: &str, ns: &[String], data: String) -> &mut Self {
        if ns.is_empty() {
            self.events.push((name.to_owned(), data, Kind::Output, self.out.stored));
        } else if self.out.subgraphs {
            self.events.push((format!("{name}|{}", ns.join("|")), data, Kind::Output, self.out.stored));
        }
        self
    }

    /// Adds an event of a kind that never carries a namespace.
    pub fn plain(&mut self, name: &str, data: &Value, kind: Kind, stored: bool) -> &mut Self {
        self.events.push((name.to_owned(), data.to_string(), kind, stored && self.out.stored));
        self
    }

    /// Publishes them.
    pub fn send(&mut self) {
        let ids = self.out.agent.ids.burst(self.events.len());
        let items: Vec<Arc<Item>> = std::mem::take(&mut self.events)
            .into_iter()
            .zip(ids)
            .map(|((name, data, kind, stored), id)| Arc::new(Item { id, name, data, kind, stored }))
            .collect();
        self.out.feed.push(&items);
        self.out.thread_feed.push(&items);
    }
}

impl Output {
    /// Begins to collect events.
    pub fn burst(&self) -> Burst<'_> {
        Burst { out: self, events: Vec::new() }
    }

    /// Whether the run sends messages in either way.
    pub fn messages(&self) -> bool {
        self.modes.tuple || self.modes.legacy
    }

    /// The metadata that every task of the run carries.
    pub fn base(&self) -> Value {
        let mut base = self.metadata.clone();
        let fixed = json!({
            "run_attempt": 1, "langgraph_version": "1.2.22", "langgraph_api_version": "0.16.7",
            "langgraph_plan": "enterprise", "langgraph_host": "self-hosted", "langgraph_api_url": self.agent.url,
        });
        base.extend(fixed.as_object().cloned().unwrap_or_default());
        Value::Object(base)
    }

    fn with(&self, more: Value) -> Value {
        let mut base = self.base();
        if let (Some(base), Value::Object(more)) = (base.as_object_mut(), more) {
            base.extend(more);
        }
        base
    }

    /// The metadata of a task event.
    pub fn task_metadata(&self) -> Value {
        self.with(json!({"run_id": self.run}))
    }

    /// The metadata of a message that a node returned.
    pub fn node_metadata(&self, spot: &Spot) -> Value {
        self.with(json!({
            "thread_id": self.thread, "run_id": self.run, "ls_integration": "langgraph",
            "langgraph_step": spot.step, "langgraph_node": spot.node,
            "langgraph_triggers": [format!("branch:to:{}", spot.node)],
            "langgraph_path": ["__pregel_pull", spot.node], "langgraph_checkpoint_ns": spot.inner().join("|"),
        }))
    }

    /// The metadata of a token.
    pub fn model_metadata(&self, spot: &Spot) -> Value {
        let mut metadata = self.node_metadata(spot);
        metadata["ls_integration"] = json!("langchain_chat_model");
        let ns = if spot.ns.is_empty() { spot.inner() } else { spot.ns.clone() };
        metadata["checkpoint_ns"] = json!(ns.join("|"));
        metadata["ls_provider"] = json!("scriptedmodel");
        metadata["ls_model_type"] = json!("chat");
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

    /// Adds a debug event.
    pub fn debug(&self, burst: &mut Burst<'_>, ns: &[String], step: i64, kind: &str, payload: &Value) {
        if self.modes.debug {
            let timestamp = iso(Timestamp::now());
            let event = json!({"step": step, "timestamp": timestamp, "type": kind, "payload": payload});
            burst.add("debug", ns, &event);
        }
    }

    /// Adds one of LangChain's own events, which never carry a namespace.
    pub fn chain_event(&self, burst: &mut Burst<'_>, event: &str, name: &str, data: &Value, spot: Option<&Spot>) {
        if !self.modes.events {
            return;
        }
        let model = event.starts_with("on_chat_model");
        let (run, tags, metadata, parents) = match spot {
            None => {
                let more = json!({"thread_id": self.thread, "run_id": self.run, "ls_integration": "langgraph"});
                (self.run.clone(), json!([]), self.with(more), json!([]))
            }
            Some(spot) if model => {
                (spot.task.clone(), json!(["seq:step:1"]), self.model_metadata(spot), json!([self.run, spot.task]))
            }
            Some(spot) => {
                let tags = json!([format!("graph:step:{}", spot.step)]);
                (spot.task.clone(), tags, self.node_metadata(spot), json!([self.run]))
            }
        };
        let event = json!({
            "event": event, "data": data, "name": name, "tags": tags, "run_id": run, "metadata": metadata,
            "parent_ids": parents,
        });
        burst.plain("events", &event, Kind::Output, true);
    }

    /// Remembers that a message went out as tokens.
    fn note(&self, id: &str, ns: &[String]) {
        if ns.is_empty() || self.subgraphs {
            self.streamed.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned());
        }
    }

    /// Adds the messages of a node's answer that did not go out as tokens.
    pub fn whole_messages(&self, burst: &mut Burst<'_>, spot: &Spot, update: &Value) {
        if !self.messages() || !(spot.ns.is_empty() || self.subgraphs) {
            return;
        }
        for message in update["messages"].as_array().into_iter().flatten() {
            let Some(id) = message["id"].as_str() else { continue };
            if !self.streamed.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned()) {
                continue;
            }
            let metadata = self.node_metadata(spot);
            if self.modes.tuple {
                burst.add("messages", &spot.ns, &json!([message, metadata]));
            } else {
                let introduced = json!({id: {"metadata": metadata}});
                burst.plain("messages/metadata", &introduced, Kind::Output, true);
                burst.plain("messages/complete", &json!([message]), Kind::Output, true);
            }
        }
    }
}

/// A message on its way out, token by token.
#[derive(Debug)]
pub struct Speech<'a> {
    out: &'a Output,
    spot: &'a Spot,
    /// The message's id.
    pub id: String,
    metadata: String,
    said: message::Reply,
    args: Vec<String>,
    begun: bool,
}

impl<'a> Speech<'a> {
    /// Begins a message.
    pub fn new(out: &'a Output, spot: &'a Spot, id: String) -> Self {
        let metadata = out.model_metadata(spot).to_string();
        Speech { out, spot, id, metadata, said: message::Reply::default(), args: Vec::new(), begun: false }
    }

    /// Adds the events of one piece to a burst.
    pub fn piece(&mut self, burst: &mut Burst<'_>, piece: &Piece) {
        let (out, ns) = (self.out, self.spot.ns.as_slice());
        let chunk = message::chunk(&self.id, piece);
        if out.modes.tuple {
            out.note(&self.id, ns);
            burst.raw("messages", ns, format!("[{chunk},{}]", self.metadata));
        } else if out.modes.legacy && (ns.is_empty() || out.subgraphs) {
            out.note(&self.id, ns);
            self.legacy(burst, piece);
        }
        if out.modes.events {
            out.chain_event(burst, "on_chat_model_stream", "ScriptedModel", &json!({"chunk": chunk}), Some(self.spot));
        }
    }

    fn legacy(&mut self, burst: &mut Burst<'_>, piece: &Piece) {
        if !self.begun {
            self.begun = true;
            let metadata: Value = serde_json::from_str(&self.metadata).unwrap_or_default();
            let introduced = json!({&self.id: {"metadata": metadata}});
            burst.plain("messages/metadata", &introduced, Kind::Output, true);
        }
        let mut so_far = message::ai(&self.id, &self.said.text, &[], json!({}), Value::Null);
        match piece {
            Piece::Text(text) => self.said.text.push_str(text),
            Piece::Call { call, args, .. } => {
                self.said.calls.push(call.clone());
                self.args.push(args.clone());
            }
            Piece::Args { index, args } => self.args.get_mut(*index).into_iter().for_each(|sum| sum.push_str(args)),
            Piece::Ending { ending, usage } => {
                so_far["response_metadata"] = ending.clone();
                so_far["usage_metadata"] = usage.clone();
            }
            Piece::Last => {}
        }
        so_far["content"] = json!(self.said.text);
        let calls: Vec<Value> = self
            .said
            .calls
            .iter()
            .zip(&self.args)
            .map(|(call, args)| {
                let args: Value = serde_json::from_str(args).unwrap_or_else(|_| json!({}));
                json!({"name": call.name, "args": args, "id": call.id, "type": "tool_call"})
            })
            .collect();
        so_far["tool_calls"] = Value::Array(calls);
        burst.plain("messages/partial", &json!([so_far]), Kind::Output, true);
    }
}

/// `configurable` of a run, as the server fills it in.
pub fn configurable(run: &str, thread: &str, graph: Graph, assistant: &str, at: Timestamp) -> Object {
    let filled = json!({
        "langgraph_auth_user": null, "langgraph_auth_user_id": "", "langgraph_auth_permissions": [],
        "langgraph_request_id": uuid4(), "__request_start_time_ms__": at.as_millisecond(), "__after_seconds__": 0,
        "run_id": run, "thread_id": thread, "graph_id": graph.name(), "assistant_id": assistant, "user_id": "",
    });
    match filled {
        Value::Object(filled) => filled,
        _ => Object::new(),
    }
}
