//! `events`: LangChain callbacks of chains, models and tools, named `on_<kind>_<phase>`.

use super::{MessageOrigin, Text};
use serde::Deserialize;
use serde_json::value::RawValue;

/// One callback.
#[derive(Deserialize)]
pub(crate) struct Callback<'a> {
    #[serde(default, borrow)]
    pub event: Text<'a>,
    #[serde(default, borrow)]
    pub name: Text<'a>,
    /// The id of this call, not of the graph's run.
    #[serde(default, borrow)]
    pub run_id: Text<'a>,
    #[serde(default, borrow)]
    pub tags: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub metadata: Option<MessageOrigin<'a>>,
    #[serde(default, borrow)]
    pub data: Option<&'a RawValue>,
}
