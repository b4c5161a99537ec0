//! Passes the wheel, clicks and drags to the component under the pointer.

use super::{App, Overlay, Pane};
use crate::input::action::Context;
use crate::session::msg::Effect;
use crate::widgets::area::Area;

/// Returns the pane at a cell, and its area.
fn pane_at(app: &App, x: u16, y: u16) -> Option<(Pane, Area)> {
    let regions = app.regions();
    let inside = |a: &Area| x >= a.x && x < a.x + a.w && y >= a.y && y < a.y + a.h;
    let deployments = regions.deployments.map(|pane| pane.area);
    let revisions = regions.revisions.map(|pane| pane.area);
    [
        (Pane::Deployments, deployments),
        (Pane::Revisions, revisions),
        (Pane::Stream, regions.page),
    ]
    .into_iter()
    .find_map(|(pane, area)| area.filter(inside).map(|area| (pane, area)))
}

pub(super) fn wheel(app: &mut App, lines: i8, x: u16, y: u16) -> Vec<Effect> {
    if !app.overlays.is_empty() {
        app.step(app.context(), lines.into(), true);
    } else if let Some((pane, _)) = pane_at(app, x, y) {
        app.hold_rows();
        let focus = std::mem::replace(&mut app.focus, pane);
        match app.pane_context() {
            Context::Stream => app.with_stream(|stream, cx| stream.wheel(cx, lines.into(), x, y)),
            context => app.step(context, lines.into(), context == Context::Logs),
        }
        app.focus = focus;
    }
    Vec::new()
}

pub(super) fn drag(app: &mut App, x: u16) -> Vec<Effect> {
    if app.overlays.is_empty() && app.logs.is_none() && app.regions().page.is_some() {
        app.with_stream(|stream, cx| stream.drag(cx, x));
    }
    Vec::new()
}

pub(super) fn click(app: &mut App, x: u16, y: u16) -> Vec<Effect> {
    app.stream.dragging_slider = false;
    if y == 0 {
        return app.click_tab(x);
    }
    if !app.overlays.is_empty() {
        let area = app.overlay_cx(true).area;
        let Some(y) = y.checked_sub(area.y) else {
            return Vec::new();
        };
        let clicked = app.with_top(|top, cx| top.click(cx, x.saturating_sub(area.x), y));
        return app.apply(clicked.unwrap_or_default());
    }
    let Some((pane, area)) = pane_at(app, x, y) else {
        return Vec::new();
    };
    app.focus = pane;
    app.hold_rows();
    // Keep the typed text, as Enter does.
    app.end_typing();
    let clicked = app.with_pane(app.pane_context(), |pane, cx| {
        pane.click(cx, x - area.x, y - area.y)
    });
    app.apply(clicked.unwrap_or_default())
}

impl App {
    /// Keeps the rows of lists in their places for a while, because the user is about to choose one.
    pub(super) fn hold_rows(&mut self) {
        self.deployments.list.table.touch(self.session.now);
        if let Some(open) = &mut self.agent.server {
            open.threads.touch(self.session.now);
        }
    }

    /// Returns whether the mouse works here: in lists, the palette and the help, but not where the user reads text, so that the
    /// terminal can select it.
    pub fn uses_mouse(&self) -> bool {
        match self.overlays.last() {
            Some(top) => matches!(top, Overlay::Command(_) | Overlay::Help(_)),
            None => self.viewer().is_none() || self.focus != Pane::Stream,
        }
    }
}
