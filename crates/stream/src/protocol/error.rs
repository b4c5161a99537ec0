//! `error`: why a run failed.

use runtail_core::json;
use serde_json::Value;

/// Returns the reason in an error: a text, or an object in one of the forms of servers, proxies and providers. `None` if it
/// has none.
pub(crate) fn reason(text: &str) -> Option<String> {
    match json::from_str::<Value>(text) {
        Ok(value) => of_value(&value),
        Err(_) => Some(of_page(text)).filter(|text| !text.trim().is_empty()),
    }
}

fn of_value(value: &Value) -> Option<String> {
    let Value::Object(fields) = value else {
        return match value {
            Value::Null => None,
            Value::String(text) => Some(of_page(text)).filter(|text| !text.trim().is_empty()),
            other => Some(other.to_string()),
        };
    };
    let text = |name: &str| {
        fields
            .get(name)?
            .as_str()
            .filter(|text| !text.trim().is_empty())
    };
    let name = ["error", "name", "type"]
        .into_iter()
        .find_map(text)
        .filter(|name| *name != "error");
    let nested = || {
        ["error", "detail"]
            .into_iter()
            .find_map(|name| fields.get(name).filter(|field| field.is_object()))
    };
    match (
        name,
        ["message", "detail", "msg"].into_iter().find_map(text),
    ) {
        (Some(name), Some(message)) => Some(format!("{name}: {message}")),
        (_, Some(message)) => Some(message.to_string()),
        (name, None) => match nested().and_then(of_value) {
            Some(nested) => Some(nested),
            None if fields
                .values()
                .all(|field| field.is_null() || field.as_str() == Some("")) =>
            {
                None
            }
            None => Some(
                text("error")
                    .or(name)
                    .map_or_else(|| value.to_string(), str::to_string),
            ),
        },
    }
}

/// Returns the title of an HTML page, or its text; another text as it is.
fn of_page(text: &str) -> String {
    let start = text
        .trim_start()
        .get(..64.min(text.trim_start().len()))
        .unwrap_or_default()
        .to_ascii_lowercase();
    if !start.starts_with("<!doctype html") && !start.starts_with("<html") {
        return text.to_string();
    }
    let lower = text.to_ascii_lowercase();
    let title = lower
        .find("<title>")
        .and_then(|at| text.get(at + 7..at + lower[at..].find("</title>")?));
    let untagged = || {
        text.split('<')
            .filter_map(|part| Some(part.split_once('>')?.1))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    title
        .map(words)
        .filter(|title| !title.is_empty())
        .unwrap_or_else(|| words(&untagged()))
}
