//! A line that is being typed at the foot of the screen: the filter of a list or of logs, or a search in a document.

use super::key::{Code, Key};
use super::{App, Overlay, Pane};

impl App {
    /// What is typed into now, as it stands.
    pub fn typed(&self) -> &str {
        match (self.overlays.last(), self.focus) {
            (Some(Overlay::Inspect { tree, .. }), _) => tree.search_text(),
            (_, Pane::Stream) => match (&self.logs, &self.server) {
                (Some(logs), _) => logs.filter().text(),
                (None, Some(server)) => &server.filter,
                (None, None) => "",
            },
            _ => self.fleet.filter().text(),
        }
    }

    fn set_typed(&mut self, text: &str) {
        match (self.overlays.last_mut(), self.focus) {
            (Some(Overlay::Inspect { tree, .. }), _) => tree.search(text),
            (_, Pane::Stream) => match (&mut self.logs, &mut self.server) {
                (Some(logs), _) => logs.set_filter(text),
                (None, Some(server)) => server.filter = text.to_string(),
                (None, None) => {}
            },
            _ => self.fleet.set_filter(text),
        }
    }

    /// A key while a line is typed.
    pub(super) fn type_key(&mut self, key: Key) {
        let mut text = self.typed().to_string();
        match key.code {
            Code::Enter | Code::Tab | Code::Down => self.filtering = false,
            Code::Esc => {
                text.clear();
                self.filtering = false;
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
    }

    /// A pasted text while a line is typed: its first line counts.
    pub(super) fn type_paste(&mut self, pasted: &str) {
        let text = format!("{}{}", self.typed(), pasted.lines().next().unwrap_or(""));
        self.set_typed(&text);
    }
}
