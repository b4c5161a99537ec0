//! `messages`: a message with its metadata, `[message, metadata]`. Most events of a stream are such pairs. The metadata, about a
//! kilobyte, usually equals that of the previous token and is then not parsed again.

use super::{MessageOrigin, MessagePayload};
use runtail_core::json;

/// A message and its metadata.
pub(crate) struct MessagePair<'a> {
    pub message: MessagePayload<'a>,
    pub origin: &'a MessageOrigin<'static>,
}

/// Maximum size of remembered metadata, in bytes.
const MAX_METADATA: usize = 64 << 10;

/// The metadata of the previous pair, as text and parsed.
#[derive(Debug, Clone, Default)]
pub(crate) struct PairMetadata {
    text: String,
    origin: MessageOrigin<'static>,
}

/// Parses a pair. Returns nothing if the text is not one.
pub(super) fn read<'a>(json: &'a str, known: &'a mut PairMetadata) -> Option<MessagePair<'a>> {
    let inner = json.trim_start().strip_prefix('[')?;
    let mut values = serde_json::Deserializer::from_str(inner).into_iter();
    let message = values.next()?.ok()?;
    let rest = inner[values.byte_offset()..]
        .trim_start()
        .strip_prefix(',')?
        .trim_end()
        .strip_suffix(']')?;
    if rest != known.text || rest.is_empty() {
        known.origin = json::from_str::<MessageOrigin<'_>>(rest).ok()?.into_owned();
        // Metadata above the limit is parsed each time.
        let remembered = if rest.len() <= MAX_METADATA { rest } else { "" };
        remembered.clone_into(&mut known.text);
    }
    Some(MessagePair {
        message,
        origin: &known.origin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_metadata_is_not_parsed_again() {
        let mut known = PairMetadata::default();
        let mut node = |json: &str| {
            read(json, &mut known).map(|pair| pair.origin.langgraph_node.as_str().to_string())
        };
        assert_eq!(
            node(r#" [ {"id":"a"} , {"langgraph_node":"x"} ] "#).as_deref(),
            Some("x")
        );
        assert_eq!(
            node(r#"[{"id":"a"},{"langgraph_node":"x"} ]"#).as_deref(),
            Some("x")
        );
        assert_eq!(
            node(r#"[{"id":"a"},{"langgraph_node":"y"}]"#).as_deref(),
            Some("y")
        );
        for broken in [
            r#"[{"id":"a"}]"#,
            r#"[{"id":"a"},7]"#,
            r#"[{"id":"a"},{},{}]"#,
            r#"["a",{}]"#,
            "{}",
            "[]",
            "[",
        ] {
            assert_eq!(node(broken), None, "{broken}");
        }
        assert_eq!(
            node(r#"[{"id":"a"},{"langgraph_node":"y"}]"#).as_deref(),
            Some("y")
        );
    }
}
