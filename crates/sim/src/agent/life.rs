//! A run's life: it is created, queued and run. `finish` ends it.

use super::beginning::beginning;
use super::check::check_run;
use super::exec::run_level;
use super::finish::{Ending, finish};
use super::metadata::{configurable, server_metadata};
use super::scripts::play;
use crate::agent::prelude::*;

/// What the client of a new run needs.
#[derive(Debug)]
pub struct Started {
    /// The run, as it was created.
    pub run: Run,
    /// A reader that starts at its first event.
    pub reader: Reader,
}

/// Creates a run on a thread and starts it.
pub fn start(
    agent: &Arc<Agent>,
    thread: &str,
    body: &Value,
    stateless: bool,
) -> Result<Started, Refusal> {
    let (started, work) = prepare(agent, thread, body, stateless, &agent.clock, Duration::ZERO)?;
    tokio::spawn(work);
    Ok(started)
}

/// Creates a run on a thread, with its own clock, that waits this long for a free worker. Returns the future that runs it too.
pub fn prepare(
    agent: &Arc<Agent>,
    thread: &str,
    body: &Value,
    stateless: bool,
    clock: &Arc<Clock>,
    worker: Duration,
) -> Result<(Started, BoxFuture<'static, ()>), Refusal> {
    check_run(body)?;
    if stateless && !body["command"]["resume"].is_null() {
        return Err(bad("You must provide a thread_id when resuming."));
    }
    let assistant = agent.assistant_to_run(&body["assistant_id"])?;
    let now = clock.now();
    agent.expire_feeds();
    let strategy = body["multitask_strategy"].as_str().unwrap_or("enqueue");
    let creates = stateless || body["if_not_exists"] == "create";
    let (run, overtaken) = {
        let mut memory = agent.memory();
        let known = memory
            .threads
            .get(thread)
            .map(|thread| thread.metadata.clone());
        let mut inherited = known.unwrap_or_default();
        if creates {
            let new = || Thread::new(thread.to_owned(), now, Object::new());
            memory.threads.entry(thread.to_owned()).or_insert_with(new);
        }
        let Some(thread) = memory.threads.get_mut(thread) else {
            return Err(missing("Thread or assistant not found."));
        };
        if thread.has_active_runs() && strategy == "reject" {
            return Err(conflict(BUSY));
        }
        if thread.status != "busy" {
            let own = json!({"graph_id": assistant.graph.name(), "assistant_id": assistant.id});
            thread.metadata.extend(object_of(&own));
            if !inherited.is_empty() || !creates {
                inherited.extend(object_of(&own));
            }
            thread.status = "busy".into();
            thread.updated_at = now;
        }
        let run = new_run(
            agent, thread, &assistant, body, inherited, stateless, clock, now,
        );
        let mut config = object_of(&body["config"]);
        config.remove("metadata");
        config.entry("configurable").or_insert_with(|| json!({}));
        thread.config = Some(config);
        let overtakes = matches!(strategy, "interrupt" | "rollback");
        let older = thread
            .runs
            .iter()
            .filter(|run| run.is_active() && overtakes);
        let overtaken: Vec<String> = older.map(|run| run.id.clone()).collect();
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
    let reader = run.feed.reader(|_| false);
    let wait = Duration::from_secs_f64(after(body)) + worker;
    let work = live(agent.clone(), run.clone(), assistant, wait).boxed();
    Ok((Started { run, reader }, work))
}

const BUSY: &str = "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.";

/// The seconds after which a run is to begin.
fn after(body: &Value) -> f64 {
    let asked = body["after_seconds"].as_f64();
    asked.unwrap_or(0.0).clamp(0.0, 86_400.0)
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
    let id = uuid7(now);
    let mut metadata = object_of(&assistant.current.metadata);
    metadata.extend(inherited);
    metadata.extend(object_of(&body["config"]["metadata"]));
    metadata.extend(object_of(&body["metadata"]));
    metadata.insert("assistant_id".into(), json!(assistant.id));
    let mut kwargs = kwargs(&id, &thread.id, assistant, body, &metadata, stateless, now);
    if let Some(revision) = agent.host.get().and_then(|host| host.revision(now)) {
        kwargs["config"]["metadata"]["langgraph_host_revision_id"] = json!(revision);
    }
    Run {
        kwargs,
        id,
        thread: thread.id.clone(),
        assistant: assistant.id.clone(),
        graph: assistant.graph,
        created_at: before(now, -after(body)),
        updated_at: now,
        status: "pending".into(),
        metadata,
        strategy: body["multitask_strategy"]
            .as_str()
            .unwrap_or("enqueue")
            .to_owned(),
        feed: Arc::new(Feed::new(agent.kept)),
        clock: clock.clone(),
        stop: CancellationToken::new(),
        cancelled: None,
        outcome: Arc::default(),
    }
}

fn kwargs(
    run: &str,
    thread: &str,
    assistant: &Assistant,
    body: &Value,
    metadata: &Object,
    stateless: bool,
    now: Timestamp,
) -> Value {
    let modes = match &body["stream_mode"] {
        Value::Array(modes) if !modes.is_empty() => json!(modes),
        Value::Null | Value::Array(_) => json!(["values"]),
        mode => json!([mode]),
    };
    let mut config = json!(object_of(&body["config"]));
    let given = object_of(&config["configurable"]);
    let mut context = object_of(&body["context"]);
    let mut filled = if given.is_empty() { &context } else { &given }.clone();
    if context.is_empty() {
        context = given;
    }
    filled.extend(configurable(run, thread, assistant, now));
    if !body["after_seconds"].is_null() {
        filled.insert("__after_seconds__".into(), body["after_seconds"].clone());
    }
    for key in ["checkpoint_id", "checkpoint_ns"] {
        let given = [&body["checkpoint"][key], &body[key]];
        if let Some(given) = given.into_iter().find(|given| !given.is_null()) {
            filled.insert(key.into(), given.clone());
        }
    }
    config["configurable"] = Value::Object(filled);
    config["metadata"] = json!(metadata);
    let held = |key: &str| match &body[key] {
        Value::String(one) if one != "*" => json!([one]),
        other => other.clone(),
    };
    json!({
        "input": body["input"], "command": body["command"], "config": config, "context": context,
        "stream_mode": modes, "interrupt_before": held("interrupt_before"),
        "interrupt_after": held("interrupt_after"), "webhook": body["webhook"],
        "feedback_keys": body["feedback_keys"], "temporary": stateless && body["on_completion"] != "keep",
        "subgraphs": body["stream_subgraphs"] == true, "resumable": body["stream_resumable"] == true,
        "checkpoint_during": body["checkpoint_during"].as_bool().unwrap_or(true),
        "durability": body["durability"].as_str().unwrap_or("async"),
    })
}

/// The delay until the server's workers pick up a new run.
fn latency() -> Duration {
    Duration::from_millis(400 + fastrand::u64(0..300))
}

async fn live(agent: Arc<Agent>, run: Run, assistant: Assistant, delay: Duration) {
    let turn = async {
        run.clock.sleep(delay).await;
        run.clock.sleep(latency()).await;
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
    let work = run_level(&out, play, run.graph, Vec::new(), Object::new(), start);
    let ending = tokio::select! {
        biased;
        () = run.stop.cancelled() => Ending::Cancelled,
        result = work => Ending::Of(result),
        () = agent.stop.cancelled() => return,
    };
    finish(&agent, &run, &out, ending);
}

/// False if the run was cancelled or deleted in the meantime. The server adds its worker's data to the row.
fn set_running(agent: &Agent, thread: &mut Thread, run: &Run) -> bool {
    let now = run.clock.now();
    let row = thread
        .run_mut(&run.id)
        .filter(|row| row.status == "pending");
    let Some(row) = row else { return false };
    row.status = "running".into();
    row.updated_at = now;
    row.kwargs["config"]["configurable"]["__pregel_node_finished"] = Value::Null;
    if let Some(metadata) = row.kwargs["config"]["metadata"].as_object_mut() {
        metadata.extend(server_metadata(&agent.url));
    }
    thread.status = "busy".into();
    true
}

fn output(agent: &Arc<Agent>, run: &Run, assistant: &Assistant) -> Output {
    Output {
        agent: agent.clone(),
        run: run.id.clone(),
        thread: run.thread.clone(),
        assistant: assistant.id.clone(),
        graph: run.graph,
        metadata: run.metadata.clone(),
        modes: match run.clock.is_silent() {
            true => Vec::new(),
            false => texts_of(&run.kwargs["stream_mode"]),
        },
        subgraphs: run.kwargs["subgraphs"] == true,
        only_last: run.kwargs["durability"] == "exit" || run.kwargs["checkpoint_during"] == false,
        stored: agent.contract || run.resumable(),
        feed: run.feed.clone(),
        thread_feed: agent.thread_feed(&run.thread),
        clock: run.clock.clone(),
        ended: Ended::default(),
        configurable: object_of(&run.kwargs["config"]["configurable"]),
        streamed: std::sync::Mutex::default(),
        reported: std::sync::Mutex::default(),
        asked: std::sync::Mutex::default(),
    }
}
