//! `--fields`: which fields of rows are printed.

use super::{Column, cell, column};
use crate::prelude::*;
use runtail_core::config::nearest;
use runtail_core::json::Peek;
use runtail_stream::{JsonPath, MissingStep};
use serde_json::Map;
use std::str::FromStr;

/// Maximum number of fields that an error names.
const MAX_NAMED: usize = 40;
/// Maximum number of fields that are read to name them.
const MAX_READ: usize = 10_000;

/// A field of rows, by its path. Its name in the output is the path as it was written.
#[derive(Debug, Clone)]
pub struct RowField {
    name: String,
    path: JsonPath,
}

impl FromStr for RowField {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<RowField, Self::Err> {
        let name = text.trim().to_string();
        let path = JsonPath::parse(&name)
            .ok_or("expected fields such as id, metadata.owner or messages[-1].content")?;
        Ok(RowField { name, path })
    }
}

impl RowField {
    /// Creates its column.
    pub fn column(&self) -> Column {
        let name = self.name.clone();
        column(&self.name, move |row| cell(&row[&name]))
    }

    /// Returns the value of what its path selected: a list if the path may select several values.
    fn value(&self, found: &[Peek<'_>]) -> Value {
        let mut values = found
            .iter()
            .map(|raw| serde_json::from_str(raw.text()).unwrap_or_default());
        match self.path.is_single() {
            true => values.next().unwrap_or_default(),
            false => values.collect(),
        }
    }

    /// Returns whether a value was there and doesn't have the key of a step: null and empty values could have had any.
    fn is_missed(&self, step: &MissingStep<'_>) -> bool {
        let could_have_any = |raw: &Peek<'_>| matches!(raw.text(), "null" | "{}" | "[]");
        self.path.key(step.depth).is_some() && !step.within.iter().all(could_have_any)
    }

    fn unknown(&self, missing: &[MissingStep<'_>]) -> Failure {
        let mut names: Vec<String> = Vec::new();
        let all = missing.iter().flat_map(|step| &step.within);
        for (name, _) in all.flat_map(|raw| raw.fields()).take(MAX_READ) {
            if !names.iter().any(|known| *known == name) {
                names.push(name.into_owned());
            }
        }
        let key = missing.iter().find_map(|step| self.path.key(step.depth));
        let near = nearest(key.unwrap_or_default(), names.iter().map(String::as_str))
            .map(|near| format!("did you mean \"{near}\"? "))
            .unwrap_or_default();
        let more = match names.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        names.truncate(MAX_NAMED);
        let hint = match names.as_slice() {
            [] => String::new(),
            names => format!("\n  {near}There are: {}{more}", names.join(", ")),
        };
        let message = format!("no row has the field \"{}\"{hint}", self.name);
        Failure::usage(text::clean_lines(&message))
    }
}

/// Returns rows with only these fields, in this order. A field that a row doesn't have is null.
///
/// # Errors
/// No row has a field. Without rows nothing is known, and below null and in empty lists neither.
pub fn select(rows: &[Value], fields: &[RowField]) -> Result<Vec<Value>, Failure> {
    let texts: Vec<String> = rows.iter().map(Value::to_string).collect();
    let mut selected = vec![Map::new(); rows.len()];
    for field in fields {
        let (mut is_known, mut missing) = (false, Vec::new());
        for (text, row) in texts.iter().zip(&mut selected) {
            let found = match field.path.walk(Peek::of(text)) {
                Ok(found) => {
                    is_known = true;
                    found
                }
                Err(step) => {
                    missing.push(step);
                    Vec::new()
                }
            };
            row.insert(field.name.clone(), field.value(&found));
        }
        let deepest = missing.iter().map(|step| step.depth).max();
        missing.retain(|step| Some(step.depth) == deepest && field.is_missed(step));
        if !is_known && !missing.is_empty() {
            return Err(field.unknown(&missing));
        }
    }
    Ok(selected.into_iter().map(Value::Object).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(rows: &Value, fields: &str) -> Result<String, String> {
        let fields: Vec<RowField> = fields.split(',').map(|f| f.parse().unwrap()).collect();
        let rows = select(rows.as_array().unwrap(), &fields).map_err(|e| e.message)?;
        Ok(rows.iter().map(|row| format!("{row}\n")).collect())
    }

    #[test]
    fn fields_are_names_and_paths() {
        let rows = json!([
            {"id": "a", "tags": [{"n": 1.50, "m": "x"}, {"n": 2}], "meta": {"b c": {"d": true}}, "big": 12345678901234567890_u64},
            {"id": "b", "tags": [], "meta": null},
        ]);
        assert_eq!(
            print(&rows, "meta[\"b c\"].d,id,tags[].n,tags[0].m, big").unwrap(),
            "{\"meta[\\\"b c\\\"].d\":true,\"id\":\"a\",\"tags[].n\":[1.5,2],\"tags[0].m\":\"x\",\"big\":12345678901234567890}\n\
             {\"meta[\\\"b c\\\"].d\":null,\"id\":\"b\",\"tags[].n\":[],\"tags[0].m\":null,\"big\":null}\n"
        );
    }

    #[test]
    fn unknown_fields_are_errors_that_name_the_others() {
        let rows = json!([{"id": "a", "meta": {"owner": 1}, "none": null, "list": []}, {"id": "b", "more": 1}]);
        for (field, message) in [
            (
                "idd",
                "no row has the field \"idd\"\n  did you mean \"id\"? There are: id, meta, none, list, more",
            ),
            (
                "meta.ower",
                "no row has the field \"meta.ower\"\n  did you mean \"owner\"? There are: owner",
            ),
            ("id.x", "no row has the field \"id.x\""),
        ] {
            assert_eq!(print(&rows, field).unwrap_err(), message);
        }
        // Nothing is known about these.
        for field in ["none.x", "list[].x", "list[0]", "more"] {
            assert!(print(&rows, field).is_ok(), "{field}");
        }
        assert_eq!(print(&json!([]), "whatever"), Ok(String::new()));
        let many: Map<String, Value> = (0..50).map(|n| (format!("f{n}"), Value::Null)).collect();
        let error = print(&json!([many]), "x").unwrap_err();
        assert!(error.ends_with("f39 and 10 more"), "{error}");
        assert!("a..b".parse::<RowField>().is_err() && "".parse::<RowField>().is_err());
    }
}
