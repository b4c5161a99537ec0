//! What the keys do now, and which of them the footer shows.

use super::layout::WIDE;
use super::{App, Overlay, Pane};
use crate::input::action::Context;
use crate::input::commands::Commands;
use crate::session::Component;

/// Key hints: each key with its label.
pub type Hints = Vec<(String, &'static str)>;

/// Returns the key hints of the footer for the current state, most useful first.
pub fn hints(app: &App) -> Hints {
    let (keymap, ascii) = (&app.session.keymap, app.session.settings.ascii);
    app.commands_of(app.overlays.last()).hints(keymap, ascii)
}

impl App {
    /// Returns the commands of an overlay, or of the pane with the focus.
    pub(super) fn commands_of(&self, page: Option<&Overlay>) -> Commands {
        // The layout asks for the footer, so the areas of panes must not be asked for here.
        let cx = self.overlay_cx(true);
        let (commands, profile) = match (page, self.pane_context()) {
            (Some(page), _) => (page.commands(&cx), page.profile()),
            (None, Context::Logs) => {
                let logs = self.logs.as_ref().map(|logs| logs.commands(&cx));
                (logs.unwrap_or_else(|| Commands::of(Context::Logs)), None)
            }
            (None, Context::Stream) => {
                let viewer = self.viewer().filter(|viewer| !viewer.is_recording());
                let profile = viewer.map(|viewer| &*viewer.server.profile);
                (self.stream.commands(&cx), profile)
            }
            (None, Context::Server) => {
                let server = self.agent.server.as_ref();
                let profile = server.map(|open| &*open.server.profile);
                (self.agent.commands(&cx), profile)
            }
            (None, context) => {
                let profile = self.deployments.list.selected();
                let profile = profile.map(|row| &*row.profile_name);
                (self.deployments.commands(context), profile)
            }
        };
        let is_sealed = profile.is_some_and(|profile| self.is_read_only(profile));
        let (w, h) = self.session.size;
        let has_zoom = self.focus == Pane::Stream || w >= WIDE.0 && h >= WIDE.1;
        commands
            .retain(|row| !(row.writes && is_sealed))
            .exist_if(
                self.tabs().len() > 1,
                &["app.next_stream", "app.prev_stream"],
            )
            .exist_if(has_zoom, &["app.zoom"])
    }

    /// Returns the top overlay without the help and the palette.
    pub(super) fn page_under_help(&self) -> Option<&Overlay> {
        self.overlays
            .iter()
            .rev()
            .find(|overlay| !matches!(overlay, Overlay::Help(_) | Overlay::Command(_)))
    }
}
