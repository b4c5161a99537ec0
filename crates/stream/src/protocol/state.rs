//! Graph states, in events and in loaded threads.

use super::{Fields, Items, MessagePayload};
use crate::projection::Role;
use runtail_core::json;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The usual key of a state's messages.
pub(crate) const MESSAGES: &str = "messages";

/// The messages in a state.
pub(crate) struct StateMessages<'a> {
    /// The key of the list: `messages`, if there is one.
    pub key: Cow<'a, str>,
    pub list: Vec<&'a RawValue>,
}

impl<'a> StateMessages<'a> {
    /// Parses the messages of a state.
    pub fn read(values: &'a str) -> Option<StateMessages<'a>> {
        StateMessages::of(&Fields::read(values)?)
    }

    /// Parses the messages of a state from its fields. If it has no key `messages`, any list that begins with a message.
    pub fn of(fields: &Fields<'a>) -> Option<StateMessages<'a>> {
        let list = |raw: &'a RawValue| raw.get().starts_with('[').then(|| Items::of(raw));
        if let Some(raw) = fields.get(MESSAGES) {
            return Some(StateMessages {
                key: MESSAGES.into(),
                list: list(raw)?,
            });
        }
        let has_messages = |raw: &&'a RawValue| {
            let message = json::from_str::<MessagePayload<'_>>(raw.get()).ok();
            message.is_some_and(|message| {
                message.content.is_some() && !matches!(message.role(), Role::Other(_))
            })
        };
        let lists = fields
            .0
            .iter()
            .filter_map(|(key, raw)| Some((key, list(raw)?)));
        let (key, list) = lists
            .into_iter()
            .find(|(_, list)| list.first().is_some_and(has_messages))?;
        Some(StateMessages {
            key: key.clone(),
            list,
        })
    }
}

/// The interrupts in a state or an update, parsed only to know whether there are any. Everything else is skipped.
#[derive(Deserialize)]
pub(crate) struct StateInterrupts {
    #[serde(rename = "__interrupt__")]
    pub interrupts: Option<IgnoredAny>,
}

/// A thread's record or state. Both contain the values.
#[derive(Deserialize)]
pub(crate) struct ThreadState<'a> {
    #[serde(default, borrow)]
    values: Option<&'a RawValue>,
}

impl<'a> ThreadState<'a> {
    /// Returns the values, if there are any.
    pub fn values_of(record: Option<&'a RawValue>) -> Option<&'a RawValue> {
        let record: ThreadState<'a> = json::from_str(record?.get()).ok()?;
        record.values.filter(|values| values.get() != "null")
    }
}
