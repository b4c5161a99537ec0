//! Answers to questions: what is answered is checked here and becomes what is sent. A server keeps the first value that it
//! receives for a question, even one that the graph can't use (acting reference §1.1), so nothing that doesn't fit leaves.

mod given;
mod rules;
#[cfg(test)]
mod tests;

pub use given::GivenAnswer;
pub use rules::{AnswerRule, RuleDecision, RulePlace, Ruled, RuledAction};

use super::approval::DecisionKind;
use super::question::Dialect;
use super::schema;
use super::thread_facts::Question;
use serde_json::{Map, Value};
use std::fmt;

/// What is said of an answer that [`Resume::is_doubtful`] (acting reference §3).
pub const MIXED_DECISIONS: &str =
    "JavaScript servers may drop the approved actions of an answer that rejects others.";

/// A decision about an action.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Run it as it is.
    Approve,
    /// Run it with these arguments; the name is the action's, or another one's.
    Edit(String, Map<String, Value>),
    /// Don't run it; the text says why, and may be empty.
    Reject(String),
    /// Don't run it, and drop the question.
    Ignore,
    /// Don't run it; the text is its result.
    Respond(String),
}

impl Decision {
    /// Returns its kind.
    pub fn kind(&self) -> DecisionKind {
        match self {
            Decision::Approve => DecisionKind::Approve,
            Decision::Edit(..) => DecisionKind::Edit,
            Decision::Reject(_) => DecisionKind::Reject,
            Decision::Ignore => DecisionKind::Ignore,
            Decision::Respond(_) => DecisionKind::Respond,
        }
    }
}

/// A reply to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// A decision for each of its actions, in their order; none where it is still missing.
    Decisions(Vec<Option<Decision>>),
    /// Any value.
    Value(Value),
}

/// What a problem is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerPart {
    /// The whole answer.
    Answer,
    /// The action at this position.
    Action(usize),
    /// An argument of the action at this position.
    Argument(usize, String),
    /// A field of the answer.
    Field(String),
}

/// Why an answer can't be sent as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The question's position among those that are open.
    pub question: usize,
    /// What of it.
    pub spot: AnswerPart,
    /// What it must be: `must be at most 10`.
    pub rule: String,
}

impl Problem {
    /// Returns it in words. Actions with a question of their own are counted over all of them, as they are listed.
    pub fn in_words(&self, questions: &[Question]) -> String {
        let is_counted = questions
            .get(self.question)
            .is_some_and(Question::is_per_call);
        let before = questions
            .iter()
            .take(self.question)
            .filter(|question| is_counted && question.is_per_call())
            .count();
        let spot = match &self.spot {
            AnswerPart::Action(at) => AnswerPart::Action(at + before),
            AnswerPart::Argument(at, name) => AnswerPart::Argument(at + before, name.clone()),
            other => other.clone(),
        };
        Problem {
            spot,
            ..self.clone()
        }
        .to_string()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.spot {
            AnswerPart::Answer => f.write_str(&self.rule),
            AnswerPart::Action(at) => write!(f, "action {} {}", at + 1, self.rule),
            AnswerPart::Argument(at, name) => write!(f, "action {}, {name}: {}", at + 1, self.rule),
            AnswerPart::Field(name) => write!(f, "{name}: {}", self.rule),
        }
    }
}

/// Answers that fit their questions.
#[derive(Debug, Clone, PartialEq)]
pub struct Resume {
    value: Value,
    /// The positions of the questions that it answers.
    answered: Vec<usize>,
    is_doubtful: bool,
}

impl Resume {
    /// Returns what is sent as `resume`: the answers by the questions' ids.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns whether it approves some actions and rejects others where that may drop the approved ones.
    pub fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// Returns the positions of the questions that it answers; the others stay open.
    pub fn answered(&self) -> &[usize] {
        &self.answered
    }
}

impl Question {
    /// Returns the id by which it can be answered. Servers take a map for answers by id only if all keys have this form
    /// (acting reference §1.2); with another key they would take the map itself for the answer.
    pub fn resume_id(&self) -> Option<&str> {
        self.id
            .as_deref()
            .filter(|id| id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()))
    }

    /// Returns what a reply means as the value that is sent.
    ///
    /// # Errors
    /// Every rule that it breaks.
    pub fn value_of(&self, reply: &Reply) -> Result<Value, Vec<(AnswerPart, String)>> {
        let value = match reply {
            Reply::Value(value) => value.clone(),
            Reply::Decisions(decisions) => self.decided(decisions)?,
        };
        let problems = self.check(&value);
        if problems.is_empty() {
            Ok(value)
        } else {
            Err(problems)
        }
    }

    fn decided(&self, decisions: &[Option<Decision>]) -> Result<Value, Vec<(AnswerPart, String)>> {
        let actions = self.actions();
        let missing: Vec<(AnswerPart, String)> = (0..actions.len().max(decisions.len()))
            .filter_map(|at| match (actions.get(at), decisions.get(at)) {
                (Some(_), Some(Some(_))) => None,
                (None, _) => Some((AnswerPart::Action(at), "does not exist".into())),
                _ => Some((AnswerPart::Action(at), "needs a decision".into())),
            })
            .collect();
        if !missing.is_empty() || actions.is_empty() {
            return Err(missing);
        }
        match self.dialect() {
            Dialect::Approval(format, _) => Ok(format.write(decisions)),
            Dialect::Unsupported(_) | Dialect::Plain => Err(missing),
        }
    }

    /// Returns an answer with these decisions as JSON to be completed; none for a question about something else.
    pub fn unfinished(&self, decisions: &[Option<Decision>]) -> Option<Value> {
        match self.dialect() {
            Dialect::Approval(format, _) => Some(format.write(decisions)),
            Dialect::Unsupported(_) | Dialect::Plain => None,
        }
    }

    /// Returns every rule that a value breaks as the answer to this question.
    pub fn check(&self, value: &Value) -> Vec<(AnswerPart, String)> {
        if value.is_null() {
            return vec![(
                AnswerPart::Answer,
                "null can't be an answer: the run would fail and the question would be lost".into(),
            )];
        }
        let mut problems = match self.dialect() {
            Dialect::Approval(format, actions) => format.check(&actions, value),
            Dialect::Unsupported(_) | Dialect::Plain => Vec::new(),
        };
        // Where an action's rule is broken, that says more than the schema of all decisions.
        if let Some(schema) = self
            .response_schema
            .as_ref()
            .filter(|_| problems.is_empty())
        {
            // A schema that can't be used here is the server's to check: it asks again if an answer doesn't fit.
            let found = schema::violations(schema, value).unwrap_or_default();
            problems.extend(found.into_iter().map(|violation| {
                let spot = if violation.path.is_empty() {
                    AnswerPart::Answer
                } else {
                    AnswerPart::Field(violation.path.join("."))
                };
                (spot, violation.rule)
            }));
        }
        problems
    }
}

/// Makes the answers to a thread's questions: one reply for each, none where it stays open.
///
/// # Errors
/// Every reason why they can't be sent, of all questions.
pub fn resume(questions: &[Question], replies: &[Option<Reply>]) -> Result<Resume, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut values: Vec<(usize, Value)> = Vec::new();
    for (at, question) in questions.iter().enumerate() {
        let Some(reply) = replies.get(at).and_then(Option::as_ref) else {
            continue;
        };
        match question.value_of(reply) {
            Ok(value) => values.push((at, value)),
            Err(broken) => {
                problems.extend(broken.into_iter().map(|(spot, rule)| Problem {
                    question: at,
                    spot,
                    rule,
                }));
            }
        }
    }
    let whole = |question: usize, rule: &str| Problem {
        question,
        spot: AnswerPart::Answer,
        rule: rule.into(),
    };
    if values.is_empty() && problems.is_empty() {
        problems.push(whole(0, "Nothing is answered yet."));
    }
    for (at, value) in &values {
        let Some(id) = questions[*at].resume_id() else {
            if questions.len() > 1 {
                problems.push(whole(
                    *at,
                    "has no id, so it can't be answered while other questions are open",
                ));
            } else if is_id_map(value) {
                problems.push(whole(
                    *at,
                    "has no id, and the server would take this answer for answers by id",
                ));
            }
            continue;
        };
        // Parallel tools of one node share an id on older servers, which give the answer to all of them.
        let twins = questions
            .iter()
            .enumerate()
            .filter(|(other, q)| other != at && q.resume_id() == Some(id));
        for (other, _) in twins {
            let same = values
                .iter()
                .find(|(at, _)| *at == other)
                .is_some_and(|(_, twin)| twin == value);
            if !same {
                problems.push(whole(
                    *at,
                    &format!(
                        "has the same id as question {}: both need the same answer",
                        other + 1
                    ),
                ));
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let is_doubtful = values
        .iter()
        .any(|(at, value)| match questions[*at].dialect() {
            Dialect::Approval(format, _) => format.is_doubtful(value),
            Dialect::Unsupported(_) | Dialect::Plain => false,
        });
    let answered = values.iter().map(|(at, _)| *at).collect();
    let by_id = |(at, value): &(usize, Value)| {
        Some((questions[*at].resume_id()?.to_string(), value.clone()))
    };
    let value = match values.as_slice() {
        [(at, value)] if questions[*at].resume_id().is_none() => value.clone(),
        values => Value::Object(values.iter().filter_map(by_id).collect()),
    };
    Ok(Resume {
        value,
        answered,
        is_doubtful,
    })
}

/// Returns whether a server would take a value for a map of answers by id.
pub fn is_id_map(value: &Value) -> bool {
    let is_id = |key: &String| key.len() == 32 && key.bytes().all(|b| b.is_ascii_hexdigit());
    value
        .as_object()
        .is_some_and(|fields| !fields.is_empty() && fields.keys().all(is_id))
}
