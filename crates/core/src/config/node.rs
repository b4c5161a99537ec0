//! A parsed document with positions, the same for TOML and JSON.

use super::error::{ConfigError, Place};
use super::read::Source;
use crate::text;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use jsonc_parser::{ast, common::Ranged as _};
use serde_json::Number;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const NO_NUMBER: &str = "not a number, or too large";

/// A value and its byte span.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub value: Content,
    pub span: Range<usize>,
}

/// The type and content of a value.
#[derive(Debug, Clone)]
pub(super) enum Content {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    /// In the order of the text.
    Table(Vec<(Key, Node)>),
    /// A date, which JSON does not have.
    Other(&'static str),
}

/// The name of a field.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub name: String,
    pub span: Range<usize>,
}

impl Node {
    /// The text, where it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    fn get(&self, name: &str) -> Option<(&Key, &Node)> {
        let Content::Table(entries) = &self.value else {
            return None;
        };
        let (key, value) = entries.iter().find(|(key, _)| key.name == name)?;
        Some((key, value))
    }

    /// Returns the value of a key, else the table itself, which is where an error about it is.
    pub fn at(&self, key: &str) -> &Node {
        self.get(key).map_or(self, |(_, value)| value)
    }

    /// Returns the item of a list, else the value itself.
    pub fn item(&self, index: usize) -> &Node {
        match &self.value {
            Content::List(items) => items.get(index).unwrap_or(self),
            _ => self,
        }
    }

    /// Returns where a key is.
    pub fn key(&self, name: &str) -> Range<usize> {
        let key = self.get(name).map(|(key, _)| &key.span);
        key.unwrap_or(&self.span).clone()
    }

    /// Returns the second one of these keys in the text.
    pub fn second(&self, keys: &[&str]) -> Option<&Node> {
        let mut given: Vec<&Node> = keys
            .iter()
            .filter_map(|key| Some(self.get(key)?.1))
            .collect();
        given.sort_by_key(|value| value.span.start);
        given.get(1).copied()
    }

    /// Changes the value of a key, if there is one.
    pub fn change(&mut self, name: &str, change: impl Fn(&mut Node)) {
        if let Content::Table(entries) = &mut self.value {
            let values = entries.iter_mut().filter(|(key, _)| key.name == name);
            values.for_each(|(_, value)| change(value));
        }
    }

    /// Names the values of inner tables by dotted keys, and makes a list of each single text.
    pub fn flatten(&mut self) {
        let Content::Table(entries) = &mut self.value else {
            return;
        };
        let mut flat = Vec::new();
        for (key, mut value) in std::mem::take(entries) {
            if let Content::Text(_) = value.value {
                value.value = Content::List(vec![value.clone()]);
            }
            value.flatten();
            match value.value {
                Content::Table(inner) => flat.extend(inner.into_iter().map(|(inner, value)| {
                    let name = format!("{}.{}", key.name, inner.name);
                    (Key { name, ..inner }, value)
                })),
                _ => flat.push((key, value)),
            }
        }
        *entries = flat;
    }
}

/// Reads TOML.
pub(super) fn of_toml(source: &Source<'_>) -> Result<Node, ConfigError> {
    let document = DeTable::parse(source.text).map_err(|e| {
        let message = e.message().lines().collect::<Vec<_>>().join(", ");
        broken(source, e.span().unwrap_or(0..0), "TOML", &message)
    })?;
    let span = document.span();
    Ok(Node {
        value: table(source, document.get_ref())?,
        span,
    })
}

/// Parses strict JSON: no comments, no trailing commas.
pub(super) fn of_json(source: &Source<'_>) -> Result<Node, ConfigError> {
    let strict = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(source.text, &CollectOptions::default(), &strict).map_err(|e| {
        let range = e.range();
        broken(
            source,
            range.start..range.end,
            "JSON",
            &e.kind().to_string(),
        )
    })?;
    match parsed.value {
        Some(value) => json(source, value),
        None => Err(broken(source, 0..0, "JSON", "it is empty")),
    }
}

/// Creates the error of an unreadable text. Its line is not repeated, because it may contain a secret.
fn broken(source: &Source<'_>, span: Range<usize>, language: &str, why: &str) -> ConfigError {
    let why = format!("this is not {language}: {}", text::clean(why));
    if !source.is_discreet {
        return source.error(span, why);
    }
    let mut error = source.error(span, why);
    if let Some(Place { excerpt, .. }) = &mut error.place {
        let open = readable(excerpt);
        let hidden = excerpt[open..]
            .chars()
            .map(|c| if c.is_alphanumeric() { '*' } else { c });
        *excerpt = excerpt[..open].chars().chain(hidden).collect();
    }
    error
}

/// Returns the part of a line that is safe to show: a table's header, or a key with its separator. Keys have letters of one
/// case; a line of a multi-line secret rarely does.
fn readable(line: &str) -> usize {
    let word = |text: &str| {
        let text = text.trim().trim_matches(['"', '\'']);
        let of_one_case = |upper: bool| {
            text.chars().all(|c| {
                c.is_ascii_digit()
                    || "_-.".contains(c)
                    || c.is_ascii_alphabetic() && c.is_ascii_uppercase() == upper
            })
        };
        !text.is_empty() && (of_one_case(true) || of_one_case(false))
    };
    let trimmed = line.trim();
    let header = trimmed
        .strip_prefix('[')
        .map(|rest| rest.trim_start_matches('[').trim_end_matches(']'));
    match (header.is_some_and(word), line.find(['=', ':'])) {
        (true, _) => line.len(),
        (false, Some(at)) if word(line[..at].trim_start_matches([' ', '{', ','])) => at + 1,
        _ => 0,
    }
}

fn table(source: &Source<'_>, entries: &DeTable<'_>) -> Result<Content, ConfigError> {
    let read = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let key = Key {
            name: key.get_ref().to_string(),
            span: key.span(),
        };
        Ok((key, node(source, value)?))
    };
    let mut all = entries
        .iter()
        .map(read)
        .collect::<Result<Vec<_>, ConfigError>>()?;
    // The parser sorts them by name.
    all.sort_by_key(|(key, _)| key.span.start);
    Ok(Content::Table(all))
}

fn node(source: &Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<Node, ConfigError> {
    let span = value.span();
    let number = |number: Option<Number>| {
        number
            .map(Content::Number)
            .ok_or_else(|| source.error(value.span(), NO_NUMBER))
    };
    let value = match value.get_ref() {
        DeValue::String(text) => Content::Text(text.to_string()),
        DeValue::Boolean(b) => Content::Bool(*b),
        DeValue::Integer(n) => number(
            i64::from_str_radix(&n.as_str().replace('_', ""), n.radix())
                .ok()
                .map(Number::from),
        )?,
        DeValue::Float(n) => number(
            n.as_str()
                .replace('_', "")
                .parse()
                .ok()
                .and_then(Number::from_f64),
        )?,
        DeValue::Array(items) => Content::List(
            items
                .iter()
                .map(|item| node(source, item))
                .collect::<Result<_, ConfigError>>()?,
        ),
        DeValue::Table(entries) => table(source, entries)?,
        other => Content::Other(other.type_str()),
    };
    Ok(Node { value, span })
}

fn json(source: &Source<'_>, value: ast::Value<'_>) -> Result<Node, ConfigError> {
    let span = |range: jsonc_parser::common::Range| range.start..range.end;
    let at = span(value.range());
    let value = match value {
        ast::Value::NullKeyword(_) => Content::Null,
        ast::Value::BooleanLit(lit) => Content::Bool(lit.value),
        ast::Value::StringLit(lit) => Content::Text(lit.value.into_owned()),
        ast::Value::NumberLit(lit) => {
            let number = serde_json::from_str(lit.value);
            Content::Number(number.map_err(|_| source.error(at.clone(), NO_NUMBER))?)
        }
        ast::Value::Array(list) => {
            let items = list.elements.into_iter().map(|item| json(source, item));
            Content::List(items.collect::<Result<_, _>>()?)
        }
        ast::Value::Object(object) => {
            let mut entries: Vec<(Key, Node)> = Vec::with_capacity(object.properties.len());
            for property in object.properties {
                let at = span(property.name.range());
                let name = property.name.into_string();
                if entries.iter().any(|(key, _)| key.name == name) {
                    let shown = text::clean(&name).into_owned();
                    return Err(source.error(at, format!("`{shown}` is given twice")));
                }
                entries.push((Key { name, span: at }, json(source, property.value)?));
            }
            Content::Table(entries)
        }
    };
    Ok(Node { value, span: at })
}
