//! Masking what the control plane sends back in clear, in answers that are passed on as they are.

use serde_json::Value;

/// What stands in a secret's place.
pub const MASK: &str = "***";

/// Fields whose text is a secret wherever they stand.
const SECRET_FIELDS: [&str; 8] =
    ["token", "access_token", "refresh_token", "id_token", "client_secret", "api_key", "password", "authorization"];

/// Shortest secret that is looked for in other texts: replacing shorter ones would mangle them.
const MIN_FOUND: usize = 8;

/// The values of the secrets in an answer of the control plane, for [`scrub`]; of a value of several lines each line too.
pub fn secret_values(value: &Value) -> Vec<String> {
    fn texts(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) => {
                found.push(text.clone());
                found.extend(text.lines().map(|line| line.trim().to_string()));
            }
            Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
            Value::Object(fields) => {
                fields.iter().filter(|(name, _)| !is_open(name)).for_each(|(_, value)| texts(value, found));
            }
            _ => {}
        }
    }
    fn collect(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
            Value::Object(fields) => {
                for (name, value) in fields {
                    if holds_secrets(name) || is_secret(name, value) {
                        texts(value, found)
                    } else {
                        collect(value, found)
                    }
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect(value, &mut found);
    found.retain(|text| text.chars().count() >= MIN_FOUND && text != MASK);
    // The longest first: one secret may contain another.
    found.sort_by_key(|text| std::cmp::Reverse(text.len()));
    found.dedup();
    found
}

/// Takes these secrets out of a text that repeats them, such as a line of a log.
pub fn scrub(text: &str, secrets: &[String]) -> String {
    secrets.iter().fold(text.to_string(), |text, secret| {
        if text.contains(secret.as_str()) { text.replace(secret.as_str(), MASK) } else { text }
    })
}

/// Fields of a secret that are none themselves.
fn is_open(name: &str) -> bool {
    matches!(name, "name" | "key" | "type")
}

/// Whether a field holds a list or a map of secrets.
pub(super) fn holds_secrets(name: &str) -> bool {
    matches!(name, "secrets" | "env_vars" | "environment_variables")
}

/// Whether a field's text is a secret.
pub(super) fn is_secret(name: &str, value: &Value) -> bool {
    SECRET_FIELDS.contains(&name) && value.is_string()
}

/// Replaces every secret in an answer of the control plane: the values of `secrets` and `env_vars` (lists of
/// `{name, value}`, or maps), and texts in fields that hold tokens.
pub fn mask_secrets(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(mask_secrets),
        Value::Object(fields) => {
            for (name, value) in fields {
                if holds_secrets(name) {
                    mask_values(value);
                } else if is_secret(name, value) {
                    *value = MASK.into();
                } else {
                    mask_secrets(value);
                }
            }
        }
        _ => {}
    }
}

/// Masks a list of `{name, value}` or a map of values; names stay.
fn mask_values(value: &mut Value) {
    match value {
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::Object(fields) => {
                        for (name, value) in fields {
                            if !is_open(name) && !value.is_null() {
                                *value = MASK.into();
                            }
                        }
                    }
                    Value::Null => {}
                    other => *other = MASK.into(),
                }
            }
        }
        Value::Object(fields) => {
            for (_, value) in fields {
                if !value.is_null() {
                    *value = MASK.into();
                }
            }
        }
        Value::Null => {}
        other => *other = MASK.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_that_repeat_a_secret() {
        let record = json!({"name": "in-the-open", "secrets": [{"name": "A_LONG_NAME", "value": "canary-1"}, {"name": "B", "value": "short"},
            {"name": "PEM", "value": "-----BEGIN-----\n  canary-line-two\n"}], "env_vars": {"X": "canary-1-longer"}, "nested": [{"token": "canary-3"}]});
        let secrets = secret_values(&record);
        let text = "canary-1-longer canary-1 short in-the-open A_LONG_NAME  canary-line-two canary-3";
        assert_eq!(scrub(text, &secrets), "*** *** short in-the-open A_LONG_NAME  *** ***");
    }

    #[test]
    fn values_vanish_and_names_stay() {
        let mut value = json!({"resources": [
            {"id": "1", "secrets": [{"name": "A", "value": "canary"}, {"name": "B", "value": null}, "canary"]},
            {"secrets": {"A": "canary"}, "secret_references": [{"name": "X", "secret_key": "k"}]},
            {"env_vars": [{"name": "A", "value": "canary", "type": "secret"}], "token": "canary", "nested": {"client_secret": "canary"}},
            {"secrets": "canary"},
        ]});
        mask_secrets(&mut value);
        let text = value.to_string();
        assert!(!text.contains("canary"), "{text}");
        assert!(text.contains(r#"{"name":"A","value":"***"},{"name":"B","value":null}"#), "{text}");
        assert!(text.contains(r#""secret_key":"k""#), "{text}");
    }
}
