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
    use crate::fixtures::asking;
    use serde_json::json;

    fn sent(question: &Question, given: &GivenAnswer) -> Result<Value, String> {
        let value = question.value_of(&question.reply_from(given)?);
        value.map_err(|broken| broken.into_iter().map(|(_, rule)| rule).collect())
    }

    fn approval(allowed: &[&[&str]]) -> Question {
        let requests = vec![json!({"name": "send", "args": {"to": "a"}}); allowed.len()];
        let config = |words| json!({"action_name": "send", "allowed_decisions": words});
        let configs: Vec<Value> = allowed.iter().map(config).collect();
        asking(json!({"action_requests": requests, "review_configs": configs}))
    }

    fn inbox(flags: &[&str]) -> Question {
        let flags = flags
            .iter()
            .map(|flag| (format!("allow_{flag}"), true.into()));
        let config = Value::Object(flags.collect());
        asking(
            json!([{"action_request": {"action": "send", "args": {"name": "n", "args": {}}}, "config": config}]),
        )
    }

    fn with_schema(schema: Value) -> Question {
        Question {
            response_schema: Some(schema),
            ..asking(json!("Go?"))
        }
    }

    #[test]
    fn answers_have_the_form_of_the_question() {
        let two = approval(&[&["approve", "reject"], &["approve", "reject", "edit"]]);
        let one = approval(&[&["edit"]]);
        let all = inbox(&["accept", "edit", "ignore", "respond"]);
        let unknown = asking(json!([{"action_request": {}}, {}]));
        let [approve, city] = ["Approve it?", "Which city?"].map(|text| asking(json!(text)));
        let why = || Reject(Some("w".into()));
        let edited = |name: &str| json!({"decisions": [{"type": "edit", "edited_action": {"name": name, "args": {"to": "b"}}}]});
        let reject = json!({"type": "reject", "message": "w"});
        // The action's own arguments are called name and args.
        let args = json!({"name": "m", "args": {}});
        for (question, given, expected) in [
            (
                &two,
                Approve,
                json!({"decisions": [{"type": "approve"}, {"type": "approve"}]}),
            ),
            (&two, why(), json!({"decisions": [reject, reject]})),
            (&one, Edit(json!({"to": "b"})), edited("send")),
            (
                &one,
                Edit(json!({"name": "post", "args": {"to": "b"}})),
                edited("post"),
            ),
            (&all, Approve, json!([{"type": "accept", "args": null}])),
            (
                &all,
                Reject(None),
                json!([{"type": "ignore", "args": null}]),
            ),
            (&all, why(), json!([{"type": "response", "args": "w"}])),
            (
                &all,
                Text("t".into()),
                json!([{"type": "response", "args": "t"}]),
            ),
            (
                &all,
                Edit(args.clone()),
                json!([{"type": "edit", "args": {"action": "send", "args": args}}]),
            ),
            (&unknown, Json(json!([1, 2])), json!([1, 2])),
            (&approve, Approve, json!(true)),
            (&approve, Reject(None), json!(false)),
            (&city, Text("Rome".into()), json!("Rome")),
            (&city, Json(json!([1])), json!([1])),
        ] {
            assert_eq!(
                sent(question, &given),
                Ok(expected),
                "{question:?} {given:?}"
            );
        }
    }

    #[test]
    fn answers_that_do_not_fit_are_refused_with_what_does() {
        let two = approval(&[&["approve"], &["approve"]]);
        let one = approval(&[&["edit"]]);
        let unknown = asking(
            json!([{"action_request": {"action": "a"}, "config": {}}, {"action_request": {}}]),
        );
        let [approve, city] = ["Approve it?", "Which city?"].map(|text| asking(json!(text)));
        let boolean = with_schema(json!({"type": "boolean"}));
        let why = || Reject(Some("w".into()));
        let text = || Text("x".into());
        let only_json =
            "a list of 2 requests, and the known answer is for one), so only --json can answer it";
        for (question, given, part) in [
            (&two, text(), "2 actions"),
            (&two, Edit(json!({})), "2 actions"),
            (
                &two,
                Json(json!({"decisions": [{}]})),
                "must have 2 decisions",
            ),
            (&approval(&[&["reject"]]), Approve, "allows only reject"),
            (&one, Edit(json!({"name": 1, "args": {}})), "must be text"),
            (&one, Edit(json!([])), "as an object"),
            (&one, text(), "allows only edit"),
            (&inbox(&["ignore"]), why(), "no reason"),
            (&inbox(&["respond"]), Reject(None), "--reject WHY"),
            (&inbox(&["accept"]), Reject(None), "allows only accept"),
            (&unknown, Approve, only_json),
            (&unknown, Reject(None), only_json),
            (&unknown, text(), only_json),
            (&unknown, Edit(json!({})), only_json),
            (&boolean, text(), "use --approve or --reject"),
            (&boolean, Edit(json!({})), "use --approve or --reject"),
            (&boolean, why(), "use --reject alone"),
            (
                &with_schema(json!({"type": "object"})),
                Edit(json!({})),
                "use --json",
            ),
            (&approve, why(), "use --reject alone, --text or --json"),
            (&city, Approve, "use --text or --json"),
            (&city, Json(Value::Null), "null can't be an answer"),
            (&city, Edit(json!({})), "no action to edit"),
        ] {
            let error = sent(question, &given).unwrap_err();
            assert!(error.contains(part), "{question:?} {given:?}: {error}");
        }
    }
}
