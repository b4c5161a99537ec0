//! The servers and deployments that commands are about.

use super::{App, Overlay, Pane};
use crate::session::msg::ServerRef;
use std::sync::Arc;

impl App {
    /// Returns the profile to use where none is named.
    pub(super) fn chosen_profile(&self) -> Option<Arc<str>> {
        match self.overlays.last() {
            Some(Overlay::Records(page)) if page.server().is_none() => {
                Some(page.profile_name().clone())
            }
            _ => self.deployments.chosen_profile(&self.session),
        }
    }

    /// Returns every known agent server: the open one, then those of streams, then the listed ones.
    pub(super) fn servers(&self) -> Vec<ServerRef> {
        let streams = self
            .stream
            .tabs
            .all()
            .iter()
            .filter(|v| !v.is_recording())
            .map(|v| v.server.clone());
        let listed = self.deployments.list.rows.iter().filter(|row| !row.gone);
        let listed = listed.filter_map(|row| row.server(&self.session.profiles));
        self.open_server_ref()
            .into_iter()
            .chain(streams)
            .chain(listed)
            .filter(|server| self.session.server_exists(server))
            .collect()
    }

    /// Returns the open agent server.
    pub(super) fn open_server_ref(&self) -> Option<ServerRef> {
        self.agent.server.as_ref().map(|open| open.server.clone())
    }

    /// Returns the agent server of the selected deployment where the list has the focus, else the open one.
    pub(super) fn chosen_server(&self) -> Option<ServerRef> {
        let selected = matches!(self.focus, Pane::Deployments | Pane::Revisions).then(|| {
            self.deployments
                .list
                .selected()?
                .server(&self.session.profiles)
        });
        selected.flatten().or_else(|| self.open_server_ref())
    }
}
