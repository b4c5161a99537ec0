//! The Delivery view: a report about how the events arrived, with latencies, tokens and the time of each node.

mod nodes;
mod problems;
mod report;
mod summary;

pub use summary::DeliveryState;

use super::View;
use super::stream_view::{
    EVENTS, EntryKind, ExportedAs, StreamView, ViewFacts, ViewLayout, ViewRows,
};
use crate::features::stream::commands::for_thread;
use crate::features::stream::find::next_where;
use crate::features::stream::formats::{Format, Part};
use crate::features::stream::viewer::Viewer;
use crate::input::action::Action;
use crate::input::commands::Commands;
use crate::session::{Requests, Session};
use crate::widgets::line::Line;
use crate::widgets::scroll::{Flat, LinePos, Move};
use jiff::Timestamp;
use runtail_stream::Seq;
use runtail_stream::projection::RunMetrics;
use summary::{DeliveryRow, Summary};

/// Number of events below which the summary is always computed again; otherwise once a second.
const FEW_EVENTS: u64 = 2_000;

/// The Delivery view.
pub struct DeliveryTab;

impl StreamView for DeliveryTab {
    fn facts(&self) -> ViewFacts {
        ViewFacts {
            title: "Delivery",
            kind: EntryKind::Report,
            export: ExportedAs::Whole,
            ..EVENTS
        }
    }

    fn count(&self, viewer: &Viewer) -> u64 {
        has_report(viewer).into()
    }

    fn entries<'a>(&self, viewer: &'a Viewer) -> ViewRows<'a> {
        ViewRows::Flat(Flat {
            first: 0,
            end: viewer.views.delivery.rows.len() as u64,
        })
    }

    fn line(&self, viewer: &Viewer, spot: LinePos, _width: usize) -> Option<Line> {
        Some(row(viewer, spot.key)?.line.clone())
    }

    fn seq_at(&self, viewer: &Viewer, spot: LinePos) -> Option<Seq> {
        row(viewer, spot.key)?.seq
    }

    fn prepare(&self, viewer: &mut Viewer, layout: ViewLayout) {
        let received = viewer.projections.delivery.received;
        let events = if received < FEW_EVENTS || !layout.is_open || viewer.playhead().is_some() {
            received
        } else {
            FEW_EVENTS
        };
        let version = Some((layout.now.as_second(), layout.width, events))
            .filter(|_| viewer.shown_checkpoint().is_none());
        let before = std::mem::replace(&mut viewer.views.delivery.version, version);
        if version.is_some() && before == version && received >= FEW_EVENTS && layout.is_open {
            return;
        }
        let (rows, problems) = match has_report(viewer) {
            true => summary(viewer, layout.now, layout.is_open, layout.width).rows(),
            false => Default::default(),
        };
        let state = &mut viewer.views.delivery;
        (state.rows, state.problems) = (rows, problems);
    }

    fn go(&self, viewer: &mut Viewer, to: Move) {
        match to {
            Move::End => viewer.update_place(View::Delivery, |place, rows, height| {
                place.to_end(rows, height, false)
            }),
            _ => viewer.scroll(to),
        }
    }

    fn commands(&self, viewer: &Viewer, on: &Session, all: Commands) -> Commands {
        let has_report = !viewer.views.delivery.rows.is_empty();
        let has_problem = !viewer.searched().is_empty() || next_problem(viewer, true).is_some();
        let all = match has_report {
            true => all,
            false => for_thread(viewer, on, all),
        };
        all.enable_if(viewer.seq_under_cursor().is_some(), &["stream.open"])
            .enable_if(has_problem, &["stream.next_problem"])
            .enable_if(has_report, &["app.copy"])
            .show([
                ("stream.open", Some("go there")),
                ("stream.next_problem", Some("next problem")),
                ("app.copy", Some("copy as text")),
            ])
    }

    /// Goes to the event or to the next problem of the report.
    fn action(&self, viewer: &mut Viewer, _on: &Session, action: Action) -> Option<Requests> {
        match action {
            Action::Open => {
                if let Some(seq) = viewer.seq_under_cursor() {
                    viewer.go_to(seq);
                    viewer.show(View::Raw);
                }
            }
            Action::NextMatch | Action::PrevMatch if viewer.searched().is_empty() => {
                let row = next_problem(viewer, action == Action::NextMatch)?;
                viewer.go_to_entry(row as u64);
            }
            _ => return None,
        }
        Some(Requests::none())
    }

    fn copied(&self, viewer: &Viewer) -> Option<String> {
        Some(text(viewer))
    }

    fn write(&self, viewer: &Viewer, _key: u64, format: Format, part: &mut Part) {
        report::write(viewer, format, part);
    }
}

/// Returns whether there is anything to report: events, a gap, or the usage of loaded messages. A checkpoint has none.
fn has_report(viewer: &Viewer) -> bool {
    let delivery = &viewer.projections.delivery;
    let messages = || viewer.projections.messages.items().iter();
    let has_usage = || messages().any(|message| message.is_loaded && message.usage.is_some());
    viewer.shown_checkpoint().is_none()
        && (delivery.received > 0 || delivery.gaps > 0 || has_usage())
}

fn summary(viewer: &Viewer, now: Timestamp, open: bool, width: usize) -> Summary<'_> {
    Summary {
        projections: &viewer.projections,
        event_log: &viewer.event_log,
        prices: &viewer.views.delivery.prices,
        now,
        open,
        is_over: viewer.is_over(),
        is_recording: viewer.is_recording(),
        width,
        tz: &viewer.tz,
    }
}

/// Returns the cost of a run; `None` without prices.
pub(super) fn cost_of(viewer: &Viewer, run: &RunMetrics) -> Option<String> {
    let summary = summary(viewer, viewer.now, viewer.is_open(), 0);
    let has_prices = !summary.prices.models.is_empty();
    has_prices.then(|| summary.cost(&run.models, run.work.usage))
}

/// Returns the report as text.
fn text(viewer: &Viewer) -> String {
    summary(viewer, viewer.now, viewer.is_open(), usize::MAX).text()
}

fn row(viewer: &Viewer, key: u64) -> Option<&DeliveryRow> {
    viewer.views.delivery.rows.get(usize::try_from(key).ok()?)
}

/// Returns the row of the next or previous problem, if there is one.
fn next_problem(viewer: &Viewer, forward: bool) -> Option<usize> {
    let DeliveryState { rows, problems, .. } = &viewer.views.delivery;
    let at = usize::try_from(viewer.place(View::Delivery).cursor.key).unwrap_or(usize::MAX);
    let has_event = |at: &usize| rows.get(*at).is_some_and(|row| row.seq.is_some());
    next_where(*problems, at, forward, has_event)
}
