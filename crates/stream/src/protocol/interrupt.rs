//! Interrupts: a graph stopped to ask for input.

use super::Text;
use runtail_core::json;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One interrupt, in an `__interrupt__` list, in a task, or in `input.requested` of the v2 protocol, which names the fields
/// `interrupt_id` and `payload`.
#[derive(Deserialize)]
pub(crate) struct Interrupt<'a> {
    #[serde(default, borrow, alias = "interrupt_id")]
    pub id: Text<'a>,
    #[serde(default, borrow, alias = "payload")]
    pub value: Option<&'a RawValue>,
    /// The JSON schema of the answer.
    #[serde(default, borrow)]
    pub response_schema: Option<&'a RawValue>,
}

impl<'a> Interrupt<'a> {
    /// Parses an interrupt. Returns nothing if the value is not an object.
    pub fn read(raw: &'a RawValue) -> Option<Interrupt<'a>> {
        json::from_str(raw.get()).ok()
    }
}
