//! The actions of single views.

use crate::features::stream::StreamState;
use crate::features::stream::viewer::View;
use crate::input::action::Action;
use crate::session::{Request, Requests};

impl StreamState {
    /// Switches the view or its display options. Returns `None` for other actions.
    pub(super) fn show_view(&mut self, action: Action) -> Option<Requests> {
        let viewer = self.tabs.shown_mut()?;
        match action {
            Action::View1 => viewer.show(View::Messages),
            Action::View2 => viewer.show(View::Updates),
            Action::View3 => viewer.show(View::State),
            Action::View4 => viewer.show(View::Timeline),
            Action::View5 => viewer.show(View::Runs),
            Action::View6 => viewer.show(View::Custom),
            Action::View7 => viewer.show(View::Raw),
            Action::View8 => viewer.show(View::Delivery),
            Action::View9 => viewer.show(View::Graph),
            Action::View0 => viewer.show(View::History),
            Action::NextView => viewer.turn(1),
            Action::PrevView => viewer.turn(-1),
            Action::Split => viewer.toggle_split(),
            Action::AsReceived => viewer.as_received = !viewer.as_received,
            _ => return None,
        }
        Some(Requests::none())
    }

    /// Handles the actions of the State view. Returns `None` for actions that mean the same in all views.
    pub(super) fn handle_state_action(&mut self, action: Action) -> Option<Requests> {
        let viewer = self
            .tabs
            .shown_mut()
            .filter(|viewer| viewer.view() == View::State)?;
        let shows_changes = viewer.shows_changes();
        let forward = action == Action::NextMatch;
        match action {
            Action::Compare => {
                if !viewer.toggle_changes_since_mark() {
                    viewer.toggle_changes();
                }
            }
            Action::Mark => {
                let number = viewer
                    .mark_state()
                    .map(|number| runtail_core::text::count(number + 1));
                let text =
                    number.map(|n| format!("State {n} is marked. Press = to compare with it."));
                return Some(text.map(Requests::info).unwrap_or_default());
            }
            Action::Open | Action::Right if shows_changes => viewer.open_change(),
            Action::Left if shows_changes => viewer.hide_changes(),
            Action::PrevStep => viewer.step_state(-1),
            Action::NextStep => viewer.step_state(1),
            Action::NextMatch | Action::PrevMatch if viewer.searched().is_empty() => {
                viewer.step_state(if forward { 1 } else { -1 });
            }
            Action::FoldAll | Action::UnfoldAll if shows_changes => return None,
            _ => {
                let tree = viewer.tree();
                match (action, tree) {
                    (Action::FoldAll | Action::UnfoldAll, Some(tree)) => {
                        tree.fold_all(action == Action::FoldAll)
                    }
                    (Action::NextMatch | Action::PrevMatch, Some(tree)) => tree.next_match(forward),
                    (Action::Left, Some(tree)) => tree.fold(),
                    (Action::Right, Some(tree)) => tree.unfold(),
                    (Action::Open, Some(tree)) => tree.toggle(),
                    (
                        Action::FoldAll | Action::UnfoldAll | Action::NextMatch | Action::PrevMatch,
                        None,
                    )
                    | (Action::Left | Action::Right | Action::Open, None) => {}
                    _ => return None,
                }
            }
        }
        Some(Requests::none())
    }

    /// Marks and compares the runs of the Runs view. Returns `None` for actions that mean the same in all views.
    pub(super) fn handle_runs_action(&mut self, action: Action) -> Option<Requests> {
        let viewer = self
            .tabs
            .shown()
            .filter(|viewer| viewer.view() == View::Runs)?;
        if viewer.is_recording() && action == Action::Mark {
            return None;
        }
        let side = viewer.side_under_cursor();
        match (action, side) {
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

    /// Handles the actions of the Timeline. Returns `None` for actions that mean the same in all views.
    pub(super) fn handle_timeline_action(&mut self, action: Action) -> Option<Requests> {
        let viewer = self
            .tabs
            .shown_mut()
            .filter(|viewer| viewer.view() == View::Timeline)?;
        match action {
            Action::Left | Action::Right => viewer.bar_sideways(action == Action::Right),
            Action::Open => viewer.show(View::Messages),
            Action::NextMatch | Action::PrevMatch if viewer.searched().is_empty() => {
                if !viewer.next_bar_of_interest(action == Action::NextMatch) {
                    return None;
                }
            }
            _ => return None,
        }
        Some(Requests::none())
    }

    /// Handles the actions of Delivery. Returns `None` for actions that mean the same in all views.
    pub(super) fn handle_delivery_action(&mut self, action: Action) -> Option<Requests> {
        let viewer = self
            .tabs
            .shown_mut()
            .filter(|viewer| viewer.view() == View::Delivery)?;
        match action {
            Action::Open => {
                viewer.go_to_delivered();
            }
            Action::NextMatch | Action::PrevMatch if viewer.searched().is_empty() => {
                if !viewer.next_delivery_problem(action == Action::NextMatch) {
                    return None;
                }
            }
            _ => return None,
        }
        Some(Requests::none())
    }
}
