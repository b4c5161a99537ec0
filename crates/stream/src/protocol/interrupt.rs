//! Interrupts: a graph stopped to ask for input.

use super::Text;
use runtail_core::json::Peek;
use serde::Deserialize;

/// One interrupt, in an `__interrupt__` list, in a task, or in `input.requested` of the v2 protocol, which names the fields
/// `interrupt_id` and `payload`.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Interrupt<'a> {
    #[serde(alias = "interrupt_id")]
    pub id: Text<'a>,
    #[serde(alias = "payload")]
    pub value: Option<Peek<'a>>,
    /// The JSON schema of the answer.
    pub response_schema: Option<Peek<'a>>,
}
