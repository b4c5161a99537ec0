//! Fields of records that may have another type than expected, which then count as missing.

use super::{Question, ThreadError};
use crate::exact_json;
use crate::json;
use crate::model::parse_time;
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Reads an object. Serde takes a list for a struct too, whose fields would then all be missing.
pub(super) fn object<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, serde_json::Error> {
    match json.trim_start().starts_with('{') {
        true => json::from_str(json),
        false => Err(serde::de::Error::custom("not a JSON object")),
    }
}

/// A field that is read when it is used; null is like missing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Field<'a>(pub Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Field<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        Ok(Field(Some(raw).filter(|raw| raw.get() != "null")))
    }
}

impl Field<'_> {
    pub fn get<T: DeserializeOwned>(&self) -> Option<T> {
        json::from_str(self.0?.get()).ok()
    }

    pub fn text(&self) -> Option<String> {
        let raw = self.0?.get();
        json::from_str::<Cow<'_, str>>(raw)
            .ok()
            .map(Cow::into_owned)
    }

    pub fn time(&self) -> Option<Timestamp> {
        parse_time(&self.text()?)
    }

    /// A name, or a list of names: what breakpoints are given as.
    pub fn names(&self) -> Vec<String> {
        match self.text() {
            Some(one) => vec![one],
            None => self.get().unwrap_or_default(),
        }
    }

    pub fn questions(&self) -> Vec<Question> {
        self.get::<Vec<Asked>>()
            .unwrap_or_default()
            .into_iter()
            .map(Question::from)
            .collect()
    }

    /// `{error, message}` on threads, a text on tasks; JavaScript's tasks have a text with `{name, message}` in it.
    pub fn error(&self) -> Option<ThreadError> {
        #[derive(Deserialize)]
        struct Both {
            #[serde(default, alias = "name")]
            error: IgnoredText,
            #[serde(default)]
            message: IgnoredText,
        }
        let text = self.text();
        let raw = text.as_deref().unwrap_or(self.0?.get());
        let both: Option<Both> = object(raw).ok();
        match both.map(|both| (both.error.0, both.message.0)) {
            Some((class, message)) if class.is_some() || message.is_some() => Some(ThreadError {
                class: class.unwrap_or_default(),
                message: message.unwrap_or_default(),
            }),
            // Nothing that has a name here; shown as it is.
            _ => Some(ThreadError {
                class: String::new(),
                message: raw.to_string(),
            }),
        }
    }
}

/// A text, or nothing where there is something else.
#[derive(Debug, Clone, Default)]
pub(super) struct IgnoredText(pub Option<String>);

impl<'de> Deserialize<'de> for IgnoredText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Any {
            Text(String),
            Other(IgnoredAny),
        }
        Ok(IgnoredText(match Any::deserialize(deserializer)? {
            Any::Text(text) => Some(text),
            Any::Other(_) => None,
        }))
    }
}

/// A question as servers write it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    #[serde(default, alias = "interrupt_id")]
    id: IgnoredText,
    #[serde(default)]
    value: Option<Box<RawValue>>,
    #[serde(default)]
    response_schema: Option<Value>,
}

impl From<Asked> for Question {
    fn from(asked: Asked) -> Question {
        let Asked {
            id,
            value,
            response_schema,
        } = asked;
        let (value, inexact) = value
            .and_then(|raw| exact_json::parse_lenient(raw.get()).ok())
            .unwrap_or_default();
        let response_schema = response_schema.filter(|schema| !schema.is_null());
        Question {
            id: id.0,
            value,
            response_schema,
            inexact,
            node: None,
        }
    }
}
