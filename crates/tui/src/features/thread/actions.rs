//! The answer key on a thread that has no open question.

use crate::session::msg::ThreadRef;
use crate::session::{Requests, Route, Session};
use runtail_api::{CancelState, CancelTarget, ThreadIntent, WriteKind, Written};
use runtail_core::model::ThreadStatus;
use runtail_core::text::{capitalized, clean, short_id};

const CHECK_AGAIN: &str = "Press r to check again.";

/// Explains what to do instead of answering a thread that has no open question.
pub fn answer_by_status(
    session: &Session,
    thread: ThreadRef,
    status: &ThreadStatus,
    is_rejected: bool,
) -> Requests {
    let is_stopped = matches!(
        status,
        ThreadStatus::Paused { .. }
            | ThreadStatus::Stopped { .. }
            | ThreadStatus::Cancelled { .. }
            | ThreadStatus::Edited { .. }
    );
    if is_stopped {
        let intent = ThreadIntent::Continue { thread: thread.id };
        return Route::on_thread(thread.server, intent).into();
    }
    let key = |id: &str| session.key(id);
    let (new_run, cancel) = (key("stream.new_run"), key("stream.cancel"));
    let (again, explain, refresh) = (
        key("stream.again"),
        key("stream.explain"),
        key("app.refresh"),
    );
    let text = match status {
        ThreadStatus::Loading => format!("Still loading; {refresh} reloads."),
        ThreadStatus::Unknown { why } if why.is_empty() => "The thread's status is unknown.".into(),
        ThreadStatus::Unknown { why } => {
            format!("The thread's status is unknown ({why}); {refresh} reloads.")
        }
        ThreadStatus::Queued { .. } | ThreadStatus::Running { .. } => {
            format!("A run is active; {cancel} cancels it.")
        }
        ThreadStatus::Failed { .. } if is_rejected => {
            format!("The step failed with its answer; {again} asks again.")
        }
        ThreadStatus::Failed { .. } => {
            format!("The last run failed; {again} retries, {explain} explains.")
        }
        ThreadStatus::BusyWithoutRun { .. } => {
            format!("The thread is stuck; {explain} explains.")
        }
        _ => format!("No question is open; {new_run} starts a run."),
    };
    Requests::info(text)
}

/// Says whether cancelled runs of a thread have stopped, and whether something went wrong.
pub fn cancelled_message(
    targets: &[CancelTarget],
    run_name: impl Fn(&CancelTarget) -> String,
    thread: &str,
) -> (bool, String) {
    let is_stopped = |target: &CancelTarget| target.state == CancelState::Stopped;
    if targets.len() > 1 && targets.iter().all(is_stopped) {
        return (false, format!("Cancelled {} runs.", targets.len()));
    }
    let mut is_error = false;
    let mut sentences = Vec::new();
    for target in targets {
        let run = run_name(target);
        let run_name = capitalized(&run);
        let status = clean(target.run_status.as_deref().unwrap_or_default()).into_owned();
        sentences.push(match (target.state, &target.error) {
            (CancelState::Stopped, _) if status == "deleted" => format!("Cancelled {run} and rolled it back."),
            (CancelState::Stopped, _) if status == "error" => {
                format!("Cancelled {run}; the server marks it as failed.")
            }
            (CancelState::Stopped, _) => format!("Cancelled {run}."),
            (CancelState::Finished, _) => format!("{run_name} ended before the cancel: {status}."),
            (CancelState::NotFound, _) => format!("{run_name} no longer exists."),
            (CancelState::Stopping, Some(error)) => {
                is_error = true;
                let request = format!("POST /threads/{}/runs/{}/cancel", clean(thread), clean(&target.run_id));
                format!(
                    "Couldn't verify that {run} stopped: {}. The server accepted {request}. {CHECK_AGAIN}",
                    error.cause()
                )
            }
            (CancelState::Stopping, None) => {
                is_error = true;
                format!(
                    "The server accepted the cancel, but {run} still runs: some steps can't be interrupted. {CHECK_AGAIN}"
                )
            }
            (CancelState::Unknown, _) => {
                is_error = true;
                format!("Unknown whether {run} was cancelled. {CHECK_AGAIN}")
            }
            (CancelState::Active | CancelState::Failed, error) => {
                is_error = true;
                let why = error.as_ref().map(|error| format!(": {}", error.cause())).unwrap_or_default();
                format!("Couldn't cancel {run}{why}.")
            }
        });
    }
    (is_error, sentences.join("\n"))
}

/// Says what an edit of the state led to, and whether that is not what was wanted.
pub fn written_message(written: &Written, new_run: &str) -> (bool, String) {
    let status = written
        .status
        .as_deref()
        .map(|status| clean(status).into_owned());
    let checkpoint = written
        .checkpoint
        .as_deref()
        .map(|id| format!(" Newest checkpoint: {}.", short_id(id)));
    match (written.kind, status.as_deref()) {
        (WriteKind::Edit, _) => (
            false,
            format!("Edited the state.{}", checkpoint.unwrap_or_default()),
        ),
        (WriteKind::Release, Some("busy")) => {
            let text = "Update accepted, but the thread is still busy.";
            (
                true,
                format!("{text} {new_run} starts a run, which releases it."),
            )
        }
        (WriteKind::Release, Some(status)) => {
            (false, format!("Released the thread; status: {status}."))
        }
        (WriteKind::Release, None) => (
            false,
            "Update sent; couldn't read the thread's status.".into(),
        ),
        (WriteKind::End, Some("interrupted")) => (
            false,
            "Ended the thread; the server still lists it as interrupted.".into(),
        ),
        (WriteKind::End, _) => (false, "Ended the thread.".into()),
    }
}
