//! A line that is being typed at the foot of the screen: the filter of a list or of logs, or a search in a document.

use super::find::Typing;
use super::key::{Code, Key};
use super::viewer::Viewer;
use super::{App, Overlay, Pane};

impl App {
    /// What is typed into now, as it stands.
    pub fn typed(&self) -> &str {
        match (self.overlays.last(), self.focus) {
            (Some(Overlay::Inspect { tree, .. }), _) => tree.search_text(),
            (Some(Overlay::Browse(browse)), _) => &browse.filter,
            (_, Pane::Stream) => match (&self.logs, self.streams.shown(), &self.server) {
                (Some(logs), ..) => logs.filter().text(),
                (None, Some(viewer), _) => viewer.typed(),
                (None, None, Some(server)) => &server.filter,
                (None, None, None) => "",
            },
            _ => self.fleet.filter().text(),
        }
    }

    fn set_typed(&mut self, text: &str) {
        match (self.overlays.last_mut(), self.focus) {
            (Some(Overlay::Inspect { tree, .. }), _) => tree.search(text),
            (Some(Overlay::Browse(browse)), _) => browse.filter = text.to_string(),
            (_, Pane::Stream) => match (&mut self.logs, self.streams.shown_mut(), &mut self.server) {
                (Some(logs), ..) => logs.set_filter(text),
                (None, Some(viewer), _) => viewer.set_typed(text),
                (None, None, Some(server)) => server.filter = text.to_string(),
                (None, None, None) => {}
            },
            _ => {
                if self.fleet.set_filter(text) {
                    // What fits best is at the top.
                    self.fleet.picker = Default::default();
                }
            }
        }
    }

    /// A line is going to be typed for the stream that is shown.
    pub(super) fn begin_finding(&mut self, typing: Typing) {
        if let Some(viewer) = self.streams.shown_mut() {
            viewer.begin_typing(typing);
            self.begin_typing();
        }
    }

    /// The line for the stream is finished, if there was one.
    pub(super) fn end_finding(&mut self, keep: bool) {
        if let Some(viewer) = self.streams.shown_mut() {
            viewer.end_typing(keep);
        }
    }

    /// What stands before the line that is typed: what it is for.
    pub fn prompt(&self) -> &'static str {
        let filters = |viewer: &Viewer| viewer.finding().typing() == Some(Typing::Filter);
        if self.overlays.is_empty() && self.viewer().is_some_and(filters) { "&" } else { "/" }
    }

    /// A line is going to be typed.
    pub(super) fn begin_typing(&mut self) {
        self.filtering = true;
        self.before_typing = (self.typed().to_string(), self.fleet.picker.selected.clone());
    }

    /// A key while a line is typed.
    pub(super) fn type_key(&mut self, key: Key) {
        let mut text = self.typed().to_string();
        match key.code {
            Code::Enter | Code::Tab | Code::Down => self.filtering = false,
            // As if nothing had been typed.
            Code::Esc => {
                self.filtering = false;
                let (before, selected) = std::mem::take(&mut self.before_typing);
                self.set_typed(&before);
                self.end_finding(false);
                if let Some(selected) = selected.filter(|_| self.focus == Pane::Deployments) {
                    self.fleet.picker.wish(selected);
                }
                return;
            }
            Code::Backspace => {
                text.pop();
            }
            Code::Char('u') if key.ctrl => text.clear(),
            Code::Char('w') if key.ctrl => {
                let kept = text.trim_end().rfind(' ').map_or(0, |at| at + 1);
                text.truncate(kept);
            }
            Code::Char('c') if key.ctrl => self.quit = true,
            _ => text.extend(key.text()),
        }
        self.set_typed(&text);
        if !self.filtering {
            self.end_finding(true);
        }
    }

    /// A pasted text while a line is typed: its first line counts.
    pub(super) fn type_paste(&mut self, pasted: &str) {
        let text = format!("{}{}", self.typed(), pasted.lines().next().unwrap_or(""));
        self.set_typed(&text);
    }
}
