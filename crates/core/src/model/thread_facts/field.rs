//! Fields of records that may have another type than expected, which then count as missing.

use super::{Question, ThreadError};
use crate::exact_json;
use crate::json::{Fields, Peek};
use crate::model::parse_time;
use jiff::Timestamp;

pub(super) fn time(record: &Fields<'_>, name: &str) -> Option<Timestamp> {
    parse_time(&record.text(name)?)
}

/// Returns an id or a text that isn't empty.
pub(super) fn some(record: &Fields<'_>, name: &str) -> Option<String> {
    record.text(name).filter(|text| !text.is_empty())
}

/// Returns a name, or a list of names: what breakpoints are given as.
pub(super) fn names(record: &Fields<'_>, name: &str) -> Vec<String> {
    match record.text(name) {
        Some(one) => vec![one],
        None => record.read_as(name).unwrap_or_default(),
    }
}

/// Returns the questions of a list.
pub(super) fn questions(list: Peek<'_>) -> Vec<Question> {
    let question = |asked: Fields<'_>| {
        let value = asked.get("value").map(Peek::text);
        let (value, inexact) = value
            .and_then(|value| exact_json::parse_lenient(value).ok())
            .unwrap_or_default();
        Question {
            id: asked.text("id").or_else(|| asked.text("interrupt_id")),
            value,
            response_schema: asked.read_as("response_schema"),
            inexact,
            node: None,
        }
    };
    list.items()
        .filter_map(Peek::object)
        .map(question)
        .collect()
}

/// Returns an error: `{error, message}` on threads, a text on tasks; JavaScript's tasks have a text with `{name, message}` in it.
pub(super) fn error(record: &Fields<'_>) -> Option<ThreadError> {
    let value = record.get("error")?;
    let text = value.string().unwrap_or(value.text().into());
    let both = Fields::read(&text).unwrap_or_default();
    let class = both.text("error").or_else(|| both.text("name"));
    Some(match (class, both.text("message")) {
        // Nothing that has a name here; shown as it is.
        (None, None) => ThreadError {
            class: String::new(),
            message: text.into_owned(),
        },
        (class, message) => ThreadError {
            class: class.unwrap_or_default(),
            message: message.unwrap_or_default(),
        },
    })
}
