//! The Runs view: a table of the thread's runs. An unfolded run shows its lifecycle; an opened one is the only run in all views.

mod line;
mod rows;

pub use line::{RunSummary, describe};
pub use rows::RunsState;

use super::stream_view::{
    Around, EntryKind, ExportedAs, StreamView, ViewFacts, ViewLayout, ViewRows,
};
use super::{View, row_at};
use crate::features::stream::commands::for_thread;
use crate::features::stream::formats::{Format, Part};
use crate::features::stream::report::cost_of;
use crate::features::stream::viewer::Viewer;
use crate::input::action::Action;
use crate::input::commands::Commands;
use crate::session::compare::SideRef;
use crate::session::deployments::KnownDeployments;
use crate::session::{Request, Requests, Session};
use crate::widgets::line::Line;
use crate::widgets::scroll::{Flat, LinePos, Move};
use line::TITLES;
use rows::{RowsFor, RunsRow};
use runtail_core::text::markdown::inline;
use runtail_stream::Seq;
use runtail_stream::projection::RunEntry;
use std::ops::Range;
use std::sync::Arc;

/// The Runs view.
pub struct RunsTab;

impl StreamView for RunsTab {
    fn facts(&self) -> ViewFacts {
        ViewFacts {
            title: "Runs",
            kind: EntryKind::Report,
            empty: ("runs", ""),
            empty_at_checkpoint: "No runs up to this checkpoint.",
            export: ExportedAs::Table(&TITLES),
            records_of: Some(View::Events),
        }
    }

    fn count(&self, viewer: &Viewer) -> u64 {
        viewer.projections.status.runs().len() as u64
    }

    fn entries<'a>(&self, viewer: &'a Viewer) -> ViewRows<'a> {
        ViewRows::Flat(Flat {
            first: 0,
            end: viewer.views.runs.rows.len(),
        })
    }

    fn line(&self, viewer: &Viewer, spot: LinePos, width: usize) -> Option<Line> {
        let rows = &viewer.views.runs.rows;
        match rows.row(spot.key)? {
            RunsRow::Run(run) => Some(line::columns(rows, width).line(line::cells(viewer, run)?)),
            row => {
                let next = rows.row(spot.key + 1);
                let is_last = next.is_none_or(|next| next.run() != row.run());
                line::detail(viewer, row, is_last)
            }
        }
    }

    fn around<'a>(&self, viewer: &'a Viewer) -> Around<'a> {
        let rows = &viewer.views.runs.rows;
        let head = match rows.len() {
            0 => Vec::new(),
            _ => vec![line::columns(rows, viewer.slot(View::Runs).window.0).head()],
        };
        (head.into(), &[])
    }

    /// A run is at its last event. A run without events has the snapshot with its record. While one run is shown alone, the rows of
    /// others move only this view.
    fn seq_at(&self, viewer: &Viewer, spot: LinePos) -> Option<Seq> {
        let p = &viewer.projections;
        let row = viewer.views.runs.rows.row(spot.key)?;
        let run = p.status.runs().get(row.run())?;
        if viewer.only_run().is_some() && viewer.only_run() != run.run_id.as_ref() {
            return None;
        }
        let newest = viewer.event_log.last_seq();
        match (row, viewer.extent_of(run)) {
            (RunsRow::Node(_, bar), _) => Some(p.timeline.bar(bar)?.first_seq),
            (RunsRow::Event(_, key), _) => Some(row_at(p.lifecycle.rows(), key)?.seq),
            (RunsRow::Start(_), Some((first, _))) => Some(first),
            (_, Some((_, last))) => Some(last.unwrap_or(newest)),
            (_, None) => Some(p.status.loaded()?.seq),
        }
    }

    fn spot_of(&self, viewer: &Viewer, seq: Seq) -> Option<LinePos> {
        let runs = viewer.projections.status.runs();
        let began = |run: &RunEntry| viewer.extent_of(run).is_some_and(|(first, _)| first <= seq);
        let run = runs.iter().rposition(began)?;
        viewer.views.runs.rows.key_of_run(run).map(LinePos::of)
    }

    fn lines_of_marked_runs(&self, viewer: &Viewer) -> Vec<bool> {
        let marked = &viewer.views.runs.marked;
        if marked.is_empty() {
            return Vec::new();
        }
        let is_marked =
            |key| run_of(viewer, key).is_some_and(|run| marked.iter().any(|marked| marked == run));
        let is_run = |key| matches!(viewer.views.runs.rows.row(key), Some(RunsRow::Run(_)));
        let spots = viewer.spots(View::Runs).into_iter();
        spots
            .map(|spot| is_marked(spot.key) && is_run(spot.key))
            .collect()
    }

    fn prepare(&self, viewer: &mut Viewer, layout: ViewLayout) {
        let (mut place, mut rows) = (
            *viewer.place(View::Runs),
            std::mem::take(&mut viewer.views.runs.rows),
        );
        let (tz, today) = (viewer.tz.clone(), viewer.today());
        let cost = |run: &RunEntry| {
            let metrics = run
                .run_id
                .as_deref()
                .and_then(|id| viewer.projections.metrics.run(id));
            metrics
                .and_then(|metrics| cost_of(viewer, metrics))
                .unwrap_or_default()
        };
        let of = RowsFor {
            projections: &viewer.projections,
            status: &viewer.present().status,
            newest: viewer.event_log.last_seq(),
            now: layout.is_open.then_some(layout.now),
            is_old: &|at| at.to_zoned(tz.clone()).date() != today,
            cost: &cost,
            follows: viewer.follows(),
        };
        rows.prepare(&of, &mut place);
        viewer.views.runs.rows = rows;
        viewer.slots[layout.view as usize].place = place;
    }

    /// The newest run is at the top: on it, all views follow new events.
    fn go(&self, viewer: &mut Viewer, to: Move) {
        match to {
            Move::End => viewer.go_to_entry(viewer.views.runs.rows.len().saturating_sub(1)),
            to => viewer.scroll(to),
        }
        if viewer.place(View::Runs).cursor.key == 0 && viewer.only_run().is_none() {
            viewer.set_anchor(View::Runs, None);
        }
    }

    fn commands(&self, viewer: &Viewer, on: &Session, all: Commands) -> Commands {
        let run = run_of(viewer, cursor(viewer));
        let is_shown_alone = run.is_some() && run == viewer.only_run().map(|run| &**run);
        let label = if is_shown_alone {
            "all runs"
        } else {
            "only this run"
        };
        for_thread(viewer, on, all)
            .enable_if(run.is_some(), &["stream.open"])
            .enable_if(side_under_cursor(viewer).is_some(), &["stream.compare"])
            .show([
                ("stream.open", Some(label)),
                ("stream.mark", None),
                ("stream.compare", None),
            ])
    }

    fn action(&self, viewer: &mut Viewer, _on: &Session, action: Action) -> Option<Requests> {
        let key = cursor(viewer);
        match action {
            Action::Open => return Some(show_alone(viewer)),
            Action::Right if viewer.views.runs.rows.unfold(key) => return Some(Requests::none()),
            Action::Left => {
                if let Some(run) = viewer.views.runs.rows.fold(key) {
                    viewer.go_to_entry(run);
                }
                return Some(Requests::none());
            }
            Action::Mark if viewer.is_recording() => return None,
            _ => {}
        }
        match (action, side_under_cursor(viewer)) {
            (Action::Mark, Some(side)) => Some(Request::MarkSide(side).into()),
            // During time travel, it plays.
            (Action::Play, Some(side)) if viewer.playhead().is_none() => {
                Some(Request::MarkSide(side).into())
            }
            (Action::Compare, Some(side)) => Some(Request::CompareSide(side).into()),
            (Action::Mark | Action::Compare, None) => Some(Requests::info("No run is selected.")),
            _ => None,
        }
    }

    fn copied(&self, viewer: &Viewer) -> Option<String> {
        let run = self.run_under_cursor(viewer)?;
        let id = || run.run_id.as_deref().map(String::from);
        run.error.clone().or_else(id)
    }

    fn run_under_cursor<'a>(&self, viewer: &'a Viewer) -> Option<&'a RunEntry> {
        match viewer.views.runs.rows.row(cursor(viewer))? {
            RunsRow::Run(run) => viewer.projections.status.runs().get(run),
            _ => None,
        }
    }

    /// A file has the oldest run first, like the other views.
    fn exported_keys(&self, viewer: &Viewer) -> Range<u64> {
        0..self.count(viewer)
    }

    fn write(&self, viewer: &Viewer, key: u64, format: Format, part: &mut Part) {
        let cells = usize::try_from(key)
            .ok()
            .and_then(|run| line::cells(viewer, run));
        let texts = cells.iter().flatten().map(Line::text);
        part.text(match format {
            Format::Text => {
                let full = texts.filter(|text| !text.trim().is_empty());
                format!("{}\n", full.collect::<Vec<_>>().join("  "))
            }
            _ => {
                let cells = texts.map(|text| inline(text.trim()).to_string());
                format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
            }
        });
    }
}

fn cursor(viewer: &Viewer) -> u64 {
    viewer.place(View::Runs).cursor.key
}

/// Shows the run under the cursor alone in all views, or all runs again.
fn show_alone(viewer: &mut Viewer) -> Requests {
    match run_of(viewer, cursor(viewer)).map(Arc::<str>::from) {
        Some(run) if viewer.only_run() == Some(&run) => viewer.show_only_run(None),
        Some(run) => viewer.show_only_run(Some(run)),
        None => {
            return Requests::info("A run without an id can't be shown alone.");
        }
    }
    Requests::none()
}

/// Returns the run of an entry.
fn run_of(viewer: &Viewer, key: u64) -> Option<&str> {
    let run = viewer.views.runs.rows.row(key)?.run();
    viewer.projections.status.runs().get(run)?.run_id.as_deref()
}

/// Returns the run under the cursor as a side of a comparison. A recording has no runs of a server.
fn side_under_cursor(viewer: &Viewer) -> Option<SideRef> {
    let thread = viewer.thread()?;
    let run = run_of(viewer, cursor(viewer))?;
    Some(SideRef::Thread(thread, Some(run.to_string())))
}

impl Viewer {
    /// Sets the revisions of the server's deployment while the Runs view names them.
    pub(crate) fn know_revisions(&mut self, known: &KnownDeployments) {
        let is_shown = self.shows(View::Runs);
        let known = known.revisions(&self.server).filter(|_| is_shown);
        self.views.runs.revisions = known.cloned();
    }

    /// Sets the runs that are marked for a comparison.
    pub(crate) fn know_marked_runs(&mut self, marked: &[SideRef]) {
        let run = |side: &SideRef| match side {
            SideRef::Thread(of, Some(run)) if self.is_of(of) => Some(run.clone()),
            _ => None,
        };
        self.views.runs.marked = marked.iter().filter_map(run).collect();
    }
}
