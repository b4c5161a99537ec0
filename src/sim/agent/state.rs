//! What an agent server remembers: assistants, threads, their runs and checkpoints, and how each reads as JSON.

use super::feed::Feed;
use super::graphs::Graph;
use crate::sim::ids::iso;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// An object of JSON.
pub type Object = Map<String, Value>;

/// Everything that one agent server remembers.
#[derive(Debug, Default)]
pub struct Memory {
    /// Assistants, in the order in which they were made.
    pub assistants: Vec<Assistant>,
    /// Threads by id.
    pub threads: BTreeMap<String, Thread>,
    /// Each thread's stream. It may have readers before there is such a thread.
    pub feeds: HashMap<String, Arc<Feed>>,
}

/// A graph under a name, perhaps with a configuration of its own.
#[derive(Debug, Clone)]
pub struct Assistant {
    /// Its id; for a graph's own assistant always the same on every server.
    pub id: String,
    /// The graph that it runs.
    pub graph: Graph,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its configuration.
    pub config: Value,
    /// Its metadata.
    pub metadata: Value,
    /// When it was made.
    pub created_at: Timestamp,
    /// Which version is in use.
    pub version: u32,
}

impl Assistant {
    /// As the server shows it.
    pub fn json(&self) -> Value {
        json!({
            "assistant_id": self.id, "graph_id": self.graph.name(), "config": self.config, "context": {},
            "metadata": self.metadata, "name": self.name, "created_at": iso(self.created_at),
            "updated_at": iso(self.created_at), "version": self.version, "description": self.description,
        })
    }
}

/// A saved state.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// Its id, which sorts by time.
    pub id: String,
    /// The one before it.
    pub parent: Option<String>,
    /// The whole state.
    pub values: Object,
    /// The nodes that come next.
    pub next: Vec<String>,
    /// The tasks of those nodes, as the state shows them.
    pub tasks: Vec<Value>,
    /// Who saved it, and why.
    pub metadata: Value,
    /// When.
    pub at: Timestamp,
}

impl Checkpoint {
    /// The interrupts that wait for an answer, by the task that raised them.
    pub fn interrupts(&self) -> Object {
        let mut waiting = Object::new();
        for task in &self.tasks {
            let raised: Vec<Value> = task["interrupts"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|raised| json!({"id": raised["id"], "value": raised["value"]}))
                .collect();
            if let (false, Some(id)) = (raised.is_empty(), task["id"].as_str()) {
                waiting.insert(id.to_owned(), Value::Array(raised));
            }
        }
        waiting
    }

    /// As a thread's state.
    pub fn json(&self, thread: &str) -> Value {
        let at = |id: &str| json!({"checkpoint_id": id, "thread_id": thread, "checkpoint_ns": ""});
        let interrupts: Vec<Value> =
            self.tasks.iter().flat_map(|task| task["interrupts"].as_array().cloned().unwrap_or_default()).collect();
        json!({
            "values": self.values, "next": self.next, "tasks": self.tasks, "metadata": self.metadata,
            "created_at": iso(self.at), "checkpoint": at(&self.id),
            "parent_checkpoint": self.parent.as_deref().map(at), "interrupts": interrupts,
            "checkpoint_id": self.id, "parent_checkpoint_id": self.parent,
        })
    }
}

/// The state of a thread that has none yet.
pub fn empty_state() -> Value {
    json!({
        "values": {}, "next": [], "tasks": [], "metadata": null, "created_at": null, "checkpoint": null,
        "parent_checkpoint": null, "interrupts": [], "checkpoint_id": null, "parent_checkpoint_id": null,
    })
}

/// A thread.
#[derive(Debug, Clone)]
pub struct Thread {
    /// Its id.
    pub id: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When anything of it changed.
    pub updated_at: Timestamp,
    /// When its state changed.
    pub state_updated_at: Timestamp,
    /// Its metadata.
    pub metadata: Object,
    /// `idle`, `busy`, `interrupted` or `error`.
    pub status: String,
    /// What failed.
    pub error: Option<Value>,
    /// Saved states, oldest first.
    pub checkpoints: Vec<Checkpoint>,
    /// Runs, oldest first.
    pub runs: Vec<Run>,
}

impl Thread {
    /// A new thread.
    pub fn new(id: String, at: Timestamp, metadata: Object) -> Self {
        Thread {
            id,
            created_at: at,
            updated_at: at,
            state_updated_at: at,
            metadata,
            status: "idle".into(),
            error: None,
            checkpoints: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// As the server shows it. A thread that never ran lacks some fields.
    pub fn json(&self) -> Value {
        let latest = self.checkpoints.last();
        let ran = latest.is_some() || !self.runs.is_empty();
        let mut json = json!({
            "thread_id": self.id, "created_at": iso(self.created_at), "updated_at": iso(self.updated_at),
            "state_updated_at": iso(self.state_updated_at), "metadata": self.metadata, "status": self.status,
            "config": if ran { json!({"configurable": {}}) } else { json!({}) },
            "values": latest.map(|checkpoint| &checkpoint.values),
        });
        if ran {
            json["error"] = self.error.clone().unwrap_or_default();
            json["interrupts"] = Value::Object(latest.map(Checkpoint::interrupts).unwrap_or_default());
        }
        json
    }

    /// The state now, or at a checkpoint.
    pub fn state(&self, checkpoint: Option<&str>) -> Value {
        let found = match checkpoint {
            Some(id) => self.checkpoints.iter().find(|checkpoint| checkpoint.id == id),
            None => self.checkpoints.last(),
        };
        found.map_or_else(empty_state, |checkpoint| checkpoint.json(&self.id))
    }

    /// A run of it.
    pub fn run(&self, id: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.id == id)
    }

    /// A run of it, to change.
    pub fn run_mut(&mut self, id: &str) -> Option<&mut Run> {
        self.runs.iter_mut().find(|run| run.id == id)
    }

    /// Whether a run is going on or waits.
    pub fn is_busy(&self) -> bool {
        self.runs.iter().any(Run::is_active)
    }

    /// What the status must be when no run goes on: it follows from the latest state and the last error.
    pub fn settle(&mut self, now: Timestamp) {
        self.status = if self.is_busy() {
            "busy"
        } else if self.error.as_ref().is_some_and(|error| error["error"] != "UserInterrupt") {
            "error"
        } else if self.checkpoints.last().is_some_and(|checkpoint| !checkpoint.next.is_empty()) {
            "interrupted"
        } else {
            "idle"
        }
        .into();
        self.updated_at = now;
    }
}

/// How a cancelled run is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// It stays, as `interrupted`.
    Interrupt,
    /// It is taken back and its row goes.
    Rollback,
}

/// A run.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// Its thread.
    pub thread: String,
    /// Its assistant.
    pub assistant: String,
    /// The graph that it runs.
    pub graph: Graph,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When anything of it changed.
    pub updated_at: Timestamp,
    /// `pending`, `running`, `success`, `error`, `timeout` or `interrupted`.
    pub status: String,
    /// Its metadata.
    pub metadata: Object,
    /// What it was asked to do.
    pub kwargs: Value,
    /// What it does when the thread is busy.
    pub strategy: String,
    /// Its stream.
    pub feed: Arc<Feed>,
    /// Stops it.
    pub stop: CancellationToken,
    /// How it was cancelled, if it was.
    pub cancelled: Option<Cancel>,
    /// What it answered in the end, for those who wait.
    pub outcome: Arc<OnceLock<Value>>,
}

impl Run {
    /// Whether it goes on or waits.
    pub fn is_active(&self) -> bool {
        matches!(self.status.as_str(), "pending" | "running")
    }

    /// Whether its events can be replayed.
    pub fn resumable(&self) -> bool {
        self.kwargs["resumable"] == true
    }

    /// As the server shows it.
    pub fn json(&self) -> Value {
        json!({
            "run_id": self.id, "thread_id": self.thread, "assistant_id": self.assistant, "metadata": self.metadata,
            "status": self.status, "kwargs": self.kwargs, "multitask_strategy": self.strategy,
            "created_at": iso(self.created_at), "updated_at": iso(self.updated_at), "langsmith_session_name": null,
        })
    }
}

/// Keeps only the named fields, where any are named.
pub fn select(value: Value, fields: &[String]) -> Value {
    if fields.is_empty() {
        return value;
    }
    match value {
        Value::Object(object) => {
            Value::Object(object.into_iter().filter(|(key, _)| fields.iter().any(|field| field == key)).collect())
        }
        other => other,
    }
}

/// Whether an object holds all of another one's pairs.
pub fn contains(object: &Value, wanted: &Value) -> bool {
    match wanted {
        Value::Object(wanted) => wanted.iter().all(|(key, value)| contains(&object[key], value)),
        other => object == other,
    }
}
