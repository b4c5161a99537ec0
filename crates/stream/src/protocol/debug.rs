//! `debug`: tasks and checkpoints with the server's timestamps.

use super::{Number, Text};
use runtail_core::json::Peek;
use serde::Deserialize;

/// `debug`: the type (`task`, `task_result`, `checkpoint`), the step, the server's timestamp and the payload of that type.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Debug<'a> {
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub step: Number,
    pub timestamp: Text<'a>,
    pub payload: Option<Peek<'a>>,
}
