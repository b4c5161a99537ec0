//! Validates request bodies and creates the 422 with the errors and their places.
//!
//! The words are pydantic's. Unlike pydantic, `"true"` is not accepted for true, because our clients don't send it.

use crate::http::{Refusal, json_response};
use axum::http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

/// The type of a value.
#[derive(Debug)]
pub enum Shape {
    /// Anything.
    Any,
    Text,
    /// A text that is not empty.
    Filled,
    Uuid,
    /// True or false.
    Flag,
    /// A whole number.
    Whole,
    /// A number within bounds.
    Number(f64, f64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of such.
    List(&'static Shape),
    /// An object with any keys and such values.
    Map(&'static Shape),
    /// An object with these fields; others are ignored.
    Object(&'static [Field]),
}

/// Whether a field is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Required.
    Must,
    /// Optional, but not null.
    May,
    /// Optional or null.
    Null,
}

/// A field of an object.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    /// Whether it may be missing.
    pub need: Need,
    /// Its type.
    pub shape: Shape,
}

/// Creates a required field.
pub const fn must(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        need: Need::Must,
        shape,
    }
}

/// Creates an optional field that can't be null.
pub const fn may(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        need: Need::May,
        shape,
    }
}

/// Creates an optional field.
pub const fn null(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        need: Need::Null,
        shape,
    }
}

/// An error: its place, message, and pydantic's name.
#[derive(Debug)]
pub struct Problem {
    place: Vec<Value>,
    says: String,
    kind: &'static str,
}

impl Problem {
    /// A problem of one value: `["query", "limit"]`.
    pub fn at(place: [&str; 2], says: &str, kind: &'static str) -> Self {
        Problem {
            place: place.map(Value::from).to_vec(),
            says: says.to_owned(),
            kind,
        }
    }
}

/// Returns a 422 with one entry per error.
pub fn invalid(problems: &[Problem]) -> Refusal {
    let list: Vec<Value> = problems
        .iter()
        .map(|one| json!({"loc": one.place, "msg": one.says, "type": one.kind}))
        .collect();
    json_response(StatusCode::UNPROCESSABLE_ENTITY, &json!({"detail": list})).into()
}

/// A body that is an object with these fields.
pub fn body(bytes: &[u8], fields: &'static [Field]) -> Result<Value, Refusal> {
    let whole = |says: &str, kind, at: &[Value]| {
        let place = [&[json!("body")], at].concat();
        Err(invalid(&[Problem {
            place,
            says: says.to_owned(),
            kind,
        }]))
    };
    if bytes.is_empty() {
        return whole("Field required", "missing", &[]);
    }
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        return whole("JSON decode error", "json_invalid", &[json!(0)]);
    };
    let mut problems = Vec::new();
    check(
        &Shape::Object(fields),
        &value,
        &mut vec![json!("body")],
        &mut problems,
    );
    if problems.is_empty() {
        Ok(value)
    } else {
        Err(invalid(&problems))
    }
}

fn check(shape: &Shape, value: &Value, place: &mut Vec<Value>, problems: &mut Vec<Problem>) {
    let (says, kind) = match shape {
        Shape::Any => return,
        Shape::Text if value.is_string() => return,
        Shape::Text => ("Input should be a valid string".to_owned(), "string_type"),
        Shape::Filled => match value.as_str() {
            Some("") => (
                "String should have at least 1 character".to_owned(),
                "string_too_short",
            ),
            Some(_) => return,
            None => ("Input should be a valid string".to_owned(), "string_type"),
        },
        Shape::Uuid
            if value
                .as_str()
                .is_some_and(|text| Uuid::try_parse(text).is_ok()) =>
        {
            return;
        }
        Shape::Uuid => ("Input should be a valid UUID".to_owned(), "uuid_parsing"),
        Shape::Flag if value.is_boolean() => return,
        Shape::Flag => ("Input should be a valid boolean".to_owned(), "bool_type"),
        Shape::Whole if value.as_f64().is_some_and(|number| number.fract() == 0.0) => return,
        Shape::Whole => ("Input should be a valid integer".to_owned(), "int_type"),
        Shape::Number(least, most) => match value.as_f64() {
            Some(number) if number < *least => (
                format!("Input should be greater than or equal to {least}"),
                "greater_than_equal",
            ),
            Some(number) if number > *most => (
                format!("Input should be less than or equal to {most}"),
                "less_than_equal",
            ),
            Some(_) => return,
            None => ("Input should be a valid number".to_owned(), "float_type"),
        },
        Shape::Word(words) if words.iter().any(|word| value == word) => return,
        Shape::Word(words) => (one_of(words), "enum"),
        Shape::List(each) => match value.as_array() {
            Some(list) => {
                return within(
                    list.iter()
                        .enumerate()
                        .map(|(n, one)| (json!(n), *each, one)),
                    place,
                    problems,
                );
            }
            None => ("Input should be a valid list".to_owned(), "list_type"),
        },
        Shape::Map(each) => match value.as_object() {
            Some(map) => {
                return within(
                    map.iter().map(|(key, one)| (json!(key), *each, one)),
                    place,
                    problems,
                );
            }
            None => ("Input should be a valid dictionary".to_owned(), "dict_type"),
        },
        Shape::Object(fields) => match value.as_object() {
            Some(_) => return object(fields, value, place, problems),
            None => (
                "Input should be a valid dictionary or object".to_owned(),
                "model_type",
            ),
        },
    };
    problems.push(Problem {
        place: place.clone(),
        says,
        kind,
    });
}

fn object(fields: &[Field], value: &Value, place: &mut Vec<Value>, problems: &mut Vec<Problem>) {
    for Field { name, need, shape } in fields {
        place.push(json!(name));
        match value.get(name) {
            None if *need == Need::Must => {
                problems.push(Problem {
                    place: place.clone(),
                    says: "Field required".into(),
                    kind: "missing",
                });
            }
            None => {}
            Some(Value::Null) if *need == Need::Null => {}
            Some(given) => check(shape, given, place, problems),
        }
        place.pop();
    }
}

fn within<'a>(
    parts: impl Iterator<Item = (Value, &'a Shape, &'a Value)>,
    place: &mut Vec<Value>,
    problems: &mut Vec<Problem>,
) {
    for (key, shape, value) in parts {
        place.push(key);
        check(shape, value, place, problems);
        place.pop();
    }
}

/// `Input should be 'a', 'b' or 'c'`.
pub fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    match quoted.split_last() {
        Some((last, [])) => format!("Input should be {last}"),
        Some((last, others)) => format!("Input should be {} or {last}", others.join(", ")),
        None => "No input is right".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[
        must("name", Shape::Filled),
        may("count", Shape::Whole),
        null("kind", Shape::Word(&["a", "b", "c"])),
        null("cpu", Shape::Number(0.1, 8.0)),
        null("ids", Shape::List(&Shape::Uuid)),
        null("labels", Shape::Map(&Shape::Text)),
        null("inner", Shape::Object(&[must("on", Shape::Flag)])),
    ];

    async fn problems(text: &str) -> Vec<(String, String)> {
        let Err(refusal) = body(text.as_bytes(), FIELDS) else {
            return Vec::new();
        };
        let refusal = axum::response::IntoResponse::into_response(refusal);
        assert_eq!(refusal.status(), 422);
        let bytes = axum::body::to_bytes(refusal.into_body(), 1 << 16)
            .await
            .expect("a body");
        let value: Value = serde_json::from_slice(&bytes).expect("JSON");
        let entry = |one: &Value| {
            (
                one["loc"].to_string(),
                one["msg"].as_str().unwrap_or_default().to_owned(),
            )
        };
        value["detail"]
            .as_array()
            .expect("a list")
            .iter()
            .map(entry)
            .collect()
    }

    #[tokio::test]
    async fn invalid_fields_are_reported_with_their_location() {
        assert_eq!(
            problems(r#"{"name": "x", "count": 2.0, "kind": null, "more": 1}"#).await,
            []
        );
        assert_eq!(
            problems("").await[0],
            ("[\"body\"]".into(), "Field required".into())
        );
        assert_eq!(
            problems("{").await[0],
            ("[\"body\",0]".into(), "JSON decode error".into())
        );
        assert_eq!(
            problems("[]").await[0].1,
            "Input should be a valid dictionary or object"
        );
        let wrong = r#"{"name": "", "count": null, "kind": "d", "cpu": 9, "ids": ["x"], "labels": {"k": 1}, "inner": {}}"#;
        let expected = [
            (
                r#"["body","name"]"#,
                "String should have at least 1 character",
            ),
            (r#"["body","count"]"#, "Input should be a valid integer"),
            (r#"["body","kind"]"#, "Input should be 'a', 'b' or 'c'"),
            (
                r#"["body","cpu"]"#,
                "Input should be less than or equal to 8",
            ),
            (r#"["body","ids",0]"#, "Input should be a valid UUID"),
            (r#"["body","labels","k"]"#, "Input should be a valid string"),
            (r#"["body","inner","on"]"#, "Field required"),
        ];
        assert_eq!(
            problems(wrong).await,
            expected.map(|(place, message)| (place.to_owned(), message.to_owned()))
        );
    }
}
