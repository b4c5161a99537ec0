//! The runs of a thread. Merges the record of each run, with its real times, and its events in the stream.

use super::live::LiveRun;
use super::{Checkpoint, Status};
use crate::{Outcome, Seq};
use jiff::{SignedDuration, Timestamp};
use runtail_core::model::{Question, RunFacts, StateFacts, ThreadStatus, cause, summary_of};
use std::sync::Arc;

/// The status or outcome of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunOutcome {
    Queued,
    Running,
    Finished,
    /// It stopped at an interrupt and is waiting for an answer.
    WaitingForInput,
    /// It stopped at a breakpoint.
    Paused,
    Failed,
    TimedOut,
    Cancelled,
    /// The server no longer has a record of it: it was rolled back or deleted.
    Deleted,
    #[default]
    Unknown,
}

impl RunOutcome {
    /// Returns its label, such as `finished`.
    pub fn word(self) -> &'static str {
        match self {
            RunOutcome::Queued => "queued",
            RunOutcome::Running => "running",
            RunOutcome::Finished => "finished",
            RunOutcome::WaitingForInput | RunOutcome::Paused => "paused",
            RunOutcome::Failed => "failed",
            RunOutcome::TimedOut => "timed out",
            RunOutcome::Cancelled => "cancelled",
            RunOutcome::Deleted => "deleted",
            RunOutcome::Unknown => "ended",
        }
    }

    /// Returns whether it is over. A run that is waiting for an answer is over too, because the answer starts another
    /// run.
    pub fn is_over(self) -> bool {
        !matches!(self, RunOutcome::Queued | RunOutcome::Running)
    }
}

/// A run of the thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunEntry {
    /// Its id, if known.
    pub run_id: Option<Arc<str>>,
    /// Its number in the thread by the time of its creation, from 1; `None` if not all runs were listed, or if the server no longer
    /// lists it.
    pub number: Option<usize>,
    /// Its number among the runs known here, from 1; `None` if the numbers in the thread are known.
    pub nth_here: Option<usize>,
    pub outcome: RunOutcome,
    /// When it was requested, by the server's record.
    pub requested: Option<Timestamp>,
    /// When it started: by the server's times of its events and checkpoints, else when it was requested or, if it was
    /// queued behind another run, when that run ended. `None` while it is queued.
    pub began: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// The error, if it failed.
    pub error: Option<String>,
    /// What it asked, if it stopped to ask.
    pub question: Option<String>,
    /// Why it was cancelled, as far as the stream reports it.
    pub cancel_reason: Option<String>,
    /// The node that failed, that was interrupted, or that follows a breakpoint.
    pub node: Option<String>,
    /// The assistant that it ran.
    pub assistant_id: Option<String>,
    /// The position of its first event in the log; `None` if the stream didn't contain it.
    pub first_seq: Option<Seq>,
    /// The position of its end: an event, else the snapshot that reported it.
    pub end_seq: Option<Seq>,
    /// Whether the server keeps its events; `None` if it doesn't say.
    pub resumable: Option<bool>,
    /// The revision that ran it, where its metadata names one.
    pub revision: Option<String>,
    /// Whether it comes from the server's record.
    pub is_recorded: bool,
}

impl RunEntry {
    /// Returns its duration.
    pub fn took(&self) -> Option<SignedDuration> {
        Some(self.ended?.duration_since(self.began?)).filter(|took| !took.is_negative())
    }

    /// Returns how long it was queued.
    pub fn queued(&self) -> Option<SignedDuration> {
        Some(self.began?.duration_since(self.requested?)).filter(|wait| !wait.is_negative())
    }

    /// Returns its name, the same in every view: `run 3` in the thread, `run 3 here` if the thread may have more runs, or with its
    /// id if the server no longer lists it.
    pub fn name(&self) -> String {
        match (self.number, self.nth_here, &self.run_id) {
            (Some(number), ..) => format!("run {number}"),
            (None, Some(nth), _) => format!("run {nth} here"),
            (None, None, Some(id)) => format!("run {}", runtail_core::text::short_id(id)),
            (None, None, None) => "run".into(),
        }
    }
}

/// Maximum number of runs in the server's list. A shorter list contains all runs of the thread.
pub(super) const LISTED: usize = 50;

/// Returns the runs of a thread, oldest first.
pub(super) fn entries(status: &Status) -> Vec<RunEntry> {
    let records = status.records.as_deref().unwrap_or_default();
    // Numbers are those of the thread, so they count from its oldest run.
    let listed = status
        .as_of
        .as_ref()
        .map_or(records.len(), |as_of| as_of.listed_runs);
    let is_all = status.records.is_some() && listed < LISTED;
    let live = || status.live.runs();
    let newest_id = records.first().map(|run| run.run_id.as_str());
    let mut entries: Vec<RunEntry> = records
        .iter()
        .rev()
        .enumerate()
        .map(|(i, record)| {
            let seen = live()
                .rev()
                .find(|run| run.id.as_deref() == Some(&*record.run_id));
            let is_newest = newest_id == Some(&*record.run_id);
            from_record(status, record, seen, is_newest, is_all.then_some(i + 1))
        })
        .collect();
    let mut newest = entries.len();
    for run in live() {
        let is_listed = run
            .id
            .as_ref()
            .is_some_and(|id| records.iter().any(|record| record.run_id == **id));
        // A run without an id is one of the listed runs, if there is a list.
        if is_listed || (run.id.is_none() && status.records.is_some()) {
            continue;
        }
        let mut entry = from_stream(status, run);
        // The server counts it no longer: it was rolled back or deleted.
        let is_gone = is_all && is_older_than_records(status, &entry);
        if is_gone && entry.outcome == RunOutcome::Unknown {
            entry.outcome = RunOutcome::Deleted;
        }
        if is_all && !is_gone {
            newest += 1;
            entry.number = Some(newest);
        }
        let later = entries
            .iter()
            .position(|known| known.first_seq.is_some_and(|seq| seq > run.first_seq));
        entries.insert(later.filter(|_| is_gone).unwrap_or(entries.len()), entry);
    }
    if !is_all {
        for (nth, entry) in entries.iter_mut().enumerate() {
            entry.nth_here = Some(nth + 1);
        }
    }
    entries
}

/// Returns whether the records were loaded after the end of a run in the stream.
fn is_older_than_records(status: &Status, run: &RunEntry) -> bool {
    run.run_id.is_some()
        && status
            .loaded
            .zip(run.end_seq)
            .is_some_and(|(loaded, end)| end < loaded.seq)
}

/// Returns a run with a record. `seen` is the same run in the stream.
fn from_record(
    status: &Status,
    record: &RunFacts,
    seen: Option<&LiveRun>,
    is_newest: bool,
    number: Option<usize>,
) -> RunEntry {
    // An edit repeats the id of the run before it.
    let is_its = |facts: &StateFacts| {
        facts.run_id.as_deref() == Some(&*record.run_id) && facts.source != "update"
    };
    let last = status
        .history
        .iter()
        .find(|checkpoint| is_its(&checkpoint.facts));
    let failed = last.and_then(|checkpoint| checkpoint.facts.failed().next());
    let is_over_live = seen.is_some_and(|run| run.is_over);
    let then = status.outcome_then(record);
    let outcome = match record.status.as_str() {
        _ if then.is_some() => then.unwrap_or(RunOutcome::Unknown),
        // The records were loaded before it ended.
        _ if record.is_active() && is_over_live => seen.map_or(RunOutcome::Unknown, live_outcome),
        _ if record.is_running() || seen.is_some_and(|run| !run.is_over) && record.is_active() => {
            RunOutcome::Running
        }
        _ if record.is_active() => RunOutcome::Queued,
        "timeout" => RunOutcome::TimedOut,
        _ if record.is_failed() => RunOutcome::Failed,
        "success" | "completed" => {
            stopped_early(status, last, is_newest).unwrap_or(RunOutcome::Finished)
        }
        // Aegra also reports runs that stopped as cancelled.
        _ if record.is_cancelled() => stopped_early(status, last, is_newest)
            .filter(|outcome| {
                *outcome == RunOutcome::WaitingForInput
                    || matches!(status.status, ThreadStatus::Paused { .. })
            })
            .unwrap_or(RunOutcome::Cancelled),
        _ => RunOutcome::Unknown,
    };
    let from_thread = match &status.status {
        ThreadStatus::Failed { error, nodes, .. } if is_newest => {
            Some((error.clone(), nodes.first().cloned()))
        }
        _ => None,
    };
    let (thread_error, thread_node) = from_thread.unzip();
    let has_failed = matches!(outcome, RunOutcome::Failed | RunOutcome::TimedOut);
    let error = has_failed.then(|| {
        let recorded = record.cause_in(status.history.iter().map(|checkpoint| &checkpoint.facts));
        cause(
            thread_error
                .into_iter()
                .chain(recorded)
                .chain(seen.and_then(|run| run.error.clone())),
        )
    });
    let ended = record
        .updated_at
        .filter(|_| outcome.is_over())
        .or(seen.and_then(|run| run.ended));
    let node = match outcome {
        RunOutcome::Failed | RunOutcome::TimedOut => thread_node
            .flatten()
            .or_else(|| failed.map(|task| task.node.clone())),
        RunOutcome::WaitingForInput | RunOutcome::Paused => stopped_at(status, last, is_newest),
        _ => None,
    };
    RunEntry {
        run_id: Some(record.run_id.as_str().into()),
        number,
        nth_here: None,
        outcome,
        requested: record.created_at,
        began: began(status, record, seen, outcome, ended),
        ended,
        error: error.flatten(),
        question: question_of(status, last, is_newest, seen)
            .filter(|_| outcome == RunOutcome::WaitingForInput),
        cancel_reason: seen
            .and_then(|run| run.error.clone())
            .filter(|_| outcome == RunOutcome::Cancelled),
        node,
        assistant_id: Some(record.assistant_id.clone()).filter(|id| !id.is_empty()),
        first_seq: seen.map(|run| run.first_seq),
        end_seq: seen.and_then(|run| run.end_seq).or(status
            .loaded
            .map(|loaded| loaded.seq)
            .filter(|_| outcome.is_over())),
        resumable: record.resumable,
        revision: record.revision.clone(),
        is_recorded: true,
    }
}

/// Returns when a run started. Its record only has the time of the request, and a thread runs one run at a time, so a
/// run may have been queued.
fn began(
    status: &Status,
    record: &RunFacts,
    seen: Option<&LiveRun>,
    outcome: RunOutcome,
    ended: Option<Timestamp>,
) -> Option<Timestamp> {
    let is_input = |checkpoint: &&Checkpoint| {
        checkpoint.facts.source == "input"
            && checkpoint.facts.run_id.as_deref() == Some(record.run_id.as_str())
    };
    let by_input = || status.history.iter().rev().find(is_input)?.facts.created_at;
    if let Some(began) = seen.and_then(|run| run.server_began).or_else(by_input) {
        return Some(began);
    }
    // The records are newest first, so older runs follow.
    let records = status.records.as_deref().unwrap_or_default();
    let older = records
        .iter()
        .skip_while(|run| run.run_id != record.run_id)
        .skip(1);
    let requested = record.created_at?;
    let (active, over): (Vec<&RunFacts>, Vec<&RunFacts>) = older.partition(|run| run.is_active());
    let may_not_have_started = matches!(outcome, RunOutcome::Queued | RunOutcome::Cancelled);
    if outcome == RunOutcome::Queued || may_not_have_started && !active.is_empty() {
        return None;
    }
    let free = over
        .iter()
        .filter_map(|run| run.updated_at)
        .max()
        .map_or(requested, |last| last.max(requested));
    match ended {
        Some(ended) if ended < free && may_not_have_started => None,
        // The older run's record was updated after its end.
        Some(ended) if ended < free => Some(requested),
        _ => Some(free),
    }
}

/// Returns how a run stopped early although the server reports a success: its last checkpoint has more nodes to run.
fn stopped_early(
    status: &Status,
    last: Option<&Checkpoint>,
    is_newest: bool,
) -> Option<RunOutcome> {
    match &status.status {
        ThreadStatus::Waiting { .. } if is_newest => return Some(RunOutcome::WaitingForInput),
        ThreadStatus::Paused { .. } | ThreadStatus::Stopped { .. } if is_newest => {
            return Some(RunOutcome::Paused);
        }
        // The thread may no longer be waiting, for example after a state edit, so check the last checkpoint.
        _ => {}
    }
    let facts = &last?.facts;
    let is_interrupted = facts.tasks.iter().any(|task| !task.questions.is_empty());
    match (facts.next.is_empty(), is_interrupted) {
        (false, true) => Some(RunOutcome::WaitingForInput),
        (false, false) => Some(RunOutcome::Paused),
        _ => None,
    }
}

/// Returns the node that was interrupted, or that follows a breakpoint.
fn stopped_at(status: &Status, last: Option<&Checkpoint>, is_newest: bool) -> Option<String> {
    match &status.status {
        ThreadStatus::Waiting { questions, .. } if is_newest => questions.first()?.node.clone(),
        ThreadStatus::Paused { next, .. } | ThreadStatus::Stopped { next, .. } if is_newest => {
            next.first().cloned()
        }
        _ => {
            let facts = &last?.facts;
            let interrupted = facts
                .tasks
                .iter()
                .find(|task| !task.questions.is_empty())
                .map(|task| &task.node);
            interrupted.or(facts.next.first()).cloned()
        }
    }
}

/// Returns what a run asked: by the thread's status if it still waits, else by its last checkpoint or its events.
fn question_of(
    status: &Status,
    last: Option<&Checkpoint>,
    is_newest: bool,
    seen: Option<&LiveRun>,
) -> Option<String> {
    let saved = || {
        let tasks = last.iter().flat_map(|checkpoint| &checkpoint.facts.tasks);
        let asked: Vec<Question> = tasks.flat_map(|task| task.questions.clone()).collect();
        summary_of(&asked)
    };
    let of_status = match &status.status {
        ThreadStatus::Waiting { questions, .. } if is_newest => summary_of(questions),
        _ => String::new(),
    };
    let streamed = || seen.map_or_else(String::new, |run| summary_of(&run.questions));
    let is_known = |text: &String| !text.is_empty();
    Some(of_status)
        .filter(is_known)
        .or_else(|| Some(saved()).filter(is_known))
        .or_else(|| Some(streamed()).filter(is_known))
}

fn live_outcome(run: &LiveRun) -> RunOutcome {
    match run.outcome {
        _ if !run.is_over => RunOutcome::Running,
        Some(Outcome::Timeout) => RunOutcome::TimedOut,
        Some(Outcome::Error) => RunOutcome::Failed,
        _ if run.error.is_some() => RunOutcome::Failed,
        Some(Outcome::Cancelled) => RunOutcome::Cancelled,
        _ if !run.questions.is_empty() => RunOutcome::WaitingForInput,
        _ if run.breakpoint => RunOutcome::Paused,
        Some(Outcome::Interrupted) => RunOutcome::WaitingForInput,
        Some(Outcome::Success) => RunOutcome::Finished,
        Some(Outcome::Detached | Outcome::Unknown) | None => RunOutcome::Unknown,
    }
}

/// Returns a run without a record.
fn from_stream(status: &Status, run: &LiveRun) -> RunEntry {
    let mut outcome = live_outcome(run);
    if outcome == RunOutcome::Unknown && status.is_stream_only() && run.outcome.is_none() {
        outcome = match run.failed_nodes.is_empty() {
            false => RunOutcome::Failed,
            true if run.succeeded() => RunOutcome::Finished,
            true => RunOutcome::Unknown,
        };
    }
    let node = match outcome {
        RunOutcome::Failed | RunOutcome::TimedOut => run.failed_nodes.first().cloned(),
        RunOutcome::WaitingForInput => run
            .questions
            .first()
            .and_then(|question| question.node.clone()),
        _ => None,
    };
    RunEntry {
        run_id: run.id.clone(),
        outcome,
        began: run.began,
        ended: run.ended,
        error: run.error.clone().or_else(|| {
            run.task_error
                .clone()
                .filter(|_| outcome == RunOutcome::Failed)
        }),
        question: Some(summary_of(&run.questions))
            .filter(|asked| outcome == RunOutcome::WaitingForInput && !asked.is_empty()),
        cancel_reason: run
            .error
            .clone()
            .filter(|_| outcome == RunOutcome::Cancelled),
        node,
        first_seq: Some(run.first_seq),
        end_seq: run.end_seq,
        ..RunEntry::default()
    }
}
