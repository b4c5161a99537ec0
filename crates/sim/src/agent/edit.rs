//! Manual state edits.

use super::python::python_repr;
use super::refuse::Problem;
use super::rows;
use super::state::{Checkpoint, Object, Task, Thread};
use crate::Dialect;
use crate::ids::checkpoint_id;
use axum::http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

/// Saves a new checkpoint. Returns its id and the resulting state.
pub fn edit(
    dialect: Dialect,
    thread: &mut Thread,
    body: &Value,
    now: Timestamp,
) -> Result<(String, Value), Problem> {
    if thread.has_active_runs() && dialect != Dialect::Aegra {
        return Err(Problem::EditWhileBusy {
            thread: thread.id.clone(),
            runs: String::new(),
        });
    }
    let Some(graph) = thread.graph() else {
        return Err(Problem::NoGraph(thread.id.clone()));
    };
    let asked = body["checkpoint_id"]
        .as_str()
        .or(body["checkpoint"]["checkpoint_id"].as_str());
    let base = thread.checkpoint(asked).cloned();
    let node = body["as_node"].as_str();
    if let Some(node) = node
        && !graph.nodes().contains(&node)
        && !["__start__", "__end__", "__copy__"].contains(&node)
    {
        return Err(Problem::NoNode(node.to_owned()));
    }
    if body["values"].is_array() {
        let text = format!(
            "Expected dict, got {}\nFor troubleshooting, visit: \
             https://docs.langchain.com/oss/python/langgraph/errors/INVALID_GRAPH_NODE_RETURN_VALUE",
            python_repr(&body["values"])
        );
        return Err(Problem::Python(StatusCode::BAD_REQUEST, text));
    }
    let copies = node == Some("__copy__");
    let mut values: Object = base
        .as_ref()
        .map_or_else(|| graph.initial(), |base| base.values.clone());
    // Finished tasks of an unfinished step have already written, but not for an edit of a checkpoint that is named.
    let unfinished = base.as_ref().filter(|_| !copies && asked.is_none());
    for task in unfinished
        .into_iter()
        .flat_map(|base| base.tasks_for(Some(graph)))
    {
        if let Some(result) = &task.result {
            graph.merge(&mut values, result);
        }
    }
    graph.merge(&mut values, &body["values"]);
    let names: Vec<String> = match (node, &base) {
        (Some("__start__"), _) => graph.start().into_iter().map(str::to_owned).collect(),
        (Some("__end__"), _) => Vec::new(),
        (Some(node), _) if !copies => graph
            .next(&[node], &values)
            .into_iter()
            .map(str::to_owned)
            .collect(),
        // The edit counts as another write of the node that wrote last, so the same nodes are next.
        (_, Some(base)) => base
            .tasks_for(Some(graph))
            .map(|task| task.name.clone())
            .collect(),
        (_, None) => Vec::new(),
    };
    let step = base.as_ref().map_or(-1, Checkpoint::step) + 1;
    let mut metadata = json!({
        "graph_id": graph.name(), "thread_id": thread.id, "source": if copies { "fork" } else { "update" },
        "step": step, "parents": {},
    });
    if let Some(id) = asked.filter(|_| dialect != Dialect::JavaScript) {
        metadata["checkpoint_id"] = json!(id);
    }
    let metadata = match (dialect, node, &base) {
        // The JavaScript server keeps the metadata of the edited state.
        (Dialect::JavaScript, Some("__end__"), Some(base)) => {
            let mut kept = base.metadata.clone();
            for (key, value) in metadata.as_object().into_iter().flatten() {
                kept[key] = value.clone();
            }
            kept
        }
        _ => metadata,
    };
    let at = thread.later(now);
    // The ids of these two repeat the step of the state before.
    let repeats = copies || node == Some("__end__");
    let id = checkpoint_id(at, step - i64::from(repeats));
    let parent = if copies {
        base.and_then(|base| base.parent)
    } else {
        base.map(|base| base.id)
    };
    // The new tasks have new ids, and the questions of the old ones are gone.
    let tasks: Vec<Task> = names.iter().map(|name| Task::new(name)).collect();
    thread.checkpoints.push(Checkpoint {
        id: id.clone(),
        parent,
        values,
        tasks,
        metadata,
        at,
    });
    touch(dialect, thread, now);
    let state = thread
        .checkpoint(None)
        .map(|newest| rows::state(dialect, thread, newest, true));
    Ok((id, state.unwrap_or_default()))
}

/// Applies an edit to the thread's row. Only the Python server shows a new status, even for a thread that was busy without a run.
pub(super) fn touch(dialect: Dialect, thread: &mut Thread, now: Timestamp) {
    let Some(newest) = thread.checkpoints.last() else {
        return;
    };
    let (values, waits) = (newest.values_for(thread.graph()), !newest.tasks.is_empty());
    match dialect {
        Dialect::Aegra => {}
        Dialect::JavaScript => thread.values = Some(values),
        Dialect::Python | Dialect::Contract => {
            thread.values = Some(values);
            thread.interrupts = Some(Object::new());
            thread.error = None;
            thread.status = if waits { "interrupted" } else { "idle" }.into();
            thread.touched = true;
            thread.updated_at = now;
            thread.state_updated_at = now;
        }
    }
}
