//! Runs over REST: creating, streaming, waiting, listing, cancelling, deleting.

use super::cancel::Cancelled;
use super::check::check_run;
use super::feed::Read;
use super::life::{Started, start};
use super::streams::{Filter, OnLeave, Source, locate, respond, run_ids};
use crate::agent::prelude::*;
use futures::stream as streams;

/// Cancels a run if the client of its stream leaves early.
pub fn cancel_on_leave(agent: &Arc<Agent>, thread: &str, run: &str) -> OnLeave {
    let (agent, thread, run) = (agent.clone(), thread.to_owned(), run.to_owned());
    OnLeave::new(move || {
        let reason = "client disconnected from the run stream (on_disconnect=cancel)";
        agent.cancel(&thread, &run, false, reason, false);
    })
}

/// Whether a parameter has one of these values.
pub fn is(pairs: &[(String, String)], key: &str, words: &[&str]) -> bool {
    let mut given = pairs.iter().filter(|(name, _)| name == key);
    given.any(|(_, value)| words.contains(&&*value.to_lowercase()))
}

/// The fields of a start by the contract.
const RUN_FIELDS: [&str; 4] = ["assistant_id", "input", "stream_mode", "stream_subgraphs"];

/// Creates a run on a thread; `refused` answers for an id that is none.
fn create_on(
    agent: &Arc<Agent>,
    thread: &str,
    bytes: &[u8],
    refused: fn(&str) -> Refusal,
    says: &str,
) -> Result<(Started, Value), Refusal> {
    let body = body(bytes)?;
    agent.check_fields(&body, &RUN_FIELDS)?;
    check_run(&body)?;
    check_id("thread", thread).map_err(|_| refused(says))?;
    Ok((start(agent, thread, &body, false)?, body))
}

const BAD_UUID: &str = "badly formed hexadecimal UUID string";

fn stream_of(agent: &Arc<Agent>, started: Started, body: &Value) -> Response {
    let run = &started.run;
    let cancels = body["on_disconnect"] == "cancel";
    let source = Source {
        ids: run_ids(agent, run.resumable()),
        leave: cancels.then(|| cancel_on_leave(agent, &run.thread, &run.id)),
        ..Source::new(started.reader, Filter::All)
    };
    respond(agent, source)
}

/// `POST /threads/{t}/runs/stream`.
pub async fn stream(State(agent): ThisAgent, Path(thread): Path<String>, bytes: Bytes) -> Handled {
    let (started, body) = create_on(&agent, &thread, &bytes, bad, BAD_UUID)?;
    let run = started.run.id.clone();
    let mut response = stream_of(&agent, started, &body);
    locate(&agent, &mut response, &thread, &run, "stream");
    Ok(response)
}

/// `POST /threads/{t}/runs`.
pub async fn create(State(agent): ThisAgent, Path(thread): Path<String>, bytes: Bytes) -> Handled {
    let (started, _) = create_on(&agent, &thread, &bytes, invalid, "Invalid thread ID")?;
    let mut response = ok(&rows::run(&started.run));
    let place = format!("/threads/{thread}/runs/{}", started.run.id);
    set_header(&mut response, "content-location", &place);
    Ok(response)
}

/// `POST /threads/{t}/runs/wait`: its thread may be gone at its end, so the end is read from its stream.
pub async fn wait(State(agent): ThisAgent, Path(thread): Path<String>, bytes: Bytes) -> Handled {
    let (Started { run, mut reader }, _) = create_on(&agent, &thread, &bytes, bad, BAD_UUID)?;
    let id = run.id.clone();
    let mut response = patient(&agent, async move {
        while let Read::Items(_) = reader.next().await {}
        run.outcome()
    });
    locate(&agent, &mut response, &thread, &id, "join");
    Ok(response)
}

/// `POST /runs/stream`. The server's `location` does not exist.
pub async fn stateless_stream(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = body(&bytes)?;
    agent.check_fields(&body, &RUN_FIELDS)?;
    let started = start(&agent, &uuid7(now()), &body, true)?;
    let place = format!("/runs/{}", started.run.id);
    let mut response = stream_of(&agent, started, &body);
    if !agent.contract {
        set_header(&mut response, "location", &format!("{place}/stream"));
        set_header(&mut response, "content-location", &place);
    }
    Ok(response)
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
        return run.outcome();
    }
    agent.pause(Duration::from_millis(500)).await;
    let memory = agent.memory();
    let Some(thread) = memory.threads.get(&run.thread) else {
        return json!({});
    };
    let raised = thread.interrupts.iter().flat_map(|raised| raised.values());
    let raised: Vec<&Value> = raised.flat_map(items_of).collect();
    match thread.status.as_str() {
        "error" => json!({"__error__": thread.error}),
        "interrupted" if !raised.is_empty() => json!({"__interrupt__": raised}),
        _ => json!(thread.values),
    }
}

/// A slow response: a line break at every heartbeat, then the JSON.
fn patient(agent: &Arc<Agent>, ending: impl Future<Output = Value> + Send + 'static) -> Response {
    let beat = Some(agent.heartbeat).filter(|beat| !beat.is_zero());
    let beat = beat.unwrap_or(Duration::from_secs(5));
    let parts = streams::unfold(Some(Box::pin(ending)), move |state| async move {
        let mut ending = state?;
        let (part, rest) = tokio::select! {
            value = &mut ending => (Bytes::from(value.to_string()), None),
            () = tokio::time::sleep(beat) => (Bytes::from_static(b"\n"), Some(ending)),
        };
        Some((Ok::<_, std::io::Error>(part), rest))
    });
    let mut response = Response::new(Body::from_stream(parts));
    set_header(&mut response, "content-type", "application/json");
    response
}

/// `GET /threads/{t}/runs`: newest first.
pub async fn list(State(agent): ThisAgent, Path(thread): Path<String>, uri: Uri) -> Handled {
    agent.check_thread(&thread)?;
    let pairs = query_pairs(&uri);
    let number = |key: &str, or: usize| {
        let wrong = |text| bad(&format!("invalid literal for int() with base 10: '{text}'"));
        last_of(&pairs, key).map_or(Ok(or), |text| text.parse().map_err(|_| wrong(text)))
    };
    let (offset, limit) = (number("offset", 0)?, number("limit", 10)?);
    let fields = pairs.iter().filter(|(key, _)| key == "select");
    let fields: Vec<String> = fields.map(|(_, value)| value.clone()).collect();
    let wanted = |run: &&Run| last_of(&pairs, "status").is_none_or(|status| run.status == status);
    let memory = agent.memory();
    let runs = memory
        .threads
        .get(&thread)
        .into_iter()
        .flat_map(|thread| thread.runs.iter().rev());
    let page = runs.filter(wanted).skip(offset).take(limit);
    Ok(ok(&page
        .map(|run| select(rows::run(run), &fields))
        .collect()))
}

/// `GET /threads/{t}/runs/{r}`.
pub async fn get(State(agent): ThisAgent, Path((thread, run)): Path<(String, String)>) -> Handled {
    check_run_ids(&thread, &run)?;
    let found = agent.run(&thread, &run);
    Ok(ok(&rows::run(&found.ok_or_else(|| missing("Not Found"))?)))
}

/// `DELETE /threads/{t}/runs/{r}`. A running run continues without its row.
pub async fn delete(
    State(agent): ThisAgent,
    Path((thread, run)): Path<(String, String)>,
) -> Handled {
    check_run_ids(&thread, &run)?;
    match agent.delete_run(&thread, &run) {
        true => Ok(done()),
        false => Err(missing("Run not found")),
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
        Cancelled::Yes if !waits => return Ok(StatusCode::ACCEPTED.into_response()),
        Cancelled::Yes => agent.ended(&thread, &run).await,
    }
    if pending {
        agent.pause(Duration::from_millis(500)).await;
    }
    let mut response = ok(&json!({}));
    locate(&agent, &mut response, &thread, &run, "join");
    Ok(response)
}
