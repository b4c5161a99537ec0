//! From a block of fields to an event: the crate `eventsource-stream` reads the fields, one whole block at a time; here
//! the name is split from its namespace and the data is looked at just enough to know whether it is JSON.

use super::framer::Block;
use super::names::{EventNames, Namespace};
use super::{Data, Event};
use bytes::Bytes;
use eventsource_stream::EventStream;
use futures::Stream;
use futures::stream;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// An event that has no place on a tape yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// Its name without the namespace.
    pub name: Arc<str>,
    /// Its namespace.
    pub ns: Namespace,
    /// Its own id. One that merely lasts from an earlier event, as in a browser, is not its own.
    pub id: Option<Arc<str>>,
    /// Its payload.
    pub data: Data,
}

impl Decoded {
    /// Gives it its place.
    pub fn at(self, seq: u64, at: jiff::Timestamp, conn: u32) -> Event {
        Event { seq, at, conn, name: self.name, ns: self.ns, id: self.id, data: self.data }
    }
}

/// Decodes the blocks of a stream.
#[derive(Debug, Default)]
pub struct Decoder {
    names: EventNames,
}

impl Decoder {
    /// Decodes one block. A block without data is no event, says the standard.
    pub fn decode(&mut self, block: Block) -> Option<Decoded> {
        let Block { bytes, dropped } = block;
        let bytes = match String::from_utf8_lossy(&bytes) {
            Cow::Borrowed(_) => bytes,
            Cow::Owned(text) => Bytes::from(text),
        };
        let fields = fields(bytes)?;
        let (name, ns) = self.names.split(&fields.event);
        let id = (!fields.id.is_empty()).then(|| fields.id.into());
        let data = if dropped > 0 {
            let size = fields.data.len() as u64 + dropped;
            Data::TooLarge { size, head: fields.data.trim_end_matches('\u{fffd}').into() }
        } else if is_json(&fields.data) {
            Data::Json(fields.data.into())
        } else {
            Data::Malformed(fields.data.into())
        };
        Some(Decoded { name, ns, id, data })
    }
}

/// Whether a text is one JSON value. Neither builds it nor recurses: a million brackets are as harmless as none.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Reads the fields of a whole block.
fn fields(block: Bytes) -> Option<eventsource_stream::Event> {
    // The crate takes a byte order mark at the start of what it is given for that of a stream (and panics): behind an
    // empty line it is what it is, the odd first letter of a field's name.
    let lead = if block.starts_with(b"\xef\xbb\xbf") { Bytes::from_static(b"\n") } else { Bytes::new() };
    // The last line may end with CR alone, which the next LF completes; the one after it is the blank line.
    let close = Bytes::from_static(b"\n\n");
    let parts = [lead, block, close].into_iter().filter(|b| !b.is_empty()).map(Ok::<_, Infallible>);
    let mut events = EventStream::new(stream::iter(parts));
    match Pin::new(&mut events).poll_next(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Some(Ok(event))) => Some(event),
        // Whole lines of valid UTF-8 always parse, and whole input is never pending.
        Poll::Ready(Some(Err(_)) | None) | Poll::Pending => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(text: &[u8]) -> Option<Decoded> {
        Decoder::default().decode(Block { bytes: Bytes::copy_from_slice(text), dropped: 0 })
    }

    #[test]
    fn names_namespaces_and_ids() {
        let event = decode(b"event: values|sub:1|inner:2\r\ndata: {\"a\":1}\r\nid: 7-0\r\n").unwrap();
        assert_eq!(&*event.name, "values");
        assert_eq!(event.ns.iter().map(|s| &**s).collect::<Vec<_>>(), ["sub:1", "inner:2"]);
        assert_eq!((event.id.as_deref(), &**event.data.text()), (Some("7-0"), "{\"a\":1}"));
        let event = decode(b"data:1\r").unwrap();
        assert_eq!((&*event.name, event.id.as_deref(), event.ns.len()), ("message", None, 0));
        assert_eq!(decode(b"event: x\nid: 1\n"), None);
    }

    #[test]
    fn what_is_not_json_is_kept_as_text() {
        assert_eq!(decode(b"data: {oops\n").unwrap().data, Data::Malformed("{oops".into()));
        assert_eq!(decode(b"data\n").unwrap().data, Data::Malformed("".into()));
        assert_eq!(decode(b"data: {\"a\":\ndata: 1}\n").unwrap().data, Data::Json("{\"a\":\n1}".into()));
        assert_eq!(decode(b"data: \"\xff\"\n").unwrap().data, Data::Json("\"\u{fffd}\"".into()));
        assert_eq!(decode("\u{feff}data: 1\ndata: 2\n".as_bytes()).unwrap().data, Data::Json("2".into()));
    }

    #[test]
    fn depth_is_no_danger() {
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert!(is_json(&deep));
        assert!(!is_json(&deep[1..]));
    }
}
