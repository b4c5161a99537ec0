//! A run's life: it is created, waits for its turn, runs, and is put away with its statuses and last events.

use super::Agent;
use super::check::{self, Refusal, refuse};
use super::emit::{Modes, Output, configurable};
use super::exec::{Start, Stop, run_level};
use super::feed::{Feed, Item, Kind, Reader};
use super::state::{Assistant, Cancel, Object, Run, Thread};
use crate::sim::Dialect;
use crate::sim::ids::uuid7;
use axum::http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What a started run's client needs.
#[derive(Debug)]
pub struct Started {
    /// The run, as it was created.
    pub run: Run,
    /// A reader from its first event on.
    pub reader: Reader,
}

/// Creates a run on a thread and sets it going.
pub fn start(agent: &Arc<Agent>, thread: &str, body: &Value, stateless: bool) -> Result<Started, Refusal> {
    check::run_create(body)?;
    let assistant = check::assistant(agent, &body["assistant_id"])?;
    let now = Timestamp::now();
    let create = stateless || body["if_not_exists"] == "create";
    let strategy = body["multitask_strategy"].as_str().unwrap_or("enqueue");
    let (run, overtaken) = {
        let mut memory = agent.memory();
        if create && !memory.threads.contains_key(thread) {
            memory.threads.insert(thread.to_owned(), Thread::new(thread.to_owned(), now, Object::new()));
        }
        let Some(thread) = memory.threads.get_mut(thread) else {
            return Err(refuse(StatusCode::NOT_FOUND, "Thread or assistant not found."));
        };
        if thread.is_busy() && strategy == "reject" {
            let text =
                "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.";
            return Err(refuse(StatusCode::CONFLICT, text));
        }
        let run = new_run(agent, thread, &assistant, body, stateless, now);
        let active = |run: &&Run| run.is_active() && matches!(strategy, "interrupt" | "rollback");
        let overtaken: Vec<String> = thread.runs.iter().filter(active).map(|run| run.id.clone()).collect();
        thread.metadata.insert("graph_id".into(), json!(assistant.graph.name()));
        thread.metadata.insert("assistant_id".into(), json!(assistant.id));
        thread.status = "busy".into();
        thread.updated_at = now;
        thread.runs.push(run.clone());
        (run, overtaken)
    };
    let action = if strategy == "rollback" { Cancel::Rollback } else { Cancel::Interrupt };
    for older in overtaken {
        stop(agent, thread, &older, action);
    }
    let reader = run.feed.reader(|_| false);
    let delay = Duration::from_secs_f64(body["after_seconds"].as_f64().unwrap_or(0.0).clamp(0.0, 86_400.0));
    tokio::spawn(live(agent.clone(), run.clone(), assistant, body.clone(), delay));
    Ok(Started { run, reader })
}

fn new_run(
    agent: &Agent,
    thread: &Thread,
    assistant: &Assistant,
    body: &Value,
    stateless: bool,
    now: Timestamp,
) -> Run {
    let id = uuid7(now);
    let mut metadata = Object::new();
    metadata.insert("created_by".into(), json!("system"));
    metadata.extend(thread.metadata.clone());
    metadata.insert("graph_id".into(), json!(assistant.graph.name()));
    metadata.insert("assistant_id".into(), json!(assistant.id));
    metadata.extend(body["metadata"].as_object().cloned().unwrap_or_default());
    let modes = match &body["stream_mode"] {
        Value::Null => json!(["values"]),
        Value::Array(modes) if modes.is_empty() => json!(["values"]),
        Value::Array(modes) => json!(modes),
        mode => json!([mode]),
    };
    let mut config = body["config"].clone();
    if !config.is_object() {
        config = json!({});
    }
    let mut filled = config["configurable"].as_object().cloned().unwrap_or_default();
    filled.extend(configurable(&id, &thread.id, assistant.graph, &assistant.id, now));
    for key in ["checkpoint_id", "checkpoint_ns"] {
        let given = if body["checkpoint"][key].is_null() { &body[key] } else { &body["checkpoint"][key] };
        if !given.is_null() {
            filled.insert(key.into(), given.clone());
        }
    }
    config["configurable"] = Value::Object(filled);
    config["metadata"] = Value::Object(metadata.clone());
    let held = |key: &str| match &body[key] {
        Value::String(one) => json!([one]),
        other => other.clone(),
    };
    let durability = body["durability"].as_str().unwrap_or("async");
    let kwargs = json!({
        "input": body["input"], "command": body["command"], "config": config,
        "context": body.get("context").filter(|context| !context.is_null()).cloned().unwrap_or(json!({})),
        "stream_mode": modes, "interrupt_before": held("interrupt_before"), "interrupt_after": held("interrupt_after"),
        "webhook": body["webhook"], "feedback_keys": body["feedback_keys"], "temporary": stateless,
        "subgraphs": body["stream_subgraphs"] == true, "resumable": body["stream_resumable"] == true,
        "checkpoint_during": true, "durability": durability,
    });
    Run {
        id,
        thread: thread.id.clone(),
        assistant: assistant.id.clone(),
        graph: assistant.graph,
        created_at: now,
        updated_at: now,
        status: "pending".into(),
        metadata,
        kwargs,
        strategy: body["multitask_strategy"].as_str().unwrap_or("enqueue").to_owned(),
        feed: Arc::new(Feed::new(agent.kept_bytes)),
        stop: CancellationToken::new(),
        cancelled: None,
        outcome: Arc::default(),
    }
}

/// A run's life: it waits for its turn, runs, and is put away.
async fn live(agent: Arc<Agent>, run: Run, assistant: Assistant, body: Value, delay: Duration) {
    let turn = async {
        agent.pause(delay).await;
        // The real server's workers poll their queue, so half a second passes before anything happens.
        agent.pause(Duration::from_millis(400 + fastrand::u64(0..300))).await;
        agent
            .until(|memory| {
                let thread = memory.threads.get(&run.thread)?;
                thread.runs.iter().take_while(|other| other.id != run.id).all(|other| !other.is_active()).then_some(())
            })
            .await
    };
    let ready = tokio::select! {
        ready = turn => ready.is_some(),
        () = run.stop.cancelled() => false,
        () = agent.stop.cancelled() => return,
    };
    if !ready {
        put_away(&agent, &run, None, None);
        return;
    }
    let before = agent.with_thread(&run.thread, |thread| {
        thread.status = "busy".into();
        thread.error = None;
        if let Some(run) = thread.run_mut(&run.id) {
            run.status = "running".into();
            run.updated_at = Timestamp::now();
        }
        thread.checkpoints.len()
    });
    let contract = agent.dialect == Dialect::Contract;
    let out = Output {
        agent: agent.clone(),
        run: run.id.clone(),
        thread: run.thread.clone(),
        assistant: assistant.id.clone(),
        graph: run.graph,
        metadata: run.metadata.clone(),
        modes: Modes::new(&run.kwargs["stream_mode"]),
        subgraphs: run.kwargs["subgraphs"] == true,
        stored: contract || run.resumable(),
        feed: run.feed.clone(),
        thread_feed: agent.thread_feed(&run.thread),
        configurable: run.kwargs["config"]["configurable"].as_object().cloned().unwrap_or_default(),
        streamed: std::sync::Mutex::default(),
    };
    let hello = json!({"run_id": run.id, "attempt": 1});
    out.burst().plain("metadata", &hello, Kind::Lifecycle, true).send();
    let begin = beginning(&agent, &run, &body);
    let work = run_level(&out, run.graph, Vec::new(), Object::new(), begin);
    let result = tokio::select! {
        result = work => Some(result),
        () = run.stop.cancelled() => None,
        () = agent.stop.cancelled() => return,
    };
    put_away(&agent, &run, before, Some((&out, result)));
}

/// Where the run begins: input, answer, checkpoint.
fn beginning(agent: &Agent, run: &Run, body: &Value) -> Start {
    let asked = run.kwargs["config"]["configurable"]["checkpoint_id"].as_str();
    let memory = agent.memory();
    let checkpoints = memory.threads.get(&run.thread).map(|thread| thread.checkpoints.as_slice()).unwrap_or_default();
    let base = match asked {
        Some(id) => checkpoints.iter().find(|checkpoint| checkpoint.id == id),
        None => checkpoints.last(),
    }
    .cloned();
    let command = &body["command"];
    let resume = command.get("resume").filter(|resume| !resume.is_null());
    let answer = resume.map(|resume| {
        let waiting = base.as_ref().map(super::state::Checkpoint::interrupts).unwrap_or_default();
        let ids = waiting.values().flat_map(|raised| raised.as_array().into_iter().flatten());
        let named = ids.filter_map(|raised| raised["id"].as_str()).find_map(|id| resume.get(id));
        named.unwrap_or(resume).clone()
    });
    let names = |value: &Value| match value {
        Value::String(one) => vec![one.clone()],
        Value::Array(list) => list.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    Start {
        base,
        input: if resume.is_some() { None } else { body.get("input").filter(|input| input.is_object()).cloned() },
        answer,
        hold_before: names(&run.kwargs["interrupt_before"]),
        hold_after: names(&run.kwargs["interrupt_after"]),
        limit: run.kwargs["config"]["recursion_limit"].as_i64().unwrap_or(25).max(1),
    }
}

/// Ends a run: statuses first, then the last events, so that who reads the end finds the result.
fn put_away(
    agent: &Arc<Agent>,
    run: &Run,
    before: Option<usize>,
    ran: Option<(&Output, Option<Result<Object, Stop>>)>,
) {
    let now = Timestamp::now();
    let (out, result) = ran.map_or((None, None), |(out, result)| (Some(out), result));
    let failure = match &result {
        Some(Err(Stop::Failed { error, message })) => Some(json!({"error": error, "message": message})),
        _ => None,
    };
    let state = agent
        .with_thread(&run.thread, |thread| {
            let cancelled = thread.run(&run.id).and_then(|run| run.cancelled);
            let values = |thread: &Thread| thread.checkpoints.last().map(|last| json!(last.values));
            let (status, outcome) = match (&result, &failure) {
                (_, Some(failure)) => ("error", json!({"__error__": failure})),
                (Some(Ok(state)), _) => ("success", json!(state)),
                (Some(Err(_)), _) => {
                    let mut outcome = values(thread).unwrap_or_else(|| json!({}));
                    let raised: Vec<Value> = thread
                        .checkpoints
                        .last()
                        .into_iter()
                        .flat_map(|last| last.tasks.iter().flat_map(|task| task["interrupts"].as_array().cloned()))
                        .flatten()
                        .collect();
                    if !raised.is_empty() {
                        outcome["__interrupt__"] = json!(raised);
                    }
                    ("success", outcome)
                }
                (None, _) => ("interrupted", json!({})),
            };
            thread.error = failure.clone();
            if let Some(run) = thread.run_mut(&run.id) {
                run.status = status.into();
                run.updated_at = now;
                // It is set once: a run ends only once.
                let _ = run.outcome.set(outcome);
            }
            if result.is_none() && cancelled == Some(Cancel::Rollback) {
                thread.checkpoints.truncate(before.unwrap_or(usize::MAX));
                thread.runs.retain(|other| other.id != run.id);
            }
            thread.settle(now);
            thread.state(None)
        })
        .unwrap_or_default();
    if let Some(out) = out {
        let mut burst = out.burst();
        if let Some(failure) = &failure {
            burst.plain("error", failure, Kind::Output, false);
        }
        burst.send();
        finish_thread(agent, run, out.stored, &state);
    }
    run.feed.close();
    if run.kwargs["temporary"] == true {
        let mut memory = agent.memory();
        memory.threads.remove(&run.thread);
        memory.feeds.remove(&run.thread);
    }
}

/// Tells the thread's stream that the run is over.
fn finish_thread(agent: &Agent, run: &Run, stored: bool, state: &Value) {
    let done = json!({"status": "run_done", "run_id": run.id});
    let mut events = vec![("metadata", done, Kind::Lifecycle)];
    if agent.dialect == Dialect::Contract {
        events.push(("state_update", json!({"state": state, "thread_id": run.thread}), Kind::State));
    }
    let ids = agent.ids.burst(events.len());
    let items: Vec<Arc<Item>> = events
        .into_iter()
        .zip(ids)
        .map(|((name, data, kind), id)| {
            Arc::new(Item { id, name: name.to_owned(), data: data.to_string(), kind, stored })
        })
        .collect();
    agent.thread_feed(&run.thread).push(&items);
}

/// Cancels a run. False where there is nothing to cancel.
pub fn stop(agent: &Agent, thread: &str, run: &str, action: Cancel) -> bool {
    agent
        .with_thread(thread, |thread| {
            let Some(run) = thread.run_mut(run).filter(|run| run.is_active() && run.cancelled.is_none()) else {
                return false;
            };
            run.cancelled = Some(action);
            if run.status == "pending" {
                run.status = "interrupted".into();
            }
            run.stop.cancel();
            true
        })
        .unwrap_or(false)
}
