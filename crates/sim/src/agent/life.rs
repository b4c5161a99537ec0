//! A run's life: it is created, queued and run. `finish` ends it.

use super::Agent;
use super::beginning::beginning;
use super::emit::{Modes, Output};
use super::exec::run_level;
use super::feed::{Ended, Feed, Kind, Reader};
use super::finish::{Ending, finish};
use super::metadata::{configurable, server_metadata};
use super::refuse::{Problem, Refusal};
use super::state::{Assistant, Object, Run, Thread};
use crate::Dialect;
use crate::clock::Clock;
use crate::ids::{uuid4, uuid7};
use axum::http::StatusCode;
use futures::future::{BoxFuture, FutureExt};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What the client of a new run needs.
#[derive(Debug)]
pub struct Started {
    /// The run, as it was created.
    pub run: Run,
    /// A reader that starts at its first event.
    pub reader: Reader,
}

/// How a run was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A client streams it from the start.
    Streamed,
    /// A client waits for its end.
    Waited,
    /// It runs in the background.
    Background,
}

/// Creates a run on a thread and starts it.
pub fn start(
    agent: &Arc<Agent>,
    thread: &str,
    body: &Value,
    stateless: bool,
    origin: Origin,
) -> Result<Started, Refusal> {
    let (started, work) = prepare(agent, thread, body, stateless, origin, &agent.clock)?;
    tokio::spawn(work);
    Ok(started)
}

/// Creates a run on a thread, with its own clock. Returns the future that runs it too.
pub fn prepare(
    agent: &Arc<Agent>,
    thread: &str,
    body: &Value,
    stateless: bool,
    origin: Origin,
    clock: &Arc<Clock>,
) -> Result<(Started, BoxFuture<'static, ()>), Refusal> {
    prepare_late(
        agent,
        thread,
        body,
        stateless,
        origin,
        clock,
        Duration::ZERO,
    )
}

/// Does the same for a run that waits this long for a free worker.
pub fn prepare_late(
    agent: &Arc<Agent>,
    thread: &str,
    body: &Value,
    stateless: bool,
    origin: Origin,
    clock: &Arc<Clock>,
    worker: Duration,
) -> Result<(Started, BoxFuture<'static, ()>), Refusal> {
    agent.check_run(body)?;
    let resumes = !body["command"]["resume"].is_null();
    if stateless && resumes && agent.dialect != Dialect::JavaScript {
        let text = "You must provide a thread_id when resuming.";
        return Err(agent.refuse(Problem::Python(StatusCode::BAD_REQUEST, text.into())));
    }
    check_resume(agent, thread, resumes)?;
    let assistant = agent.assistant_to_run(&body["assistant_id"])?;
    let now = clock.now();
    agent.expire_feeds();
    let usual = if agent.dialect == Dialect::JavaScript {
        "reject"
    } else {
        "enqueue"
    };
    let strategy = body["multitask_strategy"].as_str().unwrap_or(usual);
    let creates = stateless || agent.dialect == Dialect::Aegra || body["if_not_exists"] == "create";
    let (run, overtaken) = {
        let mut memory = agent.memory();
        let mut inherited = memory
            .threads
            .get(thread)
            .map(|thread| thread.metadata.clone())
            .unwrap_or_default();
        if creates && !memory.threads.contains_key(thread) {
            memory.threads.insert(
                thread.to_owned(),
                Thread::new(thread.to_owned(), now, Object::new()),
            );
        }
        let Some(thread) = memory.threads.get_mut(thread) else {
            return Err(agent.refuse(Problem::NoThreadToRun));
        };
        let queues = agent.dialect != Dialect::Aegra;
        if queues && thread.has_active_runs() && strategy == "reject" {
            return Err(agent.refuse(Problem::Busy));
        }
        if thread.status != "busy" || !queues {
            for (key, value) in [
                ("graph_id", assistant.graph.name()),
                ("assistant_id", &assistant.id),
            ] {
                thread.metadata.insert(key.into(), json!(value));
                if !inherited.is_empty() || !creates {
                    inherited.insert(key.into(), json!(value));
                }
            }
            thread.status = "busy".into();
            thread.updated_at = now;
        }
        let body = &at_pinned_checkpoint(agent.dialect, thread, body);
        let run = new_run(
            agent, thread, &assistant, body, inherited, stateless, clock, now,
        );
        let mut config = body["config"].as_object().cloned().unwrap_or_default();
        config.remove("metadata");
        let configurable = config.entry("configurable").or_insert_with(|| json!({}));
        if agent.dialect == Dialect::JavaScript
            && let Some(pinned) = checkpoint_of(body)
        {
            configurable["checkpoint_id"] = json!(pinned);
        }
        thread.config = Some(config);
        let overtakes = queues && matches!(strategy, "interrupt" | "rollback");
        let active = |run: &&Run| run.is_active() && overtakes;
        let overtaken: Vec<String> = thread
            .runs
            .iter()
            .filter(active)
            .map(|run| run.id.clone())
            .collect();
        thread.runs.push(run.clone());
        (run, overtaken)
    };
    let reason = format!(
        "superseded by run {} (multitask_strategy={strategy})",
        run.id
    );
    for older in overtaken {
        agent.cancel(thread, &older, strategy == "rollback", &reason, false);
    }
    // The first subscriber decides whether each event goes to one reader.
    match agent.dialect {
        Dialect::Aegra => run.feed.share(true),
        Dialect::JavaScript if origin != Origin::Background => run.feed.share(!run.resumable()),
        Dialect::JavaScript => {}
        Dialect::Python | Dialect::Contract => run.feed.share(false),
    }
    let reader = run.feed.reader(|_| false);
    let delay = Duration::from_secs_f64(
        body["after_seconds"]
            .as_f64()
            .unwrap_or(0.0)
            .clamp(0.0, 86_400.0),
    );
    let work = live(agent.clone(), run.clone(), assistant, delay + worker).boxed();
    Ok((Started { run, reader }, work))
}

/// Aegra refuses an answer if no question is open.
fn check_resume(agent: &Agent, thread: &str, resumes: bool) -> Result<(), Refusal> {
    if agent.dialect != Dialect::Aegra || !resumes {
        return Ok(());
    }
    let status = agent
        .memory()
        .threads
        .get(thread)
        .map(|thread| thread.status.clone());
    match status.as_deref() {
        None => Err(agent.refuse(Problem::NoThread(thread.to_owned()))),
        Some("interrupted") => Ok(()),
        Some(_) => Err(agent.refuse(Problem::NothingToResume)),
    }
}

/// Returns the checkpoint that a run is to begin at.
fn checkpoint_of(body: &Value) -> Option<&str> {
    body["checkpoint_id"]
        .as_str()
        .or(body["checkpoint"]["checkpoint_id"].as_str())
}

/// Returns the request of a run as the server understands it: the JavaScript server keeps the checkpoint of a fork with the
/// thread, and begins every later run there that names no checkpoint.
fn at_pinned_checkpoint(dialect: Dialect, thread: &Thread, body: &Value) -> Value {
    let mut body = body.clone();
    let pinned = thread
        .config
        .as_ref()
        .and_then(|config| config.get("configurable")?["checkpoint_id"].as_str());
    if let (Dialect::JavaScript, None, Some(pinned)) = (dialect, checkpoint_of(&body), pinned) {
        body["checkpoint_id"] = json!(pinned);
    }
    body
}

#[allow(clippy::too_many_arguments)]
fn new_run(
    agent: &Agent,
    thread: &Thread,
    assistant: &Assistant,
    body: &Value,
    inherited: Object,
    stateless: bool,
    clock: &Arc<Clock>,
    now: Timestamp,
) -> Run {
    let id = if agent.dialect == Dialect::Aegra {
        uuid4()
    } else {
        uuid7(now)
    };
    let mut metadata = assistant.metadata.as_object().cloned().unwrap_or_default();
    metadata.extend(inherited);
    metadata.extend(
        body["config"]["metadata"]
            .as_object()
            .cloned()
            .unwrap_or_default(),
    );
    metadata.extend(body["metadata"].as_object().cloned().unwrap_or_default());
    if !(stateless && agent.dialect == Dialect::JavaScript) {
        metadata.insert("assistant_id".into(), json!(assistant.id));
    }
    let delay = body["after_seconds"]
        .as_f64()
        .unwrap_or(0.0)
        .clamp(0.0, 86_400.0);
    let created_at = SignedDuration::try_from_secs_f64(delay)
        .ok()
        .and_then(|delay| now.checked_add(delay).ok());
    let strategy = if agent.dialect == Dialect::JavaScript {
        "reject"
    } else {
        "enqueue"
    };
    let mut kwargs = kwargs(
        agent.dialect,
        &id,
        &thread.id,
        assistant,
        body,
        &metadata,
        stateless,
        now,
    );
    if let Some(revision) = agent.host.get().and_then(|host| host.revision(now)) {
        kwargs["config"]["metadata"]["langgraph_host_revision_id"] = json!(revision);
    }
    Run {
        kwargs,
        id,
        thread: thread.id.clone(),
        assistant: assistant.id.clone(),
        graph: assistant.graph,
        created_at: created_at.unwrap_or(now),
        updated_at: now,
        status: "pending".into(),
        metadata,
        strategy: body["multitask_strategy"]
            .as_str()
            .unwrap_or(strategy)
            .to_owned(),
        failure: None,
        output: None,
        feed: Arc::new(Feed::new(agent.kept)),
        clock: clock.clone(),
        stop: CancellationToken::new(),
        cancelled: None,
        outcome: Arc::default(),
    }
}

#[allow(clippy::too_many_arguments)]
fn kwargs(
    dialect: Dialect,
    run: &str,
    thread: &str,
    assistant: &Assistant,
    body: &Value,
    metadata: &Object,
    stateless: bool,
    now: Timestamp,
) -> Value {
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
    let given = config["configurable"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let mut context = body["context"].as_object().cloned().unwrap_or_default();
    let mut filled = if given.is_empty() {
        context.clone()
    } else {
        given.clone()
    };
    if context.is_empty() && dialect != Dialect::JavaScript {
        context = given;
    }
    filled.extend(configurable(
        dialect,
        run,
        thread,
        assistant.graph,
        &assistant.id,
        now,
    ));
    if !body["after_seconds"].is_null() && dialect == Dialect::Python {
        filled.insert("__after_seconds__".into(), body["after_seconds"].clone());
    }
    for key in ["checkpoint_id", "checkpoint_ns"] {
        let given = if body["checkpoint"][key].is_null() {
            &body[key]
        } else {
            &body["checkpoint"][key]
        };
        if !given.is_null() {
            filled.insert(key.into(), given.clone());
        }
    }
    config["configurable"] = Value::Object(filled);
    config["metadata"] = json!(metadata);
    let held = |key: &str| match &body[key] {
        Value::String(one) if dialect != Dialect::JavaScript && one != "*" => json!([one]),
        other => other.clone(),
    };
    let mut kwargs = json!({
        "input": body["input"], "command": body["command"], "config": config, "context": context,
        "stream_mode": modes, "interrupt_before": held("interrupt_before"),
        "interrupt_after": held("interrupt_after"), "webhook": body["webhook"],
        "feedback_keys": body["feedback_keys"], "temporary": stateless && body["on_completion"] != "keep",
        "subgraphs": body["stream_subgraphs"] == true, "resumable": body["stream_resumable"] == true,
    });
    if dialect == Dialect::JavaScript {
        // Fields that were not sent are missing.
        if let Some(fields) = kwargs.as_object_mut() {
            fields.retain(|key, value| {
                !value.is_null() || (key == "input" && body.get("input").is_some())
            });
        }
        return kwargs;
    }
    kwargs["checkpoint_during"] = json!(body["checkpoint_during"].as_bool().unwrap_or(true));
    kwargs["durability"] = json!(body["durability"].as_str().unwrap_or("async"));
    kwargs
}

/// The delay until the server's workers pick up a new run.
fn latency(dialect: Dialect) -> Duration {
    Duration::from_millis(match dialect {
        Dialect::Aegra => 30,
        Dialect::JavaScript => fastrand::u64(50..550),
        Dialect::Python | Dialect::Contract => 400 + fastrand::u64(0..300),
    })
}

async fn live(agent: Arc<Agent>, run: Run, assistant: Assistant, delay: Duration) {
    let turn = async {
        run.clock.sleep(delay).await;
        run.clock.sleep(latency(agent.dialect)).await;
        if agent.dialect == Dialect::Aegra {
            // It has no queue: the runs of a thread run in parallel.
            return Some(());
        }
        agent
            .until(|memory| {
                let thread = memory.threads.get(&run.thread)?;
                let mut older = thread.runs.iter().take_while(|other| other.id != run.id);
                older
                    .all(|other| !other.is_active() && other.outcome.get().is_some())
                    .then_some(())
            })
            .await
    };
    let ready = tokio::select! {
        biased;
        () = run.stop.cancelled() => false,
        ready = turn => ready.is_some(),
        () = agent.stop.cancelled() => return,
    };
    let running = ready
        && agent
            .with_thread(&run.thread, |thread| set_running(&agent, thread, &run))
            .unwrap_or(false);
    if !running {
        run.feed.close();
        // Only this task sets it.
        let _ = run.outcome.set(json!({}));
        agent.with_thread(&run.thread, |_| ());
        return;
    }
    let out = output(&agent, &run, &assistant);
    let hello = json!({"run_id": run.id, "attempt": 1});
    out.burst()
        .plain("metadata", &hello, Kind::Lifecycle, true)
        .send();
    let start = beginning(&agent, &run);
    let work = run_level(&out, run.graph, Vec::new(), Object::new(), start);
    let ending = tokio::select! {
        biased;
        () = run.stop.cancelled() => Ending::Cancelled,
        result = work => Ending::of(result),
        () = agent.stop.cancelled() => return,
    };
    finish(&agent, &run, &out, ending);
}

/// False if the run was cancelled or deleted in the meantime. The Python server adds its worker's data to the row.
fn set_running(agent: &Agent, thread: &mut Thread, run: &Run) -> bool {
    let now = run.clock.now();
    let (python, url) = (agent.dialect == Dialect::Python, &agent.url);
    match thread
        .run_mut(&run.id)
        .filter(|row| row.status == "pending")
    {
        Some(row) => {
            row.status = "running".into();
            row.updated_at = now;
            if python {
                row.kwargs["config"]["configurable"]["__pregel_node_finished"] = Value::Null;
                if let (Some(metadata), Value::Object(more)) = (
                    row.kwargs["config"]["metadata"].as_object_mut(),
                    server_metadata(Dialect::Python, url),
                ) {
                    metadata.extend(more);
                }
            }
            thread.status = "busy".into();
            true
        }
        None => false,
    }
}

fn output(agent: &Arc<Agent>, run: &Run, assistant: &Assistant) -> Output {
    let silent = run.clock.is_silent();
    let modes = if silent {
        Modes::default()
    } else {
        Modes::new(&run.kwargs["stream_mode"], agent.dialect)
    };
    Output {
        agent: agent.clone(),
        run: run.id.clone(),
        thread: run.thread.clone(),
        assistant: assistant.id.clone(),
        graph: run.graph,
        metadata: run.metadata.clone(),
        modes,
        subgraphs: run.kwargs["subgraphs"] == true,
        only_last: run.kwargs["durability"] == "exit" || run.kwargs["checkpoint_during"] == false,
        stored: matches!(agent.dialect, Dialect::Contract | Dialect::Aegra) || run.resumable(),
        feed: run.feed.clone(),
        thread_feed: agent.thread_feed(&run.thread),
        clock: run.clock.clone(),
        ended: Ended::default(),
        configurable: run.kwargs["config"]["configurable"]
            .as_object()
            .cloned()
            .unwrap_or_default(),
        streamed: std::sync::Mutex::default(),
        reported: std::sync::Mutex::default(),
        asked: std::sync::Mutex::default(),
        last_values: std::sync::Mutex::default(),
    }
}
