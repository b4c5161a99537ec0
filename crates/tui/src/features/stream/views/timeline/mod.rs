//! The Timeline view: bars for nodes, tools and model calls of one run.

pub mod axis;
pub mod bar;
pub mod foot;
pub mod head;
pub mod picture;
pub mod rows;
pub mod text;

use super::stream_view::{
    Around, EntryKind, ExportedAs, StreamView, ViewFacts, ViewLayout, ViewRows,
};
use super::{View, extent};
use crate::features::stream::commands::for_thread;
use crate::features::stream::formats::{Format, Part};
use crate::features::stream::viewer::Viewer;
use crate::input::action::Action;
use crate::input::commands::Commands;
use crate::session::msg::Chunk;
use crate::session::{Requests, Session};
use crate::widgets::line::Line;
use crate::widgets::scroll::{Flat, LinePos, Move, ScrollList};
use jiff::Timestamp;
use rows::Frame;
use runtail_stream::Seq;
use std::ops::Range;

/// The Timeline view.
pub struct TimelineTab;

impl StreamView for TimelineTab {
    fn facts(&self) -> ViewFacts {
        ViewFacts {
            title: "Timeline",
            kind: EntryKind::Rows,
            empty: ("node timings", ""),
            empty_at_checkpoint: "No steps up to this checkpoint.",
            export: ExportedAs::Runs,
            records_of: Some(View::Events),
        }
    }

    fn count(&self, viewer: &Viewer) -> u64 {
        extent(viewer.projections.timeline.bars()).end
    }

    fn entries<'a>(&self, viewer: &'a Viewer) -> ViewRows<'a> {
        ViewRows::Flat(Flat {
            first: 0,
            end: viewer.views.timeline.len(),
        })
    }

    fn line(&self, viewer: &Viewer, spot: LinePos, width: usize) -> Option<Line> {
        let timeline = &viewer.views.timeline;
        timeline.line(&viewer.projections, spot.key, width)
    }

    fn around<'a>(&self, viewer: &'a Viewer) -> Around<'a> {
        let (head, foot) = viewer.views.timeline.around();
        (head.into(), foot)
    }

    fn seq_at(&self, viewer: &Viewer, spot: LinePos) -> Option<Seq> {
        viewer
            .views
            .timeline
            .seq_at(&viewer.projections.timeline, spot.key)
    }

    fn spot_of(&self, viewer: &Viewer, seq: Seq) -> Option<LinePos> {
        let row = viewer
            .views
            .timeline
            .spot_of(&viewer.projections.timeline, seq);
        Some(LinePos::of(row))
    }

    fn prepare(&self, viewer: &mut Viewer, layout: ViewLayout) {
        // In a closed stream nothing grows.
        let is_shown = layout.is_open || viewer.shown_checkpoint().is_some();
        let frame = Frame {
            now: if is_shown { layout.now } else { Timestamp::MIN },
            anchor: viewer.anchor(),
            width: layout.width,
            height: layout.height,
            has_badge: viewer.has_thread(),
            run: viewer.find.filter.run().map(|run| &**run),
        };
        let slot = &mut viewer.slots[layout.view as usize];
        let timeline = &mut viewer.views.timeline;
        if timeline.prepare(&viewer.projections, frame, &mut slot.place) {
            slot.forget();
        }
    }

    /// Shows the next or previous run if the cursor is at the last or first bar.
    fn go(&self, viewer: &mut Viewer, to: Move) {
        if let Move::Step(lines) = to {
            let next = match lines > 0 {
                true => viewer.rows(View::Timeline).next(cursor(viewer)),
                false => viewer.rows(View::Timeline).prev(cursor(viewer)),
            };
            if next.is_none() && !(viewer.follows() && lines > 0) {
                let timeline = &viewer.projections.timeline;
                if let Some(seq) = viewer.views.timeline.show_adjacent_run(timeline, lines > 0) {
                    return viewer.go_to(seq);
                }
            }
        }
        viewer.scroll(to);
    }

    /// Heading rows are never hidden.
    fn accepts(&self, viewer: &Viewer, key: u64) -> (bool, usize) {
        match viewer.views.timeline.is_bar(key) {
            true => viewer.accepts_event(self.entry_seq(viewer, key)),
            false => (true, 0),
        }
    }

    /// A picture has keys enough of its own; the banner has those of the thread.
    fn commands(&self, viewer: &Viewer, on: &Session, all: Commands) -> Commands {
        let has_bars = !viewer.views.timeline.is_empty();
        let all = match has_bars && viewer.shown_checkpoint().is_none() {
            true => all,
            false => for_thread(viewer, on, all),
        };
        all.enable_if(has_bars, &["stream.open"])
            .show([("stream.open", Some("go to messages"))])
    }

    fn action(&self, viewer: &mut Viewer, _on: &Session, action: Action) -> Option<Requests> {
        let key = cursor(viewer);
        match action {
            Action::Right => viewer.views.timeline.unfold(key),
            Action::Left => {
                if let Some(parent) = viewer
                    .views
                    .timeline
                    .fold(&viewer.projections.timeline, key)
                {
                    viewer.go_to_entry(parent);
                }
            }
            Action::Open => viewer.show(View::Messages),
            // The next or previous failed bar, or another run.
            Action::NextMatch | Action::PrevMatch if viewer.searched().is_empty() => {
                let forward = action == Action::NextMatch;
                let key = if viewer.follows() && !forward {
                    viewer.views.timeline.len()
                } else {
                    key
                };
                let timeline = &viewer.projections.timeline;
                let seq = viewer
                    .views
                    .timeline
                    .next_interest(timeline, key, forward)?;
                viewer.go_to(seq);
            }
            _ => return None,
        }
        Some(Requests::none())
    }

    /// It is written run by run.
    fn exported_keys(&self, viewer: &Viewer) -> Range<u64> {
        0..viewer
            .views
            .timeline
            .run_count(&viewer.projections.timeline) as u64
    }

    fn write(&self, viewer: &Viewer, key: u64, format: Format, part: &mut Part) {
        let nth = usize::try_from(key).unwrap_or(usize::MAX);
        let text = viewer.views.timeline.run_text(&viewer.projections, nth);
        match format {
            Format::Text => part.text(text),
            _ => part.add(Chunk::Code("", text.into())),
        }
    }
}

fn cursor(viewer: &Viewer) -> u64 {
    viewer.place(View::Timeline).cursor.key
}
