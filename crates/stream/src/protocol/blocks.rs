//! Messages in the v2 protocol: content blocks that start, grow and finish, between a message's start and its finish. Blocks
//! don't name their message; they belong to the newest message in their namespace.

use super::{LongText, Number, Text};
use runtail_core::json;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One event of a message.
#[derive(Deserialize)]
pub(crate) struct Block<'a> {
    #[serde(default, borrow)]
    pub event: Text<'a>,
    #[serde(default, borrow, alias = "message_id")]
    pub id: Text<'a>,
    #[serde(default, borrow)]
    pub role: Text<'a>,
    #[serde(default)]
    pub index: Number,
    #[serde(default, borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    delta: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub usage: Option<&'a RawValue>,
}

/// The content added to a block.
#[derive(Deserialize)]
pub(crate) struct Delta<'a> {
    #[serde(default, borrow)]
    pub text: LongText<'a>,
    #[serde(default, borrow)]
    pub reasoning: LongText<'a>,
    #[serde(default, borrow)]
    pub args: Option<&'a RawValue>,
}

impl<'a> Block<'a> {
    /// Parses the content added to the block.
    pub fn delta(&self) -> Option<Delta<'a>> {
        json::from_str(self.delta?.get()).ok()
    }
}
