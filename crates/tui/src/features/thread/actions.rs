//! The answer key on a thread that has no open question.

use crate::session::msg::ThreadRef;
use crate::session::{Requests, Route, Session};
use runtail_api::{CancelState, CancelTarget, ThreadIntent, WriteKind, Written};
use runtail_core::model::ThreadStatus;
use runtail_core::text::{capitalized, clean, short_id};

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
        ThreadStatus::Loading => {
            format!("The thread is still loading. Press {refresh} to reload it.")
        }
        ThreadStatus::Unknown { why } if why.is_empty() => {
            "The thread's status is unknown, so it may not be waiting.".into()
        }
        ThreadStatus::Unknown { why } => {
            format!(
                "The thread's status is unknown ({why}), so it may not be waiting. Press {refresh} to reload it."
            )
        }
        ThreadStatus::Queued { .. } | ThreadStatus::Running { .. } => {
            format!("A run is active. Press {cancel} to cancel it.")
        }
        ThreadStatus::Failed { .. } if is_rejected => {
            format!(
                "The step failed with its answer, which the server keeps. Press {again} to ask again."
            )
        }
        ThreadStatus::Failed { .. } => {
            format!("The last run failed. Press {again} to retry, {explain} to explain.")
        }
        ThreadStatus::BusyWithoutRun { .. } => {
            format!("The thread is stuck. Press {explain} to explain.")
        }
        _ => format!("No question is open. Press {new_run} to start a run."),
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
        return (false, format!("{} runs were cancelled.", targets.len()));
    }
    let mut is_error = false;
    let mut sentences = Vec::new();
    for target in targets {
        let run = run_name(target);
        let run_name = capitalized(&run);
        let status = clean(target.run_status.as_deref().unwrap_or_default()).into_owned();
        sentences.push(match (target.state, &target.error) {
            (CancelState::Stopped, _) if status == "deleted" => format!("{run_name} was cancelled and rolled back."),
            (CancelState::Stopped, _) if status == "error" => {
                format!("{run_name} was cancelled; the server marks it as failed.")
            }
            (CancelState::Stopped, _) => format!("{run_name} was cancelled."),
            (CancelState::Finished, _) => format!("{run_name} ended before it could be cancelled: {status}."),
            (CancelState::NotFound, _) => format!("{run_name} no longer exists."),
            (CancelState::Stopping, Some(error)) => {
                is_error = true;
                let request = format!("POST /threads/{}/runs/{}/cancel", clean(thread), clean(&target.run_id));
                format!(
                    "Couldn't verify that {run} stopped: {}. The server accepted {request}. Press r to check again.",
                    error.cause()
                )
            }
            (CancelState::Stopping, None) => {
                is_error = true;
                format!(
                    "{run_name} hasn't stopped yet, though the server accepted the request to cancel it. A step that \
                     can't be interrupted runs to its end. Press r to check again."
                )
            }
            (CancelState::Unknown, _) => {
                is_error = true;
                format!("It's unknown whether {run} was cancelled. Press r to check again.")
            }
            (CancelState::Active | CancelState::Failed, error) => {
                is_error = true;
                let why = error.as_ref().map(|error| format!(": {}", error.cause())).unwrap_or_default();
                format!("{run_name} was not cancelled{why}.")
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
        .map(|id| format!(" Its newest checkpoint is {}.", short_id(id)));
    match (written.kind, status.as_deref()) {
        (WriteKind::Edit, _) => (
            false,
            format!("The state was edited.{}", checkpoint.unwrap_or_default()),
        ),
        (WriteKind::Release, Some("busy")) => {
            let why = "The server accepted the update, but the thread is still busy.";
            (
                true,
                format!("{why} {new_run} starts a run, which also releases it."),
            )
        }
        (WriteKind::Release, Some(status)) => (
            false,
            format!("The thread was released. Its status is {status}."),
        ),
        (WriteKind::Release, None) => (
            false,
            "The update was sent. The thread's status could not be read.".into(),
        ),
        (WriteKind::End, Some("interrupted")) => (
            false,
            "The thread was ended: nothing more runs. The server still lists it as interrupted."
                .into(),
        ),
        (WriteKind::End, _) => (false, "The thread was ended: nothing more runs.".into()),
    }
}
