//! The card that explains a thread's status: the status, one sentence, the evidence, and the possible actions.

use crate::input::action::{Action, Context};
use crate::input::keymap::{Keymap, binding};
use crate::session::thread::ThreadView;
use crate::session::{Cx, GUTTER, Page, Request, Requests, Session};
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::status::since;
use jiff::Timestamp;
use runtail_core::model::{Again, Question, RunFacts, ThreadError, ThreadStatus};
use runtail_core::text;
use runtail_stream::SnapshotPart;
use runtail_stream::projection::RunOutcome;
use std::time::Duration;

/// Columns of the evidence labels.
const LABEL: usize = 9;
/// The interval for reloading the evidence.
const REFRESH: jiff::SignedDuration = jiff::SignedDuration::from_secs(5);
/// Maximum bytes of a value in the evidence.
const MAX_VALUE: usize = 2 << 10;

/// The content of the card.
#[derive(Debug, Default)]
struct Why {
    /// What happened, in one or two sentences.
    story: String,
    /// Labels and values.
    evidence: Vec<(&'static str, String)>,
    /// Key ids with their labels, the recommended one first.
    actions: Vec<(&'static str, String)>,
}

/// The explain page, and when it last requested the thread's records.
#[derive(Debug, Clone)]
pub struct WhyPage(pub Timestamp);

impl Page for WhyPage {
    fn context(&self) -> Context {
        Context::Why
    }

    fn title(&self, cx: &Cx<'_>) -> (&'static str, String) {
        let about = cx.lookup.shown_thread().map(|view| match view.thread_id {
            Some(thread) => format!("{} › thread {}", view.server.name, text::short_id(thread)),
            None => view.server.name.to_string(),
        });
        ("WHY", about.unwrap_or_default())
    }

    fn lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line> {
        let view = cx.lookup.shown_thread();
        view.map(|view| lines(&view, cx.session, width.saturating_sub(GUTTER.into()))).unwrap_or_default()
    }

    /// Handles an action the same way the stream does.
    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let recommended = || {
            let why = why(&cx.lookup.shown_thread()?, cx.session);
            let (id, _) = why.actions.first()?;
            binding(id).map(|binding| binding.action)
        };
        let action = match action {
            Action::Open => recommended(),
            action => Some(action),
        };
        let Some(action) = action else { return Requests::none() };
        Requests::from(Request::Close).and(Request::Do(Context::Stream, action))
    }

    /// Reloads the evidence every few seconds.
    fn on_tick(&mut self, cx: &Cx<'_>) -> Requests {
        if cx.session.now.duration_since(self.0) < REFRESH || cx.lookup.shown_thread().is_none() {
            return Requests::none();
        }
        self.0 = cx.session.now;
        Request::RefreshThread.into()
    }

    fn next_tick(&self, _cx: &Cx<'_>) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }
}

/// Returns the lines of the card.
fn lines(view: &ThreadView<'_>, session: &Session, width: usize) -> Vec<Line> {
    let mut badge = view.badge.clone();
    badge
        .left
        .iter_mut()
        .for_each(|piece| piece.tone = if piece.tone == Tone::Plain { Tone::Strong } else { piece.tone });
    let mut lines = vec![badge, Line::new()];
    let can_act = !view.is_recording && !session.is_read_only(&view.server.profile);
    let why = why(view, session);
    let push_wrapped = |lines: &mut Vec<Line>, text: &str| {
        lines.extend(wrap(text, width).iter().map(|row| Line::of(Tone::Plain, row)));
    };
    push_wrapped(&mut lines, &why.story);
    lines.push(Line::new());
    for (label, value) in &why.evidence {
        let rows = wrap(text::head(value, MAX_VALUE), width.saturating_sub(LABEL).max(1));
        for (i, row) in rows.iter().enumerate() {
            let label = if i == 0 { label } else { "" };
            lines.push(Line::of(Tone::Dim, &format!("{label:<LABEL$}")).with(Tone::Plain, row));
        }
    }
    lines.push(Line::new());
    if !can_act {
        let reason = if view.is_recording { "This is a recording." } else { "This profile is read-only." };
        lines.push(Line::of(Tone::Dim, reason));
    }
    let (keymap, ascii) = (&session.keymap, session.settings.ascii);
    for (id, label) in why.actions.iter().filter(|_| can_act) {
        lines.push(key_line(keymap, id, label, ascii));
    }
    if !view.is_recording {
        let details = "details: the server's state and record";
        lines.push(key_line(keymap, "stream.details", details, ascii));
    }
    lines
}

fn key_line(keymap: &Keymap, id: &str, label: &str, ascii: bool) -> Line {
    let key = keymap.hints_of([&id], ascii).pop().map(|(key, _)| key).unwrap_or_default();
    Line::of(Tone::Accent, &key).with(Tone::Plain, &format!(" {label}"))
}

fn why(view: &ThreadView<'_>, session: &Session) -> Why {
    let (status, now) = (view.status, session.now);
    let runs = view.records.runs();
    // The run of the status, which is not always the newest: others may be queued.
    let run = match status {
        ThreadStatus::Running { run_id: Some(id), .. } => view.records.run(id).or(runs.last()),
        _ => runs.last(),
    };
    let name = run.map_or_else(|| "The newest run".to_string(), |run| run.name());
    let name = capital(&name);
    let new_run = |what: &str| ("stream.new_run", format!("new run{what}"));
    let has_record = runs.iter().any(|run| run.is_recorded);
    let nodes = |next: &[String]| next.iter().map(|node| text::clean(node).into_owned()).collect::<Vec<_>>().join(", ");
    let mut why = match status {
        ThreadStatus::Loading if view.is_recording => {
            Why { story: "No run in the recording at this point.".into(), ..Why::default() }
        }
        ThreadStatus::Loading => Why { story: "Loading the thread's records…".into(), ..Why::default() },
        ThreadStatus::Unknown { why } => Why {
            story: match why.is_empty() {
                true => "The server doesn't report this thread's status.".into(),
                false => format!("Unknown status: {why}."),
            },
            ..Why::default()
        },
        ThreadStatus::Queued { since: Some(at), .. } if *at > now => Why {
            story: format!("The run is scheduled to start at {}.", session.clock(*at)),
            actions: vec![("stream.cancel", "cancel the queued run".into())],
            ..Why::default()
        },
        ThreadStatus::Queued { waiting, .. } => Why {
            story: match waiting {
                1 => "A run is queued; no worker has started it yet.".into(),
                n => format!("{n} runs are queued. A thread runs them one at a time, oldest first."),
            },
            actions: vec![("stream.cancel", "cancel the queued run".into())],
            ..Why::default()
        },
        ThreadStatus::Running { nodes: active, .. } => {
            let place = if active.is_empty() { String::new() } else { format!(" in {}", nodes(active)) };
            Why {
                story: format!("{name} is running{place}."),
                actions: vec![("stream.cancel", "cancel the run: finished steps are kept".into())],
                ..Why::default()
            }
        }
        ThreadStatus::Waiting { questions, .. } => waiting(questions, &name),
        ThreadStatus::Paused { next, after, .. } => {
            let place = if *after { "after its last node; next is" } else { "before" };
            Why {
                story: format!("{name} is paused at a breakpoint {place} {}. Nothing failed.", nodes(next)),
                actions: vec![
                    ("stream.answer", format!("continue: runs {}", nodes(next))),
                    new_run(" with new input: abandons the paused run"),
                ],
                ..Why::default()
            }
        }
        ThreadStatus::Cancelled { next, .. } => {
            let lost = if next.is_empty() { String::new() } else { format!(" Next is {}; its unfinished work is lost.", nodes(next)) };
            let again = format!("continue: runs {} again from its start. Calls it already made are repeated.", nodes(next));
            let resume = (!next.is_empty()).then_some(("stream.answer", again));
            Why {
                story: format!("{name} was cancelled. Its finished steps are saved.{lost}"),
                actions: resume.into_iter().chain([new_run(" with new input")]).collect(),
                ..Why::default()
            }
        }
        ThreadStatus::Edited { next, .. } => {
            let resume = format!("continue: runs {}; an open question is asked again", nodes(next));
            Why {
                story: match next.is_empty() {
                    true => "The state was edited after the last run.".into(),
                    false => format!("The state was edited and not continued since. Next is {}.", nodes(next)),
                },
                actions: (!next.is_empty()).then_some(("stream.answer", resume)).into_iter().chain([new_run("")]).collect(),
                ..Why::default()
            }
        }
        ThreadStatus::Stopped { next, .. } => Why {
            story: "The thread is interrupted, but its records show no question, breakpoint or cancelled run.".into(),
            actions: vec![("stream.answer", format!("continue: runs {}", nodes(next))), new_run(" with new input")],
            ..Why::default()
        },
        ThreadStatus::Failed { nodes: failed, timed_out, .. } => {
            let place = if failed.is_empty() { String::new() } else { format!(" in {}", nodes(failed)) };
            let how = if *timed_out { "timed out" } else { "failed" };
            let again = view.again;
            let retry = match again {
                Again::Steps if failed.is_empty() => Some("retry the unfinished steps".into()),
                Again::Steps => Some(format!("retry {}", nodes(failed))),
                Again::Input => Some("run the last input again".into()),
                Again::Nothing => None,
            };
            Why {
                story: match again {
                    Again::Steps => format!("{name} {how}{place}. Its finished steps are saved."),
                    Again::Input => format!("{name} {how}{place}. There is no step to retry."),
                    Again::Nothing => "The thread's status is failed, but its runs were deleted, so nothing can be retried.".into(),
                },
                actions: retry.map(|retry| ("stream.again", retry)).into_iter().chain([new_run(" with new input")]).collect(),
                ..Why::default()
            }
        }
        ThreadStatus::Idle { .. } => Why {
            story: match run {
                Some(run) if run.outcome == RunOutcome::Deleted => {
                    format!("{name} was rolled back or deleted; the server has no record of it. Nothing to do.")
                }
                Some(run) => format!("{name} {}. Nothing to do.", run.outcome.word()),
                None => "No run is active on this thread.".into(),
            },
            // The input is in the record of a run.
            actions: std::iter::once(new_run(""))
                .chain(has_record.then(|| ("stream.again", "run the last input again".to_string())))
                .collect(),
            ..Why::default()
        },
        ThreadStatus::Deleted => Why {
            story: "The thread was deleted (the server returns 404). This page shows its last known data.".into(),
            ..Why::default()
        },
        ThreadStatus::BusyWithoutRun { .. } => Why {
            story: "The thread's status is busy, but none of its runs is active. Most likely an active run was deleted; it may \
                    still be running, and the server doesn't release the thread on its own."
                .into(),
            actions: vec![new_run(": also releases the thread")],
            ..Why::default()
        },
    };
    why.evidence = evidence(view, session);
    if is_answer_refused(view) {
        if let Some((_, label)) = why.actions.iter_mut().find(|(id, _)| *id == "stream.again") {
            *label = "ask again: reruns the asking step from its checkpoint".into();
        }
        why.story.push_str(
            " It failed on an answer. The server has stored that answer and uses it again, so another answer has no effect: the \
             step that asks has to run again first.",
        );
    }
    why
}

fn waiting(questions: &[Question], name: &str) -> Why {
    let story = match questions.len() {
        1 => format!("{name} stopped to ask a question. Answer it to continue."),
        n => format!("{name} stopped with {n} questions. Answer them to continue."),
    };
    let mut actions = vec![("stream.answer", "answer".to_string())];
    if questions.iter().all(Question::can_be_approved) {
        let all = if questions.len() > 1 { "approve all" } else { "approve" };
        actions.push(("stream.approve", format!("{all}: opens the answer with approval selected")));
    }
    actions.push(("stream.new_run", "new run with new input: discards the question".into()));
    Why { story, actions, ..Why::default() }
}

/// Returns whether the thread failed with an open question, which means that the graph rejected the answer (acting
/// reference §1.1).
fn is_answer_refused(view: &ThreadView<'_>) -> bool {
    let state = view.records.state();
    let has_question = || state.is_some_and(|state| state.tasks.iter().any(|task| !task.questions.is_empty()));
    matches!(view.status, ThreadStatus::Failed { .. }) && has_question()
}

fn evidence(view: &ThreadView<'_>, session: &Session) -> Vec<(&'static str, String)> {
    let (known, status, now) = (view.records, view.status, session.now);
    let mut evidence = Vec::new();
    if *status == ThreadStatus::Deleted {
        let checked = known.loaded().map(|loaded| format!("404, checked {} ago", since(now, loaded.at)));
        return checked.map(|checked| ("thread", checked)).into_iter().collect();
    }
    for question in status.questions() {
        let place = question.node.as_deref().map(|node| format!(" · asked by {node}")).unwrap_or_default();
        evidence.push(("question", format!("{}{place}", question.summary())));
    }
    evidence.extend(view.stuck.iter().map(|sign| ("stuck", sign.evidence())));
    evidence.extend(status.error().map(|error| ("error", error.to_string())));
    if let Some(thread) = known.thread() {
        let word = if thread.status.is_empty() { "not reported" } else { &thread.status };
        let error = thread.error.as_ref().map(ThreadError::text).filter(|text| status.error() != Some(text.as_str()));
        let error = error.map(|text| format!(" · {text}")).unwrap_or_default();
        evidence.push(("status", format!("{word}{error}")));
    }
    if let Some(state) = known.state() {
        let next = if state.next.is_empty() { "none".into() } else { state.next.join(", ") };
        evidence.push(("next", next));
        let step = state.step.map(|step| format!("step {step}"));
        let written = state.created_at.map(|at| format!("saved {}", session.clock(at)));
        let checkpoint: Vec<String> = step.into_iter().chain(written).collect();
        if !checkpoint.is_empty() {
            evidence.push(("last", checkpoint.join(", ")));
        }
    }
    let run_id = match status {
        ThreadStatus::Running { run_id: Some(id), .. } => Some(id.as_str()),
        _ => known.runs().last().and_then(|run| run.run_id.as_deref()),
    };
    if let Some(run) = run_id.and_then(|id| known.record(id)) {
        evidence.push(("run", run_summary(run)));
    }
    let active = known.runs().iter().filter(|run| !run.outcome.is_over()).count();
    let checked = known.loaded().map(|loaded| format!(" (checked {} ago)", since(now, loaded.at))).unwrap_or_default();
    let runs = if active == 1 { "run" } else { "runs" };
    let is_unknown = known.missing().iter().any(|(part, _)| *part == SnapshotPart::Runs);
    let active = if is_unknown && active == 0 { "unknown".into() } else { format!("{active} {runs}{checked}") };
    evidence.push(("active", active));
    if let Some(at) = view.last_event_at {
        evidence.push(("events", format!("last event {} ago", since(now, at))));
    }
    for (part, why) in known.missing() {
        let why = why.as_deref().unwrap_or("not offered by this server");
        evidence.push(("missing", format!("{}: {why}", part.word())));
    }
    evidence
}

fn run_summary(run: &RunFacts) -> String {
    let mut summary = format!("{} · {}", text::short_id(&run.run_id), run.status);
    for (what, nodes) in [("interrupt_before", &run.interrupt_before), ("interrupt_after", &run.interrupt_after)] {
        if !nodes.is_empty() {
            summary.push_str(&format!(" · {what} {}", nodes.join(", ")));
        }
    }
    summary
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
