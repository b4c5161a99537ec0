//! States: the values that a graph keeps, in events and in what is loaded of a thread.

use super::{Fields, Items};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// The part of a state that messages are read from.
#[derive(Deserialize)]
pub(crate) struct StateMessages<'a> {
    #[serde(borrow)]
    pub messages: Items<'a>,
}

impl<'a> StateMessages<'a> {
    /// Reads the messages of a state whose fields were read before.
    pub fn of(fields: &Fields<'a>) -> Option<StateMessages<'a>> {
        Some(StateMessages { messages: Items::read(fields.get("messages")?.get())? })
    }
}

/// Whether a state or an update names interrupts. Everything else in it is skipped.
#[derive(Deserialize)]
pub(crate) struct StateInterrupts {
    #[serde(rename = "__interrupt__")]
    pub interrupts: Option<IgnoredAny>,
}

/// What is loaded of a thread, its record or its state: both have the values.
#[derive(Deserialize)]
pub(crate) struct ThreadState<'a> {
    #[serde(default, borrow)]
    values: Option<&'a RawValue>,
}

impl<'a> ThreadState<'a> {
    /// Returns the values, where there are any.
    pub fn values_of(record: Option<&'a RawValue>) -> Option<&'a RawValue> {
        let record: ThreadState<'a> = serde_json::from_str(record?.get()).ok()?;
        record.values.filter(|values| values.get() != "null")
    }
}
