//! The Steps view among the views of a stream.

use super::actions::{act_on_checkpoint, compare_branches, newest, with_state};
use super::rows::around;
use super::{Purpose, StepsState};
use crate::features::stream::commands::{for_checkpoint, for_thread};
use crate::features::stream::find::Landmark;
use crate::features::stream::viewer::Viewer;
use crate::features::stream::views::View;
use crate::features::stream::views::stream_view::{
    Around, EVENTS, EntryKind, ExportedAs, StreamView, ViewFacts, ViewLayout, ViewRows,
};
use crate::input::action::Action;
use crate::input::commands::Commands;
use crate::session::{Requests, Session};
use crate::widgets::area::Area;
use crate::widgets::line::Line;
use crate::widgets::scroll::{Flat, LinePos, Move};
use runtail_stream::Seq;
use runtail_stream::projection::StepState;

/// The Steps view.
pub struct StepsTab;

impl StreamView for StepsTab {
    fn facts(&self) -> ViewFacts {
        ViewFacts {
            title: "Steps",
            kind: EntryKind::Rows,
            empty: ("steps", ""),
            empty_at_checkpoint: "No steps up to this checkpoint.",
            export: ExportedAs::Entries,
            ..EVENTS
        }
    }

    /// Before the rows are joined, what the stream and the newest snapshot told shows whether there are any.
    fn count(&self, viewer: &Viewer) -> u64 {
        let of = &viewer.projections;
        match viewer.views.steps.visible.len() as u64 {
            0 => of.updates.rows().len().max(of.status.tree().len()) as u64,
            count => count,
        }
    }

    fn entries<'a>(&self, viewer: &'a Viewer) -> ViewRows<'a> {
        ViewRows::Flat(Flat {
            first: 0,
            end: viewer.views.steps.visible.len() as u64,
        })
    }

    fn line(&self, viewer: &Viewer, spot: LinePos, width: usize) -> Option<Line> {
        viewer.step_line(spot.key, width)
    }

    fn around<'a>(&self, viewer: &'a Viewer) -> Around<'a> {
        let (head, foot) = &viewer.views.steps.around;
        (head.into(), foot)
    }

    fn seq_at(&self, viewer: &Viewer, spot: LinePos) -> Option<Seq> {
        Some(viewer.seq_of_step(viewer.views.steps.row(spot.key)?))
    }

    fn entry_seq(&self, viewer: &Viewer, key: u64) -> Option<Seq> {
        viewer.views.steps.row(key)?.place()
    }

    fn exported_seq(&self, viewer: &Viewer, key: u64) -> Option<Seq> {
        self.entry_seq(viewer, key)
    }

    fn accepts(&self, viewer: &Viewer, key: u64) -> (bool, usize) {
        match viewer.views.steps.row(key) {
            Some(row) => viewer.accepts_step(row),
            None => (false, 0),
        }
    }

    /// A row that only the records have keeps the cursor while that is at a snapshot.
    fn spot_of(&self, viewer: &Viewer, seq: Seq) -> Option<LinePos> {
        let (steps, here) = (&viewer.views.steps, viewer.place(View::Steps).cursor);
        let is_recorded = steps.row(here.key).is_some_and(|row| row.place().is_none());
        let event = viewer
            .event_log
            .get(seq)
            .filter(|event| event.is_snapshot());
        if is_recorded && (event.is_some() || seq == viewer.seq_of_records()) {
            return Some(here);
        }
        let row = steps.steps.at_seq(seq);
        Some(LinePos::of(row.map_or(here.key, |row| steps.key_of(row))))
    }

    fn prepare(&self, viewer: &mut Viewer, layout: ViewLayout) {
        viewer.join_steps();
        viewer.go_to_wanted_step();
        viewer.select_step();
        let place = *viewer.place(View::Steps);
        let today = viewer.today();
        let steps = &mut viewer.views.steps;
        steps.show_from(place, steps.visible.len() as u64, layout.height);
        let oldest = steps
            .steps
            .rows()
            .first()
            .and_then(|row| row.started.or(row.ended));
        let date = oldest.map(|at| at.to_zoned(viewer.tz.clone()).date());
        steps.columns.has_dates = date.is_some_and(|date| date != today);
        steps.size = (layout.width, layout.height);
        steps.difference.height = (layout.height / 2).saturating_sub(1);
        viewer.views.steps.around = around(viewer);
    }

    /// The rows have scrolled to the cursor.
    fn lay_out(&self, viewer: &mut Viewer, _area: Area, _is_titled: bool) {
        viewer.select_step();
        viewer.views.steps.compare();
        viewer.views.steps.around = around(viewer);
    }

    fn go(&self, viewer: &mut Viewer, to: Move) {
        let steps = &mut viewer.views.steps;
        if !steps.is_in_difference {
            steps.await_nothing();
            viewer.scroll(to);
            return viewer.select_step();
        }
        steps.difference.scroll(match to {
            Move::Step(lines) | Move::Page(lines) => lines,
            Move::Start => isize::MIN / 2,
            Move::End => isize::MAX / 2,
            Move::Point(_) => {
                steps.is_in_difference = false;
                viewer.scroll(to);
                return viewer.select_step();
            }
        });
    }

    fn go_to_next(&self, viewer: &mut Viewer, to: Landmark, forward: bool) -> Option<bool> {
        if to != Landmark::Problem {
            return None;
        }
        let steps = &viewer.views.steps;
        let from = match viewer.follows() {
            true => steps.visible.len() as u64,
            false => viewer.place(View::Steps).cursor.key,
        };
        let found = steps.next_of_interest(from, forward);
        if let Some(key) = found {
            viewer.go_to_entry(key);
            viewer.select_step();
        }
        Some(found.is_some())
    }

    fn about(&self, viewer: &Viewer) -> Option<String> {
        viewer.views.steps.about()
    }

    fn commands(&self, viewer: &Viewer, on: &Session, all: Commands) -> Commands {
        let steps = &viewer.views.steps;
        let (has_states, id) = (steps.has_states(), steps.id_under_cursor());
        let can_load = has_states && id.is_some();
        let of_checkpoint = ["stream.edit_state", "stream.play", "stream.compare"];
        let is_head = steps.under_cursor() == Some(0);
        let again = match steps.current() {
            Some(row) if row.state == StepState::Next => "run it",
            Some(row) if row.is_open() => "run it again",
            _ => "run again after it",
        };
        let all = match can_load && !(is_head && viewer.thread_status().is_active()) {
            true => for_checkpoint(viewer, on, is_head, again, all),
            false => for_thread(viewer, on, all),
        };
        let has_nested = steps.current().is_some_and(|row| row.nested > 0);
        let opens = if can_load { "state here" } else { "event" };
        all.enable_if(can_load || viewer.inspect().is_some(), &["stream.open"])
            .enable_if(can_load, &of_checkpoint)
            .show(can_load.then_some(("stream.compare", Some("difference"))))
            .show([("stream.open", Some(opens))])
            .show(has_nested.then_some(("move.right", Some("unfold"))))
    }

    fn action(&self, viewer: &mut Viewer, on: &Session, action: Action) -> Option<Requests> {
        let is_past = viewer.playhead().is_some();
        let steps = &mut viewer.views.steps;
        let (can_load, has_row) = (steps.has_states(), steps.under_cursor().is_some());
        let has_event = steps.current().is_some_and(|row| row.place().is_some());
        match action {
            Action::Play if can_load && has_row && !is_past => steps.toggle_base(),
            Action::Collapse => steps.difference.toggle_equal(),
            Action::Right if !steps.unfold(true) => steps.is_in_difference = steps.is_open,
            Action::Left if std::mem::take(&mut steps.is_in_difference) => {}
            Action::Left => {
                steps.unfold(false);
            }
            Action::Right => {}
            Action::Open if has_row && (can_load || !has_event) => {
                let id = steps.id_under_cursor().map(str::to_string);
                return Some(with_state(viewer, id, Purpose::Show(View::State)));
            }
            Action::Again | Action::Update | Action::Describe => {
                // Before the first page is loaded, the newest checkpoint is the one that the thread's record names.
                let of_record = || newest(viewer).filter(|_| viewer.views.steps.all().is_empty());
                let id = viewer.views.steps.id_under_cursor().or_else(of_record);
                let id = id.map(str::to_string);
                // A row that no checkpoint has yet is of an event.
                if id.is_none() && action == Action::Describe {
                    return None;
                }
                if id.is_none() && viewer.views.steps.current().is_some() && action == Action::Again
                {
                    return None;
                }
                return Some(act_on_checkpoint(viewer, on, id, action));
            }
            Action::Compare if !steps.is_open && can_load => steps.is_open = true,
            Action::Compare if can_load && steps.has_other_branch() => {
                return Some(compare_branches(steps, &on.key("stream.compare")));
            }
            Action::Compare => {
                steps.close();
            }
            _ => return None,
        }
        Some(Requests::none())
    }

    fn has_checkpoints(&self) -> bool {
        true
    }

    fn close(&self, viewer: &mut Viewer) -> bool {
        viewer.views.steps.close()
    }

    fn copied(&self, viewer: &Viewer) -> Option<String> {
        viewer.copied_step(viewer.views.steps.current()?)
    }

    fn selected_id<'a>(&self, viewer: &'a Viewer) -> Option<&'a str> {
        viewer.views.steps.id_under_cursor()
    }
}

impl StepsState {
    /// Marks the checkpoint under the cursor as A, or removes the mark.
    fn toggle_base(&mut self) {
        let id = self.id_under_cursor().map(str::to_string);
        self.base = id.filter(|id| self.base.as_ref() != Some(id));
    }

    /// Returns whether there are branches to compare with the one under the cursor.
    fn has_other_branch(&self) -> bool {
        self.under_cursor()
            .is_some_and(|at| self.tree().split(at).is_some())
    }

    /// Shows or hides the rows that are nested in the one under the cursor. Returns false if there are none.
    fn unfold(&mut self, is_wanted: bool) -> bool {
        let row = self.current().filter(|row| row.nested > 0);
        let Some(bar) = row.and_then(|row| row.bar) else {
            return false;
        };
        let is_changed = match is_wanted {
            true => self.unfolded.insert(bar),
            false => self.unfolded.remove(&bar),
        };
        if is_changed {
            self.fold_rows();
        }
        is_changed
    }

    /// Closes the difference, or leaves it. Returns false if there is nothing to close.
    fn close(&mut self) -> bool {
        self.await_nothing();
        let is_closed = self.is_in_difference || self.is_open || self.base.is_some();
        if !std::mem::take(&mut self.is_in_difference) {
            (self.is_open, self.base) = (false, None);
        }
        is_closed
    }

    /// Returns the entry of a checkpoint: that of the first task that led to it, else of one that follows.
    fn key_of_checkpoint(&self, id: &str) -> Option<u64> {
        let at = self.tree().find(id)?;
        let row = self
            .steps
            .rows()
            .iter()
            .position(|row| row.checkpoint == Some(at))?;
        Some(self.key_of(row))
    }
}

impl Viewer {
    /// Remembers the row under the cursor.
    fn select_step(&mut self) {
        let place = *self.place(View::Steps);
        let steps = &mut self.views.steps;
        let last = steps.visible.len().checked_sub(1);
        let at = last.map(|last| match place.follow {
            true => last,
            false => last.min(place.cursor.key as usize),
        });
        let cursor = at.map(|at| steps.visible[at]);
        if steps.cursor != cursor {
            steps.difference.reset_scroll();
        }
        steps.cursor = cursor;
    }

    /// Moves to the checkpoint that is wanted, once it has a row.
    fn go_to_wanted_step(&mut self) {
        let wanted = self.views.steps.wanted.as_deref();
        let Some(key) = wanted.and_then(|id| self.views.steps.key_of_checkpoint(id)) else {
            return;
        };
        self.views.steps.wanted = None;
        self.update_place(View::Steps, |place, rows, height| {
            place.go(rows, height, LinePos::of(key));
        });
        let anchor = View::Steps.of().seq_at(self, LinePos::of(key));
        self.set_anchor(View::Steps, anchor);
    }
}
