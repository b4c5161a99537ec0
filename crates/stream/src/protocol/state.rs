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
        let list = |raw: Peek<'a>| raw.is_list().then(|| raw.items().collect());
        if let Some(raw) = fields.find(MESSAGES) {
            return Some(StateMessages {
                key: MESSAGES.into(),
                list: list(raw)?,
            });
        }
        let has_messages = |raw: &Peek<'a>| {
            let message = raw.read::<MessagePayload<'_>>();
            message.is_some_and(|message| {
                message.content.is_some() && !matches!(message.role(), Role::Other(_))
            })
        };
        let mut lists = fields
            .0
            .iter()
            .filter_map(|(key, raw)| Some((key, list(*raw)?)));
        let (key, list) = lists.find(|(_, list)| list.first().is_some_and(has_messages))?;
        Some(StateMessages {
            key: key.clone(),
            list,
        })
    }
}

/// Returns the values of a thread's record or state, if there are any.
pub(crate) fn values_of(record: Option<Peek<'_>>) -> Option<Peek<'_>> {
    record?.get("values").filter(|values| !values.is_null())
}
