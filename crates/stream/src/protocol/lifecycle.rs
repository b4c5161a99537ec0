//! `lifecycle` and `tools` of the v2 protocol: when graphs and tools start, finish and fail.

use super::Text;
use runtail_core::json::Peek;
use serde::Deserialize;

/// The phase that a graph or a tool entered.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Phase<'a> {
    #[serde(borrow)]
    pub event: Text<'a>,
    #[serde(borrow)]
    pub error: Option<Peek<'a>>,
    #[serde(borrow)]
    pub message: Option<Peek<'a>>,
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub tool_name: Text<'a>,
}
