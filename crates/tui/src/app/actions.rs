//! Handles the global actions and passes all others to the component with the focus.

use super::help::{HelpPage, Messages};
use super::{App, Pane};
use crate::features::stream::viewer::{ConnectionState, Viewer};
use crate::input::action::{Action, Context};
use crate::session::msg::Effect;
use crate::session::{Paged, Route};
use jiff::{SignedDuration, Timestamp};
use runtail_core::{secret, text};

/// Maximum number of bytes to copy: terminals silently drop longer OSC 52 sequences.
const MAX_COPIED: usize = 74_000;

impl App {
    /// Handles an action in a context.
    pub(super) fn handle_action(&mut self, context: Context, action: Action) -> Vec<Effect> {
        let page = self.page();
        match action {
            Action::QuitNow => self.quit = true,
            Action::Quit | Action::Back => return self.back(action == Action::Quit),
            Action::Help => return self.push_once(HelpPage::default()),
            Action::Notices => return self.push_once(Paged::new(Messages)),
            Action::Inbox => self.open_inbox(),
            Action::Profiles => return self.open(Route::Profiles),
            Action::NextPane | Action::PrevPane if self.overlays.is_empty() => self.next_pane(),
            Action::NextStream if self.overlays.is_empty() => self.switch_tab(true),
            Action::PrevStream if self.overlays.is_empty() => self.switch_tab(false),
            Action::Zoom if self.overlays.is_empty() => self.toggle_zoom(),
            Action::Command => return self.open(Route::Palette(String::new())),
            Action::Suspend => return vec![Effect::Suspend],
            Action::Redraw => return vec![Effect::Redraw],
            Action::Freeze => self.frozen = !self.frozen,
            Action::Copy | Action::CopyPath if self.is_selection_unseen => {
                self.explain_unseen_selection()
            }
            Action::Copy => {
                let text = self.with_focus(|component, _| component.copied()).flatten();
                return text.map(|text| self.copy(&text)).unwrap_or_default();
            }
            Action::CopyPath => {
                let path = self
                    .with_focus(|component, _| component.copied_path())
                    .flatten();
                return path.map(|path| self.copy(&path)).unwrap_or_default();
            }
            Action::Up => self.step(context, -1, false),
            Action::Down => self.step(context, 1, false),
            Action::PageUp => self.step(context, -page, true),
            Action::PageDown => self.step(context, page, true),
            Action::HalfUp => self.step(context, -(page / 2).max(1), true),
            Action::HalfDown => self.step(context, (page / 2).max(1), true),
            Action::Top => self.jump_to_edge(context, true),
            Action::Bottom | Action::Follow => self.jump_to_edge(context, false),
            Action::Refresh if !self.commands_of(self.overlays.last()).is_own(action) => {
                return self.refresh();
            }
            Action::Filter => self.begin_typing(),
            _ if self.is_selection_unseen && action.concerns_selection(context) => {
                self.explain_unseen_selection()
            }
            _ => {
                let requests =
                    self.component_requests(context, |component, cx| component.action(cx, action));
                return self.apply(requests);
            }
        }
        Vec::new()
    }

    pub(super) fn step(&mut self, context: Context, lines: isize, whole_window: bool) {
        self.with_component(context, |component, cx| {
            component.step(cx, lines, whole_window)
        });
    }

    fn jump_to_edge(&mut self, context: Context, start: bool) {
        self.with_component(context, |component, cx| component.jump_to_edge(cx, start));
    }

    /// Returns the number of lines that Page Up and Page Down scroll in the component with the focus.
    fn page(&mut self) -> isize {
        let height = match (self.overlays.is_empty(), self.pane_context()) {
            (false, _) => self.overlay_cx(true).area.h,
            (true, Context::Stream) => {
                let height = self.viewer().map_or(0, Viewer::height);
                return (height as isize - 1).max(1);
            }
            (true, Context::Deployments) => {
                self.pane_cx(Pane::Deployments).area.h.saturating_sub(1)
            }
            (true, Context::Revisions) => self.pane_cx(Pane::Revisions).area.h.saturating_sub(1),
            (true, _) => self.pane_cx(Pane::Stream).area.h.saturating_sub(3),
        };
        (height as isize - 1).max(1)
    }

    /// Gives the pane with the focus, or the half of a split, the whole screen, or takes it back.
    fn toggle_zoom(&mut self) {
        match self.focus {
            Pane::Deployments | Pane::Revisions => self.zoom = !self.zoom,
            Pane::Stream => {
                // Other pages have the whole screen already.
                let shown = self.stream.tabs.shown_mut();
                if let Some(viewer) = shown.filter(|_| self.logs.is_none()) {
                    viewer.toggle_zoom();
                }
            }
        }
    }

    /// Focuses the other pane: the other half of a split stream, or the revisions beside the list of deployments.
    fn next_pane(&mut self) {
        match self.focus {
            Pane::Deployments => self.focus = Pane::Revisions,
            Pane::Revisions => self.focus = Pane::Deployments,
            Pane::Stream if self.logs.is_some() => {}
            Pane::Stream => {
                let shown = self.stream.tabs.shown_mut();
                if !shown.is_some_and(Viewer::other_half) {
                    let key = self.session.key("stream.split");
                    self.notify(
                        false,
                        format!("This page has one pane. {key} splits a stream."),
                    );
                }
            }
        }
    }

    /// Goes back one step: closes an overlay, a filter, the stream, the runs, the pane or the zoom. Only `q` quits, and only
    /// from the deployments.
    fn back(&mut self, quit: bool) -> Vec<Effect> {
        if !self.overlays.is_empty() {
            return match self.with_top(|top, _| top.back(quit)).flatten() {
                Some(requests) => self.apply(requests),
                None => {
                    self.close(self.focus_id());
                    Vec::new()
                }
            };
        }
        let context = self.pane_context();
        if let Some(requests) = self.with_pane(context, |pane, _| pane.back(quit)).flatten() {
            return self.apply(requests);
        }
        match context {
            Context::Logs => {
                self.logs = None;
                // The agent server's lists are below the logs. Without them, go back to the deployments.
                if self.stream.tabs.shown().is_none() && self.agent.server.is_none() {
                    self.focus = Pane::Deployments;
                }
            }
            Context::Deployments if self.zoom => self.zoom = false,
            Context::Deployments => self.quit = quit,
            Context::Server if !self.has_deployments() => self.quit = quit,
            Context::Server => {
                self.focus = Pane::Deployments;
                if quit {
                    self.agent.server = None;
                }
            }
            _ => self.focus = Pane::Deployments,
        }
        Vec::new()
    }

    /// Refreshes everything.
    fn refresh(&mut self) -> Vec<Effect> {
        // A held key refreshes only once.
        let is_recent = |last: Timestamp| {
            self.session.now.duration_since(last).abs() < SignedDuration::from_secs(1)
        };
        if self.session.refreshed_at.is_some_and(is_recent) {
            return Vec::new();
        }
        self.session.refreshed_at = Some(self.session.now);
        if let Some(viewer) = self.stream.tabs.shown_mut() {
            viewer.refreshes += 1;
            viewer.is_asleep = false;
        }
        self.session.restart_polls();
        self.session
            .profiles
            .iter_mut()
            .for_each(|p| p.halted = false);
        // The restarted log polls load every line again, so drop the loaded ones.
        if let Some(logs) = &mut self.logs {
            logs.reread(&self.session, |_| {});
        }
        let asked = self
            .session
            .infos
            .keys()
            .filter(|server| !self.session.inbox.is_asleep(server));
        let mut effects: Vec<Effect> = asked.cloned().map(Effect::FetchInfo).collect();
        if let Some(server) = &self.agent.server {
            effects.push(Effect::FetchAssistants(server.server.clone()));
        }
        effects.extend(self.explain_again(|_, _| true));
        self.notify(false, "Refreshing…");
        // A failed stream doesn't reconnect by itself. Reopening drops received events, so only `:reopen` does that.
        let can_reopen = |viewer: &Viewer| {
            matches!(viewer.connection, ConnectionState::Failed(_)) && viewer.has_only_snapshots()
        };
        if self.viewer().is_some_and(can_reopen) {
            let requests = self.stream.reopen(&self.session);
            effects.extend(self.apply(requests));
        }
        effects
    }

    /// Copies a text to the clipboard, up to the maximum that terminals accept.
    pub(super) fn copy(&mut self, text: &str) -> Vec<Effect> {
        let text = &*secret::keys::without(text);
        let all = text::bytes(text.len() as u64);
        let copied = text::head(text, MAX_COPIED);
        let message = match copied.len() == text.len() {
            true => format!("Copied {} ({all}, OSC 52).", text::short_id(text)),
            false => {
                format!(
                    "Copied {} of {all} (OSC 52 maximum).",
                    text::bytes(copied.len() as u64)
                )
            }
        };
        self.notify(false, message);
        // The text may be pasted into a shell, so control characters are removed.
        vec![Effect::Copy(text::clean_lines(copied).into_owned())]
    }
}
