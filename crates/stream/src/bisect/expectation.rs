//! What a value should be.

use runtail_core::exact_json;
use runtail_core::json::Peek;
use runtail_core::text;
use serde_json::Value;
use std::fmt;

/// A condition on a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Expectation {
    /// `=JSON`: it is this.
    Equals(Value),
    /// `!=JSON`: it is anything else, or missing.
    Differs(Value),
    /// `exists`: it is not missing; null exists.
    Exists,
    /// `missing`: it does not exist.
    Missing,
}

impl Expectation {
    /// Parses `=JSON`, `!=JSON`, `exists`, `missing`, or the expected value alone. A word that is not JSON is a text.
    ///
    /// # Errors
    /// Why it is not valid, in a sentence.
    pub fn parse(given: &str) -> Result<Expectation, String> {
        let given = given.trim();
        match given {
            "" => {
                return Err(
                    "The expected value is missing: use =JSON, !=JSON, exists or missing.".into(),
                );
            }
            "exists" => return Ok(Expectation::Exists),
            "missing" => return Ok(Expectation::Missing),
            _ => {}
        }
        if let Some(value) = given.strip_prefix("!=") {
            return Ok(Expectation::Differs(value_of(value)?));
        }
        let value = given
            .strip_prefix("==")
            .or_else(|| given.strip_prefix('='))
            .unwrap_or(given);
        Ok(Expectation::Equals(value_of(value)?))
    }

    /// Returns whether a value is right. `None` is a missing one.
    pub(super) fn holds(&self, found: Option<Peek<'_>>) -> bool {
        let is = |wanted: &Value| {
            let found = found.and_then(|raw| raw.read::<Value>());
            found.is_some_and(|found| is_same(&found, wanted))
        };
        match self {
            Expectation::Equals(wanted) => is(wanted),
            Expectation::Differs(other) => !is(other),
            Expectation::Exists => found.is_some(),
            Expectation::Missing => found.is_none(),
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::Equals(value) => write!(f, "={value}"),
            Expectation::Differs(value) => write!(f, "!={value}"),
            Expectation::Exists => f.write_str("exists"),
            Expectation::Missing => f.write_str("missing"),
        }
    }
}

/// Reads a value. What begins like JSON has to be JSON; anything else that is not JSON is a text.
fn value_of(given: &str) -> Result<Value, String> {
    let given = given.trim();
    if given.is_empty() {
        return Err("The expected value is missing after the sign; an empty text is \"\".".into());
    }
    match exact_json::parse(given) {
        Ok(value) => Ok(value),
        Err(exact_json::Unreadable::Inexact(inexact)) => {
            Err(format!("The expected value can't be compared: {inexact}."))
        }
        Err(exact_json::Unreadable::Invalid(error)) => {
            let looks_like_json = given.starts_with(['{', '[', '"', '-'])
                || given.starts_with(|c: char| c.is_ascii_digit());
            match looks_like_json {
                true => Err(format!(
                    "The expected value {} is not JSON: {error}.",
                    text::seen(given, 60)
                )),
                false => Ok(given.into()),
            }
        }
    }
}

/// Returns whether two values are equal, where 1 and 1.0 are: servers write numbers either way.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) if x.is_f64() || y.is_f64() => {
            x.as_f64() == y.as_f64()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let has_same = |(key, value): (&String, &Value)| {
                b.get(key).is_some_and(|other| is_same(value, other))
            };
            a.len() == b.len() && a.iter().all(has_same)
        }
        _ => a == b,
    }
}
