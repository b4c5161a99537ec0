//! Answers given by the options of `runtail answer`. The reply that they become depends on the question's dialect.

use super::{Decision, Reply};
use crate::model::approval::{Action, ApprovalFormat, DecisionKind};
use crate::model::question::Dialect;
use crate::model::thread_facts::Question;
use serde_json::{Map, Value};

/// An answer, before it is matched to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum GivenAnswer {
    /// Approves every action, or says yes.
    Approve,
    /// Rejects every action, or says no. The text is the reason.
    Reject(Option<String>),
    /// Approves the only action with other arguments: `{"name", "args"}`, or the arguments alone.
    Edit(Value),
    /// Answers with a text, or gives it as the result of the only action.
    Text(String),
    /// Answers with exactly this value.
    Json(Value),
}

impl Question {
    /// Converts an answer into a reply to this question. [`Question::value_of`] checks the reply.
    ///
    /// # Errors
    /// Why the question can't be answered this way.
    pub fn reply_from(&self, given: &GivenAnswer) -> Result<Reply, String> {
        if let Some(why) = self
            .unsupported()
            .filter(|_| !matches!(given, GivenAnswer::Json(_)))
        {
            return Err(format!(
                "the question's format is not understood ({why}), so only --json can answer it"
            ));
        }
        let actions = self.actions();
        match (given, actions.as_slice()) {
            (GivenAnswer::Json(value), _) => Ok(Reply::Value(value.clone())),
            (GivenAnswer::Text(_), []) if self.response_schema.is_some() && self.is_yes_or_no() => {
                Err("the question takes yes or no; use --approve or --reject".into())
            }
            (GivenAnswer::Text(text), []) => Ok(Reply::Value(text.as_str().into())),
            (GivenAnswer::Text(text), [_]) => Ok(decided(vec![Decision::Respond(text.clone())])),
            (GivenAnswer::Edit(edited), [action]) => {
                let (name, args) = edited_action(action, edited)?;
                Ok(decided(vec![Decision::Edit(name.into(), args.clone())]))
            }
            (GivenAnswer::Edit(_), []) => Err(format!(
                "the question has no action to edit; use {}",
                self.fitting_options()
            )),
            (GivenAnswer::Text(_) | GivenAnswer::Edit(_), several) => Err(format!(
                "the question has {} actions; use --json '{{\"decisions\": […]}}' with one decision for each",
                several.len()
            )),
            (GivenAnswer::Approve | GivenAnswer::Reject(None), []) if self.is_yes_or_no() => {
                Ok(Reply::Value(Value::Bool(*given == GivenAnswer::Approve)))
            }
            (GivenAnswer::Reject(Some(_)), []) if self.is_yes_or_no() => {
                Err(match self.response_schema {
                    Some(_) => "a yes-or-no question takes no reason; use --reject alone".into(),
                    None => {
                        "a yes-or-no question takes no reason; use --reject alone, --text or --json"
                            .into()
                    }
                })
            }
            (GivenAnswer::Approve | GivenAnswer::Reject(_), [])
                if self.response_schema.is_some() =>
            {
                Err("the answer must fit the question's schema; use --json".into())
            }
            (GivenAnswer::Approve | GivenAnswer::Reject(_), []) => {
                Err("the question doesn't ask for an approval; use --text or --json".into())
            }
            (GivenAnswer::Approve, actions) => Ok(decided(vec![Decision::Approve; actions.len()])),
            (GivenAnswer::Reject(why), actions) => {
                let reject = |action: &Action| self.rejection(action, why.as_deref());
                Ok(decided(
                    actions.iter().map(reject).collect::<Result<_, _>>()?,
                ))
            }
        }
    }

    /// Returns the options that can answer a question without actions.
    fn fitting_options(&self) -> &'static str {
        match (self.is_yes_or_no(), &self.response_schema) {
            (true, Some(_)) => "--approve or --reject",
            (true, None) => "--approve, --reject, --text or --json",
            (false, Some(_)) => "--json",
            (false, None) => "--text or --json",
        }
    }

    /// The older inbox has no rejection: without a reason the action is ignored, and a reason is the response.
    pub(super) fn rejection(&self, action: &Action, why: Option<&str>) -> Result<Decision, String> {
        if !matches!(self.dialect(), Dialect::Approval(ApprovalFormat::Inbox, _)) {
            return Ok(Decision::Reject(why.unwrap_or_default().into()));
        }
        let takes = |kind: DecisionKind| action.allowed.contains(&kind);
        match why {
            Some(why) if takes(DecisionKind::Respond) => Ok(Decision::Respond(why.into())),
            Some(_) if takes(DecisionKind::Ignore) => Err(
                "the question takes no reason; use --reject alone, which ignores the action".into(),
            ),
            None if !takes(DecisionKind::Ignore) && takes(DecisionKind::Respond) => {
                Err("the action can't be rejected without a reason; use --reject WHY".into())
            }
            _ => Ok(Decision::Ignore),
        }
    }
}

fn decided(decisions: Vec<Decision>) -> Reply {
    Reply::Decisions(decisions.into_iter().map(Some).collect())
}

/// Returns the name and the arguments of an edited action.
fn edited_action<'a>(
    action: &'a Action,
    edited: &'a Value,
) -> Result<(&'a str, &'a Map<String, Value>), String> {
    let Some(fields) = edited.as_object() else {
        return Err(
            "--edit takes the arguments as an object, or {\"name\": …, \"args\": {…}}".into(),
        );
    };
    let has_both =
        |fields: &Map<String, Value>| fields.contains_key("name") && fields.contains_key("args");
    // The action's own arguments may have these names.
    let is_whole =
        fields.len() == 2 && has_both(fields) && !action.args.as_object().is_some_and(has_both);
    match (is_whole, &edited["name"], &edited["args"]) {
        (false, ..) => Ok((&action.name, fields)),
        (true, Value::String(name), Value::Object(args)) => Ok((name, args)),
        (true, ..) => Err("--edit: \"name\" must be text and \"args\" an object".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::GivenAnswer::{Approve, Edit, Json, Reject, Text};
    use super::*;
    use serde_json::json;

    fn sent(question: Value, given: &GivenAnswer) -> Result<Value, String> {
        let question = Question {
            value: question,
            ..Question::default()
        };
        let reply = question.reply_from(given)?;
        question
            .value_of(&reply)
            .map_err(|broken| broken.into_iter().map(|(_, rule)| rule).collect())
    }

    fn approval(allowed: &[&[&str]]) -> Value {
        let requests: Vec<Value> = allowed
            .iter()
            .map(|_| json!({"name": "send", "args": {"to": "a"}}))
            .collect();
        let configs: Vec<Value> = allowed
            .iter()
            .map(|words| json!({"action_name": "send", "allowed_decisions": words}))
            .collect();
        json!({"action_requests": requests, "review_configs": configs})
    }

    #[test]
    fn approvals_get_one_decision_for_each_action() {
        let two = || approval(&[&["approve", "reject"], &["approve", "reject", "edit"]]);
        let (yes, no) = (
            json!({"type": "approve"}),
            json!({"type": "reject", "message": "no"}),
        );
        assert_eq!(sent(two(), &Approve), Ok(json!({"decisions": [yes, yes]})));
        assert_eq!(
            sent(two(), &Reject(Some("no".into()))),
            Ok(json!({"decisions": [no, no]}))
        );
        assert!(
            sent(two(), &Text("x".into()))
                .unwrap_err()
                .contains("2 actions")
        );
        assert!(
            sent(two(), &Edit(json!({})))
                .unwrap_err()
                .contains("2 actions")
        );
        assert!(
            sent(two(), &Json(json!({"decisions": [yes]})))
                .unwrap_err()
                .contains("must have 2 decisions")
        );
        assert!(
            sent(approval(&[&["reject"]]), &Approve)
                .unwrap_err()
                .contains("allows only reject")
        );
        let edited = |name: &str, to: &str| json!({"decisions": [{"type": "edit", "edited_action": {"name": name, "args": {"to": to}}}]});
        let one = || approval(&[&["edit"]]);
        assert_eq!(
            sent(one(), &Edit(json!({"to": "b"}))),
            Ok(edited("send", "b"))
        );
        assert_eq!(
            sent(one(), &Edit(json!({"name": "post", "args": {"to": "c"}}))),
            Ok(edited("post", "c"))
        );
        assert!(
            sent(one(), &Edit(json!({"name": 1, "args": {}}))).is_err()
                && sent(one(), &Edit(json!([]))).is_err()
        );
        assert!(
            sent(one(), &Text("x".into()))
                .unwrap_err()
                .contains("allows only edit")
        );
    }

    #[test]
    fn inbox_questions_get_a_list_of_one_response() {
        let inbox = |flags: &[&str]| {
            let config: Map<String, Value> = flags
                .iter()
                .map(|flag| ((*flag).to_string(), true.into()))
                .collect();
            json!([{"action_request": {"action": "send", "args": {"name": "n", "args": {}}}, "config": config}])
        };
        let all = || {
            inbox(&[
                "allow_accept",
                "allow_edit",
                "allow_ignore",
                "allow_respond",
            ])
        };
        assert_eq!(
            sent(all(), &Approve),
            Ok(json!([{"type": "accept", "args": null}]))
        );
        assert_eq!(
            sent(all(), &Reject(None)),
            Ok(json!([{"type": "ignore", "args": null}]))
        );
        assert_eq!(
            sent(all(), &Reject(Some("w".into()))),
            Ok(json!([{"type": "response", "args": "w"}]))
        );
        assert_eq!(
            sent(all(), &Text("t".into())),
            Ok(json!([{"type": "response", "args": "t"}]))
        );
        // The action's own arguments are called name and args.
        let args = json!({"name": "m", "args": {}});
        let edited = json!([{"type": "edit", "args": {"action": "send", "args": args}}]);
        assert_eq!(sent(all(), &Edit(args)), Ok(edited));
        assert!(
            sent(inbox(&["allow_ignore"]), &Reject(Some("w".into())))
                .unwrap_err()
                .contains("no reason")
        );
        assert!(
            sent(inbox(&["allow_respond"]), &Reject(None))
                .unwrap_err()
                .contains("--reject WHY")
        );
        assert!(
            sent(inbox(&["allow_accept"]), &Reject(None))
                .unwrap_err()
                .contains("allows only accept")
        );
    }

    #[test]
    fn only_json_answers_a_format_that_is_not_understood() {
        let two = json!([{"action_request": {"action": "a"}, "config": {}}, {"action_request": {"action": "b"}, "config": {}}]);
        for given in [Approve, Reject(None), Text("x".into()), Edit(json!({}))] {
            let why = sent(two.clone(), &given).unwrap_err();
            assert!(
                why.contains("a list of 2 requests") && why.ends_with("only --json can answer it"),
                "{why}"
            );
        }
        assert_eq!(sent(two, &Json(json!([1, 2]))), Ok(json!([1, 2])));
        assert!(sent(json!({"action_requests": []}), &Text("x".into())).is_err());
    }

    #[test]
    fn hints_fit_the_schema() {
        let hint = |schema: Value, given: &GivenAnswer| {
            let question = Question {
                response_schema: Some(schema),
                value: json!("Go?"),
                ..Question::default()
            };
            question.reply_from(given).unwrap_err()
        };
        let boolean = || json!({"type": "boolean"});
        assert!(hint(boolean(), &Text("yes".into())).ends_with("use --approve or --reject"));
        assert!(hint(boolean(), &Edit(json!({}))).ends_with("use --approve or --reject"));
        assert!(hint(boolean(), &Reject(Some("w".into()))).ends_with("use --reject alone"));
        assert!(hint(json!({"type": "object"}), &Edit(json!({}))).ends_with("use --json"));
    }

    #[test]
    fn plain_questions_get_a_text_yes_or_no_or_json() {
        assert_eq!(sent(json!("Approve it?"), &Approve), Ok(json!(true)));
        assert_eq!(sent(json!("Approve it?"), &Reject(None)), Ok(json!(false)));
        assert!(sent(json!("Approve it?"), &Reject(Some("w".into()))).is_err());
        assert!(
            sent(json!("Which city?"), &Approve)
                .unwrap_err()
                .contains("--text or --json")
        );
        assert_eq!(
            sent(json!("Which city?"), &Text("Rome".into())),
            Ok(json!("Rome"))
        );
        assert_eq!(
            sent(json!("Which city?"), &Json(json!([1]))),
            Ok(json!([1]))
        );
        assert!(
            sent(json!("Which city?"), &Json(Value::Null)).is_err()
                && sent(json!("x"), &Edit(json!({}))).is_err()
        );
    }
}
