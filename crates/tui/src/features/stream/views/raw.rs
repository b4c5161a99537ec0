//! The lines of the raw view: every event, as a line made for its mode, or as received.

use super::{Times, UNKNOWN, clock, namespace, pad};
use crate::features::stream::summary;
use crate::widgets::line::{Line, Tone};
use runtail_core::text;
use runtail_stream::projection::Snapshot;
use runtail_stream::{Data, Event, EventNumber};

/// Columns of the event's name.
const NAME: usize = 16;

/// An event for its line.
#[derive(Debug)]
pub struct RawEvent<'a> {
    /// The event.
    pub event: &'a Event,
    /// Its number among the events of the stream; snapshots have none.
    pub number: EventNumber,
    /// What is known of the state that it carries.
    pub state: Option<&'a Snapshot>,
}

/// One event. `as_received` leaves its data as it was received.
pub fn line(raw: &RawEvent<'_>, as_received: bool, width: usize, tz: &impl Times) -> Line {
    let RawEvent { event, number, state } = *raw;
    let number = if event.is_snapshot() { UNKNOWN.to_string() } else { number.to_string() };
    let mut line = Line::of(Tone::Dim, &format!("{number:>6}  {}  ", clock(event.time(), tz)));
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
    line.push(Tone::Bad, &note);
    line.push(Tone::Plain, "  ");
    let room = width.saturating_sub(line.width());
    match summary::event(event, state, room).filter(|_| !as_received) {
        Some(told) => line.left.extend(told.left),
        None => line.push(Tone::Dim, &text::seen(event.data.text(), room)),
    }
    line
}
