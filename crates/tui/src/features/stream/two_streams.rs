//! The page of one stream, or of two beside each other.

use super::StreamState;
use super::layout::parts;
use super::viewer::Viewer;
use crate::input::action::Action;
use crate::session::{Cx, Requests};
use crate::widgets::area::Area;

impl StreamState {
    /// Shows a second stream beside the shown one, or ends that. Returns `None` for other actions.
    pub(super) fn handle_tabs_action(&mut self, action: Action) -> Option<Requests> {
        match action {
            Action::Beside if !self.tabs.next_beside() => {
                return Some(Requests::info(
                    "No other stream is open. This one stays in its tab; open another thread and try again there.",
                ));
            }
            Action::Beside => {}
            Action::Split if self.tabs.partner().is_some() => self.tabs.keep_focused(),
            _ => return None,
        }
        Some(Requests::none())
    }

    /// Returns the visible streams.
    pub fn visible(&self, area: Area) -> impl Iterator<Item = &Viewer> {
        parts(area, &self.tabs)
            .into_iter()
            .filter_map(|part| self.tabs.half(part.is_partner))
    }

    /// Lays out the visible streams.
    pub(super) fn lay_out(&mut self, cx: &Cx<'_>) {
        let focuses_partner = self.tabs.focuses_partner();
        let has_two = self.tabs.partner().is_some();
        for part in parts(cx.area, &self.tabs) {
            self.tabs.focus_partner(part.is_partner);
            if let Some(viewer) = self.tabs.shown_mut() {
                viewer.half = has_two.then_some(1 + usize::from(part.is_partner));
                viewer.is_framed = part.frame.is_some();
            }
            self.lay_out_focused(&Cx {
                area: part.area,
                ..*cx
            });
        }
        self.tabs.focus_partner(focuses_partner);
    }

    /// Lays out the stream with the focus.
    fn lay_out_focused(&mut self, cx: &Cx<'_>) {
        if let Some(viewer) = self.tabs.shown_mut() {
            viewer.apply_prefs(&cx.session.prefs);
            viewer.know_revisions(|server| cx.lookup.revisions(server));
            viewer.know_marked_runs(|thread| cx.lookup.marked_runs(thread));
            // When time travel ends, its line in the head disappears.
            viewer.advance_time_travel(cx.session.now);
        }
        let mut windows = self.windows(cx);
        // The layout can add or remove a line of the head, for example that of the shown state, so it takes two passes.
        for _ in 0..2 {
            if let Some(viewer) = self.tabs.shown_mut() {
                viewer.prepare(&windows);
            }
            let before = std::mem::replace(&mut windows, self.windows(cx));
            if before == windows {
                break;
            }
        }
        self.lay_out_graph(cx);
        let history = self.history_area(cx);
        if let (Some((area, is_titled)), Some(viewer)) = (history, self.tabs.shown_mut()) {
            viewer.history.lay_out(area, is_titled);
            viewer.request_history(|| cx.session.next_stream.take());
        }
    }
}
