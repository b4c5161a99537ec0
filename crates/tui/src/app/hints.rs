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
        let pane: Option<&dyn Component> = match self.pane_context() {
            Context::Stream => Some(&self.stream),
            Context::Server => Some(&self.agent),
            Context::Logs => self.logs.as_ref().map(|logs| logs as _),
            _ => None,
        };
        let (commands, profile) = match page.map_or(pane, |page| Some(&**page)) {
            Some(component) => (component.commands(&cx), component.profile()),
            None => {
                let selected = self.deployments.list.selected();
                (
                    self.deployments.commands(self.pane_context()),
                    selected.map(|row| &*row.profile_name),
                )
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
