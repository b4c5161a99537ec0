//! The lines of the Timeline view: a tree of bars over a time axis.

use super::UNKNOWN;
use super::runs;
use super::runs::RunSummary;
use super::timeline_rows::Branch;
use crate::widgets::line::{Line, Tone};
use crate::widgets::status::tones;
use jiff::Timestamp;
use runtail_core::model::StatusRole;
use runtail_core::text;
use runtail_stream::projection::{Attempt, Bar, BarKind, BarState, Clock, Projections, RunEntry};
use std::time::Duration;

/// Columns of the step and the separator after it.
const STEP_WIDTH: usize = 7;
/// Minimum gap that is shown: as a fraction of the run, and as a duration.
const MIN_GAP_SHARE: f64 = 0.05;
const MIN_GAP: Duration = Duration::from_millis(100);
/// Minimum columns of a tick's label.
const MIN_TICK_WIDTH: usize = 10;
/// The last cell of a bar, by eighths. The thinnest is a quarter, because an eighth looks like a cursor.
const EIGHTHS: [&str; 8] = ["", "▎", "▎", "▍", "▌", "▋", "▊", "▉"];

/// The column widths of the view.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    width: usize,
    name: usize,
    /// Columns of the axis; `None` if there is no room for one.
    axis: usize,
}

impl Grid {
    /// Returns the columns for a width. The label at the end of a bar has room even if the bar ends at the end of the
    /// axis.
    pub fn new(width: usize) -> Grid {
        let name = (width * 3 / 10).clamp(12, 36);
        let label = if width < 100 { 16 } else { 20 };
        let axis = width.saturating_sub(STEP_WIDTH + name + 1 + label);
        Grid { width, name, axis: if axis < 8 { 0 } else { axis } }
    }
}

/// Formats a duration: `82ms`, `1.4s`, `12s`, `2m10s`.
fn span(d: Duration) -> String {
    match d.as_millis() {
        ms @ 0..1000 => format!("{ms}ms"),
        1000..10_000 => format!("{:.1}s", d.as_secs_f64()),
        10_000..60_000 => format!("{}s", d.as_secs()),
        _ => text::duration(d),
    }
}

fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

/// Returns the length of an attempt's axis. During a run it grows in steps, so that bars don't shrink constantly.
fn length(attempt: &Attempt, now: Timestamp) -> Duration {
    let ran = between(attempt.started, attempt.until(now)).max(Duration::from_millis(1));
    if attempt.ended.is_some() {
        return ran;
    }
    let minutes = [60, 90, 120, 180, 240, 360, 480, 600, 900, 1200, 1800, 2700, 3600, 5400, 7200, 10_800, 18_000];
    let lengths = [1, 2, 3, 4, 6, 8, 10, 15, 20, 30, 45].into_iter().chain(minutes).chain([28_800, 43_200, 86_400]);
    lengths.map(Duration::from_secs).find(|length| *length >= ran).unwrap_or(ran * 2)
}

/// Returns the line for evicted attempts.
pub fn evicted(attempts: u64) -> Line {
    let runs = if attempts == 1 { "run" } else { "runs" };
    Line::of(Tone::Dim, &format!("… {} earlier {runs} evicted", text::count(attempts)))
}

/// Returns the heading: the run, the attempt and its outcome, from the thread's runs if they are known.
pub fn heading(attempt: &Attempt, projections: &Projections, now: Timestamp) -> Line {
    let entry = match attempt.run_id.as_deref() {
        Some(id) => projections.status.run(id),
        None => projections.status.unnamed_run(attempt.first_seq),
    };
    let mut line = match (entry, &attempt.run_id) {
        (Some(entry), _) => Line::of(Tone::Strong, &entry.name()),
        (None, Some(id)) => Line::of(Tone::Strong, &format!("run {}", text::short_id(id))),
        (None, None) => Line::of(Tone::Strong, "run"),
    };
    if attempt.number > 1 {
        line.push(Tone::Plain, &format!(" · attempt {}", attempt.number));
        let before = attempt.number - 1;
        let what = if before == 1 { "attempt 1".into() } else { format!("{before} attempts") };
        if !attempt.lost.is_zero() {
            line.push(Tone::Plain, &format!(" · {} lost in {what}", span(attempt.lost)));
        }
    }
    line.push(Tone::Dim, " · ");
    // Of several attempts, the record has the outcome of only the last one.
    let is_last = attempt.state != BarState::Abandoned || attempt.number == 1;
    let is_checkpoint = projections.status.as_of().is_some();
    let is_known = |entry: &&RunEntry| is_last && (entry.outcome.is_over() || is_checkpoint);
    let (role, outcome, mut details) = match entry.filter(is_known) {
        Some(entry) => {
            let RunSummary { role, outcome, details } = runs::describe(entry, projections);
            (role, outcome, details)
        }
        None => streamed_outcome(attempt),
    };
    let (glyph, word) = tones(role);
    line.push(glyph, &format!("{} ", role.glyph()));
    line.push(word, &outcome);
    let took = match attempt.ended {
        None if attempt.known.start => Some(between(attempt.started, attempt.until(now))),
        _ => attempt.took(),
    };
    // The details already include the time from the record.
    if entry.is_none_or(|entry| entry.took().is_none() || !entry.outcome.is_over()) {
        details.insert(0, took.map_or_else(|| UNKNOWN.to_string(), span));
    }
    for detail in details {
        line.push(Tone::Dim, &format!(" · {detail}"));
    }
    line
}

/// Returns the outcome of an attempt, from the stream.
fn streamed_outcome(attempt: &Attempt) -> (StatusRole, String, Vec<String>) {
    let (role, outcome) = match attempt.state {
        BarState::Running => (StatusRole::Moving, "running"),
        BarState::Done => (StatusRole::Unknown, "ended"),
        BarState::Failed => (StatusRole::Failed, "failed"),
        BarState::Interrupted => (StatusRole::Good, "paused"),
        BarState::Abandoned => (StatusRole::Ended, "ended"),
    };
    let detail = attempt.detail.as_deref().map(|detail| text::clean(detail).into_owned());
    (role, outcome.to_string(), detail.into_iter().collect())
}

/// Returns the stream modes that the bars are built from, and the clock of their times.
pub fn source(attempt: &Attempt, projections: &Projections) -> Line {
    let modes: Vec<&str> = attempt.sources().map(|source| source.word()).collect();
    if modes.is_empty() && projections.status.as_of().is_some() {
        return Line::of(Tone::Dim, "No steps of this run are known up to this checkpoint.");
    }
    if modes.is_empty() {
        return Line::of(Tone::Dim, "No timings for this run. Start it with the tasks mode to get them.");
    }
    let clock = match attempt.clock {
        Clock::Server if attempt.is_filled() => "server clock (checkpoints)",
        Clock::Server => "server clock",
        Clock::Arrival if !attempt.is_arrival_timed() => "times unknown: a replay without server times",
        Clock::Arrival if attempt.is_filled() => "client clock, earlier steps from checkpoints",
        Clock::Arrival if attempt.is_start_arrival_timed() => "client clock",
        Clock::Arrival => "client clock, joined after the start",
    };
    let is_by_checkpoints = attempt.is_from_checkpoints() || attempt.is_filled();
    // First, because a narrow screen cuts the end.
    let estimated = match !attempt.exact && !is_by_checkpoints {
        true => "start times are estimates; tasks mode gives exact ones · ",
        false => "",
    };
    Line::of(Tone::Dim, &format!("{estimated}source: {} · {clock}", modes.join(", ")))
}

/// Returns the axis of an attempt, with as many labels as fit.
pub fn axis(attempt: &Attempt, now: Timestamp, grid: &Grid) -> Line {
    let mut line = Line::of(Tone::Dim, &format!("{:>4} │ {:<name$} ", "step", "node", name = grid.name));
    let length = length(attempt, now).as_secs_f64();
    // Without times there is no axis.
    if grid.axis == 0 || !attempt.known.is_both() {
        return line;
    }
    let ticks = (grid.axis / MIN_TICK_WIDTH).max(1) as f64;
    let tick = round_up(length / ticks);
    let mut ruler = String::new();
    for n in 0..=ticks as usize {
        let at = (n as f64 * tick / length * grid.axis as f64).round() as usize;
        if at > grid.axis || (n > 0 && at < ruler.len() + 1) {
            break;
        }
        ruler.push_str(&" ".repeat(at - ruler.len()));
        ruler.push_str(&label(n as f64 * tick, tick));
    }
    line.push(Tone::Dim, &ruler);
    line
}

/// Rounds up to 1, 2, 5, 10, …, or to a round number of seconds, minutes or hours.
fn round_up(seconds: f64) -> f64 {
    const LONG: [f64; 12] = [10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 18_000.0];
    if seconds > 5.0 {
        return LONG.into_iter().find(|long| *long >= seconds).unwrap_or((seconds / 36_000.0).ceil() * 36_000.0);
    }
    let power = 10_f64.powf(seconds.max(1e-4).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|round| *round >= seconds * 0.999).unwrap_or(seconds)
}

fn label(seconds: f64, tick: f64) -> String {
    match (seconds, tick) {
        (s, _) if s >= 60.0 => text::duration(Duration::from_secs_f64(s)),
        (s, tick) if tick >= 1.0 || s == 0.0 => format!("{s:.0}s"),
        (s, tick) if tick >= 0.1 => format!("{s:.1}s"),
        (s, _) => format!("{:.0}ms", s * 1e3),
    }
}

/// Returns the line of a bar: its step, its branch in the tree, its name and its time.
pub fn bar(branch: &Branch, bar: &Bar, step: Option<i64>, attempt: &Attempt, now: Timestamp, grid: &Grid) -> Line {
    let step = step.map(|step| step.to_string()).unwrap_or_default();
    let mut line = Line::of(Tone::Dim, &format!("{step:>4} │ "));
    name(&mut line, branch, bar, grid);
    let until = bar.ended.unwrap_or_else(|| attempt.until(now));
    // Without known times a bar would be misleading.
    if bar.known.is_both() && attempt.known.is_both() {
        let (before, tone, filled) = columns(bar, until, attempt, now, grid);
        line.push(Tone::Dim, &before);
        line.push(tone, &filled);
    }
    let took = match bar.known.is_both() {
        true => format!("{}{}", if bar.estimated { "~" } else { "" }, span(between(bar.started, until))),
        false => UNKNOWN.to_string(),
    };
    let labeled = |glyph: &str, word: &str| {
        let detail = bar.detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
        format!("{glyph} {word} {took}{detail}")
    };
    let (tone, text) = match bar.state {
        BarState::Running => (Tone::Moving, format!("◐ running {took}")),
        BarState::Done => (Tone::Plain, format!(" {took}")),
        BarState::Failed => (Tone::Bad, labeled(" ✗", "failed")),
        BarState::Interrupted => (Tone::Plain, labeled(" ◆", "paused")),
        BarState::Abandoned => (Tone::Dim, " ■ not finished".into()),
    };
    let room = grid.width.saturating_sub(line.width());
    line.push(tone, &text::seen(&text, room));
    line
}

fn name(line: &mut Line, branch: &Branch, bar: &Bar, grid: &Grid) {
    let from = line.width();
    // The outermost level is indented only if its bars are branches.
    let levels = branch.depth as usize + usize::from(branch.forked);
    let drawn = levels.min(grid.name / 4);
    let mut guide = String::new();
    for nth in levels - drawn..levels {
        let level = nth + usize::from(!branch.forked);
        let more = branch.more >> level.min(63) & 1 == 1;
        guide.push_str(match (nth + 1 == levels, more) {
            (true, true) => "├ ",
            (true, false) => "└ ",
            (false, true) => "│ ",
            (false, false) => "  ",
        });
    }
    line.push(Tone::Dim, &guide);
    let room = (from + grid.name).saturating_sub(line.width());
    let (kind, name) = match bar.kind {
        BarKind::Node => ("", &*bar.name),
        BarKind::Tool => ("tool ", &*bar.name),
        BarKind::Model if &*bar.name == "model" => ("", "model"),
        BarKind::Model => ("model ", &*bar.name),
    };
    let hidden = if branch.hidden > 0 { format!(" ▸ {}", text::count(branch.hidden.into())) } else { String::new() };
    let room_for_name = room.saturating_sub(kind.len() + text::width(&hidden));
    line.push(Tone::Dim, &text::fit(kind, room));
    // Nodes have the same color in every view.
    let tone = if bar.kind == BarKind::Node { Tone::label(&bar.name) } else { Tone::Dim };
    line.push(tone, &text::seen(name, room_for_name));
    line.push(Tone::Accent, &hidden);
    super::pad(line, from + grid.name + 1);
}

/// Returns the text before a bar (dots where something else ran, a gap where nothing did), and the bar itself.
fn columns(bar: &Bar, until: Timestamp, attempt: &Attempt, now: Timestamp, grid: &Grid) -> (String, Tone, String) {
    if grid.axis == 0 {
        return Default::default();
    }
    let length = length(attempt, now);
    let place = |at: Timestamp| {
        let part = between(attempt.started, at).as_secs_f64() / length.as_secs_f64();
        part.clamp(0.0, 1.0) * grid.axis as f64
    };
    let start = (place(bar.started) as usize).min(grid.axis - 1);
    let gap = bar.gap();
    let is_gap = gap >= MIN_GAP && gap.as_secs_f64() >= length.as_secs_f64() * MIN_GAP_SHARE;
    let gap_width = bar.after.filter(|_| is_gap).map_or(0, |after| start - (place(after) as usize).min(start));
    let mut before = "·".repeat(start - gap_width);
    let text = format!("gap {}", span(gap));
    match bar.leads && text.len() + 2 <= gap_width {
        true => before.push_str(&format!("{text:^gap_width$}")),
        false => before.push_str(&" ".repeat(gap_width)),
    }
    let eighths = ((place(until) * 8.0).round() as usize).saturating_sub(start * 8);
    let eighths = eighths.clamp(1, (grid.axis - start) * 8);
    let mut filled = "█".repeat(eighths / 8);
    filled.push_str(EIGHTHS[eighths % 8]);
    let tone = match bar.state {
        BarState::Running | BarState::Interrupted => Tone::Moving,
        BarState::Failed => Tone::Bad,
        BarState::Abandoned => Tone::Dim,
        BarState::Done if bar.kind == BarKind::Node => Tone::Plain,
        BarState::Done => Tone::Dim,
    };
    (before, tone, filled)
}
