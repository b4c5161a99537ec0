//! Compares two decoders of server-sent events: ours, fed in random chunks, and one written from the standard alone.

use crate::entries::oracle;
use bytes::Bytes;
use proptest::prelude::*;
use runtail_stream::{Decoded, Decoder, Frame, Framer};

/// Fragments of streams, valid and malformed, and random bytes.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&[u8]> = vec![
        b"data",
        b"event",
        b"id",
        b"retry",
        b":",
        b": ",
        b":  ",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\r\r",
        b"\r\n\r\n",
        b"\xef\xbb\xbf",
        b"\0",
        b"{\"a\":1}",
        b"[",
        b"\"",
        b"values|sub:1",
        b"|",
        b" ",
        b"\t",
        b"data: x\n\n",
        b"id: 1-0\n",
        b": beat\n\n",
        b"\xe2\x80\xa8",
        b"\xff",
        b"\xc3",
        b"\xf0\x9f",
        "é日".as_bytes(),
        b"\x0b",
        b"\x85",
    ];
    let known: Vec<Vec<u8>> = known.into_iter().map(<[u8]>::to_vec).collect();
    prop_oneof![8 => prop::sample::select(known), 1 => prop::collection::vec(any::<u8>(), 0..8)]
}

/// Returns an event as the other decoder has it.
pub(crate) fn oracle_event(event: &Decoded) -> oracle::Event {
    let name = std::iter::once(&event.name).chain(event.ns.iter());
    oracle::Event {
        name: name.map(|part| &**part).collect::<Vec<_>>().join("|"),
        data: event.data.text().to_string(),
        id: event.id.as_deref().map(str::to_string),
    }
}

fn read(bytes: &[u8], cuts: &[prop::sample::Index]) -> (Vec<oracle::Event>, usize) {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    let (mut framer, mut decoder) = (Framer::new(1 << 20), Decoder::default());
    let (mut events, mut comments) = (Vec::new(), 0);
    for ends in places.windows(2) {
        framer.push(Bytes::copy_from_slice(&bytes[ends[0]..ends[1]]));
        while let Some(frame) = framer.next_frame() {
            match frame {
                Frame::Comment => comments += 1,
                Frame::Block(block) => {
                    events.extend(decoder.decode(block).map(|event| oracle_event(&event)))
                }
            }
        }
    }
    (events, comments)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn random_chunks_are_decoded_per_the_sse_standard(
        pieces in prop::collection::vec(piece(), 0..40),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let bytes = pieces.concat();
        let expected = oracle::events(&bytes);
        let (events, comments) = read(&bytes, &cuts);
        prop_assert_eq!(events, expected.events);
        prop_assert_eq!(comments, expected.comments);
    }
}

/// Decodes a whole stream with the `eventsource-stream` crate.
fn decode_with_eventsource_stream(text: &str) -> Vec<(String, String)> {
    let whole =
        futures::stream::iter([Ok::<_, std::convert::Infallible>(text.as_bytes().to_vec())]);
    let events = eventsource_stream::EventStream::new(whole);
    futures::executor::block_on_stream(Box::pin(events))
        .filter_map(Result::ok)
        .map(|e| (e.event, e.data))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn text_is_decoded_like_eventsource_stream(
        lines in prop::collection::vec(prop::sample::select(vec![
            "data: 1", "data:2", "data", "data:  x ", "data: {\"a\":1}", "data: é日", "event: values", "event:x|sub:1", "event", "id: 1-0", "id",
            "retry: 5", ": beat", ":", "other: x", "other", "datax: 1", " data: 1", "",
        ]), 0..40),
        end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
    ) {
        // The crate accepts a CR at the end only if another byte follows.
        let text = lines.join(end) + end + end + "\n";
        let (events, _) = read(text.as_bytes(), &[]);
        let ours: Vec<_> = events.into_iter().map(|event| (event.name, event.data)).collect();
        prop_assert_eq!(ours, decode_with_eventsource_stream(&text));
    }
}
