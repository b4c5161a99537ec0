//! Messages in the v2 protocol: content blocks that start, grow and finish, between a message's start and its finish. Blocks
//! don't name their message; they belong to the newest message in their namespace.

use super::{LongText, Number, Text};
use runtail_core::json::Peek;
use serde::Deserialize;

/// One event of a message.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Block<'a> {
    pub event: Text<'a>,
    #[serde(alias = "message_id")]
    pub id: Text<'a>,
    pub role: Text<'a>,
    pub index: Number,
    pub content: Option<Peek<'a>>,
    delta: Option<Peek<'a>>,
    pub usage: Option<Peek<'a>>,
}

/// The content added to a block.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Delta<'a> {
    pub text: LongText<'a>,
    pub reasoning: LongText<'a>,
    pub args: Option<Peek<'a>>,
}

impl<'a> Block<'a> {
    /// Parses the content added to the block.
    pub fn delta(&self) -> Option<Delta<'a>> {
        self.delta?.read()
    }
}
