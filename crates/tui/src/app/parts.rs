//! Calls the components, each with the context that it may read.

use super::layout::{body, layout};
use super::{App, Overlay, Pane};
use crate::features::deployments::{ListPane, RevisionsPane};
use crate::input::action::Context;
use crate::session::{Component, ComponentId, Cx, Requests, Session};
use crate::widgets::area::Area;
use std::mem::{Discriminant, discriminant, take};

impl App {
    /// Returns the areas of the screen.
    pub fn regions(&self) -> super::layout::Regions {
        layout(self.session.size, self)
    }

    /// Returns the context of the top overlay. A sheet has the lower rows of the screen.
    pub(super) fn overlay_cx(&self, is_seen: bool) -> Cx<'_> {
        let area = match self.session.sheet_rows.checked_sub(2) {
            Some(lines) => self.session.sheet_area(lines.into()),
            None => self.session.overlay_area(),
        };
        self.cx_of_overlay(area, is_seen)
    }

    /// Returns the context of an overlay that has an area.
    pub(super) fn cx_of_overlay(&self, area: Area, is_seen: bool) -> Cx<'_> {
        Cx {
            session: &self.session,
            area,
            is_focused: true,
            is_shown: true,
            is_frozen: self.frozen,
            is_seen,
        }
    }

    /// Returns the context of an overlay that a sheet leaves the upper part of the screen.
    pub(super) fn page_below_cx(&self) -> Cx<'_> {
        Cx {
            is_focused: false,
            ..self.cx_of_overlay(self.session.overlay_area(), true)
        }
    }

    /// Calls the page that is readable above a sheet, if it is an overlay.
    pub(super) fn with_overlay_below<R>(
        &mut self,
        call: impl FnOnce(&mut Overlay, &Cx<'_>) -> R,
    ) -> Option<R> {
        let at = self.overlays.iter().rposition(|open| !open.is_sheet())?;
        let mut page = self.overlays.remove(at);
        let result = call(&mut page, &self.page_below_cx());
        self.overlays.insert(at, page);
        Some(result)
    }

    /// Returns the area of a pane, and whether the pane is visible. A hidden pane gets the area of a page.
    fn area_of(&self, pane: Pane) -> (Area, bool) {
        let regions = self.regions();
        let shown = match pane {
            Pane::Deployments => regions.deployments.map(|pane| pane.area),
            Pane::Revisions => regions.revisions.map(|pane| pane.area),
            Pane::Stream => regions.page,
        };
        (
            shown.unwrap_or_else(|| body(self.session.size)),
            shown.is_some(),
        )
    }

    fn cx(&self, pane: Pane, (area, is_shown): (Area, bool)) -> Cx<'_> {
        Cx {
            session: &self.session,
            area,
            is_focused: self.focus == pane,
            is_shown,
            is_frozen: self.frozen,
            is_seen: true,
        }
    }

    /// Returns the context of a pane.
    pub(super) fn pane_cx(&self, pane: Pane) -> Cx<'_> {
        self.cx(pane, self.area_of(pane))
    }

    /// Calls the top overlay.
    pub(super) fn with_top<R>(
        &mut self,
        call: impl FnOnce(&mut Overlay, &Cx<'_>) -> R,
    ) -> Option<R> {
        let is_seen = self.is_overlay_seen();
        let mut top = self.overlays.pop()?;
        let result = call(&mut top, &self.overlay_cx(is_seen));
        self.overlays.push(top);
        Some(result)
    }

    /// Calls the deployments, with the context of one of their panes.
    pub(super) fn with_deployments<R>(
        &mut self,
        pane: Pane,
        call: impl FnOnce(&mut crate::features::deployments::Deployments, &Cx<'_>) -> R,
    ) -> R {
        let area = self.area_of(pane);
        let mut deployments = take(&mut self.deployments);
        let result = call(&mut deployments, &self.cx(pane, area));
        self.deployments = deployments;
        result
    }

    /// Calls the streams.
    pub(super) fn with_stream<R>(
        &mut self,
        call: impl FnOnce(&mut crate::features::stream::StreamState, &Cx<'_>) -> R,
    ) -> R {
        let area = self.area_of(Pane::Stream);
        let mut stream = take(&mut self.stream);
        let result = call(&mut stream, &self.cx(Pane::Stream, area));
        self.stream = stream;
        result
    }

    /// Calls the pane with this key context. Returns `None` if it is not open.
    pub(super) fn with_pane<R>(
        &mut self,
        context: Context,
        call: impl FnOnce(&mut dyn Component, &Cx<'_>) -> R,
    ) -> Option<R> {
        Some(match context {
            Context::Deployments => {
                self.with_deployments(Pane::Deployments, |d, cx| call(&mut ListPane(d), cx))
            }
            Context::Revisions => {
                self.with_deployments(Pane::Revisions, |d, cx| call(&mut RevisionsPane(d), cx))
            }
            Context::Stream => self.with_stream(|stream, cx| call(stream, cx)),
            Context::Logs => {
                let area = self.area_of(Pane::Stream);
                let mut logs = self.logs.take()?;
                let result = call(&mut logs, &self.cx(Pane::Stream, area));
                self.logs = Some(logs);
                result
            }
            Context::Server => {
                let area = self.area_of(Pane::Stream);
                let mut agent = take(&mut self.agent);
                let result = call(&mut agent, &self.cx(Pane::Stream, area));
                self.agent = agent;
                result
            }
            _ => return None,
        })
    }

    /// Calls what asked for a result or declared a subscription. Returns `None` if it was closed, or is no component.
    pub(super) fn with_id<R>(
        &mut self,
        id: ComponentId,
        call: impl FnOnce(&mut dyn Component, &mut Session) -> R,
    ) -> Option<R> {
        let component: &mut dyn Component = match id {
            ComponentId::App | ComponentId::Inbox => return None,
            ComponentId::Overlay(_) => {
                &mut **self.overlays.iter_mut().find(|open| open.id() == id)?
            }
            ComponentId::Pane(Context::Stream) => &mut self.stream,
            ComponentId::Pane(Context::Logs) => self.logs.as_mut()?,
            ComponentId::Pane(Context::Server) => &mut self.agent,
            ComponentId::Pane(_) => &mut ListPane(&mut self.deployments),
        };
        Some(call(component, &mut self.session))
    }

    /// Returns the id of the component with the focus.
    pub(super) fn focus_id(&self) -> ComponentId {
        let pane = || ComponentId::Pane(self.pane_context());
        self.overlays.last().map_or_else(pane, Overlay::id)
    }

    /// Calls the component with this key context: the top overlay or a pane.
    pub(super) fn with_component<R>(
        &mut self,
        context: Context,
        call: impl FnOnce(&mut dyn Component, &Cx<'_>) -> R,
    ) -> Option<R> {
        match self
            .overlays
            .last()
            .is_some_and(|top| top.context() == context)
        {
            true => self.with_top(|top, cx| call(&mut **top, cx)),
            false => self.with_pane(context, call),
        }
    }

    /// Calls the component with the focus.
    pub(super) fn with_focus<R>(
        &mut self,
        call: impl FnOnce(&mut dyn Component, &Cx<'_>) -> R,
    ) -> Option<R> {
        match self.overlays.is_empty() {
            true => self.with_pane(self.pane_context(), call),
            false => self.with_top(|top, cx| call(&mut **top, cx)),
        }
    }

    /// Calls the component with this key context, and returns its requests.
    pub(super) fn component_requests(
        &mut self,
        context: Context,
        call: impl FnOnce(&mut dyn Component, &Cx<'_>) -> Requests,
    ) -> Requests {
        self.with_component(context, call).unwrap_or_default()
    }

    /// Returns the id of the selected row of the component with the focus.
    pub(super) fn selected(&mut self) -> Option<String> {
        self.with_focus(|component, _| component.selected_id().map(str::to_string))
            .flatten()
    }

    /// Records that a frame was drawn. An overlay can't send anything before a frame has shown it.
    pub fn on_drawn(&mut self) {
        if !self.session.is_drawable() || self.frozen {
            return;
        }
        self.is_selection_unseen = false;
        let top = self.top_overlay();
        if self.overlays.last_mut().is_none_or(|top| top.on_drawn()) {
            self.seen_overlay = top;
        }
    }

    /// Returns whether a frame has shown the top overlay. A key may arrive before that, and a small terminal shows no overlay.
    pub(super) fn is_overlay_seen(&self) -> bool {
        self.session.is_drawable()
            && self.top_overlay().is_some()
            && self.seen_overlay == self.top_overlay()
    }

    /// Resets the seen overlay if another one is on top now.
    pub(super) fn forget_covered_overlay(&mut self) {
        let top = self.top_overlay();
        self.seen_overlay = self.seen_overlay.filter(|seen| Some(*seen) == top);
    }

    fn top_overlay(&self) -> Option<(usize, Discriminant<Overlay>)> {
        self.overlays
            .last()
            .map(|top| (self.overlays.len(), discriminant(top)))
    }
}
