//! Runs over REST: creating, streaming, waiting, listing, cancelling, deleting.

use super::ThisAgent;
use super::cancel::Cancelled;
use super::check::{body, check_run, check_run_ids, check_thread_id};
use super::feed::Read;
use super::life::{Started, start};
use super::state::{Run, select};
use super::streams::{Filter, OnLeave, Source, locate, respond, run_ids};
use super::{Agent, rows};
use crate::http::{
    Handled, Refusal, bad, done, empty, invalid, last_of, missing, ok, query_pairs, set_header,
};
use crate::ids::uuid7;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use futures::stream as streams;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Cancels a run if the client of its stream leaves early.
pub fn cancel_on_leave(agent: &Arc<Agent>, thread: &str, run: &str) -> OnLeave {
    let (agent, thread, run) = (agent.clone(), thread.to_owned(), run.to_owned());
    OnLeave::new(move || {
        let reason = "client disconnected from the run stream (on_disconnect=cancel)";
        agent.cancel(&thread, &run, false, reason, false);
    })
}

/// How a run was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// A client streams it from the start, or waits for its end.
    Awaited,
    /// It runs in the background.
    Background,
}

fn is(pairs: &[(String, String)], key: &str, words: &[&str]) -> bool {
    pairs
        .iter()
        .any(|(name, value)| name == key && words.contains(&value.to_lowercase().as_str()))
}

fn stream_of(agent: &Arc<Agent>, started: Started, body: &Value) -> Response {
    let run = &started.run;
    let cancels = body["on_disconnect"] == "cancel";
    let leave = cancels.then(|| cancel_on_leave(agent, &run.thread, &run.id));
    let ids = run_ids(agent, run.resumable());
    respond(
        agent,
        Source {
            ids,
            leave,
            ..Source::new(started.reader, Filter::All)
        },
    )
}

/// The fields of a start by the contract.
const RUN_FIELDS: [&str; 4] = ["assistant_id", "input", "stream_mode", "stream_subgraphs"];

/// Creates a run on a thread.
fn create_on(
    agent: &Arc<Agent>,
    thread: &str,
    bytes: &[u8],
    origin: Origin,
) -> Result<(Started, Value), Refusal> {
    let body = body(bytes)?;
    agent.check_fields(&body, &RUN_FIELDS)?;
    check_run(&body)?;
    if check_thread_id(thread).is_err() {
        return Err(match origin {
            Origin::Background => invalid("Invalid thread ID"),
            Origin::Awaited => bad("badly formed hexadecimal UUID string"),
        });
    }
    Ok((start(agent, thread, &body, false)?, body))
}

/// `POST /threads/{t}/runs/stream`.
pub async fn stream(State(agent): ThisAgent, Path(thread): Path<String>, bytes: Bytes) -> Handled {
    let (started, body) = create_on(&agent, &thread, &bytes, Origin::Awaited)?;
    let run = started.run.id.clone();
    let mut response = stream_of(&agent, started, &body);
    locate(&agent, &mut response, &thread, &run, "stream");
    Ok(response)
}

/// `POST /threads/{t}/runs`.
pub async fn create(State(agent): ThisAgent, Path(thread): Path<String>, bytes: Bytes) -> Handled {
    let (started, _) = create_on(&agent, &thread, &bytes, Origin::Background)?;

    Ok(created(
        &started,
        &format!("/threads/{thread}/runs/{}", started.run.id),
    ))
}

fn created(started: &Started, place: &str) -> Response {
    let mut response = ok(&rows::run(&started.run));
    set_header(&mut response, "content-location", place);
    response
}

/// `POST /threads/{t}/runs/wait`.
pub async fn wait(State(agent): ThisAgent, Path(thread): Path<String>, bytes: Bytes) -> Handled {
    let (started, _) = create_on(&agent, &thread, &bytes, Origin::Awaited)?;
    Ok(outcome_of(&agent, started))
}

fn create_stateless(agent: &Arc<Agent>, bytes: &[u8]) -> Result<(Started, Value), Refusal> {
    let body = body(bytes)?;
    agent.check_fields(&body, &RUN_FIELDS)?;
    let started = start(agent, &uuid7(Timestamp::now()), &body, true)?;
    Ok((started, body))
}

/// `POST /runs/stream`. The server's `location` does not exist.
pub async fn stateless_stream(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let (started, body) = create_stateless(&agent, &bytes)?;
    let place = format!("/runs/{}", started.run.id);
    let mut response = stream_of(&agent, started, &body);
    if !agent.contract {
        set_header(&mut response, "location", &format!("{place}/stream"));
        set_header(&mut response, "content-location", &place);
    }
    Ok(response)
}

/// Responds with the final result of a run. Its thread may be gone by then, so the end is read from its stream.
fn outcome_of(agent: &Arc<Agent>, started: Started) -> Response {
    let Started { run, mut reader } = started;
    let (thread, id) = (run.thread.clone(), run.id.clone());
    let mut response = patient(agent, async move {
        while let Read::Items(_) = reader.next().await {}
        run.outcome.get().cloned().unwrap_or_else(|| json!({}))
    });
    locate(agent, &mut response, &thread, &id, "join");
    response
}

/// `GET /threads/{t}/runs/{r}/join`.
pub async fn join(State(agent): ThisAgent, Path((thread, run)): Path<(String, String)>) -> Handled {
    check_run_ids(&thread, &run)?;
    let mut response = match agent.run(&thread, &run) {
        Some(found) => patient(&agent, join_outcome(agent.clone(), found)),
        None => {
            ok(&json!({"__error__": {"error": "HTTPException", "message": "404: Run not found"}}))
        }
    };
    locate(&agent, &mut response, &thread, &run, "join");
    Ok(response)
}

/// Joining a finished run returns the state of its thread.
async fn join_outcome(agent: Arc<Agent>, run: Run) -> Value {
    if run.is_active() {
        agent.ended(&run.thread, &run.id).await;
        return run.outcome.get().cloned().unwrap_or_else(|| json!({}));
    }
    agent.pause(Duration::from_millis(500)).await;
    let memory = agent.memory();
    let Some(thread) = memory.threads.get(&run.thread) else {
        return json!({});
    };
    let raised = thread.interrupts.iter().flat_map(|raised| raised.values());
    let raised: Vec<&Value> = raised
        .flat_map(|raised| raised.as_array().into_iter().flatten())
        .collect();
    match thread.status.as_str() {
        "error" => json!({"__error__": thread.error}),
        "interrupted" if !raised.is_empty() => json!({"__interrupt__": raised}),
        _ => json!(thread.values),
    }
}

/// A slow response: a line break at every heartbeat, then the JSON.
fn patient(agent: &Arc<Agent>, ending: impl Future<Output = Value> + Send + 'static) -> Response {
    let beat = if agent.heartbeat.is_zero() {
        Duration::from_secs(5)
    } else {
        agent.heartbeat
    };
    let parts = streams::unfold(Some(Box::pin(ending)), move |state| async move {
        let mut ending = state?;
        let part = tokio::select! {
            value = &mut ending => return Some((Ok::<_, std::io::Error>(Bytes::from(value.to_string())), None)),
            () = tokio::time::sleep(beat) => Bytes::from_static(b"\n"),
        };
        Some((Ok(part), Some(ending)))
    });
    let mut response = Response::new(Body::from_stream(parts));
    set_header(&mut response, "content-type", "application/json");
    response
}

/// `GET /threads/{t}/runs`: newest first.
pub async fn list(State(agent): ThisAgent, Path(thread): Path<String>, uri: Uri) -> Handled {
    agent.check_thread(&thread)?;
    let pairs = query_pairs(&uri);
    let number = |key: &str, or: usize| match last_of(&pairs, key) {
        None => Ok(or),
        Some(text) => text
            .parse()
            .map_err(|_| bad(&format!("invalid literal for int() with base 10: '{text}'"))),
    };
    let (offset, limit) = (number("offset", 0)?, number("limit", 10)?);
    let fields = pairs.iter().filter(|(key, _)| key == "select");
    let fields: Vec<String> = fields.map(|(_, value)| value.clone()).collect();
    let wanted = last_of(&pairs, "status");
    let memory = agent.memory();
    let thread = memory.threads.get(&thread);
    let runs = thread
        .into_iter()
        .flat_map(|thread| thread.runs.iter().rev());
    let shown: Vec<Value> = runs
        .filter(|run| wanted.is_none_or(|status| run.status == status))
        .skip(offset)
        .take(limit)
        .map(|run| select(rows::run(run), &fields))
        .collect();
    Ok(ok(&json!(shown)))
}

/// `GET /threads/{t}/runs/{r}`.
pub async fn get(State(agent): ThisAgent, Path((thread, run)): Path<(String, String)>) -> Handled {
    check_run_ids(&thread, &run)?;
    let found = agent.run(&thread, &run);
    let found = found.ok_or_else(|| missing("Not Found"))?;
    Ok(ok(&rows::run(&found)))
}

/// `DELETE /threads/{t}/runs/{r}`. A running run continues without its row.
pub async fn delete(
    State(agent): ThisAgent,
    Path((thread, run)): Path<(String, String)>,
) -> Handled {
    check_run_ids(&thread, &run)?;
    if agent.delete_run(&thread, &run) {
        Ok(done())
    } else {
        Err(missing("Run not found"))
    }
}

const NOTHING_TO_CANCEL: &str = "No runs found to cancel.";
const TOO_LATE: &str = "No matching runs to cancel. Please verify the thread ID and run IDs are correct, and the runs haven't \
                        been deleted or completed.";

/// `POST /threads/{t}/runs/{r}/cancel`.
pub async fn cancel(
    State(agent): ThisAgent,
    Path((thread, run)): Path<(String, String)>,
    uri: Uri,
) -> Handled {
    check_run_ids(&thread, &run)?;
    let pairs = query_pairs(&uri);
    let rollback = is(&pairs, "action", &["rollback"]);
    let waits = is(&pairs, "wait", &["1", "true", "yes"]);
    let action = if rollback { "rollback" } else { "interrupt" };
    let reason =
        format!("{action} requested via POST /threads/{{thread_id}}/runs/{{run_id}}/cancel");
    let pending = agent
        .run(&thread, &run)
        .is_some_and(|run| run.status == "pending");
    match agent.cancel(&thread, &run, rollback, &reason, waits) {
        Cancelled::Unknown => return Err(missing(NOTHING_TO_CANCEL)),
        Cancelled::TooLate => return Err(missing(TOO_LATE)),
        Cancelled::Yes if !waits => return Ok(empty(StatusCode::ACCEPTED)),
        Cancelled::Yes => agent.ended(&thread, &run).await,
    }
    if pending {
        agent.pause(Duration::from_millis(500)).await;
    }
    let mut response = ok(&json!({}));
    locate(&agent, &mut response, &thread, &run, "join");
    Ok(response)
}
