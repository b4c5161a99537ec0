//! The Timeline as text, for exports: what its pictures show, in numbers.

use super::bar::{short_count, step};
use super::foot::critical_text;
use super::head::heading;
use super::picture::{BarGroup, TimelinePicture};
use crate::features::stream::views::{UNKNOWN, first_token};
use jiff::Timestamp;
use runtail_core::text;
use runtail_core::text::span;
use runtail_stream::projection::{Bar, BarKind, BarState, Projections};
use std::fmt::Write;

/// Maximum columns of the critical path.
const MAX_PATH: usize = 400;

/// Returns the text of a run: its outcome, its critical path, the time of each node, and each bar with its times.
pub fn text(projections: &Projections, group: &BarGroup, now: Timestamp) -> String {
    let timeline = &projections.timeline;
    let picture = TimelinePicture::of(projections, group, now);
    let mut out = String::new();
    for number in group {
        let Some(attempt) = timeline.attempt(*number) else {
            continue;
        };
        let _ = writeln!(out, "{}", heading(attempt, projections, now).text());
    }
    if let Some(axis) = &picture.axis
        && !axis.waited().is_zero()
    {
        let _ = writeln!(
            out,
            "ran {}, plus {} waiting",
            span(axis.ran),
            span(axis.waited())
        );
    }
    let path = critical_text(&picture, MAX_PATH);
    if !path.is_empty() {
        let _ = writeln!(out, "{path}");
    }
    let nodes = picture
        .nodes
        .iter()
        .map(|node| format!("{} {}", text::clean(&node.name), span(node.time)));
    let nodes: Vec<String> = nodes.collect();
    if !nodes.is_empty() {
        let _ = writeln!(out, "time by node: {}", nodes.join(", "));
    }
    let keys = group
        .iter()
        .filter_map(|number| timeline.attempt(*number))
        .flat_map(|attempt| &attempt.children);
    let mut next: Vec<(u64, usize)> = keys.rev().map(|key| (*key, 0)).collect();
    if !next.is_empty() {
        let _ = writeln!(out, "step  start     took      self      in→out    name");
    }
    while let Some((key, depth)) = next.pop() {
        let Some(bar) = timeline.bar(key) else {
            continue;
        };
        let times = picture.bar(key);
        let step = step(timeline, bar);
        let known = times.and_then(|times| times.span);
        let dash = || UNKNOWN.to_string();
        let started = known.map_or_else(dash, |(from, _)| format!("+{}", span(from)));
        let took = known.map_or_else(dash, |(from, to)| span(to.saturating_sub(from)));
        let own = times
            .filter(|_| known.is_some())
            .map_or_else(dash, |times| span(times.own));
        let call = picture.call(bar);
        let usage = call.and_then(|call| call.usage);
        let usage = usage
            .map(|usage| format!("{}→{}", short_count(usage.input), short_count(usage.output)));
        let kind = match bar.kind {
            BarKind::Node => "",
            BarKind::Tool => "tool ",
            BarKind::Model => "model ",
        };
        let notes = match notes(key, bar, &picture).as_slice() {
            [] => String::new(),
            notes => format!("  ({})", notes.join(", ")),
        };
        let indent = "  ".repeat(depth.min(20));
        let name = picture.name(bar);
        let name = text::clean(&name);
        let usage = usage.unwrap_or_default();
        let _ = writeln!(
            out,
            "{step:>4}  {started:<8}  {took:<8}  {own:<8}  {usage:<8}  {indent}{kind}{name}{notes}"
        );
        next.extend(bar.children.iter().rev().map(|child| (*child, depth + 1)));
    }
    out.push('\n');
    out
}

/// Returns what else there is to say about a bar.
fn notes(key: u64, bar: &Bar, picture: &TimelinePicture) -> Vec<String> {
    let (times, call) = (picture.bar(key), picture.call(bar));
    let mut notes = Vec::new();
    notes.extend(
        times
            .filter(|times| times.is_critical && times.span.is_some())
            .map(|_| "critical".to_string()),
    );
    notes.extend(
        times
            .and_then(|times| times.attempt)
            .map(|attempt| format!("attempt {attempt}")),
    );
    notes.extend(
        call.and_then(|call| call.first_token)
            .map(|first| format!("TTFT {}", first_token(first))),
    );
    notes.extend(picture.answer(bar).map(|answer| {
        let by = answer
            .by
            .as_deref()
            .map(|by| format!(", answered by {}", text::clean(by)))
            .unwrap_or_default();
        format!("waited {}{by}", span(answer.after))
    }));
    notes.extend(
        picture
            .is_open_ask(bar)
            .then(|| "waiting for an answer".to_string()),
    );
    notes.extend(
        match bar.state {
            BarState::Running if picture.is_over => Some("end not known"),
            BarState::Running => Some("running"),
            BarState::Done => None,
            BarState::Failed => Some("failed"),
            BarState::Interrupted => Some("paused"),
            BarState::Abandoned => Some("not finished"),
        }
        .map(str::to_string),
    );
    notes.extend(
        bar.detail
            .as_deref()
            .map(|detail| text::clean(detail).into_owned()),
    );
    notes
}
