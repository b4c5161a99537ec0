//! Runs over REST: creating, streaming, waiting, listing, cancelling, deleting.

use super::ThisAgent;
use super::cancel::Cancelled;
use super::feed::Read;
use super::life::{Origin, Started, start};
use super::refuse::{Problem, Refusal};
use super::state::{Run, select};
use super::streams::{Filter, OnLeave, Source, locate, respond, run_ids};
use super::{Agent, empty, json_response, query_pairs, rows, set_header};
use crate::Dialect;
use crate::ids::uuid7;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
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

fn answer(result: Result<Response, Refusal>) -> Response {
    result.unwrap_or_else(|refusal| *refusal)
}

fn is(pairs: &[(String, String)], key: &str, words: &[&str]) -> bool {
    pairs
        .iter()
        .any(|(name, value)| name == key && words.contains(&value.to_lowercase().as_str()))
}

fn stream_of(agent: &Arc<Agent>, started: Started, body: &Value) -> Response {
    let run = &started.run;
    // Aegra cancels a run whose client leaves, unless the run was created with `continue`.
    let usual = if agent.dialect == Dialect::Aegra {
        "cancel"
    } else {
        "continue"
    };
    let cancels = body["on_disconnect"].as_str().unwrap_or(usual) == "cancel";
    let leave = cancels.then(|| cancel_on_leave(agent, &run.thread, &run.id));
    let ids = run_ids(agent, run.resumable());
    respond(
        agent,
        Source {
            ids,
            leave,
            run: true,
            ..Source::new(started.reader, Filter::All)
        },
    )
}

/// Creates a run on a thread.
/// The fields of a start by the contract.
const RUN_FIELDS: [&str; 4] = ["assistant_id", "input", "stream_mode", "stream_subgraphs"];

fn create_on(
    agent: &Arc<Agent>,
    thread: &str,
    bytes: &[u8],
    origin: Origin,
) -> Result<(Started, Value), Refusal> {
    let body = agent.body(bytes)?;
    agent.check_fields(&body, &RUN_FIELDS)?;
    agent.check_run(&body)?;
    let bad_id = agent.check_thread_id(thread, true).is_err();
    if bad_id && agent.dialect == Dialect::Python && origin == Origin::Background {
        let text = "Invalid thread ID".to_owned();
        return Err(agent.refuse(Problem::Python(StatusCode::UNPROCESSABLE_ENTITY, text)));
    }
    agent.check_thread_id(thread, true)?;
    let started = start(agent, thread, &body, false, origin)?;
    Ok((started, body))
}

/// `POST /threads/{t}/runs/stream`.
pub async fn stream(State(agent): ThisAgent, Path(thread): Path<String>, bytes: Bytes) -> Response {
    answer(
        create_on(&agent, &thread, &bytes, Origin::Streamed).map(|(started, body)| {
            let run = started.run.id.clone();
            let mut response = stream_of(&agent, started, &body);
            locate(&agent, &mut response, &thread, &run, "stream");
            response
        }),
    )
}

/// `POST /threads/{t}/runs`.
pub async fn create(State(agent): ThisAgent, Path(thread): Path<String>, bytes: Bytes) -> Response {
    answer(
        create_on(&agent, &thread, &bytes, Origin::Background).map(|(started, _)| {
            let mut response =
                json_response(StatusCode::OK, &rows::run(agent.dialect, &started.run));
            if agent.dialect != Dialect::Aegra {
                let place = format!("/threads/{thread}/runs/{}", started.run.id);
                set_header(&mut response, "content-location", &place);
            }
            response
        }),
    )
}

/// `POST /threads/{t}/runs/wait`.
pub async fn wait(State(agent): ThisAgent, Path(thread): Path<String>, bytes: Bytes) -> Response {
    answer(
        create_on(&agent, &thread, &bytes, Origin::Waited).map(|(started, _)| {
            let run = started.run.id.clone();
            let mut response = outcome_of(&agent, started);
            if agent.dialect != Dialect::Aegra {
                locate(&agent, &mut response, &thread, &run, "join");
            }
            response
        }),
    )
}

fn create_stateless(
    agent: &Arc<Agent>,
    bytes: &[u8],
    origin: Origin,
) -> Result<(Started, Value), Refusal> {
    let body = agent.body(bytes)?;
    agent.check_fields(&body, &RUN_FIELDS)?;
    let started = start(agent, &uuid7(Timestamp::now()), &body, true, origin)?;
    Ok((started, body))
}

/// `POST /runs/stream`. The Python server's `location` does not exist.
pub async fn stateless_stream(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(
        create_stateless(&agent, &bytes, Origin::Streamed).map(|(started, body)| {
            let run = started.run.id.clone();
            let javascript = agent.dialect == Dialect::JavaScript;
            let mut response = if javascript {
                respond(
                    &agent,
                    Source {
                        run: true,
                        ids: false,
                        ..Source::new(started.reader, Filter::All)
                    },
                )
            } else {
                stream_of(&agent, started, &body)
            };
            if agent.dialect == Dialect::Python {
                set_header(&mut response, "location", &format!("/runs/{run}/stream"));
            }
            if agent.dialect != Dialect::Contract {
                set_header(&mut response, "content-location", &format!("/runs/{run}"));
            }
            response
        }),
    )
}

/// `POST /runs`.
pub async fn stateless_create(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(
        create_stateless(&agent, &bytes, Origin::Background).map(|(started, _)| {
            let mut response =
                json_response(StatusCode::OK, &rows::run(agent.dialect, &started.run));
            set_header(
                &mut response,
                "content-location",
                &format!("/runs/{}", started.run.id),
            );
            response
        }),
    )
}

/// `POST /runs/wait`.
pub async fn stateless_wait(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(
        create_stateless(&agent, &bytes, Origin::Waited).map(|(started, _)| {
            let (thread, run) = (started.run.thread.clone(), started.run.id.clone());
            let mut response = outcome_of(&agent, started);
            if agent.dialect == Dialect::JavaScript {
                set_header(&mut response, "content-location", &format!("/runs/{run}"));
            } else {
                locate(&agent, &mut response, &thread, &run, "join");
            }
            response
        }),
    )
}

/// Responds with the final result of a run. Its thread may be gone by then, so the end is read from its stream.
fn outcome_of(agent: &Arc<Agent>, started: Started) -> Response {
    let Started { run, mut reader } = started;
    let ending = async move {
        while let Read::Items(_) = reader.next().await {}
        run.outcome.get().cloned().unwrap_or_else(|| json!({}))
    };
    patient(agent, ending)
}

/// `GET /threads/{t}/runs/{r}/join`.
pub async fn join(
    State(agent): ThisAgent,
    Path((thread, run)): Path<(String, String)>,
) -> Response {
    if let Err(refusal) = agent.check_run_ids(&thread, &run) {
        return *refusal;
    }
    let found = agent
        .memory()
        .threads
        .get(&thread)
        .and_then(|thread| thread.run(&run))
        .cloned();
    if found.is_none() && agent.dialect == Dialect::Aegra {
        return *agent.refuse(Problem::NoRun(run));
    }
    let mut response = match found {
        Some(found) => patient(&agent, join_outcome(agent.clone(), found)),
        None => {
            let error = match agent.dialect {
                Dialect::JavaScript => json!({"error": "Error", "message": "\"Run not found\""}),
                _ => json!({"error": "HTTPException", "message": "404: Run not found"}),
            };
            json_response(StatusCode::OK, &json!({"__error__": error}))
        }
    };
    if agent.dialect == Dialect::Python {
        locate(&agent, &mut response, &thread, &run, "join");
    }
    response
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
    match agent.dialect {
        Dialect::Aegra => run.output.unwrap_or_else(|| json!({})),
        Dialect::JavaScript => thread
            .values
            .as_ref()
            .map(|values| json!(values))
            .unwrap_or_default(),
        Dialect::Python | Dialect::Contract => match thread.status.as_str() {
            "error" => json!({"__error__": thread.error}),
            "interrupted"
                if thread
                    .interrupts
                    .as_ref()
                    .is_some_and(|raised| !raised.is_empty()) =>
            {
                let raised = thread.interrupts.iter().flat_map(|raised| raised.values());
                let all: Vec<&Value> = raised
                    .flat_map(|raised| raised.as_array().into_iter().flatten())
                    .collect();
                json!({"__interrupt__": all})
            }
            _ => thread
                .values
                .as_ref()
                .map(|values| json!(values))
                .unwrap_or_default(),
        },
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
    let kind = if agent.dialect == Dialect::JavaScript {
        "text/plain; charset=UTF-8"
    } else {
        "application/json"
    };
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// `GET /threads/{t}/runs`: newest first; on the JavaScript server oldest first, where `limit` is the end index.
pub async fn list(State(agent): ThisAgent, Path(thread): Path<String>, uri: Uri) -> Response {
    if agent.dialect != Dialect::Aegra
        && let Err(refusal) = agent.check_thread(&thread)
    {
        return *refusal;
    }
    let pairs = query_pairs(&uri);
    let value = |key: &str| {
        pairs
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    };
    let number = |key: &str, or: usize| match value(key) {
        None => Ok(or),
        Some(text) => text.parse().map_err(|_| {
            if agent.dialect == Dialect::JavaScript {
                return agent.refuse(Problem::NotANumber(if key == "limit" {
                    "limit"
                } else {
                    "offset"
                }));
            }
            let text = format!("invalid literal for int() with base 10: '{text}'");
            agent.refuse(Problem::Python(StatusCode::BAD_REQUEST, text))
        }),
    };
    let (offset, limit) =
        match number("offset", 0).and_then(|offset| Ok((offset, number("limit", 10)?))) {
            Ok(page) => page,
            Err(refusal) => return *refusal,
        };
    let fields: Vec<String> = pairs
        .iter()
        .filter(|(key, _)| key == "select")
        .map(|(_, value)| value.clone())
        .collect();
    let memory = agent.memory();
    let runs = memory
        .threads
        .get(&thread)
        .map(|thread| thread.runs.as_slice())
        .unwrap_or_default();
    let wanted = runs
        .iter()
        .filter(|run| value("status").is_none_or(|status| run.status == status));
    let row = |run: &Run| rows::run(agent.dialect, run);
    let shown: Vec<Value> = match agent.dialect {
        Dialect::JavaScript => wanted.take(limit).skip(offset).map(row).collect(),
        Dialect::Aegra => wanted.rev().skip(offset).take(limit).map(row).collect(),
        _ => wanted
            .rev()
            .skip(offset)
            .take(limit)
            .map(|run| select(row(run), &fields))
            .collect(),
    };
    json_response(StatusCode::OK, &json!(shown))
}

/// `GET /threads/{t}/runs/{r}`.
pub async fn get(State(agent): ThisAgent, Path((thread, run)): Path<(String, String)>) -> Response {
    if let Err(refusal) = agent.check_run_ids(&thread, &run) {
        return *refusal;
    }
    let memory = agent.memory();
    match memory
        .threads
        .get(&thread)
        .and_then(|thread| thread.run(&run))
    {
        Some(run) => json_response(StatusCode::OK, &rows::run(agent.dialect, run)),
        None => *agent.refuse(Problem::NoRun(run)),
    }
}

/// `DELETE /threads/{t}/runs/{r}`. A running run continues without its row; Aegra refuses.
pub async fn delete(
    State(agent): ThisAgent,
    Path((thread, run)): Path<(String, String)>,
    uri: Uri,
) -> Response {
    if let Err(refusal) = agent.check_run_ids(&thread, &run) {
        return *refusal;
    }
    if agent.dialect == Dialect::Aegra {
        let active = agent
            .memory()
            .threads
            .get(&thread)
            .and_then(|thread| thread.run(&run))
            .is_some_and(Run::is_active);
        if active && !is(&query_pairs(&uri), "force", &["1"]) {
            return *agent.refuse(Problem::RunIsActive);
        }
        if active {
            agent.cancel(&thread, &run, false, "cancel", true);
            agent.ended(&thread, &run).await;
        }
    }
    if agent.delete_run(&thread, &run) {
        empty(StatusCode::NO_CONTENT)
    } else {
        *agent.refuse(Problem::NoRunToDelete(run))
    }
}

/// `POST /threads/{t}/runs/{r}/cancel`.
pub async fn cancel(
    State(agent): ThisAgent,
    Path((thread, run)): Path<(String, String)>,
    uri: Uri,
) -> Response {
    if let Err(refusal) = agent.check_run_ids(&thread, &run) {
        return *refusal;
    }
    let pairs = query_pairs(&uri);
    let rollback = is(&pairs, "action", &["rollback"]);
    let waits = is(&pairs, "wait", &["1", "true", "yes"]);
    if rollback && agent.dialect == Dialect::Aegra {
        let says = "String should match pattern '^(cancel|interrupt)$'".to_owned();
        let (place, value) = ("^(cancel|interrupt)$".to_owned(), json!("rollback"));
        return *agent.refuse(Problem::Schema {
            says,
            rule: "pattern",
            place,
            at: "action",
            value,
        });
    }
    let action = match (rollback, agent.dialect) {
        (true, _) => "rollback",
        (_, Dialect::Aegra) if !is(&pairs, "action", &["interrupt"]) => "cancel",
        _ => "interrupt",
    };
    let reason =
        format!("{action} requested via POST /threads/{{thread_id}}/runs/{{run_id}}/cancel");
    let pending = agent
        .memory()
        .threads
        .get(&thread)
        .and_then(|thread| thread.run(&run))
        .is_some_and(|run| run.status == "pending");
    let done = agent.cancel(&thread, &run, rollback, &reason, waits);
    match (agent.dialect, done) {
        (_, Cancelled::Unknown) => return *agent.refuse(Problem::NothingToCancel(run)),
        (Dialect::Python | Dialect::Contract, Cancelled::TooLate) => {
            return *agent.refuse(Problem::CancelTooLate);
        }
        _ => {}
    }
    // Aegra reads the row before the run writes its end.
    let row = agent
        .memory()
        .threads
        .get(&thread)
        .and_then(|thread| thread.run(&run))
        .map(|run| rows::run(agent.dialect, run));
    if waits && done == Cancelled::Yes {
        agent.ended(&thread, &run).await;
        if pending && agent.dialect != Dialect::Aegra {
            agent.pause(Duration::from_millis(500)).await;
        }
    }
    match agent.dialect {
        Dialect::Aegra => json_response(StatusCode::OK, &row.unwrap_or_default()),
        Dialect::JavaScript => empty(if waits {
            StatusCode::NO_CONTENT
        } else {
            StatusCode::ACCEPTED
        }),
        _ if !waits => empty(StatusCode::ACCEPTED),
        _ => {
            let mut response = json_response(StatusCode::OK, &json!({}));
            locate(&agent, &mut response, &thread, &run, "join");
            response
        }
    }
}

/// `POST /runs/cancel`: by thread and run ids, or by status on the whole server. The Python server only.
pub async fn cancel_many(State(agent): ThisAgent, uri: Uri, bytes: Bytes) -> Response {
    answer(agent.body(&bytes).and_then(|body| {
        let wrong = |text: &str| agent.refuse(Problem::Python(StatusCode::UNPROCESSABLE_ENTITY, text.to_owned()));
        let status = body["status"].as_str();
        let ids = body["run_ids"].as_array();
        if status.is_some() && (ids.is_some() || body["thread_id"].is_string()) {
            return Err(wrong(
                "When providing a 'status', 'thread_id' and 'run_ids' must be omitted. The 'status' parameter cancels \
                 all runs with the given status, regardless of thread or run ID.",
            ));
        }
        let chosen: Vec<(String, String)> = match (status, ids, body["thread_id"].as_str()) {
            (Some(status), ..) => {
                let memory = agent.memory();
                let runs = memory.threads.values().flat_map(|thread| &thread.runs);
                let wanted = runs.filter(|run| run.is_active() && (status == "all" || run.status == status));
                wanted.map(|run| (run.thread.clone(), run.id.clone())).collect()
            }
            (None, Some(ids), Some(thread)) => {
                ids.iter().filter_map(Value::as_str).map(|run| (thread.to_owned(), run.to_owned())).collect()
            }
            _ => {
                return Err(wrong(&format!(
                    "{body} is not valid under any of the schemas listed in the 'oneOf' keyword\n\nFailed validating \
                     \"oneOf\" in schema\n\nOn instance:\n    {body}"
                )));
            }
        };
        let rollback = is(&query_pairs(&uri), "action", &["rollback"]);
        let action = if rollback { "rollback" } else { "interrupt" };
        let reason = format!("{action} requested via POST /runs/cancel");
        let done: Vec<Cancelled> =
            chosen.iter().map(|(thread, run)| agent.cancel(thread, run, rollback, &reason, false)).collect();
        if done.contains(&Cancelled::Yes) {
            return Ok(empty(StatusCode::NO_CONTENT));
        }
        Err(agent.refuse(if done.iter().all(|one| *one == Cancelled::Unknown) {
            Problem::NothingToCancel(String::new())
        } else {
            Problem::CancelTooLate
        }))
    }))
}
