//! The lines of the Custom view.

use super::{TimeFormat, clock, pad};
use crate::features::stream::summary;
use crate::widgets::line::{Line, Tone};
use runtail_core::text;
use runtail_stream::Event;
use runtail_stream::projection::{CustomRow, Progress};

/// Columns of the origin, and of a progress bar.
const FROM: usize = 12;
const BAR: usize = 10;

/// Renders a custom event. `as_received` shows its data as received.
pub fn line(
    row: &CustomRow,
    event: Option<&Event>,
    as_received: bool,
    width: usize,
    tz: &impl TimeFormat,
) -> Line {
    let mut line = Line::dim(&format!("{}  ", clock(row.at, tz)));
    let before = line.width();
    if !row.ns.is_empty() {
        line.push(Tone::Ns, &format!("{}  ", super::namespace(&row.ns)));
    }
    line.push_strong(&row.name);
    if line.width() > before {
        line.push_plain("  ");
        pad(&mut line, before + FROM);
    }
    let Some(event) = event else {
        return line.with_dim("(evicted)");
    };
    let payload = summary::payload(event).filter(|_| !as_received);
    if let Some(progress) = row.progress.filter(|_| payload.is_some()) {
        bar(&mut line, progress);
    }
    let room = width.saturating_sub(line.width());
    match payload {
        Some(json) => line.left.extend(summary::value(json, room).left),
        None => line.push_plain(&text::seen(event.data.text(), room)),
    }
    line
}

/// Adds a progress bar with its numbers.
fn bar(line: &mut Line, progress: Progress) {
    let full = (progress.part() * BAR as f64).round() as usize;
    line.push(Tone::Good, &"█".repeat(full));
    line.push_dim(&"·".repeat(BAR.saturating_sub(full)));
    let numbers = match progress {
        Progress::Part(part) => format!("{:.0}%", part * 100.0),
        Progress::Count(done, total) => format!("{} of {}", text::count(done), text::count(total)),
    };
    line.push_plain(&format!(" {numbers:>4}  "));
}
