//! The lines of the Raw view: every event, summarized or as received.

use super::{TimeFormat, UNKNOWN, clock, namespace, pad};
use crate::features::stream::summary;
use crate::widgets::line::{Line, Tone};
use runtail_core::text;
use runtail_stream::projection::Snapshot;
use runtail_stream::{Data, Event, EventNumber};

/// Columns of the event's name.
const NAME: usize = 16;

/// An event with what its line needs.
#[derive(Debug)]
pub struct RawEvent<'a> {
    pub event: &'a Event,
    /// The event's number in the stream; snapshots have none.
    pub number: EventNumber,
    /// The state that the event carries, if any.
    pub state: Option<&'a Snapshot>,
}

/// Renders one event. `as_received` shows its data as received.
pub fn line(raw: &RawEvent<'_>, as_received: bool, width: usize, tz: &impl TimeFormat) -> Line {
    let RawEvent {
        event,
        number,
        state,
    } = *raw;
    let number = if event.is_snapshot() {
        UNKNOWN.to_string()
    } else {
        number.to_string()
    };
    let mut line = Line::dim(&format!("{number:>6}  {}  ", clock(event.time(), tz)));
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
        Data::TooLarge { size, .. } => format!(" oversized: {}", text::bytes(*size)),
    };
    line.push_bad(&note);
    line.push_plain("  ");
    let room = width.saturating_sub(line.width());
    match summary::event(event, state, room).filter(|_| !as_received) {
        Some(summary) => line.left.extend(summary.left),
        None => line.push_dim(&text::seen(event.data.text(), room)),
    }
    line
}
