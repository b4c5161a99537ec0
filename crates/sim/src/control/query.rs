//! Validates paths and queries of requests.

use super::shape::{Problem, invalid, one_of};
use crate::http::Refusal;
use uuid::Uuid;

/// The names and values of a query, decoded.
pub type Pairs = [(String, String)];

/// A path's id must be a UUID.
pub fn path_uuid(name: &str, id: &str) -> Result<(), Refusal> {
    if Uuid::try_parse(id).is_ok() {
        return Ok(());
    }
    Err(invalid(&[Problem::at(
        ["path", name],
        "Input should be a valid UUID",
        "uuid_parsing",
    )]))
}

fn given<'a>(pairs: &'a Pairs, name: &str) -> Option<&'a str> {
    pairs
        .iter()
        .rev()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.as_str())
}

fn refused<T>(name: &str, says: &str, kind: &'static str) -> Result<T, Refusal> {
    Err(invalid(&[Problem::at(["query", name], says, kind)]))
}

/// A number of any size and sign; larger ones are clamped.
pub fn whole(pairs: &Pairs, name: &str, or: i64) -> Result<i64, Refusal> {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    let Some(text) = given(pairs, name) else {
        return Ok(or);
    };
    match text.parse::<i64>().map_err(|error| *error.kind()) {
        Ok(number) => Ok(number),
        Err(PosOverflow) => Ok(i64::MAX),
        Err(NegOverflow) => Ok(i64::MIN),
        Err(_) => refused(name, "Input should be a valid integer", "int_parsing"),
    }
}

/// A number within its bounds.
pub fn number(
    pairs: &Pairs,
    name: &str,
    least: usize,
    most: usize,
    or: usize,
) -> Result<usize, Refusal> {
    match whole(pairs, name, or as i64)? {
        n if n > most as i64 => refused(
            name,
            &format!("Input should be less than or equal to {most}"),
            "less_than_equal",
        ),
        n if n < least as i64 => refused(
            name,
            &format!("Input should be greater than or equal to {least}"),
            "greater_than_equal",
        ),
        n => Ok(n as usize),
    }
}

/// Where a page begins.
pub fn offset(pairs: &Pairs) -> Result<usize, Refusal> {
    number(pairs, "offset", 0, i64::MAX as usize, 0)
}

/// A boolean. Pydantic accepts more words; our clients don't need them.
pub fn flag(pairs: &Pairs, name: &str) -> Result<Option<bool>, Refusal> {
    match given(pairs, name) {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(_) => refused(
            name,
            "Input should be a valid boolean, unable to interpret input",
            "bool_parsing",
        ),
    }
}

/// One of a few words.
pub fn word<'a>(pairs: &'a Pairs, name: &str, words: &[&str]) -> Result<Option<&'a str>, Refusal> {
    match given(pairs, name) {
        Some(text) if !words.contains(&text) => refused(name, &one_of(words), "enum"),
        found => Ok(found),
    }
}

/// A text; an empty one counts as none.
pub fn text<'a>(pairs: &'a Pairs, name: &str) -> Option<&'a str> {
    given(pairs, name).filter(|value| !value.is_empty())
}

/// A text that must be there.
pub fn required<'a>(pairs: &'a Pairs, name: &str) -> Result<&'a str, Refusal> {
    given(pairs, name).map_or_else(|| refused(name, "Field required", "missing"), Ok)
}

/// UUIDs, each under the same name, one at least and a hundred at most.
pub fn uuids<'a>(pairs: &'a Pairs, name: &str) -> Result<Vec<&'a str>, Refusal> {
    let all: Vec<&str> = pairs
        .iter()
        .filter(|(key, _)| key == name)
        .map(|(_, value)| value.as_str())
        .collect();
    match all.iter().all(|id| Uuid::try_parse(id).is_ok()) {
        _ if all.is_empty() => refused(name, "Field required", "missing"),
        _ if all.len() > 100 => refused(
            name,
            "List should have at most 100 items after validation",
            "too_long",
        ),
        false => refused(name, "Input should be a valid UUID", "uuid_parsing"),
        true => Ok(all),
    }
}
