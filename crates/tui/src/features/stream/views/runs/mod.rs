//! The Runs view: the thread's runs, and the events of the runs and the connection.

mod line;
mod rows;

pub use line::{RunSummary, describe};
pub use rows::RunsState;

use super::View;
use super::stream_view::{
    EVENTS, EntryKind, ExportedAs, StreamView, ViewFacts, ViewLayout, ViewRows,
};
use crate::features::stream::commands::for_thread;
use crate::features::stream::viewer::Viewer;
use crate::input::action::Action;
use crate::input::commands::Commands;
use crate::session::compare::SideRef;
use crate::session::deployments::KnownDeployments;
use crate::session::{Request, Requests, Session};
use crate::widgets::line::Line;
use crate::widgets::scroll::LinePos;
use rows::RunsRow;
use runtail_stream::Seq;
use runtail_stream::projection::RunEntry;

/// The Runs view.
pub struct RunsTab;

impl StreamView for RunsTab {
    fn facts(&self) -> ViewFacts {
        ViewFacts {
            title: "Runs",
            kind: EntryKind::Rows,
            empty: ("runs", ""),
            empty_at_checkpoint: "No runs are known up to this checkpoint.",
            export: ExportedAs::Table,
            ..EVENTS
        }
    }

    fn count(&self, viewer: &Viewer) -> u64 {
        let keys = self.keys(viewer);
        keys.end - keys.start
    }

    fn entries<'a>(&self, viewer: &'a Viewer) -> ViewRows<'a> {
        ViewRows::Flat(viewer.views.runs.unseen.keys(&viewer.projections))
    }

    fn line(&self, viewer: &Viewer, spot: LinePos, width: usize) -> Option<Line> {
        let (p, revisions) = (&viewer.projections, viewer.views.runs.revisions.as_ref());
        Some(match row(viewer, spot.key)? {
            RunsRow::Run(run) => line::record_line(run, p, revisions, &viewer.wall_clock()),
            RunsRow::Event(row) => {
                let clock = viewer.clock(View::Runs, spot.key);
                line::line(row, p, revisions, width, &clock)
            }
        })
    }

    /// A run without events has the snapshot with its record.
    fn seq_at(&self, viewer: &Viewer, spot: LinePos) -> Option<Seq> {
        match row(viewer, spot.key)? {
            RunsRow::Run(_) => Some(viewer.projections.status.loaded()?.seq),
            RunsRow::Event(row) => Some(row.seq),
        }
    }

    fn entry_seq(&self, viewer: &Viewer, key: u64) -> Option<Seq> {
        match row(viewer, key)? {
            RunsRow::Run(_) => None,
            RunsRow::Event(row) => Some(row.seq),
        }
    }

    fn spot_of(&self, viewer: &Viewer, seq: Seq) -> Option<LinePos> {
        let key = viewer.views.runs.unseen.key_of(&viewer.projections, seq);
        Some(LinePos::of(key))
    }

    fn lines_of_marked_runs(&self, viewer: &Viewer) -> Vec<bool> {
        let marked = &viewer.views.runs.marked;
        if marked.is_empty() {
            return Vec::new();
        }
        let is_marked =
            |key| run_of(viewer, key).is_some_and(|run| marked.iter().any(|marked| marked == run));
        let spots = viewer.spots(View::Runs).into_iter();
        spots
            .map(|spot| spot.line == 0 && is_marked(spot.key))
            .collect()
    }

    fn prepare(&self, viewer: &mut Viewer, layout: ViewLayout) {
        let place = &mut viewer.slots[layout.view as usize].place;
        viewer.views.runs.unseen.prepare(&viewer.projections, place);
    }

    fn commands(&self, viewer: &Viewer, on: &Session, all: Commands) -> Commands {
        for_thread(viewer, on, all)
            .enable_if(viewer.inspect().is_some(), &["stream.open"])
            .enable_if(side_under_cursor(viewer).is_some(), &["stream.compare"])
            .show([("stream.open", None)])
    }

    /// Marks and compares the run under the cursor.
    fn action(&self, viewer: &mut Viewer, _on: &Session, action: Action) -> Option<Requests> {
        if viewer.is_recording() && action == Action::Mark {
            return None;
        }
        match (action, side_under_cursor(viewer)) {
            (Action::Mark, Some(side)) => Some(Request::MarkSide(side).into()),
            // During time travel, it plays.
            (Action::Play, Some(side)) if viewer.playhead().is_none() => {
                Some(Request::MarkSide(side).into())
            }
            (Action::Compare, Some(side)) => Some(Request::CompareSide(side).into()),
            (Action::Mark | Action::Compare, None) => Some(Requests::info(
                "No run is selected. Move to the line of a run to mark or compare it.",
            )),
            _ => None,
        }
    }

    fn run_under_cursor<'a>(&self, viewer: &'a Viewer) -> Option<&'a RunEntry> {
        match row(viewer, viewer.place(View::Runs).cursor.key)? {
            RunsRow::Run(run) => Some(run),
            RunsRow::Event(_) => None,
        }
    }
}

fn row(viewer: &Viewer, key: u64) -> Option<RunsRow<'_>> {
    viewer.views.runs.unseen.row(&viewer.projections, key)
}

/// Returns the run of an entry.
fn run_of(viewer: &Viewer, key: u64) -> Option<&str> {
    match row(viewer, key)? {
        RunsRow::Run(run) => run.run_id.as_deref(),
        RunsRow::Event(row) => row.run_id.as_deref(),
    }
}

/// Returns the run under the cursor as a side of a comparison. A recording has no runs of a server.
fn side_under_cursor(viewer: &Viewer) -> Option<SideRef> {
    let thread = viewer.thread()?;
    let run = run_of(viewer, viewer.place(View::Runs).cursor.key)?;
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
