//! The prompt in the footer: the filter of a list or of logs, or a search in a document.

use super::{App, Pane};
use crate::input::key::{Code, Key};
use crate::widgets::text_input::TextInput;

/// A filter or a search being typed in the footer.
#[derive(Debug)]
pub struct Prompt {
    /// The sign before the text, which shows its purpose.
    pub sign: &'static str,
    /// The text being typed.
    pub input: TextInput,
    /// The text that Esc restores.
    before: String,
    /// The deployment that Esc selects again.
    selected: Option<String>,
}

impl App {
    fn set_filter(&mut self, text: &str) {
        // If the overlay has no filter, the text filters the pane.
        let typed = self.with_focus(|component, _| {
            component
                .filter()
                .is_some()
                .then(|| component.set_filter(text))
        });
        if typed.flatten().is_none() {
            let context = self.pane_context();
            self.with_pane(context, |pane, _| pane.set_filter(text));
        }
    }

    /// Opens the prompt.
    pub(super) fn begin_typing(&mut self) {
        let typed = |component: &mut dyn crate::session::Component| {
            component
                .filter()
                .map(|text| (text.to_string(), component.prompt()))
        };
        let found = self.with_focus(|component, _| typed(component)).flatten();
        let context = self.pane_context();
        let found = found.or_else(|| self.with_pane(context, |pane, _| typed(pane)).flatten());
        let (before, sign) = found.unwrap_or((String::new(), "/"));
        let selected = self.deployments.list.table.selected().map(str::to_string);
        self.prompt = Some(Prompt {
            sign,
            input: TextInput::line(&before),
            before,
            selected,
        });
    }

    /// Handles a key while the prompt is open.
    pub(super) fn type_key(&mut self, key: Key) {
        match key.code {
            Code::Enter | Code::Tab | Code::Down => self.end_typing(),
            Code::Esc => self.cancel_typing(),
            _ if self.session.keymap.quits(key) => self.quit = true,
            _ => self.edit_prompt(|input| input.key(key)),
        }
    }

    /// Closes the prompt and keeps the text.
    pub(super) fn end_typing(&mut self) {
        if self.prompt.take().is_some() {
            self.with_stream(|stream, _| crate::session::Component::end_typing(stream, true));
        }
    }

    /// Closes the prompt and restores the previous text.
    fn cancel_typing(&mut self) {
        let Some(Prompt {
            before, selected, ..
        }) = self.prompt.take()
        else {
            return;
        };
        self.set_filter(&before);
        self.with_stream(|stream, _| crate::session::Component::end_typing(stream, false));
        if let Some(selected) = selected.filter(|_| self.focus == Pane::Deployments) {
            self.deployments.list.table.prefer(selected);
        }
    }

    /// Inserts pasted text while the prompt is open.
    pub(super) fn type_paste(&mut self, pasted: &str) {
        self.edit_prompt(|input| input.insert(pasted));
    }

    fn edit_prompt(&mut self, edit: impl FnOnce(&mut TextInput)) {
        let Some(prompt) = &mut self.prompt else {
            return;
        };
        let before = prompt.input.text();
        edit(&mut prompt.input);
        let after = prompt.input.text();
        if after != before {
            self.set_filter(&after);
        }
    }
}
