//! One level of a running graph: its super-steps, and the checkpoints between them.

use super::{Answers, Start, Stop};
use crate::Dialect;
use crate::agent::emit::{Burst, Output};
use crate::agent::graphs::Graph;
use crate::agent::message;
use crate::agent::rows;
use crate::agent::state::{Checkpoint, Object, Task};
use crate::ids::checkpoint_id;
use futures::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// One level of a running graph.
pub(super) struct Level<'a> {
    pub(super) out: &'a Output,
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
    graph: Graph,
    ns: Vec<String>,
    parents: Object,
    start: Start,
) -> BoxFuture<'a, Result<Object, Stop>> {
    async move {
        let javascript = out.agent.dialect == Dialect::JavaScript;
        let mut level = Level::new(out, graph, ns, parents, start.base.as_ref());
        // As in LangGraph: a new run may take `limit` steps and must then be finished, a continued one two more.
        let last_step = level.step + 2 + start.limit;
        // A run that continues passes the breakpoint at which the previous run stopped.
        let mut passes = !matches!(start.begin, super::Begin::Input(_));
        level.begin(&start.begin, start.base)?;
        loop {
            let too_far = level.step + 1 > last_step;
            if !(too_far && javascript) {
                let mut burst = out.burst();
                level.report(&mut burst);
                burst.send();
            }
            if too_far {
                return Err(recursion(out.agent.dialect, start.limit));
            }
            if level.tasks.is_empty() {
                break;
            }
            if !passes && named(&level.tasks, &start.hold_before) {
                level.hold();
                return Err(Stop::Held);
            }
            passes = false;
            let ran: Vec<Task> = level.run_step().await?;
            // The JavaScript server also stops after the last node, and before it reports the new checkpoint.
            if named(&ran, &start.hold_after) && (javascript || !level.tasks.is_empty()) {
                if !javascript {
                    let mut burst = out.burst();
                    level.report(&mut burst);
                    burst.send();
                }
                level.hold();
                return Err(Stop::Held);
            }
        }
        let mut burst = out.burst();
        if level.ns.is_empty() {
            out.chain_event(
                &mut burst,
                "on_chain_end",
                graph.name(),
                &json!({"output": level.values}),
                None,
            );
        }
        burst.send();
        Ok(level.values)
    }
    .boxed()
}

fn recursion(dialect: Dialect, limit: i64) -> Stop {
    if dialect == Dialect::JavaScript {
        let message = format!(
            "Recursion limit of {limit} reached without hitting a stop condition. You can increase the limit by setting \
             the \"recursionLimit\" config key.\n\nTroubleshooting URL: \
             https://docs.langchain.com/oss/javascript/langgraph/GRAPH_RECURSION_LIMIT/\n"
        );
        return Stop::failed("GraphRecursionError", message);
    }
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
        if self.out.agent.dialect == Dialect::JavaScript
            && let Some(messages) = self
                .values
                .get_mut("messages")
                .and_then(Value::as_array_mut)
        {
            messages.iter_mut().for_each(message::javascript);
        }
    }

    /// Adds a `values` event. The JavaScript server puts an envelope before it where subgraphs are streamed.
    pub(super) fn emit_values(&self, burst: &mut Burst<'_>) {
        let out = self.out;
        if !out.modes.values {
            return;
        }
        if out.agent.dialect == Dialect::JavaScript && out.subgraphs && !out.modes.checkpoints {
            let envelope = json!({
                "id": self.checkpoint, "parent_id": self.parent, "step": self.step, "source": self.metadata["source"],
            });
            burst.add("checkpoints", &self.ns, &envelope);
        }
        burst.add("values", &self.ns, &Value::Object(self.values.clone()));
    }

    /// Records the current checkpoint and adds its events: its tasks are about to run.
    pub(super) fn report(&self, burst: &mut Burst<'_>) {
        let out = self.out;
        if self.ns.is_empty() {
            out.report(&self.values, &self.tasks);
        }
        let Some(id) = self
            .checkpoint
            .as_ref()
            .filter(|_| out.modes.checkpoints || out.modes.debug)
        else {
            return;
        };
        let names: Vec<&str> = self.tasks.iter().map(|task| task.name.as_str()).collect();
        let metadata = if self.metadata["run_id"] == out.run {
            json!({"source": self.metadata["source"], "step": self.step, "parents": self.parents})
        } else {
            self.metadata.clone()
        };
        let javascript = out.agent.dialect == Dialect::JavaScript;
        if javascript && out.modes.checkpoints {
            let event = json!({"values": self.values, "metadata": metadata, "next": names});
            burst.add("checkpoints", &self.ns, &event);
        }
        let mut payload = json!({
            "config": out.checkpoint_config(&self.ns, &self.parents, id),
            "parent_config": self.parent.as_deref().map(|id| out.checkpoint_config(&self.ns, &self.parents, id)),
            "values": self.values, "metadata": metadata, "next": names,
            "tasks": self.tasks.iter().map(|task| self.task_of_event(task)).collect::<Vec<_>>(),
        });
        if out.modes.checkpoints && !javascript {
            burst.add("checkpoints", &self.ns, &payload);
        }
        let ns = self.ns.join("|");
        let place = |id: &String| json!({"checkpoint_id": id, "thread_id": out.thread, "checkpoint_ns": ns});
        payload["parent_checkpoint"] = self.parent.as_ref().map(place).unwrap_or_default();
        payload["checkpoint"] = place(id);
        out.debug(burst, &self.ns, self.step, "checkpoint", &payload);
    }

    fn task_of_event(&self, task: &Task) -> Value {
        let dialect = self.out.agent.dialect;
        let raised: Vec<Value> = task
            .raised
            .as_ref()
            .map(|raised| rows::interrupt(dialect, raised, true))
            .into_iter()
            .collect();
        let mut state = Value::Null;
        if self.out.subgraphs && self.graph.inner(&task.name).is_some() {
            let ns = format!("{}:{}", task.name, task.id);
            state = json!({"configurable": {"thread_id": self.out.thread, "checkpoint_ns": ns}});
        }
        let mut row =
            json!({"id": task.id, "name": task.name, "interrupts": raised, "state": state});
        if dialect == Dialect::JavaScript {
            row["path"] = json!(["__pregel_pull", task.name]);
        }
        row
    }

    /// Stops before the next tasks.
    fn hold(&self) {
        let mut burst = self.out.burst();
        self.out.held(&mut burst, &self.ns);
        burst.send();
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
            let tasks = thread
                .checkpoint_mut(checkpoint)
                .map(|checkpoint| &mut checkpoint.tasks);
            if let Some(task) = tasks.and_then(|tasks| tasks.iter_mut().find(|task| task.id == *id))
            {
                change(task);
            }
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
                checkpoint.tasks.retain(|task| !self.graph.has(task));
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
                let at = thread.later(now);
                let id = checkpoint_id(at, self.step);
                let mut parent = self.parent.clone();
                if out.only_last {
                    parent = thread.forget_step(parent, &out.run);
                }
                let (values, tasks) = (self.saved_values(), self.tasks.clone());
                thread.checkpoints.push(Checkpoint {
                    id: id.clone(),
                    parent,
                    values,
                    tasks,
                    metadata,
                    at,
                });
                id
            })
        });
        // A thread that was deleted in the meantime stores nothing.
        self.checkpoint = Some(
            saved
                .flatten()
                .unwrap_or_else(|| checkpoint_id(now, self.step)),
        );
    }
    /// The state as a checkpoint stores it.
    fn saved_values(&self) -> Object {
        let mut values = self.foreign.clone();
        values.extend(self.values.clone());
        values
    }
}
