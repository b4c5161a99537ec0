//! HTTP for the servers of the simulator: responses, refusals in the words of the Python server, and queries.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// An error response, boxed because it is rare and large.
#[derive(Debug)]
pub struct Refusal(Box<Response>);

impl From<Response> for Refusal {
    fn from(response: Response) -> Self {
        Refusal(Box::new(response))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        *self.0
    }
}

/// The response to a request, or its refusal.
pub type Handled = Result<Response, Refusal>;

/// An error in the format of the Python server and the control plane.
pub fn detail(status: StatusCode, text: &str) -> Response {
    json_response(status, &json!({"detail": text}))
}

/// Refuses with this status and text.
pub fn refuse(status: StatusCode, text: &str) -> Refusal {
    detail(status, text).into()
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
    plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
}

/// Refuses in plain text.
pub fn plain(status: StatusCode, text: &str) -> Refusal {
    typed(status, text.to_owned(), "text/plain; charset=utf-8").into()
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
    let (first, second) = (allowed[0], allowed[1]);
    let says = match &allowed[2..] {
        [] => format!("{value} is not one of \"{first}\" or \"{second}\""),
        [third] => format!("{value} is not one of \"{first}\", \"{second}\" or \"{third}\""),
        rest => format!(
            "{value} is not one of \"{first}\", \"{second}\" or {} other candidates",
            rest.len()
        ),
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
    match field {
        "" => body.to_owned(),
        field => format!("{body}{}", property(field)),
    }
}

/// A successful JSON answer.
pub fn ok(body: &Value) -> Response {
    json_response(StatusCode::OK, body)
}

/// A JSON answer.
pub fn json_response(status: StatusCode, body: &Value) -> Response {
    typed(status, body.to_string(), "application/json")
}

fn typed(status: StatusCode, body: String, kind: &str) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    set_header(&mut response, "content-type", kind);
    response
}

/// A success without a body.
pub fn done() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// Sets a header. An invalid value is skipped.
pub fn set_header(response: &mut Response, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        let name = HeaderName::from_static(name);
        response.headers_mut().insert(name, value);
    }
}

/// The decoded pairs of a query, in order.
pub fn query_pairs(uri: &Uri) -> Vec<(String, String)> {
    let text = uri.query().unwrap_or_default();
    let pairs = url::form_urlencoded::parse(text.as_bytes());
    pairs.into_owned().collect()
}

/// The last value of a parameter.
pub fn last_of<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = pairs.iter().rfind(|(key, _)| key == name);
    found.map(|(_, value)| value.as_str())
}
