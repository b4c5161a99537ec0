//! Reads TOML tables with positions: typed values or an error with a caret, and a warning for every unknown key.

use super::error::{ConfigError, Place, nearest};
use super::node::{Content, Key, Node};
use crate::text;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

/// A file that is being parsed.
pub(super) struct Source<'a> {
    pub text: &'a str,
    pub path: Option<&'a Path>,
    /// Whether the text may contain secrets anywhere, so that unreadable text must not be repeated.
    pub is_discreet: bool,
    /// Spans whose text is not shown.
    hidden: RefCell<Vec<Range<usize>>>,
    /// Warnings with their byte offset, by which they are sorted.
    warnings: RefCell<Vec<(usize, String)>>,
}

/// A value with its span.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct At<T> {
    pub value: T,
    pub span: Range<usize>,
}

/// A table of the file; remembers which of its keys were read.
pub(super) struct Table<'s, 'd> {
    source: &'s Source<'s>,
    /// Dotted name, empty at the root.
    name: String,
    entries: &'d [(Key, Node)],
    known: BTreeSet<&'static str>,
}

impl<'a> Source<'a> {
    pub fn new(text: &'a str, path: Option<&'a Path>) -> Source<'a> {
        Source {
            text,
            path,
            is_discreet: false,
            hidden: RefCell::default(),
            warnings: RefCell::default(),
        }
    }

    /// The same for a text that may contain secrets.
    pub fn discreet(text: &'a str, path: Option<&'a Path>) -> Source<'a> {
        Source {
            is_discreet: true,
            ..Source::new(text, path)
        }
    }

    /// Never shows the text of a span.
    pub fn hide(&self, span: Range<usize>) {
        self.hidden.borrow_mut().push(span);
    }

    pub fn error(&self, span: Range<usize>, message: impl Into<String>) -> ConfigError {
        let hidden = self.hidden.borrow();
        if hidden.is_empty() {
            return ConfigError::at(self.path, self.text, span, message);
        }
        let stars = |(at, c): (usize, char)| match c {
            '\n' | '\r' => c.to_string(),
            _ if hidden.iter().any(|span| span.contains(&at)) => "*".repeat(c.len_utf8()),
            _ => c.to_string(),
        };
        let shown: String = self.text.char_indices().map(stars).collect();
        ConfigError::at(self.path, &shown, span, message)
    }

    pub fn warn(&self, span: Range<usize>, message: &str) {
        let place = Place::of(self.text, span.clone());
        let file = self
            .path
            .map(|p| format!("{}:", text::clean(&p.display().to_string())))
            .unwrap_or_default();
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
    pub fn new(
        source: &'s Source<'s>,
        name: impl Into<String>,
        entries: &'d [(Key, Node)],
    ) -> Table<'s, 'd> {
        Table {
            source,
            name: name.into(),
            entries,
            known: BTreeSet::new(),
        }
    }

    /// The keys in the file's order.
    pub fn in_order(&self) -> impl Iterator<Item = (At<&'d str>, &'d Node)> + use<'d> {
        self.entries.iter().map(|(key, value)| {
            (
                At {
                    value: key.name.as_str(),
                    span: key.span.clone(),
                },
                value,
            )
        })
    }

    pub fn raw(&mut self, key: &'static str) -> Option<&'d Node> {
        self.known.insert(key);
        self.entries
            .iter()
            .find(|(k, _)| k.name == key)
            .map(|(_, value)| value)
    }

    pub fn string(&mut self, key: &'static str) -> Result<Option<At<String>>, ConfigError> {
        let Some(value) = self.raw(key) else {
            return Ok(None);
        };
        text_of(self.source, value).map(Some)
    }

    pub fn bool(&mut self, key: &'static str) -> Result<Option<bool>, ConfigError> {
        let Some(value) = self.raw(key) else {
            return Ok(None);
        };
        match value.value {
            Content::Bool(b) => Ok(Some(b)),
            _ => Err(mismatch(self.source, value, "true or false")),
        }
    }

    /// An array of strings.
    pub fn strings(&mut self, key: &'static str) -> Result<Option<Vec<At<String>>>, ConfigError> {
        let Some(value) = self.raw(key) else {
            return Ok(None);
        };
        strings_of(self.source, value).map(Some)
    }

    /// A count, at least one.
    pub fn count(&mut self, key: &'static str) -> Result<Option<usize>, ConfigError> {
        let Some(value) = self.raw(key) else {
            return Ok(None);
        };
        let number = value
            .count()
            .and_then(|n| usize::try_from(n).ok())
            .filter(|n| *n > 0);
        number
            .map(Some)
            .ok_or_else(|| mismatch(self.source, value, "a whole number above zero"))
    }

    /// Parses a text with its own format (a duration, a size), or a bare number if `bare` accepts it.
    pub fn measure<T>(
        &mut self,
        key: &'static str,
        form: &str,
        read: impl Fn(&str) -> Option<T>,
        bare: impl Fn(u64) -> Option<T>,
    ) -> Result<Option<At<T>>, ConfigError> {
        let Some(value) = self.raw(key) else {
            return Ok(None);
        };
        let read = match &value.value {
            Content::Text(text) => read(text),
            _ => value.count().and_then(bare),
        };
        match read {
            Some(read) => Ok(Some(At {
                value: read,
                span: value.span.clone(),
            })),
            None => Err(mismatch(self.source, value, form)),
        }
    }

    pub fn table(&mut self, key: &'static str) -> Result<Option<Table<'s, 'd>>, ConfigError> {
        let Some(value) = self.raw(key) else {
            return Ok(None);
        };
        let name = if self.name.is_empty() {
            key.to_string()
        } else {
            format!("{}.{key}", self.name)
        };
        table_of(self.source, name, value).map(Some)
    }

    /// Warns about every unknown key.
    pub fn finish(self) {
        for (key, _) in self.in_order() {
            if self.known.contains(key.value) {
                continue;
            }
            let shown = text::clean(key.value);
            let place = if self.name.is_empty() {
                String::new()
            } else {
                format!(" in [{}]", self.name)
            };
            let more = match (key.value, nearest(key.value, self.known.iter().copied())) {
                ("api_key" | "key" | "bearer" | "token", _) => {
                    "; keys don't belong in this file: use api_key_env, api_key_file, \
                     api_key_command or api_key_keyring"
                        .to_string()
                }
                (_, Some(near)) => format!("; did you mean `{near}`?"),
                (_, None) => String::new(),
            };
            self.source.warn(
                key.span,
                &format!("unknown key `{shown}`{place}, ignored{more}"),
            );
        }
    }
}

pub(super) fn table_of<'s, 'd>(
    source: &'s Source<'s>,
    name: String,
    value: &'d Node,
) -> Result<Table<'s, 'd>, ConfigError> {
    match &value.value {
        Content::Table(entries) => Ok(Table::new(source, name, entries)),
        _ => Err(mismatch(source, value, "a table")),
    }
}

pub(super) fn text_of(source: &Source<'_>, value: &Node) -> Result<At<String>, ConfigError> {
    match &value.value {
        Content::Text(text) if !text.trim().is_empty() => Ok(At {
            value: text.trim().to_string(),
            span: value.span.clone(),
        }),
        Content::Text(_) => Err(source.error(value.span.clone(), "must not be empty")),
        _ => Err(mismatch(source, value, "a text in quotes")),
    }
}

pub(super) fn strings_of(
    source: &Source<'_>,
    value: &Node,
) -> Result<Vec<At<String>>, ConfigError> {
    match &value.value {
        Content::List(items) => items.iter().map(|item| text_of(source, item)).collect(),
        _ => Err(mismatch(
            source,
            value,
            "a list of texts such as [\"a\", \"b\"]",
        )),
    }
}

/// Creates the error of a wrong type.
pub(super) fn mismatch(source: &Source<'_>, value: &Node, expected: &str) -> ConfigError {
    let found = match &value.value {
        Content::Null => "null".to_string(),
        Content::Text(text) => format!("\"{}\"", text::fit(&text::clean(text), 40)),
        Content::Bool(b) => b.to_string(),
        Content::Number(n) => n.to_string(),
        Content::List(_) => "a list".to_string(),
        Content::Table(_) => "a table".to_string(),
        Content::Other(kind) => format!("a {kind}"),
    };
    source.error(
        value.span.clone(),
        format!("expected {expected}, found {}", super::error::mask(&found)),
    )
}
