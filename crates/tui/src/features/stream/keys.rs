//! Which actions do something in the shown view. The help lists those that the view and the stream offer, the footer those that
//! do something at the cursor now.

use super::StreamState;
use super::update::acts_on_server;
use super::views::View;
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
            action if acts_on_server(action) => has_server,
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
        viewer.view().of().can(viewer, session, action)
    }
}
