//! Adjusts every scroll position to its contents and the screen size.

use super::{App, Overlay, Pane, bars};
use crate::input::action::Context;

impl App {
    /// Adjusts every component to its contents and the screen size.
    pub fn relayout(&mut self) {
        self.share();
        self.lay_out_overlays_and_notice();
        // The areas depend on the number of rows.
        self.deployments.list.refresh(self.session.now);
        let revisions = self.pane_cx(Pane::Revisions).area;
        self.with_deployments(Pane::Deployments, |deployments, cx| {
            deployments.relayout(cx.area, revisions);
        });
        self.with_pane(Context::Logs, |logs, cx| logs.relayout(cx));
        if self.stream.tabs.shown().is_none() {
            self.with_pane(Context::Server, |agent, cx| agent.relayout(cx));
        }
        if self.logs.is_none() {
            self.with_pane(Context::Stream, |stream, cx| stream.relayout(cx));
        }
        // The palette, the help and the footer show what can be done on the panes as they are now.
        self.refresh_palette();
        if let None | Some(Overlay::Command(_) | Overlay::Help(_)) = self.overlays.last() {
            self.lay_out_overlays_and_notice();
        }
        self.sync_awake();
        self.number_jobs();
        self.forget_covered_overlay();
    }

    /// Lays out the top overlay, and decides whether the notice has a row of its own.
    fn lay_out_overlays_and_notice(&mut self) {
        self.session.has_notice_row = bars::has_notice_above(self);
        self.lay_out_overlays();
        // An overlay shows other keys at another height, so the notice may have more or less room beside them. If each height
        // asks for the other, the notice has a row.
        for is_above in [false, true] {
            if self.session.has_notice_row != is_above && bars::has_notice_above(self) == is_above {
                self.session.has_notice_row = is_above;
                self.lay_out_overlays();
            }
        }
    }

    /// Lays out the top overlay. If it is a sheet, it gets the rows that it needs, and what is below it the others.
    fn lay_out_overlays(&mut self) {
        self.refresh_help();
        // The command line is drawn over what is shown.
        if let Some(Overlay::Command(_)) = self.overlays.last() {
            return self
                .with_top(|top, cx| top.relayout(cx))
                .unwrap_or_default();
        }
        self.session.sheet_rows = 0;
        let is_seen = self.is_overlay_seen();
        let Some(mut top) = self.overlays.pop() else {
            return;
        };
        match top.is_sheet() {
            true => {
                let all = self.cx_of_overlay(self.session.overlay_area(), is_seen);
                let area = |top: &Overlay| self.session.sheet_area(top.sheet_lines(&all));
                let mut given = area(&top);
                top.relayout(&self.cx_of_overlay(given, is_seen));
                // A layout may add lines, such as what is wrong with a field.
                if area(&top) != given {
                    given = area(&top);
                    top.relayout(&self.cx_of_overlay(given, is_seen));
                }
                self.session.sheet_rows = given.h + 2;
                self.with_overlay_below(|page, cx| page.relayout(cx));
            }
            false => top.relayout(&self.overlay_cx(is_seen)),
        }
        self.overlays.push(top);
    }

    /// Shares the facts that features read of each other, as far as these change without an event of their own.
    fn share(&mut self) {
        self.session.pages = self.stream.open_pages();
        self.session.marked = self.deployments.marked_sides();
        self.session.marked.extend(self.agent.marked_sides());
        for at in 0..self.session.profiles.len() {
            self.session.profiles[at].health = bars::health(self, &self.session.profiles[at]);
        }
        if let Some(logs) = &mut self.logs {
            logs.know_builds(|of| self.deployments.known_revision(of));
        }
        for overlay in &mut self.overlays {
            match overlay {
                Overlay::Inbox(page) => page.update_listing(self.session.inbox.listing()),
                Overlay::Modes(dialog) => dialog.refresh(&self.stream),
                Overlay::Why(page) => {
                    let shown = self.stream.tabs.shown();
                    let view = shown.map(|viewer| viewer.thread_view(&self.session));
                    page.page.explain(view.as_ref(), &self.session);
                }
                _ => {}
            }
        }
    }

    /// Numbers the jobs that were added since the last call.
    fn number_jobs(&mut self) {
        let next = &mut self.session.next_work;
        let streams: &mut dyn crate::session::Component = &mut self.stream;
        let overlays = self
            .overlays
            .iter_mut()
            .flat_map(|overlay| overlay.jobs_mut());
        for job in streams
            .jobs_mut()
            .into_iter()
            .chain(overlays)
            .filter(|job| job.number == 0)
        {
            job.number = *next;
            *next += 1;
        }
    }
}
