//! Reading TOML tables with their places: typed values or an error under a caret, and a warning for every key that
//! nobody asked for.

use super::error::{ConfigError, Place, nearest};
use crate::text;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file while it is read.
pub(super) struct Source<'a> {
    pub text: &'a str,
    pub path: Option<&'a Path>,
    /// Warnings with the byte that they are about, by which they are sorted in the end.
    warnings: RefCell<Vec<(usize, String)>>,
}

/// A value with its place.
pub(super) struct At<T> {
    pub value: T,
    pub span: Range<usize>,
}

/// One table of the file; remembers which of its keys were asked for.
pub(super) struct Table<'s, 'd> {
    source: &'s Source<'s>,
    /// Dotted name, empty at the root.
    name: String,
    entries: &'d DeTable<'d>,
    known: BTreeSet<&'static str>,
}

impl<'a> Source<'a> {
    pub fn new(text: &'a str, path: Option<&'a Path>) -> Source<'a> {
        Source { text, path, warnings: RefCell::default() }
    }

    pub fn error(&self, span: Range<usize>, message: impl Into<String>) -> ConfigError {
        ConfigError::at(self.path, self.text, span, message)
    }

    pub fn warn(&self, span: Range<usize>, message: &str) {
        let place = Place::of(self.text, span.clone());
        let file = self.path.map(|p| format!("{}:", text::clean(&p.display().to_string()))).unwrap_or_default();
        let line = format!("{file}{}:{}: {message}", place.line, place.column);
        self.warnings.borrow_mut().push((span.start, line));
    }

    pub fn into_warnings(self) -> Vec<String> {
        let mut warnings = self.warnings.into_inner();
        warnings.sort();
        warnings.into_iter().map(|(_, line)| line).collect()
    }
}

impl<'s, 'd> Table<'s, 'd> {
    pub fn new(source: &'s Source<'s>, name: impl Into<String>, entries: &'d DeTable<'d>) -> Table<'s, 'd> {
        Table { source, name: name.into(), entries, known: BTreeSet::new() }
    }

    /// The keys in the file's order (the parser sorts them by name).
    pub fn in_order(&self) -> Vec<(At<&'d str>, &'d Spanned<DeValue<'d>>)> {
        let mut all: Vec<_> = self
            .entries
            .iter()
            .map(|(key, value)| (At { value: key.get_ref().as_ref(), span: key.span() }, value))
            .collect();
        all.sort_by_key(|(key, _)| key.span.start);
        all
    }

    pub fn raw(&mut self, key: &'static str) -> Option<&'d Spanned<DeValue<'d>>> {
        self.known.insert(key);
        self.entries.iter().find(|(k, _)| k.get_ref() == key).map(|(_, value)| value)
    }

    pub fn string(&mut self, key: &'static str) -> Result<Option<At<String>>, ConfigError> {
        let Some(value) = self.raw(key) else { return Ok(None) };
        text_of(self.source, value).map(Some)
    }

    pub fn bool(&mut self, key: &'static str) -> Result<Option<bool>, ConfigError> {
        let Some(value) = self.raw(key) else { return Ok(None) };
        value.get_ref().as_bool().map(Some).ok_or_else(|| mismatch(self.source, value, "true or false"))
    }

    /// An array of strings.
    pub fn strings(&mut self, key: &'static str) -> Result<Option<Vec<At<String>>>, ConfigError> {
        let Some(value) = self.raw(key) else { return Ok(None) };
        strings_of(self.source, value).map(Some)
    }

    /// A count, at least one.
    pub fn count(&mut self, key: &'static str) -> Result<Option<usize>, ConfigError> {
        let Some(value) = self.raw(key) else { return Ok(None) };
        let number = integer_of(value).and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
        number.map(Some).ok_or_else(|| mismatch(self.source, value, "a whole number above zero"))
    }

    /// A text in a form of its own (a duration, a size); a bare number too, where `bare` reads it.
    pub fn measure<T>(
        &mut self,
        key: &'static str,
        form: &str,
        read: impl Fn(&str) -> Option<T>,
        bare: impl Fn(u64) -> Option<T>,
    ) -> Result<Option<At<T>>, ConfigError> {
        let Some(value) = self.raw(key) else { return Ok(None) };
        let read = match value.get_ref() {
            DeValue::String(text) => read(text),
            _ => integer_of(value).and_then(bare),
        };
        match read {
            Some(read) => Ok(Some(At { value: read, span: value.span() })),
            None => Err(mismatch(self.source, value, form)),
        }
    }

    pub fn table(&mut self, key: &'static str) -> Result<Option<Table<'s, 'd>>, ConfigError> {
        let Some(value) = self.raw(key) else { return Ok(None) };
        let name = if self.name.is_empty() { key.to_string() } else { format!("{}.{key}", self.name) };
        table_of(self.source, name, value).map(Some)
    }

    /// Warns of every key that nobody asked for.
    pub fn finish(self) {
        for (key, _) in self.in_order() {
            if self.known.contains(key.value) {
                continue;
            }
            let shown = text::clean(key.value);
            let place = if self.name.is_empty() { String::new() } else { format!(" in [{}]", self.name) };
            let more = match (key.value, nearest(key.value, self.known.iter().copied())) {
                ("api_key" | "key" | "bearer" | "token", _) => {
                    "; a key does not belong in this file: name where it is with api_key_env, api_key_file or \
                     api_key_command"
                        .to_string()
                }
                (_, Some(near)) => format!("; did you mean `{near}`?"),
                (_, None) => String::new(),
            };
            self.source.warn(key.span, &format!("unknown key `{shown}`{place}, ignored{more}"));
        }
    }
}

pub(super) fn table_of<'s, 'd>(
    source: &'s Source<'s>,
    name: String,
    value: &'d Spanned<DeValue<'d>>,
) -> Result<Table<'s, 'd>, ConfigError> {
    match value.get_ref() {
        DeValue::Table(entries) => Ok(Table::new(source, name, entries)),
        _ => Err(mismatch(source, value, "a table")),
    }
}

pub(super) fn text_of(source: &Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<At<String>, ConfigError> {
    match value.get_ref() {
        DeValue::String(text) if !text.trim().is_empty() => {
            Ok(At { value: text.trim().to_string(), span: value.span() })
        }
        DeValue::String(_) => Err(source.error(value.span(), "this text is empty")),
        _ => Err(mismatch(source, value, "a text in quotes")),
    }
}

pub(super) fn strings_of(source: &Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<Vec<At<String>>, ConfigError> {
    match value.get_ref() {
        DeValue::Array(items) => items.iter().map(|item| text_of(source, item)).collect(),
        _ => Err(mismatch(source, value, "a list of texts such as [\"a\", \"b\"]")),
    }
}

/// What was found, and what was expected instead.
pub(super) fn mismatch(source: &Source<'_>, value: &Spanned<DeValue<'_>>, expected: &str) -> ConfigError {
    let found = match value.get_ref() {
        DeValue::String(text) => format!("\"{}\"", text::fit(&text::clean(text), 40)),
        DeValue::Boolean(b) => b.to_string(),
        DeValue::Integer(n) => n.as_str().to_string(),
        DeValue::Array(_) => "a list".to_string(),
        DeValue::Table(_) => "a table".to_string(),
        other => format!("a {}", other.type_str()),
    };
    source.error(value.span(), format!("expected {expected}, found {}", super::error::mask(&found)))
}

fn integer_of(value: &Spanned<DeValue<'_>>) -> Option<u64> {
    let integer = value.get_ref().as_integer()?;
    u64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok()
}
