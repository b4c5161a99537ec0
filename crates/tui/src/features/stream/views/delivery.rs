//! The lines of the Delivery view: received and possibly missing events, the age of the last event and heartbeat, and
//! the numbers of each event type, node, model, connection and run. Sections that grow come last.

use super::{UNKNOWN, clock, first_token, pad};
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::status::{precise, run_duration, span, tones};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use runtail_core::text;
use runtail_stream::projection::{
    Connection, DeliveryLog, Liveness, ModelMetrics, NodeSum, Projections, RunMetrics, Timeline,
    Usage, Work, is_start, node_sums,
};
use runtail_stream::{EventLog, Outcome, Seq};
use std::time::Duration;

/// Maximum number of connections, runs and gaps listed on screen, newest first.
const MAX_LISTED: usize = 50;
/// Minimum columns of a name, and of a number.
const NAME: usize = 20;
const NUMBER: usize = 9;
/// Minimum columns of a gap's reason, and its maximum bytes.
const MIN_REASON: usize = 20;
const MAX_REASON: usize = 2 << 10;

/// A line of the view, and the event that it opens.
#[derive(Debug, Clone, Default)]
pub struct Row {
    pub line: Line,
    /// The newest event of its type, or the first one of its run.
    pub seq: Option<Seq>,
}

/// The context of the view.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The time that ages count to.
    pub now: Timestamp,
    /// Whether more events may arrive, so that ages keep counting.
    pub open: bool,
    /// Whether there is a server to load the state from.
    pub has_server: bool,
    /// The width of the view in columns.
    pub width: usize,
}

/// Returns all lines.
pub fn rows(
    projections: &Projections,
    event_log: &EventLog,
    options: Options,
    tz: &TimeZone,
) -> Vec<Row> {
    let Options {
        now,
        open,
        has_server,
        width,
    } = options;
    build(
        projections,
        event_log,
        has_server,
        Report {
            rows: Vec::new(),
            now,
            open,
            width,
            column: NUMBER,
            listed: MAX_LISTED,
            tz,
        },
    )
}

/// Returns all lines for an export: not truncated, and with times instead of ages.
pub fn export_rows(
    projections: &Projections,
    event_log: &EventLog,
    now: Timestamp,
    tz: &TimeZone,
) -> Vec<Row> {
    let (open, width, listed) = (false, usize::MAX, usize::MAX);
    build(
        projections,
        event_log,
        false,
        Report {
            rows: Vec::new(),
            now,
            open,
            width,
            column: NUMBER,
            listed,
            tz,
        },
    )
}

fn build(
    projections: &Projections,
    event_log: &EventLog,
    has_server: bool,
    mut report: Report<'_>,
) -> Vec<Row> {
    let delivery = &projections.delivery;
    let open = report.open;
    report.totals(delivery, event_log);
    report.gaps(delivery, event_log);
    if has_server && delivery.gaps > 0 {
        let note = "Events in a gap can't be loaded again. Press 3 for the current state.";
        for row in wrap(note, report.width.saturating_sub(2)) {
            report.push(Line::dim(&format!("  {row}")), None);
        }
    }
    if open {
        report.last_seen(delivery);
    }
    report.types(delivery);
    let runs = projections.metrics.runs();
    if let Some(run) = runs.last() {
        report.nodes(
            run,
            &projections.timeline,
            if runs.len() > 1 { ", newest run" } else { "" },
        );
    }
    report.connections(delivery.connections(), delivery.connections().evicted());
    report.runs(projections, runs.evicted());
    report.rows
}

struct Report<'a> {
    rows: Vec<Row>,
    now: Timestamp,
    open: bool,
    /// The width of the view.
    width: usize,
    /// The width of a number in the current section.
    column: usize,
    /// How many connections, runs and gaps are listed, newest first.
    listed: usize,
    tz: &'a TimeZone,
}

impl Report<'_> {
    fn push(&mut self, line: Line, seq: Option<Seq>) {
        self.rows.push(Row { line, seq });
    }

    /// Adds the title of a section, with its column headings.
    fn title(&mut self, title: &str, columns: &[&str]) {
        if !self.rows.is_empty() {
            self.push(Line::new(), None);
        }
        let mut line = Line::strong(title);
        if !columns.is_empty() {
            pad(&mut line, NAME);
        }
        // Column headings never touch.
        let longest = columns
            .iter()
            .map(|column| text::width(column) + 1)
            .max()
            .unwrap_or(0);
        self.column = longest.max(NUMBER);
        for column in columns {
            line.push_dim(&format!("{column:>room$}", room = self.column));
        }
        self.push(line, None);
    }

    /// Adds a row of numbers under the column headings.
    fn numbers(&mut self, name: Line, numbers: &[String], seq: Option<Seq>) {
        let mut line = name;
        pad(&mut line, NAME);
        for number in numbers {
            line.push(
                if number == "0" || number == UNKNOWN {
                    Tone::Dim
                } else {
                    Tone::Plain
                },
                &format!("{number:>room$}", room = self.column),
            );
        }
        self.push(line, seq);
    }

    /// Returns a time of day, or the date of another day.
    fn clock(&self, at: impl Into<Option<Timestamp>>) -> String {
        let at = at.into();
        let is_today = |at: &Timestamp| {
            self.now.to_zoned(self.tz.clone()).date() == at.to_zoned(self.tz.clone()).date()
        };
        match at.filter(|at| !is_today(at)) {
            Some(at) => at.to_zoned(self.tz.clone()).strftime("%d %b").to_string(),
            None => clock(at, self.tz),
        }
    }

    fn ago(&self, at: Timestamp) -> String {
        // In a closed stream an age would count forever.
        match self.open {
            true => {
                text::duration(Duration::try_from(self.now.duration_since(at)).unwrap_or_default())
            }
            false => self.clock(at),
        }
    }

    fn totals(&mut self, delivery: &DeliveryLog, event_log: &EventLog) {
        self.title("EVENTS", &["events", "bytes"]);
        let (evicted, evicted_bytes) = (event_log.evicted_rows(), event_log.evicted_bytes());
        let in_memory = (
            event_log.len() as u64,
            delivery.bytes.saturating_sub(evicted_bytes),
        );
        let mut totals = vec![(
            "received",
            delivery.received,
            Some(delivery.bytes),
            Tone::Plain,
        )];
        if evicted > 0 {
            totals.push(("in memory", in_memory.0, Some(in_memory.1), Tone::Plain));
            totals.push(("evicted", evicted, Some(evicted_bytes), Tone::Plain));
        }
        // Zero counts are hidden.
        let problems = [
            ("duplicates", delivery.duplicates, Tone::Plain),
            ("out of order", delivery.late, Tone::Plain),
            ("gaps", delivery.gaps, Tone::Strong),
            ("malformed", delivery.malformed, Tone::Bad),
            ("oversized", delivery.too_large, Tone::Bad),
        ];
        totals.extend(
            problems
                .into_iter()
                .filter(|(_, n, _)| *n > 0)
                .map(|(label, n, tone)| (label, n, None, tone)),
        );
        for (label, n, bytes, tone) in totals {
            let mut numbers = vec![text::count(n)];
            numbers.extend(bytes.map(text::bytes));
            self.numbers(Line::of(tone, &format!("  {label}")), &numbers, None);
        }
    }

    /// Adds the gaps and their reasons.
    fn gaps(&mut self, delivery: &DeliveryLog, event_log: &EventLog) {
        let all = delivery.possible_gaps();
        if let Some(why) = &delivery.before_opening {
            self.push(
                Line::dim(&format!("  {}", text::head(why, MAX_REASON))),
                None,
            );
        }
        if all.is_empty() {
            return;
        }
        self.title("GAPS", &[]);
        let from = all.len().saturating_sub(self.listed);
        self.omitted(all.evicted() + from as u64);
        for gap in &all[from..] {
            let mut line = Line::dim(&format!("  {}  ", self.clock(gap.at)));
            match gap.after {
                Seq::START => line.push_plain("before the first event"),
                after => line.push_plain(&format!(
                    "after event {}",
                    text::count(event_log.number_of(after).0)
                )),
            }
            line.push_plain(": ");
            let seq = Some(gap.after).filter(|after| *after > Seq::START);
            let indent = line.width();
            for row in wrap(
                text::head(&gap.why, MAX_REASON),
                self.width.saturating_sub(indent).max(MIN_REASON),
            ) {
                line.push_plain(&row);
                self.push(
                    std::mem::replace(&mut line, Line::plain(&" ".repeat(indent))),
                    seq,
                );
            }
        }
    }

    fn last_seen(&mut self, delivery: &DeliveryLog) {
        self.title("LAST SEEN", &[]);
        let ago = |at: Option<Timestamp>| {
            at.map_or("none yet".to_string(), |at| format!("{} ago", self.ago(at)))
        };
        let last_event = match delivery.last_event_at {
            None if delivery.received > 0 => "time unknown (replayed)".to_string(),
            at => ago(at),
        };
        let event = Line::plain(&format!("  last event      {last_event}"));
        let mut heartbeat = Line::plain("  last heartbeat  ");
        match (delivery.heartbeats, delivery.heartbeat_interval()) {
            (0, _) => heartbeat.push_plain("none yet"),
            (_, heartbeat_interval) => {
                heartbeat.push_plain(&ago(delivery.last_alive_at));
                let every = heartbeat_interval
                    .map(|interval| format!(" · every {}s", interval.as_secs_f64().round()))
                    .unwrap_or_default();
                heartbeat.push_dim(&every);
            }
        }
        if let Some(warning) = pulse(delivery, self.now) {
            heartbeat.push_plain("  ");
            heartbeat.left.extend(warning.left);
        }
        self.push(event, None);
        self.push(heartbeat, None);
    }

    fn types(&mut self, delivery: &DeliveryLog) {
        if delivery.received == 0 {
            return;
        }
        self.title(
            "BY TYPE",
            &["events", "bytes", if self.open { "ago" } else { "last" }],
        );
        for totals in delivery.names() {
            let numbers = [
                text::count(totals.events),
                text::bytes(totals.bytes),
                totals
                    .last_at
                    .map_or_else(|| UNKNOWN.into(), |at| self.ago(at)),
            ];
            let name = Line::plain(&text::seen(&format!("  {}", totals.name), NAME));
            self.numbers(name, &numbers, Some(totals.last_seq));
        }
    }

    /// Adds the numbers of each node in a run, and of each model. `suffix` names the run if there are several.
    fn nodes(&mut self, run: &RunMetrics, timeline: &Timeline, suffix: &str) {
        let nodes = node_sums(
            run,
            timeline,
            if self.open { self.now } else { Timestamp::MIN },
        );
        if !nodes.is_empty() {
            self.title(
                &format!("NODES{suffix}"),
                &["visits", "time", "TTFT", "tok/s", "chunks/s", "tokens"],
            );
            for node in &nodes {
                let name = Line::of(
                    Tone::label(node.own_name()),
                    &text::seen(&format!("  {}", node.name), NAME),
                );
                self.numbers(name, &node_numbers(node), Some(node.seq));
            }
        }
        let models: Vec<&ModelMetrics> =
            run.models.iter().filter(|model| model.calls > 0).collect();
        if !models.is_empty() {
            self.title(
                &format!("MODELS{suffix}"),
                &["calls", "input", "cached", "output", "reasoning", "total"],
            );
            for model in models {
                let name = Line::plain(&text::seen(&format!("  {}", model.name), NAME));
                self.numbers(name, &calls_and_tokens(model.calls, &model.usage), None);
            }
            let (rest, calls) = run.unnamed();
            if calls > 0 {
                self.numbers(
                    Line::dim("  not named"),
                    &calls_and_tokens(calls, &rest),
                    None,
                );
            }
        }
    }

    fn connections(&mut self, all: &[Connection], evicted: u64) {
        if all.is_empty() {
            return;
        }
        self.title("CONNECTIONS", &["opened", "lasted", "status", "events"]);
        let from = all.len().saturating_sub(self.listed);
        self.omitted(evicted + from as u64);
        for connection in &all[from..] {
            let lasted = match (connection.closed, self.open) {
                (None, false) => UNKNOWN.to_string(),
                (closed, _) => span(closed.unwrap_or(self.now).duration_since(connection.opened)),
            };
            let opened = self.clock(connection.opened);
            let numbers = [
                opened,
                lasted,
                connection.status.to_string(),
                text::count(connection.events),
            ];
            self.numbers(
                Line::plain(&format!("  {}", connection.conn)),
                &numbers,
                None,
            );
            let Some(Row { line, .. }) = self.rows.last_mut() else {
                continue;
            };
            line.push_dim(&match &connection.reason {
                Some(reason) => format!("  closed: {reason}"),
                None if !self.open => "  end not recorded".to_string(),
                None => "  open".to_string(),
            });
            match connection.resumed_after.as_deref() {
                Some(id) if is_start(id) => line.push_dim(", replayed"),
                Some(id) => line.push_dim(&format!(", after {}", text::short_id(id))),
                None => {}
            }
        }
    }

    fn runs(&mut self, projections: &Projections, evicted: u64) {
        let all = projections.metrics.runs();
        if all.is_empty() {
            return;
        }
        self.title(
            "RUNS",
            &["began", "took", "queued", "response", "1st token", "tok/s"],
        );
        let from = all.len().saturating_sub(self.listed);
        self.omitted(evicted + from as u64);
        for run in &all[from..] {
            let entry = match run.run_id.as_deref() {
                Some(id) => projections.status.run(id),
                None => projections.status.unnamed_run(run.seq),
            };
            let summary = entry.map(|entry| super::runs::describe(entry, projections));
            let (glyph, tone) = match &summary {
                Some(summary) => (summary.role.glyph(), tones(summary.role).0),
                None => run_glyph(run),
            };
            let id = run.run_id.as_deref().map(text::short_id);
            let name = id.map_or_else(
                || "run without id".into(),
                |id| entry.map_or(id, |entry| entry.name()),
            );
            let wait = |wait: Option<SignedDuration>| wait.map_or_else(|| UNKNOWN.into(), precise);
            let recorded = entry.and_then(|entry| entry.took());
            let took =
                recorded.or_else(|| run.took(self.now).filter(|_| self.open || !run.is_open()));
            let began = entry.and_then(|entry| entry.began).or(run.start());
            let numbers = [
                self.clock(began),
                took.map_or_else(|| UNKNOWN.into(), run_duration),
                wait(run.waited()),
                wait(run.to_first_event()),
                wait(run.to_first_token()),
                rate(run.work.tokens_per_second()),
            ];
            self.numbers(
                Line::of(tone, glyph).with_plain(&format!(" {name}")),
                &numbers,
                Some(run.seq),
            );
            let outcome = summary.map(|summary| summary.outcome);
            self.push(
                Line::dim(&format!("  {}", run_details(run, outcome))),
                Some(run.seq),
            );
        }
    }

    fn omitted(&mut self, n: u64) {
        if n > 0 {
            self.push(
                Line::dim(&format!("  … {} earlier ones", text::count(n))),
                None,
            );
        }
    }
}

fn run_glyph(run: &RunMetrics) -> (&'static str, Tone) {
    match (run.outcome, run.is_open()) {
        (Some(Outcome::Success), _) => ("●", Tone::Good),
        (Some(Outcome::Error | Outcome::Timeout), _) => ("✗", Tone::Bad),
        (Some(Outcome::Interrupted), _) => ("◆", Tone::Plain),
        (_, true) => ("◐", Tone::Moving),
        (_, false) if run.failed => ("✗", Tone::Bad),
        (_, false) => ("■", Tone::Plain),
    }
}

/// Returns the other numbers of a run as text. `outcome` is known from the thread's runs.
fn run_details(run: &RunMetrics, outcome: Option<String>) -> String {
    let plural = |n: u64, word: &str| {
        (n > 0).then(|| format!("{} {word}{}", text::count(n), if n == 1 { "" } else { "s" }))
    };
    let mut parts: Vec<String> = outcome
        .or_else(|| run.outcome.map(|outcome| outcome.as_str().to_string()))
        .into_iter()
        .collect();
    parts.extend(plural(run.work.messages, "message"));
    parts.extend(plural(run.work.tool_calls, "tool call"));
    parts.extend(plural(run.work.errors, "error"));
    parts.extend(plural(run.work.chunks, "chunk"));
    if run.work.chunks_per_second().is_some() {
        parts.push(format!("{}/s", rate(run.work.chunks_per_second())));
    }
    if run.work.usage != Usage::default() {
        parts.push(token_counts(&run.work));
    }
    if run.attempts > 1 {
        parts.push(format!("attempt {}, {} lost", run.attempts, span(run.lost)));
    }
    parts.join(" · ")
}

fn token_counts(work: &Work) -> String {
    let Usage {
        input,
        output,
        cached,
        reasoning,
        ..
    } = work.usage;
    let part = |n: u64, label: &str| {
        if n > 0 {
            format!(" ({} {label})", text::count(n))
        } else {
            String::new()
        }
    };
    let (cached, reasoning) = (part(cached, "cached"), part(reasoning, "reasoning"));
    format!(
        "{} in{cached} {} out{reasoning}",
        text::count(input),
        text::count(output)
    )
}

fn calls_and_tokens(calls: u64, usage: &Usage) -> [String; 6] {
    [
        calls,
        usage.input,
        usage.cached,
        usage.output,
        usage.reasoning,
        usage.total,
    ]
    .map(text::count)
}

fn node_numbers(node: &NodeSum<'_>) -> [String; 6] {
    let unknown = || UNKNOWN.to_string();
    let work = node.output.map(|output| &output.work);
    [
        // For a node known only from its messages, the number of executions is unknown.
        node.activity
            .as_ref()
            .map_or_else(unknown, |activity| text::count(activity.visits)),
        node.time()
            .and_then(|time| SignedDuration::try_from(time).ok())
            .map_or_else(unknown, precise),
        node.first_token().map_or_else(unknown, first_token),
        rate(work.and_then(Work::tokens_per_second)),
        rate(work.and_then(Work::chunks_per_second)),
        work.map_or_else(unknown, |work| text::count(work.usage.output)),
    ]
}

fn rate(rate: Option<f64>) -> String {
    match rate {
        None => UNKNOWN.into(),
        Some(rate) if rate < 10.0 => format!("{rate:.1}"),
        Some(rate) => text::count(rate.round() as u64),
    }
}

/// Returns a warning about a silent connection, or about a silent server without heartbeats.
pub fn pulse(delivery: &DeliveryLog, now: Timestamp) -> Option<Line> {
    match delivery.pulse(now) {
        // The ages of the last event and heartbeat are enough.
        Liveness::Even | Liveness::Quiet(_) => None,
        Liveness::Silent(silent) => {
            Some(Line::moving("◌ ").with_plain(&format!("no heartbeat for {}", text::age(silent))))
        }
        // A server without heartbeats gets a softer note.
        Liveness::Unheard(quiet) => Some(
            Line::plain(&format!("◌ no event for {}", text::age(quiet)))
                .with_dim(", no heartbeats here"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtail_stream::projection::Projections;
    use runtail_stream::{Item, Record};

    fn text_of(rows: &[Row]) -> String {
        rows.iter()
            .map(|row| row.line.text())
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn connections_show_why_they_closed_and_old_ones_are_counted() {
        let at = |s| Timestamp::from_second(s).unwrap();
        let mut projections = Projections::default();
        for conn in 1..=60 {
            let (opened, after) = (
                i64::from(conn) * 10,
                (conn > 1).then(|| "1795224332619-0".to_string()),
            );
            let open = Record::Open {
                at: at(opened),
                conn,
                status: 200,
                resumed_after: after,
            };
            projections.apply(&Item::Record(open));
            let close = Record::Close {
                at: at(opened + 7),
                conn,
                reason: "reset".into(),
            };
            projections.apply(&Item::Record(close));
        }
        let event_log = EventLog::default();
        let options = Options {
            now: at(1000),
            open: false,
            has_server: true,
            width: 100,
        };
        let rows = rows(&projections, &event_log, options, &TimeZone::UTC);
        let text = text_of(&rows);
        assert!(text.contains("… 10 earlier ones"), "{text}");
        assert!(
            text.contains("7s") && text.contains("closed: reset, after 17952243…19-0"),
            "{text}"
        );
        assert!(rows.len() < 80 && rows.iter().all(|row| row.seq.is_none()));
    }

    #[test]
    fn a_silent_connection_is_reported() {
        let at = |s| Timestamp::from_second(s).unwrap();
        let mut projections = Projections::default();
        let open = Record::Open {
            at: at(0),
            conn: 1,
            status: 200,
            resumed_after: None,
        };
        projections.apply(&Item::Record(open));
        let summary = |p: &Projections, s| pulse(&p.delivery, at(s)).map(|line| line.text());
        assert_eq!(summary(&projections, 5), None);
        assert_eq!(
            summary(&projections, 45).unwrap(),
            "◌ no event for 45s, no heartbeats here"
        );
        for s in 1..9 {
            projections.apply(&Item::Heartbeat { at: at(s * 5) });
        }
        assert_eq!(summary(&projections, 44), None);
        assert_eq!(summary(&projections, 62).unwrap(), "◌ no heartbeat for 22s");
    }
}
