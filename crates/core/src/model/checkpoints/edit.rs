//! A state as a document to edit, and the keys that an edit changes. Reducers of the graph apply the new values on the server,
//! so only changed keys are sent.

use crate::json::{self, Fields};
use crate::text;
use serde_json::{Map, Value};

/// What is wrong with an edited state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateProblem {
    /// Line and column, from 1.
    pub place: (usize, usize),
    pub message: String,
}

/// Returns values as a document: each key on a line of its own. `None` if they are no object.
pub fn state_document(values: &str) -> Option<String> {
    let Fields(fields) = Fields::read(values).ok()?;
    if fields.is_empty() {
        return Some("{\n}\n".into());
    }
    let lines: Vec<String> = fields
        .iter()
        .map(|(key, raw)| {
            let pretty = json::exact::<Value>(raw.text()).ok();
            let pretty = pretty.and_then(|value| serde_json::to_string_pretty(&value).ok());
            let value = pretty
                .unwrap_or_else(|| raw.text().to_string())
                .replace('\n', "\n  ");
            format!("  {}: {value}", Value::from(&**key))
        })
        .collect();
    Some(json::written(&format!("{{\n{}\n}}\n", lines.join(",\n"))).into_owned())
}

/// Returns the top-level keys of a document that differ from the original values.
///
/// # Errors
/// The document is no JSON object, a key is missing or there twice, or a changed value has a number that can't be sent exactly.
pub fn changed_values(original: &str, document: &str) -> Result<Map<String, Value>, StateProblem> {
    let at = |place: (usize, usize), message: String| StateProblem { place, message };
    let whole = |message: &str| at((1, 1), message.to_string());
    let Fields(edited) = Fields::read(document).map_err(|error| {
        let message = error.to_string();
        // The position is shown on its own.
        let message = message
            .split(" at line ")
            .next()
            .unwrap_or_default()
            .to_string();
        at((error.line().max(1), error.column().max(1)), message)
    })?;
    let Fields(before) = Fields::read(original).unwrap_or_default();
    if let Some((key, _)) = before
        .iter()
        .find(|(key, _)| !edited.iter().any(|(known, _)| known == key))
    {
        return Err(whole(&format!(
            "{} is missing: a key can't be removed, only set to null",
            text::seen(key, 60)
        )));
    }
    let mut changed = Map::new();
    let mut seen: Vec<&str> = Vec::new();
    for (key, raw) in &edited {
        if seen.contains(&&**key) {
            return Err(whole(&format!("{} is there twice", text::seen(key, 60))));
        }
        seen.push(key);
        let old = before
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, raw)| raw.text());
        let value = json::exact::<Value>(raw.text())
            .map_err(|error| whole(&format!("{}: {error}", text::seen(key, 60))))?;
        if old.is_some_and(|old| json::exact::<Value>(old).is_ok_and(|old| old == value)) {
            continue;
        }
        if json::numbers(raw.text()).any(|number| json::rounded(number).is_some()) {
            let message = format!(
                "{} has a number with more digits than can be sent exactly",
                text::seen(key, 60)
            );
            return Err(whole(&message));
        }
        changed.insert(key.to_string(), value);
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_changed_keys_are_sent() {
        let original =
            r#"{"log":["in", "a"],"n":1,"big":12345678901234567890123,"text":"caf\u00e9"}"#;
        let document = state_document(original).unwrap();
        assert!(
            document.contains("  \"log\": [\n    \"in\",")
                && document.contains("\"big\": 12345678901234567890123"),
            "{document}"
        );
        let changed = |from: &str, to: &str| changed_values(original, &document.replace(from, to));
        let message =
            |result: Result<Map<String, Value>, StateProblem>| result.unwrap_err().message;
        assert_eq!(changed("", ""), Ok(Map::new()));
        assert_eq!(
            Value::from(changed("\"n\": 1", "\"n\": 2").unwrap()),
            json!({"n": 2})
        );
        let both = document
            .replace("\"a\"", "\"b\"")
            .replace("\"n\": 1,", "\"n\": 1, \"new\": {},");
        assert_eq!(
            Value::from(changed_values(original, &both).unwrap()),
            json!({"log": ["in", "b"], "new": {}})
        );
        assert_eq!(
            message(changed("\"n\": 1,", "")),
            "n is missing: a key can't be removed, only set to null"
        );
        assert_eq!(
            message(changed("\"n\": 1,", "\"n\": 1, \"n\": 2,")),
            "n is there twice"
        );
        assert!(message(changed("0123,", "0124,")).contains("more digits"));
        let broken = changed("\"n\": 1,", "\"n\": x,").unwrap_err();
        assert_eq!(
            (broken.place.0, broken.message.as_str()),
            (6, "expected value")
        );
        assert!(changed_values(original, "[1]").is_err() && changed_values(original, "").is_err());
    }

    #[test]
    fn documents_of_odd_values_are_refused() {
        assert_eq!(state_document("[1]"), None);
        assert_eq!(state_document("null"), None);
        assert_eq!(state_document("{}").as_deref(), Some("{\n}\n"));
    }
}
