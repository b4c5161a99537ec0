//! Threads that a client creates with a history: each super-step is saved as one checkpoint.

use super::edit::{edit, graph_of, no_node, touch};
use super::graphs::Graph;
use super::refuse::Refusal;
use super::state::{Checkpoint, Object, Task, Thread};
use crate::ids::checkpoint_id;
use jiff::Timestamp;
use serde_json::{Value, json};

/// Saves the super-steps of a new thread, oldest first.
pub fn build(thread: &mut Thread, supersteps: &Value, now: Timestamp) -> Result<(), Refusal> {
    for superstep in supersteps.as_array().into_iter().flatten() {
        let graph = graph_of(thread)?;
        let updates = superstep["updates"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        match updates {
            [one] if one["as_node"] == "__input__" => save_input(thread, graph, now),
            [one] => drop(edit(thread, one, now)?),
            several => save_parallel(thread, graph, several, now)?,
        }
    }
    if !thread.checkpoints.is_empty() {
        touch(thread, now);
    }
    Ok(())
}

/// The input itself is lost, because the update that follows runs no node that would read it.
fn save_input(thread: &mut Thread, graph: Graph, now: Timestamp) {
    let values = thread
        .checkpoint(None)
        .map_or_else(|| graph.initial(), |last| last.values.clone());
    save(
        thread,
        graph,
        "input",
        values,
        vec![Task::new("__start__")],
        now,
    );
}

/// Several nodes wrote in the same step.
fn save_parallel(
    thread: &mut Thread,
    graph: Graph,
    updates: &[Value],
    now: Timestamp,
) -> Result<(), Refusal> {
    let mut values = thread
        .checkpoint(None)
        .map_or_else(|| graph.initial(), |last| last.values.clone());
    let mut nodes = Vec::new();
    for update in updates {
        let node = update["as_node"].as_str().unwrap_or_default();
        if !graph.nodes().contains(&node) {
            return Err(no_node(node));
        }
        graph.merge(&mut values, &update["values"]);
        nodes.push(node);
    }
    let tasks = graph
        .next(&nodes, &values)
        .into_iter()
        .map(Task::new)
        .collect();
    save(thread, graph, "update", values, tasks, now);
    Ok(())
}

fn save(
    thread: &mut Thread,
    graph: Graph,
    source: &str,
    values: Object,
    tasks: Vec<Task>,
    now: Timestamp,
) {
    let last = thread.checkpoint(None);
    let step = last.map_or(-2, Checkpoint::step) + 1;
    let parent = last.map(|last| last.id.clone());
    let metadata = json!({"graph_id": graph.name(), "thread_id": thread.id, "source": source, "step": step, "parents": {}});
    let at = thread.later(now);
    let id = checkpoint_id(at, step);
    thread.checkpoints.push(Checkpoint {
        id,
        parent,
        values,
        tasks,
        metadata,
        at,
    });
}
