//! `tasks`: the start and end of nodes.

use super::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

/// `tasks`, and the payload of `debug` with the types `task` and `task_result`: a node started or ended. Only a start has
/// `triggers`, and only an end has `result`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Task<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    /// The node's input, in a start.
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub triggers: Option<&'a RawValue>,
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
    /// Present in every end, usually null.
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub interrupts: Option<&'a RawValue>,
}
