//! Sends an edit of a thread's state, once.

use crate::act::{Partial, Progress, TargetNow};
use crate::prelude::*;

/// What an edit of a thread's state is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    /// To change the state.
    Edit,
    /// To make a busy thread idle.
    Release,
    /// To end the thread.
    End,
}

/// An edit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub kind: WriteKind,
    /// The new checkpoint, if the server names it.
    pub checkpoint: Option<String>,
    /// The thread's status in its record after it, if it could be read.
    pub status: Option<String>,
}

impl AgentServer {
    /// Sends the edit. `is_last`: no run follows, so the thread's status is read after it.
    pub(crate) async fn write_state(
        &self,
        (thread, kind): (&str, WriteKind),
        body: &Value,
        seen: &TargetNow,
        is_last: bool,
        done: &mut Progress,
    ) -> Result<Acted, StartError> {
        let checkpoint = match self.update_state(thread, body).await {
            Ok(answer) => new_checkpoint(&answer),
            // Python's detail is the whole record of the run, its configuration included.
            Err(error) if error.kind == Kind::Conflict => {
                let detail = "a run is active on the thread".to_string();
                return Err(StartFailure::Busy.with_error(ApiError { detail, ..error }));
            }
            Err(error) => return Err(self.lost_write(thread, seen, error).await),
        };
        done.partial = Some(Partial::Edited(
            checkpoint.clone().unwrap_or_else(|| "unknown".into()),
        ));
        // The request is done; a status that can't be read is unknown.
        let record = if is_last {
            self.small_thread_record(thread).await.ok()
        } else {
            None
        };
        let facts = record.and_then(|json| ThreadFacts::read(&json).ok());
        Ok(Acted::Written(Written {
            kind,
            checkpoint,
            status: facts
                .map(|facts| facts.status)
                .filter(|status| !status.is_empty()),
        }))
    }

    /// Converts the error of an edit that failed. It is never sent again.
    async fn lost_write(&self, thread: &str, seen: &TargetNow, error: ApiError) -> StartError {
        // Only after an answer the request is over, so that an unchanged thread shows that nothing was done.
        if matches!(error.kind, Kind::Server(_))
            && let TargetNow::Thread(before) = seen
            && let Ok(now) = self.load_thread(thread).await
            && now.state.is_some()
            && now.checkpoint() == before.checkpoint()
        {
            return StartFailure::Refused.with_error(ApiError {
                hint: None,
                ..error
            });
        }
        let check = "it was sent once and may have been done; check the thread's history before you repeat it";
        StartError::sent(error).or_check(check)
    }
}

/// The new checkpoint in a server's answer: Python has it in three places, JavaScript and Aegra in one.
fn new_checkpoint(answer: &Value) -> Option<String> {
    let places = [
        &answer["checkpoint"]["checkpoint_id"],
        &answer["checkpoint_id"],
        &answer["configurable"]["checkpoint_id"],
    ];
    places
        .into_iter()
        .find_map(Value::as_str)
        .filter(|id| !id.is_empty())
        .map(str::to_string)
}
