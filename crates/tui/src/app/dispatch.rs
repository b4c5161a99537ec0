//! Dispatches keys and pasted text to the footer prompt, the component with the focus, or the keymap.

use super::App;
use crate::input::action::{Action, Context};
use crate::input::key::{Code, Key};
use crate::session::HELD_KEY;
use crate::session::msg::Effect;
use jiff::SignedDuration;

/// How long a key that opened a preview doesn't send from it. The first repetition of a held key can take almost two seconds.
const OPENING_KEY: SignedDuration = SignedDuration::from_secs(2);

impl App {
    pub(super) fn handle_key(&mut self, key: Key) -> Vec<Effect> {
        if self.is_held(key) {
            self.explain_held_key(key);
            return Vec::new();
        }
        let open = self.overlays.len();
        let effects = self.dispatch_key(key);
        let opened_by_it = self.overlays.len() > open;
        // The page with the changes of a file opens once they are read.
        let drafts = effects
            .iter()
            .any(|effect| matches!(effect.bare(), Effect::DraftFile(..)));
        let context = if drafts {
            Context::Save
        } else {
            self.context()
        };
        if (opened_by_it || drafts)
            && self
                .session
                .keymap
                .action(context, key)
                .is_some_and(Action::sends)
        {
            // A preview that this key opens could be sent by its repetitions.
            self.held_key = Some((
                key,
                self.session
                    .now
                    .saturating_add(OPENING_KEY)
                    .unwrap_or(self.session.now),
            ));
        }
        effects
    }

    /// Returns whether a key may still be held down since it opened the preview. Each repetition extends that.
    fn is_held(&mut self, key: Key) -> bool {
        let now = self.session.now;
        let Some((_, until)) = self
            .held_key
            .take()
            .filter(|(held, until)| *held == key && now < *until)
        else {
            return false;
        };
        self.held_key = Some((key, until.max(now.saturating_add(HELD_KEY).unwrap_or(now))));
        true
    }

    /// Says that a key that may still be held down has to be pressed again, since it may be a new press.
    fn explain_held_key(&mut self, key: Key) {
        let context = self.context();
        let Some(action) = self
            .session
            .keymap
            .action(context, key)
            .filter(|action| action.sends())
        else {
            return;
        };
        if self
            .overlays
            .last()
            .is_none_or(|top| top.commands(&self.overlay_cx(true)).can(action))
        {
            let what = if context == Context::Save {
                "write"
            } else {
                "send"
            };
            self.session.hint(format!("Press {key} again to {what}."));
        }
    }

    /// Says that nothing was done, because the key would act on a row that no frame has shown as selected.
    pub(super) fn explain_unseen_selection(&mut self) {
        self.session
            .hint("The selection just changed. Press the key again.".into());
    }

    fn dispatch_key(&mut self, key: Key) -> Vec<Effect> {
        let context = self.context();
        // Ignore navigation while frozen: moving a cursor the user cannot see is worse than not moving it.
        if self.frozen {
            let action = self
                .session
                .keymap
                .action(context, key)
                .filter(|action| action.works_frozen());
            return action
                .map(|action| self.handle_action(context, action))
                .unwrap_or_default();
        }
        self.hold_rows();
        self.pending_record = None;
        self.dismiss_notice();
        let is_searching = self.search.is_some();
        self.cancel_search();
        if self.prompt.is_some() {
            self.type_key(key);
            return Vec::new();
        }
        if key.code == Code::Enter && self.is_selection_unseen {
            self.explain_unseen_selection();
            return Vec::new();
        }
        if self.scroll_page_above_sheet(context, key) {
            return Vec::new();
        }
        match self.with_top(|top, cx| top.key(cx, key)).flatten() {
            Some(requests) => self.apply(requests),
            None => match self.session.keymap.action(context, key) {
                Some(action) => self.handle_action(context, action),
                // Any key stops a search, so that was its meaning.
                None if is_searching => Vec::new(),
                None => {
                    self.explain_dead_key(context, key);
                    Vec::new()
                }
            },
        }
    }

    /// Turns a page of what is above a sheet, if the sheet itself has no more lines. Returns whether it did.
    fn scroll_page_above_sheet(&mut self, context: Context, key: Key) -> bool {
        let direction = match self.session.keymap.action(context, key) {
            Some(Action::PageUp) if key.text().is_none() => -1,
            Some(Action::PageDown) if key.text().is_none() => 1,
            _ => return false,
        };
        let sheet = self.overlays.last().filter(|top| top.is_sheet());
        let cx = self.overlay_cx(true);
        if sheet.is_none_or(|sheet| sheet.sheet_lines(&cx) > cx.area.h.into()) {
            return false;
        }
        let page = (isize::from(self.session.overlay_area().h as i16) - 1).max(1) * direction;
        let scrolled = self.with_overlay_below(|below, cx| below.step(cx, page, true));
        if scrolled.is_none() {
            self.with_pane(self.pane_context(), |pane, cx| pane.step(cx, page, true));
        }
        true
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
