//! What the key that answers does where no answer is awaited.

use crate::session::msg::ThreadRef;
use crate::session::{Requests, Route, Session};
use runtail_api::ThreadIntent;
use runtail_core::model::ThreadStatus;

/// What the answer key does where no answer is awaited.
pub fn answer_by_status(session: &Session, thread: ThreadRef, status: &ThreadStatus, is_rejected: bool) -> Requests {
    let is_stopped = matches!(
        status,
        ThreadStatus::Paused { .. }
            | ThreadStatus::Stopped { .. }
            | ThreadStatus::Cancelled { .. }
            | ThreadStatus::Edited { .. }
    );
    if is_stopped {
        let intent = ThreadIntent::Continue { thread: thread.id };
        return Route::ThreadAction(thread.server, Box::new(intent)).into();
    }
    let key = |id: &str| session.key(id);
    let (new_run, cancel) = (key("stream.new_run"), key("stream.cancel"));
    let (again, explain, refresh) = (key("stream.again"), key("stream.explain"), key("app.refresh"));
    let text = match status {
        ThreadStatus::Loading => format!("The thread is still loading. {refresh} reads it again."),
        ThreadStatus::Unknown { why } if why.is_empty() => {
            format!("The thread's status is unknown, and so is whether it waits. {refresh} reads it again.")
        }
        ThreadStatus::Unknown { why } => {
            format!("The thread's status is unknown ({why}), and so is whether it waits. {refresh} reads it again.")
        }
        ThreadStatus::Queued { .. } | ThreadStatus::Running { .. } => {
            format!("A run is {}: nothing is waiting for an answer. {cancel} cancels it.", status.word())
        }
        ThreadStatus::Failed { .. } if is_rejected => {
            format!("The graph rejected the answer, and the server keeps it. {again} asks the question again.")
        }
        ThreadStatus::Failed { .. } => {
            format!("The last run failed: nothing is waiting for an answer. {again} retries it, {explain} explains.")
        }
        ThreadStatus::BusyWithoutRun { .. } => {
            format!("The thread is busy without an active run: nothing is waiting for an answer. {explain} explains.")
        }
        _ => format!("The thread is {}: nothing is waiting for an answer. {new_run} starts a run.", status.word()),
    };
    Requests::info(text)
}
