//! Manual state edits.

use super::cancel::active_runs;
use crate::agent::prelude::*;

/// Saves a new checkpoint. Returns its id and the resulting state.
pub fn edit(thread: &mut Thread, body: &Value, now: Timestamp) -> Result<(String, Value), Refusal> {
    if thread.has_active_runs() {
        let runs = active_runs(thread);
        return Err(conflict(&format!(
            "Thread {} has in-flight runs: {runs}",
            thread.id
        )));
    }
    let graph = graph_of(thread)?;
    let asked = body["checkpoint_id"]
        .as_str()
        .or(body["checkpoint"]["checkpoint_id"].as_str());
    let base = thread.checkpoint(asked).cloned();
    let node = body["as_node"].as_str();
    if let Some(node) = node
        && !graph.nodes().contains(&node)
        && !["__start__", "__end__", "__copy__"].contains(&node)
    {
        return Err(no_node(node));
    }
    if body["values"].is_array() {
        return Err(bad(&format!(
            "Expected dict, got {}\nFor troubleshooting, visit: \
             https://docs.langchain.com/oss/python/langgraph/errors/INVALID_GRAPH_NODE_RETURN_VALUE",
            python_repr(&body["values"])
        )));
    }
    let copies = node == Some("__copy__");
    let mut values = base
        .as_ref()
        .map_or_else(|| graph.initial(), |base| base.values.clone());
    // Finished tasks of an unfinished step have already written, but not for an edit of a checkpoint that is named.
    let unfinished = base.as_ref().filter(|_| !copies && asked.is_none());
    let tasks = unfinished
        .into_iter()
        .flat_map(|base| base.tasks_for(Some(graph)));
    for result in tasks.filter_map(|task| task.result.as_ref()) {
        graph.merge(&mut values, result);
    }
    graph.merge(&mut values, &body["values"]);
    let step = base.as_ref().map_or(-1, Checkpoint::step) + 1;
    let mut metadata = json!({
        "graph_id": graph.name(), "thread_id": thread.id, "source": if copies { "fork" } else { "update" },
        "step": step, "parents": {},
    });
    if let Some(id) = asked {
        metadata["checkpoint_id"] = json!(id);
    }
    // The new tasks have new ids, and the questions of the old ones are gone.
    let tasks = next(graph, node.filter(|_| !copies), base.as_ref(), &values);
    // The ids of these two repeat the step of the state before.
    let repeats = copies || node == Some("__end__");
    let parent = base.and_then(|base| if copies { base.parent } else { Some(base.id) });
    let step = step - i64::from(repeats);
    let id = thread.save(parent, values, tasks, metadata, now, step);
    touch(thread, now);
    let state = thread
        .checkpoint(None)
        .map(|newest| rows::state(thread, newest, true));
    Ok((id, state.unwrap_or_default()))
}

/// Returns the tasks after an edit in the name of a node. Without one, it counts as another write of the node that wrote last, so the
/// same nodes are next.
fn next(graph: Graph, node: Option<&str>, base: Option<&Checkpoint>, values: &Object) -> Vec<Task> {
    let names = match (node, base) {
        (Some("__start__"), _) => graph.start(),
        (Some("__end__"), _) | (None, None) => Vec::new(),
        (Some(node), _) => graph.next(&[node], values),
        (None, Some(base)) => {
            let own = base.tasks_for(Some(graph));
            return own.map(|task| Task::new(&task.name)).collect();
        }
    };
    names.into_iter().map(Task::new).collect()
}

/// Returns the graph that a thread's edits need.
pub(super) fn graph_of(thread: &Thread) -> Result<Graph, Refusal> {
    thread.graph().ok_or_else(|| {
        bad(&format!(
            "Thread '{}' has no assigned graph ID. This usually occurs when no runs have been made on this \
             particular thread. This operation requires a graph ID. Please ensure a run has been made for the \
             thread or manually update the thread metadata (by setting the 'graph_id' field) before running this \
             operation.",
            thread.id
        ))
    })
}

pub(super) fn no_node(node: &str) -> Refusal {
    bad(&format!("Node {node} does not exist"))
}

/// Applies an edit to the thread's row, even if the thread was busy without a run.
pub(super) fn touch(thread: &mut Thread, now: Timestamp) {
    let Some(newest) = thread.checkpoints.last() else {
        return;
    };
    let (values, waits) = (newest.values_for(thread.graph()), !newest.tasks.is_empty());
    thread.values = Some(values);
    thread.interrupts = Some(Object::new());
    thread.error = None;
    thread.status = if waits { "interrupted" } else { "idle" }.into();
    thread.touched = true;
    thread.updated_at = now;
    thread.state_updated_at = now;
}
