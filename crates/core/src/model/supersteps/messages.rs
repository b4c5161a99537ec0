//! Messages in states: their ids are given by the reducer of the channel, so the result of a task may lack them.

use crate::model::is_blank;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// The types of messages as states have them. Results may have the type of a chunk, which an update does not take.
const TYPES: [&str; 7] = [
    "human", "ai", "system", "tool", "function", "remove", "chat",
];

fn id_of(message: &Value) -> Option<&str> {
    message["id"].as_str().filter(|id| !id.is_empty())
}

/// Returns whether two values are one message, by its id.
pub(super) fn is_same_id(a: &Value, b: &Value) -> bool {
    is_message(a) && id_of(a).is_some() && id_of(a) == id_of(b)
}

fn is_message(value: &Value) -> bool {
    let is_known = |kind: &str| TYPES.contains(&kind) || kind.ends_with("MessageChunk");
    value["type"].as_str().is_some_and(is_known) && value.get("content").is_some()
}

/// Returns whether a list has messages with ids, and nothing else.
pub fn is_message_list(list: &[Value]) -> bool {
    !list.is_empty()
        && list
            .iter()
            .all(|item| is_message(item) && id_of(item).is_some())
}

/// Replaces the messages of a result with those that the state has of them: with the ids that the reducer gave them, and in the
/// form that an update takes.
pub(super) fn fill(
    mut result: Map<String, Value>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Map<String, Value> {
    for (key, written) in &mut result {
        let Some(list) = after
            .get(key)
            .and_then(Value::as_array)
            .filter(|list| is_message_list(list))
        else {
            continue;
        };
        let old = before
            .get(key)
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut used: HashSet<&str> = old.iter().filter_map(id_of).collect();
        let mut saved = |message: &Value| {
            if message["type"] == "remove" {
                return None;
            }
            let found = match id_of(message) {
                Some(id) => list.iter().find(|saved| id_of(saved) == Some(id)),
                None => list.iter().find(|saved| {
                    saved["content"] == message["content"]
                        && id_of(saved).is_some_and(|id| !used.contains(id))
                }),
            };
            used.extend(found.and_then(id_of));
            found.cloned()
        };
        match written {
            Value::Array(messages) => messages.iter_mut().for_each(|message| {
                if let Some(saved) = saved(message) {
                    *message = saved;
                }
            }),
            message => {
                if let Some(saved) = saved(message) {
                    *message = saved;
                }
            }
        }
    }
    result
}

/// Returns the write that leads from a list of messages to another one: new and changed messages, and removals.
pub(super) fn between(old: &[Value], new: &[Value]) -> Value {
    let removed = old
        .iter()
        .filter_map(id_of)
        .filter(|id| !new.iter().any(|message| id_of(message) == Some(*id)));
    let removed = removed.map(|id| json!({"type": "remove", "id": id, "content": ""}));
    removed
        .chain(new.iter().filter(|message| !old.contains(message)).cloned())
        .collect::<Vec<_>>()
        .into()
}

/// Returns a value as Python servers take it: they put the fields of a message that they don't know into its
/// `additional_kwargs`, so those are left out. `lost` tells whether a message had token counts.
pub fn plain_message(value: &Value, lost: &mut bool) -> Value {
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| plain_message(item, lost))
            .collect::<Vec<_>>()
            .into(),
        Value::Object(message) if is_message(value) => {
            let mut message = message.clone();
            *lost |= message
                .shift_remove("usage_metadata")
                .is_some_and(|usage| !usage.is_null());
            // JavaScript keeps the pieces of which the tool calls were made.
            message.shift_remove("tool_call_chunks");
            if message.get("invalid_tool_calls").is_some_and(is_blank) {
                message.shift_remove("invalid_tool_calls");
            }
            message.into()
        }
        other => other.clone(),
    }
}

/// Returns whether two values are equal, apart from what servers add to messages or leave out: token counts and empty fields.
pub fn same_message(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) if is_message(a) && is_message(b) => {
            let counts = |key: &String| key != "usage_metadata" && key != "tool_call_chunks";
            let has_same = |x: &Map<String, Value>, y: &Map<String, Value>| {
                x.iter()
                    .filter(|(key, _)| counts(key))
                    .all(|(key, value)| match y.get(key) {
                        Some(other) => {
                            same_message(value, other) || (is_blank(value) && is_blank(other))
                        }
                        // Python writes the status of a tool's message, JavaScript only that of a failed one.
                        None => is_blank(value) || (key == "status" && value == "success"),
                    })
            };
            has_same(x, y) && has_same(y, x)
        }
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(a, b)| same_message(a, b))
        }
        _ => a == b,
    }
}
