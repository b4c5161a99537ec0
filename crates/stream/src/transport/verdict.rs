//! What a server's records say about a run whose stream has closed.

use crate::transport::link::Verdict;
use crate::transport::server::{kind, lacks_call};
use crate::{Outcome, error_text};
use runtail_api::{AgentServer, ApiError, Kind, ServerKind};
use runtail_core::model::{Run, Thread};
use serde_json::Value;
use std::time::Duration;

/// How often, and at what interval, to read a thread again while it is still busy after its run has ended.
const SETTLING: u32 = 3;
const SETTLING_WAIT: Duration = Duration::from_millis(150);
/// Characters of a question that are shown with the outcome.
const QUESTION: usize = 160;

/// What became of a run.
pub(crate) async fn verdict(
    server: &AgentServer,
    thread: &str,
    run: &str,
    known: &mut Option<ServerKind>,
) -> Result<Verdict, ApiError> {
    let run = match server.run(thread, run).await {
        Ok(run) => run,
        Err(error) if lacks_call(server, known, &error).await? => return Ok(Verdict::Unasked),
        Err(error) if error.kind == Kind::NotFound => {
            return Ok(match server.thread(thread).await {
                // A cancel with rollback deletes the run.
                Ok(_) => Verdict::Gone(Outcome::Cancelled, Some("the run is gone: rolled back or deleted".into())),
                Err(error) if error.kind == Kind::NotFound => {
                    let why = "the server knows neither the run nor its thread: it was restarted, or they were deleted";
                    Verdict::Gone(Outcome::Unknown, Some(why.into()))
                }
                Err(error) => return Err(error),
            });
        }
        Err(error) => return Err(error),
    };
    if run.is_active() {
        return Ok(Verdict::Active);
    }
    Ok(match &*run.status {
        "success" | "completed" => match waits_for(server, thread, known).await? {
            Some(question) => Verdict::Over(Outcome::Interrupted, question),
            None => Verdict::Over(Outcome::Success, None),
        },
        "error" | "failed" => {
            let told = thread_of(server, thread).await?.failure();
            Verdict::Over(Outcome::Error, told.or(noted_error(&run)))
        }
        "timeout" => Verdict::Over(Outcome::Timeout, None),
        "cancelled" | "canceled" => Verdict::Over(Outcome::Cancelled, None),
        // Python and JavaScript mean a cancelled run. Aegra means that, or one that stopped to ask.
        "interrupted" => match kind(server, known).await? {
            ServerKind::Python | ServerKind::JavaScript => Verdict::Over(Outcome::Cancelled, None),
            ServerKind::Aegra | ServerKind::Other => match asked(&server.thread_state(thread).await?) {
                Some(question) => Verdict::Over(Outcome::Interrupted, Some(question)),
                None => Verdict::Over(Outcome::Cancelled, None),
            },
        },
        other => {
            Verdict::Over(Outcome::Unknown, Some(format!("the run's status is {}", runtail_core::text::clean(other))))
        }
    })
}

/// Aegra keeps the error on the run.
fn noted_error(run: &Run) -> Option<String> {
    run.extra.get("error_message").and_then(Value::as_str).map(String::from)
}

/// Whether the thread of a run that ended well waits for input, and the question if there is one.
async fn waits_for(
    server: &AgentServer,
    thread: &str,
    known: &mut Option<ServerKind>,
) -> Result<Option<Option<String>>, ApiError> {
    let settled = settled(server, thread).await?;
    if let Some(question) = interrupt(&settled) {
        return Ok(Some(question));
    }
    // Aegra's threads have no interrupts, and with the mode `events` it calls a run that stopped to ask a success. While
    // another run is active its state says nothing about this one.
    if kind(server, known).await? != ServerKind::Aegra || settled.status == "busy" {
        return Ok(None);
    }
    let state = server.thread_state(thread).await?;
    let has_next = state["next"].as_array().is_some_and(|next| !next.is_empty());
    Ok(asked(&state).map(Some).or(has_next.then_some(None)))
}

/// The thread; that of a stateless run may be deleted already.
async fn thread_of(server: &AgentServer, id: &str) -> Result<Thread, ApiError> {
    match server.thread(id).await {
        Err(error) if error.kind == Kind::NotFound => Ok(Thread::default()),
        other => other,
    }
}

/// The thread, once its status has followed that of its run. Another run may keep it busy.
async fn settled(server: &AgentServer, id: &str) -> Result<Thread, ApiError> {
    for _ in 0..SETTLING {
        let thread = thread_of(server, id).await?;
        if thread.status != "busy" || !thread.waiting().is_empty() {
            return Ok(thread);
        }
        tokio::time::sleep(SETTLING_WAIT).await;
    }
    thread_of(server, id).await
}

/// Whether the thread waits for input, and the question if there is one.
fn interrupt(thread: &Thread) -> Option<Option<String>> {
    let first = thread.waiting().into_iter().next();
    (first.is_some() || thread.status == "interrupted").then(|| first.map(|i| question(&i.value)))
}

/// The question in a state.
fn asked(state: &Value) -> Option<String> {
    let tasks = state["tasks"].as_array().into_iter().flatten().map(|task| &task["interrupts"]);
    let lists = std::iter::once(&state["interrupts"]).chain(tasks);
    lists.filter_map(Value::as_array).flatten().next().map(|i| question(&i["value"]))
}

fn question(value: &Value) -> String {
    let text = error_text(&value.to_string());
    let mut short: String = text.chars().take(QUESTION).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_thread_waits_for() {
        let thread = |text| serde_json::from_str::<Thread>(text).unwrap();
        assert_eq!(interrupt(&thread(r#"{"thread_id":"t","status":"idle"}"#)), None);
        assert_eq!(interrupt(&thread(r#"{"thread_id":"t","status":"interrupted"}"#)), Some(None));
        let waiting =
            thread(r#"{"thread_id":"t","status":"interrupted","interrupts":{"x":[{"id":"1","value":"Go?"}]}}"#);
        assert_eq!(interrupt(&waiting), Some(Some("Go?".into())));
        assert_eq!(
            asked(&json!({"tasks":[{"interrupts":[]},{"interrupts":[{"value":{"q":1}}]}]})).as_deref(),
            Some("{\"q\":1}")
        );
        assert_eq!(asked(&json!({"tasks":[],"interrupts":[]})), None);
    }
}
