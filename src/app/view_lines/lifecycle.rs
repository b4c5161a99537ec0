//! The lines of the lifecycle view.

use super::{Times, clock, namespace};
use crate::app::describe;
use crate::app::line::{Line, Tone};
use crate::projection::{LifecycleKind, LifecycleRow, Metrics, Peek, RunNumbers};
use crate::text;
use jiff::{SignedDuration, Timestamp};
use std::time::Duration;

/// One thing that happened to a run or to the connection, with the run's numbers where it ends.
pub fn line(row: &LifecycleRow, metrics: &Metrics, width: usize, tz: &impl Times) -> Line {
    let run = metrics.run_at(row.seq).filter(|run| run.run_id.is_none() || run.run_id == row.run_id);
    let (glyph, tone) = match row.kind {
        LifecycleKind::RunDone if run.is_some_and(|run| run.failed) => ("✗", Tone::Bad),
        LifecycleKind::RunStart | LifecycleKind::Attempt | LifecycleKind::Retry => ("◐", Tone::Moving),
        LifecycleKind::RunDone => ("●", Tone::Good),
        LifecycleKind::End => ("■", Tone::Strong),
        LifecycleKind::Interrupt | LifecycleKind::RunInterrupted => ("◌", Tone::Moving),
        LifecycleKind::Error => ("✗", Tone::Bad),
        LifecycleKind::Gap => ("?", Tone::Bad),
        LifecycleKind::TaskStart => ("▸", Tone::Dim),
        LifecycleKind::TaskDone => ("●", Tone::Dim),
        LifecycleKind::TaskInterrupted => ("◌", Tone::Dim),
        LifecycleKind::Connection => ("·", Tone::Dim),
    };
    let body = if tone == Tone::Dim { Tone::Dim } else { Tone::Plain };
    let mut line = Line::of(Tone::Dim, &format!("{}  ", clock(row.at, tz)));
    line.push(Tone::Plain, &"  ".repeat(row.ns.len().min(8)));
    line.push(tone, &format!("{glyph} "));
    // Under its subgraph's task the name alone is enough; which one it is stands behind it.
    let path: String = row.ns.iter().flat_map(|s| [s.split(':').next().unwrap_or_default(), "/"]).collect();
    match row.kind {
        LifecycleKind::Interrupt if row.text.starts_with(['{', '[']) => {
            let room = width.saturating_sub(line.width());
            line.left.extend(describe::value(Peek::head(&row.text, usize::MAX).cut(), room).left);
        }
        _ => line.push(body, row.text.strip_prefix(&*path).unwrap_or(&row.text)),
    }
    if !row.ns.is_empty() {
        line.push(Tone::Dim, " in ");
        line.push(Tone::Ns, &namespace(&row.ns));
    }
    match row.kind {
        LifecycleKind::TaskInterrupted => line.push(Tone::Dim, " interrupted"),
        LifecycleKind::RunDone | LifecycleKind::RunInterrupted | LifecycleKind::End => {
            for told in run.map(|run| told(run, row.at)).unwrap_or_default() {
                line.push(Tone::Dim, " · ");
                line.push(Tone::Plain, &told);
            }
        }
        LifecycleKind::Attempt => {
            let lost = run.and_then(|run| run.retries.iter().find(|(seq, _)| *seq == row.seq));
            if let Some((_, lost)) = lost {
                line.push(Tone::Moving, &format!(" · {} lost", span(*lost)));
            }
        }
        LifecycleKind::Error => {
            if let Some(run) = &row.run_id {
                line = line.right(Tone::Dim, &format!("run {}", text::short_id(run)));
            }
        }
        _ => {}
    }
    line
}

/// A run's numbers in words, until its end or a moment: how long, how soon, how much.
pub fn told(run: &RunNumbers, until: Option<Timestamp>) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(took) = run.ended.or(until).zip(run.start()).map(|(end, start)| end.duration_since(start)) {
        told.push(if took < SignedDuration::from_millis(100) { precise(took) } else { span(took) });
    }
    if let Some(first) = run.to_first_token() {
        told.push(format!("{} to first token", precise(first)));
    }
    match (run.work.usage.output, run.work.chunks) {
        (0, 0) => {}
        (0, chunks) => told.push(format!("{} chunks", text::count(chunks))),
        (tokens, _) => told.push(format!("{} tokens", text::count(tokens))),
    }
    if run.lost > SignedDuration::ZERO {
        told.push(format!("{} lost in {} failed", span(run.lost), run.retries.len()));
    }
    told
}

/// A span of time for people.
pub fn span(span: SignedDuration) -> String {
    text::duration(Duration::try_from(span).unwrap_or_default())
}

/// A wait, as exact as it says something: `18 ms`, `0.37s`, `12s`.
pub fn precise(wait: SignedDuration) -> String {
    let wait = wait.max(SignedDuration::ZERO);
    match wait.as_millis() {
        milliseconds @ 0..100 => format!("{milliseconds} ms"),
        100..10_000 => format!("{:.2}s", wait.as_secs_f64()),
        _ => span(wait),
    }
}
