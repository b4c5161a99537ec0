//! Approvals of actions in the formats of all middlewares (acting reference §3). What a question asks is read here, and what is
//! decided is written and checked here, in the format of the question.

use super::answer::{AnswerPart, Decision};
use super::schema;
use super::thread_facts::Question;
use serde_json::{Value, json};
use std::fmt::Write;

/// Arguments of an action that its summary shows.
pub(super) const MAX_ARGUMENTS: usize = 4;
/// Characters of a name in a message.
const MAX_NAME: usize = 40;
/// Parts of keys and types that approvals of all formats have, without case and underscores.
const MARKS: [&str; 5] = [
    "actionrequest",
    "reviewconfig",
    "toolcall",
    "alloweddecision",
    "approval",
];
/// Fields that ask a person in words, so that the payload isn't only for programs.
const ASKING: [&str; 4] = ["question", "message", "prompt", "query"];

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

use DecisionKind::{Approve, Edit, Ignore, Reject, Respond};

impl DecisionKind {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Approve => "approve",
            Edit => "edit",
            Reject => "reject",
            Ignore => "ignore",
            Respond => "respond",
        }
    }

    /// Returns the digit that chooses it. Rejecting and ignoring are never both offered.
    pub fn digit(self) -> char {
        match self {
            Approve => '1',
            Edit => '2',
            Reject | Ignore => '3',
            Respond => '4',
        }
    }

    fn parse(word: &str) -> Option<DecisionKind> {
        [Approve, Edit, Reject, Respond]
            .into_iter()
            .find(|kind| kind.word() == word)
    }
}

impl Action {
    /// Returns it as a call on one line: `send_email(to=j.dupont@acme.example)`.
    pub fn call(&self) -> String {
        let mut text = format!("{}(", self.name);
        if let Value::Object(args) = &self.args {
            for (i, (name, value)) in args.iter().take(MAX_ARGUMENTS).enumerate() {
                let separator = if i > 0 { ", " } else { "" };
                let _ = write!(text, "{separator}{name}={}", super::question::short(value));
            }
            text.push_str(if args.len() > MAX_ARGUMENTS {
                ", …"
            } else {
                ""
            });
        } else if !self.args.is_null() {
            text.push_str(&super::question::short(&self.args));
        }
        text.push(')');
        text
    }

    fn read(request: &Value, name: &str) -> Option<Action> {
        Some(Action {
            name: request.get(name)?.as_str()?.to_string(),
            args: request.get("args").cloned().unwrap_or_default(),
            description: request
                .get("description")
                .and_then(Value::as_str)
                .map(str::to_string),
            allowed: Vec::new(),
            args_schema: None,
        })
    }
}

/// The formats that actions are asked about and decided in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalFormat {
    /// A batch of langchain for Python: one decision for each action, in order.
    Batch,
    /// A batch of langchain for JavaScript, with names in camelCase.
    CamelBatch,
    /// A question for each call (`tool_approval`): one decision.
    PerCall,
    /// The older inbox: one action, and a list of one as the answer.
    Inbox,
}

/// The names of the fields of a batch.
struct BatchKeys {
    requests: &'static str,
    configs: &'static str,
    name: &'static str,
    allowed: &'static str,
    schema: &'static str,
}

const SNAKE: BatchKeys = BatchKeys {
    requests: "action_requests",
    configs: "review_configs",
    name: "action_name",
    allowed: "allowed_decisions",
    schema: "args_schema",
};
const CAMEL: BatchKeys = BatchKeys {
    requests: "actionRequests",
    configs: "reviewConfigs",
    name: "actionName",
    allowed: "allowedDecisions",
    schema: "argsSchema",
};

type Read = Result<(ApprovalFormat, Vec<Action>), String>;
type Broken = Vec<(AnswerPart, String)>;

/// Returns the actions of a question and its format, or why they are not understood; `None` for a question about something else.
pub(super) fn read(question: &Question) -> Option<Read> {
    let value = &question.value;
    let batch = |keys, format| Some(batch(value, keys)?.map(|actions| (format, actions)));
    let one =
        |format| move |action: Result<Action, String>| action.map(|action| (format, vec![action]));
    batch(&SNAKE, ApprovalFormat::Batch)
        .or_else(|| batch(&CAMEL, ApprovalFormat::CamelBatch))
        .or_else(|| per_call(question).map(one(ApprovalFormat::PerCall)))
        .or_else(|| inbox(value).map(one(ApprovalFormat::Inbox)))
        .or_else(|| {
            seems_approval(value)
                .then(|| Err("it looks like an approval, in an unknown format".into()))
        })
}

fn batch(value: &Value, keys: &BatchKeys) -> Option<Result<Vec<Action>, String>> {
    let name = keys.requests;
    let Some(requests) = value.get(name)?.as_array() else {
        return Some(Err(format!("its {name} are not a list")));
    };
    if requests.is_empty() {
        return Some(Err(format!("its {name} are empty")));
    }
    let configs = value
        .get(keys.configs)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    Some(
        requests
            .iter()
            .enumerate()
            .map(|(at, request)| of_batch(request, configs, keys, at))
            .collect(),
    )
}

fn of_batch(
    request: &Value,
    configs: &[Value],
    keys: &BatchKeys,
    at: usize,
) -> Result<Action, String> {
    let action = Action::read(request, "name")
        .ok_or_else(|| format!("action request {} has no name", at + 1))?;
    let named = |config: &&Value| config.get(keys.name).map(|name| *name == action.name);
    // Each request has its config at the same position: one name may appear twice.
    let config = configs
        .get(at)
        .filter(|config| named(config).unwrap_or(true));
    let config = config.or_else(|| configs.iter().find(|config| named(config).unwrap_or(false)));
    if config.is_none() && !configs.is_empty() {
        let (configs, name) = (keys.configs, crate::text::head(&action.name, MAX_NAME));
        return Err(format!(
            "none of its {configs} is for action {} ({name})",
            at + 1
        ));
    }
    let allowed = match config
        .and_then(|config| config.get(keys.allowed))
        .and_then(Value::as_array)
    {
        Some(words) => words
            .iter()
            .filter_map(|word| DecisionKind::parse(word.as_str()?))
            .collect(),
        // The middleware's own default.
        None => vec![Approve, Edit, Reject],
    };
    let args_schema = config
        .and_then(|config| config.get(keys.schema))
        .filter(|schema| schema.is_object())
        .cloned();
    Ok(Action {
        allowed,
        args_schema,
        ..action
    })
}

/// Reads a question about one call. Its schema has an alternative for each decision that is allowed, and the only one where just
/// one is. Aegra sends no schema; then all decisions may be allowed.
fn per_call(question: &Question) -> Option<Result<Action, String>> {
    if question.value.get("type")? != "tool_approval" {
        return None;
    }
    let Some(mut action) = Action::read(&question.value, "name") else {
        return Some(Err("its tool_approval has no name".into()));
    };
    let Some(schema) = &question.response_schema else {
        action.allowed = vec![Approve, Edit, Reject, Respond];
        return Some(Ok(action));
    };
    let resolved = |part| super::form::resolved(schema, part);
    let alternatives = match ["oneOf", "anyOf"]
        .iter()
        .find_map(|key| schema.get(key)?.as_array())
    {
        Some(alternatives) => alternatives.as_slice(),
        None => std::slice::from_ref(schema),
    };
    for fields in alternatives
        .iter()
        .filter_map(resolved)
        .map(|alternative| &alternative["properties"])
    {
        let Some(kind) = fields["type"]["const"]
            .as_str()
            .and_then(DecisionKind::parse)
        else {
            continue;
        };
        action.allowed.push(kind);
        if kind == Edit {
            let edited = resolved(&fields["edited_action"])
                .and_then(|edited| resolved(&edited["properties"]["args"]));
            // Its references lead to the definitions of the whole schema.
            action.args_schema = edited.and_then(Value::as_object).cloned().map(|mut args| {
                args.extend(
                    schema
                        .get("$defs")
                        .map(|definitions| ("$defs".to_string(), definitions.clone())),
                );
                Value::Object(args)
            });
        }
    }
    Some(if action.allowed.is_empty() {
        Err("its schema has no known decision".into())
    } else {
        Ok(action)
    })
}

/// Reads a question of the older inbox: a list of one, an object, or a text that holds either.
fn inbox(value: &Value) -> Option<Result<Action, String>> {
    let parsed;
    let value = match value {
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
            parsed = crate::json::from_str::<Value>(text).ok()?;
            &parsed
        }
        other => other,
    };
    let is_request = |request: &Value| request.get("action_request").is_some_and(Value::is_object);
    let request = match value {
        Value::Array(list) => match list.as_slice() {
            [one] => one,
            several if several.iter().any(is_request) => {
                let count = several.len();
                return Some(Err(format!(
                    "it is a list of {count} requests, and the known answer is for one"
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
        return Some(Err(
            "its request has no config, which says what is allowed".into()
        ));
    };
    let Some(action) = Action::read(&request["action_request"], "action") else {
        return Some(Err("its action_request has no action".into()));
    };
    let description = request
        .get("description")
        .and_then(Value::as_str)
        .map(str::to_string);
    let flags = [
        ("allow_accept", Approve),
        ("allow_edit", Edit),
        ("allow_ignore", Ignore),
        ("allow_respond", Respond),
    ];
    let allowed = flags
        .into_iter()
        .filter(|(flag, _)| config[*flag] == true)
        .map(|(_, kind)| kind)
        .collect();
    Some(Ok(Action {
        description: action.description.or(description),
        allowed,
        ..action
    }))
}

/// Returns whether a payload is for a program that approves calls, and not for a person who reads it.
fn seems_approval(value: &Value) -> bool {
    let has_mark = |text: &str| {
        let text = crate::text::head(text, MAX_NAME)
            .to_lowercase()
            .replace(['_', '-'], "");
        MARKS.iter().any(|mark| text.contains(mark))
    };
    match value {
        Value::Array(items) => items
            .iter()
            .any(|item| item.is_object() && seems_approval(item)),
        Value::Object(fields)
            if ASKING
                .iter()
                .any(|key| fields.get(*key).is_some_and(Value::is_string)) =>
        {
            false
        }
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            has_mark(key) || (key == "type" && value.as_str().is_some_and(has_mark))
        }),
        _ => false,
    }
}

impl ApprovalFormat {
    /// Returns whether its answer has a decision for each action of one list.
    fn is_batch(self) -> bool {
        matches!(self, ApprovalFormat::Batch | ApprovalFormat::CamelBatch)
    }

    fn word(self, kind: DecisionKind) -> &'static str {
        match (self, kind) {
            (ApprovalFormat::Inbox, Approve) => "accept",
            (ApprovalFormat::Inbox, Reject | Respond) => "response",
            (_, kind) => kind.word(),
        }
    }

    /// The field of an edit with the changed action, and that action's field with its name.
    fn edit_keys(self) -> (&'static str, &'static str) {
        match self {
            ApprovalFormat::Batch | ApprovalFormat::PerCall => ("edited_action", "name"),
            ApprovalFormat::CamelBatch => ("editedAction", "name"),
            ApprovalFormat::Inbox => ("args", "action"),
        }
    }

    /// Writes the answer; a decision that is missing has no type yet.
    pub(super) fn write(self, decisions: &[Option<Decision>]) -> Value {
        let mut decisions: Vec<Value> = decisions
            .iter()
            .map(|decision| self.write_decision(decision.as_ref()))
            .collect();
        match self {
            _ if self.is_batch() => json!({"decisions": decisions}),
            ApprovalFormat::PerCall => decisions.pop().unwrap_or_default(),
            _ => Value::Array(decisions),
        }
    }

    fn write_decision(self, decision: Option<&Decision>) -> Value {
        let (changed, name_key) = self.edit_keys();
        let is_inbox = self == ApprovalFormat::Inbox;
        let mut written =
            json!({"type": decision.map_or("", |decision| self.word(decision.kind()))});
        match decision {
            Some(Decision::Edit(name, args)) => {
                written[changed] = json!({name_key: name, "args": args});
            }
            Some(Decision::Reject(text) | Decision::Respond(text)) if is_inbox => {
                written["args"] = text.as_str().into()
            }
            _ if is_inbox => written["args"] = Value::Null,
            Some(Decision::Reject(text)) if text.is_empty() => {}
            Some(Decision::Reject(text) | Decision::Respond(text)) => {
                written["message"] = text.as_str().into()
            }
            _ => {}
        }
        written
    }

    /// Returns every rule that an answer breaks.
    pub(super) fn check(self, actions: &[Action], answer: &Value) -> Broken {
        let whole = |rule: String| vec![(AnswerPart::Answer, rule)];
        let decisions = match self {
            ApprovalFormat::PerCall if answer.is_object() => std::slice::from_ref(answer),
            ApprovalFormat::PerCall => {
                return whole("must be one decision, such as {\"type\": \"approve\"}".into());
            }
            ApprovalFormat::Inbox => match answer.as_array().map(Vec::as_slice) {
                Some(one @ [Value::Object(_)]) => one,
                _ => {
                    return whole(
                        "must be a list of exactly one response: [{\"type\": …, \"args\": …}]"
                            .into(),
                    );
                }
            },
            ApprovalFormat::Batch | ApprovalFormat::CamelBatch => {
                let Some(decisions) = answer.get("decisions").and_then(Value::as_array) else {
                    return whole(
                        "must be {\"decisions\": […]} with one decision for each action".into(),
                    );
                };
                if answer.as_object().is_some_and(|fields| fields.len() > 1) {
                    return whole("must have no field but \"decisions\"".into());
                }
                let (n, wanted) = (decisions.len(), actions.len());
                if n != wanted {
                    return whole(format!(
                        "must have {wanted} decisions, one for each action, and has {n}"
                    ));
                }
                decisions
            }
        };
        let each = actions.iter().zip(decisions).enumerate();
        each.flat_map(|(at, (action, decision))| self.check_decision(at, action, decision))
            .collect()
    }

    fn check_decision(self, at: usize, action: &Action, decision: &Value) -> Broken {
        let one = |rule: String| vec![(AnswerPart::Action(at), rule)];
        let kinds = || action.allowed.iter().copied();
        let Some(kind) = decision["type"]
            .as_str()
            .and_then(|word| kinds().find(|kind| self.word(*kind) == word))
        else {
            let allowed: Vec<&str> = kinds().map(|kind| self.word(kind)).collect();
            return one(match allowed.as_slice() {
                [] => "allows no decision that runtail supports".into(),
                allowed => format!("({}) allows only {}", action.name, allowed.join(", ")),
            });
        };
        let text = decision.get(if self == ApprovalFormat::Inbox {
            "args"
        } else {
            "message"
        });
        match kind {
            Edit => {
                let (changed, name) = self.edit_keys();
                self.check_edit(
                    at,
                    action,
                    &decision[changed][name],
                    &decision[changed]["args"],
                )
            }
            // JavaScript refuses null too.
            Reject if text.is_some_and(|text| !text.is_string()) => {
                one("needs text as its reason".into())
            }
            Respond
                if text
                    .and_then(Value::as_str)
                    .is_none_or(|text| text.trim().is_empty()) =>
            {
                one("needs the text of the response".into())
            }
            _ => Vec::new(),
        }
    }

    fn check_edit(self, at: usize, action: &Action, name: &Value, args: &Value) -> Broken {
        let one = |rule: &str| vec![(AnswerPart::Action(at), rule.to_string())];
        if name.as_str().is_none_or(|name| name.trim().is_empty()) {
            let (changed, name) = self.edit_keys();
            return one(&format!(
                "needs the name of the edited action ({changed}.{name})"
            ));
        }
        if !args.is_object() {
            return one("needs an object of arguments");
        }
        let is_same = *name == action.name;
        if self == ApprovalFormat::PerCall && !is_same {
            return one(&format!("({}) can't become another action", action.name));
        }
        // Another tool has other arguments.
        let Some(schema) = action.args_schema.as_ref().filter(|_| is_same) else {
            return Vec::new();
        };
        let found = schema::violations(schema, args).unwrap_or_default();
        let part =
            |violation: &schema::Violation| AnswerPart::Argument(at, violation.path.join("."));
        found
            .into_iter()
            .map(|violation| (part(&violation), violation.rule))
            .collect()
    }

    /// Returns whether an answer approves some actions and rejects others, which langchain for JavaScript may not do as decided
    /// (langchainjs#11125).
    pub(super) fn is_doubtful(self, answer: &Value) -> bool {
        let decisions = answer["decisions"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let has = |kinds: [DecisionKind; 2]| {
            decisions
                .iter()
                .any(|decision| kinds.iter().any(|kind| decision["type"] == kind.word()))
        };
        self == ApprovalFormat::CamelBatch && has([Approve, Edit]) && has([Reject, Respond])
    }
}
