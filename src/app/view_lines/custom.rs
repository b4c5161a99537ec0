//! The lines of the custom view.

use super::{clock, head};
use crate::app::line::{Line, Tone};
use crate::projection::CustomRow;
use crate::stream::Event;
use crate::text;
use jiff::tz::TimeZone;

/// Bytes of an event's data that are looked at for its line.
const PREVIEW: usize = 600;

/// What a node wrote of its own accord.
pub fn line(row: &CustomRow, event: Option<&Event>, width: usize, tz: &TimeZone) -> Line {
    let mut line = Line::of(Tone::Dim, &format!("{}  ", clock(row.at, tz)));
    if !row.ns.is_empty() {
        line.push(Tone::Ns, &format!("{}  ", super::namespace(&row.ns)));
    }
    let data = event.map_or("(let go from the tape)", |event| head(event.data.text(), PREVIEW));
    let room = width.saturating_sub(line.width());
    line.push(Tone::Plain, &text::fit(&text::clean(data), room));
    line
}
