//! The Raw view: every event, summarized or as received.

use super::stream_view::{Around, EVENTS, Hint, StreamView, ViewFacts, ViewRows};
use super::{UNKNOWN, View, clock, namespace, pad};
use crate::features::stream::formats::{Format, Part};
use crate::features::stream::summary;
use crate::features::stream::viewer::Viewer;
use crate::session::msg::Chunk;
use crate::widgets::line::{Line, Tone};
use crate::widgets::scroll::{Flat, LinePos};
use runtail_core::text::markdown::inline;
use runtail_core::text::{bytes, clean, seen};
use runtail_stream::{Data, Seq};
use std::borrow::Cow;

/// Columns of the event's name.
const NAME: usize = 16;

/// The Raw view.
pub struct RawTab;

impl StreamView for RawTab {
    fn facts(&self) -> ViewFacts {
        ViewFacts {
            title: "Raw",
            ..EVENTS
        }
    }

    fn count(&self, viewer: &Viewer) -> u64 {
        viewer.event_log.last_seq().0
    }

    fn entries<'a>(&self, viewer: &'a Viewer) -> ViewRows<'a> {
        let end = viewer.event_log.last_seq().next();
        ViewRows::Flat(Flat {
            first: viewer.event_log.first_seq().unwrap_or(end).0,
            end: end.0,
        })
    }

    fn line(&self, viewer: &Viewer, spot: LinePos, width: usize) -> Option<Line> {
        let event = viewer.event_log.get(Seq(spot.key))?;
        let clock = clock(event.time(), &viewer.clock(View::Raw, spot.key));
        let number = number_of(viewer, event.seq, event.is_snapshot());
        let mut line = Line::dim(&format!("{number:>6}  {clock}  "));
        let before = line.width();
        let tone = match (&event.data, &*event.name) {
            (Data::Json(_), "error") | (Data::Malformed(_) | Data::TooLarge { .. }, _) => Tone::Bad,
            _ if event.is_snapshot() => Tone::Dim,
            _ => Tone::Strong,
        };
        line.push(tone, &event.name);
        if !event.ns.is_empty() {
            line.push(Tone::Ns, &format!(" {}", namespace(&event.ns)));
        }
        pad(&mut line, before + NAME);
        let note = match &event.data {
            Data::Json(_) => String::new(),
            Data::Malformed(_) => " malformed".to_string(),
            Data::TooLarge { size, .. } => format!(" oversized: {}", bytes(*size)),
        };
        line.push_bad(&note);
        line.push_plain("  ");
        let room = width.saturating_sub(line.width());
        let state = viewer.projections.values.at(event.seq);
        match summary::event(&event, state, room).filter(|_| !viewer.as_received) {
            Some(summary) => line.left.extend(summary.left),
            None => line.push_dim(&seen(event.data.text(), room)),
        }
        Some(line)
    }

    fn around<'a>(&self, viewer: &'a Viewer) -> Around<'a> {
        match &viewer.projections.delivery.before_opening {
            Some(why) => (vec![Line::dim(&clean(why))].into(), &[]),
            None => (Cow::Borrowed(&[]), &[]),
        }
    }

    /// An empty log has a position for its first event.
    fn seq_at(&self, viewer: &Viewer, spot: LinePos) -> Option<Seq> {
        Some(Seq(spot.key)).filter(|seq| *seq <= viewer.event_log.last_seq())
    }

    fn spot_of(&self, _viewer: &Viewer, seq: Seq) -> Option<LinePos> {
        Some(LinePos::of(seq.0))
    }

    fn hints(&self, viewer: &Viewer) -> Vec<Hint> {
        hints_of_events(viewer)
    }

    fn write(&self, viewer: &Viewer, key: u64, format: Format, part: &mut Part) {
        write_event(viewer, Some(Seq(key)), format, part);
    }
}

/// Returns the number of an event. A snapshot is not an event of the stream and has none.
fn number_of(viewer: &Viewer, seq: Seq, is_snapshot: bool) -> String {
    match is_snapshot {
        true => UNKNOWN.to_string(),
        false => viewer.event_log.number_of(seq).to_string(),
    }
}

/// Returns the footer's keys of a view that shows data, summarized or as received.
pub(super) fn hints_of_events(viewer: &Viewer) -> Vec<Hint> {
    let other = match viewer.as_received {
        true => "summary",
        false => "as received",
    };
    vec![("stream.open", None), ("stream.as_received", Some(other))]
}

/// Writes an event with its data.
pub(super) fn write_event(viewer: &Viewer, seq: Option<Seq>, format: Format, part: &mut Part) {
    let Some(event) = seq.and_then(|seq| viewer.event_log.get(seq)) else {
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
