//! Messages and message chunks, in every form that servers send.

use super::{LongText, Number, Text};
use crate::bounded;
use runtail_core::json::Peek;
use serde::Deserialize;
use std::borrow::Cow;

/// A message, or a chunk of one.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct MessagePayload<'a> {
    pub id: Text<'a>,
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub role: Text<'a>,
    pub name: Text<'a>,
    pub content: Option<Peek<'a>>,
    pub tool_calls: Option<Peek<'a>>,
    pub invalid_tool_calls: Option<Peek<'a>>,
    pub tool_call_chunks: Option<Peek<'a>>,
    pub tool_call_id: Text<'a>,
    pub status: Text<'a>,
    pub usage_metadata: Option<Peek<'a>>,
    pub chunk_position: Text<'a>,
    pub response_metadata: Option<Peek<'a>>,
    pub additional_kwargs: Option<Peek<'a>>,
}

impl<'a> MessagePayload<'a> {
    /// Reads a message that is not an object. Graphs may store plain texts, or pairs of a role and a text.
    pub fn bare(raw: Peek<'a>) -> MessagePayload<'a> {
        let (role, content) = match raw.read::<(Text<'a>, Peek<'a>)>() {
            Some((role, content)) if role.some().is_some() => (role, content),
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
        let has = |raw: &Peek<'_>, key: &str| {
            memchr::memmem::find(raw.text().as_bytes(), key.as_bytes()).is_some()
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
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct MessageOrigin<'a> {
    pub langgraph_node: Text<'a>,
    pub langgraph_step: Number,
    pub langgraph_checkpoint_ns: Text<'a>,
    pub ls_model_name: Text<'a>,
    pub run_id: Text<'a>,
}

impl MessageOrigin<'_> {
    /// Returns the step of the root graph; none for subgraphs, which count their own steps.
    pub fn root_step(&self) -> Option<i64> {
        let is_root = !self.langgraph_checkpoint_ns.as_str().contains('|');
        self.langgraph_step.0.filter(|_| is_root)
    }

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

/// The identity of a tool call that a message requests.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct RequestedCall<'a> {
    pub id: Text<'a>,
    pub name: Text<'a>,
}

/// `additional_kwargs`: reasoning and refusals that some models put next to the content, and the usage in some states.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct AdditionalKwargs<'a> {
    pub reasoning_content: LongText<'a>,
    pub refusal: LongText<'a>,
    pub usage_metadata: Option<Peek<'a>>,
}

impl<'a> AdditionalKwargs<'a> {
    /// Parses the field. It is usually `{}`.
    pub fn read(raw: Option<Peek<'a>>) -> AdditionalKwargs<'a> {
        let raw = raw.filter(|raw| raw.text().len() > 2);
        raw.and_then(|raw| raw.read()).unwrap_or_default()
    }
}

/// Returns the name of the model in `response_metadata`, the provider's metadata, which is sent with the last chunk.
pub(crate) fn model_of(metadata: Peek<'_>) -> Option<Cow<'_, str>> {
    let names = metadata.pick(["model_name", "model"]).into_iter().flatten();
    let mut names = names.filter_map(Peek::string).map(bounded);
    names.find(|name| !name.is_empty())
}
