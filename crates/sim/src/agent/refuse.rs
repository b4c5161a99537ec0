//! Error responses in the words of the Python server.

use super::{json_response, text_response};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

/// An error response, boxed because it is rare and large.
pub type Refusal = Box<Response>;

/// An error in the format of the Python server and the control plane.
pub fn detail(status: StatusCode, text: &str) -> Response {
    json_response(status, &json!({"detail": text}))
}

/// Returns the response, or the refusal in its place.
pub fn answer(result: Result<Response, Refusal>) -> Response {
    result.unwrap_or_else(|refusal| *refusal)
}

/// Refuses with this status and text.
pub fn refuse(status: StatusCode, text: &str) -> Refusal {
    Box::new(detail(status, text))
}

/// Refuses with 400.
pub fn bad(text: &str) -> Refusal {
    refuse(StatusCode::BAD_REQUEST, text)
}

/// Refuses with 404.
pub fn missing(text: &str) -> Refusal {
    refuse(StatusCode::NOT_FOUND, text)
}

/// Refuses with 409.
pub fn conflict(text: &str) -> Refusal {
    refuse(StatusCode::CONFLICT, text)
}

/// Refuses with 422.
pub fn invalid(text: &str) -> Refusal {
    refuse(StatusCode::UNPROCESSABLE_ENTITY, text)
}

/// An error of the server itself.
pub fn failed() -> Refusal {
    Box::new(text_response(
        StatusCode::INTERNAL_SERVER_ERROR,
        "text/plain; charset=utf-8",
        "Internal Server Error",
    ))
}

pub fn bad_json() -> Refusal {
    invalid("Invalid JSON in request body")
}

pub fn no_thread(id: &str) -> Refusal {
    missing(&format!("Thread with ID {id} not found"))
}

/// A schema violation in the words of the server's validator: the rule, the place in the schema, and the field, which is empty for
/// the whole body.
pub fn violation(says: &str, rule: &str, place: &str, at: &str, value: &Value) -> Refusal {
    let at = if at.is_empty() {
        String::new()
    } else {
        format!("[\"{at}\"]")
    };
    invalid(&format!(
        "{says}\n\nFailed validating \"{rule}\" in schema{place}\n\nOn instance{at}:\n    {value}"
    ))
}

/// A value that is not of the schema's type.
pub fn wrong_type(kind: &str, place: &str, at: &str, value: &Value) -> Refusal {
    let says = format!("{value} is not of type \"{kind}\"");
    violation(&says, "type", place, at, value)
}

/// A value that is not in a list.
pub fn not_one_of(allowed: &[&str], place: &str, at: &str, value: &Value) -> Refusal {
    let says = match allowed {
        [first, second] => format!("{value} is not one of \"{first}\" or \"{second}\""),
        [first, second, third] => {
            format!("{value} is not one of \"{first}\", \"{second}\" or \"{third}\"")
        }
        [first, second, rest @ ..] => format!(
            "{value} is not one of \"{first}\", \"{second}\" or {} other candidates",
            rest.len()
        ),
        _ => format!("{value} is not one of the allowed values"),
    };
    violation(&says, "enum", place, at, value)
}

/// Checks that a number, if it is given, is within its bounds.
pub fn check_range(field: &str, value: &Value, least: i64, most: i64) -> Result<(), Refusal> {
    let place = property(field);
    let (than, rule, bound) = match value.as_i64() {
        None if value.is_null() => return Ok(()),
        None => return Err(wrong_type("integer", &place, field, value)),
        Some(number) if number > most => ("greater than the maximum", "maximum", most),
        Some(number) if number < least => ("less than the minimum", "minimum", least),
        Some(_) => return Ok(()),
    };
    let says = format!("{value} is {than} of {bound}");
    Err(violation(&says, rule, &place, field, value))
}

/// The location of a field in a body's schema.
pub fn property(field: &str) -> String {
    format!("[\"properties\"][\"{field}\"]")
}

/// The location of a new run's field in the server's schema; empty for the whole body.
pub fn run_schema(field: &str) -> String {
    let body = "[\"components\"][\"schemas\"][\"RunCreateStateful\"]";
    if field.is_empty() {
        body.to_owned()
    } else {
        format!("{body}{}", property(field))
    }
}
