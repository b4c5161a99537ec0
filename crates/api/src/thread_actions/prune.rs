//! Prunes a thread: deletes it only if none of its runs is active. Servers without `POST /threads/prune` get a `DELETE`.

use super::{StartError, StartFailure, Step, ThreadPlan, unfit};
use crate::{AgentServer, ApiError, Kind, PlanError, ServerKind};
use reqwest::Method;
use runtail_core::model::{Consent, Note, Preview};
use runtail_core::text::short_id;
use serde_json::json;

impl AgentServer {
    pub(super) async fn plan_prune(&self, thread: &str) -> Result<ThreadPlan, PlanError> {
        let loaded = match self.load_thread(thread).await {
            Ok(loaded) => loaded,
            Err(error) if error.kind == Kind::NotFound => {
                return Err(PlanError::Nothing("The server has no such thread. It may already be deleted.".into()));
            }
            Err(error) => return Err(error.into()),
        };
        if loaded.status().is_active() {
            return Err(unfit("A run is active on this thread, and pruning cancels no run. Delete it instead."));
        }
        let url = self.url(&Method::POST, &["threads", "prune"])?;
        let body = json!({"thread_ids": [thread], "strategy": "delete"});
        let notes = vec![
            Note::warning("Deletes the thread with its runs, its state and all its checkpoints. This can't be undone."),
            Note::fact("A server without this call gets DELETE instead."),
        ];
        let preview = Preview {
            title: format!("Prune thread {}", short_id(thread)),
            consent: Consent::Id(thread.into()),
            ..self.preview(thread, Method::POST, &url, Some(&body), notes)
        };
        Ok(ThreadPlan { preview, choice: None, step: Step::Prune { thread: thread.into() } })
    }

    /// Checks the thread again and prunes it.
    pub(super) async fn prune_quiet_thread(&self, thread: &str) -> Result<(), StartError> {
        let loaded = match self.load_thread(thread).await {
            Ok(loaded) => loaded,
            // Deleted by someone else.
            Err(error) if error.kind == Kind::NotFound => return Ok(()),
            Err(error) => return Err(StartError { failure: StartFailure::Unchecked, error }),
        };
        if loaded.status().is_active() {
            let detail = "a run was started on the thread since the preview; nothing was sent".to_string();
            let error = ApiError { kind: Kind::Stale, ..self.refused_here(thread, detail) };
            return Err(StartError { failure: StartFailure::Changed, error });
        }
        match self.prune_threads(&[thread]).await {
            Ok(0) => match self.thread(thread).await {
                Err(error) if error.kind == Kind::NotFound => Ok(()),
                _ => {
                    let detail = "the server pruned no thread".to_string();
                    Err(StartError { failure: StartFailure::Refused, error: self.refused_here(thread, detail) })
                }
            },
            Ok(_) => Ok(()),
            Err(error) if error.may_lack_call() => self.delete_once(thread).await,
            Err(error) => Err(deletion_error(error)),
        }
    }

    /// Sends `DELETE`, once.
    pub(super) async fn delete_once(&self, thread: &str) -> Result<(), StartError> {
        match self.delete_thread(thread).await {
            Ok(()) => Ok(()),
            // Deleted by someone else, unless the server may lack the call.
            Err(error) if error.kind == Kind::NotFound => match self.info().await {
                Ok(info) if info.kind != ServerKind::Other => Ok(()),
                _ => Err(deletion_error(error)),
            },
            Err(error) => Err(deletion_error(error)),
        }
    }
}

/// Returns whether a failed deletion may have been done.
fn deletion_error(error: ApiError) -> StartError {
    if error.is_refusal() {
        return StartError { failure: StartFailure::Refused, error };
    }
    let hint = Some("the thread may have been deleted nevertheless: refresh the list".to_string());
    StartError { failure: StartFailure::Unknown, error: ApiError { hint, ..error } }
}
