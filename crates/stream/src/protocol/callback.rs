//! `events`: LangChain callbacks of chains, models and tools, named `on_<kind>_<phase>`.

use super::{MessageOrigin, Text};
use runtail_core::json::Peek;
use serde::Deserialize;

/// One callback.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Callback<'a> {
    #[serde(borrow)]
    pub event: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    /// The id of this call, not of the graph's run.
    #[serde(borrow)]
    pub run_id: Text<'a>,
    #[serde(borrow)]
    pub tags: Option<Peek<'a>>,
    #[serde(borrow)]
    pub metadata: Option<MessageOrigin<'a>>,
    #[serde(borrow)]
    pub data: Option<Peek<'a>>,
}
