//! The lines of the ledger view: the books of a stream.

use super::clock;
use crate::app::line::{Line, Tone};
use crate::projection::Ledger;
use crate::stream::Tape;
use crate::text;
use jiff::tz::TimeZone;

/// All lines.
pub fn lines(ledger: &Ledger, tape: &Tape, tz: &TimeZone) -> Vec<Line> {
    let sum = |what: &str, n: String| Line::of(Tone::Dim, &format!("{what:<14}")).with(Tone::Plain, &n);
    let mut lines = vec![
        sum("received", text::count(ledger.received)),
        sum("twice", text::count(ledger.duplicates)),
        sum("gaps", text::count(ledger.gaps)),
        sum("malformed", text::count(ledger.malformed)),
        sum("too large", text::count(ledger.too_large)),
        sum("late", text::count(ledger.late)),
        sum("let go", text::count(tape.evicted_rows())),
        sum("bytes", text::bytes(ledger.bytes)),
    ];
    for connection in ledger.connections().iter() {
        let mut line = Line::of(Tone::Dim, &format!("{}  ", clock(connection.opened, tz)));
        line.push(Tone::Plain, &format!("connection {} ({})", connection.conn, connection.status));
        line.push(Tone::Dim, &format!("  {} events", text::count(connection.events)));
        if let Some(reason) = &connection.reason {
            line.push(Tone::Dim, &format!("  closed: {reason}"));
        }
        lines.push(line);
    }
    lines
}
