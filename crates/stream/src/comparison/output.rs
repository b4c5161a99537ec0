//! What a step wrote, in a form that can be compared: ids, token counts and other values that differ in every run are left
//! out.

use crate::projection::Role;
use serde_json::{Map, Value, json};

/// Maximum nesting that is searched for messages. Deeper values are compared as they are.
const MAX_DEPTH: usize = 64;
/// Maximum number of names kept of a step's calls or results.
const MAX_NAMES: usize = 64;
/// Whole numbers below this are exact as floating-point numbers.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
/// Number of bytes kept of a fingerprint.
const DIGEST: usize = 16;

/// The facts of an output.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Facts {
    /// Input and output tokens of its messages, if any message has a count.
    pub tokens: Option<(u64, u64)>,
    /// The tools that its messages call.
    pub calls: Vec<String>,
    /// The tools whose results it contains.
    pub results: Vec<String>,
}

impl Facts {
    /// Reads the facts of an output as received.
    pub fn of(output: &Value) -> Facts {
        let mut facts = Facts::default();
        let mut add = |value| Message::of(value).map(|message| facts.add(&message));
        walk(output, 0, &mut add);
        facts
    }

    fn add(&mut self, message: &Message<'_>) {
        let usage = &message.fields["usage_metadata"];
        if message.role == Role::Ai && usage.is_object() {
            let (input, output) = self.tokens.unwrap_or_default();
            let count = |name: &str| usage[name].as_u64().unwrap_or_default();
            let input = input.saturating_add(count("input_tokens"));
            self.tokens = Some((input, output.saturating_add(count("output_tokens"))));
        }
        for call in message.calls() {
            if self.calls.len() < MAX_NAMES {
                self.calls
                    .push(call["name"].as_str().unwrap_or_default().to_string());
            }
        }
        if message.role == Role::Tool && self.results.len() < MAX_NAMES {
            self.results.push(
                message.fields["name"]
                    .as_str()
                    .unwrap_or("tool")
                    .to_string(),
            );
        }
    }
}

/// A message in an output.
pub(super) struct Message<'a> {
    pub role: Role,
    pub fields: &'a Value,
}

impl<'a> Message<'a> {
    /// Returns the message, if the value is one.
    pub fn of(value: &'a Value) -> Option<Message<'a>> {
        let object = value.as_object()?;
        // JavaScript's own form of a message in some streams.
        if object.get("lc").is_some()
            && object
                .get("kwargs")
                .is_some_and(|kwargs| kwargs.get("content").is_some())
        {
            let class = object
                .get("id")
                .and_then(Value::as_array)
                .and_then(|id| id.last())
                .and_then(Value::as_str)?;
            return Some(Message {
                role: Role::of(class),
                fields: &value["kwargs"],
            });
        }
        let content = object.get("content")?;
        let word = object
            .get("type")
            .or_else(|| object.get("role"))
            .and_then(Value::as_str)?;
        let role = Role::of(word);
        // A content block has a type and may have content, too.
        let is_message =
            !matches!(role, Role::Other(_)) || object.contains_key("response_metadata");
        (is_message && (content.is_string() || content.is_array() || content.is_null())).then_some(
            Message {
                role,
                fields: value,
            },
        )
    }

    /// Returns the requested calls.
    pub fn calls(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.fields["tool_calls"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default()
            .iter()
    }

    /// Returns the text of its content.
    pub fn text(&self) -> String {
        match &self.fields["content"] {
            Value::String(text) => text.clone(),
            Value::Array(blocks) => blocks
                .iter()
                .filter_map(|block| block.as_str().or_else(|| block["text"].as_str()))
                .collect::<Vec<_>>()
                .join("\n"),
            _ => String::new(),
        }
    }

    fn comparable(&self, depth: usize) -> Value {
        let mut fields = Map::new();
        fields.insert("role".into(), self.role.word().into());
        if let Some(name) = self.fields["name"].as_str().filter(|name| !name.is_empty()) {
            fields.insert("name".into(), name.into());
        }
        let content = match &self.fields["content"] {
            // Text in one block is the same as text.
            Value::Array(blocks)
                if blocks
                    .iter()
                    .all(|block| block.is_string() || block["type"] == "text") =>
            {
                self.text().into()
            }
            Value::Array(blocks) => {
                // Calls are compared below; their blocks repeat them with ids.
                let others = blocks.iter().filter(|block| !is_call_block(block));
                Value::Array(
                    others
                        .map(|block| comparable_at(&without_ids(block), depth + 1))
                        .collect(),
                )
            }
            Value::Null => "".into(),
            other => other.clone(),
        };
        fields.insert("content".into(), content);
        let args = |call: &Value| comparable_at(&call["args"], depth + 1);
        let call = |call: &Value| json!({"name": call["name"], "args": args(call)});
        let calls: Vec<Value> = self.calls().map(call).collect();
        if !calls.is_empty() {
            fields.insert("calls".into(), calls.into());
        }
        if self.fields["status"] == "error" {
            fields.insert("status".into(), "error".into());
        }
        Value::Object(fields)
    }
}

fn is_call_block(block: &Value) -> bool {
    matches!(
        block["type"].as_str(),
        Some("tool_use" | "tool_call" | "function_call")
    )
}

/// Removes the fields of a content block that identify it.
fn without_ids(block: &Value) -> Value {
    let mut block = block.clone();
    if let Some(fields) = block.as_object_mut() {
        for name in ["id", "index", "signature"] {
            fields.shift_remove(name);
        }
    }
    block
}

/// Returns a value without what differs in every run: of messages, only the role, name, content and calls are kept.
pub fn comparable(value: &Value) -> Value {
    comparable_at(value, 0)
}

fn comparable_at(value: &Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return value.clone();
    }
    if let Some(message) = Message::of(value) {
        return message.comparable(depth);
    }
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| comparable_at(item, depth + 1))
            .collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, item)| (name.clone(), comparable_at(item, depth + 1)))
                .collect(),
        ),
        // Some servers write 1 as 1.0.
        Value::Number(number) => match number
            .as_f64()
            .filter(|n| number.is_f64() && n.fract() == 0.0)
        {
            Some(whole) if whole.abs() < MAX_EXACT => (whole as i64).into(),
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

/// Returns a fingerprint of a comparable value, in which the order of keys doesn't matter. It is the same in every version,
/// because saved comparisons contain it.
pub(super) fn digest(value: &Value) -> String {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    update(&mut context, value);
    context
        .finish()
        .as_ref()
        .iter()
        .take(DIGEST)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn update(context: &mut ring::digest::Context, value: &Value) {
    match value {
        Value::Array(items) => {
            context.update(b"[");
            items.iter().for_each(|item| update(context, item));
            context.update(b"]");
        }
        Value::Object(fields) => {
            context.update(b"{");
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            for (name, item) in sorted {
                update(context, &Value::from(name.as_str()));
                update(context, item);
            }
            context.update(b"}");
        }
        leaf => {
            context.update(leaf.to_string().as_bytes());
            context.update(b",");
        }
    }
}

/// Returns what differs between two outputs, in a word: `calls`, `text`, `result`, or the first key that differs.
pub(super) fn what_differs(a: &Value, b: &Value) -> String {
    let (a_parts, b_parts) = (Parts::of(a), Parts::of(b));
    if a_parts.calls != b_parts.calls {
        return "calls".into();
    }
    if a_parts.results != b_parts.results {
        return "result".into();
    }
    if a_parts.texts != b_parts.texts {
        return "text".into();
    }
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else {
        return "output".into();
    };
    let differs = |name: &&String| a.get(*name) != b.get(*name);
    a.keys()
        .chain(b.keys())
        .find(differs)
        .cloned()
        .unwrap_or_else(|| "output".into())
}

/// The parts of the messages in a comparable value.
#[derive(Default)]
struct Parts<'a> {
    calls: Vec<&'a Value>,
    results: Vec<&'a Value>,
    texts: Vec<&'a Value>,
}

impl<'a> Parts<'a> {
    fn of(value: &'a Value) -> Parts<'a> {
        let mut parts = Parts::default();
        walk(value, 0, &mut |value| parts.add(value));
        parts
    }

    fn add(&mut self, value: &'a Value) -> Option<()> {
        let (role, content) = (value["role"].as_str()?, value.get("content")?);
        if role == "tool" {
            self.results.push(value);
        } else {
            self.texts.push(content);
            let calls = value["calls"].as_array();
            self.calls.extend(calls.into_iter().flatten());
        }
        Some(())
    }
}

/// Visits a value and what is in it, except in values that the visitor takes.
fn walk<'a>(value: &'a Value, depth: usize, take: &mut impl FnMut(&'a Value) -> Option<()>) {
    if depth > MAX_DEPTH || take(value).is_some() {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, depth + 1, take)),
        Value::Object(fields) => {
            let fields = fields.values();
            fields.for_each(|field| walk(field, depth + 1, take));
        }
        _ => {}
    }
}
