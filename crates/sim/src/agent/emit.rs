//! What one run publishes: its stream modes, the contents of its events, and the streams that get them.

use super::feed::{Ended, Feed, Item, Kind};
use super::rows;
use super::state::{Interrupt, Task};
use super::{Agent, graphs::Graph};
use crate::clock::Clock;
use crate::ids::iso;
use crate::values::{Object, items_of, locked};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// The requested stream modes of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
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

/// The names of the modes as clients write them.
pub const MODES: [&str; 9] = [
    "values",
    "messages",
    "updates",
    "events",
    "debug",
    "tasks",
    "checkpoints",
    "custom",
    "messages-tuple",
];

impl Modes {
    /// Reads the list of a new run. Of the two messages modes only the tuples are sent.
    pub fn new(asked: &Value) -> Self {
        let has = |name: &str| {
            asked
                .as_array()
                .is_some_and(|asked| asked.iter().any(|mode| mode == name))
        };
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

/// The server's copy of the run's last checkpoint. The thread's row is made from it when the run ends, so the row
/// lags behind the state.
#[derive(Debug, Clone, Default)]
pub struct Reported {
    /// The values of the checkpoint.
    pub values: Object,
    /// Its tasks and their questions.
    pub tasks: Vec<(String, Option<Interrupt>)>,
}

/// A run's context and streams.
#[derive(Debug)]
pub struct Output {
    /// The server.
    pub agent: Arc<Agent>,
    pub run: String,
    pub thread: String,
    pub assistant: String,
    pub graph: Graph,
    /// Its metadata merged with the thread's; every task and message repeats it.
    pub metadata: Object,
    /// Its stream modes.
    pub modes: Modes,
    /// Whether it also sends the events of subgraphs.
    pub subgraphs: bool,
    /// Whether its events are stored for a replay.
    pub stored: bool,
    /// Whether only its last state is saved.
    pub only_last: bool,
    /// Its own stream.
    pub feed: Arc<Feed>,
    /// Its thread's stream.
    pub thread_feed: Arc<Feed>,
    /// Its clock.
    pub clock: Arc<Clock>,
    /// When it ended.
    pub ended: Ended,
    /// `configurable` of its configuration, which checkpoints repeat.
    pub configurable: Object,
    /// Ids of messages that were sent as tokens, so that they are not sent again as a whole.
    pub streamed: Mutex<HashSet<String>>,
    /// The last checkpoint.
    pub reported: Mutex<Option<Reported>>,
    /// The run's questions, in the order of their events.
    pub asked: Mutex<Vec<Interrupt>>,
}

/// A task's position in the graph.
#[derive(Debug, Clone)]
pub struct Position {
    /// The namespace of its level.
    pub ns: Vec<String>,
    pub node: String,
    /// The task's id.
    pub task: String,
    /// The step of its level.
    pub step: i64,
}

impl Position {
    /// The task's own namespace.
    pub fn inner(&self) -> Vec<String> {
        let mut ns = self.ns.clone();
        ns.push(format!("{}:{}", self.node, self.task));
        ns
    }
}

/// Events that are published together and share a millisecond.
#[derive(Debug)]
pub struct Burst<'a> {
    out: &'a Output,
    events: Vec<(String, String, Kind, bool)>,
}

impl Burst<'_> {
    /// Adds an event, unless it belongs to a subgraph and the run streams none.
    pub fn add(&mut self, name: &str, ns: &[String], data: &Value) -> &mut Self {
        self.raw(name, ns, || data.to_string())
    }

    /// The same with serialized JSON.
    pub fn raw(&mut self, name: &str, ns: &[String], data: impl FnOnce() -> String) -> &mut Self {
        if ns.is_empty() {
            self.event(name.to_owned(), data, Kind::Output, true);
        } else if self.out.subgraphs {
            self.event(format!("{name}|{}", ns.join("|")), data, Kind::Output, true);
        }
        self
    }

    /// Adds an event of a type that never has a namespace.
    pub fn plain(&mut self, name: &str, data: &Value, kind: Kind, stored: bool) -> &mut Self {
        self.event(name.to_owned(), || data.to_string(), kind, stored);
        self
    }

    fn event(&mut self, name: String, data: impl FnOnce() -> String, kind: Kind, stored: bool) {
        if !self.out.clock.is_silent() {
            self.events
                .push((name, data(), kind, stored && self.out.stored));
        }
    }

    /// Publishes them.
    pub fn send(&mut self) {
        if self.events.is_empty() {
            return;
        }
        let out = self.out;
        let ids = out.clock.ids(self.events.len());
        let items: Vec<Arc<Item>> = std::mem::take(&mut self.events)
            .into_iter()
            .zip(ids)
            .map(|((name, data, kind, stored), id)| {
                Arc::new(Item {
                    id,
                    name,
                    data,
                    kind,
                    stored,
                    ended: out.ended.clone(),
                })
            })
            .collect();
        out.feed.push(&items);
        out.thread_feed.push(&items);
    }
}

impl Output {
    /// Starts a burst of events.
    pub fn burst(&self) -> Burst<'_> {
        Burst {
            out: self,
            events: Vec::new(),
        }
    }

    /// Whether the run sends messages in any way.
    pub fn messages(&self) -> bool {
        self.modes.tuple || self.modes.legacy
    }

    /// Records a checkpoint whose tasks are about to run.
    pub fn report(&self, values: &Object, tasks: &[Task]) {
        let tasks = tasks
            .iter()
            .map(|task| (task.id.clone(), task.raised.clone()))
            .collect();
        *locked(&self.reported) = Some(Reported {
            values: values.clone(),
            tasks,
        });
    }

    /// Records the result of a task.
    pub fn report_task(&self, id: &str, raised: Option<&Interrupt>) {
        if let Some(task) = locked(&self.reported)
            .as_mut()
            .and_then(|all| all.tasks.iter_mut().find(|one| one.0 == id))
        {
            task.1 = raised.cloned();
        }
    }

    /// Adds the event of a task that starts.
    pub fn task_starts(&self, burst: &mut Burst<'_>, position: &Position, input: &Value) {
        let more = json!({"run_id": self.run});
        let event = json!({
            "id": position.task, "name": position.node, "input": input,
            "triggers": [format!("branch:to:{}", position.node)], "metadata": self.with(more),
        });
        if self.modes.tasks {
            burst.add("tasks", &position.ns, &event);
        }
        self.debug(burst, &position.ns, position.step, "task", &event);
        self.chain_event(
            burst,
            "on_chain_start",
            &position.node,
            &json!({"input": input}),
            Some(position),
        );
    }

    /// Adds the event of a finished task: with a result, an error, or a question.
    pub fn task_ends(
        &self,
        burst: &mut Burst<'_>,
        position: &Position,
        result: &Value,
        failure: Option<(&str, &str)>,
        raised: Option<&Interrupt>,
    ) {
        if position.ns.is_empty() {
            self.report_task(&position.task, raised);
        }
        if !self.modes.tasks && !self.modes.debug {
            return;
        }
        let raised: Vec<Value> = raised
            .map(|one| rows::interrupt(one, true))
            .into_iter()
            .collect();
        let error = failure.map(|(error, message)| json!({"error": error, "message": message}));
        let event = json!({
            "id": position.task, "name": position.node, "result": result, "interrupts": raised, "error": error,
        });
        if self.modes.tasks {
            burst.add("tasks", &position.ns, &event);
        }
        self.debug(burst, &position.ns, position.step, "task_result", &event);
    }

    /// Adds the events of a task's question.
    pub fn interrupted(
        &self,
        burst: &mut Burst<'_>,
        ns: &[String],
        values: &Object,
        raised: &Interrupt,
    ) {
        locked(&self.asked).push(raised.clone());
        let question = json!([rows::interrupt(raised, true)]);
        if self.modes.updates {
            burst.add("updates", ns, &json!({"__interrupt__": question}));
        }
        if self.modes.values {
            let mut state = values.clone();
            state.insert("__interrupt__".into(), question);
            burst.add("values", ns, &Value::Object(state));
        }
    }

    /// Adds the event of a breakpoint.
    pub fn held(&self, burst: &mut Burst<'_>, ns: &[String]) {
        if self.modes.updates {
            burst.add("updates", ns, &json!({"__interrupt__": []}));
        }
    }

    /// Adds a debug event.
    pub fn debug(
        &self,
        burst: &mut Burst<'_>,
        ns: &[String],
        step: i64,
        kind: &str,
        payload: &Value,
    ) {
        if self.modes.debug {
            let timestamp = iso(self.clock.now());
            let event =
                json!({"step": step, "timestamp": timestamp, "type": kind, "payload": payload});
            burst.add("debug", ns, &event);
        }
    }

    /// Adds one of LangChain's own events, which never have a namespace.
    pub fn chain_event(
        &self,
        burst: &mut Burst<'_>,
        event: &str,
        name: &str,
        data: &Value,
        position: Option<&Position>,
    ) {
        if !self.modes.events {
            return;
        }
        let model = event.starts_with("on_chat_model");
        let (run, tags, metadata, parents) = match position {
            None => {
                let more = json!({"thread_id": self.thread, "run_id": self.run, "ls_integration": "langgraph"});
                (self.run.clone(), json!([]), self.with(more), json!([]))
            }
            Some(position) if model => {
                let metadata = self.model_metadata(position);
                (
                    position.task.clone(),
                    json!(["seq:step:1"]),
                    metadata,
                    json!([self.run, position.task]),
                )
            }
            Some(position) => {
                let tags = json!([format!("graph:step:{}", position.step)]);
                (
                    position.task.clone(),
                    tags,
                    self.node_metadata(position),
                    json!([self.run]),
                )
            }
        };
        let event = json!({
            "event": event, "data": data, "name": name, "tags": tags, "run_id": run, "metadata": metadata,
            "parent_ids": parents,
        });
        burst.plain("events", &event, Kind::Output, true);
    }

    /// Records a message that was sent as tokens.
    pub fn note_streamed(&self, id: &str, ns: &[String]) {
        if ns.is_empty() || self.subgraphs {
            locked(&self.streamed).insert(id.to_owned());
        }
    }

    /// Adds the messages of a node's result that were not sent as tokens.
    pub fn whole_messages(&self, burst: &mut Burst<'_>, position: &Position, update: &Value) {
        if !self.messages() || !(position.ns.is_empty() || self.subgraphs) {
            return;
        }
        for message in items_of(&update["messages"]) {
            let Some(id) = message["id"].as_str() else {
                continue;
            };
            if !locked(&self.streamed).insert(id.to_owned()) {
                continue;
            }
            let metadata = self.node_metadata(position);
            if self.modes.tuple {
                burst.add("messages", &position.ns, &json!([message, metadata]));
            }
            if self.modes.legacy {
                let introduced = json!({id: {"metadata": metadata}});
                burst.plain("messages/metadata", &introduced, Kind::Output, true);
                burst.plain("messages/complete", &json!([message]), Kind::Output, true);
            }
        }
    }
}
