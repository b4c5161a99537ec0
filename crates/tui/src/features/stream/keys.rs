//! Which actions the shown stream offers, for the help. The view says which of them do something at the cursor.

use super::StreamState;
use super::update::acts_on_server;
use super::views::View;
use crate::input::action::Action;

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
}
