//! `events`: LangChain callbacks of chains, models and tools, named `on_<kind>_<phase>`.

use super::{MessageOrigin, Text};
use runtail_core::json::Peek;
use serde::Deserialize;

/// One callback.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Callback<'a> {
    pub event: Text<'a>,
    pub name: Text<'a>,
    /// The id of this call, not of the graph's run.
    pub run_id: Text<'a>,
    pub tags: Option<Peek<'a>>,
    pub metadata: Option<MessageOrigin<'a>>,
    pub data: Option<Peek<'a>>,
}
