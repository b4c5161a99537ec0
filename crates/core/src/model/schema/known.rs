//! Refuses a schema with a rule that is not known here, or that is not well-formed.

use super::{Draft, format, resolve};
use crate::text::head;
use serde_json::Value;
use std::collections::HashSet;

/// The kind of value that a keyword needs.
enum Shape {
    /// Any value: the keyword is not a rule.
    Any,
    Flag,
    Text,
    Number,
    Positive,
    Count,
    Pattern,
    Type,
    List,
    Names,
    NamesOfFields,
    Schema,
    Schemas,
    SchemaOrSchemas,
    SchemasOfFields,
    SchemasOfPatterns,
    Reference,
    /// A rule that is not checked here.
    Unknown,
}

impl Shape {
    fn of(keyword: &str, draft: Draft) -> Self {
        match keyword {
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => Shape::Number,
            "multipleOf" => Shape::Positive,
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" | "minContains" | "maxContains" => Shape::Count,
            "pattern" => Shape::Pattern,
            "format" => Shape::Text,
            "uniqueItems" => Shape::Flag,
            "type" => Shape::Type,
            "enum" => Shape::List,
            "required" => Shape::Names,
            "items" | "additionalItems" if draft != Draft::Newest => Shape::SchemaOrSchemas,
            "items"
            | "additionalProperties"
            | "contains"
            | "propertyNames"
            | "not"
            | "if"
            | "then"
            | "else" => Shape::Schema,
            "allOf" | "anyOf" | "oneOf" => Shape::Schemas,
            "prefixItems" if draft == Draft::Newest => Shape::Schemas,
            "properties" | "$defs" | "definitions" => Shape::SchemasOfFields,
            "patternProperties" => Shape::SchemasOfPatterns,
            "$ref" => Shape::Reference,
            "dependentRequired" if draft != Draft::Old => Shape::NamesOfFields,
            "dependencies" if draft != Draft::Newest => Shape::Unknown,
            "contentEncoding" | "contentMediaType" if draft == Draft::Old => Shape::Unknown,
            "unevaluatedProperties"
            | "unevaluatedItems"
            | "dependentSchemas"
            | "$dynamicRef"
            | "$recursiveRef"
                if draft != Draft::Old =>
            {
                Shape::Unknown
            }
            _ => Shape::Any,
        }
    }
}

/// Checks that every rule of a schema, and of what it refers to, is known.
///
/// # Errors
/// The first unknown or malformed rule.
pub(super) fn all(schema: &Value, draft: Draft) -> Result<(), String> {
    let mut walk = Walk {
        root: schema,
        draft,
        seen: HashSet::new(),
        pending: vec![schema],
    };
    while let Some(schema) = walk.pending.pop() {
        walk.schema(schema)?;
    }
    Ok(())
}

struct Walk<'s> {
    root: &'s Value,
    draft: Draft,
    /// References that were found.
    seen: HashSet<&'s str>,
    /// Schemas to be checked. References form chains of any length, so they are not followed by recursion.
    pending: Vec<&'s Value>,
}

impl<'s> Walk<'s> {
    fn schema(&mut self, schema: &'s Value) -> Result<(), String> {
        let fields = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(fields) => fields,
            other => return Err(malformed("a schema", other)),
        };
        // Its references would be relative to another document.
        let is_inner = !std::ptr::eq(schema, self.root);
        if is_inner && fields.get("$id").is_some_and(Value::is_string) {
            return Err("a part of it is a document of its own ($id)".into());
        }
        match fields.get("$ref") {
            Some(reference) if self.draft == Draft::Old => self.value("$ref", reference),
            _ => fields
                .iter()
                .try_for_each(|(keyword, value)| self.value(keyword, value)),
        }
    }

    fn value(&mut self, keyword: &str, value: &'s Value) -> Result<(), String> {
        let is_fine = match Shape::of(keyword, self.draft) {
            Shape::Any => true,
            Shape::Flag => value.is_boolean(),
            Shape::Text => match value.as_str() {
                Some(name) if self.draft == Draft::Old && !format::is_known(name) => {
                    return Err(format!("the format {} is not known", head(name, 40)));
                }
                name => name.is_some(),
            },
            Shape::Number => value.is_number(),
            Shape::Positive => value.as_f64().is_some_and(|number| number > 0.0),
            Shape::Count => count(value).is_some(),
            Shape::Pattern => value.as_str().is_some_and(format::is_pattern),
            Shape::Type => is_type(value),
            Shape::List => value.is_array(),
            Shape::Names => is_names(value),
            Shape::NamesOfFields => value
                .as_object()
                .is_some_and(|map| map.values().all(is_names)),
            Shape::Schema => return self.schema(value),
            Shape::SchemaOrSchemas if !value.is_array() => return self.schema(value),
            Shape::Schemas | Shape::SchemaOrSchemas => match value.as_array() {
                Some(list) => return list.iter().try_for_each(|one| self.schema(one)),
                None => false,
            },
            Shape::SchemasOfPatterns if !has_patterns(value) => false,
            Shape::SchemasOfFields | Shape::SchemasOfPatterns => match value.as_object() {
                Some(map) => return map.values().try_for_each(|one| self.schema(one)),
                None => false,
            },
            Shape::Reference => return self.reference(value),
            Shape::Unknown => return Err(format!("the rule \"{keyword}\" is not known")),
        };
        is_fine
            .then_some(())
            .ok_or_else(|| malformed(&format!("\"{keyword}\""), value))
    }

    fn reference(&mut self, value: &'s Value) -> Result<(), String> {
        let Some(reference) = value.as_str() else {
            return Err(malformed("\"$ref\"", value));
        };
        if !self.seen.insert(reference) {
            return Ok(());
        }
        match resolve(self.root, reference) {
            Some(target) => {
                self.pending.push(target);
                Ok(())
            }
            None => Err(format!(
                "it refers to {}, which is not in it",
                head(reference, 120)
            )),
        }
    }
}

fn malformed(what: &str, value: &Value) -> String {
    format!("{what} can't be {}", head(&value.to_string(), 80))
}

fn has_patterns(value: &Value) -> bool {
    let map = value.as_object();
    map.is_some_and(|map| map.keys().all(|key| format::is_pattern(key)))
}

fn is_names(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|names| names.iter().all(Value::is_string))
}

fn is_type(value: &Value) -> bool {
    let is_one = |value: &Value| {
        value
            .as_str()
            .is_some_and(|word| super::check::type_word(word).is_some())
    };
    match value {
        Value::Array(several) => !several.is_empty() && several.iter().all(is_one),
        one => is_one(one),
    }
}

/// Returns a number of characters, entries or fields. `3.0` is one, too.
pub(super) fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number >= 0.0 && number.fract() == 0.0 && number < 2f64.powi(53)).then_some(number as u64)
    })
}
