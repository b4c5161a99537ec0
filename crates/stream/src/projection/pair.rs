//! A message with what comes beside it, `[message, metadata]`: read once for all projections. The metadata is mostly that of
//! the token before, a kilobyte that is not read again.

use super::wire::{Number, Payload, Text};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A message, or a piece of one.
#[derive(Deserialize, Default)]
pub(super) struct MessageIn<'a> {
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

/// Where a message or a call comes from.
#[derive(Debug, Clone, Deserialize, Default)]
pub(super) struct OriginIn<'a> {
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

impl OriginIn<'_> {
    fn into_owned(self) -> OriginIn<'static> {
        let own = |text: Text<'_>| Text(text.0.map(|text| Cow::Owned(text.into_owned())));
        OriginIn {
            langgraph_node: own(self.langgraph_node),
            langgraph_step: self.langgraph_step,
            langgraph_checkpoint_ns: own(self.langgraph_checkpoint_ns),
            ls_model_name: own(self.ls_model_name),
            run_id: own(self.run_id),
        }
    }
}

/// A message with what comes beside it.
pub(super) struct Pair<'a> {
    /// The message.
    pub message: MessageIn<'a>,
    /// Where it comes from.
    pub origin: &'a OriginIn<'static>,
}

/// Most bytes of metadata that are kept.
const LONGEST: usize = 64 << 10;

/// The metadata that came last, as text and as it was read.
#[derive(Debug, Clone, Default)]
pub(super) struct Metadata {
    text: String,
    origin: OriginIn<'static>,
}

impl<'a> Payload<'a> {
    /// Reads the message and what comes beside it, where this is such a pair.
    pub fn paired(mut self, known: &'a mut Metadata) -> Payload<'a> {
        if self.name == "messages" && !self.enveloped {
            self.pair = self.json.and_then(|json| read(json, known));
        }
        self
    }
}

fn read<'a>(json: &'a str, known: &'a mut Metadata) -> Option<Pair<'a>> {
    let inner = json.trim_start().strip_prefix('[')?;
    let mut values = serde_json::Deserializer::from_str(inner).into_iter();
    let message = values.next()?.ok()?;
    let rest = inner[values.byte_offset()..].trim_start().strip_prefix(',')?.trim_end().strip_suffix(']')?;
    if rest != known.text || rest.is_empty() {
        known.origin = serde_json::from_str::<OriginIn<'_>>(rest).ok()?.into_owned();
        // One that is too large to be kept is read each time.
        let kept = if rest.len() <= LONGEST { rest } else { "" };
        kept.clone_into(&mut known.text);
    }
    Some(Pair { message, origin: &known.origin })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_like_before_is_not_read_again_and_what_is_not_is() {
        let mut known = Metadata::default();
        let mut node = |json: &str| read(json, &mut known).map(|pair| pair.origin.langgraph_node.as_str().to_string());
        assert_eq!(node(r#" [ {"id":"a"} , {"langgraph_node":"x"} ] "#).as_deref(), Some("x"));
        assert_eq!(node(r#"[{"id":"a"},{"langgraph_node":"x"} ]"#).as_deref(), Some("x"));
        assert_eq!(node(r#"[{"id":"a"},{"langgraph_node":"y"}]"#).as_deref(), Some("y"));
        for broken in [r#"[{"id":"a"}]"#, r#"[{"id":"a"},7]"#, r#"[{"id":"a"},{},{}]"#, r#"["a",{}]"#, "{}", "[]", "["]
        {
            assert_eq!(node(broken), None, "{broken}");
        }
        assert_eq!(node(r#"[{"id":"a"},{"langgraph_node":"y"}]"#).as_deref(), Some("y"));
    }
}
