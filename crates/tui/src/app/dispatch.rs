//! Dispatches keys and pasted text to the footer prompt, the component with the focus, or the keymap.

use super::App;
use crate::input::key::Key;
use crate::session::msg::Effect;

impl App {
    pub(super) fn handle_key(&mut self, key: Key) -> Vec<Effect> {
        let context = self.context();
        // Ignore navigation while frozen: moving a cursor the user cannot see is worse than not moving it.
        if self.frozen {
            let action = self.session.keymap.action(context, key).filter(|action| action.works_frozen());
            return action.map(|action| self.handle_action(context, action)).unwrap_or_default();
        }
        self.deployments.list.touched = true;
        self.pending_record = None;
        self.session.dismiss_read_notice();
        self.cancel_search();
        if self.prompt.is_some() {
            self.type_key(key);
            return Vec::new();
        }
        match self.with_top(|top, cx| top.key(cx, key)).flatten() {
            Some(requests) => self.apply(requests),
            None => match self.session.keymap.action(context, key) {
                Some(action) => self.handle_action(context, action),
                None => Vec::new(),
            },
        }
    }

    /// Handles pasted text.
    pub(super) fn handle_paste(&mut self, text: &str) -> Vec<Effect> {
        if self.frozen {
            return Vec::new();
        }
        if self.prompt.is_some() {
            self.type_paste(text);
            return Vec::new();
        }
        match self.with_top(|top, cx| top.paste(cx, text)) {
            Some(()) => Vec::new(),
            // No text field is open, so the text is a navigation target.
            None => self.go_to_pasted(text),
        }
    }
}
