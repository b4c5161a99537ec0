//! Prunes a thread: deletes it only if none of its runs is active. Servers without `POST /threads/prune` get a `DELETE`: the
//! preview shows it for those that are known to lack the call.

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
                return Err(PlanError::Nothing(
                    "The server has no such thread. It may already be deleted.".into(),
                ));
            }
            Err(error) => return Err(error.into()),
        };
        if loaded.status().is_active() {
            return Err(unfit(
                "A run is active on this thread, and pruning cancels no run. Delete it instead.",
            ));
        }
        let mut notes = vec![Note::warning(
            "Deletes the thread with its runs, its state and all its checkpoints. This can't be undone.",
        )];
        let preview = if self.lacks_prune().await {
            notes.push(Note::fact(
                "This server has no prune call, so the thread is checked and then deleted.",
            ));
            self.preview(
                thread,
                Method::DELETE,
                &self.url(&Method::DELETE, &["threads", thread])?,
                None,
                notes,
            )
        } else {
            notes.push(Note::fact(
                "If the server answers that it has no such call, it gets DELETE instead.",
            ));
            let body = json!({"thread_ids": [thread], "strategy": "delete"});
            self.preview(
                thread,
                Method::POST,
                &self.url(&Method::POST, &["threads", "prune"])?,
                Some(&body),
                notes,
            )
        };
        let preview = Preview {
            title: format!("Prune thread {}", short_id(thread)),
            consent: Consent::Id(thread.into()),
            ..preview
        };
        Ok(ThreadPlan {
            preview,
            choice: None,
            step: Step::Prune {
                thread: thread.into(),
            },
        })
    }

    /// Returns whether the server is known to have no call that prunes a given thread. Aegra's `POST /threads/prune` ignores the
    /// body and deletes expired threads.
    async fn lacks_prune(&self) -> bool {
        self.info()
            .await
            .is_ok_and(|info| info.kind == ServerKind::JavaScript || info.kind.is_aegra())
    }

    /// Checks the thread again and prunes it.
    pub(super) async fn prune_quiet_thread(&self, thread: &str) -> Result<(), StartError> {
        let loaded = match self.load_thread(thread).await {
            Ok(loaded) => loaded,
            // Deleted by someone else.
            Err(error) if error.kind == Kind::NotFound => return Ok(()),
            Err(error) => return Err(StartError::unchecked(error)),
        };
        if loaded.status().is_active() {
            let detail =
                "a run was started on the thread since the preview; nothing was sent".to_string();
            return Err(StartError::changed(self.refused_here(thread, detail)));
        }
        if self.lacks_prune().await {
            return self.delete_once(thread).await;
        }
        match self.prune_threads(&[thread]).await {
            Ok(0) => match self.thread(thread).await {
                Err(error) if error.kind == Kind::NotFound => Ok(()),
                _ => {
                    let detail = "the server pruned no thread".to_string();
                    Err(StartError {
                        failure: StartFailure::Refused,
                        error: self.refused_here(thread, detail),
                    })
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

fn deletion_error(error: ApiError) -> StartError {
    StartError::sent(
        error,
        "the thread may have been deleted nevertheless: refresh the list",
    )
}
