//! The evidence of a thread's status: what the server's records say, as labels and values.

use crate::session::Session;
use crate::session::thread::ThreadView;
use crate::widgets::status::since;
use jiff::Timestamp;
use runtail_core::model::{KnownRevisions, RevisionAge, RunFacts, ThreadError, ThreadStatus};
use runtail_core::text;
use runtail_stream::SnapshotPart;
use runtail_stream::projection::{RunEntry, RunOutcome};

/// Columns of a sent answer.
const MAX_ANSWER: usize = 300;

/// Returns the labels and values.
pub(super) fn evidence(view: &ThreadView<'_>, session: &Session) -> Vec<(&'static str, String)> {
    let (known, status, now) = (view.records, view.status, session.now);
    let mut evidence = Vec::new();
    if *status == ThreadStatus::Deleted {
        let checked = known
            .loaded()
            .map(|loaded| format!("404, checked {} ago", since(now, loaded.at)));
        return checked
            .map(|checked| ("thread", checked))
            .into_iter()
            .collect();
    }
    for question in status.questions() {
        let place = question
            .node
            .as_deref()
            .map(|node| format!(" · node {node}"))
            .unwrap_or_default();
        evidence.push(("question", format!("{}{place}", question.summary())));
    }
    evidence.extend(view.stuck.iter().map(|sign| ("stuck", sign.evidence())));
    evidence.extend(status.error().map(|error| ("error", error.to_string())));
    if let Some(answer) = known.thread_records().rejected_answer() {
        let at = answer
            .at
            .map(|at| format!(" · {}", session.dated_clock(at)))
            .unwrap_or_default();
        evidence.push((
            "sent",
            format!("{}{at}", text::seen(&answer.sent.to_string(), MAX_ANSWER)),
        ));
        evidence.extend(
            answer
                .problems
                .into_iter()
                .map(|problem| ("wrong", problem)),
        );
    }
    if let Some(thread) = known.thread() {
        let word = match &*thread.status {
            "" => "not reported",
            status => status,
        };
        let error = thread.error.as_ref().map(ThreadError::text);
        let error = error.filter(|text| status.error() != Some(text.as_str()));
        let error = error.map_or_else(String::new, |text| format!(" · {text}"));
        evidence.push(("status", format!("{word}{error}")));
    }
    if let Some(state) = known.state() {
        let has_next = matches!(
            status,
            ThreadStatus::Paused { .. } | ThreadStatus::Stopped { .. }
        );
        let next = match state.next.as_slice() {
            [] if has_next => "not listed".into(),
            [] => "none".into(),
            next => next.join(", "),
        };
        evidence.push(("next", next));
        let step = state.step.map(|step| format!("step {step}"));
        let written = state
            .created_at
            .map(|at| format!("saved {}", session.dated_clock(at)));
        let checkpoint: Vec<String> = step.into_iter().chain(written).collect();
        if !checkpoint.is_empty() {
            evidence.push(("last", checkpoint.join(", ")));
        }
    }
    let run_id = match status {
        ThreadStatus::Running {
            run_id: Some(id), ..
        } => Some(id.as_str()),
        _ => known.run_of(status).and_then(|run| run.run_id.as_deref()),
    };
    if let Some(run) = run_id.and_then(|id| known.record(id)) {
        evidence.push(("run", run_summary(run, known.run(&run.run_id))));
        evidence.extend(
            view.revisions
                .as_ref()
                .map(|known| ("ran on", revision(run, known))),
        );
    }
    evidence.extend(activity(view, now));
    evidence
}

/// Returns what is going on, and what of the records could not be loaded.
fn activity(view: &ThreadView<'_>, now: Timestamp) -> Vec<(&'static str, String)> {
    let (known, status) = (view.records, view.status);
    let active = known
        .runs()
        .iter()
        .filter(|run| !run.outcome.is_over())
        .count();
    let checked = known
        .loaded()
        .map(|loaded| format!(" (checked {} ago)", since(now, loaded.at)))
        .unwrap_or_default();
    let is_unknown = known
        .missing()
        .iter()
        .any(|(part, _)| *part == SnapshotPart::Runs)
        || view.is_recording && matches!(status, ThreadStatus::Unknown { .. });
    let active = match (is_unknown, active) {
        (true, 0) => "unknown".to_string(),
        // Without the records, only the stream knows of the run.
        (true, _) => format!("{}, by the stream", text::counted(active, "run")),
        (false, _) => format!("{}{checked}", text::counted(active, "run")),
    };
    let mut evidence = vec![("active", active)];
    if let Some(at) = view.last_event_at {
        evidence.push(("events", format!("last event {} ago", since(now, at))));
    }
    // Parts that are missing for the same reason share a line.
    let mut missing: Vec<(&str, Vec<&str>)> = Vec::new();
    for (part, why) in known.missing() {
        let why = why.as_deref().unwrap_or("not offered");
        match missing.iter_mut().find(|(known, _)| *known == why) {
            Some((_, parts)) => parts.push(part.word()),
            None => missing.push((why, vec![part.word()])),
        }
    }
    evidence.extend(
        missing
            .into_iter()
            .map(|(why, parts)| ("missing", format!("{}: {why}", parts.join(", ")))),
    );
    evidence
}

/// Says which revision of the deployment answers in this run.
fn revision(run: &RunFacts, known: &KnownRevisions) -> String {
    match &run.revision {
        Some(name) => known.words_for(name),
        None => RevisionAge::Unknown.words().into(),
    }
}

/// Describes a run by its outcome. `entry`: the run with what its thread shows, because servers report a run that stopped early as
/// a success.
fn run_summary(run: &RunFacts, entry: Option<&RunEntry>) -> String {
    let stopped = entry.map(|entry| entry.outcome);
    let stopped = stopped
        .filter(|outcome| matches!(outcome, RunOutcome::Paused | RunOutcome::WaitingForInput));
    let status = match stopped {
        Some(outcome) => format!("{} (server: {})", outcome.word(), run.status),
        None => run.status.clone(),
    };
    let mut summary = format!("{} · {status}", text::short_id(&run.run_id));
    for (what, nodes) in [
        ("interrupt_before", &run.interrupt_before),
        ("interrupt_after", &run.interrupt_after),
    ] {
        if !nodes.is_empty() {
            summary.push_str(&format!(" · {what} {}", nodes.join(", ")));
        }
    }
    summary
}
