//! `tasks`: the start and end of nodes.

use super::Text;
use runtail_core::json::Peek;
use serde::Deserialize;

/// `tasks`, and the payload of `debug` with the types `task` and `task_result`: a node started or ended. Only a start has
/// `triggers`, and only an end has `result`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Task<'a> {
    pub id: Text<'a>,
    pub name: Text<'a>,
    /// The node's input, in a start.
    pub input: Option<Peek<'a>>,
    pub triggers: Option<Peek<'a>>,
    pub result: Option<Peek<'a>>,
    /// Present in every end, usually null.
    pub error: Option<Peek<'a>>,
    pub interrupts: Option<Peek<'a>>,
}
