//! Keys in the composer: the focus, and what each key does there.

use super::Composer;
use super::options::complete;
use crate::input::action::{Action, Context};
use crate::input::key::{Code, Key};
use crate::session::msg::Effect;
use crate::session::run::Where;
use crate::session::{Cx, Request, Requests};
use crate::widgets::form::{FieldDraft, FieldInput, FormDraft, choose};
use runtail_core::model::{FieldKind, FormField};
use serde_json::Value;

/// An element that can have the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Assistant,
    Where,
    /// The input as JSON.
    Json,
    /// A field of the input or of the options, or a field of an object there.
    Field(Section, usize, Option<usize>),
    Modes,
    Conflict,
    Before,
    After,
}

/// Where a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Input,
    Options,
}

fn with_inner(section: Section, n: usize, draft: &FieldDraft, stops: &mut Vec<Stop>) {
    stops.push(Stop::Field(section, n, None));
    if let Some(inner) = draft.inner.as_ref().filter(|_| draft.is_open) {
        stops.extend((0..inner.fields.len()).map(|at| Stop::Field(section, n, Some(at))));
    }
}

impl Composer {
    /// Returns everything that can have the focus, from top to bottom.
    pub fn stops(&self) -> Vec<Stop> {
        let mut stops = vec![Stop::Assistant, Stop::Where];
        match self.input.form() {
            Some(form) => {
                form.fields
                    .iter()
                    .enumerate()
                    .for_each(|(n, draft)| with_inner(Section::Input, n, draft, &mut stops));
            }
            None => stops.push(Stop::Json),
        }
        if self.shows_options {
            stops.extend([Stop::Modes, Stop::Conflict, Stop::Before, Stop::After]);
            let rare = self.options.rare.iter().enumerate();
            rare.for_each(|(n, (_, _, draft))| with_inner(Section::Options, n, draft, &mut stops));
        }
        stops
    }

    /// Returns the first element of the input.
    pub fn first_input(&self) -> Stop {
        if self.input.form().is_some() {
            Stop::Field(Section::Input, 0, None)
        } else {
            Stop::Json
        }
    }

    /// Returns a field with its draft.
    pub fn field(
        &self,
        section: Section,
        n: usize,
        inner: Option<usize>,
    ) -> Option<(&FormField, &FieldDraft)> {
        let (field, draft) = match section {
            Section::Input => {
                let form = self.input.form()?;
                (form.form.fields.get(n)?, form.fields.get(n)?)
            }
            Section::Options => self
                .options
                .rare
                .get(n)
                .map(|(_, field, draft)| (field, draft))?,
        };
        match (inner, &draft.inner) {
            (None, _) => Some((field, draft)),
            (Some(at), Some(inner)) => Some((inner.form.fields.get(at)?, inner.fields.get(at)?)),
            (Some(_), None) => None,
        }
    }

    fn field_mut(
        &mut self,
        section: Section,
        n: usize,
        inner: Option<usize>,
    ) -> Option<(&FormField, &mut FieldDraft)> {
        let (field, draft) = match section {
            Section::Input => {
                let form = self.input.form_mut()?;
                (form.form.fields.get(n)?, form.fields.get_mut(n)?)
            }
            Section::Options => self
                .options
                .rare
                .get_mut(n)
                .map(|(_, field, draft)| (&*field, draft))?,
        };
        match inner {
            None => Some((field, draft)),
            Some(at) => {
                let inner = draft.inner.as_mut()?;
                Some((inner.form.fields.get(at)?, inner.fields.get_mut(at)?))
            }
        }
    }

    /// Moves the focus. The field that loses it shows its problems from then on.
    fn step(&mut self, by: isize) -> Requests {
        let stops = self.stops();
        let at = stops
            .iter()
            .position(|stop| *stop == self.focus)
            .unwrap_or_default() as isize;
        let next = stops[(at + by).rem_euclid(stops.len() as isize) as usize];
        self.go_to(next)
    }

    pub(super) fn go_to(&mut self, stop: Stop) -> Requests {
        let before = std::mem::replace(&mut self.focus, stop);
        if let Stop::Field(section, n, inner) = before
            && let Some((_, draft)) = self.field_mut(section, n, inner)
        {
            draft.was_left = true;
        }
        if before == Stop::Assistant && stop != Stop::Assistant {
            return self.choose_assistant();
        }
        Requests::none()
    }

    /// Takes the highlighted assistant. Its form is shown if the focus doesn't go elsewhere meanwhile.
    fn choose_assistant(&mut self) -> Requests {
        let focus = self.focus;
        self.assistant.accept();
        let requests = self.request_facts();
        self.focus = if self.stops().contains(&focus) {
            focus
        } else {
            self.first_input()
        };
        requests
    }

    /// Handles a key. Only the composer's own keys, and keys that a text field doesn't accept, are not typed.
    pub(super) fn on_key(&mut self, cx: &Cx<'_>, key: Key) -> Requests {
        let action = cx.session.keymap.action(Context::Composer, key);
        match action {
            Some(Action::Back) => {
                let mut out: Requests = Request::Close.into();
                if self.is_sending {
                    out.notify(
                        false,
                        "The request was already sent. You'll be notified of the result.",
                    );
                }
                return out;
            }
            Some(other) => {
                if let Some(requests) = Requests::while_typing(other) {
                    return requests;
                }
            }
            None => {}
        }
        if self.is_sending {
            return Requests::none();
        }
        match action {
            Some(Action::Start) => self.start(cx),
            Some(Action::NextField) if self.completes() => Requests::none(),
            Some(Action::NextField) => self.step(1),
            Some(Action::PrevField) => self.step(-1),
            Some(Action::Form) => {
                let turned = self.input.turn();
                if matches!(self.focus, Stop::Json | Stop::Field(Section::Input, ..)) {
                    self.focus = self.first_input();
                }
                turned.err().map(Requests::info).unwrap_or_default()
            }
            Some(Action::Option) => {
                self.shows_options = !self.shows_options;
                self.focus = if self.shows_options {
                    Stop::Modes
                } else {
                    self.first_input()
                };
                Requests::none()
            }
            Some(Action::LastInput) => self.recall(),
            Some(Action::StartOver) => {
                self.input = super::input::InputDraft::default();
                self.options = super::options::OptionsDraft::default();
                (self.past, self.was_tried, self.refused) = (None, false, None);
                self.use_facts();
                self.focus = self.first_input();
                Requests::none()
            }
            Some(Action::EditOutside) => match self.outside_text() {
                Some(text) => Effect::EditOutside(text).into(),
                None => Requests::info("The editor opens for text fields only."),
            },
            _ => self.type_key(key),
        }
    }

    /// Completes the name of a node. Returns whether there was one to complete.
    fn completes(&mut self) -> bool {
        let nodes = self.nodes().map(<[String]>::to_vec).unwrap_or_default();
        match self.focus {
            Stop::Before => complete(&mut self.options.before, &nodes),
            Stop::After => complete(&mut self.options.after, &nodes),
            _ => false,
        }
    }

    /// Returns what keys change at the focus.
    fn place(&mut self) -> FieldInput<'_> {
        match self.focus {
            Stop::Json => FieldInput::Text(&mut self.input.json, true),
            Stop::Before => FieldInput::Text(&mut self.options.before, false),
            Stop::After => FieldInput::Text(&mut self.options.after, false),
            Stop::Field(section, n, inner) => match self.field_mut(section, n, inner) {
                Some((field, draft)) => draft.input(field),
                None => FieldInput::Other,
            },
            Stop::Assistant | Stop::Where | Stop::Modes | Stop::Conflict => FieldInput::Other,
        }
    }

    fn touch(&mut self) {
        if matches!(self.focus, Stop::Json | Stop::Field(Section::Input, ..)) {
            self.input.touch();
            self.past = None;
        }
    }

    fn type_key(&mut self, key: Key) -> Requests {
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
            (FieldInput::Choice(choice, count, is_yes_or_no), code) => match code {
                Code::Up => return self.step(-1),
                Code::Down | Code::Enter => return self.step(1),
                _ if choose(choice, count, is_yes_or_no, key) => self.touch(),
                _ => {}
            },
            (FieldInput::Other, code) => return self.choose_here(key, code),
        }
        Requests::none()
    }

    /// Handles a key on an element that is no field.
    fn choose_here(&mut self, key: Key, code: Code) -> Requests {
        let is_search = self.focus == Stop::Assistant && self.assistant.is_searching();
        match code {
            Code::Up if !is_search => return self.step(-1),
            Code::Down if !is_search => return self.step(1),
            _ => {}
        }
        match self.focus {
            Stop::Assistant if code == Code::Enter => {
                let requests = self.step(1);
                // The input comes next, because the thread rarely changes.
                self.focus = self.first_input();
                return requests;
            }
            Stop::Assistant => {
                let before = self.assistant.listed().map(|one| one.id.clone());
                self.assistant.key(key);
                if self.assistant.listed().map(|one| one.id.clone()) != before {
                    let requests = self.request_facts();
                    self.focus = Stop::Assistant;
                    return requests;
                }
            }
            Stop::Where => match code {
                Code::Enter => return self.step(1),
                Code::Left => self.turn_place(true),
                Code::Right | Code::Char(' ') => self.turn_place(false),
                _ => {}
            },
            Stop::Modes | Stop::Conflict if code == Code::Enter => return self.step(1),
            Stop::Modes => self.options.mode_key(key),
            Stop::Conflict => self.options.conflict_key(key),
            Stop::Field(section, n, inner) if matches!(code, Code::Enter | Code::Char(' ')) => {
                if let Some((_, draft)) = self.field_mut(section, n, inner) {
                    draft.is_open = !draft.is_open;
                    if draft.is_open {
                        self.focus = Stop::Field(section, n, Some(0));
                    }
                }
            }
            _ => {}
        }
        Requests::none()
    }

    /// Returns the places that can be chosen.
    pub(super) fn places(&self) -> Vec<Where> {
        let this = self.thread.is_some().then_some(Where::ThisThread);
        this.into_iter()
            .chain([Where::NewThread, Where::Stateless])
            .collect()
    }

    fn turn_place(&mut self, is_back: bool) {
        let places = self.places();
        let at = places
            .iter()
            .position(|place| *place == self.place)
            .unwrap_or_default();
        self.place = places[(at + if is_back { places.len() - 1 } else { 1 }) % places.len()];
    }

    /// Inserts pasted text.
    pub(super) fn on_paste(&mut self, pasted: &str) {
        if self.is_sending {
            return;
        }
        if self.focus == Stop::Assistant {
            self.assistant.typed.insert(pasted);
            self.assistant.at = 0;
        } else if let FieldInput::Text(text, _) = self.place() {
            text.insert(pasted);
            self.touch();
        }
    }

    /// Returns the text at the focus for the user's editor: of an object, its JSON.
    fn outside_text(&mut self) -> Option<String> {
        if let Stop::Field(section, n, None) = self.focus
            && let Some((field, draft)) = self.field(section, n, None)
            && draft.inner.is_some()
        {
            let value = draft
                .value(field)
                .ok()
                .flatten()
                .unwrap_or_else(|| Value::Object(Default::default()));
            return serde_json::to_string_pretty(&value).ok();
        }
        match self.place() {
            FieldInput::Text(text, _) => Some(text.text()),
            _ => None,
        }
    }

    /// Applies the text from the user's editor. An object that its form can't show becomes a JSON field.
    pub(super) fn set_text(&mut self, written: &str) {
        // Editors add a line break at the end of a file.
        let written = written.strip_suffix('\n').unwrap_or(written);
        if let Stop::Field(section, n, None) = self.focus
            && let Some((field, draft)) = self.field_mut(section, n, None)
            && let FieldKind::Object(form) = &field.kind
        {
            let filled =
                serde_json::from_str(written).map(|value: Value| FormDraft::filled(form, &value));
            match filled {
                Ok(Ok(inner)) => draft.inner = Some(Box::new(inner)),
                _ => self.write_as_json(section, n, written),
            }
            return self.touch();
        }
        if let FieldInput::Text(text, _) = self.place() {
            text.set_text(written);
            self.touch();
        }
    }

    fn write_as_json(&mut self, section: Section, n: usize, written: &str) {
        let field = match section {
            Section::Input => self
                .input
                .form_mut()
                .and_then(|form| Some((form.form.fields.get_mut(n)?, form.fields.get_mut(n)?))),
            Section::Options => self
                .options
                .rare
                .get_mut(n)
                .map(|(_, field, draft)| (field, draft)),
        };
        if let Some((field, draft)) = field {
            field.kind = FieldKind::Json;
            *draft = FieldDraft {
                text: crate::widgets::text_input::TextInput::new(written),
                ..FieldDraft::default()
            };
        }
    }
}
