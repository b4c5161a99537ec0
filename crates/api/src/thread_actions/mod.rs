//! Actions on a thread of an agent server: an intent becomes a plan with a preview, and the plan is applied once if the thread
//! has not changed (acting reference §1, design §7).

mod answer;
mod base;
mod both;
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

pub use both::BothPlan;
pub use bulk::{BULK_CONCURRENCY, BulkAction, BulkOutcome, MAX_BULK};
pub use by_rules::{MAX_RULED_PLANS, MAX_RULED_THREADS, RuledPlan, RuledQuestion};
use label::LabelWrite;
pub use label::ThreadLabel;
pub use loaded::LoadedThread;
pub use start::{RunStart, StartError, StartFailure, StartGuard, Started};
use write::StateWrite;
pub use write::{WriteKind, Written};

use super::{AgentServer, ApiError, CancelAction, CancelState, CancelTarget, PlanError};
use runtail_core::model::{AnswerRule, GivenAnswer, Preview, RunCreate, ThreadStatus};
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
    /// Answers all of the thread's questions as the rules decide.
    AnswerByRules {
        thread: String,
        rules: Arc<[AnswerRule]>,
        /// The profile that asks, because a rule may apply to some only.
        profile: Arc<str>,
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
            | ThreadIntent::AnswerByRules { thread, .. }
            | ThreadIntent::Label { thread, .. } => thread,
        }
    }
}

/// Something that can be done with a thread. The request may hold what an earlier caller sent, so it has no `Debug` and stays
/// out of the dashboard's state.
#[derive(Clone)]
pub struct ThreadPlan {
    /// What is seen of it.
    pub preview: Preview,
    /// What the person can still choose.
    pub choice: Option<Choice>,
    step: Step,
}

impl ThreadPlan {
    /// Whether it only changes the thread's metadata.
    pub fn is_label(&self) -> bool {
        matches!(self.step, Step::Label(_))
    }

    /// Returns the runs that it ends by starting another.
    pub fn overtaken(&self) -> &[String] {
        match self.run_start().map(|start| &start.guard) {
            Some(StartGuard::Overtakes(runs)) => runs,
            _ => &[],
        }
    }

    /// Returns the run that it starts, if it starts one.
    pub fn run_start(&self) -> Option<&RunStart> {
        match &self.step {
            Step::Start(start) | Step::WriteAndStart(_, start) | Step::CreateAndStart(start) => {
                Some(start)
            }
            Step::Cancel { .. }
            | Step::Delete { .. }
            | Step::Prune { .. }
            | Step::Label(_)
            | Step::Write(_) => None,
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

/// Something that a person can choose before a plan is carried out. Another choice is another plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Whether the runs behind the cancelled one are cancelled too.
    Queue {
        /// How many there are.
        queued: usize,
        /// Whether they are.
        included: bool,
    },
    /// The number of steps that the run may take.
    RecursionLimit(u64),
    /// The node in whose name a state is edited; none means the node that wrote last.
    AsNode {
        node: Option<String>,
        /// Those that the graph has.
        nodes: Vec<Writer>,
    },
}

#[derive(Clone)]
enum Step {
    Cancel {
        thread: String,
        targets: Vec<CancelTarget>,
        action: CancelAction,
    },
    Start(Box<RunStart>),
    Delete {
        thread: String,
    },
    /// Deletes the thread if it is still quiet.
    Prune {
        thread: String,
    },
    Label(LabelWrite),
    /// Edits the state.
    Write(Box<StateWrite>),
    /// Edits the state, then starts a run from the new checkpoint.
    WriteAndStart(Box<StateWrite>, Box<RunStart>),
    /// Creates the thread, then starts a run on it.
    CreateAndStart(Box<RunStart>),
}

/// What carrying out a plan led to.
#[derive(Debug, Clone, PartialEq)]
pub enum Acted {
    /// The requests to cancel were made; those that are accepted and still active have to be followed.
    Cancelling(Vec<CancelTarget>),
    /// A run was started.
    Started(Started),
    /// The state was edited, which made this checkpoint, and a run was started from it.
    Forked {
        /// The new checkpoint.
        checkpoint: String,
        started: Started,
    },
    /// The state was edited.
    Written(Written),
    /// The thread was deleted.
    Deleted,
    /// The thread's name or star was set.
    Labeled,
}

impl AgentServer {
    /// Carries out a plan, once.
    ///
    /// # Errors
    /// See [`StartError`]: it says whether anything may have been done.
    pub async fn act_on_thread(&self, plan: &ThreadPlan) -> Result<Acted, StartError> {
        match self.acted(plan).await {
            Ok(acted) => Ok(acted),
            Err(StartError { failure, error }) => Err(StartError {
                failure,
                error: self.or_not_offered(error).await,
            }),
        }
    }

    async fn acted(&self, plan: &ThreadPlan) -> Result<Acted, StartError> {
        match &plan.step {
            Step::Cancel {
                thread,
                targets,
                action,
            } => {
                let mut targets = targets.clone();
                self.cancel_runs(thread, &mut targets, *action).await;
                Ok(Acted::Cancelling(targets))
            }
            Step::Start(start) => self.start_on_thread(start).await.map(Acted::Started),
            Step::CreateAndStart(start) => self.create_and_start(start).await.map(Acted::Started),
            Step::Delete { thread } => self
                .delete_quiet_thread(thread)
                .await
                .map(|()| Acted::Deleted),
            Step::Prune { thread } => self
                .prune_quiet_thread(thread)
                .await
                .map(|()| Acted::Deleted),
            Step::Label(write) => self.write_label(write).await.map(|()| Acted::Labeled),
            Step::Write(write) => self.write_state(write).await.map(Acted::Written),
            Step::WriteAndStart(write, start) => {
                let (checkpoint, started) = self.write_and_start(write, start).await?;
                Ok(Acted::Forked {
                    checkpoint,
                    started,
                })
            }
        }
    }

    /// Deletes a thread once none of its runs is active: a run whose thread is deleted continues unseen (acting reference §2).
    async fn delete_quiet_thread(&self, thread: &str) -> Result<(), StartError> {
        let active = match self.active_runs(thread).await {
            Ok(active) => active,
            Err(error) if error.may_lack_call() => Vec::new(),
            Err(error) => return Err(StartError::unchecked(error)),
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
            let (failure, error) = (
                StartFailure::Refused,
                ApiError {
                    detail,
                    hint,
                    ..error
                },
            );
            return Err(StartError { failure, error });
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

/// Why there is no plan.
fn unfit(why: impl Into<String>) -> PlanError {
    PlanError::Unfit(why.into())
}
