//! The status of a thread and its cause, from all that its server's records say (acting reference §1.5 and §2).
//!
//! Every screen, list and command shows what [`ThreadStatus::derive`] returns, so they cannot disagree.

use super::answer::{Problem, is_id_map};
use super::cause::cause;
use super::step_limit::StepLimit;
use super::thread_facts::{Question, RunFacts, StateFacts, ThreadError, ThreadFacts};
use jiff::Timestamp;
use serde_json::Value;

/// What a server's records say of a thread. A part that was not loaded, or that the server does not offer, is `None`.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadRecords<'a> {
    /// The thread's own record.
    pub thread: Option<&'a ThreadFacts>,
    /// Its newest state.
    pub state: Option<&'a StateFacts>,
    /// Its runs, newest first.
    pub runs: Option<&'a [RunFacts]>,
}

impl<'a> ThreadRecords<'a> {
    /// Returns the questions that the thread's tasks ask, whatever the thread's status: a thread on which an answer failed
    /// still lists its question.
    pub fn questions(&self) -> Vec<Question> {
        pending_questions(*self)
    }

    /// Returns the questions that an answer is accepted for. After a failure only those with a schema are: for others the
    /// server keeps the answer that the graph rejected (acting reference §1.1).
    pub fn answerable(&self) -> Vec<Question> {
        match ThreadStatus::derive(*self) {
            ThreadStatus::Waiting { questions, .. } => questions,
            ThreadStatus::Failed { error, .. } => {
                let mut questions = self.questions();
                questions.retain(|question| {
                    question.response_schema.is_some() || was_not_stored(&error)
                });
                questions
            }
            _ => Vec::new(),
        }
    }

    /// Returns whether the thread failed while it handled an answer that the server keeps: only a fork from the checkpoint
    /// that asks gets a new question (acting reference §1.1).
    pub fn keeps_rejected_answer(&self) -> bool {
        let is_stuck = |question: &Question| question.response_schema.is_none();
        match ThreadStatus::derive(*self) {
            ThreadStatus::Failed { error, .. } => {
                !was_not_stored(&error) && self.questions().iter().any(is_stuck)
            }
            _ => false,
        }
    }

    /// Returns the answer that the server keeps after the step failed with it, and what is wrong with it as far as its question
    /// shows. None where the records of runs don't have it.
    pub fn rejected_answer(&self) -> Option<RejectedAnswer> {
        let questions = self.keeps_rejected_answer().then(|| self.questions())?;
        let (run, sent) = self
            .runs?
            .iter()
            .take_while(|run| run.is_failed())
            .find_map(|run| Some((run, run.resume()?)))?;
        let by_id = is_id_map(&sent);
        let answered = |question: &Question| match (by_id, question.id.as_deref()) {
            (true, Some(id)) => sent.get(id).cloned(),
            (true, None) => None,
            (false, _) => (questions.len() == 1).then(|| sent.clone()),
        };
        let (question, answer) = questions
            .iter()
            .find_map(|question| Some((question, answered(question)?)))?;
        let problems = question
            .check(&answer)
            .into_iter()
            .map(|(spot, rule)| Problem {
                question: 0,
                spot,
                rule,
            });
        let problems = problems.map(|problem| problem.to_string()).collect();
        Some(RejectedAnswer {
            sent: answer,
            at: run.created_at,
            problems,
        })
    }

    /// Returns what can be run again after a failure. A part of the records that is not known hides nothing.
    pub fn again(&self) -> Again {
        let has_steps = self.state.is_none_or(|state| !state.next.is_empty());
        match self.runs {
            _ if has_steps || self.keeps_rejected_answer() => Again::Steps,
            Some([]) => Again::Nothing,
            _ => Again::Input,
        }
    }

    /// Returns why the newest run failed. Python's thread has the message of only a few classes of errors; the state's tasks have all.
    pub fn cause(&self) -> Option<String> {
        let newest = self.runs.and_then(<[RunFacts]>::first);
        let of_thread = self
            .thread
            .and_then(|thread| thread.error.as_ref())
            .filter(|error| !error.is_cancel());
        let of_run = newest.and_then(|run| run.error.clone());
        let of_tasks = self
            .state
            .into_iter()
            .flat_map(StateFacts::failed)
            .filter_map(|task| task.error.clone());
        let known = cause(
            of_thread
                .map(ThreadError::text)
                .into_iter()
                .chain(of_run)
                .chain(of_tasks),
        );
        let timed_out = newest.is_some_and(|run| run.status == "timeout");
        known.or_else(|| {
            Some(
                StepLimit::inferred(*self)
                    .filter(|_| !timed_out)?
                    .likely_cause(),
            )
        })
    }

    /// Returns the assistant that the thread belongs to: a run of another one hides the thread's state (acting reference §1.4).
    pub fn assistant(&self) -> Option<&'a str> {
        let of_thread = self.thread.and_then(|thread| {
            thread
                .assistant_id
                .as_deref()
                .or(thread.graph_id.as_deref())
        });
        let of_run = || {
            self.runs?
                .iter()
                .map(|run| run.assistant_id.as_str())
                .find(|id| !id.is_empty())
        };
        of_thread.or_else(of_run)
    }
}

/// Returns whether a run failed because its answer could not be assigned to a question: the server then kept nothing, and the
/// question can be answered (seen for a bare answer to several questions, and for null: acting reference §1.2 and §1.10).
fn was_not_stored(error: &str) -> bool {
    error.contains("must specify the interrupt id")
        || error.contains("EmptyInputError")
        || error.starts_with("UnboundLocalError")
}

/// An answer that the server stored before the step failed with it. It uses the same answer in every retry.
#[derive(Debug, Clone, PartialEq)]
pub struct RejectedAnswer {
    pub sent: Value,
    /// When its run was requested.
    pub at: Option<Timestamp>,
    /// The rules of the question that it breaks; empty if it breaks none that are known.
    pub problems: Vec<String>,
}

/// What of a thread that failed can be run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The steps that are not finished.
    Steps,
    /// The input of its newest run: no step is left.
    Input,
    /// Nothing: its runs were deleted, and their inputs with them.
    Nothing,
}

/// The status of a thread and its cause.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ThreadStatus {
    /// Nothing was loaded yet.
    #[default]
    Loading,
    /// The server doesn't report it.
    Unknown {
        /// Why, in words; empty where the records say nothing of it.
        why: String,
    },
    /// A run waits for its turn.
    Queued {
        /// When it was requested.
        since: Option<Timestamp>,
        /// Runs of this thread that wait.
        waiting: usize,
        /// The run that is next.
        run_id: Option<String>,
    },
    /// A run is running.
    Running {
        /// When it was requested, or began as far as that is known.
        since: Option<Timestamp>,
        /// The nodes that are at work.
        nodes: Vec<String>,
        /// The number of the step that runs: its tasks name it `langgraph_step`.
        step: Option<i64>,
        run_id: Option<String>,
        /// Runs that wait behind it.
        queued: usize,
    },
    /// It is waiting for an answer.
    Waiting {
        /// Since when.
        since: Option<Timestamp>,
        /// What it asks, at least one.
        questions: Vec<Question>,
    },
    /// It stopped at a breakpoint.
    Paused {
        /// Since when.
        since: Option<Timestamp>,
        /// The nodes that run when it is continued.
        next: Vec<String>,
        /// Whether the breakpoint is after the node that ran last, and not before the next.
        after: bool,
    },
    /// Its newest run was cancelled.
    Cancelled {
        /// When.
        at: Option<Timestamp>,
        /// The nodes that run when it is continued.
        next: Vec<String>,
    },
    /// Its state was edited, and it was not continued since.
    Edited {
        /// When.
        at: Option<Timestamp>,
        /// The nodes that run when it is continued.
        next: Vec<String>,
    },
    /// It is interrupted, and the records don't say why.
    Stopped {
        /// Since when.
        since: Option<Timestamp>,
        /// The nodes that run when it is continued.
        next: Vec<String>,
    },
    /// Its newest run failed.
    Failed {
        /// When.
        at: Option<Timestamp>,
        /// Why; empty where the server does not say.
        error: String,
        /// The nodes that failed.
        nodes: Vec<String>,
        /// Whether the run ran out of time.
        timed_out: bool,
    },
    /// Nothing is to be done.
    Idle {
        /// When its newest run ended.
        ended: Option<Timestamp>,
        /// When that run began, or was requested as far as that is known.
        began: Option<Timestamp>,
    },
    /// The server has no such thread any more.
    Deleted,
    /// The server calls it busy, and none of its runs is active: usually a running run was deleted.
    BusyWithoutRun {
        /// Since when.
        since: Option<Timestamp>,
    },
}

/// How a status is drawn: one glyph and one color role each (screens reference §0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusRole {
    /// `●`
    Good,
    /// `◐`
    Moving,
    /// `◌`
    Queued,
    /// `◆`
    Waiting,
    /// `✗`
    Failed,
    /// `■`
    Ended,
    /// `?`
    Unknown,
}

impl StatusRole {
    pub fn glyph(self) -> &'static str {
        match self {
            StatusRole::Good => "●",
            StatusRole::Moving => "◐",
            StatusRole::Queued => "◌",
            StatusRole::Waiting => "◆",
            StatusRole::Failed => "✗",
            StatusRole::Ended => "■",
            StatusRole::Unknown => "?",
        }
    }
}

impl ThreadStatus {
    /// Works out the status from what was loaded.
    pub fn derive(records: ThreadRecords<'_>) -> ThreadStatus {
        let ThreadRecords {
            thread,
            state,
            runs,
        } = records;
        if thread.is_none() && state.is_none() && runs.is_none() {
            return ThreadStatus::Unknown { why: String::new() };
        }
        let newest = runs.and_then(<[RunFacts]>::first);
        if let Some(active) = active(runs, state) {
            return active;
        }
        let changed = thread.and_then(|thread| thread.updated_at);
        let status = thread
            .map(|thread| thread.status.as_str())
            .unwrap_or_default();
        if status == "busy" {
            return match runs {
                Some(_) => ThreadStatus::BusyWithoutRun { since: changed },
                None => ThreadStatus::Running {
                    since: changed,
                    nodes: at_work(state),
                    step: step_at_work(state),
                    run_id: None,
                    queued: 0,
                },
            };
        }
        let is_edited = state.is_some_and(|state| state.source == "update");
        let failed_run = newest.filter(|run| run.is_failed());
        // A failed run stays the newest after an edit, which makes the thread idle or interrupted.
        if status == "error" || (failed_run.is_some() && status != "interrupted" && !is_edited) {
            return failed(records, newest);
        }
        let questions = pending_questions(records);
        if !questions.is_empty() {
            let since = state.and_then(|state| state.created_at).or(changed);
            return ThreadStatus::Waiting { since, questions };
        }
        let next = state.map(|state| state.next.clone()).unwrap_or_default();
        // The run is gone with its checkpoints, and the thread is as it was before.
        let is_rolled_back = thread
            .and_then(|thread| thread.error.as_ref())
            .is_some_and(|error| error.class == "UserRollback");
        if is_rolled_back && next.is_empty() && !newest.is_some_and(RunFacts::is_cancelled) {
            return ThreadStatus::idle(newest);
        }
        // Aegra (0.11.0) gives a run that stopped at a breakpoint the status of a cancelled one, whose thread is idle, if it streams
        // updates.
        let stops_as_cancelled = status == "interrupted"
            && !next.is_empty()
            && thread.is_some_and(|t| !t.lists_questions);
        let is_cancelled = thread
            .and_then(|thread| thread.error.as_ref())
            .is_some_and(|error| error.is_cancel())
            || newest.is_some_and(RunFacts::is_cancelled) && !is_edited && !stops_as_cancelled;
        if is_cancelled {
            let at = newest.and_then(|run| run.updated_at).or(changed);
            return ThreadStatus::Cancelled { at, next };
        }
        let since = state.and_then(|state| state.created_at).or(changed);
        ThreadStatus::at_rest(records, next, since)
    }

    /// Works out the status of a thread without an active, failed or cancelled run, and without a question. `next`: the nodes that
    /// are left to run.
    fn at_rest(
        records: ThreadRecords<'_>,
        next: Vec<String>,
        since: Option<Timestamp>,
    ) -> ThreadStatus {
        let ThreadRecords {
            thread,
            state,
            runs,
        } = records;
        let newest = runs.and_then(<[RunFacts]>::first);
        let status = thread
            .map(|thread| thread.status.as_str())
            .unwrap_or_default();
        let is_edited = state.is_some_and(|state| state.source == "update");
        let of_run = |run: &RunFacts| {
            state
                .and_then(|state| state.run_id.as_ref())
                .is_none_or(|id| *id == run.run_id)
        };
        let ended_well = newest.is_some_and(|run| run.is_success() && of_run(run));
        match status {
            "interrupted" if is_edited => ThreadStatus::Edited { at: since, next },
            "interrupted" if !next.is_empty() => {
                let after = newest.is_some_and(|run| {
                    run.interrupt_before.is_empty() && !run.interrupt_after.is_empty()
                });
                ThreadStatus::Paused { since, next, after }
            }
            // Before a join of several edges, the Python server (0.16.7) lists neither the next node nor a task.
            "interrupted"
                if newest.is_some_and(RunFacts::has_breakpoints)
                    && state.is_some_and(|s| !s.is_empty()) =>
            {
                let before = newest.map(|run| {
                    (
                        run.interrupt_before.as_slice(),
                        run.interrupt_after.is_empty(),
                    )
                });
                let next = match before {
                    Some(([node], true)) if node != "*" => vec![node.clone()],
                    _ => Vec::new(),
                };
                ThreadStatus::Paused {
                    since,
                    next,
                    after: false,
                }
            }
            "interrupted" => ThreadStatus::Stopped { since, next },
            // Without updates, Aegra's run at a breakpoint is a success and its thread idle, as is a thread whose edited state has a
            // node left, also on JavaScript.
            "idle" if !next.is_empty() && ended_well => match is_edited {
                true => ThreadStatus::Edited { at: since, next },
                false => ThreadStatus::Paused {
                    since,
                    next,
                    after: false,
                },
            },
            // The newest run may have been ended by the edit, long after it stopped.
            "idle" if is_edited => ThreadStatus::Idle {
                ended: None,
                began: None,
            },
            "idle" => ThreadStatus::idle(newest),
            // No record of its own: the newest run and the state have to do.
            "" => match newest {
                Some(run) if run.is_success() => ThreadStatus::idle(newest),
                Some(run) => ThreadStatus::Unknown {
                    why: format!("the newest run's status is {}", run.status),
                },
                None if state.is_some_and(|state| !next.is_empty() && !state.is_empty()) => {
                    ThreadStatus::Stopped { since, next }
                }
                None if state.is_some() || runs.is_some() => ThreadStatus::idle(None),
                None => ThreadStatus::Unknown { why: String::new() },
            },
            other => ThreadStatus::Unknown {
                why: format!("the thread's status is {other}"),
            },
        }
    }

    fn idle(newest: Option<&RunFacts>) -> ThreadStatus {
        ThreadStatus::Idle {
            ended: newest.and_then(|run| run.updated_at),
            began: newest.and_then(|run| run.created_at),
        }
    }

    /// Returns its glyph's role.
    pub fn role(&self) -> StatusRole {
        match self {
            ThreadStatus::Loading
            | ThreadStatus::Unknown { .. }
            | ThreadStatus::BusyWithoutRun { .. } => StatusRole::Unknown,
            ThreadStatus::Queued { .. } => StatusRole::Queued,
            ThreadStatus::Running { .. } => StatusRole::Moving,
            ThreadStatus::Waiting { .. }
            | ThreadStatus::Paused { .. }
            | ThreadStatus::Stopped { .. } => StatusRole::Waiting,
            ThreadStatus::Cancelled { .. }
            | ThreadStatus::Edited { .. }
            | ThreadStatus::Deleted => StatusRole::Ended,
            ThreadStatus::Failed { .. } => StatusRole::Failed,
            ThreadStatus::Idle { .. } => StatusRole::Good,
        }
    }

    /// Returns one or two words for a list: `waiting for you`, `failed`.
    pub fn word(&self) -> &'static str {
        match self {
            ThreadStatus::Loading => "loading…",
            ThreadStatus::Unknown { .. } => "status unknown",
            ThreadStatus::Queued { .. } => "queued",
            ThreadStatus::Running { .. } => "running",
            ThreadStatus::Waiting { .. } => "waiting for you",
            ThreadStatus::Paused { .. } => "paused",
            ThreadStatus::Cancelled { .. } => "cancelled",
            ThreadStatus::Edited { .. } => "state edited",
            ThreadStatus::Stopped { .. } => "interrupted",
            ThreadStatus::Failed {
                timed_out: true, ..
            } => "timed out",
            ThreadStatus::Failed { .. } => "failed",
            ThreadStatus::Idle { .. } => "idle",
            ThreadStatus::BusyWithoutRun { .. } => "busy, no active run",
            ThreadStatus::Deleted => "not found",
        }
    }

    /// Returns whether a run is running or queued.
    pub fn is_active(&self) -> bool {
        matches!(
            self,
            ThreadStatus::Queued { .. } | ThreadStatus::Running { .. }
        )
    }

    /// Returns whether a person has to do something before anything more happens: a banner says so in every view.
    pub fn needs_person(&self) -> bool {
        matches!(self.role(), StatusRole::Waiting | StatusRole::Failed)
    }

    /// Returns since when it is so, or when that happened.
    pub fn time(&self) -> Option<Timestamp> {
        match self {
            ThreadStatus::Loading | ThreadStatus::Unknown { .. } | ThreadStatus::Deleted => None,
            ThreadStatus::Queued { since, .. }
            | ThreadStatus::Running { since, .. }
            | ThreadStatus::Waiting { since, .. }
            | ThreadStatus::Paused { since, .. }
            | ThreadStatus::Stopped { since, .. }
            | ThreadStatus::BusyWithoutRun { since } => *since,
            ThreadStatus::Cancelled { at, .. }
            | ThreadStatus::Edited { at, .. }
            | ThreadStatus::Failed { at, .. } => *at,
            ThreadStatus::Idle { ended, .. } => *ended,
        }
    }

    /// Returns the error with which it failed, as far as the server tells it.
    pub fn error(&self) -> Option<&str> {
        match self {
            ThreadStatus::Failed { error, .. } => {
                Some(error.as_str()).filter(|error| !error.is_empty())
            }
            _ => None,
        }
    }

    /// Returns what it asks.
    pub fn questions(&self) -> &[Question] {
        match self {
            ThreadStatus::Waiting { questions, .. } => questions,
            _ => &[],
        }
    }
}

/// The status while a run is active.
fn active(runs: Option<&[RunFacts]>, state: Option<&StateFacts>) -> Option<ThreadStatus> {
    let waiting: Vec<&RunFacts> = runs?
        .iter()
        .filter(|run| run.is_active() && !run.is_running())
        .collect();
    if let Some(run) = runs?.iter().find(|run| run.is_running()) {
        // Checkpoints of a run before it say nothing of where this one is.
        let of_run = state.filter(|state| state.run_id.as_ref().is_none_or(|id| *id == run.run_id));
        return Some(ThreadStatus::Running {
            since: run.created_at,
            nodes: at_work(of_run),
            step: step_at_work(of_run),
            run_id: Some(run.run_id.clone()),
            queued: waiting.len(),
        });
    }
    // Runs of a thread are taken in the order of their creation, and these are newest first.
    let next = waiting.last()?;
    Some(ThreadStatus::Queued {
        since: next.created_at,
        waiting: waiting.len(),
        run_id: Some(next.run_id.clone()),
    })
}

/// The number of the step that runs. A checkpoint has the number of the step that it was written after; what it lists runs in
/// the next one.
fn step_at_work(state: Option<&StateFacts>) -> Option<i64> {
    let state = state.filter(|state| !state.next.is_empty() || !state.tasks.is_empty())?;
    state.step.map(|step| step.saturating_add(1))
}

/// The nodes whose tasks have neither result nor error.
fn at_work(state: Option<&StateFacts>) -> Vec<String> {
    let Some(state) = state else {
        return Vec::new();
    };
    let tasks = state
        .tasks
        .iter()
        .filter(|task| !task.has_result && task.error.is_none());
    let mut nodes: Vec<String> = tasks.map(|task| task.node.clone()).collect();
    if state.tasks.is_empty() {
        nodes.clone_from(&state.next);
    }
    nodes.dedup();
    nodes
}

fn failed(records: ThreadRecords<'_>, newest: Option<&RunFacts>) -> ThreadStatus {
    let ThreadRecords { thread, state, .. } = records;
    let run = newest.filter(|run| run.is_failed());
    ThreadStatus::Failed {
        at: run
            .and_then(|run| run.updated_at)
            .or(thread.and_then(|thread| thread.updated_at)),
        error: records.cause().unwrap_or_default(),
        nodes: state
            .into_iter()
            .flat_map(StateFacts::failed)
            .map(|task| task.node.clone())
            .collect(),
        timed_out: run.is_some_and(|run| run.status == "timeout"),
    }
}

/// The questions that are open. The state's tasks are the truth on Python, where the thread's list may be old; JavaScript
/// keeps answered ones in the state and has the thread's list right; after an error, on a copy of a thread and on Aegra
/// the thread lists none though the state asks. So a question counts if both list it, or if the thread's list leaves its task
/// out; else if the state does.
///
/// After the second of three answers, JavaScript's thread lists the first question again. Then more tasks ask than are left to
/// run, and only the runs show which questions are answered.
fn pending_questions(
    ThreadRecords {
        thread,
        state,
        runs,
    }: ThreadRecords<'_>,
) -> Vec<Question> {
    let listed: &[Question] = thread
        .map(|thread| thread.questions.as_slice())
        .unwrap_or_default();
    let Some(state) = state else {
        return listed.to_vec();
    };
    let asked = state.pending();
    let is_listed = |question: &Question| {
        question.id.is_some() && listed.iter().any(|known| known.id == question.id)
    };
    let is_contradictory = asked.len() > state.next.len();
    // An answered question of JavaScript is missing in the list, but its task is there.
    let tasks_listed = thread
        .map(|thread| thread.listed_tasks.as_slice())
        .unwrap_or_default();
    let is_left_out = |question: &Question| {
        !is_contradictory
            && !tasks_listed.is_empty()
            && state.tasks.iter().any(|task| {
                !tasks_listed.contains(&task.id)
                    && task.questions.iter().any(|asked| asked.id == question.id)
            })
    };
    let both: Vec<Question> = asked
        .iter()
        .filter(|q| is_listed(q) || is_left_out(q))
        .cloned()
        .collect();
    let open = if both.is_empty() { asked } else { both };
    if !is_contradictory {
        return open;
    }
    let is_answered = |question: &Question| {
        question.id.as_deref().is_some_and(|id| {
            runs.unwrap_or_default()
                .iter()
                .any(|run| run.has_answered(id))
        })
    };
    let unanswered: Vec<Question> = open
        .iter()
        .filter(|question| !is_answered(question))
        .cloned()
        .collect();
    if unanswered.is_empty() {
        open
    } else {
        unanswered
    }
}

#[cfg(test)]
mod tests;
