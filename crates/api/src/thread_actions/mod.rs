//! Actions on a thread of an agent server: an intent becomes a plan with a preview, and the plan is applied once if the thread
//! has not changed (acting reference §1, design §7).

mod answer;
mod base;
mod branch;
mod bulk;
mod by_rules;
mod edit;
mod fork;
mod label;
mod loaded;
mod new_run;
mod new_thread;
mod plain;
mod plan;
mod prune;
mod repair;
mod start;
#[cfg(test)]
mod tests;
mod write;

pub use bulk::{BULK_CONCURRENCY, BulkAction, BulkOutcome, MAX_BULK};
pub use by_rules::{MAX_RULED_PLANS, MAX_RULED_THREADS, RuledPlan, RuledQuestion};
pub use label::ThreadLabel;
pub use loaded::LoadedThread;
pub(crate) use start::was_answered;
pub use start::{RunStart, Started};
pub use write::{WriteKind, Written};

use super::act::{Acted, StartError, StartFailure, unfit};
use super::{AgentServer, ApiError, CancelAction, CancelState, CancelTarget};
use runtail_core::model::{GivenAnswer, RunCreate, ThreadStatus};
use runtail_core::text::short_id;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// How long a deletion waits until the thread's runs have stopped.
const STOP_BEFORE_DELETE: Duration = Duration::from_secs(20);

/// An action on a thread.
#[derive(Debug, Clone, PartialEq)]
pub enum ThreadIntent {
    /// Cancels runs.
    Cancel {
        thread: String,
        /// The run; none means the one that is running, else the next of the queue.
        run: Option<String>,
        /// What happens to its steps.
        action: CancelAction,
        /// Whether all other active runs are cancelled too.
        with_queue: bool,
    },
    /// Continues where the thread stopped, without an answer.
    Continue { thread: String },
    /// Retries what failed, else runs the last input again.
    Again {
        thread: String,
        /// The number of steps allowed; none means as before, or more if that was what it failed of.
        recursion_limit: Option<u64>,
    },
    /// Retries what failed; nothing on a thread that has not failed.
    Retry {
        thread: String,
        /// An edit of the newest state, which is made first.
        edit: Option<Arc<StateEdit>>,
    },
    /// Answers one of the thread's questions.
    Answer {
        thread: String,
        /// The question's id; none means the only one.
        interrupt: Option<String>,
        answer: GivenAnswer,
    },
    /// Runs again from a checkpoint. A new branch of the history begins there.
    Fork {
        thread: String,
        /// The checkpoint's id; none means the newest.
        checkpoint: Option<String>,
        change: ForkChange,
    },
    /// Edits the state, without a run.
    EditState { thread: String, edit: StateEdit },
    /// Runs the input of a run again.
    Rerun { thread: String, run: String },
    /// Starts a run with an input on a new thread.
    RunOnNew {
        /// The id of the new thread.
        thread: String,
        assistant: String,
        input: Value,
    },
    /// Makes a thread idle that is busy although none of its runs is active (acting reference §2).
    Release { thread: String },
    /// Ends a thread that waits, so that nothing more runs (acting reference §1.8).
    End { thread: String },
    /// Runs the thread's own assistant from its newest checkpoint, because a run of another assistant hides its state (acting
    /// reference §1.4).
    RestoreAssistant { thread: String },
    /// Starts a run that ends those that are active.
    Start {
        thread: String,
        body: Box<RunCreate>,
    },
    /// Deletes the thread.
    Delete { thread: String },
    /// Deletes the thread if none of its runs is active.
    Prune { thread: String },
    /// Sets the thread's name or star.
    Label { thread: String, label: ThreadLabel },
}

/// How a fork differs from what ran before.
#[derive(Debug, Clone, PartialEq)]
pub enum ForkChange {
    /// The nodes of the checkpoint run again.
    Nothing,
    /// The graph begins with this input, on the checkpoint's state.
    Input(Value),
    /// The checkpoint's state is edited first.
    Edit(StateEdit),
}

/// An edit of a thread's state. The reducers of the graph apply it on the server.
#[derive(Debug, Clone, PartialEq)]
pub struct StateEdit {
    /// The checkpoint to edit; none means the newest. In a fork, it is the fork's.
    pub checkpoint: Option<String>,
    /// The keys to write.
    pub values: Value,
    /// The node in whose name it writes, which decides what runs next; none means the node that wrote last.
    pub as_node: Option<String>,
}

impl ThreadIntent {
    /// Returns the verb of its title.
    pub fn verb(&self) -> &'static str {
        match self {
            ThreadIntent::Cancel {
                action: CancelAction::Interrupt,
                ..
            } => "Cancel",
            ThreadIntent::Cancel {
                action: CancelAction::Rollback,
                ..
            } => "Cancel and roll back",
            ThreadIntent::Continue { .. } => "Continue",
            ThreadIntent::Again { .. } | ThreadIntent::Rerun { .. } => "Run again",
            ThreadIntent::Retry { .. } => "Retry",
            ThreadIntent::Answer { .. } => "Answer",
            ThreadIntent::Fork { .. } | ThreadIntent::RestoreAssistant { .. } => "Run",
            ThreadIntent::EditState { .. } => "Edit",
            ThreadIntent::RunOnNew { .. } | ThreadIntent::Start { .. } => "Start",
            ThreadIntent::Release { .. } => "Release",
            ThreadIntent::End { .. } => "End",
            ThreadIntent::Delete { .. } => "Delete",
            ThreadIntent::Prune { .. } => "Prune",
            ThreadIntent::Label { .. } => "Label",
        }
    }

    pub fn thread(&self) -> &str {
        match self {
            ThreadIntent::Cancel { thread, .. }
            | ThreadIntent::Continue { thread }
            | ThreadIntent::Again { thread, .. }
            | ThreadIntent::Retry { thread, .. }
            | ThreadIntent::Answer { thread, .. }
            | ThreadIntent::Fork { thread, .. }
            | ThreadIntent::EditState { thread, .. }
            | ThreadIntent::Rerun { thread, .. }
            | ThreadIntent::RunOnNew { thread, .. }
            | ThreadIntent::Release { thread }
            | ThreadIntent::End { thread }
            | ThreadIntent::RestoreAssistant { thread }
            | ThreadIntent::Delete { thread }
            | ThreadIntent::Prune { thread }
            | ThreadIntent::Start { thread, .. }
            | ThreadIntent::Label { thread, .. } => thread,
        }
    }
}

/// A node in whose name a state can be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writer {
    /// Its name.
    pub node: String,
    /// What runs next after an edit in its name, as far as the graph's drawing shows it.
    pub then: String,
}

impl AgentServer {
    /// Deletes a thread once none of its runs is active: a run whose thread is deleted continues unseen (acting reference §2).
    pub(crate) async fn delete_quiet_thread(&self, thread: &str) -> Result<Acted, StartError> {
        let active = match self.active_runs(thread).await {
            Ok(active) => active,
            Err(error) if error.may_lack_call() => Vec::new(),
            Err(error) => return Err(StartFailure::Unchecked.with_error(error)),
        };
        let mut targets: Vec<CancelTarget> = active
            .iter()
            .map(|run| CancelTarget::new(&run.run_id, Some(run)))
            .collect();
        self.cancel_runs(thread, &mut targets, CancelAction::Interrupt)
            .await;
        self.wait_until_stopped(thread, &mut targets, STOP_BEFORE_DELETE)
            .await;
        let is_active = |target: &&CancelTarget| {
            !matches!(target.state, CancelState::Stopped | CancelState::Finished)
        };
        if let Some(target) = targets.iter().find(is_active) {
            let run = short_id(&target.run_id);
            let detail = format!("run {run} is still active, so the thread was not deleted");
            let error = target
                .error
                .clone()
                .unwrap_or_else(|| self.refused_here(thread, detail.clone()));
            let hint = Some(
                "a run whose thread is deleted continues unseen: cancel it, then delete the thread"
                    .into(),
            );
            let detail = if error.detail == detail {
                detail
            } else {
                format!("{detail}: {}", error.detail)
            };
            return Err(StartFailure::Refused.with_error(ApiError {
                detail,
                hint,
                ..error
            }));
        }
        self.delete_once(thread).await
    }
}

/// Returns a status as the beginning of a sentence: `The thread has failed`.
fn sentence_of(status: &ThreadStatus) -> String {
    match status {
        ThreadStatus::Failed {
            timed_out: true, ..
        } => "The thread's newest run timed out".into(),
        ThreadStatus::Failed { .. } => "The thread has failed".into(),
        ThreadStatus::Unknown { .. } | ThreadStatus::Loading => {
            "The thread's status is unknown".into()
        }
        ThreadStatus::Edited { .. } => "The thread's state was edited".into(),
        ThreadStatus::Cancelled { .. } => "The thread's newest run was cancelled".into(),
        ThreadStatus::Deleted => "The thread was deleted".into(),
        ThreadStatus::BusyWithoutRun { .. } => "The thread is busy without an active run".into(),
        ThreadStatus::Queued { .. }
        | ThreadStatus::Running { .. }
        | ThreadStatus::Waiting { .. }
        | ThreadStatus::Paused { .. }
        | ThreadStatus::Stopped { .. }
        | ThreadStatus::Idle { .. } => format!("The thread is {}", status.word()),
    }
}
