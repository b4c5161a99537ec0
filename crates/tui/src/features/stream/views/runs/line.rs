//! The lines of the Runs view: a run's row, and below it what happened in the run.

use super::rows::{RunNumbers, RunRows, RunsRow};
use crate::features::stream::viewer::Viewer;
use crate::features::stream::views::{UNKNOWN, clock, row_at};
use crate::widgets::line::{Line, Tone};
use crate::widgets::status::{precise, run_duration, span, tones};
use crate::widgets::table::{TableColumn, TableColumns};
use jiff::SignedDuration;
use runtail_core::model::{
    KnownRevisions, RevisionAge, StatusRole, ThreadStatus, cause, hides_cause,
};
use runtail_core::text;
use runtail_stream::projection::{
    Bar, BarState, LifecycleKind, LifecycleRow, Projections, RunEntry, RunMetrics, RunOutcome,
    Status,
};

/// Maximum columns of an error's kind.
const MAX_KIND_WIDTH: usize = 40;
/// Maximum bytes of an error in a row.
const MAX_ERROR_BYTES: usize = 1024;

/// Minimum time in the queue for a row to show it.
const MIN_QUEUED: SignedDuration = SignedDuration::from_secs(1);

/// The titles of the table.
pub const TITLES: [&str; 9] = [
    "RUN",
    "STATUS",
    "STARTED",
    "TOOK",
    "STEPS",
    "TOKENS",
    "COST",
    "ASSISTANT",
    "WHY IT ENDED",
];
/// Their widths; what has none is as wide as its cells. Their ranks: where there is no room, the higher ones are left out.
const WIDTHS: [(usize, u8); TITLES.len()] = [
    (0, 0),
    (12, 0),
    (0, 1),
    (7, 2),
    (5, 5),
    (13, 4),
    (8, 7),
    (12, 6),
    (14, 3),
];
/// The maximum width of the assistant.
const MAX_ASSISTANT: usize = 24;

/// The status or outcome of a run as text.
#[derive(Debug)]
pub struct RunSummary {
    /// The glyph and color.
    pub role: StatusRole,
    /// The outcome, such as `failed in tools`.
    pub outcome: String,
    /// Sanitized details: the kind of error, the duration and the tokens.
    pub details: Vec<String>,
}

/// Describes a run.
pub fn describe(run: &RunEntry, projections: &Projections) -> RunSummary {
    let status = &projections.status;
    let node = |with: &str| {
        run.node
            .as_deref()
            .map(|node| format!(" {with} {}", text::clean(node)))
            .unwrap_or_default()
    };
    let is_newest = status
        .runs()
        .last()
        .is_some_and(|last| last.run_id == run.run_id);
    let is_waiting = is_newest && matches!(status.status(), ThreadStatus::Waiting { .. });
    let mut details = Vec::new();
    let (role, outcome) = match run.outcome {
        // The status line shows the present, in which these runs may be over.
        RunOutcome::Queued if status.as_of().is_some() => {
            (StatusRole::Queued, "queued then".to_string())
        }
        RunOutcome::Running if status.as_of().is_some() => {
            (StatusRole::Moving, "running then".into())
        }
        RunOutcome::Queued => (StatusRole::Queued, "queued".to_string()),
        RunOutcome::Running => (StatusRole::Moving, "running".to_string()),
        RunOutcome::Finished => (StatusRole::Good, "finished".into()),
        RunOutcome::WaitingForInput if is_waiting => {
            details.push("waiting for your answer".to_string());
            (StatusRole::Waiting, "paused".into())
        }
        RunOutcome::WaitingForInput => (StatusRole::Good, format!("paused to ask{}", node("in"))),
        RunOutcome::Paused => (
            if is_newest {
                StatusRole::Waiting
            } else {
                StatusRole::Good
            },
            format!("paused{}", node("before")),
        ),
        RunOutcome::Failed => (StatusRole::Failed, format!("failed{}", node("in"))),
        RunOutcome::TimedOut => (StatusRole::Failed, format!("timed out{}", node("in"))),
        RunOutcome::Cancelled => (StatusRole::Ended, "cancelled".into()),
        RunOutcome::Deleted => (StatusRole::Ended, "rolled back or deleted".into()),
        RunOutcome::Unknown => {
            let word = if status.awaits_outcome(run) {
                "ended · loading the outcome"
            } else {
                "outcome unknown"
            };
            (StatusRole::Unknown, word.into())
        }
    };
    details.extend(
        run.error
            .as_deref()
            .map(kind_of)
            .filter(|kind| !kind.is_empty()),
    );
    details.extend(run.took().map(run_duration));
    let usage = run
        .run_id
        .as_deref()
        .and_then(|id| Status::usage_of(id, projections.messages.items().iter()));
    if let Some(usage) = usage.filter(|usage| usage.input + usage.output > 0) {
        details.push(format!(
            "{} tokens in, {} out",
            text::count(usage.input),
            text::count(usage.output)
        ));
    }
    let queued = run.queued().filter(|queued| *queued >= MIN_QUEUED);
    details.extend(queued.map(|queued| format!("queued {}", span(queued))));
    RunSummary {
        role,
        outcome,
        details,
    }
}

/// Returns the kind of an error, which precedes its first colon.
fn kind_of(error: &str) -> String {
    let first = error.lines().next().unwrap_or_default();
    // Accepts only an exception class, not the first words of a message.
    let is_class = |kind: &str| {
        kind.starts_with(|c: char| c.is_ascii_uppercase()) && !kind.contains(char::is_whitespace)
    };
    let kind = first.split_once(':').map_or(first, |(kind, _)| kind);
    let kind = kind
        .rsplit('.')
        .next()
        .filter(|name| is_class(name))
        .map_or("", |_| kind);
    text::fit(
        &text::clean(text::head(kind, 4 * MAX_KIND_WIDTH)),
        MAX_KIND_WIDTH,
    )
    .into_owned()
}

/// Returns the columns for a width. Those that no run has anything for are left out.
pub fn columns(rows: &RunRows, room: usize) -> TableColumns {
    let width = |at: usize, width: usize| match at {
        0 => rows.widths.name.max(TITLES[0].len()),
        2 => rows.widths.started.max(TITLES[2].len()),
        5 if !rows.widths.has_tokens => 0,
        6 if !rows.widths.has_cost => 0,
        7 if rows.widths.assistant == 0 => 0,
        7 => rows.widths.assistant.clamp(TITLES[7].len(), MAX_ASSISTANT),
        _ => width,
    };
    let all = WIDTHS
        .iter()
        .enumerate()
        .map(|(at, (most, rank))| TableColumn {
            title: TITLES[at],
            width: width(at, *most),
            gap: if at == 0 { 0 } else { 2 },
            rank: *rank,
            is_right: matches!(at, 0 | 3..=6),
        });
    TableColumns::ranked(room, all.collect(), &[(8, usize::MAX)])
}

/// Returns the cells of a run.
pub fn cells(viewer: &Viewer, index: usize) -> Option<[Line; TITLES.len()]> {
    let (projections, rows) = (&viewer.projections, &viewer.views.runs.rows);
    let run = projections.status.runs().get(index)?;
    let numbers = rows.numbers.get(index).cloned().unwrap_or_default();
    let RunSummary { role, .. } = describe(run, projections);
    let has_asked = run.outcome == RunOutcome::WaitingForInput;
    let status = match (has_asked, role) {
        // An answered question is nothing to look at.
        (true, StatusRole::Good) => Line::plain("◆ asked"),
        (true, _) => status_cell(role, "waiting"),
        (false, _) => status_cell(role, run.outcome.word()),
    };
    let plain = |text: Option<String>| text.map_or_else(Line::new, |text| Line::plain(&text));
    let is_moving = run.outcome == RunOutcome::Running;
    let so_far = || Some(rows.now?.duration_since(run.began?)).filter(|_| is_moving);
    Some([
        Line::strong(&name_cell(run)),
        status,
        Line::dim(&clock(run.began.or(run.requested), &viewer.wall_clock())),
        plain(run.took().or_else(so_far).map(run_duration)),
        Line::plain(&numbers.steps),
        plain(numbers.tokens()),
        Line::plain(&numbers.cost),
        plain(assistant(run, &viewer.present().status)),
        why(viewer, index, run),
    ])
}

fn status_cell(role: StatusRole, word: &str) -> Line {
    let (glyph, tone) = tones(role);
    Line::of(glyph, &format!("{} ", role.glyph())).with(tone, word)
}

/// Returns the number of a run, or the start of its id.
pub fn name_cell(run: &RunEntry) -> String {
    run.name().trim_start_matches("run").trim().to_string()
}

/// Returns the name of the assistant that a run ran: its graph if it is the thread's own.
pub fn assistant(run: &RunEntry, status: &Status) -> Option<String> {
    let id = run.assistant_id.as_deref()?;
    let own = status
        .thread()
        .filter(|thread| thread.assistant_id.as_deref() == Some(id));
    let graph = own.and_then(|thread| thread.graph_id.clone());
    Some(graph.unwrap_or_else(|| text::clean(&text::short_id(id)).into_owned()))
}

/// Returns why a run ended: its error, the reason of its cancellation, or its question and what followed.
fn why(viewer: &Viewer, index: usize, run: &RunEntry) -> Line {
    let status = &viewer.projections.status;
    let first = |text: &str| {
        let head = text::head(text, MAX_ERROR_BYTES);
        text::clean(head.lines().next().unwrap_or_default()).into_owned()
    };
    match run.outcome {
        RunOutcome::Failed | RunOutcome::TimedOut => {
            let error = run.error.as_deref().map(first);
            Line::plain(&error.unwrap_or_else(|| "no reason reported".into()))
        }
        RunOutcome::Cancelled => {
            Line::plain(&run.cancel_reason.as_deref().map_or_else(String::new, first))
        }
        RunOutcome::WaitingForInput => {
            let asked = run.question.as_deref().map_or_else(String::new, first);
            Line::plain(&asked).with_dim(&after_question(viewer, index, run))
        }
        RunOutcome::Paused => match &run.node {
            Some(node) => Line::plain(&format!("breakpoint before {}", text::clean(node))),
            None => Line::new(),
        },
        RunOutcome::Deleted => Line::plain("rolled back or deleted"),
        RunOutcome::Unknown if status.awaits_outcome(run) => Line::dim("loading the outcome"),
        RunOutcome::Unknown => Line::dim("outcome unknown"),
        RunOutcome::Queued | RunOutcome::Running | RunOutcome::Finished => Line::new(),
    }
}

/// Says what followed a question: the answer, as far as the checkpoints show one, or the next run.
fn after_question(viewer: &Viewer, index: usize, run: &RunEntry) -> String {
    let status = &viewer.projections.status;
    let Some(next) = status.runs().get(index + 1) else {
        return String::new();
    };
    let at = next.requested.or(next.began);
    let wait = at
        .zip(run.ended)
        .map(|(at, ended)| at.duration_since(ended));
    let after = wait
        .filter(|wait| !wait.is_negative())
        .map(|wait| format!(" after {}", span(wait)))
        .unwrap_or_default();
    let is_answer = next
        .run_id
        .as_deref()
        .is_some_and(|id| status.resumed(id).is_some());
    match is_answer {
        true => format!(" → answered{after}"),
        false => format!(" → {}{after}", next.name()),
    }
}

/// Returns the line of a row below its run. `is_last`: whether the next row is another run.
pub fn detail(viewer: &Viewer, row: RunsRow, is_last: bool) -> Option<Line> {
    let (p, times) = (&viewer.projections, viewer.wall_clock());
    let run = p.status.runs().get(row.run())?;
    let mut line = Line::dim(if is_last { "   └ " } else { "   │ " });
    let mut at =
        |time: Option<jiff::Timestamp>| line.push_dim(&format!("{}  ", clock(time, &times)));
    match row {
        RunsRow::Run(_) => None,
        RunsRow::Start(_) => {
            at(run.began.or(run.requested));
            line.push_plain("▸ started");
            let queued = run.queued().filter(|queued| *queued >= MIN_QUEUED);
            let queued = queued.map(|queued| format!("queued {}", span(queued)));
            let revision = revision(run, viewer.views.runs.revisions.as_ref());
            for part in queued.into_iter().chain(revision) {
                line.push_dim(&format!(" · {part}"));
            }
            Some(match run.run_id.as_deref() {
                Some(id) => line.right(Tone::Dim, &text::short_id(id)),
                None => line,
            })
        }
        RunsRow::Node(_, key) => {
            let bar = p.timeline.bar(key)?;
            at(Some(bar.started).filter(|_| bar.known.start));
            push_node(&mut line, bar);
            Some(line)
        }
        RunsRow::Event(_, key) => {
            let event = row_at(p.lifecycle.rows(), key)?;
            at(event.at);
            push_event(&mut line, event, run, p);
            Some(line)
        }
        RunsRow::End(_) => {
            at(run.ended);
            let RunSummary {
                role,
                outcome,
                mut details,
            } = describe(run, p);
            line.left.extend(status_cell(role, &outcome).left);
            if let Some(error) = &run.error {
                // Replaces the kind of the error with the whole error.
                details.retain(|detail| *detail != kind_of(error));
                details.extend(
                    text::head(error, MAX_ERROR_BYTES)
                        .lines()
                        .next()
                        .map(String::from),
                );
            }
            let metrics = run.run_id.as_deref().and_then(|id| p.metrics.run(id));
            details.extend(metrics.and_then(first_token_after));
            for part in details {
                line.push_dim(&format!(" · {}", text::clean(&part)));
            }
            Some(line)
        }
    }
}

fn push_node(line: &mut Line, bar: &Bar) {
    let (glyph, tone) = match bar.state {
        BarState::Running => ("◐", Tone::Moving),
        BarState::Done => ("●", Tone::Good),
        BarState::Failed => ("✗", Tone::Bad),
        BarState::Interrupted => ("◆", Tone::Plain),
        BarState::Abandoned => ("■", Tone::Dim),
    };
    line.push(tone, &format!("{glyph} "));
    line.push(Tone::label(&bar.name), &bar.name);
    let took = bar
        .took()
        .and_then(|took| SignedDuration::try_from(took).ok());
    let took = took.map_or_else(|| UNKNOWN.into(), run_duration);
    if bar.state != BarState::Running {
        line.push_dim(&format!("  {took}"));
    }
    if let Some(detail) = &bar.detail {
        let first = text::head(detail, MAX_ERROR_BYTES)
            .lines()
            .next()
            .unwrap_or_default();
        line.push_plain(&format!("  {}", text::clean(first)));
    }
}

fn push_event(line: &mut Line, event: &LifecycleRow, run: &RunEntry, projections: &Projections) {
    let hidden = (event.kind == LifecycleKind::Error)
        .then(|| hidden_cause(&event.text, run))
        .flatten();
    let said = hidden.unwrap_or_else(|| event.text.clone());
    let (glyph, tone) = match event.kind {
        LifecycleKind::Error => ("✗", Tone::Bad),
        LifecycleKind::Interrupt => ("◆", Tone::Plain),
        LifecycleKind::Attempt => ("◐", Tone::Plain),
        _ => ("·", Tone::Dim),
    };
    line.push(tone, &format!("{glyph} {}", text::clean(&said)));
    let metrics = projections.metrics.run_at(event.seq);
    let lost = metrics.and_then(|run| run.retries.iter().find(|(seq, _)| *seq == event.seq));
    if let Some((_, lost)) = lost.filter(|_| event.kind == LifecycleKind::Attempt) {
        line.push_dim(&format!(" · {} lost", span(*lost)));
    }
}

impl RunNumbers {
    /// Returns its tokens, as `31 in 48 out`.
    fn tokens(&self) -> Option<String> {
        let usage = self.usage.filter(|usage| usage.input + usage.output > 0)?;
        Some(format!(
            "{} in {} out",
            text::count(usage.input),
            text::count(usage.output)
        ))
    }
}

/// Says which revision of the server's deployment ran a run. Without a deployment, only a revision that the run names is shown.
fn revision(run: &RunEntry, known: Option<&KnownRevisions>) -> Option<String> {
    match (&run.revision, known) {
        (Some(name), Some(known)) => Some(known.words_for(name)),
        (Some(name), None) => Some(KnownRevisions::default().words_for(name)),
        (None, Some(known)) if run.is_recorded && known.newest.is_some() => {
            Some(RevisionAge::Unknown.words().into())
        }
        (None, _) => None,
    }
}

/// Returns the text of an error's row with the cause of the run's failure, if the row's event hides it.
fn hidden_cause(row: &str, run: &RunEntry) -> Option<String> {
    let error = text::head(run.error.as_deref()?.lines().next()?, MAX_ERROR_BYTES);
    // A task's row names its node first.
    let received = if hides_cause(row) {
        row
    } else {
        row.split_once(": ")?.1
    };
    let is_cause = hides_cause(received)
        && cause([received, error].map(String::from)).as_deref() == Some(error);
    is_cause.then(|| format!("{}{error}", row.strip_suffix(received).unwrap_or_default()))
}

/// Returns when a run sent its first token, from its start. This is not the time to first token of a model call, so it has other
/// words.
fn first_token_after(run: &RunMetrics) -> Option<String> {
    run.to_first_token()
        .map(|first| format!("first token {} into the run", precise(first)))
}
