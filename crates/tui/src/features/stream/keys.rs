//! Which actions do something in the shown view. The help lists those that the view and the stream offer, the footer those that
//! do something at the cursor now.

use super::StreamState;
use super::viewer::{View, Viewer};
use crate::input::action::Action;
use crate::session::Session;

impl StreamState {
    /// Returns whether the shown stream offers an action, whatever is under the cursor.
    pub fn offers_action(&self, action: Action) -> bool {
        let Some(viewer) = self.tabs.shown() else {
            return false;
        };
        let view = viewer.view();
        let has_server = !viewer.is_recording();
        match action {
            Action::NextPane | Action::PrevPane | Action::Zoom => viewer.is_split(),
            // A checkpoint is copied from the server.
            Action::Describe => has_server && viewer.thread_id.is_some(),
            Action::Again => has_server || view != View::History,
            Action::Answer
            | Action::Approve
            | Action::CancelRun
            | Action::RollbackRun
            | Action::Delete
            | Action::OpenLink
            | Action::Modes
            | Action::NewRun => has_server,
            Action::TakeEvents => viewer.leaves_events(),
            Action::FoldAll | Action::UnfoldAll => view != View::State || !viewer.shows_changes(),
            Action::Play => has_server || view != View::Graph,
            Action::Update => has_server,
            _ => true,
        }
    }

    /// Returns whether an action does something now.
    pub(super) fn can_act(&self, session: &Session, action: Action) -> bool {
        let Some(viewer) = self.tabs.shown().filter(|_| self.offers_action(action)) else {
            return false;
        };
        match viewer.view() {
            View::Timeline => can_in_timeline(viewer, action),
            View::Delivery => can_in_delivery(viewer, action),
            View::Graph => {
                let is_sealed = session.is_read_only(&viewer.server.profile);
                viewer.graph.can(action) && !(action == Action::Play && is_sealed)
            }
            View::History => can_in_history(viewer, action),
            View::State => can_in_state(viewer, action),
            View::Messages | View::Updates | View::Runs | View::Custom | View::Raw => {
                match action {
                    Action::Open | Action::Right => viewer.inspect().is_some(),
                    Action::AsReceived => viewer.event_log.first_seq().is_some(),
                    Action::Compare => viewer.side_under_cursor().is_some(),
                    _ => true,
                }
            }
        }
    }
}

fn can_in_timeline(viewer: &Viewer, action: Action) -> bool {
    match action {
        Action::Open | Action::Left | Action::Right => viewer.has_bars(),
        _ => true,
    }
}

fn can_in_delivery(viewer: &Viewer, action: Action) -> bool {
    match action {
        Action::Open => viewer.delivered_under_cursor().is_some(),
        Action::NextMatch | Action::PrevMatch if viewer.searched().is_empty() => viewer
            .delivery_problem(action == Action::NextMatch)
            .is_some(),
        Action::Copy => viewer.has_delivery(),
        _ => true,
    }
}

fn can_in_history(viewer: &Viewer, action: Action) -> bool {
    let history = &viewer.history;
    match action {
        Action::Open => {
            !history.is_empty() && (history.has_states() || !history.shows_difference())
        }
        Action::Again | Action::Update | Action::Describe | Action::Play => history.has_states(),
        Action::Collapse | Action::Left | Action::Right => history.shows_difference(),
        Action::Compare => history.has_other_branch(),
        _ => true,
    }
}

fn can_in_state(viewer: &Viewer, action: Action) -> bool {
    match action {
        Action::Open if viewer.shows_changes() => viewer.has_change_under_cursor(),
        Action::Open => viewer.state.as_ref().is_some_and(|tree| tree.can_toggle()),
        Action::Compare | Action::Mark => viewer.state_shown().is_some(),
        Action::FoldAll | Action::UnfoldAll => viewer.state_shown().is_some(),
        _ => true,
    }
}
