//! The lines of the raw view: every event, as a line made for its mode, or as received.

use super::{Times, clock, namespace, pad};
use crate::app::describe;
use crate::app::line::{Line, Tone};
use crate::projection::Snapshot;
use crate::stream::{Data, Event};
use crate::text;

/// Columns of the event's name.
const NAME: usize = 16;

/// One event. `state` is what is known of the state that it carries; `as_received` leaves its data as it came.
pub fn line(event: &Event, state: Option<&Snapshot>, as_received: bool, width: usize, tz: &impl Times) -> Line {
    let mut line = Line::of(Tone::Dim, &format!("{:>6}  {}  ", event.seq, clock(event.at, tz)));
    let before = line.width();
    let tone = match (&event.data, &*event.name) {
        (Data::Json(_), "error") | (Data::Malformed(_) | Data::TooLarge { .. }, _) => Tone::Bad,
        _ => Tone::Strong,
    };
    line.push(tone, &event.name);
    if !event.ns.is_empty() {
        line.push(Tone::Ns, &format!(" {}", namespace(&event.ns)));
    }
    pad(&mut line, before + NAME);
    let note = match &event.data {
        Data::Json(_) => String::new(),
        Data::Malformed(_) => " not JSON".to_string(),
        Data::TooLarge { size, .. } => format!(" too large: {}", text::bytes(*size)),
    };
    line.push(Tone::Bad, &note);
    line.push(Tone::Plain, "  ");
    let room = width.saturating_sub(line.width());
    match describe::event(event, state, room).filter(|_| !as_received) {
        Some(told) => line.left.extend(told.left),
        None => line.push(Tone::Dim, &text::seen(event.data.text(), room)),
    }
    line
}
