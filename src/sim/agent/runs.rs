//! Runs over REST: asking for one, streaming it, waiting for it, cancelling it.

use super::check::{self, Refusal};
use super::feed::Read;
use super::life::{Started, start, stop};
use super::state::{Cancel, select};
use super::streams::{Filter, OnLeave, Source, locate, respond, run_ids};
use super::{Agent, empty, json_response, query_pairs, set_header};
use crate::sim::ids::uuid7;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::Response;
use futures::stream as streams;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Cancels a run when the client of a stream goes before the run is over.
pub fn cancel_on_leave(agent: &Arc<Agent>, thread: &str, run: &str) -> OnLeave {
    let (agent, thread, run) = (agent.clone(), thread.to_owned(), run.to_owned());
    OnLeave::new(move || {
        stop(&agent, &thread, &run, Cancel::Interrupt);
    })
}

fn answer(result: Result<Response, Refusal>) -> Response {
    result.unwrap_or_else(|refusal| *refusal)
}

fn stream_of(agent: &Arc<Agent>, started: Started, body: &Value) -> Response {
    let run = &started.run;
    let leave = (body["on_disconnect"] == "cancel").then(|| cancel_on_leave(agent, &run.thread, &run.id));
    let ids = run_ids(agent, run.resumable());
    let source = Source { reader: started.reader, filter: Filter::All, ids, leave, linger: Duration::ZERO, run: true };
    respond(agent, source)
}

/// `POST /threads/{t}/runs/stream`.
pub async fn stream(State(agent): State<Arc<Agent>>, Path(thread): Path<String>, bytes: Bytes) -> Response {
    answer(check::body(&bytes).and_then(|body| {
        check::run_create(&body)?;
        check::thread_id(&thread, true)?;
        let started = start(&agent, &thread, &body, false)?;
        let run = started.run.id.clone();
        let mut response = stream_of(&agent, started, &body);
        locate(&mut response, &thread, &run, "stream");
        Ok(response)
    }))
}

/// `POST /runs/stream`: its `location` leads nowhere, as on the real server.
pub async fn stateless_stream(State(agent): State<Arc<Agent>>, bytes: Bytes) -> Response {
    answer(check::body(&bytes).and_then(|body| {
        let started = start(&agent, &uuid7(Timestamp::now()), &body, true)?;
        let run = started.run.id.clone();
        let mut response = stream_of(&agent, started, &body);
        set_header(&mut response, "location", &format!("/runs/{run}/stream"));
        set_header(&mut response, "content-location", &format!("/runs/{run}"));
        Ok(response)
    }))
}

/// `POST /threads/{t}/runs`.
pub async fn create(State(agent): State<Arc<Agent>>, Path(thread): Path<String>, bytes: Bytes) -> Response {
    answer(check::body(&bytes).and_then(|body| {
        check::run_create(&body)?;
        check::thread_id(&thread, true)?;
        let run = start(&agent, &thread, &body, false)?.run;
        let mut response = json_response(StatusCode::OK, &run.json());
        set_header(&mut response, "content-location", &format!("/threads/{thread}/runs/{}", run.id));
        Ok(response)
    }))
}

/// `POST /runs`.
pub async fn stateless_create(State(agent): State<Arc<Agent>>, bytes: Bytes) -> Response {
    answer(check::body(&bytes).and_then(|body| {
        let run = start(&agent, &uuid7(Timestamp::now()), &body, true)?.run;
        let mut response = json_response(StatusCode::OK, &run.json());
        set_header(&mut response, "content-location", &format!("/runs/{}", run.id));
        Ok(response)
    }))
}

/// `POST /threads/{t}/runs/wait`.
pub async fn wait(State(agent): State<Arc<Agent>>, Path(thread): Path<String>, bytes: Bytes) -> Response {
    answer(check::body(&bytes).and_then(|body| {
        check::run_create(&body)?;
        check::thread_id(&thread, true)?;
        let started = start(&agent, &thread, &body, false)?;
        Ok(outcome_of(&agent, &thread, &started.run.id, false))
    }))
}

/// `POST /runs/wait`.
pub async fn stateless_wait(State(agent): State<Arc<Agent>>, bytes: Bytes) -> Response {
    answer(check::body(&bytes).and_then(|body| {
        let thread = uuid7(Timestamp::now());
        let started = start(&agent, &thread, &body, true)?;
        Ok(wait_for_stateless(&agent, started))
    }))
}

/// A stateless run's thread is gone when the run is over, so its end is read from its stream.
fn wait_for_stateless(agent: &Arc<Agent>, started: Started) -> Response {
    let Started { run, mut reader } = started;
    let outcome = run.outcome.clone();
    let ending = async move {
        while let Read::Items(_) = reader.next().await {}
        outcome.get().cloned().unwrap_or_else(|| json!({}))
    };
    let mut response = patient(agent, ending);
    locate(&mut response, &run.thread, &run.id, "join");
    response
}

/// `GET /threads/{t}/runs/{r}/join`.
pub async fn join(State(agent): State<Arc<Agent>>, Path((thread, run)): Path<(String, String)>) -> Response {
    if let Err(refusal) = check::thread_id(&thread, false).and_then(|()| check::run_id(&run)) {
        return *refusal;
    }
    outcome_of(&agent, &thread, &run, true)
}

fn outcome_of(agent: &Arc<Agent>, thread: &str, run: &str, joining: bool) -> Response {
    let waiter = agent.clone();
    let (thread_id, run_id) = (thread.to_owned(), run.to_owned());
    let ending = async move {
        if joining {
            waiter.pause(Duration::from_millis(500)).await;
        }
        let outcome = waiter
            .until(|memory| match memory.threads.get(&thread_id).and_then(|thread| thread.run(&run_id)) {
                None => Some(json!({"__error__": {"error": "HTTPException", "message": "404: Run not found"}})),
                Some(run) if run.is_active() => None,
                Some(run) => Some(run.outcome.get().cloned().unwrap_or_else(|| json!({}))),
            })
            .await;
        outcome.unwrap_or_default()
    };
    let mut response = patient(agent, ending);
    locate(&mut response, thread, run, "join");
    response
}

/// An answer that takes its time: a line break at every heartbeat, then the JSON.
fn patient(agent: &Arc<Agent>, ending: impl Future<Output = Value> + Send + 'static) -> Response {
    let beat = if agent.heartbeat.is_zero() { Duration::from_secs(5) } else { agent.heartbeat };
    let parts = streams::unfold(Some(Box::pin(ending)), move |state| async move {
        let mut ending = state?;
        let part = tokio::select! {
            value = &mut ending => return Some((Ok::<_, std::io::Error>(Bytes::from(value.to_string())), None)),
            () = tokio::time::sleep(beat) => Bytes::from_static(b"\n"),
        };
        Some((Ok(part), Some(ending)))
    });
    let mut response = Response::new(Body::from_stream(parts));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// `GET /threads/{t}/runs`, newest first.
pub async fn list(State(agent): State<Arc<Agent>>, Path(thread): Path<String>, uri: Uri) -> Response {
    if let Err(refusal) = check::thread_id(&thread, false).and_then(|()| check::thread_exists(&agent, &thread)) {
        return *refusal;
    }
    let pairs = query_pairs(&uri);
    let value = |key: &str| pairs.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    let number = |key: &str, or: usize| value(key).and_then(|text| text.parse().ok()).unwrap_or(or);
    let fields: Vec<String> = pairs.iter().filter(|(key, _)| key == "select").map(|(_, value)| value.clone()).collect();
    let memory = agent.memory();
    let runs = memory.threads.get(&thread).map(|thread| thread.runs.as_slice()).unwrap_or_default();
    let shown: Vec<Value> = runs
        .iter()
        .rev()
        .filter(|run| value("status").is_none_or(|status| run.status == status))
        .skip(number("offset", 0))
        .take(number("limit", 10))
        .map(|run| select(run.json(), &fields))
        .collect();
    json_response(StatusCode::OK, &json!(shown))
}

/// `GET /threads/{t}/runs/{r}`.
pub async fn get(State(agent): State<Arc<Agent>>, Path((thread, run)): Path<(String, String)>) -> Response {
    if let Err(refusal) = check::thread_id(&thread, false).and_then(|()| check::run_id(&run)) {
        return *refusal;
    }
    let memory = agent.memory();
    match memory.threads.get(&thread).and_then(|thread| thread.run(&run)) {
        Some(run) => json_response(StatusCode::OK, &run.json()),
        None => super::detail(StatusCode::NOT_FOUND, "Not Found"),
    }
}

/// `DELETE /threads/{t}/runs/{r}`.
pub async fn delete(State(agent): State<Arc<Agent>>, Path((thread, run)): Path<(String, String)>) -> Response {
    stop(&agent, &thread, &run, Cancel::Rollback);
    let gone = agent.with_thread(&thread, |thread| {
        let before = thread.runs.len();
        thread.runs.retain(|other| other.id != run);
        thread.runs.len() < before
    });
    match gone {
        Some(true) => empty(StatusCode::NO_CONTENT),
        _ => super::detail(StatusCode::NOT_FOUND, "Run not found"),
    }
}

/// `POST /threads/{t}/runs/{r}/cancel`.
pub async fn cancel(
    State(agent): State<Arc<Agent>>,
    Path((thread, run)): Path<(String, String)>,
    uri: Uri,
) -> Response {
    if let Err(refusal) = check::thread_id(&thread, false).and_then(|()| check::run_id(&run)) {
        return *refusal;
    }
    let pairs = query_pairs(&uri);
    let is = |key: &str, words: &[&str]| {
        pairs.iter().any(|(name, value)| name == key && words.contains(&value.to_lowercase().as_str()))
    };
    let action = if is("action", &["rollback"]) { Cancel::Rollback } else { Cancel::Interrupt };
    let known = agent.memory().threads.get(&thread).is_some_and(|thread| thread.run(&run).is_some());
    if !stop(&agent, &thread, &run, action) {
        let text = if known {
            "No matching runs to cancel. Please verify the thread ID and run IDs are correct, and the runs haven't been \
             deleted or completed."
        } else {
            "No runs found to cancel."
        };
        return super::detail(StatusCode::NOT_FOUND, text);
    }
    if !is("wait", &["1", "true", "yes"]) {
        return empty(StatusCode::ACCEPTED);
    }
    agent
        .until(|memory| {
            let run = memory.threads.get(&thread).and_then(|thread| thread.run(&run));
            run.is_none_or(|run| !run.is_active()).then_some(())
        })
        .await;
    let mut response = json_response(StatusCode::OK, &json!({}));
    locate(&mut response, &thread, &run, "join");
    response
}
