//! What a task wrote, on one line: `+2 messages`, `n 3`, `log ["c"]`.

use super::cut;
use crate::json::{self, Fields, Peek};
use crate::text;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write;

/// Maximum keys that a summary names.
const MAX_KEYS: usize = 3;
/// Maximum characters of a value in a summary; larger ones are only counted.
const MAX_VALUE: usize = 24;
/// Maximum bytes of an item that was added to a list.
const MAX_ITEM: usize = 80;
/// Results with more bytes are not parsed.
const MAX_RESULT: usize = 1 << 20;
/// Maximum nesting that is searched for a text.
const MAX_DEPTH: usize = 6;

/// Describes a result.
pub(super) fn summary(result: &str) -> String {
    if result.len() > MAX_RESULT {
        return text::bytes(result.len() as u64);
    }
    let Ok(Value::Object(fields)) = json::from_str::<Value>(result) else {
        return cut(result);
    };
    let mut line = String::new();
    let messages = fields
        .get("messages")
        .map(|messages| messages.as_array().map_or(1, Vec::len));
    if let Some(count) = messages.filter(|count| *count > 0) {
        let _ = write!(line, "+{}", text::counted(count, "message"));
    }
    let others: Vec<_> = fields
        .iter()
        .filter(|(key, _)| *key != "messages")
        .collect();
    for (key, value) in others.iter().take(MAX_KEYS) {
        let separator = if line.is_empty() { "" } else { ", " };
        let _ = write!(line, "{separator}{} {}", cut(key), short(value));
    }
    if let Some(more) = others.len().checked_sub(MAX_KEYS).filter(|more| *more > 0) {
        let _ = write!(line, ", +{more}");
    }
    line
}

/// Describes how the values of a state differ from those before it: `amount 1300 → 130`, `log + "done"`. Empty if they are the same.
pub fn change_summary(before: &str, after: &str) -> String {
    let (Ok(before), Ok(Fields(after))) = (Fields::read(before), Fields::read(after)) else {
        return String::new();
    };
    let old = |key: &str| before.get(key).map_or("null", Peek::text);
    let is_changed = |key: &str, new: &str| old(key) != new && value(old(key)) != value(new);
    let changed: Vec<_> = after
        .iter()
        .map(|(key, new)| (key, new.text()))
        .filter(|(key, new)| is_changed(key, new))
        .collect();
    let change = |(key, new): &(&Cow<'_, str>, &str)| {
        let (was, is) = (value(old(key)), value(new));
        let old: &[Value] = was.as_array().map_or(&[], Vec::as_slice);
        let added = is.as_array().and_then(|all| all.strip_prefix(old));
        match added {
            Some(added @ [_, ..]) if &***key == "messages" => {
                format!("+{}", text::counted(added.len(), "message"))
            }
            Some([item]) => format!(
                "{} + {}",
                cut(key),
                cut(text::head(&item.to_string(), MAX_ITEM))
            ),
            Some(added @ [_, _, ..]) if !old.is_empty() => {
                format!("{} + {}", cut(key), text::counted(added.len(), "item"))
            }
            _ if was.is_null() => format!("{} {}", cut(key), short(&is)),
            _ => format!("{} {} → {}", cut(key), short(&was), short(&is)),
        }
    };
    let mut changes: Vec<String> = changed.iter().take(MAX_KEYS).map(change).collect();
    if let Some(more) = changed.len().checked_sub(MAX_KEYS).filter(|more| *more > 0) {
        changes.push(format!("+{more}"));
    }
    changes.join(", ")
}

/// Reads a value. One that is too large to parse is a text about its size.
fn value(json: &str) -> Value {
    if json.len() > MAX_RESULT {
        return text::bytes(json.len() as u64).into();
    }
    json::exact(json).unwrap_or_default()
}

fn short(value: &Value) -> String {
    let whole = match value {
        Value::Array(items) if items.len() > MAX_VALUE => String::new(),
        Value::Object(fields) if fields.len() > MAX_VALUE => String::new(),
        Value::String(text) if text.len() > 4 * MAX_VALUE => String::new(),
        value => value.to_string(),
    };
    match value {
        _ if !whole.is_empty() && whole.chars().count() <= MAX_VALUE => whole,
        Value::Array(items) => text::counted(items.len(), "item"),
        Value::Object(fields) => text::counted(fields.len(), "field"),
        Value::String(text) => format!(
            "\"{}…\"",
            cut(text).chars().take(MAX_VALUE).collect::<String>()
        ),
        _ => whole,
    }
}

/// Returns the first text of a result: of a message its content, else the first string.
pub(super) fn first_text(result: &str) -> Option<String> {
    if result.len() > MAX_RESULT {
        return None;
    }
    let value: Value = json::from_str(result).ok()?;
    let messages = value.get("messages").and_then(Value::as_array);
    let said = messages
        .and_then(|messages| messages.first())
        .and_then(|message| match message.get("content") {
            Some(content) => string_in(content, 0),
            None => string_in(message, 0),
        });
    said.or_else(|| string_in(&value, 0)).map(cut)
}

fn string_in(value: &Value, depth: usize) -> Option<&str> {
    match value {
        _ if depth > MAX_DEPTH => None,
        Value::String(text) => Some(text.as_str()).filter(|text| !text.trim().is_empty()),
        Value::Array(items) => items.iter().find_map(|item| string_in(item, depth + 1)),
        // A block of content has its type first.
        Value::Object(fields) => match fields.get("text") {
            Some(text) => string_in(text, depth + 1),
            None => fields
                .values()
                .find_map(|value| string_in(value, depth + 1)),
        },
        _ => None,
    }
}
