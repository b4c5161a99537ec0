//! What one run publishes: its stream modes, the contents of its events, and the streams that get them.

use crate::agent::prelude::*;

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
    pub modes: Vec<String>,
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
    items: Vec<Item>,
}

impl Output {
    /// Starts a burst of events.
    pub fn burst(&self) -> Burst<'_> {
        Burst {
            out: self,
            items: Vec::new(),
        }
    }

    /// Whether the run streams a mode. Of the two messages modes only the tuples are sent.
    pub fn has(&self, mode: &str) -> bool {
        let has = |mode: &str| self.modes.iter().any(|one| one == mode);
        has(mode) && !(mode == "messages" && has("messages-tuple"))
    }

    /// Whether the run sends messages in any way.
    pub fn messages(&self) -> bool {
        self.has("messages") || self.has("messages-tuple")
    }

    /// The id of a message in the state, which is another one if the run sends no messages.
    pub fn shown_id(&self, id: &str) -> String {
        format!("{id}{}", if self.messages() { "" } else { "-0" })
    }

    /// Whether the run sends the events of a namespace.
    pub fn shows(&self, ns: &[String]) -> bool {
        ns.is_empty() || self.subgraphs
    }

    /// Records a checkpoint whose tasks are about to run.
    pub fn report(&self, values: &Object, tasks: &[Task]) {
        let tasks = tasks
            .iter()
            .map(|task| (task.id.clone(), task.raised.clone()));
        *locked(&self.reported) = Some(Reported {
            values: values.clone(),
            tasks: tasks.collect(),
        });
    }
}

impl Burst<'_> {
    /// Adds an event of a mode, unless the run streams another, or it belongs to a subgraph and the run streams none.
    pub fn add(&mut self, name: &str, ns: &[String], data: &Value) -> &mut Self {
        let mode = if name == "messages" {
            "messages-tuple"
        } else {
            name
        };
        if !self.out.has(mode) || !self.out.shows(ns) {
            return self;
        }
        let name = [&[name.to_owned()], ns].concat().join("|");
        self.plain(&name, data, Kind::Output, true)
    }

    /// Adds an event of any mode.
    pub fn plain(&mut self, name: &str, data: &Value, kind: Kind, stored: bool) -> &mut Self {
        let out = self.out;
        if !out.clock.is_silent() {
            self.items.push(Item {
                stored: stored && out.stored,
                ended: out.ended.clone(),
                ..Item::new(name, data, kind)
            });
        }
        self
    }

    /// The events with their ids.
    pub fn take(&mut self) -> Vec<Arc<Item>> {
        let ids = self.out.clock.ids(self.items.len());
        let items = self.items.drain(..).zip(ids);
        items
            .map(|(item, id)| Arc::new(Item { id, ..item }))
            .collect()
    }

    /// Publishes them.
    pub fn send(&mut self) {
        if !self.items.is_empty() {
            let items = self.take();
            self.out.feed.push(&items);
            self.out.thread_feed.push(&items);
        }
    }

    /// Adds the event of a task that starts.
    pub fn task_starts(&mut self, position: &Position, input: &Value) {
        if self.out.modes.is_empty() {
            return;
        }
        let event = json!({
            "id": position.task, "name": position.node, "input": input,
            "triggers": [format!("branch:to:{}", position.node)],
            "metadata": self.out.with(json!({"run_id": self.out.run})),
        });
        self.add("tasks", &position.ns, &event);
        self.debug(&position.ns, position.step, "task", &event);
        let data = json!({"input": input});
        self.chain_event("on_chain_start", &position.node, &data, Some(position));
    }

    /// Adds the event of a finished task: with a result, an error, or a question.
    pub fn task_ends(
        &mut self,
        position: &Position,
        result: &Value,
        failure: Option<(&str, &str)>,
        raised: Option<&Interrupt>,
    ) {
        if let Some(reported) = locked(&self.out.reported)
            .as_mut()
            .filter(|_| position.ns.is_empty())
        {
            let mut own = reported
                .tasks
                .iter_mut()
                .filter(|task| task.0 == position.task);
            own.by_ref().for_each(|task| task.1 = raised.cloned());
        }
        let error = failure.map(|(error, message)| json!({"error": error, "message": message}));
        let event = json!({
            "id": position.task, "name": position.node, "result": result, "interrupts": rows::interrupts(raised, true),
            "error": error,
        });
        self.add("tasks", &position.ns, &event);
        self.debug(&position.ns, position.step, "task_result", &event);
    }

    /// Adds the events of a task's question.
    pub fn interrupted(&mut self, ns: &[String], values: &Object, raised: &Interrupt) {
        locked(&self.out.asked).push(raised.clone());
        let question = rows::interrupts(Some(raised), true);
        let mut state = json!(values);
        state["__interrupt__"] = question.clone();
        self.add("updates", ns, &json!({"__interrupt__": question}));
        self.add("values", ns, &state);
    }

    /// Adds a debug event.
    pub fn debug(&mut self, ns: &[String], step: i64, kind: &str, payload: &Value) {
        if !self.out.has("debug") {
            return;
        }
        let timestamp = iso(self.out.clock.now());
        let event = json!({"step": step, "timestamp": timestamp, "type": kind, "payload": payload});
        self.add("debug", ns, &event);
    }

    /// Adds one of LangChain's own events, which never have a namespace.
    pub fn chain_event(
        &mut self,
        event: &str,
        name: &str,
        data: &Value,
        position: Option<&Position>,
    ) {
        let out = self.out;
        if !out.has("events") {
            return;
        }
        let (run, tags, metadata, parents) = match position {
            None => {
                let more = json!({"thread_id": out.thread, "run_id": out.run, "ls_integration": "langgraph"});
                (&out.run, vec![], out.with(more), vec![])
            }
            Some(position) if event.starts_with("on_chat_model") => {
                let tags = vec!["seq:step:1".to_owned()];
                let parents = vec![&out.run, &position.task];
                (&position.task, tags, out.model_metadata(position), parents)
            }
            Some(position) => {
                let tags = vec![format!("graph:step:{}", position.step)];
                (
                    &position.task,
                    tags,
                    out.node_metadata(position),
                    vec![&out.run],
                )
            }
        };
        let event = json!({
            "event": event, "data": data, "name": name, "tags": tags, "run_id": run, "metadata": metadata,
            "parent_ids": parents,
        });
        self.add("events", &[], &event);
    }

    /// Adds the messages of a node's result that were not sent as tokens.
    pub fn whole_messages(&mut self, position: &Position, update: &Value) {
        let out = self.out;
        if !out.messages() || !out.shows(&position.ns) {
            return;
        }
        for message in items_of(&update["messages"]) {
            let id = text_of(&message["id"]);
            if id.is_empty() || !locked(&out.streamed).insert(id.to_owned()) {
                continue;
            }
            let metadata = out.node_metadata(position);
            self.add("messages", &position.ns, &json!([message, metadata]));
            if out.has("messages") {
                let introduced = json!({id: {"metadata": metadata}});
                self.plain("messages/metadata", &introduced, Kind::Output, true);
                self.plain("messages/complete", &json!([message]), Kind::Output, true);
            }
        }
    }
}
