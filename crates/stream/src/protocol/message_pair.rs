//! `messages`: a message with its metadata, `[message, metadata]`. Most events of a stream are such pairs, and the metadata is
//! mostly that of the token before, a kilobyte that is not parsed again.

use super::{MessageOrigin, MessagePayload};

/// A message and its metadata.
pub(crate) struct MessagePair<'a> {
    pub message: MessagePayload<'a>,
    /// Where it comes from.
    pub origin: &'a MessageOrigin<'static>,
}

/// Most bytes of metadata that are kept.
const LONGEST: usize = 64 << 10;

/// The metadata that came last, as text and as it was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct PairMetadata {
    text: String,
    origin: MessageOrigin<'static>,
}

/// Reads a pair; nothing where the text is none.
pub(super) fn read<'a>(json: &'a str, known: &'a mut PairMetadata) -> Option<MessagePair<'a>> {
    let inner = json.trim_start().strip_prefix('[')?;
    let mut values = serde_json::Deserializer::from_str(inner).into_iter();
    let message = values.next()?.ok()?;
    let rest = inner[values.byte_offset()..].trim_start().strip_prefix(',')?.trim_end().strip_suffix(']')?;
    if rest != known.text || rest.is_empty() {
        known.origin = serde_json::from_str::<MessageOrigin<'_>>(rest).ok()?.into_owned();
        // One that is too large to be kept is read each time.
        let kept = if rest.len() <= LONGEST { rest } else { "" };
        kept.clone_into(&mut known.text);
    }
    Some(MessagePair { message, origin: &known.origin })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_metadata_is_not_parsed_again() {
        let mut known = PairMetadata::default();
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
