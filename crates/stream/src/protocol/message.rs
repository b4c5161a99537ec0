//! Messages and message chunks, in every form that servers send.

use super::{LongText, Number, Text};
use runtail_core::json;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A message, or a chunk of one.
#[derive(Deserialize, Default)]
pub(crate) struct MessagePayload<'a> {
    #[serde(default, borrow)]
    pub id: Text<'a>,
    #[serde(default, borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(default, borrow)]
    pub role: Text<'a>,
    #[serde(default, borrow)]
    pub name: Text<'a>,
    #[serde(default, borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub tool_calls: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub invalid_tool_calls: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub tool_call_chunks: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(default, borrow)]
    pub status: Text<'a>,
    #[serde(default, borrow)]
    pub usage_metadata: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub chunk_position: Text<'a>,
    #[serde(default, borrow)]
    pub response_metadata: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub additional_kwargs: Option<&'a RawValue>,
}

impl<'a> MessagePayload<'a> {
    /// Reads a message that is not an object. Graphs may store plain texts, or pairs of a role and a text.
    pub fn bare(raw: &'a RawValue) -> MessagePayload<'a> {
        let (role, content) = match json::from_str::<(Text<'a>, &'a RawValue)>(raw.get()) {
            Ok((role, content)) if role.some().is_some() => (role, content),
            _ => (Text(Some("text".into())), raw),
        };
        MessagePayload {
            kind: role,
            content: Some(content),
            ..MessagePayload::default()
        }
    }

    /// Returns whether this is a chunk of a message. Python marks chunks in their type; JavaScript's chunks are recognized by a
    /// key that whole messages don't have. A tool's result is whole in each class: Aegra sends it as a `ToolMessageChunk`.
    pub fn is_chunk(&self) -> bool {
        let kind = self.kind.as_str();
        kind.ends_with("Chunk") && kind != "ToolMessageChunk"
            || (self.kind.is("ai") && self.tool_call_chunks.is_some())
    }

    /// Returns whether this is the last chunk of its message. The newest Python servers mark it; otherwise it contains the
    /// model's reason for stopping.
    pub fn is_finish(&self) -> bool {
        let has = |raw: &&RawValue, key: &str| {
            memchr::memmem::find(raw.get().as_bytes(), key.as_bytes()).is_some()
        };
        let metadata = self.response_metadata.as_ref();
        self.chunk_position.is("last")
            || metadata.is_some_and(|raw| {
                has(raw, "\"finish_reason\":\"") || has(raw, "\"stop_reason\":\"")
            })
    }
}

/// The node, step, model and run that a message or a call belongs to.
#[derive(Debug, Clone, Deserialize, Default)]
pub(crate) struct MessageOrigin<'a> {
    #[serde(default, borrow)]
    pub langgraph_node: Text<'a>,
    #[serde(default)]
    pub langgraph_step: Number,
    #[serde(default, borrow)]
    pub langgraph_checkpoint_ns: Text<'a>,
    #[serde(default, borrow)]
    pub ls_model_name: Text<'a>,
    #[serde(default, borrow)]
    pub run_id: Text<'a>,
}

impl MessageOrigin<'_> {
    /// Returns a copy that doesn't borrow from the event.
    pub fn into_owned(self) -> MessageOrigin<'static> {
        let own = |text: Text<'_>| Text(text.0.map(|text| Cow::Owned(text.into_owned())));
        MessageOrigin {
            langgraph_node: own(self.langgraph_node),
            langgraph_step: self.langgraph_step,
            langgraph_checkpoint_ns: own(self.langgraph_checkpoint_ns),
            ls_model_name: own(self.ls_model_name),
            run_id: own(self.run_id),
        }
    }
}

/// A message announced by `messages/metadata`. The following chunks contain only the message's id.
#[derive(Deserialize)]
pub(crate) struct AnnouncedMessage<'a> {
    #[serde(default, borrow)]
    pub metadata: Option<MessageOrigin<'a>>,
}

/// The identity of a tool call that a message requests.
#[derive(Deserialize)]
pub(crate) struct RequestedCall<'a> {
    #[serde(default, borrow)]
    pub id: Text<'a>,
    #[serde(default, borrow)]
    pub name: Text<'a>,
}

/// `additional_kwargs`: reasoning and refusals that some models put next to the content, and the usage in some states.
#[derive(Deserialize, Default)]
pub(crate) struct AdditionalKwargs<'a> {
    #[serde(default, borrow)]
    pub reasoning_content: LongText<'a>,
    #[serde(default, borrow)]
    pub refusal: LongText<'a>,
    #[serde(default, borrow)]
    pub usage_metadata: Option<&'a RawValue>,
}

impl<'a> AdditionalKwargs<'a> {
    /// Parses the field. It is usually `{}`.
    pub fn read(raw: Option<&'a RawValue>) -> AdditionalKwargs<'a> {
        let raw = raw.filter(|raw| raw.get().len() > 2);
        raw.and_then(|raw| json::from_str(raw.get()).ok())
            .unwrap_or_default()
    }
}

/// `response_metadata`: the provider's metadata, sent with the last chunk.
#[derive(Deserialize)]
pub(crate) struct ResponseMetadata<'a> {
    #[serde(default, borrow)]
    model_name: Text<'a>,
    #[serde(default, borrow)]
    model: Text<'a>,
}

impl ResponseMetadata<'_> {
    /// Returns the name of the model. The field is usually `{}`.
    pub fn model_of(raw: &RawValue) -> Option<Cow<'_, str>> {
        if raw.get().len() < 3 {
            return None;
        }
        let ResponseMetadata { model_name, model } = json::from_str(raw.get()).ok()?;
        [model_name, model]
            .into_iter()
            .find_map(|name| name.0.filter(|name| !name.is_empty()))
    }
}

/// The id of a message in a checkpoint. Histories contain up to a hundred states, so nothing else is parsed.
#[derive(Deserialize, Default)]
pub(crate) struct MessageId<'a> {
    #[serde(default, borrow)]
    pub id: Option<Cow<'a, str>>,
}
