//! Graph states, in events and in loaded threads.

use super::MessagePayload;
use crate::projection::Role;
use runtail_core::json::{Fields, Peek};
use std::borrow::Cow;

/// The usual key of a state's messages.
pub(crate) const MESSAGES: &str = "messages";

/// The messages in a state.
pub(crate) struct StateMessages<'a> {
    /// The key of the list: `messages`, if there is one.
    pub key: Cow<'a, str>,
    pub list: Vec<Peek<'a>>,
}

impl<'a> StateMessages<'a> {
    /// Parses the messages of a state.
    pub fn read(values: &'a str) -> Option<StateMessages<'a>> {
        StateMessages::of(&Peek::of(values).object()?)
    }

    /// Parses the messages of a state from its fields. If it has no key `messages`, any list that begins with a message.
    pub fn of(fields: &Fields<'a>) -> Option<StateMessages<'a>> {
        let has_messages = |value: Peek<'a>| {
            let first = value.items().next()?.read::<MessagePayload<'_>>()?;
            (first.content.is_some() && !matches!(first.role(), Role::Other(_))).then_some(())
        };
        let (key, value) = match fields.find(MESSAGES) {
            Some(value) => (MESSAGES.into(), value),
            None => fields
                .0
                .iter()
                .find(|(_, value)| has_messages(*value).is_some())?
                .clone(),
        };
        value.is_list().then(|| StateMessages {
            key,
            list: value.items().collect(),
        })
    }
}

/// Returns the values of a thread's record or state, if there are any.
pub(crate) fn values_of(record: Option<Peek<'_>>) -> Option<Peek<'_>> {
    record?.get("values").filter(|values| !values.is_null())
}
