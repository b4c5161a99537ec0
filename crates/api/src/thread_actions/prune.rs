//! Prunes a thread: deletes it only if none of its runs is active. Servers without `POST /threads/prune` get a `DELETE`: the
//! preview shows it for those that are known to lack the call.

use super::plan::on_thread;
use crate::prelude::*;
use runtail_core::model::Consent;

impl AgentServer {
    pub(super) async fn plan_prune(&self, thread: &str) -> Result<Draft, PlanError> {
        let loaded = self.load_to_delete(thread).await?;
        if loaded.status().is_active() {
            return refuse(
                "A run is active on this thread, and pruning cancels no run. Delete it instead.",
            );
        }
        let mut notes = vec![Note::warning(
            "Deletes the thread with its runs, its state and all its checkpoints. This can't be undone.",
        )];
        let kind = StepKind::Prune(thread.into());
        let (note, step) = if self.lacks_prune().await {
            (
                "This server has no prune call, so the thread is checked and then deleted.",
                Step::new(self, Method::DELETE, &["threads", thread], None, kind)?,
            )
        } else {
            let body = json!({"thread_ids": [thread], "strategy": "delete"});
            (
                "If the server answers that it has no such call, it gets DELETE instead.",
                Step::new(self, Method::POST, &["threads", "prune"], Some(body), kind)?,
            )
        };
        notes.push(Note::fact(note));
        Ok(Draft {
            consent: Consent::Id(thread.into()),
            guard: Guard::Thread(self.clone(), thread.into(), StartGuard::Idle),
            steps: vec![step],
            ..on_thread(format!("Prune thread {}", short_id(thread)), thread, notes)
        })
    }

    /// Returns whether the server is known to have no call that prunes a given thread. Aegra's `POST /threads/prune` ignores the
    /// body and deletes expired threads.
    async fn lacks_prune(&self) -> bool {
        self.info()
            .await
            .is_ok_and(|info| info.kind == ServerKind::JavaScript || info.kind.is_aegra())
    }

    /// Loads a thread that is to be deleted.
    pub(super) async fn load_to_delete(&self, thread: &str) -> Result<LoadedThread, PlanError> {
        self.load_thread(thread)
            .await
            .map_err(|error| match error.kind {
                Kind::NotFound => PlanError::Nothing(
                    "The server has no such thread. It may already be deleted.".into(),
                ),
                _ => error.into(),
            })
    }

    /// Prunes a thread that was checked.
    pub(crate) async fn prune_quiet_thread(
        &self,
        thread: &str,
        method: &Method,
    ) -> Result<Acted, StartError> {
        // The kind of server may have been unknown when this was planned.
        if *method == Method::DELETE || self.lacks_prune().await {
            return self.delete_once(thread).await;
        }
        match self.prune_threads(&[thread]).await {
            Ok(0) => match self.thread(thread).await {
                Err(error) if error.kind == Kind::NotFound => Ok(Acted::Deleted),
                _ => {
                    let detail = "the server pruned no thread".to_string();
                    Err(StartFailure::Refused.with_error(self.refused_here(thread, detail)))
                }
            },
            Ok(_) => Ok(Acted::Deleted),
            Err(error) if error.may_lack_call() => self.delete_once(thread).await,
            Err(error) => Err(deletion_error(error)),
        }
    }

    /// Sends `DELETE`, once.
    pub(super) async fn delete_once(&self, thread: &str) -> Result<Acted, StartError> {
        match self.delete_thread(thread).await {
            Ok(()) => Ok(Acted::Deleted),
            // Deleted by someone else, unless the server may lack the call.
            Err(error) if error.kind == Kind::NotFound => match self.info().await {
                Ok(info) if info.kind != ServerKind::Other => Ok(Acted::Deleted),
                _ => Err(deletion_error(error)),
            },
            Err(error) => Err(deletion_error(error)),
        }
    }
}

fn deletion_error(error: ApiError) -> StartError {
    let check = "the thread may have been deleted nevertheless: refresh the list";
    StartError::sent(error).or_check(check)
}
