//! Threads, states, runs and assistants as JSON.

use crate::agent::prelude::*;

pub fn assistant(assistant: &Assistant) -> Value {
    let current = &assistant.current;
    json!({
        "assistant_id": assistant.id, "graph_id": assistant.graph.name(), "config": current.config,
        "context": current.context, "metadata": current.metadata, "name": current.name,
        "created_at": iso(assistant.created_at), "updated_at": iso(assistant.updated_at), "version": current.number,
        "description": current.description,
    })
}

/// A version of an assistant.
pub fn version(assistant: &Assistant, version: &Version) -> Value {
    json!({
        "assistant_id": assistant.id, "version": version.number, "graph_id": assistant.graph.name(),
        "config": version.config, "context": version.context, "metadata": version.metadata,
        "created_at": iso(version.created_at), "name": version.name, "description": version.description,
    })
}

/// A thread's row. Its keys depend on its history.
pub fn thread(thread: &Thread) -> Value {
    let mut row = json!({
        "thread_id": thread.id, "created_at": iso(thread.created_at), "updated_at": iso(thread.updated_at),
        "metadata": thread.metadata, "status": thread.status, "config": thread.config.clone().unwrap_or_default(),
        "state_updated_at": iso(thread.state_updated_at),
    });
    if !thread.copied || thread.touched {
        row["values"] = json!(thread.values);
    }
    if thread.touched {
        row["error"] = json!(thread.error);
    }
    if let Some(interrupts) = &thread.interrupts {
        row["interrupts"] = json!(interrupts);
    }
    row
}

/// An interrupt. In a stream the key `response_schema` is always present.
pub fn interrupt(interrupt: &Interrupt, streamed: bool) -> Value {
    let mut row = json!({"id": interrupt.id, "value": interrupt.value});
    if streamed || interrupt.schema.is_some() {
        row["response_schema"] = json!(interrupt.schema);
    }
    row
}

/// A list of at most one interrupt.
pub fn interrupts(raised: Option<&Interrupt>, streamed: bool) -> Value {
    raised
        .map(|raised| interrupt(raised, streamed))
        .into_iter()
        .collect()
}

/// The interrupts of a thread's row, by task.
pub fn thread_interrupts(tasks: &[(String, Option<Interrupt>)]) -> Object {
    let asks = |(id, raised): &(String, Option<Interrupt>)| {
        Some((id.clone(), json!([interrupt(raised.as_ref()?, false)])))
    };
    tasks.iter().filter_map(asks).collect()
}

/// A task of a state. `live` shows its open question; otherwise everything that the step raised and wrote.
fn task(task: &Task, live: bool) -> Value {
    let shown = if live {
        task.pending()
    } else {
        task.raised.as_ref()
    };
    json!({
        "id": task.id, "name": task.name, "error": task.error, "interrupts": interrupts(shown, false), "checkpoint": null,
        "state": null, "result": task.result, "path": ["__pregel_pull", task.name],
    })
}

/// A state, as the graph of the thread's last run reads it. The newest one is `live`: its values contain what finished tasks of an
/// unfinished step wrote.
pub fn state(thread: &Thread, checkpoint: &Checkpoint, live: bool) -> Value {
    let graph = thread.graph();
    let shown = || checkpoint.tasks_for(graph).filter(|one| !one.added);
    let tasks: Vec<Value> = shown().map(|one| task(one, live)).collect();
    let raised: Vec<&Value> = tasks
        .iter()
        .flat_map(|task| items_of(&task["interrupts"]))
        .collect();
    let unfinished = shown().filter(|one| !live || one.result.is_none());
    let next: Vec<&str> = unfinished.map(|one| one.name.as_str()).collect();
    let values = if live {
        checkpoint.live_values(graph)
    } else {
        checkpoint.values_for(graph)
    };
    let place =
        |id: &str| json!({"checkpoint_id": id, "thread_id": thread.id, "checkpoint_ns": ""});
    json!({
        "values": values, "next": next, "tasks": tasks, "metadata": checkpoint.metadata,
        "created_at": iso(checkpoint.at), "checkpoint": place(&checkpoint.id),
        "parent_checkpoint": checkpoint.parent.as_deref().map(place), "interrupts": raised,
        "checkpoint_id": checkpoint.id, "parent_checkpoint_id": checkpoint.parent,
    })
}

/// The state of a thread without checkpoints, or at a checkpoint that does not exist.
pub fn no_state(thread: &str, asked: Option<&str>) -> Value {
    json!({
        "values": {}, "next": [], "tasks": [], "created_at": null,
        "checkpoint": asked.map(|id| json!({"checkpoint_id": id, "thread_id": thread})), "parent_checkpoint": null,
        "metadata": null, "interrupts": [], "checkpoint_id": asked, "parent_checkpoint_id": null,
    })
}

/// A run's row.
pub fn run(run: &Run) -> Value {
    json!({
        "run_id": run.id, "thread_id": run.thread, "assistant_id": run.assistant, "metadata": run.metadata,
        "status": run.status, "kwargs": run.kwargs, "multitask_strategy": run.strategy,
        "created_at": iso(run.created_at), "updated_at": iso(run.updated_at), "langsmith_session_name": null,
    })
}
