//! Messages in the v2 protocol: content blocks that start, grow and finish, between a message's start and its finish. Blocks
//! don't name their message; they belong to the newest message in their namespace.

use super::{LongText, Number, Text};
use runtail_core::json::Peek;
use serde::Deserialize;

/// One event of a message.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Block<'a> {
    #[serde(borrow)]
    pub event: Text<'a>,
    #[serde(borrow, alias = "message_id")]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub role: Text<'a>,
    pub index: Number,
    #[serde(borrow)]
    pub content: Option<Peek<'a>>,
    #[serde(borrow)]
    delta: Option<Peek<'a>>,
    #[serde(borrow)]
    pub usage: Option<Peek<'a>>,
}

/// The content added to a block.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Delta<'a> {
    #[serde(borrow)]
    pub text: LongText<'a>,
    #[serde(borrow)]
    pub reasoning: LongText<'a>,
    #[serde(borrow)]
    pub args: Option<Peek<'a>>,
}

impl<'a> Block<'a> {
    /// Parses the content added to the block.
    pub fn delta(&self) -> Option<Delta<'a>> {
        self.delta?.read()
    }
}
