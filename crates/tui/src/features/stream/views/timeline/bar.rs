//! The rows of the Timeline view: a bar with its step, its place in the tree, its times and a note.

use super::axis::{Scale, between};
use super::head::{Grid, Needed, SELF, STEP_WIDTH, TOKENS, TOOK};
use super::picture::{BarTimes, TimelinePicture};
use super::rows::Branch;
use crate::features::stream::views::{UNKNOWN, first_token, pad};
use crate::widgets::line::{Line, Tone};
use jiff::Timestamp;
use runtail_core::text;
use runtail_core::text::span;
use runtail_stream::projection::{Attempt, Bar, BarKind, BarState, Timeline};
use std::borrow::Cow;

/// Maximum columns of a name or a note that make room for themselves.
const MAX_NAME: usize = 200;

/// A bar with what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct BarRow<'a> {
    pub branch: &'a Branch,
    pub bar: &'a Bar,
    /// The text of its step, as from [`step`].
    pub step: &'a str,
    /// The name of the node that it belongs to.
    pub node: &'a str,
    pub attempt: &'a Attempt,
    pub now: Timestamp,
}

/// Returns the step of a node as text; empty for calls. Each subgraph counts its own steps, so that of a node in a subgraph follows
/// the step of the graph that contains it: `2.1`.
pub fn step(timeline: &Timeline, bar: &Bar) -> String {
    let Some(own) = timeline.step(bar) else {
        return String::new();
    };
    let above = std::iter::successors(bar.parent.and_then(|key| timeline.bar(key)), |bar| {
        timeline.bar(bar.parent?)
    });
    let mut path: Vec<String> = above
        .filter_map(|bar| timeline.step(bar))
        .map(|step| step.to_string())
        .collect();
    path.reverse();
    path.push(own.to_string());
    path.join(".")
}

/// Returns the line of a bar: its step, its branch in the tree, its cells, its times and a note.
pub fn bar(row: BarRow<'_>, picture: &TimelinePicture, grid: &Grid) -> Line {
    // Of a long path, the step in its own graph is the most useful.
    let step = match row
        .step
        .rsplit_once('.')
        .filter(|_| row.step.len() >= STEP_WIDTH)
    {
        Some((_, own)) => format!(".{own}"),
        None => row.step.to_string(),
    };
    let mut line = Line::dim(&format!("{:<STEP_WIDTH$}", format!("{step:>4}")));
    name(&mut line, row.branch, row.bar, picture, grid);
    let times = picture.bar(row.branch.key);
    let length = picture.axis.as_ref().map(|axis| axis.length);
    if let (Some(times), Some(length), 1..) = (times, length, grid.axis) {
        let end = (row.bar.state == BarState::Running && !picture.is_over).then_some("►");
        cells(&mut line, row, (times, end), Scale::of(length), grid.axis);
    }
    pad(&mut line, grid.left() + grid.axis);
    let until = row.bar.ended.unwrap_or_else(|| row.attempt.until(row.now));
    let is_known = row.bar.known.is_both();
    let drawn = times
        .and_then(|times| times.span)
        .map(|(from, to)| to.saturating_sub(from));
    let took = drawn.unwrap_or_else(|| between(row.bar.started, until));
    let tilde = match (row.bar.state, row.bar.estimated) {
        (BarState::Running, _) if picture.is_over => "≥",
        (_, true) => "~",
        (_, false) => "",
    };
    let took_text = if is_known {
        format!("{tilde}{}", span(took))
    } else {
        UNKNOWN.to_string()
    };
    line.push_plain(&format!("{took_text:>TOOK$}"));
    if grid.own > 0 {
        let own = times
            .filter(|times| is_known && times.own.as_millis() * 200 >= took.as_millis().max(1));
        let own = own.map(|times| span(times.own)).unwrap_or_default();
        line.push_dim(&format!("{own:>SELF$}"));
        line.push_dim(&format!("{:>TOKENS$}", tokens(picture, row.bar)));
    }
    if grid.note > 2 {
        let room = grid.width.saturating_sub(line.width() + 2);
        let (tone, note) = note(row, times, picture);
        line.push_plain("  ");
        line.push(tone, &text::seen(&note, room));
    }
    line
}

/// Returns the tokens of a model call: `31→48`.
fn tokens(picture: &TimelinePicture, bar: &Bar) -> String {
    let usage = picture
        .call(bar)
        .and_then(|call| call.usage)
        .filter(|usage| usage.input + usage.output > 0);
    usage
        .map(|usage| format!("{}→{}", short_count(usage.input), short_count(usage.output)))
        .unwrap_or_default()
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
fn note(row: BarRow<'_>, times: Option<&BarTimes>, picture: &TimelinePicture) -> (Tone, String) {
    let bar = row.bar;
    let detail = bar
        .detail
        .as_deref()
        .map(|detail| text::clean(detail).into_owned());
    let attempt = times
        .and_then(|times| times.attempt)
        .map(|attempt| format!("attempt {attempt}"));
    match bar.state {
        BarState::Failed => {
            let parts: Vec<String> = attempt.into_iter().chain(detail).collect();
            (
                Tone::Dim,
                if parts.is_empty() {
                    "failed".into()
                } else {
                    parts.join(" · ")
                },
            )
        }
        BarState::Interrupted => (Tone::Dim, asked(row, detail, picture)),
        BarState::Abandoned => (Tone::Dim, attempt.unwrap_or("not finished".into())),
        BarState::Running => {
            let state = if picture.is_over {
                "end not known"
            } else {
                "running"
            };
            (Tone::Dim, attempt.unwrap_or(state.into()))
        }
        BarState::Done => {
            let first = picture.call(bar).and_then(|call| call.first_token);
            if let Some(attempt) = attempt {
                return (Tone::Dim, attempt);
            }
            if times.is_some_and(|times| times.is_slowest) {
                return (Tone::Strong, "slowest".into());
            }
            (
                Tone::Dim,
                first
                    .map(|first| format!("TTFT {}", first_token(first)))
                    .unwrap_or_default(),
            )
        }
    }
}

/// Returns how long a question waited and who answered it, else what was asked.
fn asked(row: BarRow<'_>, question: Option<String>, picture: &TimelinePicture) -> String {
    if let Some(answer) = picture.answer(row.bar) {
        return match &answer.by {
            Some(by) => format!("{}, {}", span(answer.after), text::clean(by)),
            None => format!("waited {}", span(answer.after)),
        };
    }
    let waits = row
        .bar
        .ended
        .filter(|_| picture.is_open_ask(row.bar) && row.bar.known.end);
    let waits = waits
        .map(|since| between(since, row.now))
        .filter(|waits| !waits.is_zero());
    match (waits, question) {
        (Some(waits), Some(question)) => format!("waiting {} · {question}", span(waits)),
        (Some(waits), None) => format!("waiting {}", span(waits)),
        (None, Some(question)) => format!("asked: {question}"),
        (None, None) => "asked".into(),
    }
}

/// Returns the columns that the name and the note of a bar need.
pub fn needed(row: BarRow<'_>, picture: &TimelinePicture) -> Needed {
    let (kind, name) = name_of(row.bar, picture);
    let name = 2 * levels(row.branch) + kind.len() + text::width(&text::seen(&name, MAX_NAME));
    let (_, note) = note(row, picture.bar(row.branch.key), picture);
    Needed {
        name,
        note: text::width(text::head(&note, MAX_NAME)),
    }
}

/// Returns the levels that a name is indented by. The outermost level is indented only if its bars are branches.
fn levels(branch: &Branch) -> usize {
    branch.depth as usize + usize::from(branch.forked)
}

/// Returns the name of a bar, and the word before it.
fn name_of<'a>(bar: &'a Bar, picture: &TimelinePicture) -> (&'static str, Cow<'a, str>) {
    match bar.kind {
        BarKind::Node | BarKind::Tool => ("", picture.name(bar)),
        BarKind::Model if &*bar.name == "model" => ("", "model".into()),
        BarKind::Model => ("model ", Cow::Borrowed(&*bar.name)),
    }
}

fn name(line: &mut Line, branch: &Branch, bar: &Bar, picture: &TimelinePicture, grid: &Grid) {
    let from = line.width();
    let levels = levels(branch);
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
    line.push_dim(&guide);
    let room = (from + grid.name).saturating_sub(line.width());
    let (kind, name) = name_of(bar, picture);
    let hidden = if branch.hidden > 0 {
        format!(" ▸ {}", text::count(branch.hidden.into()))
    } else {
        String::new()
    };
    let room_for_name = room.saturating_sub(kind.len() + text::width(&hidden));
    line.push_dim(&text::fit(kind, room));
    // Nodes have the same color in every view.
    let tone = match (bar.state, bar.kind) {
        (BarState::Failed, _) => Tone::Bad,
        (_, BarKind::Node) => Tone::label(&bar.name),
        (_, BarKind::Tool | BarKind::Model) => Tone::Plain,
    };
    line.push(tone, &text::seen(&name, room_for_name));
    line.push_accent(&hidden);
    pad(line, from + grid.name + 1);
}

/// Draws the cells of a bar: its color is that of its node, its texture shows whether it is on the critical path, and
/// its last cell how it ended.
fn cells(
    line: &mut Line,
    row: BarRow<'_>,
    (times, open_end): (&BarTimes, Option<&'static str>),
    scale: Scale,
    columns: usize,
) {
    let Some(range) = times.span else { return };
    let Some((first, cells)) = scale.cells(range, columns) else {
        pad(line, line.width() + columns - 1);
        return line.push_dim("›");
    };
    let start = line.width();
    pad(line, start + first);
    let tone = if row.bar.state == BarState::Abandoned {
        Tone::Dim
    } else {
        Tone::label(row.node)
    };
    let texture = if times.is_critical { "█" } else { "▒" };
    let is_end_visible = range.1 <= scale.0;
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
