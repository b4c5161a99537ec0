//! Decodes the fields of an event: splits the name from its namespace, and scans the data just enough to know whether
//! it is JSON.

use crate::sse::framer::Block;
use crate::sse::interner::{EventNames, MAX_NAME, Namespace};
use crate::sse::parse::RawEvent;
use crate::{Data, Event, Seq};
use runtail_core::json;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::sync::Arc;

/// An event that has no position in the log yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The event name without its namespace.
    pub name: Arc<str>,
    pub ns: Namespace,
    /// The event's own id. Unlike in browsers, it is never inherited from an earlier event. Ids above 1 KiB are dropped,
    /// because no server could be asked to resume after one.
    pub id: Option<Arc<str>>,
    pub data: Data,
}

impl Decoded {
    /// Converts it to an event at this position in the log.
    pub fn at(self, seq: Seq, at: jiff::Timestamp, conn: u32, replayed: bool) -> Event {
        Event {
            seq,
            at,
            conn,
            replayed,
            name: self.name,
            ns: self.ns,
            id: self.id,
            data: self.data,
        }
    }
}

/// Maximum length of the remembered end of a pair, in bytes.
const MAX_TAIL_LEN: usize = 64 << 10;

/// Decodes the blocks of a stream.
#[derive(Debug, Default)]
pub struct Decoder {
    names: EventNames,
    /// The newest id. Shared, because the Python server uses one id for all events of a millisecond.
    id: Option<Arc<str>>,
    /// The end of the newest `[message, metadata]` pair. Every token repeats the same metadata, so it need not be
    /// parsed again.
    tail: Box<str>,
}

impl Decoder {
    /// Decodes one block. A block without data is not an event.
    pub fn decode(&mut self, block: Block) -> Option<Decoded> {
        RawEvent::parse(block).map(|event| self.decode_event(event))
    }

    pub fn decode_event(&mut self, event: RawEvent) -> Decoded {
        let [name, id, data] = [&event.name, &event.id, &event.data].map(|field| text(field));
        let (name, ns) = self.names.split(&name);
        let id = self.shared_id(&id);
        let data = if event.dropped > 0 {
            let size = data.len() as u64 + event.dropped;
            Data::TooLarge {
                size,
                head: data.trim_end_matches('\u{fffd}').into(),
            }
        } else if self.is_json(&data) {
            Data::Json(data.into())
        } else {
            json::repaired(&data).map_or_else(
                || Data::Malformed((*data).into()),
                |json| Data::Json(json.into()),
            )
        };
        Decoded { name, ns, id, data }
    }

    /// Returns whether a text is a single JSON value.
    fn is_json(&mut self, text: &str) -> bool {
        let Some(inner) = text.strip_prefix('[') else {
            return json::is_valid(text);
        };
        // If the text before the known tail is one valid value, the whole text is valid.
        if !self.tail.is_empty() && inner.strip_suffix(&*self.tail).is_some_and(json::is_valid) {
            return true;
        }
        if !json::is_valid(text) {
            return false;
        }
        let mut first = serde_json::Deserializer::from_str(inner).into_iter::<IgnoredAny>();
        if let Some(Ok(_)) = first.next()
            && let Some(tail) = inner
                .get(first.byte_offset()..)
                .filter(|tail| tail.len() <= MAX_TAIL_LEN)
            && tail.starts_with(',')
            && *tail != *self.tail
        {
            self.tail = tail.into();
        }
        true
    }

    fn shared_id(&mut self, id: &str) -> Option<Arc<str>> {
        if id.is_empty() || id.len() > MAX_NAME {
            return None;
        }
        if self.id.as_deref() != Some(id) {
            self.id = Some(id.into());
        }
        self.id.clone()
    }
}

/// Decodes UTF-8 lossily.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    // The lossy function is several times slower if there is nothing to replace.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn decode(text: &[u8]) -> Option<Decoded> {
        Decoder::default().decode(Block {
            bytes: Bytes::copy_from_slice(text),
            dropped: 0,
        })
    }

    #[test]
    fn names_namespaces_and_ids_are_decoded() {
        let event =
            decode(b"event: values|sub:1|inner:2\r\ndata: {\"a\":1}\r\nid: 7-0\r\n").unwrap();
        assert_eq!(&*event.name, "values");
        assert_eq!(
            event.ns.iter().map(|s| &**s).collect::<Vec<_>>(),
            ["sub:1", "inner:2"]
        );
        assert_eq!(
            (event.id.as_deref(), &**event.data.text()),
            (Some("7-0"), "{\"a\":1}")
        );
        let event = decode(b"data:1\r").unwrap();
        assert_eq!(
            (&*event.name, event.id.as_deref(), event.ns.len()),
            ("message", None, 0)
        );
        assert_eq!(decode(b"event: x\nid: 1\n"), None);
    }

    #[test]
    fn names_and_ids_are_bounded() {
        let long = "x".repeat(MAX_NAME + 1);
        let event =
            decode(format!("event: {long}|{long}\nid: {long}\ndata: 1\n").as_bytes()).unwrap();
        assert_eq!(
            (event.name.len(), event.ns[0].len(), event.id),
            (MAX_NAME, MAX_NAME, None)
        );
        let event = decode(format!("id: {}\ndata: 1\n", &long[1..]).as_bytes()).unwrap();
        assert_eq!(event.id.as_deref(), Some(&long[1..]));
    }

    #[test]
    fn invalid_json_is_kept_as_text() {
        assert_eq!(
            decode(b"data: {oops\n").unwrap().data,
            Data::Malformed("{oops".into())
        );
        assert_eq!(decode(b"data\n").unwrap().data, Data::Malformed("".into()));
        assert_eq!(
            decode(b"data: {\"a\":\ndata: 1}\n").unwrap().data,
            Data::Json("{\"a\":\n1}".into())
        );
        assert_eq!(
            decode(b"data: \"\xff\"\n").unwrap().data,
            Data::Json("\"\u{fffd}\"".into())
        );
        assert_eq!(
            decode("\u{feff}data: 1\ndata: 2\n".as_bytes())
                .unwrap()
                .data,
            Data::Json("2".into())
        );
    }

    #[test]
    fn a_known_pair_end_does_not_hide_invalid_json() {
        let mut decoder = Decoder::default();
        let mut json = |data: &str| decoder.is_json(data);
        assert!(
            json(r#"[{"content":"a"},{"node":"n"}]"#) && json(r#"[{"content":"b]"},{"node":"n"}]"#)
        );
        let invalid = [
            "[,{\"node\":\"n\"}]",
            "[1 2,{\"node\":\"n\"}]",
            "[{,{\"node\":\"n\"}]",
            "[\"a,{\"node\":\"n\"}]",
        ];
        assert!(invalid.into_iter().all(|text| !json(text)));
        assert!(
            json(r#"[1,2,{"node":"n"}]"#)
                && json(r#"[["x"],{"node":"n"}]"#)
                && json("[]")
                && json("[1]")
        );
    }

    #[test]
    fn deep_nesting_is_harmless() {
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert!(json::is_valid(&deep));
        assert!(!json::is_valid(&deep[1..]));
    }
}
