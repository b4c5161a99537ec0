//! Layout of a stream and its views.

use super::StreamState;
use super::viewer::Viewer;
use super::views::View;
use crate::session::Cx;
use crate::widgets::area::{Area, below, inside};

/// The area of one view on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Half {
    pub view: View,
    pub focused: bool,
    /// The frame, if two views are side by side and have room for it.
    pub frame: Option<Area>,
    /// The heading, if two views are shown without frames.
    pub head: Option<Area>,
    /// The area of the view's lines.
    pub rows: Area,
}

impl Half {
    /// Returns whether the view's title is above its lines.
    pub fn is_titled(&self) -> bool {
        self.frame.or(self.head).is_some()
    }
}

/// Returns the areas of a stream's views in the rows of its pane.
pub fn halves(area: Area, viewer: &Viewer) -> Vec<Half> {
    let shown = viewer.shown();
    if shown.len() < 2 || !(area.is_wide() || area.is_high()) {
        return vec![Half {
            view: viewer.view(),
            focused: true,
            frame: None,
            head: None,
            rows: area,
        }];
    }
    let parts = match area.is_wide() {
        true => area.columns(area.w / 2),
        false => area.lines(area.h / 2),
    };
    let half =
        |((view, focused), part): ((View, bool), Area)| match area.is_wide() && area.is_high() {
            true => Half {
                view,
                focused,
                frame: Some(part),
                head: None,
                rows: inside(part),
            },
            false => Half {
                view,
                focused,
                frame: None,
                head: Some(Area { h: 1, ..part }),
                rows: below(part, 1),
            },
        };
    shown.into_iter().zip(parts).map(half).collect()
}

impl StreamState {
    /// Lays out the shown stream.
    pub(super) fn lay_out(&mut self, cx: &Cx<'_>) {
        if let Some(viewer) = self.tabs.shown_mut() {
            viewer.apply_prefs(&cx.session.prefs);
            viewer.know_revisions(&cx.session.deployments);
            viewer.know_marked_runs(&cx.session.marked);
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
        let halves = self.halves(cx);
        let shows = |view: View| halves.iter().any(|half| half.view == view);
        self.request_graph(shows(View::Graph), cx.session);
        let Some(viewer) = self.tabs.shown_mut() else {
            return;
        };
        for half in &halves {
            let view = half.view.of();
            view.lay_out(viewer, half.rows, half.is_titled());
        }
        // Until the state is read, it isn't known whether the thread has messages.
        let lists_steps = shows(View::Messages)
            && viewer.projections.status.state().is_some()
            && viewer.projections.messages.items().is_empty()
            && viewer.views.steps.has_older();
        // Other views wait for states, too, while they show a checkpoint.
        if shows(View::Steps) || lists_steps || viewer.views.steps.awaits_state() {
            viewer.request_history(|| cx.session.next_stream.take());
        }
    }
}
