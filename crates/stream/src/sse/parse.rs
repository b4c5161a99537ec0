//! Parses a block of lines into the fields of an event.
//!
//! The crate `eventsource-stream` defines what a block means. Agent servers only send blocks with `event`, `data` and optionally
//! `id`, one line each. Such a block is parsed in place, because the crate takes as long for one block as all other steps
//! together; every other block goes through the crate. Tests check that both parsers agree on blocks of that shape
//! (`both_parsers_agree` below), and that every captured block has it (`tests/state/captures.rs`).

use crate::sse::framer::Block;
use bytes::Bytes;
use eventsource_stream::EventStream;
use futures::{FutureExt, StreamExt, stream};
use std::convert::Infallible;
use std::pin::pin;

/// The name of an event without one (WHATWG HTML, 9.2.6).
const DEFAULT_NAME: &[u8] = b"message";

/// The fields of an event as received. Texts are expected to be UTF-8, but a server may send other bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct RawEvent {
    /// The name with its namespace: `NAME|SEGMENT|SEGMENT`.
    pub name: Bytes,
    /// The event's own id, or empty. Unlike in browsers, it is never inherited from an earlier event.
    pub id: Bytes,
    /// The data, its lines joined with line feeds.
    pub data: Bytes,
    /// Bytes of data dropped because the event exceeded the limit.
    pub dropped: u64,
    /// Whether the block had the shape that is parsed in place.
    pub is_canonical: bool,
}

impl RawEvent {
    /// Parses a block. A block without data is not an event (WHATWG HTML, 9.2.6).
    pub fn parse(block: Block) -> Option<RawEvent> {
        let Block { bytes, dropped } = block;
        let mut event = canonical(&bytes).or_else(|| general(&bytes))?;
        event.dropped = dropped;
        Some(event)
    }

    /// Returns the name without its namespace.
    pub fn base_name(&self) -> &[u8] {
        let end = memchr::memchr(b'|', &self.name).unwrap_or(self.name.len());
        &self.name[..end]
    }
}

/// Parses `event: NAME⏎ data: DATA⏎ [id: ID⏎]`, with LF or CR LF. Returns nothing for any other block.
fn canonical(block: &Bytes) -> Option<RawEvent> {
    let (name, at) = line(block, 0, b"event: ")?;
    let (data, at) = line(block, at, b"data: ")?;
    let (id, at) = if at == block.len() {
        (Bytes::new(), at)
    } else {
        line(block, at, b"id: ")?
    };
    let is_whole = at == block.len() && !name.is_empty() && !id.contains(&0);
    is_whole.then_some(RawEvent {
        name,
        id,
        data,
        dropped: 0,
        is_canonical: true,
    })
}

/// Returns the rest of a line that begins with a prefix, and where the next line begins.
fn line(block: &Bytes, at: usize, prefix: &[u8]) -> Option<(Bytes, usize)> {
    let text = block[at..].strip_prefix(prefix)?;
    let length = memchr::memchr2(b'\r', b'\n', text)?;
    let end = if text[length] == b'\n' {
        1
    } else {
        text[length..].starts_with(b"\r\n").then_some(2)?
    };
    let start = at + prefix.len();
    Some((block.slice(start..start + length), start + length + end))
}

/// Parses a block with `eventsource-stream`.
fn general(block: &[u8]) -> Option<RawEvent> {
    // The crate drops an event that is not UTF-8.
    let text = String::from_utf8_lossy(block);
    // A leading comment keeps a U+FEFF from being taken for a byte order mark, on which the crate panics (0.2.3 slices the text
    // inside the character). The crate copies the rest of its input after each line, so it gets the block line by line.
    let lines = Lines(&text).flat_map(|line| [line, "\n"]);
    let pieces = [":\n"]
        .into_iter()
        .chain(lines)
        .chain(["\n"])
        .map(Ok::<_, Infallible>);
    let mut events = pin!(EventStream::new(stream::iter(pieces)));
    let event = events.next().now_or_never()??.ok()?;
    let name = if event.event.is_empty() {
        Bytes::from_static(DEFAULT_NAME)
    } else {
        event.event.into()
    };
    Some(RawEvent {
        name,
        id: event.id.into(),
        data: event.data.into(),
        dropped: 0,
        is_canonical: false,
    })
}

/// The lines of a text, ended by CR LF, LF or CR. A last line may have no end.
struct Lines<'a>(&'a str);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.0.is_empty() {
            return None;
        }
        let end = memchr::memchr2(b'\r', b'\n', self.0.as_bytes()).unwrap_or(self.0.len());
        let (line, rest) = self.0.split_at(end);
        self.0 = rest
            .strip_prefix("\r\n")
            .or_else(|| rest.get(1..))
            .unwrap_or_default();
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Option<RawEvent> {
        RawEvent::parse(Block {
            bytes: Bytes::copy_from_slice(text.as_bytes()),
            dropped: 0,
        })
    }

    #[test]
    fn canonical_blocks_are_parsed_in_place() {
        for text in [
            "event: values|a:1\ndata: {}\nid: 1-0\n",
            "event: values|a:1\r\ndata: {}\r\nid: 1-0\r\n",
        ] {
            let event = parsed(text).unwrap();
            assert!(event.is_canonical, "{text:?}");
            assert_eq!(
                (event.base_name(), &*event.id, &*event.data),
                (&b"values"[..], &b"1-0"[..], &b"{}"[..])
            );
        }
        assert!(parsed("event: x\ndata: 1\n").unwrap().is_canonical);
        for other in [
            "data: 1\n",
            "event: x\ndata:1\n",
            "event: x\ndata: 1\ndata: 2\n",
            "id: 1\nevent: x\ndata: 1\n",
            "event: x\rdata: 1\r",
        ] {
            assert!(!parsed(other).unwrap().is_canonical, "{other:?}");
        }
    }

    #[test]
    fn other_blocks_use_the_general_parser() {
        let event = parsed("\u{feff}data: 0\ndata: 1\n: comment\ndata:2\nid\nevent:\n").unwrap();
        assert_eq!(
            (&*event.name, &*event.id, &*event.data),
            (&b"message"[..], &b""[..], &b"1\n2"[..])
        );
        assert_eq!(
            parsed("event: x\nid: 1\n"),
            None,
            "a block without data is not an event"
        );
        assert_eq!(&*parsed("data\n").unwrap().data, b"");
        assert!(parsed("id: a\0b\ndata: 1\n").unwrap().id.is_empty());
    }

    #[test]
    fn parsing_many_lines_is_linear() {
        let block = "data: x\n".repeat(200_000);
        assert_eq!(parsed(&block).unwrap().data.len(), 2 * 200_000 - 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn both_parsers_agree(
            values in prop::collection::vec("[ -~é日\u{feff}\0|:]{0,12}", 3),
            has_id: bool,
            end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
            extra in prop::sample::select(vec!["", "", "", ": beat", "retry: 5", "data: more", "id", "other"]),
        ) {
            let mut lines = vec![format!("event: {}", values[0]), format!("data: {}", values[1])];
            lines.extend(has_id.then(|| format!("id: {}", values[2])));
            lines.extend((!extra.is_empty()).then(|| extra.to_string()));
            let block = Bytes::from(lines.iter().map(|line| format!("{line}{end}")).collect::<String>());
            if let Some(read) = canonical(&block) {
                let by_crate = general(&block).map(|event| RawEvent { is_canonical: true, ..event });
                prop_assert_eq!(Some(read), by_crate);
            } else {
                let has_shape = extra.is_empty() && end != "\r" && !values[0].is_empty() && !(has_id && values[2].contains('\0'));
                prop_assert!(!has_shape, "{:?} was not recognized", block);
            }
        }
    }
}
