//! Reads and writes single values of a TOML document for forms. Comments and all other keys survive.

use super::ConfigError;
use crate::text;
use toml_edit::{DocumentMut, Item, TableLike, Value};

/// Parses a document.
///
/// # Errors
/// The document isn't valid TOML. The message has the line number.
pub(crate) fn parse(document: &str) -> Result<DocumentMut, ConfigError> {
    document.parse::<DocumentMut>().map_err(|error| {
        let start = error
            .span()
            .map_or(0, |span| span.start)
            .min(document.len());
        let line = document
            .get(..start)
            .unwrap_or_default()
            .matches('\n')
            .count()
            + 1;
        ConfigError::new(format!(
            "line {line} is not TOML: {}",
            error.message().lines().next().unwrap_or_default()
        ))
    })
}

/// Returns a single value as a text, as it is written.
pub(crate) fn scalar(item: &Item) -> Option<String> {
    match item.as_value()? {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(number) => Some(number.display_repr().into_owned()),
        Value::Float(number) => Some(number.display_repr().into_owned()),
        Value::Boolean(is_on) => Some(is_on.value().to_string()),
        _ => None,
    }
}

/// Sets a value and keeps the blanks and the comment around the former one.
pub(crate) fn set_value(table: &mut dyn TableLike, name: &str, mut value: Value) {
    match table.get_mut(name).and_then(Item::as_value_mut) {
        Some(old) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        None => drop(table.insert(name, Item::Value(value))),
    }
}

/// Returns the error for a value that a form can't show.
pub(crate) fn not_one_text(path: &str) -> ConfigError {
    ConfigError::new(format!(
        "the form can't show `{}` as it is written",
        text::clean(path)
    ))
}
