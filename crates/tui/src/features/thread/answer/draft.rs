//! The draft of an answer to one question, and its conversion to a reply.

use super::keys::At;
use crate::widgets::form::{FieldInput, FormDraft, turned};
use crate::widgets::text_input::TextInput;
use crate::widgets::twin::Twin;
use runtail_core::exact_json::{self, Unreadable};
use runtail_core::model::{
    Action, AnswerPart, Decision, DecisionKind, FieldKind, Form, Question, Reply,
};
use serde_json::{Map, Value};

/// The draft of an answer to one question.
#[derive(Debug, Clone)]
pub struct QuestionDraft {
    /// The form, and the answer as JSON.
    pub twin: Twin<Draft>,
    /// Whether the user typed or chose anything.
    touched: bool,
}

/// The form for a question.
#[derive(Debug, Clone)]
pub enum Draft {
    /// A decision for each action.
    Actions(Vec<ActionDraft>),
    /// The fields of the question's schema.
    Fields(FormDraft),
    /// A free-form answer.
    Plain(PlainDraft),
    /// Only JSON answers it, because the question's schema can't be shown as a form or its format is not understood.
    Json,
}

/// The draft of a decision about an action.
#[derive(Debug, Clone)]
pub struct ActionDraft {
    pub action: Action,
    /// Why its arguments can't be sent back exactly as they were received.
    inexact: Option<String>,
    pub decision: Option<DecisionKind>,
    /// The form of its arguments, for an edit.
    pub args: FormDraft,
    /// The reason for a rejection.
    pub reason: TextInput,
    /// The text of a response.
    pub response: TextInput,
}

/// A free-form answer.
#[derive(Debug, Clone, Default)]
pub struct PlainDraft {
    /// The type that it is sent as.
    pub kind: PlainKind,
    pub text: TextInput,
    pub yes: Option<bool>,
}

/// The type that a free-form answer is sent as, if it isn't JSON as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlainKind {
    /// A JSON string.
    #[default]
    Text,
    /// `true` or `false`.
    YesNo,
}

type Broken = Vec<(AnswerPart, String)>;

impl QuestionDraft {
    /// Returns an empty draft. There is no default decision.
    pub fn of(question: &Question) -> QuestionDraft {
        let actions = question.actions();
        let draft = if !actions.is_empty() {
            let drafts = actions.into_iter().enumerate();
            Draft::Actions(
                drafts
                    .map(|(at, action)| ActionDraft::of(action, question.inexact_arguments(at)))
                    .collect(),
            )
        } else if let Some(form) = question.response_schema.as_ref().and_then(Form::of_schema) {
            Draft::Fields(FormDraft::of(form))
        } else if question.response_schema.is_some() || question.unsupported().is_some() {
            Draft::Json
        } else {
            Draft::Plain(PlainDraft::default())
        };
        let as_text = matches!(draft, Draft::Json);
        QuestionDraft {
            twin: Twin {
                as_text,
                ..Twin::new(draft, "")
            },
            touched: false,
        }
    }

    /// Switches between form and JSON, or between text, yes or no, and JSON.
    ///
    /// # Errors
    /// Why it stays JSON.
    pub(super) fn turn(&mut self, question: &Question, by: isize) -> Result<(), String> {
        let is_json = self.twin.as_text;
        match &mut self.twin.form {
            Draft::Json => {}
            Draft::Plain(plain) => {
                let kinds = [Some(PlainKind::Text), Some(PlainKind::YesNo), None];
                let kind = (!is_json).then_some(plain.kind);
                let next = turned(&kinds, Some(&kind), by).flatten();
                // The first JSON is the text, and the other way around.
                let (text, json) = (plain.text.text(), self.twin.text.text());
                match next {
                    None if json.trim().is_empty() => self.twin.text = TextInput::new(&text),
                    Some(PlainKind::Text) if text.trim().is_empty() => {
                        plain.text = TextInput::new(&json);
                    }
                    _ => {}
                }
                plain.kind = next.unwrap_or(plain.kind);
                self.twin.as_text = next.is_none();
            }
            _ if is_json => return self.twin.show_form(read_form),
            _ => {
                let text = self.as_json_text(question);
                self.twin.show_text(text);
            }
        }
        Ok(())
    }

    /// Clears everything that was typed or chosen. An undo in a text field restores what was typed there.
    pub(crate) fn start_over(&mut self, question: &Question) {
        let mut empty = QuestionDraft::of(question);
        let keep = |empty: &mut TextInput, typed: &mut TextInput| {
            let text = empty.text();
            std::mem::swap(empty, typed);
            empty.set_text(&text);
        };
        let keep_all = |empty: &mut FormDraft, typed: &mut FormDraft| {
            let fields = empty.fields.iter_mut().zip(&mut typed.fields);
            fields.for_each(|(empty, typed)| keep(&mut empty.text, &mut typed.text));
        };
        let mut blank = String::new();
        if matches!(empty.twin.form, Draft::Fields(_) | Draft::Actions(_)) {
            blank = empty.as_json_text(question);
        }
        match (&mut empty.twin.form, &mut self.twin.form) {
            (Draft::Plain(empty), Draft::Plain(typed)) => keep(&mut empty.text, &mut typed.text),
            (Draft::Fields(empty), Draft::Fields(typed)) => keep_all(empty, typed),
            (Draft::Actions(empty), Draft::Actions(typed)) => {
                for (empty, typed) in empty.iter_mut().zip(typed) {
                    keep_all(&mut empty.args, &mut typed.args);
                    keep(&mut empty.reason, &mut typed.reason);
                    keep(&mut empty.response, &mut typed.response);
                }
            }
            _ => {}
        }
        if !self.twin.text.is_empty() {
            std::mem::swap(&mut empty.twin.text, &mut self.twin.text);
            empty.twin.text.set_text(&blank);
        }
        *self = empty;
    }

    /// Returns the part that keys change.
    pub(super) fn input(&mut self, at: At) -> FieldInput<'_> {
        match (&mut self.twin.form, at) {
            (_, At::Json) => FieldInput::Text(&mut self.twin.text, true),
            (Draft::Plain(plain), At::Text) => FieldInput::Text(&mut plain.text, true),
            (Draft::Fields(form), At::Field(n)) => form.input((n, None)),
            (Draft::Actions(actions), At::Argument(n, field)) => match actions.get_mut(n) {
                Some(action) => action.args.input((field, None)),
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

    /// Notes that an element lost the focus.
    pub(super) fn leave(&mut self, at: At) {
        match (&mut self.twin.form, at) {
            (Draft::Fields(form), At::Field(n)) => form.leave((n, None)),
            (Draft::Actions(actions), At::Argument(n, field)) => {
                if let Some(action) = actions.get_mut(n) {
                    action.args.leave((field, None));
                }
            }
            _ => {}
        }
    }

    /// Returns whether anything was typed or chosen.
    pub fn is_touched(&self) -> bool {
        self.touched
    }

    /// Marks the draft as changed by the user.
    pub fn touch(&mut self) {
        self.touched = true;
    }

    /// Returns whether nothing is decided about its actions.
    pub fn is_undecided(&self) -> bool {
        let is_open =
            |actions: &[ActionDraft]| actions.iter().all(|action| action.decision.is_none());
        matches!(self.twin.shown(), Some(Draft::Actions(actions)) if is_open(actions))
    }

    /// Approves every undecided action that allows it.
    pub fn approve(&mut self, question: &Question) {
        match self.twin.shown_mut() {
            Some(Draft::Actions(actions)) => {
                for action in actions {
                    if action.decision.is_none()
                        && action.action.allowed.contains(&DecisionKind::Approve)
                    {
                        action.decision = Some(DecisionKind::Approve);
                        self.touched = true;
                    }
                }
            }
            Some(Draft::Plain(plain)) if question.is_yes_or_no() && !self.touched => {
                (plain.kind, plain.yes) = (PlainKind::YesNo, Some(true));
                self.touched = true;
            }
            Some(Draft::Fields(form)) if question.is_yes_or_no() && !self.touched => {
                if let (1, Some((field, draft))) = (form.fields.len(), form.field_mut((0, None)))
                    && field.kind == FieldKind::Boolean
                {
                    draft.choice = Some(0);
                    self.touched = true;
                }
            }
            _ => {}
        }
    }

    /// Converts the draft to a reply; `None` if the question stays open. `is_meant`: whether an untouched form counts
    /// as an answer.
    pub fn reply(&self, question: &Question, is_meant: bool) -> Result<Option<Reply>, Broken> {
        if self.twin.as_text {
            return read_json(&self.twin.text.text());
        }
        match &self.twin.form {
            Draft::Plain(plain) => Ok(plain.reply()),
            _ if !is_meant => Ok(None),
            Draft::Json => Ok(None),
            Draft::Actions(actions) => {
                let mut broken = Vec::new();
                let mut decisions = Vec::new();
                for (at, action) in actions.iter().enumerate() {
                    match action.decided(at) {
                        Ok(decision) => decisions.push(decision),
                        Err(more) => {
                            broken.extend(more);
                            decisions.push(None);
                        }
                    }
                }
                if broken.is_empty() {
                    Ok(Some(Reply::Decisions(decisions)))
                } else {
                    Err(broken)
                }
            }
            Draft::Fields(form) => {
                let (value, broken) = checked(form, AnswerPart::Field);
                if broken.is_empty() {
                    return Ok(Some(Reply::Value(value)));
                }
                // The other fields are checked too, so that all problems are reported at once.
                let others = question.check(&value).into_iter();
                let is_new = |(spot, _): &(AnswerPart, String)| {
                    !broken.iter().any(|(known, _)| known == spot)
                };
                Err(others.filter(is_new).chain(broken.clone()).collect())
            }
        }
    }

    /// Returns the answer as JSON, as far as it is filled in.
    pub fn as_json_text(&self, question: &Question) -> String {
        let value = match self.reply(question, true) {
            Ok(Some(reply)) => question.value_of(&reply).ok().or(match reply {
                Reply::Value(value) => Some(value),
                Reply::Decisions(_) => None,
            }),
            _ => None,
        };
        let value = value.unwrap_or_else(|| match &self.twin.form {
            Draft::Actions(actions) => {
                let decided = actions
                    .iter()
                    .enumerate()
                    .map(|(at, action)| action.decided(at).ok().flatten());
                question
                    .unfinished(&decided.collect::<Vec<_>>())
                    .unwrap_or_default()
            }
            Draft::Fields(form) => form.value().0,
            Draft::Plain(_) | Draft::Json => Value::Null,
        });
        serde_json::to_string_pretty(&value).unwrap_or_default()
    }
}

impl ActionDraft {
    fn of(action: Action, inexact: Option<String>) -> ActionDraft {
        let empty = Map::new();
        let args = action.args.as_object().unwrap_or(&empty);
        let args = FormDraft::of(Form::of_arguments(args, action.args_schema.as_ref()));
        let (reason, response) = (TextInput::new(""), TextInput::new(""));
        ActionDraft {
            action,
            inexact,
            decision: None,
            args,
            reason,
            response,
        }
    }

    /// Returns whether all arguments can be edited field by field.
    pub fn is_editable(&self) -> bool {
        self.inexact.is_none()
            && match self.action.args.as_object() {
                Some(args) => self.args.form.covers(args),
                None => self.action.args.is_null(),
            }
    }

    fn decided(&self, at: usize) -> Result<Option<Decision>, Broken> {
        Ok(match self.decision {
            None => None,
            Some(DecisionKind::Approve) => Some(Decision::Approve),
            Some(DecisionKind::Ignore) => Some(Decision::Ignore),
            Some(DecisionKind::Reject) => {
                Some(Decision::Reject(self.reason.text().trim().to_string()))
            }
            Some(DecisionKind::Respond) => Some(Decision::Respond(self.response.text())),
            Some(DecisionKind::Edit) if !self.is_editable() => {
                return Err(vec![(
                    AnswerPart::Action(at),
                    match &self.inexact {
                        Some(why) => {
                            format!("can't be edited here without changing other arguments: {why}")
                        }
                        None => "must be edited as JSON".into(),
                    },
                )]);
            }
            Some(DecisionKind::Edit) => {
                let part = |name| AnswerPart::Argument(at, name);
                let (args, broken) = checked(&self.args, part);
                if !broken.is_empty() {
                    return Err(broken);
                }
                Some(Decision::Edit(
                    self.action.name.clone(),
                    args.as_object().cloned().unwrap_or_default(),
                ))
            }
        })
    }
}

impl PlainDraft {
    fn reply(&self) -> Option<Reply> {
        let value = match self.kind {
            PlainKind::Text => Value::String(self.text.text()),
            PlainKind::YesNo => Value::Bool(self.yes?),
        };
        let is_blank = value.as_str().is_some_and(|text| text.trim().is_empty());
        (!is_blank).then_some(Reply::Value(value))
    }
}

/// Fills in a form from JSON.
fn read_form(draft: &mut Draft, text: &str) -> Result<(), String> {
    let Draft::Fields(form) = draft else {
        return Err("decisions can't be read from JSON; start over".into());
    };
    if text.trim().is_empty() {
        *form = FormDraft::of(form.form.clone());
        return Ok(());
    }
    let value = exact_json::parse(text).map_err(|why| why.to_string())?;
    *form = FormDraft::filled(&form.form, &value)?;
    Ok(())
}

fn read_json(text: &str) -> Result<Option<Reply>, Broken> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    match exact_json::parse(text) {
        Ok(value) => Ok(Some(Reply::Value(value))),
        Err(Unreadable::Inexact(inexact)) => Err(vec![(AnswerPart::Answer, inexact.to_string())]),
        Err(Unreadable::Invalid(error)) => {
            let (line, column) = (error.line(), error.column());
            let why = format!("Not valid JSON (line {line}, column {column}).");
            Err(vec![(AnswerPart::Answer, why)])
        }
    }
}

/// Returns the value of a form, and the problems of its fields.
fn checked(form: &FormDraft, spot: impl Fn(String) -> AnswerPart) -> (Value, Broken) {
    let (value, problems) = form.value();
    let part = |(path, rule): (String, String)| match path.as_str() {
        "" => (AnswerPart::Answer, rule),
        _ => (spot(path), rule),
    };
    (value, problems.into_iter().map(part).collect())
}
