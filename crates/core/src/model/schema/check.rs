//! Applies the rules of a schema to a value.

use super::known::count;
use super::{Draft, Violation, format, resolve};
use crate::text::head;
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;
use std::collections::HashMap;

/// Values of an enumeration that a message names.
const MAX_NAMED: usize = 8;
/// Maximum rules and comparisons of one check. Servers send the schemas, and nested alternatives multiply.
const MAX_STEPS: u32 = 200_000;
/// Maximum depth of schemas within each other.
const MAX_DEPTH: u32 = 150;

type Fields = Map<String, Value>;

/// Returns every rule that a value breaks.
///
/// # Errors
/// Why the check was stopped.
pub(super) fn all(schema: &Value, draft: Draft, value: &Value) -> Result<Vec<Violation>, String> {
    let mut check = Check {
        root: schema,
        draft,
        path: Vec::new(),
        steps: 0,
        depth: 0,
        why: None,
        patterns: HashMap::new(),
    };
    let found = check.violations(schema, value);
    check.why.map_or(Ok(found), |why| Err(why.into()))
}

struct Check<'s> {
    root: &'s Value,
    draft: Draft,
    /// Where in the value.
    path: Vec<String>,
    steps: u32,
    depth: u32,
    /// Why the check was stopped.
    why: Option<&'static str>,
    /// Patterns, compiled once.
    patterns: HashMap<String, Option<fancy_regex::Regex>>,
}

impl Check<'_> {
    fn violations(&mut self, schema: &Value, value: &Value) -> Vec<Violation> {
        self.step(1);
        if self.depth > MAX_DEPTH {
            self.why = Some("it refers to itself without end");
        }
        let fields = match schema {
            Value::Bool(false) => return self.one("must be left out: no value is allowed here"),
            Value::Object(fields) if self.why.is_none() => fields,
            _ => return Vec::new(),
        };
        self.depth += 1;
        let found = match fields.get("$ref").filter(|_| self.draft == Draft::Old) {
            Some(reference) => self.referred(reference, value),
            // What is missing is named first.
            None => fields
                .get_key_value("required")
                .into_iter()
                .chain(fields.iter().filter(|(keyword, _)| *keyword != "required"))
                .flat_map(|(keyword, rule)| self.rule(keyword, rule, fields, value))
                .collect(),
        };
        self.depth -= 1;
        found
    }

    /// Returns whether a pattern occurs in a text. One that takes too long doesn't.
    fn matches(&mut self, pattern: &str, text: &str) -> bool {
        self.step(10);
        if self.why.is_some() {
            return false;
        }
        if !self.patterns.contains_key(pattern) {
            let compiled = format::regex(pattern);
            self.patterns.insert(pattern.to_string(), compiled);
        }
        let Some(Some(regex)) = self.patterns.get(pattern) else {
            return false;
        };
        let matched = regex.is_match(text);
        if matched.is_err() {
            self.step(10_000);
        }
        matched.unwrap_or(false)
    }

    fn step(&mut self, steps: usize) {
        self.steps = self
            .steps
            .saturating_add(u32::try_from(steps).unwrap_or(u32::MAX));
        if self.steps > MAX_STEPS {
            self.why = Some("it has too many alternatives");
        }
    }

    fn one(&self, rule: impl Into<String>) -> Vec<Violation> {
        vec![Violation {
            path: self.path.clone(),
            rule: rule.into(),
        }]
    }

    fn unless(&self, is_fine: bool, rule: impl FnOnce() -> String) -> Vec<Violation> {
        if is_fine {
            Vec::new()
        } else {
            self.one(rule())
        }
    }

    fn fits(&mut self, schema: &Value, value: &Value) -> bool {
        self.violations(schema, value).is_empty()
    }

    fn within(&mut self, name: &str, schema: &Value, value: &Value) -> Vec<Violation> {
        self.path.push(name.to_string());
        let found = self.violations(schema, value);
        self.path.pop();
        found
    }

    fn referred(&mut self, reference: &Value, value: &Value) -> Vec<Violation> {
        let root = self.root;
        match reference.as_str().and_then(|text| resolve(root, text)) {
            Some(schema) => self.violations(schema, value),
            None => Vec::new(),
        }
    }

    fn rule(&mut self, keyword: &str, rule: &Value, all: &Fields, value: &Value) -> Vec<Violation> {
        let breaks = || format!("breaks the rule \"{keyword}\" of the schema");
        match keyword {
            "$ref" => self.referred(rule, value),
            "type" => self.unless(has_type(rule, value), || {
                let words: Vec<_> = names(rule).filter_map(type_word).collect();
                format!("must be {}", words.join(" or "))
            }),
            "enum" => {
                let options = rule.as_array().map(Vec::as_slice).unwrap_or_default();
                self.step(options.len());
                self.unless(options.iter().any(|one| equal(one, value)), || {
                    let shown: Vec<_> = options.iter().take(MAX_NAMED).map(plain).collect();
                    let more = if options.len() > MAX_NAMED {
                        ", …"
                    } else {
                        ""
                    };
                    format!("must be one of {}{more}", shown.join(", "))
                })
            }
            "const" => self.unless(equal(rule, value), || format!("must be {}", plain(rule))),
            "allOf" => list(rule)
                .iter()
                .flat_map(|one| self.violations(one, value))
                .collect(),
            "anyOf" | "oneOf" => self.alternatives(keyword, list(rule), value),
            "not" => {
                let is_fine = !self.fits(rule, value);
                self.unless(is_fine, breaks)
            }
            "if" => {
                let branch = if self.fits(rule, value) {
                    "then"
                } else {
                    "else"
                };
                all.get(branch)
                    .map(|schema| self.violations(schema, value))
                    .unwrap_or_default()
            }
            _ => match value {
                Value::Number(number) => self.of_number(keyword, rule, number),
                Value::String(text) => self.of_text(keyword, rule, text),
                Value::Array(entries) => self.of_list(keyword, rule, all, entries),
                Value::Object(fields) => self.of_object(keyword, rule, all, fields),
                Value::Null | Value::Bool(_) => Vec::new(),
            },
        }
    }

    fn alternatives(&mut self, keyword: &str, schemas: &[Value], value: &Value) -> Vec<Violation> {
        let mut found: Vec<_> = schemas
            .iter()
            .map(|schema| self.violations(schema, value))
            .collect();
        let fitting = found.iter().filter(|one| one.is_empty()).count();
        if fitting == 1 || (fitting > 1 && keyword == "anyOf") {
            return Vec::new();
        }
        if fitting > 1 {
            return self.one("breaks the rule \"oneOf\" of the schema");
        }
        // An optional value is written as this or null; what is wrong with `this` tells more than the alternative.
        let mut wants_null = schemas.iter().map(|schema| schema["type"] == "null");
        found.retain(|_| wants_null.next() == Some(false));
        match <[_; 1]>::try_from(found) {
            Ok([only]) => only,
            Err(_) => self.one("must fit one of the alternatives in the schema"),
        }
    }

    fn of_number(&mut self, keyword: &str, rule: &Value, number: &Number) -> Vec<Violation> {
        let Value::Number(limit) = rule else {
            return Vec::new();
        };
        let is = |orders: &[Ordering]| orders.contains(&compared(number, limit));
        let (is_fine, words) = match keyword {
            "minimum" => (!is(&[Ordering::Less]), "at least"),
            "maximum" => (!is(&[Ordering::Greater]), "at most"),
            "exclusiveMinimum" => (is(&[Ordering::Greater]), "greater than"),
            "exclusiveMaximum" => (is(&[Ordering::Less]), "less than"),
            "multipleOf" => match is_multiple(number, limit) {
                Some(is_multiple) => (is_multiple, "a multiple of"),
                None => {
                    self.why = Some("a number is too large for its rule \"multipleOf\"");
                    return Vec::new();
                }
            },
            _ => return Vec::new(),
        };
        self.unless(is_fine, || format!("must be {words} {limit}"))
    }

    fn of_text(&mut self, keyword: &str, rule: &Value, text: &str) -> Vec<Violation> {
        match keyword {
            "minLength" | "maxLength" => {
                self.counted(keyword, rule, text.chars().count(), "character")
            }
            "pattern" => {
                let pattern = rule.as_str().unwrap_or_default();
                let is_fine = self.matches(pattern, text);
                self.unless(is_fine, || {
                    format!("must match the pattern {}", head(pattern, 80))
                })
            }
            "format" if self.draft == Draft::Old => {
                let name = rule.as_str().unwrap_or_default();
                self.unless(format::is_valid(name, text), || {
                    format!("must be a valid {}", head(name, 40))
                })
            }
            _ => Vec::new(),
        }
    }

    fn of_list(
        &mut self,
        keyword: &str,
        rule: &Value,
        all: &Fields,
        entries: &[Value],
    ) -> Vec<Violation> {
        match keyword {
            "minItems" | "maxItems" => self.counted(keyword, rule, entries.len(), "entry"),
            "uniqueItems" if rule == true => {
                self.step(entries.len().saturating_mul(entries.len()));
                let is_new = |at: usize| !entries[..at].iter().any(|one| equal(one, &entries[at]));
                let is_fine = self.why.is_some() || (1..entries.len()).all(is_new);
                self.unless(is_fine, || "must not have duplicate entries".into())
            }
            "prefixItems" if self.draft == Draft::Newest => self.each(list(rule), entries),
            "items" => match rule {
                Value::Array(schemas) if self.draft != Draft::Newest => self.each(schemas, entries),
                schema => {
                    let first = match self.draft {
                        Draft::Newest => all.get("prefixItems").map_or(0, |one| list(one).len()),
                        _ => 0,
                    };
                    self.from(first, schema, entries)
                }
            },
            "additionalItems" if self.draft != Draft::Newest => match all.get("items") {
                Some(Value::Array(schemas)) if rule == false => self
                    .unless(entries.len() <= schemas.len(), || {
                        "breaks the rule \"additionalItems\" of the schema".into()
                    }),
                Some(Value::Array(schemas)) => self.from(schemas.len(), rule, entries),
                _ => Vec::new(),
            },
            "contains" => {
                let fitting = entries.iter().filter(|one| self.fits(rule, one)).count() as u64;
                let limit = |name| {
                    all.get(name)
                        .filter(|_| self.draft != Draft::Old)
                        .and_then(count)
                };
                let is_fine = fitting >= limit("minContains").unwrap_or(1)
                    && limit("maxContains").is_none_or(|most| fitting <= most);
                self.unless(is_fine, || {
                    "breaks the rule \"contains\" of the schema".into()
                })
            }
            _ => Vec::new(),
        }
    }

    /// Checks entries by the schema at the same place.
    fn each(&mut self, schemas: &[Value], entries: &[Value]) -> Vec<Violation> {
        let pairs = schemas.iter().zip(entries).enumerate();
        pairs
            .flat_map(|(at, (schema, entry))| self.within(&at.to_string(), schema, entry))
            .collect()
    }

    /// Checks the entries from one on by one schema.
    fn from(&mut self, first: usize, schema: &Value, entries: &[Value]) -> Vec<Violation> {
        let rest = entries.iter().enumerate().skip(first);
        rest.flat_map(|(at, entry)| self.within(&at.to_string(), schema, entry))
            .collect()
    }

    fn of_object(
        &mut self,
        keyword: &str,
        rule: &Value,
        all: &Fields,
        fields: &Fields,
    ) -> Vec<Violation> {
        match keyword {
            "required" => self.missing(rule, fields),
            "dependentRequired" if self.draft != Draft::Old => {
                let present = pairs(rule).filter(|(name, _)| fields.contains_key(*name));
                present
                    .flat_map(|(_, needed)| self.missing(needed, fields))
                    .collect()
            }
            "minProperties" | "maxProperties" => {
                let (limit, len) = (count(rule).unwrap_or_default(), fields.len() as u64);
                let is_fine = if keyword == "minProperties" {
                    len >= limit
                } else {
                    len <= limit
                };
                self.unless(is_fine, || {
                    format!("breaks the rule \"{keyword}\" of the schema")
                })
            }
            "propertyNames" => {
                let mut names = fields.keys().map(|name| Value::from(name.as_str()));
                let is_fine = names.all(|name| self.fits(rule, &name));
                self.unless(is_fine, || {
                    "breaks the rule \"propertyNames\" of the schema".into()
                })
            }
            "properties" => pairs(rule)
                .filter_map(|(name, schema)| Some((name, schema, fields.get(name)?)))
                .flat_map(|(name, schema, value)| self.within(name, schema, value))
                .collect(),
            "patternProperties" => {
                let mut found = Vec::new();
                for (pattern, schema) in pairs(rule) {
                    for (name, value) in fields {
                        if self.matches(pattern, name) {
                            found.extend(self.within(name, schema, value));
                        }
                    }
                }
                found
            }
            "additionalProperties" => {
                let mut found = Vec::new();
                for (name, value) in fields {
                    let mut patterns = all.get("patternProperties").into_iter().flat_map(pairs);
                    let named = all.get("properties").and_then(|named| named.get(name));
                    if named.is_some() || patterns.any(|(pattern, _)| self.matches(pattern, name)) {
                        continue;
                    }
                    let mut broken = self.within(name, rule, value);
                    if rule == false {
                        broken[0].rule = "is not a field of this form".into();
                    }
                    found.extend(broken);
                }
                found
            }
            _ => Vec::new(),
        }
    }

    fn missing(&mut self, names: &Value, fields: &Fields) -> Vec<Violation> {
        self.step(list(names).len());
        if self.why.is_some() {
            return Vec::new();
        }
        self::names(names)
            .filter(|name| !fields.contains_key(*name))
            .map(|name| {
                let mut path = self.path.clone();
                path.push(head(name, 80).to_string());
                Violation {
                    path,
                    rule: "required".into(),
                }
            })
            .collect()
    }

    fn counted(&self, keyword: &str, rule: &Value, len: usize, one: &str) -> Vec<Violation> {
        let (limit, len) = (count(rule).unwrap_or_default(), len as u64);
        let (is_fine, words) = match keyword.starts_with("min") {
            true => (len >= limit, "at least"),
            false => (len <= limit, "at most"),
        };
        self.unless(is_fine, || {
            let several = match one.strip_suffix('y') {
                Some(stem) => format!("{stem}ies"),
                None => format!("{one}s"),
            };
            let unit = if limit == 1 { one } else { &several };
            format!("must have {words} {limit} {unit}")
        })
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn pairs(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Returns a text, or each text of a list.
fn names(value: &Value) -> impl Iterator<Item = &str> {
    value
        .as_str()
        .into_iter()
        .chain(list(value).iter().filter_map(Value::as_str))
}

/// Returns the words for a type; none if there is no such type.
pub(super) fn type_word(name: &str) -> Option<&'static str> {
    Some(match name {
        "string" => "text",
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "yes or no (true or false)",
        "object" => "an object",
        "array" => "a list",
        "null" => "null",
        _ => return None,
    })
}

fn has_type(rule: &Value, value: &Value) -> bool {
    names(rule).any(|name| match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
        Value::Number(number) => {
            name == "number"
                || (name == "integer"
                    && (!number.is_f64() || number.as_f64().is_some_and(|one| one.fract() == 0.0)))
        }
    })
}

/// A value without the quotes of a text.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => head(text, 80).to_string(),
        other => head(&other.to_string(), 80).to_string(),
    }
}

/// Returns whether two values are the same. `1` is `1.0`, and fields have no order.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compared(a, b) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let is_there =
                |(name, one): (&String, &Value)| b.get(name).is_some_and(|other| equal(one, other));
            a.len() == b.len() && a.iter().all(is_there)
        }
        (a, b) => a == b,
    }
}

/// Compares numbers exactly where a fraction or a power of ten would hide a difference.
fn compared(a: &Number, b: &Number) -> Ordering {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(a), None) => with_float(a, b),
        (None, Some(b)) => with_float(b, a).reverse(),
        (None, None) => float(a).total_cmp(&float(b)),
    }
}

fn float(number: &Number) -> f64 {
    // Zero has one sign here.
    number.as_f64().unwrap_or_default() + 0.0
}

fn with_float(whole: i128, other: &Number) -> Ordering {
    let other = float(other);
    // Integers of JSON have at most 64 bits.
    if other.abs() >= 2f64.powi(100) {
        return 0.0f64.total_cmp(&other);
    }
    let floor = other.floor();
    whole.cmp(&(floor as i128)).then(if other > floor {
        Ordering::Less
    } else {
        Ordering::Equal
    })
}

/// Returns whether a number is a multiple of another, as both are written; none if they are too large to be sure.
fn is_multiple(number: &Number, of: &Number) -> Option<bool> {
    let ((a, a_places), (b, b_places)) = (places_of(number)?, places_of(of)?);
    let places = a_places.max(b_places);
    let scaled = |digits: i128, from: u32| digits.checked_mul(10i128.checked_pow(places - from)?);
    scaled(a, a_places)?
        .checked_rem(scaled(b, b_places)?)
        .map(|rest| rest == 0)
}

/// Returns a number as digits and how many of them are decimal places.
fn places_of(number: &Number) -> Option<(i128, u32)> {
    let text = number.to_string();
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((text, exponent)) => (text, exponent.parse::<i32>().ok()?),
        None => (text.as_str(), 0),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let places = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    match u32::try_from(places) {
        Ok(places) => Some((digits, places)),
        Err(_) => Some((
            digits.checked_mul(10i128.checked_pow(places.unsigned_abs())?)?,
            0,
        )),
    }
}
