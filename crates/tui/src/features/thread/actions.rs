//! The answer key on a thread that has no open question.

use crate::session::msg::ThreadRef;
use crate::session::{Requests, Route, Session};
use runtail_api::ThreadIntent;
use runtail_core::model::ThreadStatus;

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
