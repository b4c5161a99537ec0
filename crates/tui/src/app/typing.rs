//! A line that is being typed at the foot of the screen: the filter of a list or of logs, or a search in a document.

use super::find::Typing;
use super::key::{Code, Key};
use super::text_input::TextInput;
use super::viewer::Viewer;
use super::{App, Overlay, Pane};

/// A filter or a search being typed in the footer.
#[derive(Debug)]
pub struct Prompt {
    /// The line.
    pub input: TextInput,
    /// The text that Esc restores.
    before: String,
    /// The deployment that was selected, which Esc selects again.
    selected: Option<String>,
}

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

    /// The sign before the line that is typed: what it is for.
    pub fn prompt_sign(&self) -> &'static str {
        let filters = |viewer: &Viewer| viewer.finding().typing() == Some(Typing::Filter);
        if self.overlays.is_empty() && self.viewer().is_some_and(filters) { "&" } else { "/" }
    }

    /// Opens the line in the footer.
    pub(super) fn begin_typing(&mut self) {
        let before = self.typed().to_string();
        let selected = self.fleet.picker.selected.clone();
        self.prompt = Some(Prompt { input: TextInput::line(&before), before, selected });
    }

    /// A key while a line is typed.
    pub(super) fn type_key(&mut self, key: Key) {
        match key.code {
            Code::Enter | Code::Tab | Code::Down => {
                self.prompt = None;
                self.end_finding(true);
            }
            Code::Esc => self.cancel_typing(),
            Code::Char('c') if key.ctrl => self.quit = true,
            _ => self.edit_prompt(|input| input.key(key)),
        }
    }

    /// Closes the line, as if nothing had been typed.
    fn cancel_typing(&mut self) {
        let Some(Prompt { before, selected, .. }) = self.prompt.take() else { return };
        self.set_typed(&before);
        self.end_finding(false);
        if let Some(selected) = selected.filter(|_| self.focus == Pane::Deployments) {
            self.fleet.picker.wish(selected);
        }
    }

    /// A pasted text while a line is typed: its first line counts.
    pub(super) fn type_paste(&mut self, pasted: &str) {
        self.edit_prompt(|input| input.insert(pasted));
    }

    fn edit_prompt(&mut self, edit: impl FnOnce(&mut TextInput)) {
        let Some(prompt) = &mut self.prompt else { return };
        let before = prompt.input.text();
        edit(&mut prompt.input);
        let after = prompt.input.text();
        if after != before {
            self.set_typed(&after);
        }
    }
}
