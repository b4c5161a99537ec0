//! Reads a parsed document with serde. Every error has its place, and every unknown key is a warning.

use super::error::{ConfigError, nearest};
use super::node::{Content, Key, Node};
use crate::text;
use serde::de::{
    DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor,
    value::{MapAccessDeserializer, StrDeserializer},
};
use serde::{Deserialize, forward_to_deserialize_any};
use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;

/// What is expected where only a number fits: those are prices.
pub(super) const PRICE: &str = "a price per million tokens (0 or more)";

/// A file that is being parsed.
pub(super) struct Source<'a> {
    pub text: &'a str,
    pub path: Option<&'a Path>,
    /// Whether the text may contain secrets anywhere, so that unreadable text must not be repeated.
    pub is_discreet: bool,
    /// Spans whose text is not shown.
    hidden: RefCell<Vec<Range<usize>>>,
    /// Unknown keys with their byte offset, by which they are sorted: as errors, and as warnings of one line.
    unknown: RefCell<Vec<(usize, String)>>,
}

impl<'a> Source<'a> {
    pub fn new(text: &'a str, path: Option<&'a Path>) -> Source<'a> {
        Source {
            text,
            path,
            is_discreet: false,
            hidden: RefCell::default(),
            unknown: RefCell::default(),
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

    /// Warns about a key that the table doesn't have.
    fn unknown(&self, key: &Key, table: &str, known: &'static [&'static str]) {
        let place = match table {
            "" => String::new(),
            table => format!(" in [{table}]"),
        };
        let more = match (&*key.name, nearest(&key.name, known.iter().copied())) {
            ("api_key" | "key" | "bearer" | "token", _) => {
                "; keys don't belong in this file: use api_key_env, api_key_file, api_key_command or api_key_keyring"
                    .to_string()
            }
            (_, Some(near)) => format!("; did you mean `{near}`?"),
            (_, None) => String::new(),
        };
        let head = format!("unknown key `{}`{place}", text::clean(&key.name));
        let at = self.error(key.span.clone(), "").position();
        let warning = format!("{at}{head}, ignored{more}");
        self.unknown.borrow_mut().push((key.span.start, warning));
    }

    /// Returns a warning of one line about each unknown key, in their order.
    pub fn into_unknown(self) -> Vec<String> {
        let mut unknown = self.unknown.into_inner();
        unknown.sort_by_key(|(at, _)| *at);
        unknown.into_iter().map(|(_, warning)| warning).collect()
    }
}

/// Reads a document or a part of it.
pub(super) fn read<'d, T: Deserialize<'d>>(
    source: &'d Source<'d>,
    node: &'d Node,
) -> Result<T, ConfigError> {
    let root = Value {
        source,
        node,
        table: String::new(),
        key: "",
    };
    root.visit(std::marker::PhantomData)
}

/// A value of the document.
#[derive(Clone)]
struct Value<'d> {
    source: &'d Source<'d>,
    node: &'d Node,
    /// The dotted name of the table that it is in.
    table: String,
    /// Its key there, empty in a list.
    key: &'d str,
}

impl<'d> Value<'d> {
    fn inner(&self, key: &'d str, node: &'d Node) -> Value<'d> {
        let table = match (&*self.table, self.key) {
            (table, "") | ("", table) => table.to_string(),
            (table, key) => format!("{table}.{key}"),
        };
        Value {
            table,
            key,
            node,
            ..*self
        }
    }

    fn visit<T: DeserializeSeed<'d>>(self, seed: T) -> Result<T::Value, ConfigError> {
        let here = self.clone();
        seed.deserialize(self).map_err(|error| here.placed(error))
    }

    /// Adds what an error is missing: its place, what was found there, and what this key needs.
    fn placed(&self, mut error: ConfigError) -> ConfigError {
        let has_place = error.place.is_some();
        let mut message = error.message.as_str();
        match (&*self.table, self.key) {
            ("notify", "command") | (_, "api_key_command" | "bearer_command") => {
                error.hint.get_or_insert_with(|| {
                    "a list of the program and its arguments, such as [\"pass\", \"show\", \"langsmith\"]".into()
                });
            }
            _ if has_place || !message.starts_with("expected ") => {}
            ("agent_server", "All") => {
                message = "expected an address in quotes, or a table {name = \"address\"}";
            }
            ("", "answer") => {
                message = "expected a list of rules";
                error.hint = Some(
                    "write the section as [[answer]], with two brackets; each one is a rule".into(),
                );
            }
            ("", "notify") => {
                message = "expected tables that begin with [[notify]]";
                error.hint = Some("how you are notified is `notify` in [ui]; what you are notified about is a list of [[notify]] tables".into());
            }
            ("keys", _) => message = "expected a key such as \"G\", or a list of keys",
            (table, key) if table.starts_with("themes.") && key != "inherits" => {
                message = "expected a style such as \"bold cyan\"";
            }
            _ => {}
        }
        match has_place {
            true => error,
            false => {
                let is_mismatch = message.starts_with("expected ");
                let found = is_mismatch.then(|| format!(", found {}", found(self.node)));
                let message = message.to_string() + &found.unwrap_or_default();
                ConfigError {
                    hint: error.hint,
                    ..self.source.error(self.node.span.clone(), message)
                }
            }
        }
    }
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = ConfigError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigError> {
        match &self.node.value {
            Content::Text(text) if text.trim().is_empty() && !self.table.starts_with("themes.") => {
                Err(empty())
            }
            Content::Text(text) => visitor.visit_str(text.trim()),
            Content::Bool(is_on) => visitor.visit_bool(*is_on),
            Content::Number(number) => match (number.as_u64(), number.as_f64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) if number >= 0.0 => visitor.visit_f64(number),
                _ => visitor.visit_unit(),
            },
            Content::List(items) => {
                visitor.visit_seq(Inner::of(items.iter().map(|item| self.inner("", item))))
            }
            Content::Table(entries) => visitor.visit_map(Inner::of(
                entries
                    .iter()
                    .map(|(key, value)| self.inner(&key.name, value)),
            )),
            Content::Null | Content::Other(_) => visitor.visit_unit(),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConfigError> {
        let Content::Table(entries) = &self.node.value else {
            return Err(ConfigError::new("expected a table"));
        };
        let known = |key: &Key| fields.contains(&&*key.name);
        for (key, value) in entries.iter().filter(|(key, _)| !known(key)) {
            let table = self.inner(&key.name, value).table;
            self.source.unknown(key, &table, fields);
        }
        let known = entries.iter().filter(|(key, _)| known(key));
        visitor.visit_map(Inner::of(
            known.map(|(key, value)| self.inner(&key.name, value)),
        ))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigError> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConfigError> {
        // One value for all, or a table of values: its type decides.
        if let ["All", ..] = variants {
            let key = match self.node.value {
                Content::Table(_) => "Named",
                _ => "All",
            };
            let table = self.key.to_string();
            let value = Value { table, key, ..self };
            return visitor.visit_enum(MapAccessDeserializer::new(Inner::of([value].into_iter())));
        }
        let word = text_of(self.source, self.node)?;
        visitor.visit_enum(StrDeserializer::new(word))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq
        tuple tuple_struct map identifier ignored_any
    }
}

/// The values in a list or a table.
struct Inner<'d, I> {
    rest: I,
    value: Option<Value<'d>>,
}

impl<'d, I: Iterator<Item = Value<'d>>> Inner<'d, I> {
    fn of(rest: I) -> Self {
        Inner { rest, value: None }
    }
}

impl<'d, I: Iterator<Item = Value<'d>>> SeqAccess<'d> for Inner<'d, I> {
    type Error = ConfigError;

    fn next_element_seed<T: DeserializeSeed<'d>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ConfigError> {
        self.rest.next().map(|value| value.visit(seed)).transpose()
    }
}

impl<'d, I: Iterator<Item = Value<'d>>> MapAccess<'d> for Inner<'d, I> {
    type Error = ConfigError;

    fn next_key_seed<K: DeserializeSeed<'d>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ConfigError> {
        self.value = self.rest.next();
        let key = self.value.as_ref().map(|value| value.key);
        key.map(|key| seed.deserialize(key.into_deserializer()))
            .transpose()
    }

    fn next_value_seed<T: DeserializeSeed<'d>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, ConfigError> {
        match self.value.take() {
            Some(value) => value.visit(seed),
            None => Err(ConfigError::new("a key has no value")),
        }
    }
}

impl Error for ConfigError {
    /// Makes an error of a message; its further lines are what to do.
    fn custom<T: std::fmt::Display>(message: T) -> ConfigError {
        let message = message.to_string();
        match message.split_once('\n') {
            Some((message, hint)) => ConfigError::new(message).hint(hint),
            None => ConfigError::new(message),
        }
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> ConfigError {
        ConfigError::new(match &*expected.to_string() {
            "a boolean" => "expected true or false".to_string(),
            "a string" => "expected a text in quotes".into(),
            "a sequence" => "expected a list of texts such as [\"a\", \"b\"]".into(),
            "a map" => "expected a table".into(),
            "f64" => format!("expected {PRICE}"),
            other => format!("expected {other}"),
        })
    }

    fn unknown_variant(_: &str, words: &'static [&'static str]) -> ConfigError {
        let words = words.iter().map(|word| format!("\"{word}\""));
        let words = words.collect::<Vec<_>>().join(", ");
        ConfigError::new(format!("expected one of {words}"))
    }

    fn missing_field(field: &'static str) -> ConfigError {
        let hint = match field {
            "input" | "output" => {
                return ConfigError::new("a model's price needs `input` and `output`");
            }
            "match" => "for example match = \"action:read_*\"",
            "decision" => "for example decision = \"approve\" or \"reject\"",
            _ => "one of \"waiting\", \"failed\", \"finished\", \"stuck\", \"rollout\"",
        };
        ConfigError::new(format!("this rule has no `{field}`")).hint(hint)
    }
}

fn empty() -> ConfigError {
    ConfigError::new("must not be empty")
}

/// Returns a non-empty text without surrounding spaces.
pub(super) fn text_of<'d>(source: &Source<'_>, value: &'d Node) -> Result<&'d str, ConfigError> {
    match &value.value {
        Content::Text(text) if !text.trim().is_empty() => Ok(text.trim()),
        Content::Text(_) => Err(source.error(value.span.clone(), empty().message)),
        _ => Err(mismatch(source, value, "a text in quotes")),
    }
}

/// Creates the error of a wrong type.
pub(super) fn mismatch(source: &Source<'_>, value: &Node, expected: &str) -> ConfigError {
    let message = format!("expected {expected}, found {}", found(value));
    source.error(value.span.clone(), message)
}

fn found(value: &Node) -> String {
    let found = match &value.value {
        Content::Null => "null".to_string(),
        Content::Text(text) => format!("\"{}\"", text::fit(&text::clean(text), 40)),
        Content::Bool(b) => b.to_string(),
        Content::Number(n) => n.to_string(),
        Content::List(_) => "a list".to_string(),
        Content::Table(_) => "a table".to_string(),
        Content::Other(kind) => format!("a {kind}"),
    };
    super::error::mask(&found)
}
