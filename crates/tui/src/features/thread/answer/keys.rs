//! Keys in the answer card: the focus, and what each key does there.

use super::draft::{ActionDraft, Draft, PlainKind, QuestionDraft};
use super::{AnswerCard, AnswerStage};
use crate::input::action::{Action, Context};
use crate::input::key::{Code, Key};
use crate::session::card::FormCard;
use crate::session::form::{CLOSE_KEEPS, FormKeys};
use crate::session::msg::EffectResult;
use crate::session::{Cx, Requests, Session};
use crate::widgets::form::{FieldInput, FormScroll, turn_of, turned};
use crate::widgets::form_lines::FormLines;
use runtail_core::model::{AnswerPart, DecisionKind, Problem};
use runtail_core::text;

/// An element that can have the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// The index of the question.
    pub question: usize,
    /// The part of the question.
    pub at: At,
}

impl Stop {
    /// The focus of a card without questions.
    pub(super) const NONE: Stop = Stop {
        question: 0,
        at: At::Kind,
    };
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
    /// Returns the initial focus, which skips the choice of a type.
    pub(crate) fn first_stop(&self) -> Stop {
        let stops = self.stops();
        let is_open = |stop: &&Stop| match (&self.drafts[stop.question].twin.form, stop.at) {
            (_, At::Kind) => false,
            // After "approve all", the first undecided action has the focus.
            (Draft::Actions(actions), At::Decision(at)) => {
                actions.get(at).is_some_and(|one| one.decision.is_none())
            }
            _ => true,
        };
        let open = stops.iter().find(is_open).or(stops.first());
        open.copied().unwrap_or(Stop::NONE)
    }

    /// Moves the focus to the first of these elements that there is.
    fn go_to(&mut self, wanted: impl IntoIterator<Item = Stop>) {
        let stops = self.stops();
        let found = wanted.into_iter().find(|stop| stops.contains(stop));
        self.focus = found.unwrap_or(self.focus);
    }

    /// Returns what is filled in for a question.
    fn inputs_of(&self, question: usize) -> impl Iterator<Item = Stop> + use<> {
        let is_input = move |stop: &Stop| stop.question == question && stop.at != At::Kind;
        self.stops().into_iter().filter(is_input)
    }

    /// Moves the focus to the first problem.
    pub(crate) fn go_to_problem(&mut self, problems: &[Problem]) {
        let first = problems
            .iter()
            .min_by_key(|problem| (problem.question, problem.spot.clone()));
        let Some((problem, draft)) =
            first.and_then(|problem| Some((problem, self.drafts.get(problem.question)?)))
        else {
            return;
        };
        let at = match (&problem.spot, &draft.twin.form) {
            (AnswerPart::Action(at), _) => Some(At::Decision(*at)),
            (AnswerPart::Argument(at, path), Draft::Actions(actions)) => {
                let spot = actions.get(*at).and_then(|one| one.args.position(path));
                spot.map(|(field, _)| At::Argument(*at, field))
            }
            (AnswerPart::Field(path), Draft::Fields(form)) => {
                form.position(path).map(|(n, _)| At::Field(n))
            }
            _ => None,
        };
        let question = problem.question;
        let at = at.map(|at| Stop { question, at });
        self.go_to(at.into_iter().chain(self.inputs_of(question)));
    }

    /// Switches between form and JSON, or between text, yes or no, and JSON.
    pub(crate) fn turn(&mut self) -> Requests {
        let question = self.focus.question;
        let asked = self.questions.get(question);
        let Some((asked, draft)) = asked.zip(self.drafts.get_mut(question)) else {
            return Requests::none();
        };
        let turned = draft.turn(asked, 1);
        self.go_to(self.inputs_of(question));
        turned.err().map(Requests::error).unwrap_or_default()
    }

    /// Clears the answer to the focused question.
    fn start_over(&mut self) {
        let question = self.focus.question;
        if let (true, Some(draft)) = (self.is_editable(), self.drafts.get_mut(question)) {
            draft.start_over(&self.questions[question]);
            self.go_to(self.inputs_of(question));
        }
    }
}

impl FormKeys for AnswerCard {
    type Stop = Stop;

    fn stops(&self) -> Vec<Stop> {
        let mut stops = Vec::new();
        for (question, draft) in self.drafts.iter().enumerate() {
            stops.extend(stops_of(draft).into_iter().map(|at| Stop { question, at }));
        }
        stops
    }

    fn focus(&mut self) -> &mut Stop {
        &mut self.focus
    }

    fn input(&mut self) -> FieldInput<'_> {
        match self.drafts.get_mut(self.focus.question) {
            Some(draft) => draft.input(self.focus.at),
            None => FieldInput::Other,
        }
    }

    fn own_key(&mut self, key: Key) -> Option<Requests> {
        let Stop { question, at } = self.focus;
        let by = turn_of(key);
        let draft = self.drafts.get_mut(question)?;
        match (&mut draft.twin.form, at) {
            (_, At::Kind) if by != 0 => {
                // A free-form answer can be sent as each type.
                drop(draft.turn(&self.questions[question], by));
            }
            (Draft::Plain(plain), At::YesNo) => {
                plain.yes = match key.code {
                    Code::Char('y' | '1') => Some(true),
                    Code::Char('n' | '2') => Some(false),
                    Code::Backspace | Code::Delete => None,
                    _ if by != 0 => Some(!plain.yes.unwrap_or(false)),
                    _ => return None,
                };
                self.on_change("");
            }
            (Draft::Actions(actions), At::Decision(n)) => {
                actions.get_mut(n)?.decide(key)?;
                self.on_change("");
                // A decision that needs a text moves the focus to it.
                if key.text().is_some_and(|c| c.is_ascii_digit()) {
                    let inputs = [At::Message(n), At::Argument(n, 0)];
                    self.go_to(inputs.map(|at| Stop { question, at }));
                }
            }
            _ => return None,
        }
        Some(Requests::none())
    }

    fn on_change(&mut self, _before: &str) {
        if let Some(draft) = self.drafts.get_mut(self.focus.question) {
            draft.touch();
        }
        // Editing after a rejected answer starts a new attempt, unless the server may have received the first one.
        if matches!(&self.stage, AnswerStage::Refused(failed) if !failed.failure.may_be_received())
        {
            self.stage = AnswerStage::Editing;
        }
    }

    fn leave(&mut self) -> bool {
        if let Some(draft) = self.drafts.get_mut(self.focus.question) {
            draft.leave(self.focus.at);
        }
        true
    }

    fn is_editable(&self) -> bool {
        matches!(self.stage, AnswerStage::Editing | AnswerStage::Refused(_))
    }
}

impl FormCard for AnswerCard {
    const CONTEXT: Context = Context::Answer;

    fn of_profile(&self) -> &str {
        &self.thread.server.profile
    }

    fn take_reply(&mut self, session: &Session, reply: &EffectResult) -> Option<Requests> {
        match reply {
            EffectResult::ThreadLoaded(_, loaded) => Some(self.on_loaded(session, loaded.clone())),
            _ => None,
        }
    }

    fn title(&self, cx: &Cx<'_>) -> String {
        let place = cx.session.place(&self.thread.server);
        let id = text::tail(&self.thread.id, 4);
        let thread = match &self.graph {
            Some(graph) => format!("{graph} {id}"),
            None => format!("thread {}", text::short_id(&self.thread.id)),
        };
        let asked = match &self.watch.closed {
            // The line that says why may be scrolled out of view.
            Some(closed) => format!(" · {}", closed.label),
            None => self.asked(cx.session.now),
        };
        text::clean(&format!("Answer · {place} › {thread}{asked}")).into_owned()
    }

    fn keys(&self) -> Vec<(&'static str, String)> {
        if !self.is_editable() {
            return vec![("answer.back", "close".into())];
        }
        let draft = self.drafts.get(self.focus.question);
        let mut keys = vec![("answer.send", "send".to_string())];
        match (self.focus.at, draft.map(|draft| &draft.twin.form)) {
            (At::Decision(n), Some(Draft::Actions(actions))) => {
                let allowed = actions
                    .get(n)
                    .map(|action| action.action.allowed.as_slice())
                    .unwrap_or_default();
                let digits: Vec<String> = allowed
                    .iter()
                    .map(|kind| kind.digit().to_string())
                    .collect();
                keys.extend([
                    ("", "↑↓ action".to_string()),
                    ("", format!("{} decide", digits.join(" "))),
                ]);
            }
            (At::Text | At::Json, _) => keys.push(("", "⏎ new line".into())),
            _ => keys.push(("answer.next", "next field".into())),
        }
        let other = match draft.map(|draft| (&draft.twin.form, draft.twin.as_text)) {
            Some((Draft::Json, _)) => None,
            Some((Draft::Plain(_), _)) => Some("change type"),
            Some((_, true)) => Some("as form"),
            _ => Some("as JSON"),
        };
        keys.extend(other.map(|label| ("answer.form", label.to_string())));
        let more = [
            ("answer.outside", "$EDITOR"),
            ("answer.request", "request"),
            ("answer.back", CLOSE_KEEPS),
        ];
        keys.extend(more.map(|(id, label)| (id, label.to_string())));
        keys
    }

    fn drawn(&self, cx: &Cx<'_>) -> FormLines {
        self.lines(cx.area.w.into())
    }

    fn scroll(&self) -> &FormScroll<Stop> {
        &self.scroll
    }

    fn scroll_mut(&mut self) -> &mut FormScroll<Stop> {
        &mut self.scroll
    }

    fn refresh(&mut self, cx: &Cx<'_>) {
        self.watch(cx);
    }

    fn act(&mut self, cx: &Cx<'_>, action: Option<Action>, key: Key) -> Requests {
        let height = cx.area.h as usize;
        match action {
            Some(Action::Send) => return self.send(cx),
            Some(Action::Back) => return self.close(),
            Some(Action::Form) if self.is_editable() => return self.turn(),
            Some(Action::Request) => self.shows_request = !self.shows_request,
            Some(Action::StartOver) => self.start_over(),
            Some(Action::PageUp) if key.text().is_none() => {
                self.scroll.top = self.scroll.top.saturating_sub(height)
            }
            Some(Action::PageDown) if key.text().is_none() => self.scroll.top += height,
            _ => return self.form_key(action, key),
        }
        Requests::none()
    }
}

impl ActionDraft {
    /// Handles a key on the decision. Returns `None` for keys that decide nothing.
    fn decide(&mut self, key: Key) -> Option<()> {
        let allowed = &self.action.allowed;
        self.decision = match (key.code, turn_of(key)) {
            (Code::Char(digit), 0) => {
                let kind = *allowed.iter().find(|kind| kind.digit() == digit)?;
                Some(kind).filter(|kind| self.decision != Some(*kind))
            }
            (Code::Backspace | Code::Delete, _) => None,
            (_, 0) => return None,
            (_, by) => Some(turned(allowed, self.decision.as_ref(), by)?),
        };
        Some(())
    }
}

fn stops_of(draft: &QuestionDraft) -> Vec<At> {
    match &draft.twin.form {
        Draft::Plain(plain) => {
            let typed = match plain.kind {
                _ if draft.twin.as_text => At::Json,
                PlainKind::Text => At::Text,
                PlainKind::YesNo => At::YesNo,
            };
            vec![At::Kind, typed]
        }
        _ if draft.twin.as_text => vec![At::Json],
        Draft::Json => Vec::new(),
        Draft::Fields(form) => (0..form.fields.len()).map(At::Field).collect(),
        Draft::Actions(actions) => {
            let mut stops = Vec::new();
            for (n, action) in actions.iter().enumerate() {
                stops.push(At::Decision(n));
                match action.decision {
                    Some(DecisionKind::Edit) if action.is_editable() => {
                        stops.extend(
                            (0..action.args.fields.len()).map(|field| At::Argument(n, field)),
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
