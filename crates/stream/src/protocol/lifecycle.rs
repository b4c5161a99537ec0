//! `lifecycle` and `tools` of the v2 protocol: when graphs and tools start, finish and fail.

use super::Text;
use runtail_core::json::Peek;
use serde::Deserialize;

/// The phase that a graph or a tool entered.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Phase<'a> {
    pub event: Text<'a>,
    pub error: Option<Peek<'a>>,
    pub message: Option<Peek<'a>>,
    pub tool_call_id: Text<'a>,
    pub tool_name: Text<'a>,
}
