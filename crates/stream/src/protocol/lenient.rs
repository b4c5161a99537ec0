//! Field types that accept any JSON. A value of the wrong type counts as missing and doesn't affect other fields.

use crate::bounded;
use runtail_core::json::Peek;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;

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
        let value = Peek::deserialize(deserializer)?;
        Ok(Text(value.string().map(bounded)))
    }
}

/// A text of any length; empty if the value has another type.
#[derive(Debug, Default)]
pub(crate) struct LongText<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for LongText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Peek::deserialize(deserializer)?;
        Ok(LongText(value.string().unwrap_or_default()))
    }
}

/// An integer; missing if the value has another type.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Number(pub Option<i64>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Number(Peek::deserialize(deserializer)?.text().parse().ok()))
    }
}
