//! What happened to a thread, in one or two sentences, and what can be done.

use super::evidence::evidence;
use crate::session::Session;
use crate::session::thread::{Offers, ThreadView};
use jiff::Timestamp;
use runtail_core::model::{Again, Question, StepLimit, ThreadStatus};
use runtail_core::text;
use runtail_stream::projection::{RunEntry, RunOutcome};

/// The content of the card.
#[derive(Debug, Clone, Default)]
pub(super) struct Why {
    /// What happened, in one or two sentences.
    pub story: String,
    /// Labels and values.
    pub evidence: Vec<(&'static str, String)>,
    /// Key ids with their labels, the recommended one first.
    pub actions: Vec<(&'static str, String)>,
    /// What the recommended action repeats or loses; can be empty.
    pub consequence: &'static str,
    /// The status, where the badge says too little.
    pub headline: Option<String>,
}

impl Why {
    fn new(story: impl Into<String>) -> Why {
        Why {
            story: story.into(),
            ..Why::default()
        }
    }

    fn action(mut self, id: &'static str, label: impl Into<String>) -> Why {
        self.actions.push((id, label.into()));
        self
    }

    fn action_if(self, offers: bool, id: &'static str, label: impl Into<String>) -> Why {
        if offers { self.action(id, label) } else { self }
    }

    fn new_run(self, what: &str) -> Why {
        self.action("stream.new_run", format!("new run{what}"))
    }
}

/// Explains a thread's status.
pub(super) fn why(view: &ThreadView<'_>, session: &Session) -> Why {
    let run = view.records.run_of(view.status);
    let offers = view.offers;
    let name =
        text::capitalized(&run.map_or_else(|| "The newest run".to_string(), |run| run.name()));
    let mut why = match view.status {
        ThreadStatus::Loading if view.is_recording => Why::new("No run at this point."),
        ThreadStatus::Loading => Why::new("Loading…"),
        ThreadStatus::Unknown { why } if why.is_empty() => {
            Why::new("The server reports no status.").new_run("")
        }
        ThreadStatus::Unknown { .. } => Why::new("The records don't show the status."),
        ThreadStatus::Queued { since, waiting, .. } => queued(*since, *waiting, offers, session),
        ThreadStatus::Running { nodes: active, .. } => {
            let place = if active.is_empty() { String::new() } else { format!(" in {}", nodes(active)) };
            Why::new(format!("{name} is running{place}."))
                .action_if(offers.cancels, "stream.cancel", "cancel: keeps finished steps")
        }
        ThreadStatus::Waiting { questions, .. } => waiting(questions, run.map(|_| name.as_str()), is_copy(view)),
        ThreadStatus::Failed { nodes: failed, timed_out, .. } => failed_run(view, failed, *timed_out, &name),
        ThreadStatus::Idle { .. } => idle(view, run, &name),
        ThreadStatus::Deleted => {
            Why::new(
                "The server doesn't have this thread (404): deleted, or lost in a restart. This page shows its last known data.",
            )
        }
        ThreadStatus::BusyWithoutRun { .. } => Why::new(
            "Probably an active run was deleted. It may still be running, and the server won't release the thread.",
        )
        .action_if(offers.releases, "why.release", "release: an empty state update")
        .new_run(": also releases it"),
        stopped => stopped_run(stopped, offers, &name),
    };
    if is_answer_refused(view) {
        answer_refused(view, &mut why);
    }
    if has_other_assistant(view) {
        why.story.push_str(
            " The newest run used another assistant. If its graph differs, it hides the thread's earlier state and question.",
        );
        if offers.continues {
            // First, because a new run would use the wrong assistant again.
            why.actions.insert(
                0,
                (
                    "why.restore",
                    "run the earlier assistant from its newest checkpoint".into(),
                ),
            );
            why.consequence = "";
        }
    }
    if offers_earlier_step(view) {
        let is_idle = matches!(view.status, ThreadStatus::Idle { .. });
        let at = why
            .actions
            .iter()
            .position(|(id, _)| *id == "stream.new_run")
            .filter(|_| !is_idle);
        let at = at.unwrap_or(why.actions.len());
        why.actions
            .insert(at, ("stream.steps", "run from an earlier step".into()));
        if matches!(
            view.status,
            ThreadStatus::Paused { .. } | ThreadStatus::Cancelled { .. }
        ) {
            why.actions
                .insert(at, ("why.edit_state", "edit state, then continue".into()));
        }
    }
    if can_end(view) {
        why = why.action("why.cancel", "end the thread");
    }
    why.evidence = evidence(view, session);
    why
}

/// Returns whether a thread stopped with nodes left to run, and its server can end it.
pub(crate) fn can_end(view: &ThreadView<'_>) -> bool {
    let has_next = view
        .records
        .state()
        .is_some_and(|state| !state.next.is_empty());
    let is_waiting = matches!(view.status, ThreadStatus::Waiting { .. });
    has_next && view.offers.ends && (is_waiting || has_stopped(view.status))
}

/// Returns whether a thread stopped before its end without a question.
fn has_stopped(status: &ThreadStatus) -> bool {
    matches!(
        status,
        ThreadStatus::Paused { .. }
            | ThreadStatus::Cancelled { .. }
            | ThreadStatus::Edited { .. }
            | ThreadStatus::Stopped { .. }
            | ThreadStatus::Failed { .. }
    )
}

/// Completes the explanation of a thread whose server keeps the answer that its step failed with.
fn answer_refused(view: &ThreadView<'_>, why: &mut Why) {
    if let Some((_, label)) = why.actions.iter_mut().find(|(id, _)| *id == "stream.again") {
        *label = "ask again: reruns the asking step".into();
        why.consequence = "The step asks again; answer it then.";
    }
    let answer = view.records.thread_records().rejected_answer();
    // An answer of the right form can be followed by a failure that has nothing to do with it.
    let is_wrong = answer.is_some_and(|answer| !answer.problems.is_empty());
    if is_wrong {
        why.headline = Some("the answer broke the question".into());
    }
    if !is_wrong {
        why.story.push_str(" It failed with the answer.");
    }
    why.story
        .push_str(" The server ignores new answers until the asking step runs again.");
}

/// Returns whether a thread that stopped can be run again from one of its checkpoints.
fn offers_earlier_step(view: &ThreadView<'_>) -> bool {
    let is_idle = matches!(view.status, ThreadStatus::Idle { .. });
    view.offers.continues && view.records.state().is_some() && (is_idle || has_stopped(view.status))
}

fn queued(since: Option<Timestamp>, waiting: usize, offers: Offers, session: &Session) -> Why {
    let story = match (since, waiting) {
        (Some(at), _) if at > session.now => {
            format!("The run starts at {}.", session.clock(at))
        }
        (_, 1) => "A run is queued for a worker.".into(),
        (_, n) => format!("{n} runs are queued; the oldest runs first."),
    };
    Why::new(story).action_if(offers.cancels, "stream.cancel", "cancel the queued run")
}

/// Returns whether a thread is listed as idle though its state asks, as the copy of a waiting thread is (acting reference §2).
fn is_copy(view: &ThreadView<'_>) -> bool {
    let records = view.records.thread_records();
    records.thread.is_some_and(|thread| thread.status == "idle")
        && records.runs.is_some_and(<[_]>::is_empty)
}

/// `name`: the run that asks, if it is known.
fn waiting(questions: &[Question], name: Option<&str>, is_copy: bool) -> Why {
    let mut story = format!(
        "{} stopped with {}.",
        name.unwrap_or("The thread"),
        text::counted(questions.len(), "question")
    );
    if is_copy {
        story.push_str(" It's a copy, so the server lists it as idle; answering works.");
    }
    let all = if questions.len() > 1 {
        "approve all"
    } else {
        "approve"
    };
    Why::new(story)
        .action("stream.answer", "answer")
        .action_if(
            questions.iter().all(Question::can_be_approved),
            "stream.approve",
            format!("{all}: opens the answer"),
        )
        .new_run(if questions.len() > 1 {
            ": discards the questions"
        } else {
            ": discards the question"
        })
}

/// Explains a run that stopped before its end without a question and without an error.
fn stopped_run(status: &ThreadStatus, offers: Offers, name: &str) -> Why {
    let (why, next, what, new_run) = match status {
        ThreadStatus::Paused { next, after, .. } => {
            let place = match (next.as_slice(), after) {
                ([], _) => String::new(),
                (next, true) => format!(" after its last node; next: {}", nodes(next)),
                (next, false) => format!(" before {}", nodes(next)),
            };
            let story = format!("{name} paused at a breakpoint{place}.");
            (
                Why::new(story),
                next.as_slice(),
                "runs",
                ": drops the pause",
            )
        }
        ThreadStatus::Cancelled { next, .. } => {
            let lost = match next.is_empty() {
                true => String::new(),
                false => format!(" Next: {}; its unfinished work is lost.", nodes(next)),
            };
            let story = format!("{name} was cancelled{SAVED}{lost}");
            (
                Why::new(story),
                next.as_slice(),
                "reruns",
                ": drops the pause",
            )
        }
        ThreadStatus::Edited { next, .. } => {
            let story = match next.is_empty() {
                true => String::new(),
                false => format!(" Next: {}.", nodes(next)),
            };
            let story = format!("The state was edited after the last run.{story}");
            (Why::new(story), next.as_slice(), "runs", "")
        }
        status => {
            let next: &[String] = if let ThreadStatus::Stopped { next, .. } = status {
                next
            } else {
                &[]
            };
            let story = "The thread is interrupted; the records don't show why.";
            (Why::new(story), next, "runs", "")
        }
    };
    let mut why = why;
    if !next.is_empty() && offers.continues {
        why = why.action("stream.answer", format!("continue: {what} {}", nodes(next)));
        why.consequence = match status {
            ThreadStatus::Cancelled { .. } => "Repeats calls it already made.",
            ThreadStatus::Edited { .. } => "Asks open questions again.",
            _ => "",
        };
    } else if offers.continues
        && matches!(
            status,
            ThreadStatus::Paused { .. } | ThreadStatus::Stopped { .. }
        )
    {
        why = why.action("stream.answer", "continue: next nodes unknown");
    } else if !next.is_empty() {
        why.story.push_str(CANT_CONTINUE);
    }
    why.new_run(new_run)
}

/// What a thread whose server can't continue it needs.
const CANT_CONTINUE: &str =
    " This server can't continue: each run needs an input. A new run restarts the graph.";
/// What is left of a run that stopped.
const SAVED: &str = "; finished steps are saved.";

fn failed_run(view: &ThreadView<'_>, failed: &[String], timed_out: bool, name: &str) -> Why {
    let (again, offers) = (view.again, view.offers);
    let limit = StepLimit::reached(view.status, view.records.thread_records());
    let place = if failed.is_empty() {
        String::new()
    } else {
        format!(" in {}", nodes(failed))
    };
    let how = match limit {
        Some(
            limit @ StepLimit {
                is_inferred: false, ..
            },
        ) => format!("reached its limit of {}", limit.in_words()),
        Some(limit) => {
            format!(
                "failed without a failed step, probably at its limit of {}",
                limit.in_words()
            )
        }
        None if timed_out => "timed out".into(),
        None => "failed".into(),
    };
    let story = match again {
        Again::Steps => format!("{name} {how}{place}{SAVED}"),
        Again::Input => format!("{name} {how}{place}; no step to retry."),
        Again::Nothing => {
            "The thread failed, but its runs were deleted: nothing to retry.".to_string()
        }
    };
    let with_limit = limit.map(|limit| format!(" (limit {})", limit.steps.saturating_mul(2)));
    let with_limit = with_limit.unwrap_or_default();
    let retry = match again {
        Again::Steps if offers.continues && limit.is_some() => {
            Some(format!("continue{with_limit}"))
        }
        Again::Steps if offers.continues && failed.is_empty() => {
            Some("retry unfinished steps".into())
        }
        Again::Steps if offers.continues => Some(format!("retry {}", nodes(failed))),
        // A server that can't retry steps runs the input again.
        Again::Steps | Again::Input if offers.starts && !is_answer_refused(view) => {
            Some(format!("rerun the last input{with_limit}"))
        }
        _ => None,
    };
    let mut why = Why::new(story);
    if again == Again::Steps && !offers.continues {
        why.story.push_str(match offers.starts {
            true => " This server can't retry steps: each run needs an input.",
            false => " This server can't retry steps: it starts no background runs.",
        });
    }
    match retry {
        Some(retry) => why.action("stream.again", retry),
        None => why,
    }
    .new_run("")
}

fn idle(view: &ThreadView<'_>, run: Option<&RunEntry>, name: &str) -> Why {
    let story = match run {
        Some(run) if run.outcome == RunOutcome::Deleted => {
            format!("{name} was rolled back or deleted. Nothing to do.")
        }
        Some(run) => format!("{name} {}. Nothing to do.", run.outcome.word()),
        None => "No run is active.".into(),
    };
    // The input is in the record of a run.
    let has_record = view.records.runs().iter().any(|run| run.is_recorded);
    Why::new(story).new_run("").action_if(
        has_record && view.offers.starts,
        "stream.again",
        "rerun the last input",
    )
}

/// Returns whether the thread failed with an open question, which the server keeps the answer of (acting
/// reference §1.1).
fn is_answer_refused(view: &ThreadView<'_>) -> bool {
    matches!(view.status, ThreadStatus::Failed { .. })
        && view.records.thread_records().keeps_rejected_answer()
}

/// Returns whether the newest run used another assistant than a run before it (acting reference §1.4). Whether they run the
/// same graph is not in the records.
fn has_other_assistant(view: &ThreadView<'_>) -> bool {
    if view.status.is_active()
        || matches!(view.status, ThreadStatus::Loading | ThreadStatus::Deleted)
    {
        return false;
    }
    let runs = view.records.thread_records().runs.unwrap_or_default();
    let mut ran = runs
        .iter()
        .map(|run| run.assistant_id.as_str())
        .filter(|id| !id.is_empty());
    ran.next().is_some_and(|newest| ran.any(|id| id != newest))
}

fn nodes(next: &[String]) -> String {
    next.iter()
        .map(|node| text::clean(node).into_owned())
        .collect::<Vec<_>>()
        .join(", ")
}
