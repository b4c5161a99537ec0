//! Determines the state of a run whose stream has closed from the server's records.

use crate::Outcome;
use crate::transport::connection::RunState;
use crate::transport::server::{is_endpoint_missing, kind};
use runtail_api::{AgentServer, ApiError, Kind, ServerKind};
use runtail_core::model::{
    Question, RunFacts, StateFacts, Thread, ThreadFacts, hides_cause, summary_of,
};
use serde_json::Value;
use std::time::Duration;

/// How many times, and at what interval, to poll a thread that is still busy after its run has ended.
const BUSY_POLLS: u32 = 3;
const BUSY_POLL_INTERVAL: Duration = Duration::from_millis(150);

/// Returns the state of a run. `event`: the text of its error event. If that has the cause, the state is not read for it.
pub(crate) async fn run_state(
    server: &AgentServer,
    thread: &str,
    run: &str,
    known: &mut Option<ServerKind>,
    event: Option<&str>,
) -> Result<RunState, ApiError> {
    let run = match server.run(thread, run).await {
        Ok(run) => run,
        Err(error) if is_endpoint_missing(server, known, &error).await? => {
            return Ok(RunState::StatusUnsupported);
        }
        Err(error) if error.kind == Kind::NotFound => {
            return Ok(match server.thread(thread).await {
                // A cancel with rollback deletes the run.
                Ok(_) => RunState::NotFound(
                    Outcome::Cancelled,
                    Some("the run was rolled back or deleted".into()),
                ),
                Err(error) if error.kind == Kind::NotFound => {
                    let why = "the server has neither the run nor its thread: it was restarted, or they were deleted";
                    RunState::NotFound(Outcome::Unknown, Some(why.into()))
                }
                Err(error) => return Err(error),
            });
        }
        Err(error) => return Err(error),
    };
    if run.is_active() {
        return Ok(RunState::Active);
    }
    Ok(match &*run.status {
        "success" | "completed" => match pending_question(server, thread, known).await? {
            Some(question) => RunState::Finished(Outcome::Interrupted, question),
            None => RunState::Finished(Outcome::Success, None),
        },
        "error" | "failed" => {
            let facts = serde_json::to_string(&run)
                .ok()
                .and_then(|json| RunFacts::read(&json).ok());
            let mut facts = facts.unwrap_or_default();
            // A cut text may be whole in the state.
            let text = event.filter(|text| !hides_cause(text) && !text.ends_with('…'));
            facts.error = facts.error.or(text.map(String::from));
            RunState::Finished(Outcome::Error, server.cause_of_run(thread, &facts).await?)
        }
        "timeout" => RunState::Finished(Outcome::Timeout, None),
        "cancelled" | "canceled" => RunState::Finished(Outcome::Cancelled, None),
        // On Python and JavaScript servers this is a cancelled run, on Aegra a cancelled one or one that stopped.
        "interrupted" => match kind(server, known).await? {
            ServerKind::Python | ServerKind::JavaScript => {
                RunState::Finished(Outcome::Cancelled, None)
            }
            kind => {
                let state = server.thread_state(thread).await?;
                let question = question_in_state(&state);
                // The thread of a cancelled run is idle.
                let is_paused = kind == ServerKind::Aegra
                    && has_next(&state)
                    && thread_of(server, thread).await?.status == "interrupted";
                let outcome = if question.is_some() || is_paused {
                    Outcome::Interrupted
                } else {
                    Outcome::Cancelled
                };
                RunState::Finished(outcome, question)
            }
        },
        other => RunState::Finished(
            Outcome::Unknown,
            Some(format!(
                "the run's status is {}",
                runtail_core::text::clean(other)
            )),
        ),
    })
}

/// Returns whether the thread of a successful run is waiting for input, and the question if there is one.
async fn pending_question(
    server: &AgentServer,
    thread: &str,
    known: &mut Option<ServerKind>,
) -> Result<Option<Option<String>>, ApiError> {
    let record = settled_thread(server, thread).await?;
    if let Some(question) = interrupt(&record) {
        return Ok(Some(question));
    }
    // Aegra's threads have no interrupts, and it may report a run as a success that stopped at a breakpoint, or with the mode
    // `events` one that asks. While another run is active, the thread's state doesn't describe this one.
    if !kind(server, known).await?.is_aegra() || record.status == "busy" {
        return Ok(None);
    }
    let state = server.thread_state(thread).await?;
    Ok(question_in_state(&state)
        .map(Some)
        .or(has_next(&state).then_some(None)))
}

/// Returns whether a state has a node left to run.
fn has_next(state: &Value) -> bool {
    state["next"]
        .as_array()
        .is_some_and(|next| !next.is_empty())
}

/// Reads the thread. The thread of a stateless run may already be deleted.
async fn thread_of(server: &AgentServer, id: &str) -> Result<Thread, ApiError> {
    match server.thread(id).await {
        Err(error) if error.kind == Kind::NotFound => Ok(Thread::default()),
        other => other,
    }
}

/// Reads the thread once its status is up to date. Another run may keep it busy.
async fn settled_thread(server: &AgentServer, id: &str) -> Result<Thread, ApiError> {
    for _ in 0..BUSY_POLLS {
        let thread = thread_of(server, id).await?;
        if thread.status != "busy" || interrupt(&thread).is_some() {
            return Ok(thread);
        }
        tokio::time::sleep(BUSY_POLL_INTERVAL).await;
    }
    thread_of(server, id).await
}

/// Returns whether the thread is waiting for input, and its questions if there are any.
fn interrupt(thread: &Thread) -> Option<Option<String>> {
    let questions = ThreadFacts::of(thread).questions;
    (!questions.is_empty() || thread.status == "interrupted").then(|| in_words(&questions))
}

/// Returns the questions in a state.
fn question_in_state(state: &Value) -> Option<String> {
    in_words(&StateFacts::read(&state.to_string()).ok()?.pending())
}

fn in_words(questions: &[Question]) -> Option<String> {
    Some(summary_of(questions)).filter(|words| !words.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn questions_of_interrupted_threads_are_found() {
        let thread = |text| serde_json::from_str::<Thread>(text).unwrap();
        assert_eq!(
            interrupt(&thread(r#"{"thread_id":"t","status":"idle"}"#)),
            None
        );
        assert_eq!(
            interrupt(&thread(r#"{"thread_id":"t","status":"interrupted"}"#)),
            Some(None)
        );
        let waiting = thread(
            r#"{"thread_id":"t","status":"interrupted","interrupts":{"x":[{"id":"1","value":"Go?"}]}}"#,
        );
        assert_eq!(interrupt(&waiting), Some(Some("Go?".into())));
        let two = json!({"thread_id": "t", "interrupts": {"x": [{"id": "1", "value": "Go?"}], "y": [{"id": "2", "value": "Stay?"}]}});
        assert_eq!(
            interrupt(&thread(&two.to_string())),
            Some(Some("2 questions: Go?".into()))
        );
        assert_eq!(
            question_in_state(
                &json!({"tasks":[{"interrupts":[]},{"interrupts":[{"value":{"q":1}}]}]})
            )
            .as_deref(),
            Some("{\"q\":1}")
        );
        assert_eq!(
            question_in_state(&json!({"tasks":[],"interrupts":[]})),
            None
        );
    }
}
