//! A deserializer of valid JSON that accepts what serde_json refuses in it. Slower, so it is only used where that has failed.

use super::{MARK, NUMBER, Peek, rounded};
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Error;
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Levels that are read. serde_json reads 127.
const MAX_DEPTH: usize = 100;
/// Stands for a value that is nested more deeply.
const NOTE: &str = "(nested more than 100 levels deep: left out)";

/// A value, and how deeply it is nested.
#[derive(Clone, Copy)]
pub(super) struct Lenient<'a> {
    value: Peek<'a>,
    depth: usize,
}

impl<'a> Lenient<'a> {
    pub fn new(json: &'a str) -> Lenient<'a> {
        Lenient {
            value: Peek::of(json),
            depth: 0,
        }
    }

    fn member(self, value: Peek<'a>) -> Lenient<'a> {
        Lenient {
            value,
            depth: self.depth + 1,
        }
    }

    /// Returns the fields. Of equal keys the last one counts, as in JavaScript and Python.
    fn fields(self) -> Vec<(Cow<'a, str>, Lenient<'a>)> {
        let mut fields: Vec<(Cow<'a, str>, Lenient<'a>)> = Vec::new();
        let mut known: HashMap<Cow<'a, str>, usize> = HashMap::new();
        for (key, value) in self.value.fields() {
            match known.entry(key.clone()) {
                Entry::Occupied(at) => fields[*at.get()].1 = self.member(value),
                Entry::Vacant(at) => {
                    at.insert(fields.len());
                    fields.push((key, self.member(value)));
                }
            }
        }
        fields
    }

    fn strict(self) -> serde_json::Deserializer<serde_json::de::StrRead<'a>> {
        serde_json::Deserializer::from_str(self.value.text())
    }
}

impl<'de> IntoDeserializer<'de, Error> for Lenient<'de> {
    type Deserializer = Lenient<'de>;

    fn into_deserializer(self) -> Lenient<'de> {
        self
    }
}

impl<'de> Deserializer<'de> for Lenient<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let text = self.value.text();
        match text.as_bytes().first() {
            Some(b'{' | b'[') if self.depth >= MAX_DEPTH => visitor.visit_borrowed_str(NOTE),
            Some(b'{') => visitor.visit_map(MapDeserializer::new(self.fields().into_iter())),
            Some(b'[') => {
                let mut items =
                    SeqDeserializer::new(self.value.items().map(|value| self.member(value)));
                let read = visitor.visit_seq(&mut items)?;
                // A longer list is not that record or tuple.
                items.end().map(|()| read)
            }
            Some(b'"') => match self.value.string() {
                Some(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
                text => visitor.visit_string(text.unwrap_or_default().into_owned()),
            },
            Some(b'-' | b'0'..=b'9') if rounded(text).is_some() => {
                visitor.visit_string(format!("{MARK}{NUMBER}{text}"))
            }
            Some(_) => self.strict().deserialize_any(visitor),
            None => Err(Error::custom("expected a value")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        // A raw value is the received text.
        match name.starts_with("$serde_json") {
            true => self.strict().deserialize_newtype_struct(name, visitor),
            false => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.strict().deserialize_enum(name, variants, visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.strict().deserialize_f64(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map
        struct identifier
    }
}
