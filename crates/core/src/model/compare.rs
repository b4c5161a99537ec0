//! Compares two records of a server field by field, with secrets masked.

use crate::secret::{MASK, REFERENCES, Secrets, holds_secrets, is_secret, mask_secrets};
use crate::text;
use serde::Serialize;
use serde_json::Value;

/// Fields that always differ between revisions.
pub(super) const NATURAL: [&str; 5] =
    ["id", "created_at", "updated_at", "status", "status_message"];
/// Maximum width of a value, in columns.
const MAX_SHOWN: usize = 120;

/// A changed field. Null is the same as missing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The path: `source_revision_config.repo_ref`, `secrets[OPENAI_API_KEY]`, `labels["app.io/name"]`.
    pub path: String,
    /// The old value; a secret is `***`.
    pub before: Option<Value>,
    /// The new value; a secret is `***`.
    pub after: Option<Value>,
}

/// Returns the changes between two records: in the order of the fields of `before`, then of those that only `after` has.
///
/// Objects are compared field by field, lists of objects with different `name`s by name, all other lists as a whole. For a
/// secret only the fact of a change is reported, so both records must be unmasked; masked ones show only added and removed
/// names.
pub fn compare(before: &Value, after: &Value) -> Vec<Change> {
    Changes::of(before, after, false)
}

/// Returns all values of two records side by side, also those that are equal; see [`compare`]. Of a secret it only says whether it
/// is there.
pub(super) fn side_by_side(a: &Value, b: &Value) -> Vec<Change> {
    Changes::of(a, b, true)
}

/// Removes fields that always differ between revisions: id, times and status.
pub fn without_natural(mut changes: Vec<Change>) -> Vec<Change> {
    changes.retain(|change| !NATURAL.contains(&change.path.as_str()));
    changes
}

impl Change {
    /// Whether both values are hidden.
    pub fn is_masked(&self) -> bool {
        let hidden = |side: &Option<Value>| side.as_ref().is_none_or(|v| v == MASK);
        hidden(&self.before) && hidden(&self.after)
    }

    /// Removes these secrets, which other fields may repeat.
    pub fn without(self, secrets: &Secrets) -> Change {
        let side = |value: Option<Value>| match value? {
            Value::String(text) => Some(secrets.scrub(&text).into()),
            mut other => {
                secrets.mask(&mut other);
                Some(other)
            }
        };
        Change {
            path: self.path,
            before: side(self.before),
            after: side(self.after),
        }
    }

    /// Returns the change in one line, sanitized: `repo_ref: main → hotfix`, `secrets[KEY]: changed`.
    pub fn line(&self) -> String {
        let shown = |value: &Value| {
            let plain = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_string);
            text::fit(&text::clean(&plain), MAX_SHOWN).into_owned()
        };
        let path = text::clean(&self.path);
        match (&self.before, &self.after) {
            (None, Some(_)) if self.is_masked() => format!("{path}: added"),
            (Some(_), None) if self.is_masked() => format!("{path}: removed"),
            _ if self.is_masked() => format!("{path}: changed"),
            (None, Some(after)) => format!("{path}: {}, was not set", shown(after)),
            (Some(before), None) => format!("{path}: no longer set, was {}", shown(before)),
            (Some(before), Some(after)) => format!("{path}: {} → {}", shown(before), shown(after)),
            (None, None) => format!("{path}: changed"),
        }
    }
}

/// Fields by their names, in the server's order.
type Named<'v> = Vec<(&'v str, &'v Value)>;

/// The changes that were found.
struct Changes {
    all: Vec<Change>,
    /// Whether equal values count, too.
    with_equal: bool,
}

impl Changes {
    fn of(before: &Value, after: &Value, with_equal: bool) -> Vec<Change> {
        let mut changes = Changes {
            all: Vec::new(),
            with_equal,
        };
        changes.walk("", before, after);
        changes.all
    }

    fn walk(&mut self, path: &str, before: &Value, after: &Value) {
        if !self.counts(before, after) {
            return;
        }
        // Report added and removed objects field by field, too.
        let found = |old: &Named<'_>, new: &Named<'_>| !(old.is_empty() && new.is_empty());
        if let (Some(old), Some(new)) = (fields(before), fields(after))
            && found(&old, &new)
        {
            for (name, before, after) in paired(&old, &new) {
                let path = step(path, name);
                if holds_secrets(name, before) || holds_secrets(name, after) {
                    self.secrets(&path, before, after);
                } else if (is_secret(name, before) || is_secret(name, after))
                    && !path.contains(REFERENCES)
                {
                    self.hidden(&path, before, after);
                } else {
                    self.walk(&path, before, after);
                }
            }
        } else if let (Some(old), Some(new)) = (items(before), items(after))
            && found(&old, &new)
        {
            for (name, before, after) in paired(&old, &new) {
                self.walk(&format!("{path}[{name}]"), before, after);
            }
        } else {
            self.push(path, before, after);
        }
    }

    /// Compares secrets by name, in either of the two forms; values without names are compared as a whole.
    fn secrets(&mut self, path: &str, before: &Value, after: &Value) {
        let by_name = |value| items(value).or_else(|| fields(value));
        match (by_name(before), by_name(after)) {
            (Some(old), Some(new)) => {
                for (name, before, after) in paired(&old, &new) {
                    self.hidden(&format!("{path}[{name}]"), before, after);
                }
            }
            _ => self.hidden(path, before, after),
        }
    }

    fn hidden(&mut self, path: &str, before: &Value, after: &Value) {
        if self.counts(before, after) {
            let mask = |value: &Value| (!value.is_null()).then(|| MASK.into());
            self.all.push(Change {
                path: path.into(),
                before: mask(before),
                after: mask(after),
            });
        }
    }

    fn push(&mut self, path: &str, before: &Value, after: &Value) {
        let side = |value: &Value| {
            let mut value = value.clone();
            mask_secrets(&mut value);
            (!value.is_null()).then_some(value)
        };
        self.all.push(Change {
            path: path.into(),
            before: side(before),
            after: side(after),
        });
    }

    fn counts(&self, before: &Value, after: &Value) -> bool {
        if self.with_equal {
            !(before.is_null() && after.is_null())
        } else {
            !same(before, after)
        }
    }
}

/// The fields of an object; none of null.
fn fields(value: &Value) -> Option<Named<'_>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::Object(fields) => Some(fields.iter().map(|(k, v)| (k.as_str(), v)).collect()),
        _ => None,
    }
}

/// The items of a list in which every one has a name of its own; none of null.
fn items(value: &Value) -> Option<Named<'_>> {
    let list = match value {
        Value::Null => return Some(Vec::new()),
        Value::Array(list) => list,
        _ => return None,
    };
    let mut named: Named<'_> = Vec::new();
    for item in list {
        let name = item["name"].as_str()?;
        if named.iter().any(|(other, _)| *other == name) {
            return None;
        }
        named.push((name, item));
    }
    Some(named)
}

/// Pairs both sides by name; a missing side is null.
fn paired<'v>(old: &Named<'v>, new: &Named<'v>) -> Vec<(&'v str, &'v Value, &'v Value)> {
    let find = |side: &Named<'v>, name: &str| {
        side.iter()
            .find(|(n, _)| *n == name)
            .map_or(&Value::Null, |(_, v)| *v)
    };
    let added = new
        .iter()
        .filter(|(name, _)| !old.iter().any(|(n, _)| n == name));
    let names = old.iter().chain(added).map(|(name, _)| *name);
    names
        .map(|name| (name, find(old, name), find(new, name)))
        .collect()
}

/// A field's path; a name that would read as a path itself is quoted.
fn step(path: &str, name: &str) -> String {
    let plain = !name.is_empty() && !name.contains(['.', '[', ']', '"']);
    match (plain, path.is_empty()) {
        (true, true) => name.to_string(),
        (true, false) => format!("{path}.{name}"),
        (false, _) => format!("{path}[{}]", Value::from(name)),
    }
}

/// Equal, where 1 and 1.0 are: servers write numbers either way.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) if x.is_f64() || y.is_f64() => {
            x.as_f64() == y.as_f64()
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn lines(before: Value, after: Value) -> Vec<String> {
        compare(&before, &after).iter().map(Change::line).collect()
    }

    #[test]
    fn changes_are_named_by_path() {
        let before = json!({"id": "a", "status": "DEPLOYED", "source_revision_config": {"repo_ref": "main", "image_uri": null},
            "novel": {"cpu": 1, "labels": {"app.io/name": "x"}}, "gone": true, "list": [1, 2], "empty": {}});
        let after = json!({"id": "b", "status": "BUILD_FAILED", "source_revision_config": {"repo_ref": "hotfix"},
            "novel": {"cpu": 1.0, "labels": {"app.io/name": "y"}}, "list": [2, 1], "made": {"a": {"b": 1}}, "empty": null});
        let changes = without_natural(compare(&before, &after));
        let shown: Vec<String> = changes.iter().map(Change::line).collect();
        let expected = [
            "source_revision_config.repo_ref: main → hotfix",
            "novel.labels[\"app.io/name\"]: x → y",
            "gone: no longer set, was true",
            "list: [1,2] → [2,1]",
            "empty: no longer set, was {}",
            "made.a.b: 1, was not set",
        ];
        assert_eq!(shown, expected);
        assert_eq!(
            compare(&before, &after).len(),
            expected.len() + 2,
            "id and status differ as well"
        );
    }

    #[test]
    fn secret_changes_hide_values() {
        let before = json!({"secrets": [{"name": "A", "value": "canary-1"}, {"name": "B", "value": "same"}, {"name": "C", "value": "canary-2"}],
            "env_vars": {"X": "canary-3"}, "token": "canary-4", "deep": [{"token": "canary-5"}]});
        let after = json!({"secrets": [{"name": "D", "value": "canary-6"}, {"name": "B", "value": "same"}, {"name": "A", "value": "canary-7"}],
            "env_vars": {"X": "canary-8"}, "token": "canary-9", "deep": []});
        let shown = lines(before.clone(), after.clone());
        let expected = [
            "secrets[A]: changed",
            "secrets[C]: removed",
            "secrets[D]: added",
            "env_vars[X]: changed",
            "token: changed",
            "deep: [{\"token\":\"***\"}] → []",
        ];
        assert_eq!(shown, expected);
        let json = serde_json::to_string(&compare(&before, &after)).unwrap();
        assert!(!json.contains("canary") && !json.contains("same"), "{json}");
        // Secrets without names, and secrets in another format.
        let shown = lines(
            json!({"secrets": ["canary"]}),
            json!({"secrets": {"A": "canary"}}),
        );
        assert_eq!(shown, ["secrets: changed"]);
        assert_eq!(
            lines(json!({}), json!({"secrets": "canary"})),
            ["secrets: added"]
        );
    }

    #[test]
    fn lists_with_names_are_compared_by_name() {
        let before = json!({"sidecars": [{"name": "proxy", "image": "a:1"}, {"name": "log"}]});
        let after = json!({"sidecars": [{"name": "log"}, {"name": "proxy", "image": "a:2"}]});
        assert_eq!(lines(before, after), ["sidecars[proxy].image: a:1 → a:2"]);
        let twice = json!({"l": [{"name": "a"}, {"name": "a", "x": 1}]});
        assert_eq!(
            compare(&twice, &json!({"l": [{"name": "a"}]})).len(),
            1,
            "repeated names can't identify entries"
        );
    }

    #[test]
    fn values_are_sanitized_in_changes() {
        let shown = lines(
            json!({"a\u{1b}[31m": "x"}),
            json!({"a\u{1b}[31m": "y\u{1b}]0;t\u{7}\nz"}),
        );
        assert_eq!(shown, ["[\"a\\u001b[31m\"]: x → y⏎z"]);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..5i64).prop_map(Value::from),
            "[a-c]{0,2}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec(("(name|secrets|token|[a-c.])", inner), 0..4)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn comparison_is_symmetric(a in any_json(), b in any_json()) {
            prop_assert!(compare(&a, &a).is_empty());
            let swap = |c: Change| (c.path, c.after, c.before);
            let mut forth: Vec<_> = compare(&a, &b).into_iter().map(|c| (c.path, c.before, c.after)).collect();
            let mut back: Vec<_> = compare(&b, &a).into_iter().map(swap).collect();
            forth.sort_by(|x, y| x.0.cmp(&y.0));
            back.sort_by(|x, y| x.0.cmp(&y.0));
            prop_assert_eq!(forth, back);
        }
    }
}
