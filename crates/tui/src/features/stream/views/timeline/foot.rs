//! Where the time of a run went: its critical path, and the time of each node as bars and as an icicle.

use super::head::Grid;
use super::picture::{NamedTime, TimelinePicture};
use crate::features::stream::views::{UNKNOWN, pad};
use crate::widgets::line::{Line, Tone};
use crate::widgets::strip;
use runtail_core::graph::SEPARATOR;
use runtail_core::text;
use runtail_core::text::span;
use runtail_stream::projection::BarKind;
use std::time::Duration;

/// Maximum number of nodes that the critical path names.
const MAX_ON_PATH: usize = 12;
/// Maximum number of nodes in the line of their times.
const MAX_BY_NODE: usize = 30;
/// Minimum cells of a name in a picture.
const MIN_LABEL: usize = 4;

/// Returns the critical path: its nodes, as far as they fit, and the time in which none ran, with shares that add up to the run's
/// time.
pub fn critical_text(picture: &TimelinePicture, room: usize) -> String {
    let Some(ran) = picture.axis.as_ref().map(|axis| axis.ran) else {
        return String::new();
    };
    let nodes = &picture.critical;
    let outside = ran.saturating_sub(nodes.iter().map(|(_, time)| *time).sum());
    let own = |path: &str| {
        path.rsplit(SEPARATOR)
            .next()
            .unwrap_or_default()
            .to_string()
    };
    // Nodes with the same name in several graphs have their subgraphs, too.
    let name = |path: &str| match nodes
        .iter()
        .filter(|(other, _)| own(other) == own(path))
        .count()
    {
        1 => text::seen(&own(path), 40),
        _ => text::seen(path, 40),
    };
    let text = |(title, shown, is_rest_one): (&str, usize, bool)| {
        let mut parts: Vec<(String, Duration)> = nodes
            .iter()
            .take(shown)
            .map(|(path, time)| (name(path), *time))
            .collect();
        let hidden = nodes.iter().skip(shown).map(|(_, time)| *time).sum();
        match is_rest_one {
            true => parts.push(("rest".into(), hidden + outside)),
            false => {
                parts.push((format!("{} more", nodes.len() - parts.len()), hidden));
                parts.push(("outside nodes".into(), outside));
            }
        }
        let shares = whole_percents(parts.iter().map(|(_, time)| *time));
        let parts = parts
            .into_iter()
            .zip(shares)
            .filter(|(_, share)| *share > 0);
        let parts: Vec<String> = parts
            .map(|((name, _), share)| format!("{name} {share}%"))
            .collect();
        format!("{title}: {}", parts.join(" · "))
    };
    let variants = [
        ("critical path", false),
        ("critical path", true),
        ("path", true),
    ];
    let counts = || (1..=nodes.len().min(MAX_ON_PATH)).rev();
    let all = variants
        .into_iter()
        .flat_map(|(title, rest)| counts().map(move |shown| (title, shown, rest)));
    all.map(text)
        .find(|text| text::width(text) <= room)
        .unwrap_or_default()
}

/// Returns the shares of times in their sum as whole percentages that add up to 100, unless the sum is zero.
fn whole_percents(times: impl Iterator<Item = Duration>) -> Vec<u64> {
    let times: Vec<u128> = times.map(|time| time.as_nanos()).collect();
    let sum = times.iter().sum::<u128>().max(1);
    let mut shares: Vec<(u64, u128)> = times
        .iter()
        .map(|time| {
            (
                u64::try_from(time * 100 / sum).unwrap_or(100),
                time * 100 % sum,
            )
        })
        .collect();
    let missing = shares.iter().map(|(_, rest)| rest).sum::<u128>() / sum;
    let mut by_rest: Vec<usize> = (0..shares.len()).collect();
    by_rest.sort_by_key(|at| std::cmp::Reverse(shares[*at].1));
    by_rest
        .into_iter()
        .take(usize::try_from(missing).unwrap_or(0))
        .for_each(|at| shares[at].0 += 1);
    shares.into_iter().map(|(share, _)| share).collect()
}

/// Returns a share as a percentage.
fn percent(part: Duration, whole: Duration) -> String {
    match whole.is_zero() {
        true => UNKNOWN.to_string(),
        false => format!("{:.0}%", part.as_secs_f64() / whole.as_secs_f64() * 100.0),
    }
}

/// Returns the lines below the bars: the time of each node, and if there is room, also of what ran in them.
pub fn foot(picture: &TimelinePicture, grid: &Grid, room: usize) -> Vec<Line> {
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
    let mut line = Line::dim("time by node");
    let sum: Duration = nodes.iter().map(|node| node.time).sum();
    let label = |node: &NamedTime| {
        (
            text::seen(&node.name, 24),
            span(node.time),
            percent(node.time, sum),
        )
    };
    let columns = |node: &NamedTime| {
        let (name, time, share) = label(node);
        3 + text::width(&name) + 1 + time.len() + 1 + 1 + share.len()
    };
    let more = |shown: usize| match nodes.len() - shown {
        0 => String::new(),
        hidden => format!("   … {} more", text::count(hidden as u64)),
    };
    let used = |shown: usize| {
        let names = nodes.iter().take(shown).map(columns).sum::<usize>();
        text::width("time by node") + names + text::width(&more(shown))
    };
    // The names of all shown nodes leave room for at least some cells of bars.
    let count = (0..=nodes.len().min(MAX_BY_NODE))
        .rev()
        .find(|shown| used(*shown) + 10 <= width)
        .unwrap_or(0);
    let shown: Vec<&NamedTime> = nodes.iter().take(count).collect();
    let room = width.saturating_sub(used(count) + count + 2);
    for node in shown {
        let (name, time, share) = label(node);
        line.push_plain("   ");
        line.push(Tone::label(&node.name), &name);
        line.push_plain(&format!(" {time} "));
        let part = node.time.as_secs_f64() / sum.as_secs_f64().max(1e-9);
        line.push(Tone::label(&node.name), &strip::bar(part, room));
        line.push_plain(&format!(" {share}"));
    }
    line.push_dim(&more(count));
    line
}

/// Returns the run's time as an icicle: the run, its nodes, and what ran in them, all on one scale.
fn icicle(picture: &TimelinePicture, width: usize) -> Vec<Line> {
    let sum: Duration = picture.nodes.iter().map(|node| node.time).sum();
    let width = width.saturating_sub(1);
    let label = format!("│ all nodes {}", span(sum));
    let all = Line::dim(&format!("{:<width$}│", text::fit(&label, width)));
    let (mut nodes, mut calls) = (Line::new(), Line::new());
    let total = sum.as_secs_f64().max(1e-9);
    let at = |time: Duration| (time.as_secs_f64() / total * width as f64).round() as usize;
    let mut before = Duration::ZERO;
    for node in &picture.nodes {
        let (from, to) = (at(before), at(before + node.time));
        block(&mut nodes, node, Tone::label(&node.name), (from, to));
        let mut inner = before;
        // Parallel calls can take more time than their node.
        let inside: Duration = node.inside.iter().map(|call| call.time).sum();
        let scale = if inside > node.time {
            node.time.as_secs_f64() / inside.as_secs_f64()
        } else {
            1.0
        };
        for call in &node.inside {
            let time = call.time.mul_f64(scale);
            let tone = if call.kind == BarKind::Node {
                Tone::label(&call.name)
            } else {
                Tone::Plain
            };
            let end = at(inner + time).min(to);
            block(&mut calls, call, tone, (at(inner), end));
            inner += time;
        }
        before += node.time;
    }
    vec![all, nodes.with_dim("│"), calls.with_dim("│")]
}

/// Draws a block of an icicle between two columns; blocks without room for a name are left out.
fn block(line: &mut Line, named: &NamedTime, tone: Tone, (from, to): (usize, usize)) {
    if to < from + MIN_LABEL + 2 || line.width() > from + 1 {
        return;
    }
    if line.width() < from {
        line.push_dim("│");
        pad(line, from);
    }
    line.push_dim("│");
    let room = (to).saturating_sub(line.width() + 1);
    line.push_plain(" ");
    line.push(
        tone,
        &text::seen(&format!("{} {}", named.name, span(named.time)), room),
    );
    pad(line, to);
}
