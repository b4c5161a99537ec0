//! The delivery report of a stream: what may be missing, what was verified, the connections, latencies, tokens and costs, and the
//! time of each node. It stands still while it is read, and can be copied as text.

mod tables;

pub use tables::cost_of;

use super::StreamState;
use super::viewer::{ConnectionState, Viewer};
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::destination::Destination;
use crate::session::{Cx, GUTTER, Page, Request, Requests, Route};
use crate::widgets::line::{Line, Tone, marked};
use crate::widgets::table::{MAX_COLUMN, TableColumns};
use jiff::Timestamp;
use runtail_core::text;
use runtail_stream::{EventNumber, Seq};

/// Maximum number of gaps listed, and bytes of the reason of one.
const MAX_GAPS: usize = 5;
const MAX_REASON: usize = 1_000;
/// Columns of the report as text.
const TEXT_WIDTH: usize = 120;

/// A sentence with its mark.
#[derive(Debug, Clone)]
struct Remark {
    mark: (Tone, &'static str),
    tone: Tone,
    text: String,
}

/// A part of the report: sentences, and a table.
#[derive(Debug, Clone, Default)]
struct Chapter {
    title: String,
    remarks: Vec<Remark>,
    titles: &'static [&'static str],
    /// The number of the last column whose cells are at the right; the first one is at the left.
    last_number: usize,
    /// The cells of the table.
    rows: Vec<Vec<Line>>,
    /// Lines below the table.
    below: Vec<Line>,
}

impl Chapter {
    fn lines(&self, width: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        if !self.title.is_empty() {
            lines.extend([Line::new(), Line::of(Tone::Strong, &self.title)]);
        }
        for Remark { mark, tone, text } in &self.remarks {
            lines.extend(marked(*mark, *tone, text, width));
        }
        if !self.rows.is_empty() {
            let texts = |row: &Vec<Line>| row.iter().map(Line::text).collect();
            let texts: Vec<Vec<String>> = self.rows.iter().map(texts).collect();
            let columns = TableColumns::of_cells(width, self.titles, &texts, MAX_COLUMN)
                .aligned_right(1..self.last_number + 1);
            lines.push(columns.head());
            lines.extend(self.rows.iter().map(|row| columns.line(row.clone())));
        }
        lines.extend(self.below.iter().cloned());
        lines
    }
}

/// The page with the report.
#[derive(Debug, Clone)]
pub struct DeliveryReport {
    about: String,
    /// What the copied text begins with, for readers who did not see the stream.
    head: String,
    chapters: Vec<Chapter>,
    /// The event after the newest gap.
    gap: Option<EventNumber>,
    profile: Option<String>,
}

impl DeliveryReport {
    fn new(viewer: &Viewer) -> DeliveryReport {
        let delivery = &viewer.projections.delivery;
        let gap = delivery.possible_gaps().last().map(|gap| gap.after.next());
        let gap = gap.filter(|seq| viewer.event_log.get(*seq).is_some());
        let at = clock(viewer, viewer.now);
        DeliveryReport {
            about: format!("{} · as of {at}", super::tab_bar::name(viewer)),
            head: head(viewer),
            chapters: std::iter::once(delivered(viewer))
                .chain(tables::chapters(viewer))
                .collect(),
            gap: gap.map(|seq| viewer.event_log.number_of(seq)),
            profile: (!viewer.is_recording()).then(|| viewer.server.profile.to_string()),
        }
    }

    fn all_lines(&self, width: usize) -> Vec<Line> {
        let chapters = self.chapters.iter();
        chapters.flat_map(|chapter| chapter.lines(width)).collect()
    }
}

impl Page for DeliveryReport {
    fn context(&self) -> Context {
        Context::Report
    }

    fn title(&self, _cx: &Cx<'_>) -> (&'static str, String) {
        ("Delivery", self.about.clone())
    }

    fn lines(&self, _cx: &Cx<'_>, width: usize) -> Vec<Line> {
        self.all_lines(width.saturating_sub(GUTTER.into()))
    }

    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        Commands::of(Context::Report)
            .exist_if(self.gap.is_some(), &["report.go"])
            .own(&["app.copy"])
            .footer(&["report.go", "report.refresh", "app.copy", "app.back"])
    }

    fn action(&mut self, _cx: &Cx<'_>, action: Action) -> Requests {
        match (action, self.gap) {
            (Action::Open, Some(event)) => {
                let event = Destination::Address(format!("#{event}"));
                Requests::from(Request::Close).and(Request::Go(event))
            }
            (Action::Refresh, _) => Requests::from(Request::Close).and(Route::DeliveryReport),
            _ => Requests::none(),
        }
    }

    fn copied(&self) -> Option<String> {
        let lines = self.all_lines(TEXT_WIDTH);
        let lines = lines
            .iter()
            .map(|line| format!("{}\n", line.text().trim_end()));
        Some(format!("{}\n{}", self.head, lines.collect::<String>()))
    }

    fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }
}

impl StreamState {
    /// Creates the report about the shown stream.
    ///
    /// # Errors
    /// Says why there is nothing to report.
    pub fn delivery_report(&self) -> Result<DeliveryReport, Requests> {
        let Some(viewer) = self.tabs.shown() else {
            return Err(Requests::error("No stream is shown."));
        };
        match is_useful(viewer) {
            true => Ok(DeliveryReport::new(viewer)),
            false => Err(Requests::info("No events were received.")),
        }
    }
}

/// Returns whether there is anything to report: events, a gap, or the usage of loaded messages. A checkpoint has none.
pub(super) fn is_useful(viewer: &Viewer) -> bool {
    let delivery = &viewer.projections.delivery;
    let messages = || viewer.projections.messages.items().iter();
    let has_usage = || messages().any(|message| message.is_loaded && message.usage.is_some());
    viewer.shown_checkpoint().is_none()
        && (delivery.received > 0 || delivery.gaps > 0 || has_usage())
}

fn clock(viewer: &Viewer, at: Timestamp) -> String {
    let at = at.to_zoned(viewer.tz.clone());
    at.strftime("%H:%M:%S").to_string()
}

/// Returns the problems, and what was verified.
fn delivered(viewer: &Viewer) -> Chapter {
    let mut remarks = gaps(viewer);
    remarks.extend(affected_events(viewer));
    let before = viewer.projections.delivery.before_opening.iter();
    remarks.extend(before.map(|why| Remark {
        mark: (Tone::Dim, "· "),
        tone: Tone::Dim,
        text: text::head(why, MAX_REASON).to_string(),
    }));
    remarks.push(verified(viewer));
    Chapter {
        remarks,
        ..Chapter::default()
    }
}

/// Returns the gaps, newest first.
fn gaps(viewer: &Viewer) -> Vec<Remark> {
    let gaps = viewer.projections.delivery.possible_gaps();
    let time = |seq: Seq| viewer.event_log.time(seq).map(|at| clock(viewer, at));
    let mut remarks: Vec<Remark> = Vec::new();
    for gap in gaps.iter().rev().take(MAX_GAPS) {
        let before = time(gap.after).filter(|_| gap.after > Seq::START);
        let when = match (before, time(gap.after.next())) {
            (Some(from), Some(to)) if from != to => format!("between {from} and {to}"),
            (Some(from), _) => format!("after {from}"),
            (None, Some(to)) => format!("before {to}"),
            (None, None) => format!("at {}", clock(viewer, gap.at)),
        };
        let why = text::head(&gap.why, MAX_REASON);
        remarks.push(Remark {
            mark: (Tone::Moving, "? "),
            tone: Tone::Plain,
            text: format!("Events {when} may be missing: {why}"),
        });
    }
    let earlier = gaps.evicted() + gaps.len().saturating_sub(MAX_GAPS) as u64;
    if earlier > 0 {
        remarks.push(Remark {
            mark: (Tone::Moving, "? "),
            tone: Tone::Plain,
            text: text::counted(earlier, "earlier gap"),
        });
    }
    if !remarks.is_empty() && !viewer.is_recording() {
        remarks.push(Remark {
            mark: (Tone::Dim, "  "),
            tone: Tone::Dim,
            text: "They can't be loaded again. State (3) is current.".into(),
        });
    }
    remarks
}

/// Returns how many events have a problem of each kind.
fn affected_events(viewer: &Viewer) -> Vec<Remark> {
    let delivery = &viewer.projections.delivery;
    let bad = (Tone::Bad, "✗ ");
    let unsure = (Tone::Dim, "? ");
    let counts = [
        (delivery.too_large, bad, "oversized: cut"),
        (delivery.malformed, bad, "malformed: no JSON"),
        (
            viewer.event_log.evicted_rows(),
            unsure,
            "evicted from memory",
        ),
        (delivery.late, unsure, "out of order by id"),
        (delivery.duplicates, unsure, "received twice and skipped"),
    ];
    let present = counts.into_iter().filter(|(count, ..)| *count > 0);
    let remark = |(count, mark, what): (u64, (Tone, &'static str), &str)| Remark {
        mark,
        tone: Tone::Plain,
        text: format!("{} {what}", text::counted(count, "event")),
    };
    present.map(remark).collect()
}

/// Returns what was verified, and since when.
fn verified(viewer: &Viewer) -> Remark {
    let delivery = &viewer.projections.delivery;
    let events = text::counted(delivery.received, "event");
    let is_clean = delivery.late == 0 && delivery.duplicates == 0;
    let after_gap = delivery.possible_gaps().last().map(|gap| gap.at);
    let since = after_gap.or(delivery.first_event_at);
    let since = since.map_or(String::new(), |at| format!(" since {}", clock(viewer, at)));
    let (is_good, text) = match (delivery.received, delivery.has_ids(), is_clean) {
        (0, ..) => (false, "No events received.".to_string()),
        (_, true, true) => (
            true,
            format!("{events}, in order, no duplicates{since} (checked by id)"),
        ),
        (_, true, false) => (false, format!("{events}, checked by id")),
        (_, false, _) => (
            false,
            format!("{events} without ids: order and duplicates unchecked"),
        ),
    };
    Remark {
        mark: if is_good {
            (Tone::Good, "● ")
        } else {
            (Tone::Dim, "? ")
        },
        tone: Tone::Plain,
        text,
    }
}

/// Returns the stream and its period.
fn head(viewer: &Viewer) -> String {
    let day = |at: Timestamp| {
        let at = at.to_zoned(viewer.tz.clone());
        at.strftime("%Y-%m-%d %H:%M:%S %:z").to_string()
    };
    let delivery = &viewer.projections.delivery;
    let opened = delivery.connections().first();
    let opened = opened
        .map(|connection| connection.opened)
        .or(delivery.first_event_at);
    let (ended, status) = match (&viewer.connection, viewer.playhead()) {
        (_, Some(playhead)) => {
            let [at, newest] =
                [playhead.at, playhead.span.1].map(|seq| viewer.event_log.events_until(seq).0);
            ("shown", format!("event {at} of {newest}"))
        }
        (ConnectionState::Ended(end), None) => {
            let why = end.detail.as_deref().map(|why| format!(": {why}"));
            let why = why.unwrap_or_default();
            (
                "ended",
                format!("{}, {}{why}", day(end.at), end.outcome.as_str()),
            )
        }
        (ConnectionState::Failed(error), None) => ("ended", format!("failed: {error}")),
        (_, None) => ("ended", "no, still open".to_string()),
    };
    let fields = [
        (
            "server",
            Some(format!("{}, {}", viewer.server.name, viewer.server.url)),
        ),
        ("thread", viewer.thread_id.clone()),
        ("run", viewer.run_id.clone()),
        ("opened", opened.map(day)),
        (ended, Some(status)),
        ("written", Some(day(viewer.now))),
    ];
    let field = |(name, value): (&str, Option<String>)| {
        let value = value?.replace('\n', " ");
        Some(format!("{name:<9} {}\n", text::clean(&value)))
    };
    let fields: String = fields.into_iter().filter_map(field).collect();
    format!("Delivery report\n\n{fields}")
}
