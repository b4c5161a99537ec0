//! The draft of an answer to one question, and its conversion to a reply.

use super::keys::At;
use crate::widgets::form::{FieldInput, FormDraft};
use crate::widgets::text_input::TextInput;
use runtail_core::exact_json::{self, Unreadable};
use runtail_core::model::{
    Action, AnswerPart, Decision, DecisionKind, FieldKind, Form, Question, Reply,
};
use serde_json::{Map, Value};

/// The draft of an answer to one question.
#[derive(Debug, Clone)]
pub struct QuestionDraft {
    pub draft: Draft,
    /// The answer as JSON, if the user switched to it.
    pub json: Option<TextInput>,
    /// Whether the JSON is sent instead of the form.
    pub as_json: bool,
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
#[derive(Debug, Clone)]
pub struct PlainDraft {
    /// The type that it is sent as.
    pub kind: PlainKind,
    /// Whether only JSON is allowed, because the question's schema can't be shown as a form or its format is not understood.
    pub only_json: bool,
    pub text: TextInput,
    pub yes: Option<bool>,
    pub json: TextInput,
}

/// The type that a free-form answer is sent as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainKind {
    /// A JSON string.
    Text,
    /// `true` or `false`.
    YesNo,
    /// JSON as typed.
    Json,
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
        } else {
            let only_json = question.response_schema.is_some() || question.unsupported().is_some();
            Draft::Plain(PlainDraft {
                kind: if only_json {
                    PlainKind::Json
                } else {
                    PlainKind::Text
                },
                only_json,
                text: TextInput::new(""),
                yes: None,
                json: TextInput::new(""),
            })
        };
        QuestionDraft {
            draft,
            json: None,
            as_json: false,
            touched: false,
        }
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
        match (&mut empty.draft, &mut self.draft) {
            (Draft::Plain(empty), Draft::Plain(typed)) => {
                keep(&mut empty.text, &mut typed.text);
                keep(&mut empty.json, &mut typed.json);
            }
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
        if let Some(mut json) = self.json.take() {
            json.set_text(&empty.as_json_text(question));
            empty.json = Some(json);
        }
        *self = empty;
    }

    /// Returns the part that keys change.
    pub(super) fn input(&mut self, at: At) -> FieldInput<'_> {
        if let Some(json) = self.json.as_mut().filter(|_| self.as_json) {
            return FieldInput::Text(json, true);
        }
        match (&mut self.draft, at) {
            (Draft::Plain(plain), At::Text) => FieldInput::Text(&mut plain.text, true),
            (Draft::Plain(plain), At::Json) => FieldInput::Text(&mut plain.json, true),
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
        match (&mut self.draft, at) {
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
        matches!(&self.draft, Draft::Actions(actions) if !self.as_json && is_open(actions))
    }

    /// Approves every undecided action that allows it.
    pub fn approve(&mut self, question: &Question) {
        if self.as_json {
            return;
        }
        match &mut self.draft {
            Draft::Actions(actions) => {
                for action in actions {
                    if action.decision.is_none()
                        && action.action.allowed.contains(&DecisionKind::Approve)
                    {
                        action.decision = Some(DecisionKind::Approve);
                        self.touched = true;
                    }
                }
            }
            Draft::Plain(plain) if question.is_yes_or_no() && !self.touched => {
                (plain.kind, plain.yes) = (PlainKind::YesNo, Some(true));
                self.touched = true;
            }
            Draft::Fields(form) if question.is_yes_or_no() && !self.touched => {
                if let (1, Some((field, draft))) = (form.fields.len(), form.field_mut((0, None)))
                    && field.kind == FieldKind::Boolean
                {
                    draft.choice = Some(0);
                    self.touched = true;
                }
            }
            Draft::Plain(_) | Draft::Fields(_) => {}
        }
    }

    /// Converts the draft to a reply; `None` if the question stays open. `is_meant`: whether an untouched form counts
    /// as an answer.
    pub fn reply(&self, question: &Question, is_meant: bool) -> Result<Option<Reply>, Broken> {
        if let Some(json) = self.json.as_ref().filter(|_| self.as_json) {
            return read_json(&json.text());
        }
        match &self.draft {
            Draft::Plain(plain) => plain.reply(),
            _ if !is_meant => Ok(None),
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
        let value = value.unwrap_or_else(|| match &self.draft {
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
            Draft::Plain(_) => Value::Null,
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
                        Some(why) => format!(
                            "can't be edited here, because its other arguments would change: {why}"
                        ),
                        None => "has arguments that can only be edited as JSON".into(),
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
    fn reply(&self) -> Result<Option<Reply>, Broken> {
        match self.kind {
            PlainKind::Text => {
                let text = self.text.text();
                Ok((!text.trim().is_empty()).then_some(Reply::Value(Value::String(text))))
            }
            PlainKind::YesNo => Ok(self.yes.map(|yes| Reply::Value(Value::Bool(yes)))),
            PlainKind::Json => read_json(&self.json.text()),
        }
    }
}

fn read_json(text: &str) -> Result<Option<Reply>, Broken> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    match exact_json::parse(text) {
        Ok(value) => Ok(Some(Reply::Value(value))),
        Err(Unreadable::Inexact(inexact)) => Err(vec![(AnswerPart::Answer, inexact.to_string())]),
        Err(Unreadable::Invalid(error)) => {
            let place = format!("line {}, column {}", error.line(), error.column());
            Err(vec![(
                AnswerPart::Answer,
                format!("Not valid JSON ({place}). ctrl-t changes how it is sent."),
            )])
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
