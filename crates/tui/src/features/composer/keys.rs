//! Keys in the composer: the focus, and what each key does there.

use super::Composer;
use super::input::InputDraft;
use super::options::{OptionsDraft, complete};
use crate::input::action::{Action, Context};
use crate::input::key::{Code, Key};
use crate::session::card::FormCard;
use crate::session::form::{CLOSE_KEEPS, FormKeys};
use crate::session::msg::EffectResult;
use crate::session::run::Where;
use crate::session::{ALREADY_SENT, Cx, Request, Requests, Session};
use crate::widgets::form::{FieldDraft, FieldInput, FormDraft, FormScroll, Spot, turn_of, turned};
use crate::widgets::form_lines::FormLines;
use runtail_core::model::{Conflict, FormField, RunOption};
use runtail_core::text;

/// An element that can have the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComposerStop {
    Assistant,
    Where,
    /// The input as JSON.
    Json,
    /// A field of the input or of the options.
    Field(Section, Spot),
    Modes,
    Conflict,
}

/// Where a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Input,
    Options,
}

impl Composer {
    /// Returns the first element of the input.
    pub fn first_input(&self) -> ComposerStop {
        match self.input.form() {
            Some(_) => ComposerStop::Field(Section::Input, (0, None)),
            None => ComposerStop::Json,
        }
    }

    /// Returns the first part of the input that is typed, else its first part.
    fn first_text(&mut self) -> ComposerStop {
        let before = self.focus;
        let typed = self.stops().into_iter().find(|stop| {
            self.focus = *stop;
            self.is_in_input() && matches!(self.input(), FieldInput::Text(..))
        });
        self.focus = before;
        typed.unwrap_or_else(|| self.first_input())
    }

    /// Returns whether the input has the focus.
    pub(super) fn is_in_input(&self) -> bool {
        matches!(
            self.focus,
            ComposerStop::Json | ComposerStop::Field(Section::Input, _)
        )
    }

    /// Returns the field with the focus, with its draft.
    pub(super) fn field(&self) -> Option<(&FormField, &FieldDraft)> {
        match self.focus {
            ComposerStop::Field(Section::Input, spot) => self.input.form()?.field(spot),
            ComposerStop::Field(Section::Options, spot) => self.options.form.field(spot),
            _ => None,
        }
    }

    /// Returns whether an option that names nodes has the focus.
    fn is_at_nodes(&self) -> bool {
        let stops = [RunOption::Before, RunOption::After].map(|option| self.stop_of(option));
        stops.contains(&self.focus)
    }

    fn form_mut(&mut self, section: Section) -> Option<&mut FormDraft> {
        match section {
            Section::Input => self.input.form_mut(),
            Section::Options => Some(&mut self.options.form),
        }
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

    /// Handles a key in the field of the assistant.
    fn assistant_key(&mut self, key: Key) -> Requests {
        let chosen = |composer: &Composer| composer.assistant.listed().map(|one| one.id.clone());
        let before = chosen(self);
        self.assistant.key(key);
        if chosen(self) == before {
            return Requests::none();
        }
        let requests = self.request_facts();
        self.focus = ComposerStop::Assistant;
        requests
    }

    /// Returns the places that can be chosen.
    pub(super) fn places(&self) -> Vec<Where> {
        let this = self.thread.is_some().then_some(Where::ThisThread);
        this.into_iter()
            .chain([Where::NewThread, Where::Stateless])
            .collect()
    }
}

impl FormKeys for Composer {
    type Stop = ComposerStop;

    fn stops(&self) -> Vec<ComposerStop> {
        let of = |section, form: &FormDraft| {
            let spots = form.spots().into_iter();
            spots.map(move |spot| ComposerStop::Field(section, spot))
        };
        let mut stops = vec![ComposerStop::Assistant, ComposerStop::Where];
        match self.input.form() {
            Some(form) => stops.extend(of(Section::Input, form)),
            None => stops.push(ComposerStop::Json),
        }
        if self.shows_options {
            stops.extend([ComposerStop::Modes, ComposerStop::Conflict]);
            stops.extend(of(Section::Options, &self.options.form));
        }
        stops
    }

    fn focus(&mut self) -> &mut ComposerStop {
        &mut self.focus
    }

    fn input(&mut self) -> FieldInput<'_> {
        match self.focus {
            ComposerStop::Json => FieldInput::Text(&mut self.input.twin.text, true),
            ComposerStop::Field(section, spot) => match self.form_mut(section) {
                Some(form) => form.input(spot),
                None => FieldInput::Other,
            },
            ComposerStop::Assistant
            | ComposerStop::Where
            | ComposerStop::Modes
            | ComposerStop::Conflict => FieldInput::Other,
        }
    }

    fn own_key(&mut self, key: Key) -> Option<Requests> {
        let by = turn_of(key);
        match (self.focus, key.code) {
            (ComposerStop::Assistant, Code::Up | Code::Down) if !self.assistant.is_searching() => {
                return None;
            }
            (ComposerStop::Assistant, Code::Enter) => {
                let requests = self.move_focus(1);
                // The input comes next, because the thread rarely changes.
                self.focus = self.first_input();
                return Some(requests);
            }
            (ComposerStop::Assistant, _) => return Some(self.assistant_key(key)),
            (ComposerStop::Where, _) if by != 0 => {
                self.place = turned(&self.places(), Some(&self.place), by)?;
            }
            (ComposerStop::Conflict, _) if by != 0 => {
                let chosen = &mut self.options.conflict;
                *chosen = turned(&Conflict::ALL, Some(chosen), by)?;
            }
            (ComposerStop::Modes, _) if by != 0 => self.options.mode_key(key),
            // Who types a sentence on a choice means the input.
            (ComposerStop::Where | ComposerStop::Conflict | ComposerStop::Modes, _)
                if key.text().is_some() =>
            {
                self.focus = self.first_text();
                return Some(self.type_key(key));
            }
            _ => return None,
        }
        Some(Requests::none())
    }

    fn on_change(&mut self, _before: &str) {
        if self.is_in_input() {
            self.input.touch();
            self.past = None;
        }
    }

    fn leave(&mut self) -> bool {
        if let ComposerStop::Field(section, spot) = self.focus
            && let Some(form) = self.form_mut(section)
        {
            form.leave(spot);
        }
        true
    }

    fn on_focus(&mut self, before: ComposerStop) -> Requests {
        if before == ComposerStop::Assistant && self.focus != ComposerStop::Assistant {
            return self.choose_assistant();
        }
        Requests::none()
    }

    fn own_paste(&mut self, pasted: &str) -> bool {
        let is_own = self.focus == ComposerStop::Assistant;
        if is_own {
            self.assistant.typed.insert(pasted);
            self.assistant.at = 0;
        }
        is_own
    }

    /// Completes the name of a node.
    fn complete(&mut self) -> bool {
        let has_nodes = self.is_at_nodes();
        let nodes = self.nodes().map(<[String]>::to_vec).unwrap_or_default();
        match self.input() {
            FieldInput::Text(typed, _) if has_nodes => complete(typed, &nodes),
            _ => false,
        }
    }

    fn is_editable(&self) -> bool {
        !self.is_sending
    }
}

impl FormCard for Composer {
    const CONTEXT: Context = Context::Composer;
    const COVERS_PAGE: bool = true;

    fn of_profile(&self) -> &str {
        &self.server.profile
    }

    fn title(&self, cx: &Cx<'_>) -> String {
        text::clean(&format!("New run · {}", cx.session.place(&self.server))).into_owned()
    }

    fn keys(&self) -> Vec<(&'static str, String)> {
        if self.is_sending {
            return vec![("composer.back", "close".into())];
        }
        let mut keys = vec![("composer.start", "start".to_string())];
        keys.extend(self.choice_keys().map(|hint| ("", hint.to_string())));
        keys.push(match self.focus {
            _ if self.is_at_nodes() => ("composer.next", "complete, next field".into()),
            _ if self.is_long() => ("", "⏎ new line".into()),
            _ => ("composer.next", "next field".into()),
        });
        if self.input.known_form().is_some() {
            keys.push((
                "composer.form",
                if self.input.twin.as_text {
                    "as form"
                } else {
                    "as JSON"
                }
                .into(),
            ));
        }
        // In a narrow frame, the first keys are shown.
        let options = (
            "composer.options",
            if self.shows_options {
                "fold options"
            } else {
                "options"
            }
            .to_string(),
        );
        keys.insert(if self.shows_options { 1 } else { keys.len() }, options);
        if !self.inputs().is_empty() {
            keys.push(("composer.last_input", "earlier input".into()));
        }
        keys.push(("composer.outside", "edit in $EDITOR".into()));
        keys.push(("composer.back", CLOSE_KEEPS.into()));
        keys
    }

    fn drawn(&self, cx: &Cx<'_>) -> FormLines {
        self.lines(cx)
    }

    fn scroll(&self) -> &FormScroll<ComposerStop> {
        &self.scroll
    }

    fn scroll_mut(&mut self) -> &mut FormScroll<ComposerStop> {
        &mut self.scroll
    }

    fn act(&mut self, cx: &Cx<'_>, action: Option<Action>, key: Key) -> Requests {
        if action == Some(Action::Back) {
            let mut out: Requests = Request::Close.into();
            if self.is_sending {
                out.notify(false, ALREADY_SENT);
            }
            return out;
        }
        if self.is_sending {
            return action.and_then(Requests::while_typing).unwrap_or_default();
        }
        match action {
            Some(Action::Start) => return self.start(cx),
            Some(Action::LastInput) => return self.recall(),
            Some(Action::Form) => {
                let turned = self.input.turn();
                if self.is_in_input() {
                    self.focus = self.first_input();
                }
                return turned.err().map(Requests::error).unwrap_or_default();
            }
            Some(Action::Option) => {
                self.shows_options = !self.shows_options;
                self.focus = if self.shows_options {
                    ComposerStop::Modes
                } else {
                    self.first_input()
                };
            }
            Some(Action::StartOver) => {
                self.input = InputDraft::default();
                self.options = OptionsDraft::default();
                (self.past, self.was_tried, self.refused) = (None, false, None);
                self.use_facts();
                self.focus = self.first_input();
            }
            _ => return self.form_key(action, key),
        }
        Requests::none()
    }

    fn take_reply(&mut self, _session: &Session, reply: &EffectResult) -> Option<Requests> {
        match reply {
            EffectResult::Assistants(from, result)
                if *from == self.server && self.assistant.all.is_empty() =>
            {
                let listed = result.as_ref().map(|listing| &*listing.items);
                self.assistant.error = result.as_ref().err().cloned();
                return Some(self.offer(listed.unwrap_or_default()));
            }
            EffectResult::GraphFacts(from, assistant, facts) if *from == self.server => {
                self.known.entry(assistant.clone()).or_default().facts =
                    Some(facts.clone().map(|facts| *facts));
            }
            // Without earlier inputs, there is just no history.
            EffectResult::Inputs(from, assistant, inputs) if *from == self.server => {
                self.known.entry(assistant.clone()).or_default().inputs =
                    Some(inputs.clone().unwrap_or_default());
            }
            _ => return None,
        }
        self.use_facts();
        Some(Requests::none())
    }
}
