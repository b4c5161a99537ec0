//! The lines of the Runs view.

use crate::features::stream::summary;
use crate::features::stream::views::{TimeFormat, clock, namespace};
use crate::widgets::line::{Line, Tone};
use crate::widgets::status::{precise, run_duration, span, tones};
use jiff::{SignedDuration, Timestamp};
use runtail_core::model::{
    KnownRevisions, RevisionAge, StatusRole, ThreadStatus, cause, hides_cause,
};
use runtail_core::text;
use runtail_stream::projection::{
    LifecycleKind, LifecycleRow, Peek, Projections, RunEntry, RunMetrics, RunOutcome, Status,
};

/// Maximum columns of an error's kind.
const MAX_KIND_WIDTH: usize = 40;
/// Maximum bytes of an error in a row.
const MAX_ERROR_BYTES: usize = 1024;

/// Minimum time in the queue for a row to show it.
const MIN_QUEUED: SignedDuration = SignedDuration::from_secs(1);

/// Stream outcomes that are also the outcome of the run.
const OUTCOMES: [&str; 5] = ["success", "error", "interrupted", "cancelled", "timeout"];

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
            (StatusRole::Queued, "queued at this checkpoint".to_string())
        }
        RunOutcome::Running if status.as_of().is_some() => {
            (StatusRole::Moving, "running at this checkpoint".into())
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

/// Returns the line of a run without events in the stream, built from its record.
pub fn record_line(
    run: &RunEntry,
    projections: &Projections,
    revisions: Option<&KnownRevisions>,
    tz: &impl TimeFormat,
) -> Line {
    let RunSummary {
        role,
        outcome,
        mut details,
    } = describe(run, projections);
    let (glyph, word) = tones(role);
    // The line shows the outcome, so it has the time of the end.
    let mut line = Line::dim(&format!(
        "{}  ",
        clock(run.ended.or(run.began).or(run.requested), tz)
    ));
    line.push(glyph, &format!("{} ", role.glyph()));
    line.push_plain(&format!("{} ", run.name()));
    line.push(word, &outcome);
    if let Some(error) = &run.error {
        // Replaces the kind of the error with the whole error.
        details.retain(|detail| *detail != kind_of(error));
        details.push(
            text::head(error, MAX_ERROR_BYTES)
                .lines()
                .next()
                .unwrap_or_default()
                .to_string(),
        );
    }
    details.extend(revision(run, revisions));
    for detail in details {
        line.push_dim(&format!(" · {detail}"));
    }
    with_id(line, run.run_id.as_deref())
}

fn with_id(line: Line, run: Option<&str>) -> Line {
    match run {
        Some(id) => line.right(Tone::Dim, &text::short_id(id)),
        None => line,
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

/// Returns the line of a run or connection event, with the run's outcome and numbers if it ended.
pub fn line(
    row: &LifecycleRow,
    projections: &Projections,
    revisions: Option<&KnownRevisions>,
    width: usize,
    tz: &impl TimeFormat,
) -> Line {
    let entry = row
        .run_id
        .as_deref()
        .and_then(|id| projections.status.run(id));
    let ending = ending(row, entry, projections);
    if ending == Ending::Repeated {
        let line = Line::dim(&format!("{}  ", clock(row.at, tz)));
        return line.with_dim("· stream ended");
    }
    let is_end = ending == Ending::OfRun;
    let ended = entry
        .filter(|entry| is_end && entry.outcome.is_over())
        .map(|entry| describe(entry, projections));
    let (glyph, tone) = glyph(row.kind, ended.as_ref());
    let body = if tone == Tone::Dim {
        Tone::Dim
    } else {
        Tone::Plain
    };
    let recorded = entry.and_then(|entry| match row.kind {
        LifecycleKind::RunStart => entry.began,
        _ if is_end => entry.ended,
        _ => None,
    });
    let mut line = Line::dim(&format!("{}  ", clock(row.at.or(recorded), tz)));
    line.push_plain(&"  ".repeat(row.ns.len().min(8)));
    line.push(tone, &format!("{glyph} "));
    // The subgraph's name is enough; its task id follows at the end of the line.
    let path: String = row
        .ns
        .iter()
        .flat_map(|s| [s.split(':').next().unwrap_or_default(), "/"])
        .collect();
    let hidden = entry
        .filter(|_| row.kind == LifecycleKind::Error)
        .and_then(|entry| hidden_cause(&row.text, entry));
    match (row.kind, entry, &ended) {
        (LifecycleKind::Interrupt, ..) if row.text.starts_with(['{', '[']) => {
            let room = width.saturating_sub(line.width());
            line.left
                .extend(summary::value(Peek::head(&row.text, usize::MAX).cut(), room).left);
        }
        (_, Some(entry), Some(summary)) => {
            line.push_plain(&format!("{} ", entry.name()));
            line.push(tones(summary.role).1, &summary.outcome);
        }
        _ if hidden.is_some() => line.push(body, &hidden.unwrap_or_default()),
        (LifecycleKind::RunStart, Some(entry), _) => {
            line.push_plain(&format!("{} started", entry.name()))
        }
        _ => line.push(body, row.text.strip_prefix(&*path).unwrap_or(&row.text)),
    }
    if !row.ns.is_empty() {
        line.push_dim(" in ");
        line.push(Tone::Ns, &namespace(&row.ns));
    }
    if row.kind == LifecycleKind::TaskInterrupted {
        line.push_dim(" interrupted");
    }
    for detail in details(row, entry, ended, projections, revisions) {
        line.push_dim(&format!(" · {detail}"));
    }
    let is_error = row.kind == LifecycleKind::Error;
    let names_run = is_end || is_error || row.kind == LifecycleKind::RunStart;
    let names_run = names_run && (entry.is_some() || is_error);
    with_id(line, row.run_id.as_deref().filter(|_| names_run))
}

/// What an event ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Nothing,
    OfRun,
    /// The run's stream, after another event reported the end of the run.
    Repeated,
}

fn ending(row: &LifecycleRow, entry: Option<&RunEntry>, projections: &Projections) -> Ending {
    let ends_run = |row: &LifecycleRow| {
        matches!(
            row.kind,
            LifecycleKind::RunDone | LifecycleKind::RunInterrupted
        )
    };
    // The end of a run's own stream is also the end of the run.
    let ends_stream = row.kind == LifecycleKind::End
        && entry.is_some_and(|entry| entry.outcome.is_over())
        && OUTCOMES.iter().any(|outcome| row.text.starts_with(outcome));
    let mut others = projections.lifecycle.rows().iter();
    match ends_stream {
        true if others.any(|other| ends_run(other) && other.run_id == row.run_id) => {
            Ending::Repeated
        }
        true => Ending::OfRun,
        false if ends_run(row) => Ending::OfRun,
        false => Ending::Nothing,
    }
}

/// Returns the numbers of a run that ended or failed an attempt, and its revision.
fn details(
    row: &LifecycleRow,
    entry: Option<&RunEntry>,
    ended: Option<RunSummary>,
    projections: &Projections,
    revisions: Option<&KnownRevisions>,
) -> Vec<String> {
    let run = projections
        .metrics
        .run_at(row.seq)
        .filter(|run| run.run_id.is_none() || run.run_id == row.run_id);
    match (row.kind, ended) {
        (
            LifecycleKind::RunDone | LifecycleKind::RunInterrupted | LifecycleKind::End,
            Some(summary),
        ) => {
            let mut details = summary.details;
            details.extend(run.and_then(first_token_after));
            let has_start = |other: &LifecycleRow| {
                other.kind == LifecycleKind::RunStart && other.run_id == row.run_id
            };
            let is_unnamed = !projections.lifecycle.rows().iter().any(has_start);
            let unnamed = entry.filter(|_| is_unnamed);
            details.extend(unnamed.and_then(|entry| revision(entry, revisions)));
            details
        }
        (LifecycleKind::RunDone | LifecycleKind::RunInterrupted | LifecycleKind::End, None) => {
            run.map(|run| run_numbers(run, row.at)).unwrap_or_default()
        }
        (LifecycleKind::RunStart, _) => {
            let revision = entry.and_then(|entry| revision(entry, revisions));
            revision.into_iter().collect()
        }
        (LifecycleKind::Attempt, _) => {
            let lost = run.and_then(|run| run.retries.iter().find(|(seq, _)| *seq == row.seq));
            let lost = lost.map(|(_, lost)| format!("{} lost", span(*lost)));
            lost.into_iter().collect()
        }
        _ => Vec::new(),
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

fn glyph(kind: LifecycleKind, ended: Option<&RunSummary>) -> (&'static str, Tone) {
    match (kind, ended) {
        (_, Some(summary)) => (summary.role.glyph(), tones(summary.role).0),
        (LifecycleKind::RunStart | LifecycleKind::Attempt | LifecycleKind::Retry, _) => {
            ("◐", Tone::Moving)
        }
        // The stream reports the end, but never the outcome.
        (LifecycleKind::RunDone, _) => ("?", Tone::Dim),
        (LifecycleKind::End, _) => ("■", Tone::Strong),
        (LifecycleKind::Interrupt | LifecycleKind::RunInterrupted, _) => ("◆", Tone::Waiting),
        (LifecycleKind::Error, _) => ("✗", Tone::Bad),
        (LifecycleKind::Gap, _) => ("?", Tone::Dim),
        (LifecycleKind::TaskStart, _) => ("▸", Tone::Dim),
        (LifecycleKind::TaskDone, _) => ("●", Tone::Dim),
        (LifecycleKind::TaskInterrupted, _) => ("◆", Tone::Dim),
        (LifecycleKind::Connection, _) => ("·", Tone::Dim),
    }
}

/// Returns the numbers of a run as text, up to its end or `until`: duration, first token and tokens.
fn run_numbers(run: &RunMetrics, until: Option<Timestamp>) -> Vec<String> {
    let mut numbers = Vec::new();
    let until = run.ended.or(until).zip(run.start());
    numbers.extend(until.map(|(end, start)| run_duration(end.duration_since(start))));
    numbers.extend(first_token_after(run));
    match (run.work.usage.output, run.work.chunks) {
        (0, 0) => {}
        (0, chunks) => numbers.push(format!("{} chunks", text::count(chunks))),
        (tokens, _) => numbers.push(format!("{} tokens", text::count(tokens))),
    }
    if run.lost > SignedDuration::ZERO {
        numbers.push(format!(
            "{} lost in {} failed",
            span(run.lost),
            run.retries.len()
        ));
    }
    numbers
}

/// Returns when a run sent its first token, from its start. This is not the time to first token of a model call, so it has other
/// words.
fn first_token_after(run: &RunMetrics) -> Option<String> {
    run.to_first_token()
        .map(|first| format!("first token {} into the run", precise(first)))
}
