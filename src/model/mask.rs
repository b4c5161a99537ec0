//! Masking what the control plane sends back in clear, in answers that are passed on as they are.

use serde_json::Value;

/// What stands in a secret's place.
pub const MASK: &str = "***";

/// Fields whose text is a secret wherever they stand.
const SECRET_FIELDS: [&str; 8] =
    ["token", "access_token", "refresh_token", "id_token", "client_secret", "api_key", "password", "authorization"];

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
                            if !matches!(name.as_str(), "name" | "key" | "type") && !value.is_null() {
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
