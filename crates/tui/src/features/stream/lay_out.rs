//! Lays out the shown stream.

use super::StreamState;
use crate::session::Cx;

impl StreamState {
    /// Lays out the shown stream.
    pub(super) fn lay_out(&mut self, cx: &Cx<'_>) {
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
