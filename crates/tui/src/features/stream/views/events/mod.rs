//! The Events view: every event, summarized or as received. Above the events, one line says how they were delivered, and filters
//! them.

mod head;

pub use head::EventsState;

use super::stream_view::{Around, EVENTS, StreamView, ViewFacts, ViewLayout, ViewRows};
use super::{UNKNOWN, View, clock, namespace};
use crate::features::stream::commands::for_thread;
use crate::features::stream::formats::{Format, Part};
use crate::features::stream::report;
use crate::features::stream::summary;
use crate::features::stream::viewer::Viewer;
use crate::input::action::Action;
use crate::input::commands::Commands;
use crate::session::msg::Chunk;
use crate::session::{Requests, Route, Session};
use crate::widgets::line::{Line, Tone};
use crate::widgets::scroll::{Flat, LinePos};
use crate::widgets::table::{REST, TableColumns};
use runtail_core::text::markdown::inline;
use runtail_core::text::{bytes, clean, seen};
use runtail_stream::{Data, Event, Seq};
use std::borrow::Cow;

/// Minimum width for a column of the namespaces.
const MIN_WIDE: usize = 100;
/// Columns of the name of an event, and of its namespace.
const NAME: usize = 16;
const NS: usize = 14;

/// The Events view.
pub struct EventsTab;

impl StreamView for EventsTab {
    fn facts(&self) -> ViewFacts {
        ViewFacts {
            title: "Events",
            ..EVENTS
        }
    }

    fn count(&self, viewer: &Viewer) -> u64 {
        match viewer.has_only_snapshots() {
            true => 0,
            false => viewer.event_log.last_seq().0,
        }
    }

    /// Records that were loaded are events of the log, but the stream sent none of them.
    fn entries<'a>(&self, viewer: &'a Viewer) -> ViewRows<'a> {
        if viewer.has_only_snapshots() {
            return ViewRows::Flat(Flat::default());
        }
        let end = viewer.event_log.last_seq().next();
        ViewRows::Flat(Flat {
            first: viewer.event_log.first_seq().unwrap_or(end).0,
            end: end.0,
        })
    }

    fn line(&self, viewer: &Viewer, spot: LinePos, width: usize) -> Option<Line> {
        let event = viewer.event_log.get(Seq(spot.key))?;
        let columns = columns(viewer, width);
        let number = Line::dim(&number_of(viewer, event.seq, event.is_snapshot()));
        let clock = clock(event.time(), &viewer.clock(View::Events, spot.key));
        let (mut name, mut ns) = (Line::of(tone_of(&event), &event.name), Line::new());
        match (event.ns.is_empty(), columns.width(3)) {
            (true, _) => ns.push_dim(UNKNOWN),
            (false, 0) => name.push(Tone::Ns, &format!(" {}", namespace(&event.ns))),
            (false, _) => ns.push(Tone::Ns, &namespace(&event.ns)),
        }
        let data = data_of(viewer, &event, columns.width(4));
        Some(columns.line([number, Line::dim(&clock), name, ns, data]))
    }

    fn around<'a>(&self, viewer: &'a Viewer) -> Around<'a> {
        (Cow::Borrowed(viewer.views.events.head()), &[])
    }

    fn prepare(&self, viewer: &mut Viewer, layout: ViewLayout) {
        head::prepare(viewer, layout.width);
    }

    /// An empty log has a position for its first event.
    fn seq_at(&self, viewer: &Viewer, spot: LinePos) -> Option<Seq> {
        let is_event = |seq: &Seq| *seq <= viewer.event_log.last_seq();
        Some(Seq(spot.key)).filter(|seq| is_event(seq) && !viewer.has_only_snapshots())
    }

    fn spot_of(&self, _viewer: &Viewer, seq: Seq) -> Option<LinePos> {
        Some(LinePos::of(seq.0))
    }

    fn commands(&self, viewer: &Viewer, on: &Session, all: Commands) -> Commands {
        let other = match viewer.as_received {
            true => "summary",
            false => "as received",
        };
        let has_events = !viewer.views.events.head().is_empty();
        let has_report = report::is_useful(viewer);
        for_thread(viewer, on, all)
            .enable_if(viewer.inspect().is_some(), &["stream.open"])
            .enable_if(has_events, &["stream.as_received", "stream.next_chip"])
            .enable_if(has_report, &["stream.details"])
            .show([
                ("stream.open", None),
                ("stream.details", Some("report")),
                ("stream.next_chip", None),
                ("stream.as_received", Some(other)),
            ])
    }

    fn action(&self, viewer: &mut Viewer, _on: &Session, action: Action) -> Option<Requests> {
        match action {
            Action::Describe => return Some(Route::DeliveryReport.into()),
            Action::NextChip => head::choose_next(viewer),
            _ => return None,
        }
        Some(Requests::none())
    }

    fn click_around(&self, viewer: &mut Viewer, row: usize, column: usize) {
        if row == 0 {
            head::click(viewer, column);
        }
    }

    fn write(&self, viewer: &Viewer, key: u64, format: Format, part: &mut Part) {
        let Some(event) = viewer.event_log.get(Seq(key)) else {
            return;
        };
        let at = clock(event.time(), &viewer.tz);
        let (name, ns) = (clean(&event.name), namespace(&event.ns));
        let ns = if ns.is_empty() {
            String::new()
        } else {
            format!(" {}", clean(&ns))
        };
        let data = event.data.text().clone();
        let number = number_of(viewer, event.seq, event.is_snapshot());
        if format == Format::Text {
            part.text(format!("{number:>6}  {at}  {name}{ns}  "));
            part.add(Chunk::Line(data));
            part.text("\n");
        } else {
            let name = inline(&format!("{name}{ns}"));
            part.text(format!("### {number} · {name} · {at}\n\n"));
            part.add(Chunk::Code("json", data));
        }
    }
}

/// Returns the columns. A narrow view has the namespace after the name.
fn columns(viewer: &Viewer, width: usize) -> TableColumns {
    let ns = if viewer.views.events.width() >= MIN_WIDE {
        NS
    } else {
        0
    };
    let time = viewer.views.events.time_width();
    TableColumns::new(
        width,
        [
            ("SEQ", 6),
            ("TIME", time),
            ("EVENT", NAME),
            ("NS", ns),
            ("DATA", REST),
        ],
    )
    .aligned_right(0..1)
}

/// Returns the number of an event. A snapshot is not an event of the stream and has none.
fn number_of(viewer: &Viewer, seq: Seq, is_snapshot: bool) -> String {
    match is_snapshot {
        true => UNKNOWN.to_string(),
        false => viewer.event_log.number_of(seq).to_string(),
    }
}

fn tone_of(event: &Event) -> Tone {
    match (&event.data, &*event.name) {
        (Data::Json(_), "error") | (Data::Malformed(_) | Data::TooLarge { .. }, _) => Tone::Bad,
        _ if event.is_snapshot() => Tone::Dim,
        _ => Tone::Strong,
    }
}

/// Returns the data of an event in about `room` columns.
fn data_of(viewer: &Viewer, event: &Event, room: usize) -> Line {
    let mut line = match &event.data {
        Data::Json(_) => Line::new(),
        Data::Malformed(_) => Line::bad("malformed  "),
        Data::TooLarge { size, .. } => Line::bad(&format!("oversized: {}  ", bytes(*size))),
    };
    let room = room.saturating_sub(line.width());
    let state = viewer.projections.values.at(event.seq);
    match summary::event(event, state, room).filter(|_| !viewer.as_received) {
        Some(summary) => line.left.extend(summary.left),
        None => line.push_dim(&seen(event.data.text(), room)),
    }
    line
}
