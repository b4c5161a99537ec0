//! Graph states, in events and in loaded threads.

use super::{Fields, Items};
use runtail_core::json;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// The messages in a state.
#[derive(Deserialize)]
pub(crate) struct StateMessages<'a> {
    #[serde(borrow)]
    pub messages: Items<'a>,
}

impl<'a> StateMessages<'a> {
    /// Parses the messages of a state from its fields.
    pub fn of(fields: &Fields<'a>) -> Option<StateMessages<'a>> {
        Some(StateMessages { messages: Items::read(fields.get("messages")?.get())? })
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
