//! Threads that a client creates with a history: each super-step is saved as one checkpoint.

use super::edit::{edit, graph_of, no_node, touch};
use crate::agent::prelude::*;

/// Saves the super-steps of a new thread, oldest first.
pub fn build(thread: &mut Thread, supersteps: &Value, now: Timestamp) -> Result<(), Refusal> {
    for superstep in items_of(supersteps) {
        let graph = graph_of(thread)?;
        let updates: Vec<&Value> = items_of(&superstep["updates"]).collect();
        match updates[..] {
            [one] if one["as_node"] != "__input__" => drop(edit(thread, one, now)?),
            _ => save(thread, graph, &updates, now)?,
        }
    }
    if !thread.checkpoints.is_empty() {
        touch(thread, now);
    }
    Ok(())
}

/// Several nodes wrote in the same step. An input is lost, because the update that follows runs no node that would read it.
fn save(
    thread: &mut Thread,
    graph: Graph,
    updates: &[&Value],
    now: Timestamp,
) -> Result<(), Refusal> {
    let last = thread.checkpoint(None);
    let step = last.map_or(-2, Checkpoint::step) + 1;
    let parent = last.map(|last| last.id.clone());
    let mut values = last.map_or_else(|| graph.initial(), |last| last.values.clone());
    let is_input = matches!(updates, [one] if one["as_node"] == "__input__");
    let mut nodes = Vec::new();
    for update in updates.iter().filter(|_| !is_input) {
        let node = text_of(&update["as_node"]);
        if !graph.nodes().contains(&node) {
            return Err(no_node(node));
        }
        graph.merge(&mut values, &update["values"]);
        nodes.push(node);
    }
    let (source, next) = if is_input {
        ("input", vec!["__start__"])
    } else {
        ("update", graph.next(&nodes, &values))
    };
    let tasks = next.into_iter().map(Task::new).collect();
    let metadata = json!({"graph_id": graph.name(), "thread_id": thread.id, "source": source, "step": step, "parents": {}});
    thread.save(parent, values, tasks, metadata, now, step);
    Ok(())
}
