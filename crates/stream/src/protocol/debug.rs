//! `debug`: tasks and checkpoints with the server's timestamps.

use super::{Number, Text};
use runtail_core::json::Peek;
use serde::Deserialize;

/// `debug`: the type (`task`, `task_result`, `checkpoint`), the step, the server's timestamp and the payload of that type.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Debug<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    pub step: Number,
    #[serde(borrow)]
    pub timestamp: Text<'a>,
    #[serde(borrow)]
    pub payload: Option<Peek<'a>>,
}
