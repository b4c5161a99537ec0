//! Keys in the answer card: the focus, and what each key does there.

use super::draft::{Draft, PlainKind, QuestionDraft};
use super::{AnswerCard, AnswerStage};
use crate::input::action::{Action, Context};
use crate::input::key::{Code, Key};
use crate::session::msg::Effect;
use crate::session::{Cx, Requests};
use crate::widgets::form::{FieldDraft, FieldInput, choose};
use crate::widgets::text_input::TextInput;
use runtail_core::model::{AnswerPart, DecisionKind, FormField, Problem};

/// An element that can have the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// The index of the question.
    pub question: usize,
    /// The part of the question.
    pub at: At,
}

/// A part of a question that can have the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The type that the answer is sent as.
    Kind,
    Text,
    YesNo,
    /// The answer as JSON.
    Json,
    /// A field of the schema.
    Field(usize),
    /// The decision about an action.
    Decision(usize),
    /// An argument of an action.
    Argument(usize, usize),
    /// The reason for rejecting an action, or the response instead of it.
    Message(usize),
}

impl AnswerCard {
    /// Returns everything that can have the focus, from top to bottom.
    pub fn stops(&self) -> Vec<Stop> {
        let mut stops = Vec::new();
        for (question, draft) in self.drafts.iter().enumerate() {
            stops.extend(stops_of(draft).into_iter().map(|at| Stop { question, at }));
        }
        stops
    }

    /// Returns what has the focus.
    pub fn focused(&self) -> Option<Stop> {
        self.stops().get(self.focus).copied()
    }

    /// Returns the initial focus, which skips the choice of a type.
    pub(crate) fn first_stop(&self) -> usize {
        let stops = self.stops();
        let is_open = |stop: &Stop| match (&self.drafts[stop.question].draft, stop.at) {
            (_, At::Kind) => false,
            // After "approve all", the first undecided action has the focus.
            (Draft::Actions(actions), At::Decision(at)) => {
                actions.get(at).is_some_and(|one| one.decision.is_none())
            }
            _ => true,
        };
        stops.iter().position(is_open).unwrap_or_default()
    }

    fn go_to(&mut self, stop: Stop) {
        if let Some(at) = self.stops().iter().position(|one| *one == stop) {
            self.focus = at;
        }
    }

    /// Moves the focus to the next or previous stop. The field that loses it shows its problems from then on.
    pub(crate) fn step(&mut self, by: isize) {
        if let Some(Stop { question, at }) = self.focused()
            && let Some(draft) = self.drafts.get_mut(question)
        {
            draft.leave(at);
        }
        let count = self.stops().len() as isize;
        if count > 0 {
            self.focus = (self.focus as isize + by).rem_euclid(count) as usize;
        }
    }

    /// Moves the focus to the first problem.
    pub(crate) fn go_to_problem(&mut self, problems: &[Problem]) {
        let Some(problem) = problems
            .iter()
            .min_by_key(|problem| (problem.question, problem.spot.clone()))
        else {
            return;
        };
        let Some(draft) = self.drafts.get(problem.question) else {
            return;
        };
        let at = match (&problem.spot, &draft.draft) {
            (AnswerPart::Action(at), _) => Some(At::Decision(*at)),
            (AnswerPart::Argument(at, name), Draft::Actions(actions)) => {
                let fields = actions
                    .get(*at)
                    .map(|action| action.form.fields.as_slice())
                    .unwrap_or_default();
                fields
                    .iter()
                    .position(|field| name.starts_with(&field.name))
                    .map(|field| At::Argument(*at, field))
            }
            (AnswerPart::Field(path), Draft::Fields(form, _)) => {
                let name = path.split('.').next().unwrap_or_default();
                form.fields
                    .iter()
                    .position(|field| field.name == name)
                    .map(At::Field)
            }
            _ => None,
        };
        let stops = self.stops();
        let of_question = |stop: &&Stop| stop.question == problem.question && stop.at != At::Kind;
        let wanted = at
            .map(|at| Stop {
                question: problem.question,
                at,
            })
            .filter(|stop| stops.contains(stop));
        if let Some(stop) = wanted.or_else(|| stops.iter().find(of_question).copied()) {
            self.go_to(stop);
        }
    }

    fn place(&mut self) -> FieldInput<'_> {
        let Some(Stop { question, at }) = self.focused() else {
            return FieldInput::Other;
        };
        let Some(draft) = self.drafts.get_mut(question) else {
            return FieldInput::Other;
        };
        if at == At::Json && draft.as_json {
            return draft
                .json
                .as_mut()
                .map_or(FieldInput::Other, |text| FieldInput::Text(text, true));
        }
        match (&mut draft.draft, at) {
            (Draft::Plain(plain), At::Text) => FieldInput::Text(&mut plain.text, true),
            (Draft::Plain(plain), At::Json) => FieldInput::Text(&mut plain.json, true),
            (Draft::Fields(form, fields), At::Field(n)) => {
                field_input(form.fields.get(n), fields.get_mut(n))
            }
            (Draft::Actions(actions), At::Argument(n, field)) => match actions.get_mut(n) {
                Some(action) => {
                    field_input(action.form.fields.get(field), action.fields.get_mut(field))
                }
                None => FieldInput::Other,
            },
            (Draft::Actions(actions), At::Message(n)) => match actions.get_mut(n) {
                Some(action) if action.decision == Some(DecisionKind::Respond) => {
                    FieldInput::Text(&mut action.response, false)
                }
                Some(action) => FieldInput::Text(&mut action.reason, false),
                None => FieldInput::Other,
            },
            _ => FieldInput::Other,
        }
    }

    fn touch(&mut self) {
        if let Some(stop) = self.focused() {
            self.drafts[stop.question].touch();
        }
        // Editing after a rejected answer starts a new attempt, unless the server may have received the first one.
        if matches!(&self.stage, AnswerStage::Refused(failed) if !failed.failure.may_be_received())
        {
            self.stage = AnswerStage::Editing;
        }
    }

    /// Handles a key that no action uses.
    pub fn key(&mut self, key: Key) {
        if !self.is_editable() {
            return;
        }
        let before = self.focused();
        match (self.place(), key.code) {
            (FieldInput::Text(text, is_long), code) => {
                let last = text.lines().len().saturating_sub(1);
                let row = text.cursor().0;
                match code {
                    Code::Up if row == 0 => return self.step(-1),
                    Code::Down if row == last => return self.step(1),
                    Code::Enter if !is_long => return self.step(1),
                    _ => {}
                }
                let was = text.text();
                text.key(key);
                if text.text() != was {
                    self.touch();
                }
            }
            (_, Code::Up) => self.step(-1),
            (_, Code::Down | Code::Enter) => self.step(1),
            (FieldInput::Choice(choice, count, is_yes_or_no), _) => {
                if choose(choice, count, is_yes_or_no, key) {
                    self.touch();
                }
            }
            (FieldInput::Other, _) => self.decide(before, key),
        }
    }

    /// Handles a key on a decision, or on the type of an answer.
    fn decide(&mut self, stop: Option<Stop>, key: Key) {
        let Some(Stop { question, at }) = stop else {
            return;
        };
        let forward = matches!(key.code, Code::Right) || key == Key::char(' ');
        let back = key.code == Code::Left;
        match (&mut self.drafts[question].draft, at) {
            (Draft::Plain(plain), At::Kind) if (forward || back) && !plain.only_json => {
                plain.turn(back);
                self.focus = self
                    .stops()
                    .iter()
                    .position(|one| one.question == question)
                    .unwrap_or(self.focus);
            }
            (Draft::Plain(plain), At::YesNo) => {
                let yes = match key.code {
                    Code::Char('y' | '1') => Some(true),
                    Code::Char('n' | '2') => Some(false),
                    Code::Backspace | Code::Delete => None,
                    _ if forward || back => Some(!plain.yes.unwrap_or(false)),
                    _ => return,
                };
                plain.yes = yes;
                self.touch();
            }
            (Draft::Actions(actions), At::Decision(n)) => {
                let Some(action) = actions.get_mut(n) else {
                    return;
                };
                let allowed = &action.action.allowed;
                let here = allowed
                    .iter()
                    .position(|kind| Some(*kind) == action.decision);
                let chosen = match key.code {
                    Code::Char(digit) if digit.is_ascii_digit() => {
                        let Some(kind) = allowed.iter().find(|kind| kind.digit() == digit) else {
                            return;
                        };
                        Some(*kind).filter(|kind| action.decision != Some(*kind))
                    }
                    Code::Backspace | Code::Delete => None,
                    _ if (forward || back) && !allowed.is_empty() => {
                        let count = allowed.len();
                        let next = here.map_or(if back { count - 1 } else { 0 }, |at| {
                            (at + if back { count - 1 } else { 1 }) % count
                        });
                        allowed.get(next).copied()
                    }
                    _ => return,
                };
                let is_digit = matches!(key.code, Code::Char(digit) if digit.is_ascii_digit());
                action.decision = chosen;
                self.touch();
                // A decision that needs a text moves the focus to it.
                let message = Stop {
                    question,
                    at: At::Message(n),
                };
                let argument = Stop {
                    question,
                    at: At::Argument(n, 0),
                };
                if is_digit
                    && let Some(next) = [message, argument]
                        .into_iter()
                        .find(|one| self.stops().contains(one))
                {
                    self.go_to(next);
                }
            }
            _ => {}
        }
    }

    /// Inserts pasted text.
    pub fn paste(&mut self, pasted: &str) {
        if !self.is_editable() {
            return;
        }
        if let FieldInput::Text(text, _) = self.place() {
            text.insert(pasted);
            self.touch();
        }
    }

    /// Switches between form and JSON, or between text, yes or no, and JSON.
    pub(crate) fn turn(&mut self) {
        let Some(Stop { question, .. }) = self.focused() else {
            return;
        };
        let (asked, draft) = (&self.questions[question], &mut self.drafts[question]);
        if let Draft::Plain(plain) = &mut draft.draft {
            if !plain.only_json {
                plain.turn(false);
            }
        } else if draft.as_json {
            draft.as_json = false;
        } else {
            let (filled, empty) = (
                draft.as_json_text(asked),
                QuestionDraft::of(asked).as_json_text(asked),
            );
            match &mut draft.json {
                // Nothing was typed there, or it was cleared.
                Some(json) if json.text() == empty => json.set_text(&filled),
                Some(_) => {}
                None => draft.json = Some(TextInput::new(&filled)),
            }
            draft.as_json = true;
        }
        let stops = self.stops();
        let is_own = |stop: &Stop| stop.question == question && stop.at != At::Kind;
        self.focus = stops.iter().position(is_own).unwrap_or_default();
    }

    /// Returns the text under the cursor, for the user's editor.
    pub(crate) fn outside_text(&mut self) -> Option<String> {
        match self.place() {
            FieldInput::Text(text, _) => Some(text.text()),
            _ => None,
        }
    }

    /// Applies the text from the user's editor.
    pub fn set_text(&mut self, written: &str) {
        if let FieldInput::Text(text, _) = self.place() {
            // Editors add a line break at the end of a file.
            text.set_text(written.strip_suffix('\n').unwrap_or(written));
            self.touch();
        }
    }

    /// Clears the answer to the focused question.
    fn start_over(&mut self) {
        if let Some(Stop { question, .. }) = self.focused().filter(|_| self.is_editable()) {
            self.drafts[question].start_over(&self.questions[question]);
            let stops = self.stops();
            let is_own = |stop: &Stop| stop.question == question && stop.at != At::Kind;
            self.focus = stops.iter().position(is_own).unwrap_or_default();
        }
    }
}

fn stops_of(draft: &QuestionDraft) -> Vec<At> {
    if draft.as_json {
        return vec![At::Json];
    }
    match &draft.draft {
        Draft::Plain(plain) => {
            let typed = match plain.kind {
                PlainKind::Text => At::Text,
                PlainKind::YesNo => At::YesNo,
                PlainKind::Json => At::Json,
            };
            if plain.only_json {
                vec![typed]
            } else {
                vec![At::Kind, typed]
            }
        }
        Draft::Fields(form, _) => (0..form.fields.len()).map(At::Field).collect(),
        Draft::Actions(actions) => {
            let mut stops = Vec::new();
            for (n, action) in actions.iter().enumerate() {
                stops.push(At::Decision(n));
                match action.decision {
                    Some(DecisionKind::Edit) if action.is_editable() => {
                        stops.extend(
                            (0..action.form.fields.len()).map(|field| At::Argument(n, field)),
                        );
                    }
                    Some(DecisionKind::Reject | DecisionKind::Respond) => {
                        stops.push(At::Message(n))
                    }
                    _ => {}
                }
            }
            stops
        }
    }
}

impl QuestionDraft {
    /// Notes that a field lost the focus.
    fn leave(&mut self, at: At) {
        match (&mut self.draft, at) {
            (Draft::Fields(_, fields), At::Field(n)) => {
                if let Some(field) = fields.get_mut(n) {
                    field.was_left = true;
                }
            }
            (Draft::Actions(actions), At::Argument(n, field)) => {
                if let Some(field) = actions
                    .get_mut(n)
                    .and_then(|action| action.fields.get_mut(field))
                {
                    field.was_left = true;
                }
            }
            _ => {}
        }
    }
}

impl super::draft::PlainDraft {
    /// Switches to the next or previous type, keeping a text that is already JSON.
    fn turn(&mut self, back: bool) {
        const KINDS: [PlainKind; 3] = [PlainKind::Text, PlainKind::YesNo, PlainKind::Json];
        let at = KINDS
            .iter()
            .position(|kind| *kind == self.kind)
            .unwrap_or_default();
        let next = KINDS[(at + if back { 2 } else { 1 }) % 3];
        let (text, json) = (self.text.text(), self.json.text());
        match next {
            PlainKind::Json if json.trim().is_empty() => self.json = TextInput::new(&text),
            PlainKind::Text if text.trim().is_empty() => self.text = TextInput::new(&json),
            _ => {}
        }
        self.kind = next;
    }
}

fn field_input<'a>(field: Option<&FormField>, draft: Option<&'a mut FieldDraft>) -> FieldInput<'a> {
    match (field, draft) {
        (Some(field), Some(draft)) => draft.input(field),
        _ => FieldInput::Other,
    }
}

impl AnswerCard {
    /// Handles a key. Only the card's own keys, and keys that a text field doesn't accept, are not typed.
    pub(super) fn on_key(&mut self, cx: &Cx<'_>, key: Key) -> Requests {
        let height = cx.session.overlay_area().h as usize;
        match cx.session.keymap.action(Context::Answer, key) {
            Some(Action::Send) => return self.send(cx),
            Some(Action::Back) => return self.close(),
            Some(Action::NextField) => self.step(1),
            Some(Action::PrevField) => self.step(-1),
            Some(Action::Form) if self.is_editable() => self.turn(),
            Some(Action::Request) => self.shows_request = !self.shows_request,
            Some(Action::StartOver) => self.start_over(),
            Some(Action::EditOutside) if self.is_editable() => {
                return match self.outside_text() {
                    Some(text) => Effect::EditOutside(text).into(),
                    None => Requests::info("The editor opens for text fields only."),
                };
            }
            Some(Action::PageUp) if key.text().is_none() => {
                self.top = self.top.saturating_sub(height)
            }
            Some(Action::PageDown) if key.text().is_none() => self.top += height,
            action => match action.and_then(Requests::while_typing) {
                Some(requests) => return requests,
                None => self.key(key),
            },
        }
        Requests::none()
    }
}
