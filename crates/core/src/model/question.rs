//! Questions of a graph, in all dialects (acting reference §3).

use super::approval::{self, Action, ApprovalFormat, DecisionKind, MAX_ARGUMENTS};
use super::form::Form;
use super::schema;
use super::thread_facts::Question;
use crate::exact_json;
use serde_json::{Map, Value};

/// Fields under which graphs put the text of a question, the best first.
const TEXTS: [&str; 6] = [
    "question",
    "message",
    "prompt",
    "query",
    "title",
    "description",
];
/// Characters of an argument that a summary shows.
const MAX_ARGUMENT: usize = 40;
/// Bytes of a question's text that are read for its summary.
const MAX_READ: usize = 4 << 10;
/// Characters of a summary.
const MAX_SUMMARY: usize = 400;

/// The dialects that questions are asked in.
#[derive(Debug, Clone, PartialEq)]
pub enum Dialect {
    /// The approval of these actions, answered in the same format.
    Approval(ApprovalFormat, Vec<Action>),
    /// A format that is recognized but not understood, for this reason: only its author knows which JSON answers it.
    Unsupported(String),
    /// Anything else: any JSON answers it.
    Plain,
}

impl Question {
    /// Returns the dialect that it is asked in.
    pub fn dialect(&self) -> Dialect {
        match approval::read(self) {
            None => Dialect::Plain,
            Some(Ok((format, actions))) => Dialect::Approval(format, actions),
            Some(Err(why)) => Dialect::Unsupported(why),
        }
    }

    /// Returns whether it asks about one call of several that wait together, each with a question of its own.
    pub fn is_per_call(&self) -> bool {
        matches!(
            self.dialect(),
            Dialect::Approval(ApprovalFormat::PerCall, _)
        )
    }

    /// Returns what can't be checked in an answer to it, as a sentence.
    pub fn caution(&self) -> Option<String> {
        if let Some(why) = self.unsupported() {
            return Some(format!(
                "The question's format is not understood ({}), so its answer can't be checked: a wrong one fails the run.",
                crate::text::clean(&why)
            ));
        }
        let Some(schema) = &self.response_schema else {
            let text = "The server doesn't say which decisions and arguments the graph allows: others fail the run.";
            return self.is_per_call().then(|| text.into());
        };
        let why = schema::violations(schema, &Value::Null).err()?;
        let why = crate::text::clean(&why).into_owned();
        Some(format!(
            "The question's schema can't be checked here, but the server does: {why}."
        ))
    }

    /// Returns why its format is not understood, if so. Only JSON can answer it then.
    pub fn unsupported(&self) -> Option<String> {
        match self.dialect() {
            Dialect::Unsupported(why) => Some(why),
            _ => None,
        }
    }

    /// Returns what is asked on one line.
    pub fn summary(&self) -> String {
        let text = match self.dialect() {
            Dialect::Approval(ApprovalFormat::Inbox, actions) => {
                let Some(action) = actions.first() else {
                    return String::new();
                };
                match action.description.as_deref().and_then(first_line) {
                    Some(description) => format!("{} · {description}", action.call()),
                    None => action.call(),
                }
            }
            Dialect::Approval(_, actions) => approve(&actions),
            Dialect::Unsupported(_) => json_head(&self.value),
            Dialect::Plain => plain(&self.value),
        };
        one_line(&text)
    }

    /// Returns what is asked without the details, on one line: the names of its actions, its text, or the names of its fields.
    pub fn title(&self) -> String {
        let actions = self.actions();
        let names = || actions.iter().map(|action| action.name.as_str());
        let title = match (&self.value, text_of(&self.value)) {
            _ if !actions.is_empty() => {
                format!("Approve {}", names().collect::<Vec<_>>().join(" · "))
            }
            (_, Some(text)) if !text.trim().is_empty() => crate::text::head(text, MAX_READ).into(),
            (Value::Object(fields), _) if !fields.is_empty() => fields
                .keys()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", "),
            _ => "A question without text".into(),
        };
        one_line(&title)
    }

    /// Returns the actions that it asks about; none where it asks something else.
    pub fn actions(&self) -> Vec<Action> {
        match self.dialect() {
            Dialect::Approval(_, actions) => actions,
            Dialect::Unsupported(_) | Dialect::Plain => Vec::new(),
        }
    }

    /// Returns why the arguments of an action can't be sent back exactly as they were received, so that an edit would change
    /// more than the person does.
    pub fn inexact_arguments(&self, action: usize) -> Option<String> {
        let is_of_another = |path: &str| {
            let mut parts = path.split('.');
            match parts.next() {
                Some("action_requests" | "actionRequests") => parts
                    .next()
                    .and_then(|index| index.parse::<usize>().ok())
                    .is_some_and(|index| index != action),
                first => matches!(first, Some("review_configs" | "reviewConfigs")),
            }
        };
        // The older inbox may ask in a text that holds JSON.
        let of_text = || {
            exact_json::parse_lenient(self.value.as_str()?)
                .ok()?
                .1
                .into_iter()
                .next()
        };
        let of_value = self
            .inexact
            .iter()
            .find(|inexact| !is_of_another(&inexact.path))
            .cloned();
        let inexact = of_value.or_else(of_text);
        inexact.map(|inexact| crate::text::clean(&inexact.to_string()).into_owned())
    }

    /// Returns whether it can be answered with an approval, without another word.
    pub fn can_be_approved(&self) -> bool {
        match self.actions().as_slice() {
            [] => self.is_yes_or_no(),
            actions => actions
                .iter()
                .all(|action| action.allowed.contains(&DecisionKind::Approve)),
        }
    }

    /// Returns whether a yes or a no seems to be what it asks for.
    pub fn is_yes_or_no(&self) -> bool {
        if let Some(schema) = &self.response_schema {
            return Form::of_schema(schema).is_some_and(|form| form.is_yes_or_no());
        }
        let text = text_of(&self.value)
            .unwrap_or_default()
            .trim_end()
            .to_lowercase();
        let begins = [
            "approve", "confirm", "allow", "continue", "proceed", "accept", "send", "delete",
            "is ", "are ", "do ", "does ", "should ", "shall ", "may ", "can ", "ok",
        ];
        self.dialect() == Dialect::Plain
            && text.ends_with('?')
            && begins.iter().any(|begin| text.starts_with(begin))
    }
}

/// Returns the first line of all questions together: the actions of several approvals, else how many questions there are.
pub fn summary_of(questions: &[Question]) -> String {
    let actions = |question: &Question| match question.dialect() {
        Dialect::Approval(format, actions) if format != ApprovalFormat::Inbox => Some(actions),
        _ => None,
    };
    match questions {
        [] => String::new(),
        [one] => one.summary(),
        [first, ..] => match questions.iter().map(actions).collect::<Option<Vec<_>>>() {
            Some(actions) => one_line(&approve(&actions.concat())),
            None => format!("{} questions: {}", questions.len(), first.summary()),
        },
    }
}

fn approve(actions: &[Action]) -> String {
    let calls: Vec<String> = actions.iter().map(Action::call).collect();
    match calls.as_slice() {
        [call] => format!("Approve {call}"),
        calls => format!("Approve {} actions: {}", calls.len(), calls.join(" · ")),
    }
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    crate::text::short(&words.join(" "), MAX_SUMMARY)
}

fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Object(fields) => TEXTS.iter().find_map(|key| fields.get(*key)?.as_str()),
        _ => None,
    }
}

fn plain(value: &Value) -> String {
    let rest = match (value, text_of(value)) {
        (Value::Object(fields), Some(text)) => rest_of(fields, text),
        _ => String::new(),
    };
    match text_of(value).map(|text| crate::text::head(text, MAX_READ)) {
        Some(text) if rest.is_empty() => text.to_string(),
        Some(text) => format!("{text} · {rest}"),
        None if value.is_null() => "an answer".into(),
        None => json_head(value),
    }
}

/// What an object says beside its text.
fn rest_of(fields: &Map<String, Value>, text: &str) -> String {
    let others = fields
        .iter()
        .filter(|(_, value)| value.as_str() != Some(text) && !value.is_null());
    let told: Vec<String> = others
        .take(MAX_ARGUMENTS)
        .map(|(name, value)| format!("{name}: {}", short(value)))
        .collect();
    told.join(" · ")
}

/// The first bytes of a value's JSON: a question may hold a whole document.
fn json_head(value: &Value) -> String {
    struct Head(Vec<u8>);
    impl std::io::Write for Head {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0.len() >= MAX_READ {
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            self.0.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut head = Head(Vec::new());
    // It stops early where the value is long.
    let _ = serde_json::to_writer(&mut head, value);
    crate::text::head(&String::from_utf8_lossy(&head.0), MAX_READ).to_string()
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

pub(super) fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => crate::text::head(text, MAX_READ).to_string(),
        other => json_head(other),
    };
    crate::text::short(&text, MAX_ARGUMENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{asking, questions};
    use serde_json::json;

    #[test]
    fn captured_questions_are_summarized() {
        for (name, format, begins) in [
            ("question", None, "Approve? · draft: send 5 EUR"),
            ("questions-parallel", None, "Keep red? · item: red"),
            (
                "question-hitl",
                Some((ApprovalFormat::Batch, 3)),
                "Approve 3 actions: send_email(to=",
            ),
            ("question-inbox", Some((ApprovalFormat::Inbox, 1)), ""),
        ] {
            let question = questions(name).remove(0);
            let asked = match question.dialect() {
                Dialect::Approval(format, actions) => Some((format, actions.len())),
                _ => None,
            };
            assert_eq!(asked, format, "{name}");
            assert!(
                question.summary().starts_with(begins),
                "{}",
                question.summary()
            );
        }
    }

    #[test]
    fn question_summaries_are_one_short_line() {
        let long = json!({"action_requests": [{"name": "f", "args": {"a": "y".repeat(99), "b": [1], "c": 2, "d": 3, "e": 4}}]});
        let call = format!("Approve f(a={}…, b=[1], c=2, d=3, …)", "y".repeat(40));
        for (value, expected) in [
            (json!("Really?\n  yes or no"), "Really? yes or no"),
            (json!({"amount": 5, "message": "Pay"}), "Pay · amount: 5"),
            (json!([1, {"a": null}]), r#"[1,{"a":null}]"#),
            (Value::Null, "an answer"),
            (json!({}), "{}"),
            (
                json!("x".repeat(5000)),
                &format!("{}…", "x".repeat(MAX_SUMMARY)),
            ),
            // An incomplete request of a known format is treated as plain JSON.
            (
                json!({"action_requests": [{"args": {}}]}),
                r#"{"action_requests":[{"args":{}}]}"#,
            ),
            (long, &call),
        ] {
            assert_eq!(asking(value).summary(), expected);
        }
        let call = |name: &str| asking(json!({"type": "tool_approval", "name": name}));
        let plain = || asking(json!("A?"));
        for (questions, expected) in [
            ([plain(), Question::default()], "2 questions: A?"),
            ([call("f"), call("g")], "Approve 2 actions: f() · g()"),
            ([call("f"), plain()], "2 questions: Approve f()"),
        ] {
            assert_eq!(summary_of(&questions), expected);
        }
    }

    #[test]
    fn unsupported_formats_are_not_taken_for_plain_questions() {
        let old = json!({"action_request": {"action": "f", "args": {}}, "config": {"allow_accept": true}});
        let request = json!({"name": "f", "args": {}});
        let config = |name: &str| json!({"action_name": name, "allowed_decisions": ["approve"]});
        for (value, expected) in [
            (
                json!([old, old]),
                "it is a list of 2 requests, and the known answer is for one",
            ),
            (
                json!(json!([old, old]).to_string()),
                "it is a list of 2 requests, and the known answer is for one",
            ),
            (
                json!({"action_request": {"action": "f"}}),
                "its request has no config, which says what is allowed",
            ),
            (
                json!([{"action_request": {"args": {}}, "config": {}}]),
                "its action_request has no action",
            ),
            (
                json!({"action_requests": []}),
                "its action_requests are empty",
            ),
            (
                json!({"action_requests": {}}),
                "its action_requests are not a list",
            ),
            (
                json!({"action_requests": [{"args": {}}]}),
                "action request 1 has no name",
            ),
            (
                json!({"action_requests": [request], "review_configs": [config("g")]}),
                "none of its review_configs is for action 1 (f)",
            ),
            (
                json!({"type": "tool_approval", "args": {}}),
                "its tool_approval has no name",
            ),
            (
                json!({"type": "tool_review", "toolCall": {}, "description": "f"}),
                "it looks like an approval, in an unknown format",
            ),
            (
                json!([{"allowed-decisions": []}]),
                "it looks like an approval, in an unknown format",
            ),
        ] {
            let question = asking(value);
            assert_eq!(question.unsupported().as_deref(), Some(expected));
            assert!(
                question.actions().is_empty()
                    && !question.can_be_approved()
                    && !question.is_yes_or_no()
            );
        }
        // A config at another position is found by its name.
        let two = json!({"action_requests": [request, {"name": "g"}], "review_configs": [config("g"), config("f")]});
        let asked = json!({"question": "Is this correct?", "tool_call": {}});
        for value in [
            json!([old]),
            old,
            json!([1, 2]),
            json!({"x": 1, "draft": ["y"]}),
            two,
            asked,
        ] {
            assert_eq!(asking(value).unsupported(), None);
        }
    }

    #[test]
    fn a_call_allows_the_decisions_of_its_schema() {
        let one = |word: &str| json!({"type": "object", "properties": {"type": {"const": word}}, "required": ["type"]});
        for (schema, expected) in [
            // The only one has no alternatives.
            (Some(one("approve")), Ok("approve")),
            (
                Some(json!({"anyOf": [one("reject"), one("new")]})),
                Ok("reject"),
            ),
            (None, Ok("approve edit reject respond")),
            (Some(one("new")), Err("its schema has no known decision")),
            // References that lead nowhere, or in a circle.
            (
                Some(json!({"oneOf": [{"$ref": "#/$defs/x"}]})),
                Err("its schema has no known decision"),
            ),
            (
                Some(json!({"oneOf": [{"$ref": "#/oneOf/0"}]})),
                Err("its schema has no known decision"),
            ),
            (Some(json!(7)), Err("its schema has no known decision")),
        ] {
            let question = Question {
                response_schema: schema,
                ..asking(
                    json!({"type": "tool_approval", "tool_call_id": "c", "name": "f", "args": {"n": 1}}),
                )
            };
            let actions = question.actions();
            let words = actions
                .iter()
                .flat_map(|action| &action.allowed)
                .map(|kind| kind.word());
            let allowed = words.collect::<Vec<_>>().join(" ");
            let unsupported = question.unsupported();
            assert_eq!(unsupported.as_deref().map_or(Ok(&*allowed), Err), expected);
        }
    }

    #[test]
    fn yes_or_no_questions_are_detected() {
        for (value, expected) in [
            (json!("Approve this payment?"), true),
            (json!({"question": "Send it?"}), true),
            (json!("Which city?"), false),
            (json!({"x": 1}), false),
            (json!("Approve"), false),
        ] {
            assert_eq!(asking(value).is_yes_or_no(), expected);
        }
        for (schema, expected) in [
            (json!({"type": "boolean"}), true),
            // pydantic writes an optional or a named boolean like this.
            (
                json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
                true,
            ),
            (
                json!({"$ref": "#/$defs/Go", "$defs": {"Go": {"type": "boolean"}}}),
                true,
            ),
            (json!({"properties": {"go": {"type": "boolean"}}}), false),
        ] {
            let question = Question {
                response_schema: Some(schema),
                ..Question::default()
            };
            assert_eq!(question.is_yes_or_no(), expected, "{question:?}");
        }
    }
}
