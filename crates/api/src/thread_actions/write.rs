//! Sends an edit of a thread's state, once, and a run after it.

use super::start::refusal;
use super::{RunStart, StartError, StartFailure, StartGuard, Started};
use crate::{AgentServer, ApiError, Kind};
use runtail_core::model::{StateFacts, ThreadFacts};
use runtail_core::text;
use serde_json::Value;

/// Bytes of a state that is read only for its nodes.
const MAX_STATE: usize = 64 << 20;

/// An edit of a thread's state that is to be sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StateWrite {
    pub thread: String,
    /// The request.
    pub body: Value,
    /// What must be so just before it is sent.
    pub guard: StartGuard,
    pub kind: WriteKind,
}

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
    pub(super) async fn write_state(&self, write: &StateWrite) -> Result<Written, StartError> {
        let checkpoint = self.send_write(write).await?;
        // The request is done; a status that can't be read is unknown.
        let record = self.small_thread_record(&write.thread).await.ok();
        let status = record
            .and_then(|json| ThreadFacts::read(&json).ok())
            .map(|facts| facts.status);
        Ok(Written {
            kind: write.kind,
            checkpoint,
            status: status.filter(|status| !status.is_empty()),
        })
    }

    /// Edits the state, then starts a run from the checkpoint that the edit made. The second request is not sent unless the
    /// first is known to be done.
    pub(super) async fn write_and_start(
        &self,
        write: &StateWrite,
        start: &RunStart,
    ) -> Result<(String, Started), StartError> {
        let thread = &write.thread;
        let after = |failure_of: ApiError, checkpoint: &str, why: &str| {
            let id = text::clean(checkpoint).into_owned();
            let detail = match failure_of.detail.is_empty() {
                true => format!("the state was edited (new checkpoint {id}), but {why}"),
                false => format!(
                    "the state was edited (new checkpoint {id}), but {why}: {}",
                    failure_of.detail
                ),
            };
            let hint = failure_of
                .hint
                .clone()
                .unwrap_or_else(|| format!("run again from checkpoint {id} to start it"));
            ApiError {
                detail,
                hint: Some(hint),
                ..failure_of
            }
        };
        let not_started = |error: ApiError| StartError {
            failure: StartFailure::AfterEdit,
            error,
        };
        let Some(checkpoint) = self.send_write(write).await? else {
            let nothing = self.refused_here(thread, String::new());
            return Err(not_started(after(
                nothing,
                "unknown",
                "the server's answer names no checkpoint, so no run was started",
            )));
        };
        // Where no node is next the run would do nothing, so the edit led to something else than was planned.
        if let Ok(raw) = self
            .checkpoint_state_raw(thread, &checkpoint, MAX_STATE)
            .await
            && let Ok(state) = StateFacts::read(raw.get())
            && state.is_saved()
            && state.next.is_empty()
        {
            let nothing = ApiError {
                hint: Some("continue it with a new input, or edit it as another node".into()),
                ..self.refused_here(thread, String::new())
            };
            return Err(not_started(after(
                nothing,
                &checkpoint,
                "no node is next there, so no run was started",
            )));
        }
        let mut start = start.clone();
        match start.body.extra.get_mut("checkpoint") {
            Some(place) => place["checkpoint_id"] = checkpoint.as_str().into(),
            None => drop(
                start
                    .body
                    .extra
                    .insert("checkpoint_id".into(), checkpoint.as_str().into()),
            ),
        }
        match self.start_on_thread(&start).await {
            Ok(started) => Ok((checkpoint, started)),
            Err(StartError {
                failure: StartFailure::Unknown,
                error,
            }) => {
                let what = match error.status() {
                    Some(code) => {
                        format!(
                            "the server failed ({code}) when the run was started, so it may not have started"
                        )
                    }
                    None => "the reply to the start of the run was lost".to_string(),
                };
                Err(StartError {
                    failure: StartFailure::AfterEditUnknown,
                    error: after(error, &checkpoint, &what),
                })
            }
            Err(StartError { error, .. }) => Err(not_started(after(
                error,
                &checkpoint,
                "the run was not started",
            ))),
        }
    }

    /// Checks the thread again and sends the edit. Returns the new checkpoint.
    async fn send_write(&self, write: &StateWrite) -> Result<Option<String>, StartError> {
        let loaded = self.load_thread(&write.thread).await;
        let loaded = loaded.map_err(StartError::unchecked)?;
        if let Some((failure, why)) = refusal(&write.guard, &loaded) {
            let error = self.refused_here(&write.thread, why);
            return Err(StartError { failure, error });
        }
        match self.update_state(&write.thread, &write.body).await {
            Ok(answer) => Ok(new_checkpoint(&answer)),
            // Python's detail is the whole record of the run, its configuration included.
            Err(error) if error.kind == Kind::Conflict => {
                let detail = "a run is active on the thread".to_string();
                Err(StartError {
                    failure: StartFailure::Busy,
                    error: ApiError { detail, ..error },
                })
            }
            Err(error) => Err(self.lost_write(write, loaded.checkpoint(), error).await),
        }
    }

    /// Converts the error of an edit that failed. It is never sent again.
    async fn lost_write(
        &self,
        write: &StateWrite,
        before: Option<&str>,
        error: ApiError,
    ) -> StartError {
        // Only after an answer the request is over, so that an unchanged thread shows that nothing was done.
        let is_answer = matches!(error.kind, Kind::Server(_));
        if is_answer
            && let Ok(now) = self.load_thread(&write.thread).await
            && now.state.is_some()
            && now.checkpoint() == before
        {
            let (failure, hint) = (StartFailure::Refused, None);
            let error = ApiError { hint, ..error };
            return StartError { failure, error };
        }
        let check = "it was sent once and may have been done; check the thread's history before you repeat it";
        StartError::sent(error, check)
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
