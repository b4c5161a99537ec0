//! Threads, states, runs and assistants as JSON, in the format of each server.

use super::state::{Assistant, Checkpoint, Interrupt, Object, Run, Task, Thread, Version};
use crate::Dialect;
use crate::ids::{iso, iso_millis, iso_z};
use jiff::Timestamp;
use serde_json::{Value, json};

fn time(dialect: Dialect, at: Timestamp) -> String {
    match dialect {
        Dialect::Python | Dialect::Contract => iso(at),
        Dialect::JavaScript => iso_millis(at),
        Dialect::Aegra => iso_z(at),
    }
}

pub fn assistant(dialect: Dialect, assistant: &Assistant) -> Value {
    let (created, updated) = (
        time(dialect, assistant.created_at),
        time(dialect, assistant.updated_at),
    );
    let mut row = json!({
        "assistant_id": assistant.id, "graph_id": assistant.graph.name(), "config": assistant.config,
        "context": assistant.context, "metadata": assistant.metadata, "name": assistant.name, "created_at": created,
        "updated_at": updated, "version": assistant.version, "description": assistant.description,
    });
    if dialect == Dialect::Aegra {
        let text = format!("Default assistant for graph '{}'", assistant.graph.name());
        row["description"] = json!(assistant.description.clone().unwrap_or(text));
        row["user_id"] = json!("system");
    }
    row
}

/// A version of an assistant.
pub fn version(dialect: Dialect, assistant: &Assistant, version: &Version) -> Value {
    json!({
        "assistant_id": assistant.id, "version": version.number, "graph_id": assistant.graph.name(),
        "config": version.config, "context": version.context, "metadata": version.metadata,
        "created_at": time(dialect, version.created_at), "name": version.name, "description": version.description,
    })
}

/// A thread's row. Its keys depend on its history.
pub fn thread(dialect: Dialect, thread: &Thread) -> Value {
    let (created, updated) = (
        time(dialect, thread.created_at),
        time(dialect, thread.updated_at),
    );
    if dialect == Dialect::Aegra {
        let mut metadata = thread.metadata.clone();
        for (key, value) in [
            ("owner", json!("anonymous")),
            ("graph_id", Value::Null),
            ("assistant_id", Value::Null),
            ("thread_name", json!("")),
        ] {
            metadata.entry(key).or_insert(value);
        }
        return json!({
            "thread_id": thread.id, "status": thread.status, "metadata": metadata, "user_id": "anonymous",
            "created_at": created, "updated_at": updated,
        });
    }
    let mut row = json!({
        "thread_id": thread.id, "created_at": created, "updated_at": updated, "metadata": thread.metadata,
        "status": thread.status, "config": thread.config.clone().unwrap_or_default(),
    });
    let values = thread.values.as_ref().map(|values| json!(values));
    if dialect == Dialect::JavaScript {
        if let Some(values) = values {
            row["values"] = values;
        }
        if let Some(interrupts) = &thread.interrupts {
            row["interrupts"] = json!(interrupts);
        }
        return row;
    }
    row["state_updated_at"] = json!(iso(thread.state_updated_at));
    if !thread.copied || thread.touched {
        row["values"] = values.unwrap_or_default();
    }
    if thread.touched {
        row["error"] = thread.error.clone().unwrap_or_default();
    }
    if let Some(interrupts) = &thread.interrupts {
        row["interrupts"] = json!(interrupts);
    }
    row
}

/// An interrupt. In a stream of the Python server the key `response_schema` is always present.
pub fn interrupt(dialect: Dialect, interrupt: &Interrupt, streamed: bool) -> Value {
    let mut row = json!({"id": interrupt.id, "value": interrupt.value});
    let python = matches!(dialect, Dialect::Python | Dialect::Contract);
    if python && (streamed || interrupt.schema.is_some()) {
        row["response_schema"] = interrupt.schema.clone().unwrap_or_default();
    }
    row
}

/// The interrupts of a thread's row, by task. The JavaScript server lists all tasks of the checkpoint.
pub fn thread_interrupts<'a>(
    dialect: Dialect,
    tasks: impl Iterator<Item = (&'a str, Option<&'a Interrupt>)>,
) -> Object {
    tasks
        .filter(|(_, raised)| dialect == Dialect::JavaScript || raised.is_some())
        .map(|(id, raised)| {
            (
                id.to_owned(),
                raised
                    .map(|raised| interrupt(dialect, raised, false))
                    .into_iter()
                    .collect(),
            )
        })
        .collect()
}

/// A task of a state. `live` shows its open question; otherwise everything that the step raised and wrote.
fn task(dialect: Dialect, task: &Task, live: bool) -> Value {
    let javascript = dialect == Dialect::JavaScript;
    let shown = if live && !javascript {
        task.pending()
    } else {
        task.raised.as_ref()
    };
    let raised: Vec<Value> = shown
        .map(|raised| interrupt(dialect, raised, false))
        .into_iter()
        .collect();
    let mut row = json!({
        "id": task.id, "name": task.name, "error": task.error, "interrupts": raised, "checkpoint": null,
        "state": null,
        // The JavaScript server shows no result for a task that once asked a question.
        "result": if javascript && task.raised.is_some() { None } else { task.result.as_ref() },
    });
    if dialect != Dialect::Aegra {
        row["path"] = json!(["__pregel_pull", task.name]);
    }
    row
}

fn place(dialect: Dialect, thread: &str, id: Option<&str>) -> Value {
    let mut place = json!({"checkpoint_id": id, "thread_id": thread, "checkpoint_ns": ""});
    if dialect == Dialect::JavaScript {
        place["checkpoint_map"] = Value::Null;
    }
    place
}

/// A state, as the graph of the thread's last run reads it. The newest one is `live`: its values contain what finished tasks of an
/// unfinished step wrote.
pub fn state(dialect: Dialect, thread: &Thread, checkpoint: &Checkpoint, live: bool) -> Value {
    let graph = thread.graph();
    let shown = || {
        checkpoint
            .tasks_for(graph)
            .filter(|one| !one.added || dialect == Dialect::JavaScript)
    };
    let tasks: Vec<Value> = shown().map(|one| task(dialect, one, live)).collect();
    let finished = |one: &Task| live && one.result.is_some();
    let next: Vec<&str> = shown()
        .filter(|one| !finished(one))
        .map(|one| one.name.as_str())
        .collect();
    let values = if live {
        checkpoint.live_values(graph)
    } else {
        checkpoint.values_for(graph)
    };
    let mut row = json!({
        "values": values, "next": next, "tasks": tasks, "metadata": metadata(dialect, checkpoint),
        "created_at": time(dialect, checkpoint.at), "checkpoint": place(dialect, &thread.id, Some(&checkpoint.id)),
        "parent_checkpoint": checkpoint.parent.as_deref().map(|id| place(dialect, &thread.id, Some(id))),
    });
    if dialect != Dialect::JavaScript {
        let raised: Vec<Value> = tasks
            .iter()
            .flat_map(|task| task["interrupts"].as_array().cloned().unwrap_or_default())
            .collect();
        row["interrupts"] = json!(raised);
        row["checkpoint_id"] = json!(checkpoint.id);
        row["parent_checkpoint_id"] = json!(checkpoint.parent);
    }
    row
}

fn metadata(dialect: Dialect, checkpoint: &Checkpoint) -> Value {
    let metadata = &checkpoint.metadata;
    if dialect != Dialect::Aegra {
        return metadata.clone();
    }
    let mut row = json!({
        "step": metadata["step"], "source": metadata["source"], "parents": {}, "user_id": "anonymous",
        "user_display_name": "Anonymous User",
    });
    if metadata["run_id"].is_string() {
        row["run_id"] = metadata["run_id"].clone();
    }
    row
}

/// The state of a thread without checkpoints, or at a checkpoint that does not exist.
pub fn no_state(dialect: Dialect, thread: &str, asked: Option<&str>) -> Value {
    let mut row = json!({
        "values": {}, "next": [], "tasks": [], "created_at": null, "checkpoint": null, "parent_checkpoint": null,
    });
    match dialect {
        Dialect::JavaScript => {
            if asked.is_some() {
                row["checkpoint"] = place(dialect, thread, asked);
            }
            return row;
        }
        Dialect::Aegra => {
            row["metadata"] = json!({});
            row["checkpoint"] = place(dialect, thread, asked);
        }
        Dialect::Python | Dialect::Contract => {
            row["metadata"] = Value::Null;
            row["checkpoint"] = asked.map_or(
                Value::Null,
                |id| json!({"checkpoint_id": id, "thread_id": thread}),
            );
        }
    }
    row["interrupts"] = json!([]);
    row["checkpoint_id"] = json!(asked);
    row["parent_checkpoint_id"] = Value::Null;
    row
}

/// A run's row.
pub fn run(dialect: Dialect, run: &Run) -> Value {
    let (created, updated) = (time(dialect, run.created_at), time(dialect, run.updated_at));
    if dialect == Dialect::Aegra {
        return json!({
            "run_id": run.id, "thread_id": run.thread, "assistant_id": run.assistant, "status": run.status,
            "input": run.kwargs["input"].as_object().cloned().unwrap_or_default(), "output": run.output,
            "error_message": run.failure, "config": {}, "context": {}, "user_id": "anonymous",
            "created_at": created, "updated_at": updated,
        });
    }
    let mut row = json!({
        "run_id": run.id, "thread_id": run.thread, "assistant_id": run.assistant, "metadata": run.metadata,
        "status": run.status, "kwargs": run.kwargs, "multitask_strategy": run.strategy, "created_at": created,
        "updated_at": updated,
    });
    if dialect != Dialect::JavaScript {
        row["langsmith_session_name"] = Value::Null;
    }
    row
}
