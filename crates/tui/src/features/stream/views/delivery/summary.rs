//! The summary of the Delivery view: problems first, what was verified, the connection, latencies, tokens with their
//! cost, and the time of each node. Everything is also text, for copies and exports.

use crate::features::stream::views::{UNKNOWN, pad};
use crate::widgets::histogram::Histogram;
use crate::widgets::line::{Line, Tone};
use crate::widgets::strip;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use runtail_core::config::prices::{Prices, Tokens};
use runtail_core::text;
use runtail_core::text::span;
use runtail_stream::projection::{
    BarKind, DeliveryLog, Message, ModelMetrics, Projections, RunMetrics, Usage,
};
use runtail_stream::{EventLog, Seq};
use std::time::Duration;

/// Maximum bytes of a gap's reason.
pub(super) const MAX_REASON: usize = 1_000;
/// Minimum width for latencies and tokens side by side.
pub(super) const MIN_WIDE: usize = 126;
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
pub(super) const NAME: usize = 18;

/// What the rows were computed for: the second, the width, and what they show.
type RowsShown = (i64, usize, u64);

/// A line of the view, and the event that it opens.
#[derive(Debug, Clone, Default)]
pub struct DeliveryRow {
    pub line: Line,
    /// The newest event of its type, or the first one of its run.
    pub seq: Option<Seq>,
}

/// What the Delivery view keeps.
#[derive(Debug, Default)]
pub struct DeliveryState {
    pub prices: Prices,
    pub(super) rows: Vec<DeliveryRow>,
    /// Number of rows with problems, which come first.
    pub(super) problems: usize,
    pub(super) version: Option<RowsShown>,
}

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
    pub fn rows(&self) -> (Vec<DeliveryRow>, usize) {
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

    pub(super) fn delivery(&self) -> &DeliveryLog {
        &self.projections.delivery
    }

    pub(super) fn clock(&self, at: Timestamp) -> String {
        at.to_zoned(self.tz.clone())
            .strftime("%H:%M:%S.%3f")
            .to_string()
    }

    /// Returns the sentence that says what was verified, and since when.
    fn verified(&self) -> DeliveryRow {
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

    pub(super) fn run_name(&self, run: &RunMetrics) -> String {
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
    pub(super) fn cost(&self, models: &[ModelMetrics], all: Usage) -> String {
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
}

/// Returns a row without an event.
pub(super) fn line(line: Line) -> DeliveryRow {
    DeliveryRow { line, seq: None }
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
pub(super) fn section(title: &str, width: usize) -> Line {
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
