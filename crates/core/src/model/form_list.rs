//! Lists in a form: one item per line. A list that lines can't express is typed as JSON in the same field.

use super::form::{FieldKind, kind_of, resolved, typed_number};
use crate::exact_json::{self, Unreadable};
use serde_json::Value;

/// Returns the kind of a list's items; none where they are no single values.
pub(super) fn items_of(root: &Value, schema: &Value) -> Option<FieldKind> {
    let is_list = schema["type"] == "array" && schema.get("prefixItems").is_none();
    let kind = kind_of(resolved(root, schema.get("items").filter(|_| is_list)?)?);
    (kind != FieldKind::Json).then_some(kind)
}

/// Returns what the items are, in words.
pub(super) fn words(items: &FieldKind) -> String {
    match items {
        FieldKind::Integer => "integers, one per line".into(),
        FieldKind::Number => "numbers, one per line".into(),
        FieldKind::Boolean => "true or false, one per line".into(),
        FieldKind::Choice(values) => format!("{}; one per line", choices(values)),
        _ => "texts, one per line".to_string(),
    }
}

/// Returns the text in which a list is edited: its items as lines if they become the same list again, else JSON.
pub(super) fn text_of(items: &FieldKind, value: &Value) -> String {
    let lines: Vec<String> = value.as_array().into_iter().flatten().map(shown).collect();
    let text = lines.join("\n");
    match value_of(items, &text) {
        Ok(Some(again)) if again == *value => text,
        _ => value.to_string(),
    }
}

/// Returns the list that a typed text means; none where it is left out.
///
/// # Errors
/// What an item must be.
pub(super) fn value_of(items: &FieldKind, typed: &str) -> Result<Option<Value>, String> {
    let trimmed = typed.trim();
    if trimmed.is_empty() {
        return Ok(None);
    }
    if trimmed.starts_with('[') {
        match exact_json::parse(trimmed) {
            Ok(list) if list.is_array() => return Ok(Some(list)),
            Err(Unreadable::Inexact(inexact)) => return Err(inexact.to_string()),
            // A line may begin with a bracket.
            _ => {}
        }
    }
    let is_text = *items == FieldKind::Text;
    // Single values other than texts have no commas.
    let parts: Vec<&str> = match is_text {
        true => typed.lines().filter(|line| !line.is_empty()).collect(),
        false => typed
            .split(['\n', ','])
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect(),
    };
    let item = |(n, part): (usize, &&str)| {
        item_of(items, part).map_err(|rule| format!("item {} {rule}", n + 1))
    };
    parts
        .iter()
        .enumerate()
        .map(item)
        .collect::<Result<_, _>>()
        .map(|list| Some(Value::Array(list)))
}

fn item_of(items: &FieldKind, typed: &str) -> Result<Value, String> {
    match items {
        FieldKind::Integer | FieldKind::Number => typed_number(typed, *items == FieldKind::Integer),
        FieldKind::Boolean => match typed {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err("must be true or false".into()),
        },
        FieldKind::Choice(values) => {
            let found = values.iter().find(|value| shown(value) == typed).cloned();
            found.ok_or_else(|| format!("must be one of {}", choices(values)))
        }
        _ => Ok(Value::String(typed.to_string())),
    }
}

fn shown(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_string)
}

fn choices(values: &[Value]) -> String {
    crate::text::head(&values.iter().map(shown).collect::<Vec<_>>().join(", "), 80).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lines_become_items() {
        let levels = FieldKind::Choice(vec![json!("low"), json!(2)]);
        for (kind, typed, expected) in [
            (
                &FieldKind::Text,
                "a, b\n\n c",
                Ok(Some(json!(["a, b", " c"]))),
            ),
            (&FieldKind::Text, " \n", Ok(None)),
            (
                &FieldKind::Text,
                "[draft]\nx",
                Ok(Some(json!(["[draft]", "x"]))),
            ),
            (&FieldKind::Text, "[]", Ok(Some(json!([])))),
            (&FieldKind::Integer, "1, 2\n3", Ok(Some(json!([1, 2, 3])))),
            (
                &FieldKind::Integer,
                "1\nx",
                Err("item 2 must be an integer".to_string()),
            ),
            (&FieldKind::Number, "[1.5]", Ok(Some(json!([1.5])))),
            (
                &FieldKind::Boolean,
                "true\nyes",
                Err("item 2 must be true or false".to_string()),
            ),
            (&levels, "2\nlow", Ok(Some(json!([2, "low"])))),
            (
                &levels,
                "mid",
                Err("item 1 must be one of low, 2".to_string()),
            ),
        ] {
            assert_eq!(value_of(kind, typed), expected, "{kind:?} {typed:?}");
        }
    }

    #[test]
    fn every_list_can_be_edited_without_a_change() {
        for list in [
            json!(["a", "b c"]),
            json!([]),
            json!([""]),
            json!(["two\nlines"]),
            json!(["[1]"]),
            json!(["[1", "]"]),
            json!([{"a": 1}, "x"]),
            json!([" "]),
        ] {
            let text = text_of(&FieldKind::Text, &list);
            assert_eq!(value_of(&FieldKind::Text, &text), Ok(Some(list)), "{text}");
        }
        assert_eq!(text_of(&FieldKind::Text, &json!(["a", "b c"])), "a\nb c");
        assert_eq!(text_of(&FieldKind::Integer, &json!([1, 2])), "1\n2");
    }

    #[test]
    fn lists_of_anything_else_have_no_lines() {
        let root = json!({"$defs": {"Level": {"enum": ["low"]}, "Item": {"type": "object"}}});
        let kind = |items: Value| items_of(&root, &json!({"type": "array", "items": items}));
        assert_eq!(
            kind(json!({"$ref": "#/$defs/Level"})),
            Some(FieldKind::Choice(vec![json!("low")]))
        );
        for items in [
            json!({}),
            json!({"$ref": "#/$defs/Item"}),
            json!({"anyOf": [{"type": "string"}]}),
            json!(true),
        ] {
            assert_eq!(kind(items.clone()), None, "{items}");
        }
        assert_eq!(
            items_of(
                &root,
                &json!({"type": "array", "prefixItems": [], "items": {"type": "string"}})
            ),
            None
        );
        assert_eq!(items_of(&root, &json!({"type": "array"})), None);
    }
}
