//! One action on several threads. Each thread has its own plan, is checked again, and gets its request once.

use super::edit::START;
use super::{StateEdit, ThreadIntent};
use crate::prelude::*;
use crate::{CancelAction, CancelState, CancelTarget};
use runtail_core::model::GivenAnswer;

/// Maximum number of threads of one action.
pub const MAX_BULK: usize = 1000;
/// Number of threads that are read or changed concurrently.
pub const BULK_CONCURRENCY: usize = 4;

/// An action on several threads.
#[derive(Debug, Clone, PartialEq)]
pub enum BulkAction {
    /// Cancels all active runs.
    Cancel,
    /// Cancels the active runs, then deletes the threads.
    Delete,
    /// Deletes the threads on which no run is active.
    Prune,
    /// Retries the failed ones, if there is an edit with their states edited first.
    Retry(Option<Arc<StateEdit>>),
    /// Answers the open question of each.
    Answer(GivenAnswer),
}

impl BulkAction {
    /// Returns the intent for one thread. `interrupt`: the question to answer; none means the only one.
    pub fn intent(&self, thread: &str, interrupt: Option<&str>) -> ThreadIntent {
        let thread = thread.to_string();
        match self {
            BulkAction::Cancel => ThreadIntent::Cancel {
                thread,
                run: None,
                action: CancelAction::Interrupt,
                with_queue: true,
            },
            BulkAction::Delete => ThreadIntent::Delete { thread },
            BulkAction::Prune => ThreadIntent::Prune { thread },
            BulkAction::Retry(edit) => ThreadIntent::Retry {
                thread,
                edit: edit.clone(),
            },
            BulkAction::Answer(answer) => ThreadIntent::Answer {
                thread,
                interrupt: interrupt.map(String::from),
                answer: answer.clone(),
            },
        }
    }

    /// Returns the edit that is made before the threads are retried.
    pub fn edit(&self) -> Option<&StateEdit> {
        match self {
            BulkAction::Retry(edit) => edit.as_deref(),
            _ => None,
        }
    }

    /// Returns its word: `delete`.
    pub fn word(&self) -> &'static str {
        match self {
            BulkAction::Cancel => "cancel",
            BulkAction::Delete => "delete",
            BulkAction::Prune => "prune",
            BulkAction::Retry(None) => "retry",
            BulkAction::Retry(Some(_)) => "edit and retry",
            BulkAction::Answer(GivenAnswer::Approve) => "approve",
            BulkAction::Answer(GivenAnswer::Reject(_)) => "reject",
            BulkAction::Answer(_) => "answer",
        }
    }

    /// Returns whether it can't be undone.
    pub fn is_destructive(&self) -> bool {
        matches!(self, BulkAction::Delete | BulkAction::Prune)
    }

    /// Returns what it does, in a sentence.
    pub fn effect(&self) -> String {
        let text = match self {
            BulkAction::Cancel => {
                "Cancels every active run of these threads. Finished steps are kept."
            }
            BulkAction::Delete => {
                "Deletes the threads with their runs, states and checkpoints, and cancels active runs first. This can't be undone."
            }
            BulkAction::Prune => {
                "Deletes the threads with their runs, states and checkpoints; one with an active run is left out. This can't be \
                 undone."
            }
            BulkAction::Retry(None) => {
                "Runs these failed threads again: from the failed step where the server can do that, else with the whole input."
            }
            BulkAction::Answer(_) => {
                "Each question is read again just before it is answered. An answer can't be changed once it is sent."
            }
            BulkAction::Retry(Some(edit)) => {
                let runs = match edit.as_node.as_deref() {
                    None => "runs its failed step again with all nodes of that step".to_string(),
                    Some(START) => "runs the graph from its start".into(),
                    Some(node) => format!("runs what follows {}", text::clean(node)),
                };
                return format!(
                    "Writes these keys into the newest state of each thread, then {runs}. The graph's reducers apply the edit on \
                     the server: lists usually grow, and messages are replaced by id."
                );
            }
        };
        text.into()
    }
}

/// The result for one thread of an action on several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkOutcome {
    Deleted,
    /// Its runs have stopped, or had ended.
    Stopped,
    /// The request was accepted, and a run is still active.
    Stopping,
    /// A run was started.
    Started,
    /// The state was edited, but no run was started.
    Edited,
    /// There was nothing to do.
    Nothing,
    /// The server or the check before sending refused. Nothing was done.
    Refused,
    /// It is unknown whether it was done.
    Unknown,
    /// It was not sent, because the action was stopped.
    NotSent,
}

impl BulkOutcome {
    /// Returns its word in the output of commands.
    pub fn word(self) -> &'static str {
        match self {
            BulkOutcome::Deleted => "deleted",
            BulkOutcome::Stopped => "stopped",
            BulkOutcome::Stopping => "stopping",
            BulkOutcome::Started => "started",
            BulkOutcome::Edited => "edited",
            BulkOutcome::Nothing => "nothing_to_do",
            BulkOutcome::Refused => "refused",
            BulkOutcome::Unknown => "unknown",
            BulkOutcome::NotSent => "not_sent",
        }
    }

    /// Returns whether it is what was wanted.
    pub fn is_done(self) -> bool {
        matches!(
            self,
            BulkOutcome::Deleted
                | BulkOutcome::Stopped
                | BulkOutcome::Stopping
                | BulkOutcome::Started
                | BulkOutcome::Nothing
        )
    }

    /// Returns the outcome of a sent action, and why it is not what was wanted.
    pub fn of(result: &Result<Acted, StartError>) -> (BulkOutcome, Option<ApiError>) {
        match result {
            Ok(Acted::Deleted) => (BulkOutcome::Deleted, None),
            Ok(Acted::Started(_) | Acted::Forked { .. }) => (BulkOutcome::Started, None),
            Ok(Acted::Cancelling(targets)) => of_targets(targets),
            Ok(_) => (BulkOutcome::Stopped, None),
            Err(StartError { failure, error }) => {
                let outcome = match failure {
                    StartFailure::AfterEdit => BulkOutcome::Edited,
                    failure if failure.is_unknown() => BulkOutcome::Unknown,
                    _ => BulkOutcome::Refused,
                };
                (outcome, Some(error.clone()))
            }
        }
    }
}

fn of_targets(targets: &[CancelTarget]) -> (BulkOutcome, Option<ApiError>) {
    let unknown = [CancelState::Unknown].as_slice();
    let refused = [CancelState::Failed, CancelState::Active].as_slice();
    for (states, outcome) in [
        (unknown, BulkOutcome::Unknown),
        (refused, BulkOutcome::Refused),
    ] {
        if let Some(target) = targets.iter().find(|target| states.contains(&target.state)) {
            return (outcome, target.error.clone());
        }
    }
    if targets
        .iter()
        .any(|target| target.state == CancelState::Stopping)
    {
        (BulkOutcome::Stopping, None)
    } else {
        (BulkOutcome::Stopped, None)
    }
}

impl AgentServer {
    /// Plans a retry of a failed thread. A thread in another state is refused, although its input could run again.
    pub(super) async fn plan_retry_failed(
        &self,
        thread: &str,
        edit: Option<&StateEdit>,
    ) -> Result<Draft, PlanError> {
        let loaded = self.load_thread(thread).await?;
        let status = loaded.status();
        match (&status, edit) {
            (ThreadStatus::Failed { .. }, None) => self.plan_again(thread, None, false).await,
            (ThreadStatus::Failed { .. }, Some(edit)) => {
                let (mut draft, base) = self
                    .plan_edit_and_run(thread, &loaded, None, edit, loaded.reached_limit(&status))
                    .await?;
                let first = format!(
                    "Edits {}, the newest, then starts a run from the new checkpoint.",
                    base.name()
                );
                draft.notes.insert(0, Note::fact(first));
                draft.title = format!("Edit and retry thread {}", short_id(thread));
                Ok(draft)
            }
            (ThreadStatus::Unknown { .. }, _) => {
                refuse("The thread's status is unknown, and only failed threads are retried.")
            }
            _ => refuse(format!(
                "{}, so there is nothing to retry.",
                super::sentence_of(&status)
            )),
        }
    }
}
