//! Checks a value against a JSON schema and reports violations in words.
//!
//! Servers keep what they receive, so a wrong answer can't be corrected: a schema with a rule that is not known here is refused and
//! reported, not checked in part. The rules are those of drafts 6, 7, 2019-09 and 2020-12
//! (<https://json-schema.org/draft/2020-12/json-schema-validation>). A test compares them with the crate `jsonschema`, which is
//! twenty times as large as what is needed here.

mod check;
mod format;
mod known;
#[cfg(test)]
mod tests;

use crate::text::head;
use serde_json::Value;

/// Maximum violations that are reported for one value.
const MAX_VIOLATIONS: usize = 20;

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
    let draft = Draft::of(schema)?;
    known::all(schema, draft)?;
    let mut found = check::all(schema, draft, value)?;
    found.truncate(MAX_VIOLATIONS);
    Ok(found)
}

/// The rules by which a schema is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Draft {
    /// 6 and 7: nothing beside a `$ref` counts, `items` may be a list, and formats are checked.
    Old,
    /// 2019-09: `items` may be a list.
    Middle,
    /// 2020-12, also where a schema names none.
    Newest,
}

impl Draft {
    fn of(schema: &Value) -> Result<Self, String> {
        let Some(url) = schema.get("$schema") else {
            return Ok(Draft::Newest);
        };
        let url = url.as_str().unwrap_or_default().trim_end_matches('#');
        match url.split_once("://json-schema.org/") {
            Some((_, "draft-06/schema" | "draft-07/schema")) => Ok(Draft::Old),
            Some((_, "draft/2019-09/schema")) => Ok(Draft::Middle),
            Some((_, "draft/2020-12/schema")) => Ok(Draft::Newest),
            _ => Err(format!("its version {} is not known", head(url, 80))),
        }
    }
}

/// Returns the schema that a reference within the document points to.
fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = reference.strip_prefix('#')?;
    let pointer = percent_encoding::percent_decode_str(pointer)
        .decode_utf8()
        .ok()?;
    root.pointer(&pointer)
}
