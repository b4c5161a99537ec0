//! Questions of a graph, in all dialects (acting reference §3).

use super::form::Form;
use super::thread_facts::Question;
use crate::exact_json;
use crate::json;
use serde_json::{Map, Value};
use std::fmt::Write;

/// Fields under which graphs put the text of a question, the best first.
const TEXTS: [&str; 6] = ["question", "message", "prompt", "query", "title", "description"];
/// Arguments of an action, and characters of each, that its summary shows.
const MAX_ARGUMENTS: usize = 4;
const MAX_ARGUMENT: usize = 40;
/// Bytes of a question's text that are read for its summary.
const MAX_READ: usize = 4 << 10;
/// Characters of a summary.
const MAX_SUMMARY: usize = 400;

/// A call that a graph wants approved.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// The tool.
    pub name: String,
    /// Its arguments; an object as a rule.
    pub args: Value,
    /// What the graph says of it.
    pub description: Option<String>,
    /// The decisions that the graph accepts, as far as they are known here.
    pub allowed: Vec<DecisionKind>,
    /// The JSON schema of its arguments, if the graph gave one.
    pub args_schema: Option<Value>,
}

/// What can be decided about an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecisionKind {
    /// Run it as it is.
    Approve,
    /// Run it with other arguments.
    Edit,
    /// Don't run it; the model is told why.
    Reject,
    /// Don't run it, and drop the question. Only the older inbox knows this.
    Ignore,
    /// Don't run it; the text is its result.
    Respond,
}

impl DecisionKind {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            DecisionKind::Approve => "approve",
            DecisionKind::Edit => "edit",
            DecisionKind::Reject => "reject",
            DecisionKind::Ignore => "ignore",
            DecisionKind::Respond => "respond",
        }
    }

    /// Returns the digit that chooses it. Rejecting and ignoring are never both offered.
    pub fn digit(self) -> char {
        match self {
            DecisionKind::Approve => '1',
            DecisionKind::Edit => '2',
            DecisionKind::Reject | DecisionKind::Ignore => '3',
            DecisionKind::Respond => '4',
        }
    }
}

impl Action {
    /// Returns it as a call on one line: `send_email(to=j.dupont@acme.example)`.
    pub fn call(&self) -> String {
        let mut text = format!("{}(", self.name);
        if let Value::Object(args) = &self.args {
            for (i, (name, value)) in args.iter().take(MAX_ARGUMENTS).enumerate() {
                let separator = if i > 0 { ", " } else { "" };
                let _ = write!(text, "{separator}{name}={}", short(value));
            }
            text.push_str(if args.len() > MAX_ARGUMENTS { ", …" } else { "" });
        } else if !self.args.is_null() {
            text.push_str(&short(&self.args));
        }
        text.push(')');
        text
    }
}

/// The dialects that questions are asked in.
#[derive(Debug, Clone, PartialEq)]
pub enum Dialect {
    /// The approval of actions by langchain's middleware: one decision for each action, in order.
    Approvals(Vec<Action>),
    /// The older inbox: one action, and a list of one as the answer.
    Inbox(Action),
    /// A format that is recognized but not understood, for this reason: only its author knows which JSON answers it.
    Unsupported(String),
    /// Anything else: any JSON answers it.
    Plain,
}

impl Question {
    /// Returns the dialect that it is asked in.
    pub fn dialect(&self) -> Dialect {
        let known = match approvals(&self.value) {
            None => inbox(&self.value).map(|action| action.map(Dialect::Inbox)),
            actions => actions.map(|actions| actions.map(Dialect::Approvals)),
        };
        known.map_or(Dialect::Plain, |known| known.unwrap_or_else(Dialect::Unsupported))
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
            Dialect::Approvals(actions) => {
                let calls: Vec<String> = actions.iter().map(Action::call).collect();
                match calls.len() {
                    1 => format!("Approve {}", calls[0]),
                    n => format!("Approve {n} actions: {}", calls.join(" · ")),
                }
            }
            Dialect::Inbox(action) => match action.description.as_deref().and_then(first_line) {
                Some(description) => format!("{} · {description}", action.call()),
                None => action.call(),
            },
            Dialect::Unsupported(_) | Dialect::Plain => plain(&self.value),
        };
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(MAX_SUMMARY) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }

    /// Returns the actions that it asks about; none where it asks something else.
    pub fn actions(&self) -> Vec<Action> {
        match self.dialect() {
            Dialect::Approvals(actions) => actions,
            Dialect::Inbox(action) => vec![action],
            Dialect::Unsupported(_) | Dialect::Plain => Vec::new(),
        }
    }

    /// Returns why the arguments of an action can't be sent back exactly as they were received, so that an edit would change
    /// more than the person does.
    pub fn inexact_arguments(&self, action: usize) -> Option<String> {
        let of_requests = "action_requests.";
        let is_of_another = |path: &str| {
            let index = path.strip_prefix(of_requests).and_then(|rest| rest.split('.').next()?.parse::<usize>().ok());
            index.is_some_and(|index| index != action) || path.starts_with("review_configs")
        };
        // The older inbox may ask in a text that holds JSON.
        let of_text = || exact_json::parse_lenient(self.value.as_str()?).ok()?.1.into_iter().next();
        let of_value = self.inexact.iter().find(|inexact| !is_of_another(&inexact.path)).cloned();
        let inexact = of_value.or_else(of_text);
        inexact.map(|inexact| crate::text::clean(&inexact.to_string()).into_owned())
    }

    /// Returns whether it can be answered with an approval, without another word.
    pub fn can_be_approved(&self) -> bool {
        match self.actions().as_slice() {
            [] => self.is_yes_or_no(),
            actions => actions.iter().all(|action| action.allowed.contains(&DecisionKind::Approve)),
        }
    }

    /// Returns whether a yes or a no seems to be what it asks for.
    pub fn is_yes_or_no(&self) -> bool {
        if let Some(schema) = &self.response_schema {
            return Form::of_schema(schema).is_some_and(|form| form.is_yes_or_no());
        }
        let text = text_of(&self.value).unwrap_or_default().trim_end().to_lowercase();
        let begins = [
            "approve", "confirm", "allow", "continue", "proceed", "accept", "send", "delete", "is ", "are ", "do ",
            "does ", "should ", "shall ", "may ", "can ", "ok",
        ];
        self.dialect() == Dialect::Plain && text.ends_with('?') && begins.iter().any(|begin| text.starts_with(begin))
    }
}

/// Returns the first line of all questions together: of several, how many there are.
pub fn summary_of(questions: &[Question]) -> String {
    match questions {
        [] => String::new(),
        [one] => one.summary(),
        [first, ..] => format!("{} questions: {}", questions.len(), first.summary()),
    }
}

/// Returns the actions of a question of the middleware, or why they are not understood; `None` for another format.
fn approvals(value: &Value) -> Option<Result<Vec<Action>, String>> {
    let requests = value.get("action_requests")?;
    let Some(requests) = requests.as_array() else { return Some(Err("its action_requests are not a list".into())) };
    if requests.is_empty() {
        return Some(Err("its action_requests are empty".into()));
    }
    let configs = value.get("review_configs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Some(requests.iter().enumerate().map(|(at, request)| approval(request, configs, at)).collect())
}

fn approval(request: &Value, configs: &[Value], at: usize) -> Result<Action, String> {
    let action = action(request, "name", "args").ok_or_else(|| format!("action request {} has no name", at + 1))?;
    // Each request has its config at the same position: one name may appear twice.
    let is_its = |config: &&Value| config.get("action_name").is_none_or(|name| *name == action.name);
    let config = configs.get(at).filter(is_its);
    let config = config.or_else(|| configs.iter().find(|c| c.get("action_name").is_some_and(|n| *n == action.name)));
    if config.is_none() && !configs.is_empty() {
        return Err(format!("none of its review_configs is for action {} ({})", at + 1, short_name(&action.name)));
    }
    let allowed = match config.and_then(|config| config.get("allowed_decisions")).and_then(Value::as_array) {
        Some(words) => words.iter().filter_map(|word| decision_kind(word.as_str()?)).collect(),
        // The middleware's own default.
        None => vec![DecisionKind::Approve, DecisionKind::Edit, DecisionKind::Reject],
    };
    let args_schema = config.and_then(|config| config.get("args_schema")).filter(|schema| schema.is_object()).cloned();
    Ok(Action { allowed, args_schema, ..action })
}

fn short_name(name: &str) -> &str {
    crate::text::head(name, MAX_ARGUMENT)
}

fn decision_kind(word: &str) -> Option<DecisionKind> {
    use DecisionKind::*;
    [Approve, Edit, Reject, Respond].into_iter().find(|kind| kind.word() == word)
}

/// Returns the action of a question of the older inbox (a list of one, an object, or a text that holds either), or why it is
/// not understood; `None` for another format.
fn inbox(value: &Value) -> Option<Result<Action, String>> {
    let parsed;
    let value = match value {
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
            parsed = json::from_str::<Value>(text).ok()?;
            &parsed
        }
        other => other,
    };
    let is_request = |request: &Value| request.get("action_request").is_some_and(Value::is_object);
    let request = match value {
        Value::Array(list) => match list.as_slice() {
            [one] => one,
            several if several.iter().any(is_request) => {
                return Some(Err(format!(
                    "it is a list of {} requests, and the known answer is for one",
                    several.len()
                )));
            }
            _ => return None,
        },
        other => other,
    };
    if !is_request(request) {
        return None;
    }
    let Some(config) = request.get("config").filter(|config| config.is_object()) else {
        return Some(Err("its request has no config, which says what is allowed".into()));
    };
    let Some(action) = action(&request["action_request"], "action", "args") else {
        return Some(Err("its action_request has no action".into()));
    };
    let description = request.get("description").and_then(Value::as_str).map(str::to_string);
    let flags = [
        ("allow_accept", DecisionKind::Approve),
        ("allow_edit", DecisionKind::Edit),
        ("allow_ignore", DecisionKind::Ignore),
        ("allow_respond", DecisionKind::Respond),
    ];
    let allowed = flags.into_iter().filter(|(flag, _)| config[*flag] == true).map(|(_, kind)| kind).collect();
    Some(Ok(Action { description: action.description.or(description), allowed, ..action }))
}

fn action(request: &Value, name: &str, args: &str) -> Option<Action> {
    Some(Action {
        name: request.get(name)?.as_str()?.to_string(),
        args: request.get(args).cloned().unwrap_or_default(),
        description: request.get("description").and_then(Value::as_str).map(str::to_string),
        allowed: Vec::new(),
        args_schema: None,
    })
}

fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Object(fields) => TEXTS.iter().find_map(|key| fields.get(*key)?.as_str()),
        _ => None,
    }
}

fn plain(value: &Value) -> String {
    match (value, text_of(value)) {
        (Value::Object(fields), Some(text)) => {
            let rest = rest_of(fields, text);
            let text = crate::text::head(text, MAX_READ);
            if rest.is_empty() { text.to_string() } else { format!("{text} · {rest}") }
        }
        (_, Some(text)) => crate::text::head(text, MAX_READ).to_string(),
        (Value::Null, _) => "an answer".into(),
        (other, None) => json_head(other),
    }
}

/// What an object says beside its text.
fn rest_of(fields: &Map<String, Value>, text: &str) -> String {
    let others = fields.iter().filter(|(_, value)| value.as_str() != Some(text) && !value.is_null());
    let told: Vec<String> =
        others.take(MAX_ARGUMENTS).map(|(name, value)| format!("{name}: {}", short(value))).collect();
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

fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => crate::text::head(text, MAX_READ).to_string(),
        other => json_head(other),
    };
    match text.char_indices().nth(MAX_ARGUMENT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::StateFacts;
    use serde_json::json;

    fn captured(name: &str) -> Question {
        let path = format!("{}/../../tests/fixtures/threads/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let case: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        StateFacts::read(&case["state"].to_string()).unwrap().pending().remove(0)
    }

    #[test]
    fn captured_questions_are_summarized() {
        assert_eq!(captured("question").summary(), "Approve? · draft: send 5 EUR");
        assert_eq!(captured("questions-parallel").summary(), "Keep red? · item: red");
        let hitl = captured("question-hitl");
        assert!(matches!(hitl.dialect(), Dialect::Approvals(actions) if actions.len() == 3));
        assert!(hitl.summary().starts_with("Approve 3 actions: send_email(to="), "{}", hitl.summary());
        let inbox = captured("question-inbox");
        assert!(matches!(inbox.dialect(), Dialect::Inbox(_)), "{:?}", inbox.value);
    }

    #[test]
    fn question_summaries_are_one_short_line() {
        let summary = |value: Value| Question { value, ..Question::default() }.summary();
        assert_eq!(summary(json!("Really?\n  yes or no")), "Really? yes or no");
        assert_eq!(summary(json!({"amount": 5, "message": "Pay"})), "Pay · amount: 5");
        assert_eq!(summary(json!([1, {"a": null}])), r#"[1,{"a":null}]"#);
        assert_eq!((summary(Value::Null), summary(json!({}))), ("an answer".into(), "{}".into()));
        assert_eq!(summary(json!("x".repeat(5000))).chars().count(), MAX_SUMMARY + 1);
        // An incomplete request of a known format is treated as plain JSON.
        assert_eq!(summary(json!({"action_requests": [{"args": {}}]})), r#"{"action_requests":[{"args":{}}]}"#);
        let long = json!({"action_requests": [{"name": "f", "args": {"a": "y".repeat(99), "b": [1], "c": 2, "d": 3, "e": 4}}]});
        assert_eq!(summary(long), format!("Approve f(a={}…, b=[1], c=2, d=3, …)", "y".repeat(40)));
        let two = [Question { value: json!("A?"), ..Question::default() }, Question::default()];
        assert_eq!(summary_of(&two), "2 questions: A?");
    }

    #[test]
    fn unsupported_formats_are_not_taken_for_plain_questions() {
        let why = |value: Value| Question { value, ..Question::default() }.unsupported();
        let old = json!({"action_request": {"action": "f", "args": {}}, "config": {"allow_accept": true}});
        let request = json!({"name": "f", "args": {}});
        let config = |name: &str| json!({"action_name": name, "allowed_decisions": ["approve"]});
        for (value, expected) in [
            (json!([old, old]), "it is a list of 2 requests, and the known answer is for one"),
            (json!(json!([old, old]).to_string()), "it is a list of 2 requests, and the known answer is for one"),
            (json!({"action_request": {"action": "f"}}), "its request has no config, which says what is allowed"),
            (json!([{"action_request": {"args": {}}, "config": {}}]), "its action_request has no action"),
            (json!({"action_requests": []}), "its action_requests are empty"),
            (json!({"action_requests": {}}), "its action_requests are not a list"),
            (json!({"action_requests": [{"args": {}}]}), "action request 1 has no name"),
            (
                json!({"action_requests": [request], "review_configs": [config("g")]}),
                "none of its review_configs is for action 1 (f)",
            ),
        ] {
            let question = Question { value: value.clone(), ..Question::default() };
            assert_eq!(why(value).as_deref(), Some(expected));
            assert!(question.actions().is_empty() && !question.can_be_approved() && !question.is_yes_or_no());
        }
        // A config at another position is found by its name.
        let two = json!({"action_requests": [request, {"name": "g"}], "review_configs": [config("g"), config("f")]});
        for value in [json!([old]), old, json!([1, 2]), json!([]), json!({"x": 1}), two] {
            assert_eq!(why(value.clone()), None, "{value}");
        }
    }

    #[test]
    fn yes_or_no_questions_are_detected() {
        let is_yes_or_no = |value: Value| Question { value, ..Question::default() }.is_yes_or_no();
        assert!(is_yes_or_no(json!("Approve this payment?")) && is_yes_or_no(json!({"question": "Send it?"})));
        assert!(
            !is_yes_or_no(json!("Which city?")) && !is_yes_or_no(json!({"x": 1})) && !is_yes_or_no(json!("Approve"))
        );
        let schema = Question { response_schema: Some(json!({"type": "boolean"})), ..Question::default() };
        assert!(schema.is_yes_or_no());
        // pydantic writes an optional or a named boolean like this.
        for schema in [
            json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
            json!({"$ref": "#/$defs/Go", "$defs": {"Go": {"type": "boolean"}}}),
        ] {
            assert!(Question { response_schema: Some(schema), ..Question::default() }.is_yes_or_no());
        }
        let schema = Some(json!({"properties": {"go": {"type": "boolean"}}}));
        assert!(!Question { response_schema: schema, ..Question::default() }.is_yes_or_no());
    }
}
