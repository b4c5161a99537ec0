//! The summary of the Delivery view: problems first, what was verified, the connection, latencies, tokens with their
//! cost, and the time of each node. Everything is also text, for copies and exports.

use super::delivery::Row;
use super::timeline::bar::short_count;
use super::{UNKNOWN, pad};
use crate::widgets::histogram::Histogram;
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::strip;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use runtail_core::config::prices::{Prices, Tokens};
use runtail_core::text;
use runtail_core::text::span;
use runtail_stream::projection::{
    Attempt, BarKind, DeliveryLog, Message, ModelMetrics, NodeSum, Projections, RunMetrics, Usage,
    nested, node_sums, time_of_nodes,
};
use runtail_stream::{EventLog, Seq};
use std::time::Duration;

/// Maximum bytes of a gap's reason.
const MAX_REASON: usize = 1_000;
/// Maximum number of gaps listed.
const MAX_GAPS: usize = 5;
/// Minimum width for latencies and tokens side by side.
const MIN_WIDE: usize = 126;
/// Columns of the table of tokens.
const TOKENS: usize = 66;
/// Minimum width for the whole sentence of what was verified.
const MIN_SENTENCE: usize = 90;
/// Columns of a histogram.
const COLUMNS: usize = 44;
/// Number of buckets of the strip, and their length in seconds.
const BUCKETS: usize = 30;
const BUCKET: i64 = 10;
/// Columns of a model's name and of a node's name.
const NAME: usize = 18;
const MAX_NODES: usize = 50;

/// What the summary is made from.
#[derive(Debug, Clone, Copy)]
pub struct Summary<'a> {
    pub projections: &'a Projections,
    pub event_log: &'a EventLog,
    pub prices: &'a Prices,
    pub now: Timestamp,
    /// Whether more events may arrive.
    pub open: bool,
    /// Whether no more events are expected: the runs are over.
    pub is_over: bool,
    /// Whether the events are those of a recording.
    pub is_recording: bool,
    pub width: usize,
    pub tz: &'a TimeZone,
}

impl Summary<'_> {
    /// Returns all rows, and how many of them are problems.
    pub fn rows(&self) -> (Vec<Row>, usize) {
        let mut rows = self.problems();
        let problems = rows.len();
        let before = self.delivery().before_opening.iter();
        rows.extend(before.map(|why| line(Line::dim("· ").with_dim(text::head(why, MAX_REASON)))));
        rows.push(self.verified());
        if !self.projections.delivery.connections().is_empty() {
            if rows.len() > 1 {
                rows.push(line(section("connection", self.width)));
            }
            rows.push(line(self.connection()));
        }
        let (latency, tokens) = (self.latency(), self.tokens());
        match self.width >= MIN_WIDE && !latency.is_empty() && !tokens.is_empty() {
            true => {
                let left = self.width.saturating_sub(TOKENS + 2);
                let mut left_lines = vec![section("latency", left)];
                left_lines.extend(latency);
                let mut right_lines = vec![section(
                    "tokens and cost",
                    self.width.saturating_sub(left + 2),
                )];
                right_lines.extend(tokens);
                rows.extend(
                    beside(left_lines, right_lines, left + 2)
                        .into_iter()
                        .map(line),
                );
            }
            false => {
                for (title, lines) in [("latency", latency), ("tokens and cost", tokens)] {
                    if !lines.is_empty() {
                        rows.push(line(section(title, self.width)));
                        rows.extend(lines.into_iter().map(line));
                    }
                }
            }
        }
        rows.extend(self.by_node());
        (rows, problems)
    }

    /// Returns the summary as text: what its pictures show, in numbers.
    pub fn text(&self) -> String {
        let wide = Summary {
            width: MIN_WIDE - 1,
            ..*self
        };
        let mut out: Vec<String> = wide.problems().iter().map(|row| row.line.text()).collect();
        out.extend(
            self.delivery()
                .before_opening
                .iter()
                .map(|why| why.to_string()),
        );
        out.push(wide.verified().line.text());
        if !self.projections.delivery.connections().is_empty() {
            let rates = &self.projections.delivery.rates;
            let now = if self.open {
                format!(", now {:.0}", rates.mean(self.now).0)
            } else {
                String::new()
            };
            out.push(format!("events per second: peak {}{now}", rates.peak()));
            out.extend(self.connections());
        }
        for (name, histogram) in self.latencies() {
            if histogram.count() > 0 {
                out.push(format!(
                    "{} {}, {}",
                    name.to_lowercase(),
                    histogram.text(", "),
                    text::counted(histogram.count(), "call")
                ));
            }
        }
        out.extend(
            wide.tokens()
                .iter()
                .map(|line| line.text())
                .filter(|line| !line.starts_with('─')),
        );
        out.extend(wide.by_node().iter().skip(1).map(|row| row.line.text()));
        out.iter()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect()
    }

    fn delivery(&self) -> &DeliveryLog {
        &self.projections.delivery
    }

    /// Returns the problems, newest gaps first.
    fn problems(&self) -> Vec<Row> {
        let delivery = self.delivery();
        let mut rows = Vec::new();
        let gaps = delivery.possible_gaps();
        for gap in gaps.iter().rev().take(MAX_GAPS) {
            let time = |seq: Seq| self.event_log.time(seq).map(|at| self.clock(at));
            let between = match (
                time(gap.after).filter(|_| gap.after > Seq::START),
                time(gap.after.next()),
            ) {
                (Some(from), Some(to)) => format!("between {from} and {to}"),
                (Some(from), None) => format!("after {from}"),
                (None, Some(to)) => format!("before {to}"),
                (None, None) => format!("at {}", self.clock(gap.at)),
            };
            let seq = Some(gap.after).filter(|after| *after > Seq::START);
            let what = format!(
                "gap. Events {between} may be missing: {}",
                text::head(&gap.why, MAX_REASON)
            );
            for (nth, part) in wrap(&what, self.width.saturating_sub(2).clamp(20, 4_000))
                .iter()
                .enumerate()
            {
                let line = match part.strip_prefix("gap").filter(|_| nth == 0) {
                    Some(rest) => Line::dim("? ").with_strong("gap").with_dim(rest),
                    None => Line::dim("  ").with_dim(part),
                };
                rows.push(Row { line, seq });
            }
        }
        if !gaps.is_empty() && !self.is_recording {
            let note = "Events in a gap can't be loaded again. Press 3 for the current state.";
            let parts = wrap(note, self.width.saturating_sub(2).clamp(20, 4_000));
            rows.extend(
                parts
                    .iter()
                    .map(|part| line(Line::dim(&format!("  {part}")))),
            );
        }
        let earlier = gaps.evicted() + gaps.len().saturating_sub(MAX_GAPS) as u64;
        let counts = [
            (
                delivery.too_large,
                Tone::Bad,
                "oversized",
                "were truncated because the data was too large to keep.",
            ),
            (
                delivery.malformed,
                Tone::Dim,
                "malformed",
                "have data that is not JSON.",
            ),
            (
                self.event_log.evicted_rows(),
                Tone::Dim,
                "evicted",
                "are no longer in memory.",
            ),
            (
                delivery.late,
                Tone::Dim,
                "out of order",
                "have an older id than an earlier event.",
            ),
            (
                delivery.duplicates,
                Tone::Dim,
                "duplicate",
                "were received again and skipped.",
            ),
        ];
        if earlier > 0 {
            let gaps = text::counted(earlier, "earlier gap");
            rows.push(line(Line::dim(&format!("? {gaps}"))));
        }
        for (count, tone, kind, what) in counts.into_iter().filter(|(count, ..)| *count > 0) {
            let glyph = if tone == Tone::Bad { "✗ " } else { "? " };
            let events = text::plural(count, "event");
            let strong = if tone == Tone::Bad {
                Tone::Bad
            } else {
                Tone::Strong
            };
            let what = if count == 1 {
                what.replacen("were", "was", 1)
                    .replacen("have", "has", 1)
                    .replacen("are", "is", 1)
            } else {
                what.to_string()
            };
            rows.push(line(
                Line::of(tone, glyph)
                    .with(strong, &text::count(count))
                    .with(tone, &format!(" {kind} {events} {what}")),
            ));
        }
        if let Some(first) = rows.iter_mut().find(|row| row.seq.is_some()) {
            first.line = std::mem::take(&mut first.line).right(Tone::Dim, "⏎ go there   ] next");
        }
        rows
    }

    fn clock(&self, at: Timestamp) -> String {
        at.to_zoned(self.tz.clone())
            .strftime("%H:%M:%S.%3f")
            .to_string()
    }

    /// Returns the sentence that says what was verified, and since when.
    fn verified(&self) -> Row {
        let delivery = self.delivery();
        let (received, is_checked) = (delivery.received, delivery.has_ids());
        let mut text = format!("{} received", text::counted(received, "event"));
        let has_problem = delivery.late > 0 || delivery.duplicates > 0;
        let seconds = |at: Timestamp| {
            at.to_zoned(self.tz.clone())
                .strftime("%H:%M:%S")
                .to_string()
        };
        let after_gap = delivery.possible_gaps().last().map(|gap| gap.at);
        let since = after_gap.or(delivery.first_event_at).map(seconds);
        match (received, is_checked, has_problem) {
            (0, ..) if self.is_over => text = "No events received.".into(),
            (0, ..) => text = "No events received yet.".into(),
            (_, true, false) => {
                let since = since
                    .map(|since| format!(" since {since}"))
                    .unwrap_or_default();
                let how = if self.width < MIN_SENTENCE {
                    ", by id."
                } else {
                    " (checked by id)."
                };
                text.push_str(&format!(", in order, no duplicates{since}{how}"));
            }
            (_, true, true) => text.push_str(", checked by id."),
            (_, false, _) => {
                text.push_str(". They have no ids, so order and duplicates can't be checked.")
            }
        }
        let is_good = received > 0 && is_checked && !has_problem;
        let glyph = if is_good {
            (Tone::Good, "● ")
        } else {
            (Tone::Dim, "? ")
        };
        line(Line::of(glyph.0, glyph.1).with_plain(&text))
    }

    /// Returns the strip of events per second, and the last reconnect.
    fn connection(&self) -> Line {
        let rates = &self.delivery().rates;
        let count = if self.width < MIN_WIDE { 14 } else { BUCKETS };
        let buckets = rates.buckets(self.until(), BUCKET, count);
        let most = buckets
            .iter()
            .flatten()
            .map(|rate| u64::from(rate.events))
            .max()
            .unwrap_or(0);
        let cells = strip::strip(
            buckets
                .iter()
                .map(|rate| rate.map(|rate| u64::from(rate.events))),
            most,
        );
        let mut line = Line::dim("events/s  ").with_plain(&cells);
        if !cells.is_empty() {
            line.push_plain("   ");
        }
        let over = Duration::from_secs(u64::try_from(BUCKET).unwrap_or(0) * buckets.len() as u64);
        if !buckets.is_empty() {
            let bar = if self.width < MIN_WIDE {
                "highest"
            } else {
                "busiest second"
            };
            line.push_dim(&format!(
                "last {}, {bar} of each {BUCKET}s · ",
                text::age(over)
            ));
        }
        if rates.peak() == 0 {
            line.push_dim(if self.is_over {
                "nothing received live"
            } else {
                "nothing received live yet"
            });
        } else {
            line.push_dim("peak ");
            line.push_plain(&text::count(rates.peak().into()));
        }
        if self.open && rates.peak() > 0 {
            line.push_dim(" · now ");
            line.push_plain(&format!("{:.0}", rates.mean(self.now).0));
        }
        match self.connections() {
            Some(connections) => line.right(Tone::Dim, &connections),
            None => line,
        }
    }

    /// Returns the end of the strip: now, or the end of a closed stream.
    fn until(&self) -> Timestamp {
        let end = self.delivery().last_event_at.filter(|_| !self.open);
        let end = end.and_then(|end| end.checked_add(SignedDuration::from_secs(BUCKET)).ok());
        end.unwrap_or(self.now).min(self.now)
    }

    /// Returns the number of connections if there are several, and the last one. Not all are reconnects: some servers send each
    /// run over its own.
    fn connections(&self) -> Option<String> {
        let all = self.delivery().connections();
        let (last, before) = (all.last()?, all.get(all.len().checked_sub(2)?)?);
        let count = text::count(all.evicted() + all.len() as u64);
        let after = before
            .closed
            .and_then(|closed| Duration::try_from(last.opened.duration_since(closed)).ok());
        let after = after
            .map(|after| format!("{} after ", span(after)))
            .unwrap_or_default();
        let why = before
            .reason
            .as_deref()
            .map(|why| text::clean(text::head(why, 80)).into_owned());
        let before = why
            .map(|why| format!(" ({after}{why})"))
            .unwrap_or_default();
        let at = last.opened.to_zoned(self.tz.clone()).strftime("%H:%M:%S");
        Some(format!("{count} connections, last at {at}{before}"))
    }

    /// Returns the latencies of model and tool calls, each with its name.
    fn latencies(&self) -> [(&'static str, Histogram); 2] {
        let first_tokens = || {
            self.projections
                .messages
                .items()
                .iter()
                .filter_map(Message::first_token)
        };
        let name = if first_tokens().all(|first| first.is_exact) {
            "TTFT"
        } else {
            "TTFT ~"
        };
        let tools = self
            .projections
            .timeline
            .bars()
            .iter()
            .filter(|bar| bar.kind == BarKind::Tool);
        [
            (name, Histogram::of(first_tokens().map(|first| first.after))),
            (
                "tool time",
                Histogram::of(tools.filter_map(|bar| bar.took())),
            ),
        ]
    }

    fn latency(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for (name, histogram) in self.latencies() {
            if histogram.count() == 0 {
                continue;
            }
            let count = text::counted(histogram.count(), "call");
            let mut head = Line::plain(&format!("{name:<12}"));
            head.push_dim(&format!("{count:>10}"));
            head.push_plain(&format!("   {}", histogram.text("   ")));
            lines.push(head);
            lines.extend(histogram.lines(COLUMNS.min(self.width)));
        }
        if lines.is_empty() && self.projections.delivery.received > 0 {
            let yet = if self.is_over { "" } else { " yet" };
            lines.push(Line::dim(&format!("No calls with timings{yet}.")));
        }
        lines
    }

    /// Returns the tokens and the cost of each model, of the newest run and of the thread.
    fn tokens(&self) -> Vec<Line> {
        let (runs, loaded) = (
            self.projections.metrics.runs(),
            self.projections.metrics.loaded(&self.projections.messages),
        );
        let all: Vec<&RunMetrics> = std::iter::once(&loaded).chain(runs.iter()).collect();
        let has_usage = |run: &&&RunMetrics| run.work.usage != Usage::default();
        let Some(run) = all.iter().rev().find(has_usage) else {
            return Vec::new();
        };
        let is_loaded = |run: &RunMetrics| std::ptr::eq(run, &loaded);
        let columns = |name: &str, calls: &str, numbers: [String; 4], cost: &str| {
            let [input, cached, output, reasoning] = numbers;
            format!(
                "{name:<NAME$}{calls:>5}{input:>8}{cached:>8}{output:>8}{reasoning:>10}{cost:>9}"
            )
        };
        let heads = ["IN", "CACHED", "OUT", "REASONING"].map(str::to_string);
        let mut lines = vec![Line::dim(&columns("MODEL", "CALLS", heads, "COST"))];
        let count = |calls: u64| {
            if calls > 0 {
                text::count(calls)
            } else {
                UNKNOWN.into()
            }
        };
        for model in run.models.iter().filter(|model| model.calls > 0) {
            let cost = self.cost(std::slice::from_ref(model), model.usage);
            let name = text::seen(&model.name, NAME - 1);
            lines.push(Line::plain(&columns(
                &pad_name(&name),
                &count(model.calls),
                numbers(&model.usage),
                &cost,
            )));
        }
        let (rest, calls) = run.unnamed();
        if calls > 0 && run.models.iter().any(|model| model.calls > 0) {
            lines.push(Line::dim(&columns(
                "model not named",
                &count(calls),
                numbers(&rest),
                UNKNOWN,
            )));
        }
        lines.push(Line::dim(&"─".repeat(TOKENS)));
        let name = if is_loaded(run) {
            "loaded messages".into()
        } else {
            self.run_name(run)
        };
        let cost = self.cost(&run.models, run.work.usage);
        let totals = columns(
            &name,
            &count(run.work.calls),
            numbers(&run.work.usage),
            &cost,
        );
        lines.push(Line::strong(&totals));
        if runs.len() > 1 || (!is_loaded(run) && loaded.work.calls > 0) {
            let (mut sum, mut models, mut calls) = (Usage::default(), Vec::new(), 0);
            for run in &all {
                sum.add_change(Usage::default(), run.work.usage);
                models.extend(run.models.iter().cloned());
                calls += run.work.calls;
            }
            let name = match loaded.work.calls {
                0 => format!("{} runs read", text::count(runs.len() as u64)),
                _ => "loaded and read".into(),
            };
            let cost = self.cost(&models, sum);
            lines.push(Line::strong(&columns(
                &name,
                &count(calls),
                numbers(&sum),
                &cost,
            )));
        }
        let mut foot = Vec::new();
        if !self.prices.models.is_empty() {
            foot.push("prices: config".to_string());
        }
        foot.extend(
            run.work
                .tokens_per_second()
                .map(|rate| format!("{rate:.0} tok/s while {name} wrote")),
        );
        if !foot.is_empty() {
            lines.push(Line::dim(&foot.join(" · ")));
        }
        lines
    }

    fn run_name(&self, run: &RunMetrics) -> String {
        let entry = run
            .run_id
            .as_deref()
            .and_then(|id| self.projections.status.run(id));
        let id = || {
            run.run_id.as_deref().map_or("run".to_string(), |id| {
                format!("run {}", text::short_id(id))
            })
        };
        text::seen(&entry.map_or_else(id, |entry| entry.name()), NAME - 1)
    }

    /// Returns the cost of tokens, or a dash if the price of any of them is unknown.
    fn cost(&self, models: &[ModelMetrics], all: Usage) -> String {
        let mut named = Usage::default();
        models
            .iter()
            .for_each(|model| named.add_change(Usage::default(), model.usage));
        let cost = |model: &ModelMetrics| {
            let Usage {
                input,
                cached,
                output,
                reasoning,
                ..
            } = model.usage;
            if input + output == 0 {
                return Some(0.0);
            }
            Some(self.prices.of(&model.name)?.cost(Tokens {
                input,
                cached,
                output,
                reasoning,
            }))
        };
        let sum: Option<f64> = models.iter().map(cost).sum();
        let is_all = named.input == all.input && named.output == all.output;
        sum.filter(|_| is_all)
            .map_or_else(|| UNKNOWN.into(), |sum| self.prices.amount(sum))
    }

    /// Returns the visits, the time, the share and the tokens of each node of the newest run, and their sums.
    fn by_node(&self) -> Vec<Row> {
        let Some(run) = self.projections.metrics.runs().last() else {
            return Vec::new();
        };
        // In a closed stream nothing grows.
        let now = if self.open { self.now } else { Timestamp::MIN };
        let nodes = node_sums(run, &self.projections.timeline, now);
        if nodes.is_empty() {
            return Vec::new();
        }
        let sum = time_of_nodes(&nodes);
        let table = NodeTable::new(self.width, sum);
        let mut attempts = self
            .projections
            .timeline
            .attempts()
            .map(|(_, attempt)| attempt);
        let missing = attempts
            .rfind(|attempt| attempt.run_id == run.run_id)
            .and_then(Attempt::missing_steps);
        let missing = missing
            .map(|steps| format!(" · {steps}"))
            .unwrap_or_default();
        let title = format!("by node · {}{missing}", self.run_name(run));
        let mut rows = vec![line(section(&title, self.width)), line(table.head())];
        let omitted = nodes.len().saturating_sub(MAX_NODES);
        for (depth, node) in nested(&nodes).into_iter().take(MAX_NODES) {
            rows.push(Row {
                line: table.row(depth, node),
                seq: Some(node.seq),
            });
        }
        let rest = run.outside_nodes();
        if rest.input + rest.output > 0 {
            rows.push(line(table.total(Tone::Dim, "node not named", None, rest)));
        }
        if omitted > 0 {
            rows.push(line(Line::dim(&format!(
                "… {} more nodes",
                text::count(omitted as u64)
            ))));
        }
        if nodes.len() > 1 {
            let total = table.total(Tone::Strong, "all nodes", Some(sum), run.work.usage);
            rows.push(Row {
                line: total,
                seq: nodes.iter().map(|node| node.seq).max(),
            });
        }
        rows
    }
}

/// The columns of the table of nodes.
struct NodeTable {
    name: usize,
    bar: usize,
    /// The time of all nodes.
    sum: Duration,
}

impl NodeTable {
    fn new(width: usize, sum: Duration) -> NodeTable {
        let (name, bar) = if width >= MIN_WIDE {
            (24, 20)
        } else {
            (NAME, 10)
        };
        NodeTable { name, bar, sum }
    }

    fn head(&self) -> Line {
        let (name, share) = (self.name, self.bar + 6);
        let head = format!(
            "{:<name$}{:>6}{:>9}  {:<share$}{:>12}",
            "NODE", "VISITS", "TIME", "SHARE", "IN→OUT"
        );
        Line::dim(&head)
    }

    fn row(&self, depth: usize, node: &NodeSum<'_>) -> Line {
        let tone = Tone::label(node.own_name());
        let indent = (2 * depth).min(self.name / 2);
        let mut row = Line::plain(&" ".repeat(indent));
        let name = if depth > 0 {
            node.own_name()
        } else {
            &node.name
        };
        row.push(tone, &text::seen(name, self.name - 1 - indent));
        pad(&mut row, self.name);
        let visits = node
            .activity
            .as_ref()
            .map_or_else(|| UNKNOWN.into(), |activity| text::count(activity.visits));
        let tilde = if node
            .activity
            .as_ref()
            .is_some_and(|activity| activity.is_estimated)
        {
            "~"
        } else {
            ""
        };
        let time = node
            .time()
            .map_or_else(|| UNKNOWN.into(), |time| format!("{tilde}{}", span(time)));
        row.push_plain(&format!("{visits:>6}{time:>9}  "));
        let is_in_sum = node.is_root() || depth > 0;
        if let Some(time) = node.time().filter(|_| is_in_sum && !self.sum.is_zero()) {
            let share = time.as_secs_f64() / self.sum.as_secs_f64();
            row.push(tone, &strip::bar(share, self.bar));
            let tone = if depth > 0 { Tone::Dim } else { Tone::Plain };
            row.push(tone, &format!(" {:.0}%", share * 100.0));
        }
        self.tokens(
            &mut row,
            Tone::Plain,
            node.output
                .map(|output| output.work.usage)
                .unwrap_or_default(),
        );
        row
    }

    fn total(&self, tone: Tone, name: &str, time: Option<Duration>, usage: Usage) -> Line {
        let mut row = Line::of(tone, name);
        pad(&mut row, self.name + 6);
        let time = time
            .filter(|time| !time.is_zero())
            .map(span)
            .unwrap_or_default();
        row.push(tone, &format!("{time:>9}"));
        self.tokens(&mut row, tone, usage);
        row
    }

    fn tokens(&self, row: &mut Line, tone: Tone, usage: Usage) {
        if usage.input + usage.output > 0 {
            let tokens = format!("{}→{}", short_count(usage.input), short_count(usage.output));
            pad(row, self.name + 6 + 9 + 2 + self.bar + 6);
            row.push(tone, &format!("{tokens:>12}"));
        }
    }
}

fn line(line: Line) -> Row {
    Row { line, seq: None }
}

fn pad_name(name: &str) -> String {
    format!(
        "{name}{}",
        " ".repeat(NAME.saturating_sub(text::width(name)))
    )
}

fn numbers(usage: &Usage) -> [String; 4] {
    let number = |count: u64| {
        if count == 0 {
            "-".to_string()
        } else {
            text::count(count)
        }
    };
    [usage.input, usage.cached, usage.output, usage.reasoning].map(number)
}

/// Returns the rule above a section.
fn section(title: &str, width: usize) -> Line {
    let rule = "─".repeat(width.saturating_sub(title.len() + 4));
    Line::dim("── ")
        .with_plain(title)
        .with_dim(&format!(" {rule}"))
}

/// Places lines beside others that begin at a column.
fn beside(left: Vec<Line>, right: Vec<Line>, column: usize) -> Vec<Line> {
    let rows = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let mut row = || {
        let mut line = left.next().unwrap_or_default();
        if let Some(right) = right.next() {
            pad(&mut line, column);
            line.left.extend(right.left);
        }
        line
    };
    (0..rows).map(|_| row()).collect()
}
