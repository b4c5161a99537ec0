//! `tasks`: when nodes start and end.

use super::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

/// `tasks`, and the payload of `debug` with the types `task` and `task_result`: a node was started or has ended. Only a start
/// has `triggers`, only an end `result`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Task<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    /// What the node was given, in a start.
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub triggers: Option<&'a RawValue>,
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
    /// Every task that is done has one, mostly null.
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub interrupts: Option<&'a RawValue>,
}
