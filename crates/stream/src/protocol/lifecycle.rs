//! The second dialect's phases of graphs and tools.

use super::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The second dialect's `lifecycle` and `tools`: the life of a graph, and of tools.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Phase<'a> {
    #[serde(borrow)]
    pub event: Text<'a>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub tool_name: Text<'a>,
}
