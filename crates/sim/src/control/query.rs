//! Validates bodies, paths and queries, in the words of pydantic. Of a body, only the required fields are checked here: that the
//! client's bodies fit the control plane's document is tested with the document itself (`tests/protocol/requests.rs`).

use crate::prelude::*;
use std::num::IntErrorKind;
use uuid::Uuid;

/// The names and values of a query, decoded.
pub type Pairs = [(String, String)];

fn problem(place: [&str; 2], says: &str, kind: &str) -> Value {
    json!({"loc": place, "msg": says, "type": kind})
}

fn invalid(problems: &[Value]) -> Refusal {
    json_response(
        StatusCode::UNPROCESSABLE_ENTITY,
        &json!({"detail": problems}),
    )
    .into()
}

/// Refuses a value.
pub fn refused<T>(place: [&str; 2], says: &str, kind: &str) -> Result<T, Refusal> {
    Err(invalid(&[problem(place, says, kind)]))
}

/// A body that is an object with these fields.
pub fn body(bytes: &[u8], required: &[&str]) -> Result<Value, Refusal> {
    let Ok(Value::Object(body)) = serde_json::from_slice(bytes) else {
        return refused(["body", "0"], "JSON decode error", "json_invalid");
    };
    let lacks = required.iter().filter(|name| !body.contains_key(**name));
    let problems: Vec<Value> = lacks
        .map(|name| problem(["body", name], "Field required", "missing"))
        .collect();
    match problems.is_empty() {
        true => Ok(Value::Object(body)),
        false => Err(invalid(&problems)),
    }
}

/// A path's id must be a UUID.
pub fn path_uuid(name: &str, id: &str) -> Result<(), Refusal> {
    match Uuid::try_parse(id) {
        Ok(_) => Ok(()),
        Err(_) => refused(
            ["path", name],
            "Input should be a valid UUID",
            "uuid_parsing",
        ),
    }
}

/// A number within its bounds. Python's numbers have any size, so one that is too large for `i64` counts as the largest.
pub fn number(pairs: &Pairs, name: &str, least: i64, most: i64, or: i64) -> Result<usize, Refusal> {
    let (place, than) = (["query", name], "Input should be");
    let parsed = match last_of(pairs, name).map_or(Ok(or), str::parse::<i64>) {
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Ok(i64::MAX),
        Err(error) if *error.kind() == IntErrorKind::NegOverflow => Ok(i64::MIN),
        parsed => parsed,
    };
    match parsed {
        Err(_) => refused(place, &format!("{than} a valid integer"), "int_parsing"),
        Ok(n) if n > most => {
            let says = format!("{than} less than or equal to {most}");
            refused(place, &says, "less_than_equal")
        }
        Ok(n) if n < least => {
            let says = format!("{than} greater than or equal to {least}");
            refused(place, &says, "greater_than_equal")
        }
        Ok(n) => Ok(n as usize),
    }
}

/// A page of a list, with the offset of the next.
pub fn page(pairs: &Pairs, all: impl Iterator<Item = Value>) -> Result<Value, Refusal> {
    let limit = number(pairs, "limit", 1, 100, 20)?;
    let offset = number(pairs, "offset", 0, i64::MAX, 0)?;
    let resources: Vec<Value> = all.skip(offset).take(limit).collect();
    let next = offset.saturating_add(resources.len());
    Ok(json!({"resources": resources, "offset": next}))
}

/// A text; an empty one counts as none.
pub fn text<'a>(pairs: &'a Pairs, name: &str) -> Option<&'a str> {
    last_of(pairs, name).filter(|value| !value.is_empty())
}

/// A text that must be there.
pub fn required<'a>(pairs: &'a Pairs, name: &str) -> Result<&'a str, Refusal> {
    last_of(pairs, name).map_or_else(|| refused(["query", name], "Field required", "missing"), Ok)
}
