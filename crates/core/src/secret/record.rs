//! Masks the secrets that the control plane returns in clear, in records and in texts that repeat them.

use super::{MASK, field_names, logins};
use crate::{json, text};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashSet;

/// Returns whether a part of a value is masked, so that equal texts may stand for different values.
pub(crate) fn is_masked(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(MASK),
        Value::Array(items) => items.iter().any(is_masked),
        Value::Object(fields) => fields.values().any(is_masked),
        _ => false,
    }
}

/// The field whose `secret_key` is the name of an entry, not a key.
pub(crate) const REFERENCES: &str = "secret_references";

/// Minimum length, in bytes, of a record's secret to search for in other texts.
const MIN_FOUND: usize = 8;

/// Secrets, in all forms in which a text may repeat them. Has no `Debug`, so it can't be printed.
pub struct Secrets(Vec<String>);

impl Secrets {
    /// Creates a set of these secrets if they have a minimum length: replacing shorter ones would mangle other texts.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>, shortest: usize) -> Secrets {
        Secrets::of_forms(
            texts
                .into_iter()
                .flat_map(|text| forms(text, shortest))
                .collect(),
        )
    }

    fn of_forms(mut forms: Vec<String>) -> Secrets {
        // The longest first: one secret may contain another, or begin with it.
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        Secrets(forms)
    }

    /// The secrets in records of the control plane. A value that stands as a whole in a field that says what the record
    /// is (`is_plain`) is none: plain variables are kept beside the secrets, and one of them often is the
    /// deployment's own name.
    pub fn of_records(records: &[&Value]) -> Secrets {
        let mut open = HashSet::new();
        records
            .iter()
            .for_each(|record| plain_texts(record, &mut open));
        let texts = records.iter().flat_map(|record| secret_texts(record));
        Secrets::new(texts.filter(|text| !open.contains(text)), MIN_FOUND)
    }

    /// These secrets and those.
    pub fn and(&self, others: &Secrets) -> Secrets {
        Secrets::of_forms(self.0.iter().chain(&others.0).cloned().collect())
    }

    /// All forms in which they are looked for, the longest first.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// In how many forms they are looked for.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes these secrets from a text, such as a line of a log, and credentials from URLs.
    pub fn scrub(&self, text: &str) -> String {
        // The secrets first: one of them may be an address as a whole.
        let clean = self.replaced(text);
        without_userinfo(clean.as_deref().unwrap_or(text)).into_owned()
    }

    /// Masks the secrets of a record, and removes them from all its other texts.
    pub fn mask(&self, record: &mut Value) {
        mask_secrets(record);
        self.scrub_texts(record);
    }

    /// Removes these from a record, except from its secret fields, which are sent back unchanged in an update and masked on
    /// display. Unlike [`Secrets::mask`] it leaves nothing in names, states and identifiers.
    pub fn take_out(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(clean) = self.replaced(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.take_out(item)),
            Value::Object(fields) => {
                self.rename(fields);
                for (name, value) in fields {
                    match holds_secrets(name, value) {
                        true => self.take_out_names(value),
                        false if is_secret(name, value) => {}
                        false => self.take_out(value),
                    }
                }
            }
            _ => {}
        }
    }

    /// The same of a list or a map of secrets: what they are called is shown.
    fn take_out_names(&self, held: &mut Value) {
        match held {
            Value::Object(fields) => self.rename(fields),
            Value::Array(items) => {
                for fields in items.iter_mut().filter_map(Value::as_object_mut) {
                    self.rename(fields);
                    fields
                        .iter_mut()
                        .filter(|(name, _)| is_open(name))
                        .for_each(|(_, value)| self.take_out(value));
                }
            }
            _ => {}
        }
    }

    fn rename(&self, fields: &mut Map<String, Value>) {
        if fields.keys().any(|name| self.replaced(name).is_some()) {
            let all = std::mem::take(fields).into_iter();
            *fields = all
                .map(|(name, value)| (self.replaced(&name).unwrap_or(name), value))
                .collect();
        }
    }

    /// A text without these; nothing where none of them is in it.
    fn replaced(&self, text: &str) -> Option<String> {
        self.0.iter().fold(None, |clean: Option<String>, secret| {
            let now = clean.as_deref().unwrap_or(text);
            if now.contains(secret.as_str()) {
                Some(now.replace(secret.as_str(), MASK))
            } else {
                clean
            }
        })
    }

    fn scrub_texts(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.scrub(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.scrub_texts(item)),
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value {
                        // A short variable such as `production` may well be a part of these.
                        Value::String(text) if is_plain(name) => {
                            *text = without_userinfo(text).into_owned()
                        }
                        value => self.scrub_texts(value),
                    }
                }
            }
            _ => {}
        }
    }
}

/// Masks a record of the control plane: its secrets wherever they stand in it.
pub fn mask_record(record: &mut Value) {
    Secrets::of_records(&[record]).mask(record);
}

/// Whether a field says what a record is, in a form that others rely on: identifiers, names, addresses, words of state.
fn is_plain(name: &str) -> bool {
    let words = [
        "id",
        "name",
        "display_name",
        "url",
        "custom_url",
        "status",
        "source",
        "repo_ref",
        "repo_commit_sha",
    ];
    words.contains(&name)
        || ["_id", "_at", "_type", "_version"]
            .iter()
            .any(|end| name.ends_with(end))
}

/// The texts of the fields that say what a record is.
fn plain_texts<'v>(value: &'v Value, found: &mut HashSet<&'v str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| plain_texts(item, found)),
        Value::Object(fields) => {
            for (name, value) in fields
                .iter()
                .filter(|(name, value)| !holds_secrets(name, value) && !is_secret(name, value))
            {
                match value {
                    Value::String(text) if is_plain(name) => drop(found.insert(text)),
                    value => plain_texts(value, found),
                }
            }
        }
        _ => {}
    }
}

/// Returns a text without credentials in URLs (`https://user:token@host`), as builds use them.
fn without_userinfo(text: &str) -> Cow<'_, str> {
    let masked = logins(text).into_iter().map(|login| (login, MASK));
    text::replaced(text, masked).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// A secret as it is, as one line (which a message becomes), and its lines one by one, where they are long enough; each also
/// as JSON writes it, and as Python's JSON does, which is ASCII.
fn forms(secret: &str, shortest: usize) -> impl Iterator<Item = String> {
    let one_line = secret.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = secret.lines().map(|line| line.trim().to_string());
    let plain = [secret.to_string(), text::clean(&one_line).into_owned()]
        .into_iter()
        .chain(lines);
    plain
        .filter(move |plain| plain.trim().len() >= shortest)
        .flat_map(|plain| {
            let json = Value::from(plain.as_str()).to_string();
            let json = json[1..json.len() - 1].to_string();
            let is_ascii = |c: char| matches!(c, ' '..='~');
            let in_ascii = json.chars().map(|c| match is_ascii(c) {
                true => c.to_string(),
                false => json::escaped(c),
            });
            [in_ascii.collect(), json, plain]
        })
}

/// The texts of the secrets in something that the control plane sends or is sent.
pub fn secret_texts(value: &Value) -> Vec<&str> {
    fn all<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::String(text) => found.push(text),
            Value::Array(items) => items.iter().for_each(|item| all(item, found)),
            Value::Object(fields) => fields.values().for_each(|value| all(value, found)),
            _ => {}
        }
    }
    fn held<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        let Value::Array(items) = value else {
            return all(value, found);
        };
        items.iter().for_each(|item| match item {
            Value::Object(fields) => fields
                .iter()
                .filter(|(name, _)| !is_open(name))
                .for_each(|(_, value)| all(value, found)),
            other => all(other, found),
        });
    }
    fn collect<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
            Value::Object(fields) => {
                for (name, value) in fields.iter().filter(|(name, _)| *name != REFERENCES) {
                    match holds_secrets(name, value) || is_secret(name, value) {
                        true => held(value, found),
                        false => collect(value, found),
                    }
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect(value, &mut found);
    found
}

/// Fields of a secret that are none themselves.
fn is_open(name: &str) -> bool {
    matches!(name, "name" | "key" | "type")
}

/// Whether a field holds a list or a map of secrets. The variables of a container (`env`) count as such; where that is a
/// word, it names an environment.
pub(crate) fn holds_secrets(name: &str, value: &Value) -> bool {
    matches!(name, "secrets" | "env_vars" | "environment_variables")
        || name == "env" && (value.is_array() || value.is_object())
}

/// Returns whether the value of a field is a secret. The fields of an object or a list are judged by their own names.
pub(crate) fn is_secret(name: &str, value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_)) && field_names::is_secret(name)
}

/// Replaces every secret in an answer of the control plane: the values of `secrets` and `env_vars` (lists of
/// `{name, value}`, or maps), and texts in fields that hold tokens.
pub fn mask_secrets(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(mask_secrets),
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut().filter(|(name, _)| *name != REFERENCES) {
                if holds_secrets(name, value) {
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
    let mask = |value: &mut Value| {
        if !value.is_null() {
            *value = MASK.into();
        }
    };
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| match item {
            Value::Object(fields) => fields
                .iter_mut()
                .filter(|(name, _)| !is_open(name))
                .for_each(|(_, value)| mask(value)),
            other => mask(other),
        }),
        Value::Object(fields) => fields.values_mut().for_each(mask),
        other => mask(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn repeated_secrets_are_masked_in_text() {
        let record = json!({"name": "in-the-open", "secrets": [{"name": "A_LONG_NAME", "value": "canary-1"}, {"name": "B", "value": "short"},
            {"name": "PEM", "value": "-----BEGIN-----\n  canary-line-two\n"}], "env_vars": {"X": "canary-1-longer"}, "nested": [{"token": "canary-3"}]});
        let secrets = Secrets::of_records(&[&record]);
        let text =
            "canary-1-longer canary-1 short in-the-open A_LONG_NAME  canary-line-two canary-3";
        assert_eq!(
            secrets.scrub(text),
            "*** *** short in-the-open A_LONG_NAME  *** ***"
        );
        // Short or invisible secrets are not masked, in any encoding.
        let secrets = Secrets::new(["\n\n\n\n", "é\"é", "         "], 6);
        let text = r#""\n\n\n\n" é\"é \u00e9\"\u00e9          "#;
        assert_eq!(secrets.scrub(text), text);
    }

    #[test]
    fn keys_are_masked_outside_secret_fields() {
        let mut record = json!({"name": "bot-canary-1", "error": ["see canary-1"], "canary-1": {"token": "canary-1"},
            "secrets": [{"name": "OF_canary-1", "value": "canary-1"}], "env_vars": {"canary-1": "canary-1"}, "n": 1});
        Secrets::new(["canary-1"], 6).take_out(&mut record);
        assert_eq!(
            record,
            json!({"name": "bot-***", "error": ["see ***"], "***": {"token": "canary-1"},
                "secrets": [{"name": "OF_***", "value": "canary-1"}], "env_vars": {"***": "canary-1"}, "n": 1})
        );
    }

    #[test]
    fn record_secrets_are_masked_everywhere() {
        let mut record = json!({"name": "support-bot", "secrets": [
                {"name": "TOKEN", "value": "canary-12"}, {"name": "LANGSMITH_PROJECT", "value": "support-bot"}],
            "source_config": {"install_command": "pip install --token=canary-12", "repo_url": "https://me:canary-x@git.example/a@b"},
            "url": "https://support-bot.us.langgraph.app"});
        mask_record(&mut record);
        let text = record.to_string();
        assert!(!text.contains("canary"), "{text}");
        assert!(
            text.contains(r#""name":"support-bot""#)
                && text.contains("https://***@git.example/a@b"),
            "{text}"
        );
        assert!(
            text.contains("https://support-bot.us.langgraph.app"),
            "{text}"
        );
        // A secret within a name or URL is kept; a secret that is a URL is masked as a whole.
        let mut record = json!({"name": "invoice-production", "url": "https://invoice-production-1.example", "note": "in production",
            "build_args": {"T": "canary-45"}, "env_vars": {"ENVIRONMENT": "production", "T": "canary-45", "HOOK": "https://me:pw@hook.example/x?token=abcdef"},
            "log": "POST https://me:pw@hook.example/x?token=abcdef"});
        mask_record(&mut record);
        assert_eq!(record["url"], "https://invoice-production-1.example");
        assert_eq!(
            (&record["note"], &record["log"]),
            (&json!("in ***"), &json!("POST ***"))
        );
        assert!(!record.to_string().contains("canary"), "{record}");
        // Combining sets of secrets repeatedly changes nothing.
        let (a, b) = (
            Secrets::new(["can\\\"ary-1"], 1),
            Secrets::new(["can\\\"ary-1-longer"], 1),
        );
        let both = a.and(&b).and(&a).and(&b);
        assert_eq!(
            (
                both.len(),
                both.scrub("can\\\"ary-1-longer can\\\"ary-1").as_str()
            ),
            (a.len() + b.len(), "*** ***")
        );
        let none = Secrets::new([], 1);
        for (text, expected) in [
            (
                "clone https://x-access-token:ghs_abc@github.com/a/b.git now",
                "clone https://***@github.com/a/b.git now",
            ),
            (
                "see https://docs.example/x and mail a@b.c",
                "see https://docs.example/x and mail a@b.c",
            ),
            (
                "postgres://u:p@ss@db:5432/x https://h",
                "postgres://***@db:5432/x https://h",
            ),
            ("://", "://"),
        ] {
            assert_eq!(none.scrub(text), expected);
        }
    }

    #[test]
    fn escaped_secrets_are_masked() {
        let secret = "say \"canäry\" 🔑\n\tc:\\canary-two\\x\"y\n";
        let python = r#"say \"can\u00e4ry\" \ud83d\udd11\n\tc:\\canary-two\\x\"y\n"#;
        let secrets = Secrets::new([secret], 6);
        for text in [
            secret,
            secret.trim_end(),
            "say \"canäry\" 🔑 c:\\canary-two\\x\"y",
            &Value::from(secret).to_string(),
            &Value::from(secret.trim_end()).to_string(),
            &format!("\"{python}\""),
            r#"{"first": "say \"canäry\" 🔑", "second": "c:\\canary-two\\x\"y"}"#,
        ] {
            let left = secrets.scrub(text);
            assert!(
                left.contains(MASK) && !left.contains("can") && !left.contains("x\""),
                "{text}: {left}"
            );
        }
    }

    #[test]
    fn fields_with_a_secret_name_are_masked_in_any_spelling() {
        let mut record = json!({"cookie": "canary-1", "jwt": "canary-2", "X-Api-Key": "canary-3", "dbPassword": 1234567890,
            "config": {"OPENAI_API_KEY": "canary-4", "max_tokens": 5, "token": {"type": "string"}}, "secret_name": "open"});
        let expected = json!({"cookie": "***", "jwt": "***", "X-Api-Key": "***", "dbPassword": "***",
            "config": {"OPENAI_API_KEY": "***", "max_tokens": 5, "token": {"type": "string"}}, "secret_name": "open"});
        let logged = Secrets::of_records(&[&record]).scrub("set canary-1, canary-4");
        mask_record(&mut record);
        assert_eq!((record, logged.as_str()), (expected, "set ***, ***"));
    }

    #[test]
    fn secret_fields_are_found() {
        let value = json!({"env_vars": {"key": "a", "name": {"deep": ["b"]}}, "secrets": [{"key": "K", "type": "T", "value": "c"}, "d"],
            "open": "x", "password": "e", "list": [{"environment_variables": "f"}], "secret_references": [{"secret_key": "x"}]});
        assert_eq!(secret_texts(&value), ["a", "b", "c", "d", "e", "f"]);
    }

    #[test]
    fn secret_values_are_masked_and_names_kept() {
        let mut value = json!({"resources": [
            {"id": "1", "secrets": [{"name": "A", "value": "canary"}, {"name": "B", "value": null}, "canary"]},
            {"secrets": {"A": "canary"}, "secret_references": [{"name": "X", "secret_key": "k"}]},
            {"env_vars": [{"name": "A", "value": "canary", "type": "secret"}], "token": "canary", "nested": {"client_secret": "canary"}},
            {"secrets": "canary"},
        ]});
        mask_secrets(&mut value);
        let text = value.to_string();
        assert!(!text.contains("canary"), "{text}");
        assert!(
            text.contains(r#"{"name":"A","value":"***"},{"name":"B","value":null}"#),
            "{text}"
        );
        assert!(text.contains(r#""secret_key":"k""#), "{text}");
    }
}
