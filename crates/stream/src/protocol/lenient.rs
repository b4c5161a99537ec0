//! Field types that accept any JSON. A value of the wrong type counts as missing and doesn't affect other fields.

use crate::bounded;
use runtail_core::json;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A name, an id or another short text; missing if the value has another type. Its length is limited, because it may be
/// stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Text<'a>(pub Option<Cow<'a, str>>);

impl Text<'_> {
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    pub fn is(&self, other: &str) -> bool {
        self.0.as_deref() == Some(other)
    }

    /// Returns the text, if it is not empty.
    pub fn some(&self) -> Option<&str> {
        self.0.as_deref().filter(|t| !t.is_empty())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Text(
            text(<&'de RawValue>::deserialize(deserializer)?).map(bounded),
        ))
    }
}

/// A text of any length; empty if the value has another type.
#[derive(Debug, Default)]
pub(crate) struct LongText<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for LongText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(LongText(
            text(<&'de RawValue>::deserialize(deserializer)?).unwrap_or_default(),
        ))
    }
}

/// An integer; missing if the value has another type.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Number(pub Option<i64>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Number(
            <&'de RawValue>::deserialize(deserializer)?
                .get()
                .parse()
                .ok(),
        ))
    }
}

/// Returns the text of a raw value, if it is a string.
pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    raw.get().starts_with('"').then(|| json::decoded(raw.get()))
}

/// The fields of an object, in order, with raw values.
pub(crate) struct Fields<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(map.size_hint().unwrap_or(8));
                while let Some((key, value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    fields.push((key.0, value));
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(FieldsVisitor).map(Fields)
    }
}

/// A key, borrowed if it contains no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Cow<'de, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(key))
            }

            fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(key.into()))
            }
        }
        deserializer.deserialize_str(KeyVisitor).map(Key)
    }
}

impl<'a> Fields<'a> {
    /// Parses an object. Returns nothing if the text is not one.
    pub fn read(text: &'a str) -> Option<Fields<'a>> {
        json::from_str(text).ok()
    }

    /// Returns the field with this name: of several, the last.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0
            .iter()
            .rfind(|(key, _)| key == name)
            .map(|(_, raw)| *raw)
    }
}

/// A list with raw elements, parsed one by one, so that a malformed element doesn't affect the others.
pub(crate) struct Items<'a>(pub Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Items<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ItemsVisitor;
        impl<'de> Visitor<'de> for ItemsVisitor {
            type Value = Vec<&'de RawValue>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::with_capacity(seq.size_hint().unwrap_or(4));
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(items)
            }
        }
        deserializer.deserialize_seq(ItemsVisitor).map(Items)
    }
}

impl<'a> Items<'a> {
    /// Parses a list. Returns nothing if the text is not one.
    pub fn read(text: &'a str) -> Option<Items<'a>> {
        json::from_str(text).ok()
    }

    /// Returns the elements of a raw list; none if the value is not a list.
    pub fn of(raw: &'a RawValue) -> Vec<&'a RawValue> {
        json::from_str::<Items<'_>>(raw.get())
            .map(|i| i.0)
            .unwrap_or_default()
    }
}
