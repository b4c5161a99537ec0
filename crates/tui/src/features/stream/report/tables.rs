//! The tables of the delivery report: connections, latencies, tokens and costs, and the time of each node.

use super::{Chapter, clock};
use crate::features::stream::viewer::Viewer;
use crate::features::stream::views::UNKNOWN;
use crate::features::stream::views::timeline::bar::short_count;
use crate::widgets::histogram::Histogram;
use crate::widgets::line::{Line, Tone};
use crate::widgets::strip;
use jiff::Timestamp;
use runtail_core::config::prices::Tokens;
use runtail_core::text;
use runtail_core::text::span;
use runtail_stream::projection::{
    Attempt, BarKind, Connection, Message, ModelMetrics, NodeSum, RunMetrics, Usage, nested,
    node_sums, time_of_nodes,
};
use std::time::Duration;

/// Maximum number of connections and nodes listed.
const MAX_CONNECTIONS: usize = 10;
const MAX_NODES: usize = 50;
/// Maximum bytes of the reason of a closed connection.
const MAX_REASON: usize = 200;
/// Minimum number of calls for a histogram.
const MIN_PICTURE: usize = 8;
/// Columns of a histogram, and of a bar.
const COLUMNS: usize = 44;
const BAR: usize = 20;

/// Returns the chapters that have rows.
pub(super) fn chapters(viewer: &Viewer) -> impl Iterator<Item = Chapter> {
    let all = [
        connections(viewer),
        latencies(viewer),
        tokens(viewer),
        nodes(viewer),
    ];
    all.into_iter().filter(|chapter| !chapter.rows.is_empty())
}

fn plain(cells: impl IntoIterator<Item = String>) -> Vec<Line> {
    cells.into_iter().map(|cell| Line::plain(&cell)).collect()
}

/// Returns the newest connections, if there were several. Not all are reconnects: some servers send each run over its own.
fn connections(viewer: &Viewer) -> Chapter {
    let all = viewer.projections.delivery.connections();
    let from = all.len().saturating_sub(MAX_CONNECTIONS);
    let row = |connection: &Connection| {
        let opened = connection.opened;
        let open_for = connection
            .closed
            .unwrap_or(viewer.now)
            .duration_since(opened);
        let why = connection.reason.as_deref().unwrap_or_default();
        let why = match connection.closed {
            Some(_) => text::clean(text::head(why, MAX_REASON)).into_owned(),
            None => "open".to_string(),
        };
        plain([
            clock(viewer, opened),
            Duration::try_from(open_for).map(span).unwrap_or_default(),
            text::count(connection.events),
            why,
        ])
    };
    let count = all.evicted() + all.len() as u64;
    Chapter {
        title: text::counted(count, "connection"),
        titles: &["OPENED", "LASTED", "EVENTS", "CLOSED BECAUSE"],
        last_number: 2,
        rows: if count > 1 {
            all[from..].iter().map(row).collect()
        } else {
            Vec::new()
        },
        ..Chapter::default()
    }
}

/// Returns the latencies of model and tool calls.
fn latencies(viewer: &Viewer) -> Chapter {
    let messages = || viewer.projections.messages.items().iter();
    let first_tokens = || messages().filter_map(Message::first_token);
    let name = match first_tokens().all(|first| first.is_exact) {
        true => "time to first token",
        false => "time to first token ~",
    };
    let bars = viewer.projections.timeline.bars().iter();
    let tools = bars.filter(|bar| bar.kind == BarKind::Tool);
    let all = [
        (name, Histogram::of(first_tokens().map(|first| first.after))),
        ("tool", Histogram::of(tools.filter_map(|bar| bar.took()))),
    ];
    let present = || all.iter().filter(|(_, histogram)| histogram.count() > 0);
    let row = |(name, histogram): &(&str, Histogram)| {
        let number = |duration: Option<Duration>| duration.map(span).unwrap_or_default();
        plain([
            name.to_string(),
            text::count(histogram.count() as u64),
            number(histogram.percentile(0.5)),
            number(histogram.percentile(0.95)),
            number(histogram.max()),
        ])
    };
    let pictures = present().filter(|(_, histogram)| histogram.count() >= MIN_PICTURE);
    let picture = |(name, histogram): &(&str, Histogram)| {
        let lines = histogram.lines(COLUMNS);
        std::iter::once(Line::dim(name))
            .chain(lines)
            .collect::<Vec<_>>()
    };
    Chapter {
        title: "Latency".into(),
        titles: &["", "CALLS", "P50", "P95", "MAX"],
        last_number: 4,
        rows: present().map(row).collect(),
        below: pictures.flat_map(picture).collect(),
        ..Chapter::default()
    }
}

fn run_name(viewer: &Viewer, run: &RunMetrics) -> String {
    let id = run.run_id.as_deref();
    let entry = id.and_then(|id| viewer.projections.status.run(id));
    entry.map_or_else(
        || id.map_or("run".into(), |id| format!("run {}", text::short_id(id))),
        |entry| entry.name(),
    )
}

/// Returns the tokens and the cost of each model of the newest run, of the run and of the thread.
fn tokens(viewer: &Viewer) -> Chapter {
    let metrics = &viewer.projections.metrics;
    let loaded = metrics.loaded(&viewer.projections.messages);
    let all: Vec<&RunMetrics> = std::iter::once(&loaded)
        .chain(metrics.runs().iter())
        .collect();
    let has_usage = |run: &&&RunMetrics| run.work.usage != Usage::default();
    let title = "Tokens".to_string();
    let Some(run) = all.iter().rev().find(has_usage) else {
        return Chapter::default();
    };
    let row = |tone: Tone, name: &str, calls: u64, usage: &Usage, cost: Option<String>| {
        let number = |count: u64| match count {
            0 => String::new(),
            count => text::count(count),
        };
        let numbers = [
            calls,
            usage.input,
            usage.cached,
            usage.output,
            usage.reasoning,
        ];
        let cells = std::iter::once(name.to_string())
            .chain(numbers.map(number))
            .chain([cost.unwrap_or_default()]);
        cells.map(|cell| Line::of(tone, &cell)).collect::<Vec<_>>()
    };
    let mut rows = Vec::new();
    for model in run.models.iter().filter(|model| model.calls > 0) {
        let cost = cost(viewer, std::slice::from_ref(model), model.usage);
        rows.push(row(
            Tone::Plain,
            &model.name,
            model.calls,
            &model.usage,
            cost,
        ));
    }
    let (rest, calls) = run.unnamed();
    if calls > 0 && !rows.is_empty() {
        rows.push(row(Tone::Dim, "model not named", calls, &rest, None));
    }
    let name = match std::ptr::eq(*run, &loaded) {
        true => "loaded messages".into(),
        false => run_name(viewer, run),
    };
    let total = cost_of(viewer, run);
    rows.push(row(
        Tone::Strong,
        &name,
        run.work.calls,
        &run.work.usage,
        total,
    ));
    let with_calls = || all.iter().filter(|run| run.work.calls > 0);
    if with_calls().count() > 1 {
        let mut sum = RunMetrics::default();
        for run in with_calls() {
            sum.work.usage.add_change(Usage::default(), run.work.usage);
            sum.work.calls += run.work.calls;
            sum.models.extend(run.models.iter().cloned());
        }
        let total = cost_of(viewer, &sum);
        rows.push(row(
            Tone::Strong,
            "all read",
            sum.work.calls,
            &sum.work.usage,
            total,
        ));
    }
    Chapter {
        title,
        titles: &["MODEL", "CALLS", "IN", "CACHED", "OUT", "REASONING", "COST"],
        last_number: 6,
        rows,
        ..Chapter::default()
    }
}

/// Returns the cost of a run; `None` without prices.
pub fn cost_of(viewer: &Viewer, run: &RunMetrics) -> Option<String> {
    cost(viewer, &run.models, run.work.usage)
}

/// Returns the cost of tokens, or a dash if the price of any of them is unknown; `None` without prices.
fn cost(viewer: &Viewer, models: &[ModelMetrics], all: Usage) -> Option<String> {
    let prices = &viewer.views.events.prices;
    if prices.models.is_empty() {
        return None;
    }
    let mut named = Usage::default();
    for model in models {
        named.add_change(Usage::default(), model.usage);
    }
    let cost = |model: &ModelMetrics| {
        let usage = model.usage;
        if usage.input + usage.output == 0 {
            return Some(0.0);
        }
        Some(prices.of(&model.name)?.cost(Tokens {
            input: usage.input,
            cached: usage.cached,
            output: usage.output,
            reasoning: usage.reasoning,
        }))
    };
    let sum: Option<f64> = models.iter().map(cost).sum();
    let is_all = named.input == all.input && named.output == all.output;
    let sum = sum.filter(|_| is_all);
    Some(sum.map_or_else(|| UNKNOWN.into(), |sum| prices.amount(sum)))
}

/// Returns the visits, the time, the tokens and the share of each node of the newest run.
fn nodes(viewer: &Viewer) -> Chapter {
    let projections = &viewer.projections;
    let Some(run) = projections.metrics.runs().last() else {
        return Chapter::default();
    };
    // In a closed stream nothing grows.
    let now = if viewer.is_open() {
        viewer.now
    } else {
        Timestamp::MIN
    };
    let nodes = node_sums(run, &projections.timeline, now);
    let sum = time_of_nodes(&nodes);
    let listed = nested(&nodes).into_iter().take(MAX_NODES);
    let mut rows: Vec<Vec<Line>> = listed
        .map(|(depth, node)| node_row(viewer, depth, node, sum))
        .collect();
    if nodes.len() > 1 {
        let time = if sum.is_zero() {
            String::new()
        } else {
            span(sum)
        };
        let [input, output] = counts(run.work.usage);
        let total = ["all nodes".into(), String::new(), time, input, output];
        rows.push(
            total
                .iter()
                .map(|cell| Line::of(Tone::Strong, cell))
                .collect(),
        );
        rows.last_mut()
            .into_iter()
            .for_each(|row| row.push(Line::new()));
    }
    let omitted = nodes.len().saturating_sub(MAX_NODES);
    let omitted =
        (omitted > 0).then(|| Line::dim(&format!("… {}", text::counted(omitted, "more node"))));
    let mut attempts = projections.timeline.attempts().map(|(_, attempt)| attempt);
    let missing = attempts
        .rfind(|attempt| attempt.run_id == run.run_id)
        .and_then(Attempt::missing_steps);
    let missing = missing.map_or(String::new(), |steps| format!(" · {steps}"));
    Chapter {
        title: format!("Nodes of {}{missing}", run_name(viewer, run)),
        titles: &["NODE", "VISITS", "TIME", "IN", "OUT", "SHARE"],
        last_number: 4,
        rows,
        below: omitted.into_iter().collect(),
        ..Chapter::default()
    }
}

fn counts(usage: Usage) -> [String; 2] {
    [usage.input, usage.output].map(|count| match count {
        0 => String::new(),
        count => short_count(count),
    })
}

fn node_row(viewer: &Viewer, depth: usize, node: &NodeSum<'_>, sum: Duration) -> Vec<Line> {
    let tone = Tone::label(node.own_name());
    let name = if depth > 0 {
        node.own_name()
    } else {
        &node.name
    };
    let activity = node.activity.as_ref();
    let visits = activity.map_or_else(|| UNKNOWN.into(), |activity| text::count(activity.visits));
    let is_estimated = activity.is_some_and(|activity| activity.is_estimated);
    let tilde = if is_estimated { "~" } else { "" };
    let time = node.time();
    let took = time.map_or_else(|| UNKNOWN.into(), |time| format!("{tilde}{}", span(time)));
    let usage = node.output.map(|output| output.work.usage);
    let [input, output] = counts(usage.unwrap_or_default());
    let mut share = Line::new();
    // The time of other nodes is part of the time of these.
    let is_in_sum = node.is_root() || depth > 0;
    if let Some(time) = time.filter(|_| is_in_sum && !sum.is_zero()) {
        let part = time.as_secs_f64() / sum.as_secs_f64();
        share.push(tone, &strip::bar(part, BAR));
        let tone = if depth > 0 { Tone::Dim } else { Tone::Plain };
        share.push(tone, &format!(" {:.0}%", part * 100.0));
    }
    let mut named = Line::plain(&"  ".repeat(depth.min(6)));
    named.push(tone, name);
    for line in [&mut named, &mut share] {
        viewer.views.graph.color(line);
    }
    let mut row = vec![named];
    row.extend(plain([visits, took, input, output]));
    row.push(share);
    row
}
