//! `tasks`: the start and end of nodes.

use super::Text;
use runtail_core::json::Peek;
use serde::Deserialize;

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
    pub input: Option<Peek<'a>>,
    #[serde(borrow)]
    pub triggers: Option<Peek<'a>>,
    #[serde(borrow)]
    pub result: Option<Peek<'a>>,
    /// Present in every end, usually null.
    #[serde(borrow)]
    pub error: Option<Peek<'a>>,
    #[serde(borrow)]
    pub interrupts: Option<Peek<'a>>,
}
