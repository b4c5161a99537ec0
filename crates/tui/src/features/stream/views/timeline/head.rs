//! The columns and the head of the Timeline view: the run, its overview and the axis.

use super::axis::{Axis, Scale, between, parallel};
use super::foot::critical_text;
use super::picture::TimelinePicture;
use crate::features::stream::views::runs::{RunSummary, describe};
use crate::features::stream::views::{UNKNOWN, pad};
use crate::widgets::line::{Line, Tone};
use crate::widgets::status::tones;
use crate::widgets::strip;
use jiff::Timestamp;
use runtail_core::model::StatusRole;
use runtail_core::text;
use runtail_core::text::span;
use runtail_stream::projection::{Attempt, BarState, Clock, Projections, RunEntry, RunOutcome};

/// Columns of the step and the separator after it.
pub(super) const STEP_WIDTH: usize = 6;
/// Minimum widths of a view for all columns, and for notes.
const MIN_FULL: usize = 118;
const MIN_NOTES: usize = 90;
pub(super) const TOOK: usize = 8;
pub(super) const SELF: usize = 7;
pub(super) const TOKENS: usize = 8;
/// Share of the width that the axis keeps where names and notes are long.
const MIN_AXIS: (usize, usize) = (1, 4);
/// Share of the width that the overview has.
const OVERVIEW: (usize, usize) = (51, 100);

/// The columns that the longest name with its branch and the longest note need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needed {
    pub name: usize,
    pub note: usize,
}

impl Needed {
    /// Returns what both need.
    #[must_use]
    pub fn max(self, other: Needed) -> Needed {
        Needed {
            name: self.name.max(other.name),
            note: self.note.max(other.note),
        }
    }
}

/// The column widths of the view.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    pub(super) width: usize,
    pub(super) name: usize,
    /// Columns of the axis; 0 if there is no room for one.
    pub(super) axis: usize,
    /// Columns of the time without what ran inside; 0 if not shown.
    pub(super) own: usize,
    pub(super) note: usize,
}

impl Grid {
    /// Returns the columns for a width. The axis leaves the columns that the longest name and the longest note need, as far as it
    /// keeps enough of its own.
    pub fn new(width: usize, needed: Needed) -> Grid {
        let grid = Grid::with_defaults(width);
        let spare = grid.axis.saturating_sub(width * MIN_AXIS.0 / MIN_AXIS.1);
        let for_name = needed.name.saturating_sub(grid.name).min(spare);
        let note = if grid.note > 0 {
            (needed.note + 2).saturating_sub(grid.note)
        } else {
            0
        };
        let for_note = note.min(spare - for_name);
        Grid {
            name: grid.name + for_name,
            note: grid.note + for_note,
            axis: grid.axis - for_name - for_note,
            ..grid
        }
    }

    fn with_defaults(width: usize) -> Grid {
        let name = (width / 5).clamp(12, 36) + if width < MIN_NOTES { 6 } else { 1 };
        let (own, tokens, note) = match width {
            MIN_FULL.. => (SELF, TOKENS, 13 + width.saturating_sub(137) / 3),
            MIN_NOTES.. => (0, 0, 14),
            _ => (0, 0, 0),
        };
        let axis = width.saturating_sub(STEP_WIDTH + name + 1 + TOOK + own + tokens + note);
        Grid {
            width,
            name,
            axis: if axis < 8 { 0 } else { axis },
            own,
            note,
        }
    }

    /// Returns the column of the axis.
    pub(super) fn left(&self) -> usize {
        STEP_WIDTH + self.name + 1
    }

    /// Returns the columns of the overview.
    fn overview(&self) -> usize {
        self.width * OVERVIEW.0 / OVERVIEW.1
    }
}

/// Returns the number of evicted runs as text.
fn evicted(attempts: u64) -> String {
    format!("{} evicted", text::counted(attempts, "earlier run"))
}

/// Returns the heading: the run, the attempt and its outcome, from the thread's runs if they are known.
pub fn heading(attempt: &Attempt, projections: &Projections, now: Timestamp) -> Line {
    let entry = match attempt.run_id.as_deref() {
        Some(id) => projections.status.run(id),
        None => projections.status.unnamed_run(attempt.first_seq),
    };
    let mut line = match (entry, &attempt.run_id) {
        (Some(entry), _) => Line::strong(&entry.name()),
        (None, Some(id)) => Line::strong(&format!("run {}", text::short_id(id))),
        (None, None) => Line::strong("run"),
    };
    if attempt.number > 1 {
        line.push_plain(&format!(" · attempt {}", attempt.number));
        let before = attempt.number - 1;
        let what = if before == 1 {
            "attempt 1".into()
        } else {
            format!("{before} attempts")
        };
        if !attempt.lost.is_zero() {
            line.push_plain(&format!(" · {} lost in {what}", span(attempt.lost)));
        }
    }
    line.push_dim(" · ");
    // Of several attempts, the record has the outcome of only the last one.
    let is_last = attempt.state != BarState::Abandoned || attempt.number == 1;
    let is_checkpoint = projections.status.as_of().is_some();
    let is_known = |entry: &&RunEntry| is_last && (entry.outcome.is_over() || is_checkpoint);
    let (role, outcome, mut details) = match entry.filter(is_known) {
        Some(entry) => {
            let RunSummary {
                role,
                outcome,
                details,
            } = describe(entry, projections);
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
        line.push_dim(&format!(" · {detail}"));
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
    let detail = attempt
        .detail
        .as_deref()
        .map(|detail| text::clean(detail).into_owned());
    (role, outcome.to_string(), detail.into_iter().collect())
}

/// Returns the clock of a run's times.
fn clock(attempt: &Attempt) -> &'static str {
    match attempt.clock {
        Clock::Server if attempt.is_filled() => "server times (checkpoints)",
        Clock::Server => "server times",
        Clock::Arrival if !attempt.is_arrival_timed() => "times unknown",
        Clock::Arrival if attempt.is_filled() => "client times, earlier steps from checkpoints",
        Clock::Arrival if attempt.is_start_arrival_timed() => "client times",
        Clock::Arrival => "client times, joined after the start",
    }
}

/// Returns the row of a retry: what it repeats.
pub fn attempt_row(attempt: &Attempt) -> Line {
    let mut line = Line::dim("      ");
    line.push_plain(&format!("attempt {}", attempt.number));
    if !attempt.lost.is_zero() {
        line.push_dim(&format!(" · {} lost before", span(attempt.lost)));
    }
    line
}

/// Returns the text of a run without bars.
pub fn no_bars(projections: &Projections) -> Line {
    Line::dim(match projections.status.as_of() {
        Some(_) => "No steps up to this checkpoint.",
        None => "No timings. The tasks mode sends them.",
    })
}

/// What the head shows besides the picture.
#[derive(Debug, Clone, Copy)]
pub struct ShownHead {
    /// Which of the runs, from 1, and how many there are.
    pub nth: (usize, usize),
    pub evicted: u64,
    /// Whether another line of the page shows the outcome of this run.
    pub has_badge: bool,
    pub now: Timestamp,
}

/// Returns the lines above the bars: the run unless it is the only one, its overview, and the axis.
pub fn head(
    picture: &TimelinePicture,
    projections: &Projections,
    shown: ShownHead,
    grid: &Grid,
    height: usize,
) -> Vec<Line> {
    let timeline = &projections.timeline;
    let attempts: Vec<&Attempt> = picture
        .attempts
        .iter()
        .filter_map(|number| timeline.attempt(*number))
        .collect();
    let Some(attempt) = attempts.last() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let not_started = not_started(projections);
    let is_newest = projections
        .status
        .runs()
        .last()
        .is_none_or(|last| last.run_id == attempt.run_id);
    let is_one_of_several = shown.nth.1 > 1 || !is_newest;
    if is_one_of_several || shown.evicted > 0 || !shown.has_badge || attempt.number > 1 {
        let mut line = heading(attempt, projections, shown.now);
        if is_one_of_several {
            let parts = [position(&attempts, projections), not_started];
            let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            line = line.right(Tone::Dim, &parts.join(" · "));
        }
        if shown.evicted > 0 {
            line = line.right(Tone::Dim, &format!(" · {}", evicted(shown.evicted)));
        }
        lines.push(line);
    }
    if height > 8
        && let Some(axis) = &picture.axis
    {
        lines.push(overview(picture, axis, attempt, grid));
        lines.push(about(axis, (attempt, picture.is_waiting), grid));
    }
    let has_bars = attempts.iter().any(|attempt| !attempt.children.is_empty());
    let is_estimated = |attempt: &&Attempt| {
        !attempt.exact && !attempt.is_from_checkpoints() && !attempt.is_filled()
    };
    if has_bars && picture.axis.is_none() {
        lines.push(Line::dim("Times unknown: the server replayed the run."));
    } else if has_bars && attempts.iter().any(is_estimated) {
        lines.push(Line::dim(
            "Start times are estimates; tasks mode has exact ones.",
        ));
    }
    if has_bars {
        lines.push(columns(picture, grid));
    }
    lines
}

/// Returns which of the runs are shown: `run 3 of 9`, or `run 3 of 6 here` if the thread may have more.
fn position(attempts: &[&Attempt], projections: &Projections) -> String {
    let status = &projections.status;
    let shown = attempts
        .iter()
        .filter_map(|attempt| status.run(attempt.run_id.as_deref()?));
    let shown: Vec<&RunEntry> = shown.collect();
    let (of_thread, here): (Vec<usize>, Vec<usize>) = (
        shown.iter().filter_map(|run| run.number).collect(),
        shown.iter().filter_map(|run| run.nth_here).collect(),
    );
    let numbers = |numbers: &[usize], total: Option<usize>| {
        let (first, last, total) = (numbers.first()?, numbers.last()?, total?);
        Some(match first == last {
            true => format!("run {first} of {total}"),
            false => format!("runs {first} to {last} of {total}"),
        })
    };
    let total = status.runs().iter().filter_map(|run| run.number).max();
    let in_thread = numbers(&of_thread, total).filter(|_| of_thread.len() == shown.len());
    let all_here =
        || numbers(&here, Some(status.runs().len())).filter(|_| here.len() == shown.len());
    in_thread
        .or_else(|| all_here().map(|text| format!("{text} here")))
        .unwrap_or_default()
}

/// Says which runs have not started, because the other views are about the newest run.
fn not_started(projections: &Projections) -> String {
    let queued = projections
        .status
        .runs()
        .iter()
        .filter(|run| run.outcome == RunOutcome::Queued);
    match queued.collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [run] => format!("{} has not started", run.name()),
        runs => format!("{} runs have not started", runs.len()),
    }
}

/// Returns the whole run in one row, its height being the calls in parallel, and its critical path.
fn overview(picture: &TimelinePicture, axis: &Axis, attempt: &Attempt, grid: &Grid) -> Line {
    let room = grid.overview();
    let counts = parallel(picture.leaves.iter().copied(), axis.length, room);
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut cells: Vec<&str> = counts
        .iter()
        .map(|count| strip::level((*count).into(), most.into()))
        .collect();
    // A running run has not reached the end of its axis.
    let until = (axis.ran.as_secs_f64() / axis.length.as_secs_f64() * room as f64).round() as usize;
    cells.truncate(until.max(1));
    let mut line = Line::dim("run   ");
    let asks: Vec<usize> = axis
        .cuts()
        .map(|(at, _)| at)
        .chain(picture.asks.iter().copied())
        .filter_map(|at| Scale::of(axis.length).cells((at, at), room))
        .map(|(column, _)| column.min(cells.len() - 1))
        .collect();
    let mut strip = String::new();
    for (column, cell) in cells.into_iter().enumerate() {
        if asks.contains(&column) {
            line.push_plain(&std::mem::take(&mut strip));
            line.push(Tone::Waiting, "◆");
        } else {
            strip.push_str(cell);
        }
    }
    line.push_plain(&strip);
    pad(&mut line, STEP_WIDTH + room + 2);
    let text = match attempt.missing_steps() {
        Some(steps) => format!("critical path unknown: {steps}"),
        None if picture.is_critical_guess => "critical path unknown".to_string(),
        None => critical_text(picture, grid.width.saturating_sub(STEP_WIDTH + room + 2)),
    };
    line.push_dim(&text);
    line
}

/// Returns the row about the axis: its clock, and the times that are cut out.
fn about(axis: &Axis, (attempt, is_waiting): (&Attempt, bool), grid: &Grid) -> Line {
    let mut line = Line::new();
    pad(&mut line, STEP_WIDTH + grid.overview() + 2);
    let waited = axis.waited();
    let parts = [
        is_waiting.then(|| "waiting since ◆".to_string()),
        attempt.cut_before.map(|_| "loaded steps shown".to_string()),
        Some(clock(attempt).to_string()),
        (!waited.is_zero()).then(|| format!("{} waiting cut at ◆", span(waited))),
    ];
    line.push_dim(&parts.into_iter().flatten().collect::<Vec<_>>().join(" · "));
    line
}

/// Returns the names of the columns, with the ticks of the axis.
fn columns(picture: &TimelinePicture, grid: &Grid) -> Line {
    let mut line = Line::dim("STEP  NODE · CALL");
    if let Some(axis) = picture.axis.as_ref().filter(|_| grid.axis > 0) {
        for (column, label) in Scale::of(axis.length).ticks(grid.axis) {
            pad(&mut line, grid.left() + column);
            line.push_dim(&label);
        }
    }
    pad(&mut line, grid.left() + grid.axis);
    let own = if grid.own > 0 {
        format!("{:>SELF$}{:>TOKENS$}", "SELF", "IN→OUT")
    } else {
        String::new()
    };
    let note = if grid.note > 0 { "  NOTE" } else { "" };
    line.push_dim(&format!("{:>TOOK$}{own}{note}", "TOOK"));
    line
}
