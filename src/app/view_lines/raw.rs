//! The lines of the raw view.

use super::{clock, head, namespace, pad};
use crate::app::line::{Line, Tone};
use crate::stream::{Data, Event};
use crate::text;
use jiff::tz::TimeZone;

/// Bytes of an event's data that are looked at for its line.
const PREVIEW: usize = 600;
/// Columns of the event's name.
const NAME: usize = 16;

/// One event as it came.
pub fn line(event: &Event, width: usize, tz: &TimeZone) -> Line {
    let data = event.data.text();
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
    line.push(Tone::Dim, &text::fit(&text::clean(head(data, PREVIEW)), room));
    line
}
