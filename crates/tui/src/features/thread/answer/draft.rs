//! The draft of an answer to one question, and its conversion to a reply.

use crate::widgets::form::{FieldDraft, entries};
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
    Fields(Form, Vec<FieldDraft>),
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
    pub form: Form,
    /// The values of those fields.
    pub fields: Vec<FieldDraft>,
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
            let fields = form.fields.iter().map(FieldDraft::of).collect();
            Draft::Fields(form, fields)
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
        let keep_all = |empty: &mut [FieldDraft], typed: &mut [FieldDraft]| {
            empty
                .iter_mut()
                .zip(typed)
                .for_each(|(empty, typed)| keep(&mut empty.text, &mut typed.text));
        };
        match (&mut empty.draft, &mut self.draft) {
            (Draft::Plain(empty), Draft::Plain(typed)) => {
                keep(&mut empty.text, &mut typed.text);
                keep(&mut empty.json, &mut typed.json);
            }
            (Draft::Fields(_, empty), Draft::Fields(_, typed)) => keep_all(empty, typed),
            (Draft::Actions(empty), Draft::Actions(typed)) => {
                for (empty, typed) in empty.iter_mut().zip(typed) {
                    keep_all(&mut empty.fields, &mut typed.fields);
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
            Draft::Fields(form, fields) if question.is_yes_or_no() && !self.touched => {
                if let ([field], [draft]) = (form.fields.as_slice(), fields.as_mut_slice())
                    && field.kind == FieldKind::Boolean
                {
                    draft.choice = Some(0);
                    self.touched = true;
                }
            }
            Draft::Plain(_) | Draft::Fields(..) => {}
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
            Draft::Fields(form, fields) => {
                let (entries, broken) =
                    checked(form, fields, |name| AnswerPart::Field(name.to_string()));
                if broken.is_empty() {
                    return Ok(Some(Reply::Value(form.value(entries))));
                }
                // The other fields are checked too, so that all problems are reported at once.
                let others = question.check(&form.value(entries)).into_iter();
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
            Draft::Fields(form, fields) => form.value(entries(form, fields).0),
            Draft::Plain(_) => Value::Null,
        });
        serde_json::to_string_pretty(&value).unwrap_or_default()
    }
}

impl ActionDraft {
    fn of(action: Action, inexact: Option<String>) -> ActionDraft {
        let empty = Map::new();
        let args = action.args.as_object().unwrap_or(&empty);
        let form = Form::of_arguments(args, action.args_schema.as_ref());
        let fields = form.fields.iter().map(FieldDraft::of).collect();
        let (reason, response) = (TextInput::new(""), TextInput::new(""));
        ActionDraft {
            action,
            inexact,
            decision: None,
            form,
            fields,
            reason,
            response,
        }
    }

    /// Returns whether all arguments can be edited field by field.
    pub fn is_editable(&self) -> bool {
        self.inexact.is_none()
            && match self.action.args.as_object() {
                Some(args) => self.form.covers(args),
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
                let (entries, broken) = checked(&self.form, &self.fields, |name| {
                    AnswerPart::Argument(at, name.to_string())
                });
                if !broken.is_empty() {
                    return Err(broken);
                }
                let args = if self.form.fields.is_empty() {
                    Value::Object(Map::new())
                } else {
                    self.form.value(entries)
                };
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

/// Returns the values of a form's fields, and their problems.
fn checked(
    form: &Form,
    fields: &[FieldDraft],
    spot: impl Fn(&str) -> AnswerPart,
) -> (Vec<Option<Value>>, Broken) {
    let (values, problems) = entries(form, fields);
    let part = |(path, rule): (String, String)| {
        (
            if path.is_empty() {
                AnswerPart::Answer
            } else {
                spot(&path)
            },
            rule,
        )
    };
    (values, problems.into_iter().map(part).collect())
}
