//! Runs a graph the way the Python server does: super-steps, parallel tasks, subgraphs, checkpoints and interrupts.

use super::emit::{Burst, Output, Speech, Spot};
use super::graphs::Graph;
use super::message::{self, Reply};
use super::state::{Checkpoint, Object};
use crate::sim::ids::{checkpoint_id, uuid4, uuid7};
use futures::future::{BoxFuture, FutureExt, join_all};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

/// Why a graph stopped before its end.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// A node raised.
    Failed {
        /// The exception's class.
        error: String,
        /// What it said.
        message: String,
    },
    /// A node asks something and waits for the answer.
    Asked(Value),
    /// The run stops before a node, as it was told to.
    Held,
}

/// How a run begins.
#[derive(Debug, Clone)]
pub struct Start {
    /// The state that it goes on from.
    pub base: Option<Checkpoint>,
    /// Its input; `None` goes on where the last run stopped.
    pub input: Option<Value>,
    /// The answer to an interrupt.
    pub answer: Option<Value>,
    /// Nodes before which it stops.
    pub hold_before: Vec<String>,
    /// Nodes after which it stops.
    pub hold_after: Vec<String>,
    /// Steps that it may take.
    pub limit: i64,
}

/// What a node sees.
#[derive(Debug)]
pub struct Node<'a> {
    /// Where its events go.
    pub out: &'a Output,
    /// Where it stands.
    pub spot: Spot,
    /// The state at the start of the step.
    pub state: Object,
    /// The answer that it waited for.
    pub answer: Option<Value>,
    parents: Object,
}

impl Node<'_> {
    /// Sends a custom event.
    pub fn custom(&self, data: &Value) {
        if self.out.modes.custom {
            self.out.burst().add("custom", &self.spot.ns, data).send();
        }
    }

    /// Lets time pass, as much as the simulator's speed says.
    pub async fn wait(&self, millis: f64) {
        self.out.agent.pause(Duration::from_secs_f64(millis / 1000.0)).await;
    }

    /// Asks the person at the other end: the first time the run stops here, the next time the answer is there.
    pub fn ask(&self, question: &Value) -> Result<Value, Stop> {
        self.answer.clone().ok_or_else(|| Stop::Asked(question.clone()))
    }

    /// Says something, token by token, and returns the whole message.
    pub async fn say(&self, reply: &Reply) -> Value {
        let out = self.out;
        let asked = message::last_question(&self.state.get("messages").cloned().unwrap_or_default());
        let usage = reply.usage(asked.len());
        let id = format!("lc_run--{}", uuid7(Timestamp::now()));
        let messages = self.state.get("messages").cloned().unwrap_or_else(|| json!([]));
        let input = json!({"input": {"messages": [messages]}});
        let mut burst = out.burst();
        out.chain_event(&mut burst, "on_chat_model_start", "ScriptedModel", &input, Some(&self.spot));
        let mut speech = Speech::new(out, &self.spot, id.clone());
        let script = message::script(reply, &usage);
        for (n, piece) in script.iter().enumerate() {
            speech.piece(&mut burst, piece);
            // Models send the odd pair of tokens at once, and the end of a message comes in one go.
            if n + 2 < script.len() && n % 7 != 3 {
                burst.send();
                self.wait(16.0 + (n * 7 % 19) as f64).await;
            }
        }
        let shown = if out.messages() { id } else { format!("{id}-0") };
        let whole = reply.message(&shown, &usage);
        let data = json!({"output": whole, "input": input["input"]});
        out.chain_event(&mut burst, "on_chat_model_end", "ScriptedModel", &data, Some(&self.spot));
        burst.send();
        whole
    }

    /// Runs a subgraph on this node's state and returns the state that it ends with.
    pub async fn subgraph(&self, graph: Graph) -> Result<Object, Stop> {
        let start = Start {
            base: None,
            input: Some(Value::Object(self.state.clone())),
            answer: None,
            hold_before: Vec::new(),
            hold_after: Vec::new(),
            limit: 25,
        };
        run_level(self.out, graph, self.spot.inner(), self.parents.clone(), start).boxed().await
    }
}

/// A task that is planned: the id is known before it starts.
#[derive(Debug, Clone)]
struct Task {
    id: String,
    name: String,
}

/// One level of a running graph.
struct Level<'a> {
    out: &'a Output,
    graph: Graph,
    ns: Vec<String>,
    parents: Object,
    state: Object,
    step: i64,
    last: Option<String>,
}

/// Runs a whole graph, or a subgraph, and returns its final state.
pub fn run_level<'a>(
    out: &'a Output,
    graph: Graph,
    ns: Vec<String>,
    parents: Object,
    start: Start,
) -> BoxFuture<'a, Result<Object, Stop>> {
    async move {
        let (state, last) = match &start.base {
            Some(base) => (base.values.clone(), Some(base.id.clone())),
            None => (graph.initial(), None),
        };
        let step = start.base.as_ref().map_or(-2, |base| base.metadata["step"].as_i64().unwrap_or(0));
        let mut level = Level { out, graph, ns, parents, state, step, last };
        let mut tasks = level.begin(&start);
        let first = level.step;
        let mut held_once = start.input.is_none();
        let mut answer = start.answer;
        while !tasks.is_empty() {
            if !held_once && named(&tasks, &start.hold_before) {
                level.hold(&tasks);
                return Err(Stop::Held);
            }
            held_once = false;
            if level.step - first >= start.limit {
                return Err(recursion(start.limit));
            }
            let next = level.step(&tasks, answer.take()).await?;
            if !next.is_empty() && named(&tasks, &start.hold_after) {
                level.hold(&next);
                return Err(Stop::Held);
            }
            tasks = next;
        }
        let mut burst = out.burst();
        if level.ns.is_empty() {
            let output = json!({"output": level.state});
            out.chain_event(&mut burst, "on_chain_end", graph.name(), &output, None);
        }
        burst.send();
        Ok(level.state)
    }
    .boxed()
}

fn recursion(limit: i64) -> Stop {
    let message = format!(
        "Recursion limit of {limit} reached without hitting a stop condition. You can increase the limit by setting \
         the `recursion_limit` config key.\nFor troubleshooting, visit: \
         https://docs.langchain.com/oss/python/langgraph/errors/GRAPH_RECURSION_LIMIT"
    );
    Stop::Failed { error: "GraphRecursionError".into(), message }
}

/// Whether a list of names, which may be `*`, names one of these tasks.
fn named(tasks: &[Task], names: &[String]) -> bool {
    let all = names.iter().any(|name| name == "*");
    tasks.iter().any(|task| all || names.contains(&task.name))
}

fn plan(names: &[&str]) -> Vec<Task> {
    names.iter().map(|name| Task { id: uuid4(), name: (*name).to_owned() }).collect()
}

impl Level<'_> {
    /// Takes the input in, or shows the state that the run goes on from. Returns the first tasks.
    fn begin(&mut self, start: &Start) -> Vec<Task> {
        let out = self.out;
        let mut burst = out.burst();
        if self.ns.is_empty() {
            let input = json!({"input": start.input});
            out.chain_event(&mut burst, "on_chain_start", self.graph.name(), &input, None);
        }
        let Some(input) = start.input.as_ref().filter(|input| input.is_object()) else {
            if out.modes.values {
                burst.add("values", &self.ns, &Value::Object(self.state.clone()));
            }
            burst.send();
            return self.waiting(start.base.as_ref());
        };
        self.step += 1;
        self.checkpoint(&mut burst, "input", &[Task { id: uuid4(), name: "__start__".into() }]);
        self.graph.merge(&mut self.state, input);
        self.step += 1;
        let tasks = plan(&self.graph.start());
        if out.modes.values {
            burst.add("values", &self.ns, &Value::Object(self.state.clone()));
        }
        self.checkpoint(&mut burst, "loop", &tasks);
        burst.send();
        tasks
    }

    /// The tasks that the last run left.
    fn waiting(&self, base: Option<&Checkpoint>) -> Vec<Task> {
        let Some(base) = base else { return Vec::new() };
        base.tasks
            .iter()
            .filter_map(|task| {
                Some(Task { id: task["id"].as_str()?.to_owned(), name: task["name"].as_str()?.to_owned() })
            })
            .collect()
    }

    /// Runs the tasks of one super-step side by side and returns the next ones.
    async fn step(&mut self, tasks: &[Task], answer: Option<Value>) -> Result<Vec<Task>, Stop> {
        let out = self.out;
        let step = self.step + 1;
        let mut burst = out.burst();
        let spots: Vec<Spot> = tasks
            .iter()
            .map(|task| Spot { ns: self.ns.clone(), node: task.name.clone(), task: task.id.clone(), step })
            .collect();
        let input = Value::Object(self.state.clone());
        for spot in &spots {
            let event = json!({
                "id": spot.task, "name": spot.node, "input": input,
                "triggers": [format!("branch:to:{}", spot.node)], "metadata": out.task_metadata(),
            });
            if out.modes.tasks {
                burst.add("tasks", &self.ns, &event);
            }
            out.debug(&mut burst, &self.ns, step, "task", &event);
            out.chain_event(&mut burst, "on_chain_start", &spot.node, &json!({"input": input}), Some(spot));
        }
        burst.send();
        let level = &*self;
        let done = join_all(spots.iter().map(|spot| {
            let mut parents = level.parents.clone();
            parents.insert(level.ns.join("|"), json!(level.last));
            let node = Node { out, spot: spot.clone(), state: level.state.clone(), answer: answer.clone(), parents };
            async move {
                let result = level.graph.node(&node).await;
                if let Ok(update) = &result {
                    level.finished(&node.spot, update);
                }
                result
            }
        }))
        .await;
        self.settle(tasks, done)
    }

    /// Sends what a finished node brought.
    fn finished(&self, spot: &Spot, update: &Value) {
        let out = self.out;
        let mut burst = out.burst();
        out.whole_messages(&mut burst, spot, update);
        if out.modes.updates {
            burst.add("updates", &self.ns, &json!({&spot.node: update}));
        }
        self.ended(&mut burst, spot, &Value::Null, update, &json!([]));
        out.chain_event(&mut burst, "on_chain_stream", &spot.node, &json!({"chunk": update}), Some(spot));
        let data = json!({"output": update, "input": self.state});
        out.chain_event(&mut burst, "on_chain_end", &spot.node, &data, Some(spot));
        burst.send();
    }

    fn ended(&self, burst: &mut Burst<'_>, spot: &Spot, error: &Value, result: &Value, interrupts: &Value) {
        let event = json!({
            "id": spot.task, "name": spot.node, "error": error, "result": result, "interrupts": interrupts,
        });
        if self.out.modes.tasks {
            burst.add("tasks", &self.ns, &event);
        }
        self.out.debug(burst, &self.ns, spot.step, "task_result", &event);
    }

    /// Ends a super-step: merges what the nodes returned, or stops at a failure or a question.
    fn settle(&mut self, tasks: &[Task], done: Vec<Result<Value, Stop>>) -> Result<Vec<Task>, Stop> {
        let out = self.out;
        let spot = |task: &Task| Spot {
            ns: self.ns.clone(),
            node: task.name.clone(),
            task: task.id.clone(),
            step: self.step + 1,
        };
        let mut burst = out.burst();
        for (task, result) in tasks.iter().zip(&done) {
            if let Err(Stop::Failed { error, message }) = result {
                let shown = json!({"error": error, "message": message});
                self.ended(&mut burst, &spot(task), &shown, &json!({}), &json!([]));
                burst.send();
                self.mark(tasks, &task.id, "error", &json!(format!("{error}({message:?})")));
                return Err(Stop::Failed { error: error.clone(), message: message.clone() });
            }
        }
        for (task, result) in tasks.iter().zip(&done) {
            let question = match result {
                Err(Stop::Asked(question)) => question,
                Err(stop) => return Err(stop.clone()),
                Ok(_) => continue,
            };
            let id = task.id.replace('-', "");
            let raised = json!([{"value": question, "id": id, "response_schema": null}]);
            if out.modes.updates {
                burst.add("updates", &self.ns, &json!({"__interrupt__": raised}));
            }
            if out.modes.values {
                let mut values = self.state.clone();
                values.insert("__interrupt__".into(), raised.clone());
                burst.add("values", &self.ns, &Value::Object(values));
            }
            self.ended(&mut burst, &spot(task), &Value::Null, &json!({}), &raised);
            // The thread must say that it waits before a reader can learn it from the stream.
            self.mark(tasks, &task.id, "interrupts", &raised);
            burst.send();
            return Err(Stop::Asked(question.clone()));
        }
        for (task, update) in tasks.iter().zip(done.into_iter().flatten()) {
            self.graph.merge(&mut self.state, &update);
            self.mark(tasks, &task.id, "result", &update);
        }
        self.step += 1;
        let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        let next = plan(&self.graph.next(&names, &self.state));
        if out.modes.values {
            burst.add("values", &self.ns, &Value::Object(self.state.clone()));
        }
        self.checkpoint(&mut burst, "loop", &next);
        burst.send();
        Ok(next)
    }

    /// Stops before a node.
    fn hold(&self, tasks: &[Task]) {
        if self.out.modes.updates {
            self.out.burst().add("updates", &self.ns, &json!({"__interrupt__": []})).send();
        }
        if let Some(task) = tasks.first() {
            self.mark(tasks, &task.id, "interrupts", &json!([]));
        }
    }

    /// Writes something about a task into the saved state: its question, or its failure.
    fn mark(&self, tasks: &[Task], id: &str, key: &str, value: &Value) {
        if !self.ns.is_empty() {
            return;
        }
        self.out.agent.with_thread(&self.out.thread, |thread| {
            let Some(checkpoint) = thread.checkpoints.last_mut() else { return };
            checkpoint.next = tasks.iter().map(|task| task.name.clone()).collect();
            for task in &mut checkpoint.tasks {
                if task["id"] == id {
                    task[key] = value.clone();
                }
            }
        });
    }

    /// Saves the state and tells it.
    fn checkpoint(&mut self, burst: &mut Burst<'_>, source: &str, next: &[Task]) {
        let out = self.out;
        let at = Timestamp::now();
        let id = checkpoint_id(at, self.step);
        let names: Vec<String> = next.iter().map(|task| task.name.clone()).collect();
        if out.modes.checkpoints || out.modes.debug {
            let parent = self.last.as_deref().map(|last| out.checkpoint_config(&self.ns, &self.parents, last));
            let tasks: Vec<Value> = next
                .iter()
                .map(|task| json!({"id": task.id, "name": task.name, "interrupts": [], "state": self.inside(task)}))
                .collect();
            let mut payload = json!({
                "config": out.checkpoint_config(&self.ns, &self.parents, &id), "parent_config": parent,
                "values": self.state, "metadata": {"source": source, "step": self.step, "parents": self.parents},
                "next": names, "tasks": tasks,
            });
            if out.modes.checkpoints {
                burst.add("checkpoints", &self.ns, &payload);
            }
            let ns = self.ns.join("|");
            let place = |id: &String| json!({"checkpoint_id": id, "thread_id": out.thread, "checkpoint_ns": ns});
            payload["parent_checkpoint"] = self.last.as_ref().map(place).unwrap_or_default();
            payload["checkpoint"] = place(&id);
            out.debug(burst, &self.ns, self.step, "checkpoint", &payload);
        }
        if self.ns.is_empty() {
            self.save(&id, source, at, next, names);
        }
        self.last = Some(id);
    }

    fn inside(&self, task: &Task) -> Value {
        if !self.out.subgraphs || self.graph.inner(&task.name).is_none() {
            return Value::Null;
        }
        let ns = format!("{}:{}", task.name, task.id);
        json!({"configurable": {"thread_id": self.out.thread, "checkpoint_ns": ns}})
    }

    fn save(&self, id: &str, source: &str, at: Timestamp, next: &[Task], names: Vec<String>) {
        let out = self.out;
        let tasks = next
            .iter()
            .map(|task| {
                json!({
                    "id": task.id, "name": task.name, "path": ["__pregel_pull", task.name], "error": null,
                    "interrupts": [], "checkpoint": null, "state": null, "result": null,
                })
            })
            .collect();
        let mut metadata = out.base();
        metadata["user_id"] = json!("");
        metadata["thread_id"] = json!(out.thread);
        metadata["run_id"] = json!(out.run);
        metadata["langgraph_auth_user_id"] = json!("");
        metadata["langgraph_request_id"] = out.configurable.get("langgraph_request_id").cloned().unwrap_or_default();
        metadata["source"] = json!(source);
        metadata["step"] = json!(self.step);
        metadata["parents"] = json!({});
        let values = self.state.clone();
        let parent = self.last.clone();
        let saved = Checkpoint { id: id.to_owned(), parent, values, next: names, tasks, metadata, at };
        out.agent.with_thread(&out.thread, |thread| {
            thread.checkpoints.push(saved);
            thread.state_updated_at = at;
            thread.updated_at = at;
        });
    }
}
