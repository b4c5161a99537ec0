//! One level of a running graph: its super-steps, and the checkpoints between them.

use super::{Answers, Play, Start};
use crate::agent::prelude::*;

/// One level of a running graph.
pub(super) struct Level<'a> {
    pub(super) out: &'a Output,
    pub(super) play: Play,
    pub(super) graph: Graph,
    pub(super) ns: Vec<String>,
    pub(super) parents: Object,
    /// The state at the start of the step.
    pub(super) values: Object,
    /// What other graphs wrote on this thread. This graph does not see it, and its checkpoints keep it.
    foreign: Object,
    /// The step of the current checkpoint.
    pub(super) step: i64,
    /// The current checkpoint.
    pub(super) checkpoint: Option<String>,
    parent: Option<String>,
    metadata: Value,
    pub(super) tasks: Vec<Task>,
    pub(super) answers: Answers,
    pub(super) bare: Arc<Mutex<Option<Value>>>,
}

/// Runs a graph, or a subgraph, and returns its final state.
pub fn run_level<'a>(
    out: &'a Output,
    play: Play,
    graph: Graph,
    ns: Vec<String>,
    parents: Object,
    start: Start,
) -> BoxFuture<'a, Result<Object, Stop>> {
    async move {
        let mut level = Level::new(out, play, graph, ns, parents, start.base.as_ref());
        // As in LangGraph: a new run may take `limit` steps and must then be finished, a continued one two more.
        let last_step = level.step + 2 + start.limit;
        // A run that continues passes the breakpoint at which the previous run stopped.
        let mut passes = !matches!(start.begin, super::Begin::Input(_));
        level.begin(&start.begin, start.base)?;
        loop {
            level.report();
            if level.step + 1 > last_step {
                return Err(recursion(start.limit));
            }
            if level.tasks.is_empty() {
                break;
            }
            if !passes && named(&level.tasks, &start.hold_before) {
                return Err(level.hold());
            }
            passes = false;
            let ran: Vec<Task> = level.run_step().await?;
            if named(&ran, &start.hold_after) && !level.tasks.is_empty() {
                level.report();
                return Err(level.hold());
            }
        }
        if level.ns.is_empty() {
            let mut burst = out.burst();
            burst.chain_event(
                "on_chain_end",
                graph.name(),
                &json!({"output": level.values}),
                None,
            );
            burst.send();
        }
        Ok(level.values)
    }
    .boxed()
}

fn recursion(limit: i64) -> Stop {
    let message = format!(
        "Recursion limit of {limit} reached without hitting a stop condition. You can increase the limit by setting \
         the `recursion_limit` config key.\nFor troubleshooting, visit: \
         https://docs.langchain.com/oss/python/langgraph/errors/GRAPH_RECURSION_LIMIT"
    );
    Stop::failed("GraphRecursionError", message)
}

/// Whether a list of names, which may be `*`, names one of these tasks.
fn named(tasks: &[Task], names: &[String]) -> bool {
    let all = names.iter().any(|name| name == "*");
    tasks.iter().any(|task| all || names.contains(&task.name))
}

impl<'a> Level<'a> {
    fn new(
        out: &'a Output,
        play: Play,
        graph: Graph,
        ns: Vec<String>,
        parents: Object,
        base: Option<&Checkpoint>,
    ) -> Self {
        let (values, foreign) = base.map_or_else(
            || (graph.initial(), Object::new()),
            |base| graph.split(&base.values),
        );
        Level {
            out,
            play,
            graph,
            ns,
            parents,
            values,
            foreign,
            step: base.map_or(-2, Checkpoint::step),
            checkpoint: base.map(|base| base.id.clone()),
            parent: base.and_then(|base| base.parent.clone()),
            metadata: base.map(|base| base.metadata.clone()).unwrap_or_default(),
            tasks: Vec::new(),
            answers: Answers::None,
            bare: Arc::default(),
        }
    }

    /// Merges an update into the state.
    pub(super) fn merge(&mut self, update: &Value) {
        self.graph.merge(&mut self.values, update);
    }

    /// Sends the state.
    pub(super) fn send_values(&self) {
        self.out
            .burst()
            .add("values", &self.ns, &json!(self.values))
            .send();
    }

    /// Records the current checkpoint and sends its events: its tasks are about to run.
    pub(super) fn report(&self) {
        let out = self.out;
        if self.ns.is_empty() {
            out.report(&self.values, &self.tasks);
        }
        let Some(id) = self.checkpoint.as_ref().filter(|_| !out.modes.is_empty()) else {
            return;
        };
        let names: Vec<&str> = self.tasks.iter().map(|task| task.name.as_str()).collect();
        let metadata = if self.metadata["run_id"] == out.run {
            json!({"source": self.metadata["source"], "step": self.step, "parents": self.parents})
        } else {
            self.metadata.clone()
        };
        let config = |id| out.checkpoint_config(&self.ns, &self.parents, id);
        let tasks: Vec<Value> = self
            .tasks
            .iter()
            .map(|task| self.task_of_event(task))
            .collect();
        let mut payload = json!({
            "config": config(id), "parent_config": self.parent.as_deref().map(config), "values": self.values,
            "metadata": metadata, "next": names, "tasks": tasks,
        });
        let mut burst = out.burst();
        burst.add("checkpoints", &self.ns, &payload);
        let ns = self.ns.join("|");
        let place = |id: &String| json!({"checkpoint_id": id, "thread_id": out.thread, "checkpoint_ns": ns});
        payload["parent_checkpoint"] = json!(self.parent.as_ref().map(place));
        payload["checkpoint"] = place(id);
        burst.debug(&self.ns, self.step, "checkpoint", &payload);
        burst.send();
    }

    fn task_of_event(&self, task: &Task) -> Value {
        let raised = rows::interrupts(task.raised.as_ref(), true);
        let inner = self.graph.inner(&task.name).filter(|_| self.out.subgraphs);
        let state = inner.map(|_| {
            let ns = format!("{}:{}", task.name, task.id);
            json!({"configurable": {"thread_id": self.out.thread, "checkpoint_ns": ns}})
        });
        json!({"id": task.id, "name": task.name, "interrupts": raised, "state": state})
    }

    /// Stops before the next tasks.
    fn hold(&self) -> Stop {
        let event = json!({"__interrupt__": []});
        self.out.burst().add("updates", &self.ns, &event).send();
        Stop::Held
    }

    /// Changes a task, also in the saved checkpoint.
    pub(super) fn change_task(&mut self, index: usize, change: impl Fn(&mut Task)) {
        let Some(task) = self.tasks.get_mut(index) else {
            return;
        };
        change(task);
        let (Some(checkpoint), true) = (&self.checkpoint, self.ns.is_empty()) else {
            return;
        };
        let id = &task.id;
        self.out.agent.with_thread(&self.out.thread, |thread| {
            let checkpoint = thread.checkpoint_mut(checkpoint)?;
            let mut tasks = checkpoint.tasks.iter_mut();
            tasks.find(|task| task.id == *id).map(change)
        });
    }

    /// Updates state and tasks of the saved checkpoint after a command.
    pub(super) fn store(&self) {
        let (Some(checkpoint), true) = (&self.checkpoint, self.ns.is_empty()) else {
            return;
        };
        self.out.agent.with_thread(&self.out.thread, |thread| {
            if let Some(checkpoint) = thread.checkpoint_mut(checkpoint) {
                checkpoint.values = self.saved_values();
                // The tasks of another graph stay as they are.
                checkpoint.tasks.retain(|task| !self.graph.has(&task.name));
                checkpoint.tasks.extend(self.tasks.iter().cloned());
            }
        });
    }

    /// Saves the state and its tasks as a new checkpoint after the current one.
    pub(super) fn save(&mut self, source: &str) {
        let out = self.out;
        let now = out.clock.now();
        let metadata = out.checkpoint_metadata(source, self.step);
        self.parent = self.checkpoint.take();
        self.metadata = metadata.clone();
        let root = self.ns.is_empty();
        let saved = root.then(|| {
            out.agent.with_thread(&out.thread, |thread| {
                let mut parent = self.parent.clone();
                if out.only_last {
                    parent = thread.forget_step(parent, &out.run);
                }
                let (values, tasks) = (self.saved_values(), self.tasks.clone());
                thread.save(parent, values, tasks, metadata, now, self.step)
            })
        });
        // A thread that was deleted in the meantime stores nothing.
        let id = saved.flatten();
        self.checkpoint = Some(id.unwrap_or_else(|| checkpoint_id(now, self.step)));
    }

    /// The state as a checkpoint stores it.
    fn saved_values(&self) -> Object {
        let mut values = self.foreign.clone();
        values.extend(self.values.clone());
        values
    }
}
