//! The Custom view: custom events emitted by nodes, summarized or as received.

use super::raw::{hints_of_events, write_event};
use super::stream_view::{EVENTS, Hint, StreamView, ViewFacts, ViewRows};
use super::{View, clock, extent, last_until, namespace, pad, row_at};
use crate::features::stream::formats::{Format, Part};
use crate::features::stream::summary;
use crate::features::stream::viewer::Viewer;
use crate::widgets::line::{Line, Tone};
use crate::widgets::scroll::LinePos;
use runtail_core::text;
use runtail_stream::Seq;
use runtail_stream::projection::Progress;

/// Columns of the origin, and of a progress bar.
const FROM: usize = 12;
const BAR: usize = 10;

/// The Custom view.
pub struct CustomTab;

impl StreamView for CustomTab {
    fn facts(&self) -> ViewFacts {
        ViewFacts {
            title: "Custom",
            empty: ("custom events", " A node has to emit them."),
            ..EVENTS
        }
    }

    fn entries<'a>(&self, viewer: &'a Viewer) -> ViewRows<'a> {
        ViewRows::Flat(extent(viewer.projections.custom.rows()))
    }

    fn line(&self, viewer: &Viewer, spot: LinePos, width: usize) -> Option<Line> {
        let row = row_at(viewer.projections.custom.rows(), spot.key)?;
        let clock = clock(row.at, &viewer.clock(View::Custom, spot.key));
        let mut line = Line::dim(&format!("{clock}  "));
        let before = line.width();
        if !row.ns.is_empty() {
            line.push(Tone::Ns, &format!("{}  ", namespace(&row.ns)));
        }
        line.push_strong(&row.name);
        if line.width() > before {
            line.push_plain("  ");
            pad(&mut line, before + FROM);
        }
        let Some(event) = viewer.event_log.get(row.seq) else {
            return Some(line.with_dim("(evicted)"));
        };
        let payload = summary::payload(&event).filter(|_| !viewer.as_received);
        if let Some(progress) = row.progress.filter(|_| payload.is_some()) {
            bar(&mut line, progress);
        }
        let room = width.saturating_sub(line.width());
        match payload {
            Some(json) => line.left.extend(summary::value(json, room).left),
            None => line.push_plain(&text::seen(event.data.text(), room)),
        }
        Some(line)
    }

    fn seq_at(&self, viewer: &Viewer, spot: LinePos) -> Option<Seq> {
        Some(row_at(viewer.projections.custom.rows(), spot.key)?.seq)
    }

    fn spot_of(&self, viewer: &Viewer, seq: Seq) -> Option<LinePos> {
        let rows = viewer.projections.custom.rows();
        Some(last_until(rows, |row| row.seq <= seq))
    }

    fn hints(&self, viewer: &Viewer) -> Vec<Hint> {
        hints_of_events(viewer)
    }

    fn write(&self, viewer: &Viewer, key: u64, format: Format, part: &mut Part) {
        write_event(viewer, self.seq_at(viewer, LinePos::of(key)), format, part);
    }
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
