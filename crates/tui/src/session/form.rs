//! The keys of a form. All forms move their focus, type, paste and open `$EDITOR` alike.

use super::msg::Effect;
use super::request::Requests;
use crate::input::action::Action;
use crate::input::key::{Code, Key};
use crate::widgets::form::{FieldInput, choose};

/// The label of the key that closes a form.
pub const CLOSE_KEEPS: &str = "close, keeps the draft";

/// A form that a person fills in: what can have the focus, and what keys change there.
pub trait FormKeys {
    /// An element that can have the focus.
    type Stop: Copy + PartialEq;

    /// Returns everything that can have the focus, from top to bottom.
    fn stops(&self) -> Vec<Self::Stop>;

    /// Returns what has the focus.
    fn focus(&mut self) -> &mut Self::Stop;

    /// Returns what keys change at the focus.
    fn input(&mut self) -> FieldInput<'_>;

    /// Handles a key that the focused element uses for itself. Returns `None` for other keys.
    fn own_key(&mut self, key: Key) -> Option<Requests>;

    /// Inserts pasted text into an element that is no field. Returns whether it has the focus.
    fn own_paste(&mut self, _pasted: &str) -> bool {
        false
    }

    /// Applies a change at the focus. `before`: the former text.
    fn on_change(&mut self, before: &str);

    /// Notes that the focused element loses the focus. Returns whether it may.
    fn leave(&mut self) -> bool;

    /// Applies a move of the focus.
    fn on_focus(&mut self, _before: Self::Stop) -> Requests {
        Requests::none()
    }

    /// Completes what is typed. Returns whether there was something to complete.
    fn complete(&mut self) -> bool {
        false
    }

    /// Returns whether keys may change it.
    fn is_editable(&self) -> bool {
        true
    }

    /// Moves the focus. The element that loses it shows its problems from then on.
    fn move_focus(&mut self, by: isize) -> Requests {
        if !self.leave() {
            return Requests::none();
        }
        let (before, stops) = (*self.focus(), self.stops());
        let at = stops.iter().position(|stop| *stop == before);
        let next = (at.unwrap_or_default() as isize + by).rem_euclid(stops.len().max(1) as isize);
        *self.focus() = stops.get(next as usize).copied().unwrap_or(before);
        self.on_focus(before)
    }

    /// Handles a key that is not one of the form's own. Keys that a text field doesn't accept are not typed.
    fn form_key(&mut self, action: Option<Action>, key: Key) -> Requests {
        match action {
            Some(Action::NextField) if self.complete() => Requests::none(),
            Some(Action::NextField) => self.move_focus(1),
            Some(Action::PrevField) => self.move_focus(-1),
            Some(Action::EditOutside) if self.is_editable() => match self.outside_text() {
                Some(text) => Effect::EditOutside(text).into(),
                None => Requests::info("The editor needs a text field."),
            },
            action => match action.and_then(Requests::while_typing) {
                Some(requests) => requests,
                None => self.type_key(key),
            },
        }
    }

    /// Types a key at the focus, or moves the focus.
    fn type_key(&mut self, key: Key) -> Requests {
        if !self.is_editable() {
            return Requests::none();
        }
        if let Some(requests) = self.own_key(key) {
            return requests;
        }
        match (self.input(), key.code) {
            (FieldInput::Text(text, is_long), code) => {
                let last = text.lines().len().saturating_sub(1);
                let row = text.cursor().0;
                match code {
                    Code::Up if row == 0 => return self.move_focus(-1),
                    Code::Down if row == last => return self.move_focus(1),
                    Code::Enter if !is_long => return self.move_focus(1),
                    _ => {}
                }
                let before = text.text();
                text.key(key);
                if text.text() != before {
                    self.on_change(&before);
                }
            }
            (_, Code::Up) => return self.move_focus(-1),
            (_, Code::Down) => return self.move_focus(1),
            (FieldInput::Object(_, draft), Code::Enter | Code::Char(' ')) => {
                draft.is_open = !draft.is_open;
                if draft.is_open {
                    let (stops, focus) = (self.stops(), *self.focus());
                    let mut below = stops.into_iter().skip_while(|stop| *stop != focus);
                    *self.focus() = below.nth(1).unwrap_or(focus);
                }
            }
            (_, Code::Enter) => return self.move_focus(1),
            (FieldInput::Choice(choice, count, is_yes_or_no), _) => {
                if choose(choice, count, is_yes_or_no, key) {
                    self.on_change("");
                }
            }
            (FieldInput::Object(..) | FieldInput::Other, _) => {}
        }
        Requests::none()
    }

    /// Inserts pasted text.
    fn paste_text(&mut self, pasted: &str) {
        if !self.is_editable() {
            return;
        }
        if !self.own_paste(pasted)
            && let FieldInput::Text(text, _) = self.input()
        {
            let before = text.text();
            text.insert(pasted);
            self.on_change(&before);
        }
    }

    /// Returns the text at the focus for the user's editor: of an object, its JSON.
    fn outside_text(&mut self) -> Option<String> {
        match self.input() {
            FieldInput::Text(text, _) => Some(text.text()),
            FieldInput::Object(field, draft) => draft.object_text(field),
            FieldInput::Choice(..) | FieldInput::Other => None,
        }
    }

    /// Applies the text from the user's editor.
    fn set_text(&mut self, written: &str) {
        // Editors add a line break at the end of a file.
        let written = written.strip_suffix('\n').unwrap_or(written);
        match self.input() {
            FieldInput::Text(text, _) => text.set_text(written),
            FieldInput::Object(field, draft) => draft.set_object(field, written),
            FieldInput::Choice(..) | FieldInput::Other => return,
        }
        self.on_change("");
    }
}
