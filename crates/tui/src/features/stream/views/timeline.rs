//! The lines of the Timeline view: the head with the overview of a run, its bars, and its time by node.

use super::UNKNOWN;
use super::runs;
use super::runs::RunSummary;
use super::timeline_axis::{Axis, Cells, Window, between, parallel};
use super::timeline_picture::{BarTimes, NamedTime, Picture};
use super::timeline_rows::Branch;
use crate::widgets::line::{Line, Tone};
use crate::widgets::status::tones;
use crate::widgets::strip;
use jiff::Timestamp;
use runtail_core::model::StatusRole;
use runtail_core::text;
use runtail_stream::projection::{Attempt, Bar, BarKind, BarState, Clock, Projections, RunEntry};
use std::time::Duration;

/// Columns of the step and the separator after it.
const STEP_WIDTH: usize = 6;
/// Minimum widths of a view for all columns, and for notes.
const MIN_FULL: usize = 118;
const MIN_NOTES: usize = 90;
const TOOK: usize = 8;
const SELF: usize = 7;
const TOKENS: usize = 8;
/// Share of the width that the overview has.
const OVERVIEW: (usize, usize) = (51, 100);
/// Minimum cells of a name in a picture.
const MIN_LABEL: usize = 4;

/// The column widths of the view.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    width: usize,
    name: usize,
    /// Columns of the axis; 0 if there is no room for one.
    axis: usize,
    /// Columns of the time without what ran inside; 0 if not shown.
    own: usize,
    note: usize,
}

impl Grid {
    /// Returns the columns for a width.
    pub fn new(width: usize) -> Grid {
        let name = (width / 5).clamp(12, 36) + if width < MIN_NOTES { 6 } else { 1 };
        let (own, tokens, note) = match width {
            MIN_FULL.. => (SELF, TOKENS, 13 + width.saturating_sub(137) / 3),
            MIN_NOTES.. => (0, 0, 14),
            _ => (0, 0, 0),
        };
        let axis = width.saturating_sub(STEP_WIDTH + name + 1 + TOOK + own + tokens + note);
        Grid { width, name, axis: if axis < 8 { 0 } else { axis }, own, note }
    }

    /// Returns the column of the axis.
    fn left(&self) -> usize {
        STEP_WIDTH + self.name + 1
    }

    /// Returns the columns of the overview.
    fn overview(&self) -> usize {
        self.width * OVERVIEW.0 / OVERVIEW.1
    }
}

/// Formats a duration: `82ms`, `0.8s`, `12s`, `2m10s`.
pub fn span(d: Duration) -> String {
    match d.as_millis() {
        0 if d.is_zero() => "0s".to_string(),
        ms @ 0..100 => format!("{ms}ms"),
        100..10_000 => format!("{:.1}s", d.as_secs_f64()),
        _ => text::duration(d),
    }
}

/// Returns a share as a percentage.
fn percent(part: Duration, whole: Duration) -> String {
    match whole.is_zero() {
        true => UNKNOWN.to_string(),
        false => format!("{:.0}%", part.as_secs_f64() / whole.as_secs_f64() * 100.0),
    }
}

/// Returns the number of evicted runs as text.
fn evicted(attempts: u64) -> String {
    let runs = if attempts == 1 { "run" } else { "runs" };
    format!("{} earlier {runs} evicted", text::count(attempts))
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
    let mut line = Line::of(Tone::Dim, "      ");
    line.push(Tone::Plain, &format!("attempt {}", attempt.number));
    if !attempt.lost.is_zero() {
        line.push(Tone::Dim, &format!(" · {} lost before", span(attempt.lost)));
    }
    line
}

/// Returns the text of a run without bars.
pub fn no_bars(projections: &Projections) -> Line {
    Line::of(
        Tone::Dim,
        match projections.status.as_of() {
            Some(_) => "No steps of this run are known up to this checkpoint.",
            None => "No timings for this run. Start it with the tasks mode to get them.",
        },
    )
}

/// What the head shows besides the picture.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// Which of the runs, from 1, and how many there are.
    pub nth: (usize, usize),
    pub evicted: u64,
    /// `None` for the whole run.
    pub window: Option<Window>,
    pub order: Option<&'static str>,
    pub only_critical: bool,
    /// Whether another line of the page shows the outcome of this run.
    pub has_badge: bool,
    pub now: Timestamp,
}

/// Returns the lines above the bars: the run unless it is the only one, its overview, and the axis.
pub fn head(picture: &Picture, projections: &Projections, shown: Shown, grid: &Grid, height: usize) -> Vec<Line> {
    let timeline = &projections.timeline;
    let attempts: Vec<&Attempt> = picture.attempts.iter().filter_map(|number| timeline.attempt(*number)).collect();
    let Some(attempt) = attempts.last() else { return Vec::new() };
    let mut lines = Vec::new();
    if shown.nth.1 > 1 || shown.evicted > 0 || !shown.has_badge || attempt.number > 1 {
        let mut line = heading(attempt, projections, shown.now);
        if shown.nth.1 > 1 {
            line = line.right(Tone::Dim, &position(&attempts, projections));
        }
        if shown.evicted > 0 {
            line = line.right(Tone::Dim, &format!(" · {}", evicted(shown.evicted)));
        }
        lines.push(line);
    }
    if height > 8
        && let Some(axis) = &picture.axis
    {
        lines.push(overview(picture, axis, grid));
        lines.push(bracket(axis, (attempt, picture.is_waiting), shown, grid));
    }
    let has_bars = attempts.iter().any(|attempt| !attempt.children.is_empty());
    let is_estimated = |attempt: &&Attempt| !attempt.exact && !attempt.is_from_checkpoints() && !attempt.is_filled();
    if has_bars && picture.axis.is_none() {
        lines.push(Line::of(Tone::Dim, "Times are unknown: the server replayed this run without them."));
    } else if has_bars && attempts.iter().any(is_estimated) {
        lines.push(Line::of(Tone::Dim, "Start times are estimates. Start the run with tasks mode for exact ones."));
    }
    if has_bars {
        lines.push(columns(picture, shown, grid));
    }
    lines
}

/// Returns which of the runs are shown: `run 3 of 9`, or `run 3 of 6 here` if the thread may have more.
fn position(attempts: &[&Attempt], projections: &Projections) -> String {
    let status = &projections.status;
    let shown = attempts.iter().filter_map(|attempt| status.run(attempt.run_id.as_deref()?));
    let shown: Vec<&RunEntry> = shown.collect();
    let (of_thread, here): (Vec<usize>, Vec<usize>) =
        (shown.iter().filter_map(|run| run.number).collect(), shown.iter().filter_map(|run| run.nth_here).collect());
    let numbers = |numbers: &[usize], total: Option<usize>| {
        let (first, last, total) = (numbers.first()?, numbers.last()?, total?);
        Some(match first == last {
            true => format!("run {first} of {total}"),
            false => format!("runs {first} to {last} of {total}"),
        })
    };
    let total = status.runs().iter().filter_map(|run| run.number).max();
    let in_thread = numbers(&of_thread, total).filter(|_| of_thread.len() == shown.len());
    let all_here = || numbers(&here, Some(status.runs().len())).filter(|_| here.len() == shown.len());
    in_thread.or_else(|| all_here().map(|text| format!("{text} here"))).unwrap_or_default()
}

/// Returns the whole run in one row, its height being the calls in parallel, and its critical path.
fn overview(picture: &Picture, axis: &Axis, grid: &Grid) -> Line {
    let room = grid.overview();
    let counts = parallel(picture.leaves.iter().copied(), axis.length, room);
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut cells: Vec<&str> = counts.iter().map(|count| strip::level((*count).into(), most.into())).collect();
    // A running run has not reached the end of its axis.
    let until = (axis.ran.as_secs_f64() / axis.length.as_secs_f64() * room as f64).round() as usize;
    cells.truncate(until.max(1));
    let mut line = Line::of(Tone::Dim, "run   ");
    let asks: Vec<usize> = axis
        .cuts()
        .map(|(at, _)| at)
        .chain(picture.asks.iter().copied())
        .filter_map(|at| match Window::whole(axis.length).cells((at, at), room) {
            Cells::At(column, _) => Some(column.min(cells.len() - 1)),
            Cells::Before | Cells::After => None,
        })
        .collect();
    let mut strip = String::new();
    for (column, cell) in cells.into_iter().enumerate() {
        if asks.contains(&column) {
            line.push(Tone::Plain, &std::mem::take(&mut strip));
            line.push(Tone::Waiting, "◆");
        } else {
            strip.push_str(cell);
        }
    }
    line.push(Tone::Plain, &strip);
    super::pad(&mut line, STEP_WIDTH + room + 2);
    line.push(Tone::Dim, &critical_text(picture, grid.width.saturating_sub(STEP_WIDTH + room + 2)));
    line
}

/// Returns the critical path with shares of the run's time, as far as it fits.
pub fn critical_text(picture: &Picture, room: usize) -> String {
    let ran = picture.axis.as_ref().map(|axis| axis.ran).unwrap_or_default();
    let share = |time: &Duration| time.as_secs_f64() / ran.as_secs_f64().max(1e-9);
    let mut out = String::new();
    for (name, time) in picture.critical.iter().filter(|(_, time)| share(time) >= 0.01) {
        let part = format!("{} {}", text::seen(name, 40), percent(*time, ran));
        let next = if out.is_empty() { format!("critical path: {part}") } else { format!("{out} · {part}") };
        if text::width(&next) > room {
            break;
        }
        out = next;
    }
    out
}

/// Returns the row that marks the visible part of the run.
fn bracket(axis: &Axis, (attempt, is_waiting): (&Attempt, bool), shown: Shown, grid: &Grid) -> Line {
    let room = grid.overview();
    let whole = Window::whole(axis.length);
    let (first, cells) = shown.window.unwrap_or(whole).columns_in(axis.length, room);
    let mut line = Line::of(Tone::Plain, &" ".repeat(STEP_WIDTH + first));
    let bracket = match cells {
        0 | 1 => "‖".to_string(),
        cells => format!("[{}]", "═".repeat(cells - 2)),
    };
    line.push(Tone::Accent, &bracket);
    super::pad(&mut line, STEP_WIDTH + room + 2);
    let part = match shown.window {
        None => "whole run shown".to_string(),
        Some(window) => format!("{} to {} shown", span(window.from), span(window.to)),
    };
    let only = if shown.only_critical { Some("critical path only".to_string()) } else { None };
    let waited = axis.waited();
    let waited = (!waited.is_zero()).then(|| format!("{} waiting cut at ◆", span(waited)));
    let waits = is_waiting.then(|| "waiting for an answer since ◆".to_string());
    let order = shown.order.map(|order| format!("by {order}"));
    let parts = [only, Some(part), order, Some(clock(attempt).to_string()), waited, waits];
    line.push(Tone::Dim, &parts.into_iter().flatten().collect::<Vec<_>>().join(" · "));
    line
}

/// Returns the names of the columns, with the ticks of the axis.
fn columns(picture: &Picture, shown: Shown, grid: &Grid) -> Line {
    let mut line = Line::of(Tone::Dim, "STEP  NODE · CALL");
    if let Some(axis) = picture.axis.as_ref().filter(|_| grid.axis > 0) {
        let window = shown.window.unwrap_or(Window::whole(axis.length));
        for (column, label) in window.ticks(grid.axis) {
            super::pad(&mut line, grid.left() + column);
            line.push(Tone::Dim, &label);
        }
    }
    super::pad(&mut line, grid.left() + grid.axis);
    let own = if grid.own > 0 { format!("{:>SELF$}{:>TOKENS$}", "SELF", "IN→OUT") } else { String::new() };
    let note = if grid.note > 0 { "  NOTE" } else { "" };
    line.push(Tone::Dim, &format!("{:>TOOK$}{own}{note}", "TOOK"));
    line
}

/// A bar with what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct BarRow<'a> {
    pub branch: &'a Branch,
    pub bar: &'a Bar,
    pub step: Option<i64>,
    /// The name of the node that it belongs to.
    pub node: &'a str,
    pub attempt: &'a Attempt,
    pub now: Timestamp,
}

/// Returns the line of a bar: its step, its branch in the tree, its cells, its times and a note.
pub fn bar(row: BarRow<'_>, picture: &Picture, window: Option<Window>, grid: &Grid) -> Line {
    let step = row.step.map(|step| step.to_string()).unwrap_or_default();
    let mut line = Line::of(Tone::Dim, &format!("{step:>4}  "));
    name(&mut line, row.branch, row.bar, grid);
    let times = picture.bar(row.branch.key);
    let length = picture.axis.as_ref().map(|axis| axis.length);
    if let (Some(times), Some(length), 1..) = (times, length, grid.axis) {
        let end = (row.bar.state == BarState::Running && !picture.is_over).then_some("►");
        cells(&mut line, row, (times, end), window.unwrap_or(Window::whole(length)), grid.axis);
    }
    super::pad(&mut line, grid.left() + grid.axis);
    let until = row.bar.ended.unwrap_or_else(|| row.attempt.until(row.now));
    let is_known = row.bar.known.is_both();
    let drawn = times.and_then(|times| times.span).map(|(from, to)| to.saturating_sub(from));
    let took = drawn.unwrap_or_else(|| between(row.bar.started, until));
    let tilde = match (row.bar.state, row.bar.estimated) {
        (BarState::Running, _) if picture.is_over => "≥",
        (_, true) => "~",
        (_, false) => "",
    };
    let took_text = if is_known { format!("{tilde}{}", span(took)) } else { UNKNOWN.to_string() };
    line.push(Tone::Plain, &format!("{took_text:>TOOK$}"));
    if grid.own > 0 {
        let own = times.filter(|times| is_known && times.own.as_millis() * 200 >= took.as_millis().max(1));
        let own = own.map(|times| span(times.own)).unwrap_or_default();
        line.push(Tone::Dim, &format!("{own:>SELF$}"));
        line.push(Tone::Dim, &format!("{:>TOKENS$}", tokens(picture, row.bar)));
    }
    if grid.note > 2 {
        let room = grid.width.saturating_sub(line.width() + 2);
        let (tone, note) = note(row, times, picture);
        line.push(Tone::Plain, "  ");
        line.push(tone, &text::seen(&note, room));
    }
    line
}

/// Returns the tokens of a model call: `31→48`.
fn tokens(picture: &Picture, bar: &Bar) -> String {
    let usage = picture.call(bar).and_then(|call| call.usage).filter(|usage| usage.input + usage.output > 0);
    usage.map(|usage| format!("{}→{}", short_count(usage.input), short_count(usage.output))).unwrap_or_default()
}

/// Formats a count in at most four columns: `980`, `9.8k`, `120k`.
pub fn short_count(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{:.1}k", count as f64 / 1e3),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// Returns the reason to look at a bar.
fn note(row: BarRow<'_>, times: Option<&BarTimes>, picture: &Picture) -> (Tone, String) {
    let bar = row.bar;
    let detail = bar.detail.as_deref().map(|detail| text::clean(detail).into_owned());
    let attempt = times.and_then(|times| times.attempt).map(|attempt| format!("attempt {attempt}"));
    match bar.state {
        BarState::Failed => {
            let parts: Vec<String> = attempt.into_iter().chain(detail).collect();
            (Tone::Dim, if parts.is_empty() { "failed".into() } else { parts.join(" · ") })
        }
        BarState::Interrupted => (Tone::Dim, asked(row, detail, picture)),
        BarState::Abandoned => (Tone::Dim, attempt.unwrap_or("not finished".into())),
        BarState::Running => {
            let state = if picture.is_over { "end not known" } else { "running" };
            (Tone::Dim, attempt.unwrap_or(state.into()))
        }
        BarState::Done => {
            let to_first = picture.call(bar).and_then(|call| call.to_first);
            if let Some(attempt) = attempt {
                return (Tone::Dim, attempt);
            }
            if times.is_some_and(|times| times.is_slowest) {
                return (Tone::Strong, "slowest".into());
            }
            (Tone::Dim, to_first.map(|first| format!("TTFT {:.2}s", first.as_secs_f64())).unwrap_or_default())
        }
    }
}

/// Returns how long a question waited and who answered it, else what was asked.
fn asked(row: BarRow<'_>, question: Option<String>, picture: &Picture) -> String {
    if let Some(answer) = picture.answer(row.bar) {
        return match &answer.by {
            Some(by) => format!("{}, {}", span(answer.after), text::clean(by)),
            None => format!("waited {}", span(answer.after)),
        };
    }
    let waits = row.bar.ended.filter(|_| picture.is_open_ask(row.bar) && row.bar.known.end);
    let waits = waits.map(|since| between(since, row.now)).filter(|waits| !waits.is_zero());
    match (waits, question) {
        (Some(waits), Some(question)) => format!("waiting {} · {question}", span(waits)),
        (Some(waits), None) => format!("waiting {}", span(waits)),
        (None, Some(question)) => format!("asked: {question}"),
        (None, None) => "asked".into(),
    }
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
        BarKind::Node | BarKind::Tool => ("", &*bar.name),
        BarKind::Model if &*bar.name == "model" => ("", "model"),
        BarKind::Model => ("model ", &*bar.name),
    };
    let hidden = if branch.hidden > 0 { format!(" ▸ {}", text::count(branch.hidden.into())) } else { String::new() };
    let room_for_name = room.saturating_sub(kind.len() + text::width(&hidden));
    line.push(Tone::Dim, &text::fit(kind, room));
    // Nodes have the same color in every view.
    let tone = match (bar.state, bar.kind) {
        (BarState::Failed, _) => Tone::Bad,
        (_, BarKind::Node) => Tone::label(&bar.name),
        (_, BarKind::Tool | BarKind::Model) => Tone::Plain,
    };
    line.push(tone, &text::seen(name, room_for_name));
    line.push(Tone::Accent, &hidden);
    super::pad(line, from + grid.name + 1);
}

/// Draws the cells of a bar: its color is that of its node, its texture shows whether it is on the critical path, and
/// its last cell how it ended.
fn cells(
    line: &mut Line,
    row: BarRow<'_>,
    (times, open_end): (&BarTimes, Option<&'static str>),
    window: Window,
    columns: usize,
) {
    let Some(range) = times.span else { return };
    let (first, cells) = match window.cells(range, columns) {
        Cells::At(first, cells) => (first, cells),
        Cells::Before => return line.push(Tone::Dim, "‹"),
        Cells::After => {
            super::pad(line, line.width() + columns - 1);
            return line.push(Tone::Dim, "›");
        }
    };
    let start = line.width();
    super::pad(line, start + first);
    let tone = if row.bar.state == BarState::Abandoned { Tone::Dim } else { Tone::label(row.node) };
    let texture = if times.is_critical { "█" } else { "▒" };
    let is_end_visible = range.1 <= window.to;
    let end = match row.bar.state {
        BarState::Failed => Some((Tone::Bad, "✗")),
        BarState::Interrupted => Some((Tone::Waiting, "◆")),
        BarState::Running => open_end.map(|glyph| (tone, glyph)),
        BarState::Done | BarState::Abandoned => None,
    };
    let end = end.filter(|_| is_end_visible);
    line.push(tone, &texture.repeat(cells - usize::from(end.is_some())));
    if let Some((tone, glyph)) = end {
        line.push(tone, glyph);
    }
}

/// Returns the lines below the bars: the time of each node, and if there is room, also of what ran in them.
pub fn foot(picture: &Picture, grid: &Grid, room: usize) -> Vec<Line> {
    if picture.nodes.is_empty() || room == 0 {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let has_calls = picture.nodes.iter().any(|node| !node.inside.is_empty());
    if room >= 5 && has_calls {
        lines.extend(icicle(picture, grid.width));
    }
    lines.push(by_node(&picture.nodes, grid.width));
    lines
}

/// Returns the time of each node with its share, as bars on one scale.
fn by_node(nodes: &[NamedTime], width: usize) -> Line {
    let mut line = Line::of(Tone::Dim, "time by node");
    let sum: Duration = nodes.iter().map(|node| node.time).sum();
    let label = |node: &NamedTime| (text::seen(&node.name, 24), span(node.time), percent(node.time, sum));
    let columns = |node: &NamedTime| {
        let (name, time, share) = label(node);
        3 + text::width(&name) + 1 + time.len() + 1 + 1 + share.len()
    };
    // The names of all shown nodes leave room for at least some cells of bars.
    let mut fixed = text::width("time by node");
    let fits = |node: &&NamedTime| {
        fixed += columns(node);
        fixed + 10 <= width
    };
    let shown: Vec<&NamedTime> = nodes.iter().take_while(fits).collect();
    let used: usize = text::width("time by node") + shown.iter().map(|node| columns(node)).sum::<usize>();
    let room = width.saturating_sub(used).saturating_sub(shown.len() + 8);
    for node in shown {
        let (name, time, share) = label(node);
        line.push(Tone::Plain, "   ");
        line.push(Tone::label(&node.name), &name);
        line.push(Tone::Plain, &format!(" {time} "));
        let part = node.time.as_secs_f64() / sum.as_secs_f64().max(1e-9);
        line.push(Tone::label(&node.name), &strip::bar(part, room));
        line.push(Tone::Plain, &format!(" {share}"));
    }
    line
}

/// Returns the run's time as an icicle: the run, its nodes, and what ran in them, all on one scale.
fn icicle(picture: &Picture, width: usize) -> Vec<Line> {
    let sum: Duration = picture.nodes.iter().map(|node| node.time).sum();
    let width = width.saturating_sub(1);
    let mut lines = vec![Line::new(), Line::new(), Line::new()];
    let label = format!("│ all nodes {}", span(sum));
    if let Some(line) = lines.get_mut(0) {
        line.push(Tone::Dim, &format!("{:<width$}│", text::fit(&label, width)));
    }
    let total = sum.as_secs_f64().max(1e-9);
    let at = |time: Duration| (time.as_secs_f64() / total * width as f64).round() as usize;
    let mut before = Duration::ZERO;
    for node in &picture.nodes {
        let (from, to) = (at(before), at(before + node.time));
        block(lines.get_mut(1), node, Tone::label(&node.name), (from, to));
        let mut inner = before;
        // Parallel calls can take more time than their node.
        let inside: Duration = node.inside.iter().map(|call| call.time).sum();
        let scale = if inside > node.time { node.time.as_secs_f64() / inside.as_secs_f64() } else { 1.0 };
        for call in &node.inside {
            let time = call.time.mul_f64(scale);
            let tone = if call.kind == BarKind::Node { Tone::label(&call.name) } else { Tone::Plain };
            block(lines.get_mut(2), call, tone, (at(inner), at(inner + time).min(to)));
            inner += time;
        }
        before += node.time;
    }
    for line in lines.iter_mut().skip(1) {
        line.push(Tone::Dim, "│");
    }
    lines
}

/// Draws a block of an icicle between two columns; blocks without room for a name are left out.
fn block(line: Option<&mut Line>, named: &NamedTime, tone: Tone, (from, to): (usize, usize)) {
    let Some(line) = line else { return };
    if to < from + MIN_LABEL + 2 || line.width() > from + 1 {
        return;
    }
    if line.width() < from {
        line.push(Tone::Dim, "│");
        super::pad(line, from);
    }
    line.push(Tone::Dim, "│");
    let room = (to).saturating_sub(line.width() + 1);
    line.push(Tone::Plain, " ");
    line.push(tone, &text::seen(&format!("{} {}", named.name, span(named.time)), room));
    super::pad(line, to);
}
