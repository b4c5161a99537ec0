//! Checks a value against a JSON schema and reports violations in words.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

/// Violations that are reported of one value.
const MAX_VIOLATIONS: usize = 20;
/// Values of an enumeration that a message names.
const MAX_NAMED: usize = 8;
/// Backtracking steps of a pattern. Schemas come from servers, and a pattern may be made to run for hours.
const MAX_BACKTRACKING: usize = 100_000;

/// A rule that a value breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where in the value, from the outside in.
    pub path: Vec<String>,
    /// What it must be: `must be at most 10`.
    pub rule: String,
}

/// Returns the rules of a schema that a value breaks.
///
/// # Errors
/// Why the schema can't be used.
pub fn violations(schema: &Value, value: &Value) -> Result<Vec<Violation>, String> {
    let patterns = jsonschema::PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKING);
    let validator = jsonschema::options()
        .offline()
        .with_pattern_options(patterns)
        .build(schema)
        .map_err(|error| crate::text::head(&error.to_string(), 200).to_string())?;
    let mut found = Vec::new();
    for error in validator.iter_errors(value) {
        collect(&error, &mut found);
        if found.len() >= MAX_VIOLATIONS {
            break;
        }
    }
    Ok(found)
}

fn collect(error: &ValidationError<'_>, found: &mut Vec<Violation>) {
    let mut path: Vec<String> = error
        .instance_path()
        .as_str()
        .split('/')
        .skip(1)
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect();
    let rule = match error.kind() {
        ValidationErrorKind::Required { property } => {
            path.push(plain(property));
            "required".to_string()
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            for name in unexpected {
                let path = path.iter().chain([name]).cloned().collect();
                found.push(Violation {
                    path,
                    rule: "is not a field of this form".into(),
                });
            }
            return;
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            // An optional value is written as this or null; what is wrong with `this` tells more than the alternative.
            let alternatives: Vec<_> = context
                .iter()
                .filter(|errors| !errors.iter().any(wants_null))
                .collect();
            if let [only] = alternatives.as_slice() {
                return only.iter().for_each(|error| collect(error, found));
            }
            "must fit one of the alternatives in the schema".to_string()
        }
        kind => rule(kind)
            .unwrap_or_else(|| format!("breaks the rule \"{}\" of the schema", kind.keyword())),
    };
    found.push(Violation { path, rule });
}

fn wants_null(error: &ValidationError<'_>) -> bool {
    matches!(
        error.kind(),
        ValidationErrorKind::Type {
            kind: TypeKind::Single(JsonType::Null)
        }
    )
}

fn rule(kind: &ValidationErrorKind) -> Option<String> {
    use ValidationErrorKind::*;
    Some(match kind {
        Type {
            kind: TypeKind::Single(one),
        } => format!("must be {}", type_word(*one)),
        Type {
            kind: TypeKind::Multiple(several),
        } => {
            let words: Vec<&str> = several.iter().map(type_word).collect();
            format!("must be {}", words.join(" or "))
        }
        Minimum { limit } => format!("must be at least {limit}"),
        Maximum { limit } => format!("must be at most {limit}"),
        ExclusiveMinimum { limit } => format!("must be greater than {limit}"),
        ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        MinLength { limit } => format!("must have at least {}", counted(*limit, "character")),
        MaxLength { limit } => format!("must have at most {}", counted(*limit, "character")),
        Pattern { pattern } => format!("must match the pattern {}", crate::text::head(pattern, 80)),
        MinItems { limit } => format!("must have at least {}", counted(*limit, "entry")),
        MaxItems { limit } => format!("must have at most {}", counted(*limit, "entry")),
        UniqueItems => "must not have duplicate entries".into(),
        Format { format } => format!("must be a valid {}", crate::text::head(format, 40)),
        Constant { expected_value } => format!("must be {}", plain(expected_value)),
        Enum { options } => {
            let all: Vec<String> = options
                .as_array()
                .into_iter()
                .flatten()
                .map(plain)
                .collect();
            let more = if all.len() > MAX_NAMED { ", …" } else { "" };
            format!(
                "must be one of {}{more}",
                all[..all.len().min(MAX_NAMED)].join(", ")
            )
        }
        _ => return None,
    })
}

fn type_word(one: JsonType) -> &'static str {
    match one {
        JsonType::String => "text",
        JsonType::Integer => "an integer",
        JsonType::Number => "a number",
        JsonType::Boolean => "yes or no (true or false)",
        JsonType::Object => "an object",
        JsonType::Array => "a list",
        JsonType::Null => "null",
    }
}

fn counted(n: u64, one: &str) -> String {
    match (n, one.strip_suffix('y')) {
        (1, _) => format!("1 {one}"),
        (_, Some(stem)) => format!("{n} {stem}ies"),
        _ => format!("{n} {one}s"),
    }
}

/// A value without the quotes of a text.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => crate::text::head(text, 80).to_string(),
        other => crate::text::head(&other.to_string(), 80).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rules(schema: Value, value: Value) -> Vec<String> {
        let found = violations(&schema, &value).unwrap();
        found
            .into_iter()
            .map(|violation| format!("{} {}", violation.path.join("."), violation.rule))
            .collect()
    }

    #[test]
    fn violations_name_the_field_and_the_rule() {
        let schema = json!({
            "type": "object", "required": ["approve"], "additionalProperties": false,
            "properties": {
                "approve": {"type": "boolean"},
                "score": {"type": "integer", "minimum": 0, "maximum": 10},
                "color": {"enum": ["red", "amber"]},
                "note": {"anyOf": [{"type": "string", "minLength": 3}, {"type": "null"}]},
                "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                "code": {"type": "string", "pattern": "^[A-Z]+$"},
            },
        });
        for (value, expected) in [
            (json!({"approve": true, "note": null}), vec![]),
            (json!({}), vec!["approve required"]),
            (
                json!({"approve": 1}),
                vec!["approve must be yes or no (true or false)"],
            ),
            (
                json!({"approve": true, "score": 12}),
                vec!["score must be at most 10"],
            ),
            (
                json!({"approve": true, "score": 1.5}),
                vec!["score must be an integer"],
            ),
            (
                json!({"approve": true, "color": "blue"}),
                vec!["color must be one of red, amber"],
            ),
            (
                json!({"approve": true, "note": "x"}),
                vec!["note must have at least 3 characters"],
            ),
            (
                json!({"approve": true, "tags": []}),
                vec!["tags must have at least 1 entry"],
            ),
            (
                json!({"approve": true, "tags": ["a", 1]}),
                vec!["tags.1 must be text"],
            ),
            (
                json!({"approve": true, "code": "a"}),
                vec!["code must match the pattern ^[A-Z]+$"],
            ),
            (
                json!({"approve": true, "extra": 1}),
                vec!["extra is not a field of this form"],
            ),
            (json!([]), vec![" must be an object"]),
        ] {
            assert_eq!(rules(schema.clone(), value.clone()), expected, "{value}");
        }
    }

    #[test]
    fn invalid_and_remote_schemas_are_reported_and_never_fetched() {
        assert!(
            violations(
                &json!({"$ref": "https://example.com/schema.json"}),
                &json!(1)
            )
            .is_err()
        );
        assert!(violations(&json!({"type": 7}), &json!(1)).is_err());
        // A pattern with catastrophic backtracking is a violation, and is stopped soon.
        let text = format!("{}!", "a".repeat(60));
        assert_eq!(
            rules(json!({"pattern": "^(?=(a+)+$)(a|aa)+\\1$"}), json!(text)).len(),
            1
        );
    }

    #[test]
    fn local_schema_references_are_resolved() {
        let schema = json!({"$defs": {"size": {"type": "integer"}}, "properties": {"n": {"$ref": "#/$defs/size"}}});
        assert_eq!(rules(schema, json!({"n": "x"})), ["n must be an integer"]);
    }
}
