//! Real streams, captured from the Python, JavaScript and Aegra servers: nothing is lost in decoding, however the bytes
//! are cut, and messages come out once, whatever told of them.

use bytes::Bytes;
use proptest::prelude::*;
use runtail_stream::projection::{LifecycleKind, Message, Projections, Role};
use runtail_stream::{Decoded, Decoder, Event, Frame, Framer, Item, RawEvent, Record, Seq};
use runtail_testkit::final_state;
use runtail_testkit::final_state::Held;
use runtail_testkit::projected::{project, shown};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

/// The body of every capture, by name.
static CAPTURES: LazyLock<BTreeMap<String, Bytes>> = LazyLock::new(|| {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let captures = files.filter(|path| path.extension().is_some_and(|e| e == "sse"));
    captures
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_string(), std::fs::read(path).unwrap().into()))
        .collect()
});

fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Decoded>, usize) {
    let (mut framer, mut decoder) = (Framer::new(64 << 20), Decoder::default());
    let (mut events, mut comments) = (Vec::new(), 0);
    for chunk in chunks {
        framer.push(Bytes::copy_from_slice(chunk));
        while let Some(frame) = framer.next_frame() {
            match frame {
                Frame::Comment => comments += 1,
                Frame::Block(block) => events.extend(decoder.decode(block)),
            }
        }
    }
    (events, comments)
}

/// Agent servers of all three kinds send one shape of block, which is read without a copy. This fails when one doesn't, or when
/// the shape is no longer recognized.
#[test]
fn every_captured_block_has_the_shape_that_is_read_in_place() {
    let (mut canonical, mut others) = (0, Vec::new());
    // One begins with the head of its answer.
    for (name, bytes) in CAPTURES.iter().filter(|(_, bytes)| !bytes.starts_with(b"HTTP/")) {
        let mut framer = Framer::new(64 << 20);
        framer.push(bytes.clone());
        while let Some(frame) = framer.next_frame() {
            match frame {
                Frame::Block(block) => match RawEvent::parse(block.clone()) {
                    Some(event) if event.is_canonical => canonical += 1,
                    _ => others.push((name, block)),
                },
                Frame::Comment => {}
            }
        }
    }
    assert!(others.is_empty() && canonical > 1300, "{canonical} {others:?}");
}

/// A decoder of its own make: splits lines and knows nothing of chunks, caps or JSON.
fn plain_decode(body: &[u8]) -> Vec<(String, Option<String>, String)> {
    let text = String::from_utf8_lossy(body).replace("\r\n", "\n").replace('\r', "\n");
    let Some(end) = text.rfind("\n\n") else { return Vec::new() };
    let blocks = text[..end].split("\n\n");
    let field = |block: &str, name: &str| -> Vec<String> {
        let line = |l: &str| {
            l.strip_prefix(name).and_then(|l| l.strip_prefix(':')).map(|v| v.strip_prefix(' ').unwrap_or(v).to_string())
        };
        block.lines().filter_map(line).collect()
    };
    let event = |block: &str| {
        let data = field(block, "data");
        let name = field(block, "event").pop().unwrap_or("message".into());
        (!data.is_empty()).then(|| (name, field(block, "id").pop(), data.join("\n")))
    };
    blocks.filter_map(event).collect()
}

fn flat(events: &[Decoded]) -> Vec<(String, Option<String>, String)> {
    let full = |e: &Decoded| std::iter::once(&e.name).chain(e.ns.iter()).map(|s| &**s).collect::<Vec<_>>().join("|");
    events.iter().map(|e| (full(e), e.id.as_deref().map(String::from), e.data.text().to_string())).collect()
}

fn is_stream(body: &[u8]) -> bool {
    [&b"event:"[..], b": heartbeat", b"id:"].iter().any(|start| body.starts_with(start))
}

#[test]
fn every_capture_decodes_without_a_loss() {
    assert!(CAPTURES.len() >= 245);
    let mut total = 0;
    for (name, body) in CAPTURES.iter() {
        let (events, _) = decode([&body[..]]);
        assert_eq!(flat(&events), plain_decode(body), "{name}");
        total += events.len();
        if is_stream(body) {
            assert!(events.iter().all(|e| e.data.json().is_some()), "{name}: data that is no JSON");
        }
    }
    assert!(total > 1000, "{total}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn chunks_and_line_ends_make_no_difference(
        which in any::<prop::sample::Index>(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..40),
        end in 0usize..4,
        bom in any::<bool>(),
    ) {
        let streams: Vec<&Bytes> = CAPTURES.values().filter(|b| is_stream(b) && b.len() < 60_000).collect();
        let body = which.get(&streams);
        let (expected, comments) = decode([&body[..]]);
        let mut bytes = body.to_vec();
        if end > 0 {
            let text = String::from_utf8(bytes).unwrap().replace("\r\n", "\n");
            bytes = text.replace('\n', ["\n", "\r", "\r\n"][end - 1]).into_bytes();
        }
        if bom {
            bytes.splice(0..0, *b"\xef\xbb\xbf");
        }
        let mut at: Vec<usize> = cuts.iter().map(|c| c.index(bytes.len())).collect();
        at.extend([0, bytes.len()]);
        at.sort();
        let found = decode(at.windows(2).map(|w| &bytes[w[0]..w[1]]));
        prop_assert_eq!(found, (expected, comments));
    }

    #[test]
    fn random_bytes_never_panic(
        bytes in proptest::collection::vec(prop_oneof![
            4 => Just(b'\n'), 2 => Just(b'\r'), 2 => Just(b':'), 1 => Just(b' '), 1 => Just(0xef), 1 => Just(0xbb), 1 => Just(0xbf),
            1 => Just(b'd'), 1 => Just(b'a'), 1 => Just(b't'), 3 => any::<u8>(),
        ], 0..400),
        size in 1usize..50,
    ) {
        let whole = decode([&bytes[..]]);
        prop_assert_eq!(decode(bytes.chunks(size)), whole);
    }

    /// On whole inputs without a byte order mark the crate alone is right, but for ids: there they last.
    #[test]
    fn agrees_with_the_crate(lines in proptest::collection::vec(
        prop_oneof!["data: ?[a-z:é ]{0,9}", "event: ?[a-z|]{0,5}", "id: ?[0-9]{1,3}", ":.{0,3}", "[a-z]{1,6}", Just(String::new()), Just(String::new())], 0..30,
    ), end in prop_oneof![Just("\n"), Just("\r\n")]) {
        use eventsource_stream::Eventsource;
        use futures::{FutureExt, StreamExt, stream};
        let text: String = lines.iter().map(|l| format!("{l}{end}")).collect();
        let body = stream::iter([Ok::<_, std::convert::Infallible>(text.clone())]);
        let theirs: Vec<_> = body.eventsource().map(|e| e.unwrap()).collect().now_or_never().unwrap();
        let theirs: Vec<_> = theirs.into_iter().map(|e| (e.event, e.data)).collect();
        let ours: Vec<_> = flat(&decode([text.as_bytes()]).0).into_iter().map(|(name, _, data)| (name, data)).collect();
        prop_assert_eq!(ours, theirs);
    }
}

fn events(name: &str) -> Vec<Event> {
    let decoded = decode([&CAPTURES[name][..]]).0;
    let at = jiff::Timestamp::UNIX_EPOCH;
    decoded.into_iter().zip(1..).map(|(e, seq)| e.at(Seq(seq), at, 1, false)).collect()
}

const LET: &str = "Ai chat@: Let me check. get_weather#call_1{\"city\": \"Kraków\"} 11+7=18";
const TOOL: &str = "Tool tools@: 21C sunny in Kraków ←call_1";
const IT: &str = "Ai chat@: It is 21 °C and sunny in Kraków ☀️ — bring 日焼け止め. 11+7=18";

fn lines(name: &str) -> Vec<String> {
    let projections = project(events(name));
    for message in projections.messages.items() {
        assert_eq!(message.text_at(Seq::MAX), message.text, "{name}");
        assert!(message.spans.iter().is_sorted(), "{name}: {:?}", message.spans);
    }
    shown(projections.messages.items())
}

#[test]
fn tokens_become_messages() {
    for name in ["agent-messages-tuple", "aegra-agent-messages-tuple"] {
        assert_eq!(lines(name), [LET, TOOL, IT], "{name}");
    }
    let js: Vec<_> =
        [LET, TOOL, IT].map(|l| l.replace("sunny in Kraków ←", "sunny ←").replace("止め. 11", "止め.  11")).into();
    assert_eq!(lines("js-agent-messages-tuple"), js);
}

#[test]
fn every_other_mode_gives_the_same_messages() {
    let compact = LET.replace(": \"Kr", ":\"Kr");
    let human = "Human -@: weather in Kraków?";
    for server in ["", "aegra-"] {
        assert_eq!(lines(&format!("{server}agent-messages")), [&compact, TOOL, IT]);
        assert_eq!(lines(&format!("{server}agent-updates")), [&compact, TOOL, IT]);
        let anonymous =
            [human.into(), compact.replace("chat@", "-@"), TOOL.replace("tools@", "-@"), IT.replace("chat@", "-@")];
        assert_eq!(lines(&format!("{server}agent-values")), anonymous);
    }
    // JavaScript announces no node for a tool's message, and tells of the input.
    let js = |l: &str| l.replace("sunny in Kraków ←", "sunny ←").replace("止め. 11", "止め.  11");
    assert_eq!(lines("js-agent-messages"), [human.into(), compact.clone(), js(TOOL).replace("tools@", "-@"), js(IT)]);
    assert_eq!(lines("js-agent-updates"), [compact, js(TOOL), js(IT)]);
}

#[test]
fn several_modes_and_subgraphs_do_not_double() {
    for name in ["fanout-many-subgraphs", "fanout-both-messages", "aegra-fanout-many"] {
        assert_eq!(lines(name), [IT.replace("chat@", "sub_b@sub")], "{name}");
    }
    assert_eq!(lines("fanout-many-nosub"), [IT.replace("chat@", "sub@")]);
    assert_eq!(lines("js-fanout-many"), [IT.replace("chat@", "sub_b@sub/sub_b").replace("止め. 11", "止め.  11")]);
    assert_eq!(lines("legacy-run-for-v2"), ["Human -@: hi", LET, TOOL, IT]);
}

/// JavaScript sends both dialects for one message when both are asked for.
#[test]
fn both_dialects_of_one_message_never_double_its_text() {
    let all = events("js-both-messages");
    let finished = project(all.clone());
    let last: BTreeMap<_, _> =
        finished.messages.items().iter().map(|m| (m.id.clone(), (m.text.clone(), m.tool_calls.len()))).collect();
    assert_eq!(last.len(), 4, "{last:?}");
    // Either dialect may be the first to tell of a message.
    let is_partial = |event: &Event| &*event.name == "messages/partial";
    for drops in [0, 3] {
        let mut left = drops;
        let mut some = all.clone();
        some.retain(|event| {
            let drop = left > 0 && is_partial(event);
            left -= u32::from(drop);
            !drop
        });
        let mut projections = Projections::default();
        for (mut event, seq) in some.into_iter().zip(1..) {
            event.seq = Seq(seq);
            projections.apply(&Item::Record(Record::Event(event)));
            for message in projections.messages.items() {
                let (text, calls) = &last[&message.id];
                assert!(text.starts_with(&message.text), "event {seq}: {:?}", message.text);
                assert!(message.tool_calls.len() <= *calls, "event {seq}: {:?}", message.tool_calls);
                assert_eq!(message.rewrites, 0, "event {seq}");
            }
        }
        let usage = |m: &Message| m.usage.map(|usage| usage.output);
        let told = |projections: &Projections| projections.messages.items().iter().map(usage).collect::<Vec<_>>();
        assert_eq!(told(&projections), told(&finished));
        assert!(told(&projections).iter().flatten().count() >= 2, "{:?}", told(&projections));
    }
}

#[test]
fn the_second_dialect_gives_the_same_messages() {
    let bare: Vec<_> = ["Human -@: hi", LET, TOOL, IT].map(|l| l.replace("chat@", "-@").replace("tools@", "-@")).into();
    assert_eq!(lines("legacy-stream-of-v2-run"), bare);
    assert_eq!(lines("v2-events-agent")[1..], bare[1..]);
}

/// The ids of one capture, given to another: the same run as if several modes had been asked for at once.
fn renamed(name: &str, ids: &[(String, String)]) -> Vec<Event> {
    let mut events = events(name);
    for event in &mut events {
        let mut text = event.data.text().to_string();
        for (from, to) in ids {
            text = text.replace(from.as_str(), to);
        }
        event.data = runtail_stream::Data::Json(text.into());
    }
    events
}

#[test]
fn whatever_combination_tells_of_a_message_it_is_one() {
    let names = ["agent-messages-tuple", "agent-messages", "agent-updates", "agent-values"];
    let ids = |name: &str| -> Vec<String> {
        let projections = project(events(name));
        let said = projections.messages.items().iter().filter(|m| m.role != Role::Human);
        said.map(|m| m.id.as_deref().unwrap().to_string()).collect()
    };
    let target = ids(names[0]);
    for mask in 1..16u32 {
        for suffix in ["", "-0"] {
            let chosen: Vec<_> =
                names.iter().enumerate().filter(|(i, _)| mask & (1 << i) != 0).map(|(_, n)| *n).collect();
            let mut all = Vec::new();
            for name in &chosen {
                let to = |id: &String| {
                    if name.contains("messages") || !id.starts_with("lc_run") {
                        id.clone()
                    } else {
                        format!("{id}{suffix}")
                    }
                };
                let pairs: Vec<_> = ids(name).into_iter().zip(target.iter().map(to)).collect();
                all.extend(renamed(name, &pairs));
            }
            for (event, seq) in all.iter_mut().zip(1..) {
                event.seq = Seq(seq);
            }
            let projections = project(all);
            let said: Vec<_> = projections.messages.items().iter().filter(|m| m.role != Role::Human).collect();
            let texts: Vec<_> = said.iter().map(|m| m.text.as_str()).collect();
            assert_eq!(
                texts,
                ["Let me check.", "21C sunny in Kraków", "It is 21 °C and sunny in Kraków ☀️ — bring 日焼け止め."],
                "{chosen:?}"
            );
            assert_eq!(said[0].tool_calls.len(), 1);
            assert!(said.iter().all(|m| m.complete), "{chosen:?}");
        }
    }
}

#[test]
fn the_past_of_a_message_is_a_look_up() {
    let projections = project(events("agent-messages-tuple"));
    let message = &projections.messages.items()[0];
    assert_eq!(
        (message.first_seq.0, message.text_at(Seq(1)), message.text_at(Seq(2)), message.text_at(Seq(3))),
        (2, "", "Let me ", "Let me check.")
    );
    assert_eq!(message.text_at(Seq(20)), "Let me check.");
    assert_eq!((projections.ledger.tokens, projections.ledger.received), (18, 24));
}

/// What was put together, in the form in which states hold it.
fn assembled(message: &Message) -> Held {
    let args = |args: &str| serde_json::from_str(args).unwrap_or(serde_json::Value::Null);
    Held {
        role: message.role.word().into(),
        id: message.id.as_deref().unwrap_or_default().into(),
        text: message.text.clone(),
        calls: message.tool_calls.iter().map(|c| (c.id.clone(), c.name.clone(), args(&c.args))).collect(),
        answers: message.tool_call_id.clone().unwrap_or_default(),
    }
}

/// The name of a capture without its mode: captures of one graph with one input differ in nothing else.
fn family(name: &str) -> &str {
    const MODES: [&str; 12] = [
        "messages-tuple",
        "messages-legacy-subgraphs",
        "both-messages",
        "many-subgraphs",
        "many-nosub",
        "debug-subgraphs",
        "many",
        "messages",
        "updates",
        "values",
        "debug",
        "checkpoints",
    ];
    let mode = MODES.iter().find_map(|mode| name.strip_suffix(mode)?.strip_suffix('-'));
    mode.unwrap_or(name)
}

#[test]
fn what_is_put_together_is_what_the_final_state_holds() {
    let streams: Vec<(&str, Vec<Event>)> =
        CAPTURES.iter().filter(|(_, b)| is_stream(b)).map(|(name, _)| (name.as_str(), events(name))).collect();
    let states: Vec<_> = streams.iter().map(|(_, events)| final_state::of(events)).collect();
    // How many were held against a state: their own, one of the same run, one of the same graph and input.
    let (mut own, mut same_run, mut same_graph) = (BTreeMap::<_, Vec<&str>>::new(), Vec::<&str>::new(), Vec::new());
    let mut alone = Vec::new();
    for (i, (name, events)) in streams.iter().enumerate() {
        let tells = events.iter().any(final_state::tells);
        let projections = project(events.clone());
        let said = |seq: Seq| -> Vec<Held> {
            let there = projections.messages.items().iter().filter(|m| m.existed_at(seq));
            there.map(assembled).collect()
        };
        let server = ["js-", "aegra-"].into_iter().find(|server| name.starts_with(server)).unwrap_or("python");
        if let Some((seq, held)) = states[i].as_ref().filter(|_| tells || !said(Seq::MAX).is_empty()) {
            assert_eq!(&said(*seq), held, "{name}");
            own.entry(server).or_default().push(*name);
            continue;
        }
        if !tells {
            continue;
        }
        let run = final_state::run(events);
        let of_run = |j: &usize| run.is_some() && final_state::run(&streams[*j].1) == run;
        let of_graph = |j: &usize| family(streams[*j].0) == family(name) && family(name) != *name;
        let known = |j: &usize| states[*j].is_some();
        let mut others = (0..streams.len()).filter(known);
        let sibling = others.clone().find(of_run).inspect(|_| same_run.push(*name));
        let sibling = sibling.or_else(|| others.find(of_graph).inspect(|_| same_graph.push(*name)));
        let Some((_, held)) = sibling.and_then(|j| states[j].as_ref()) else {
            alone.push(*name);
            continue;
        };
        // The input is told by some modes only; and another run has other ids.
        let bare = |held: &Held| (held.role.clone(), held.text.clone(), held.calls.clone(), held.answers.clone());
        let said: Vec<_> = said(Seq::MAX).iter().map(bare).collect();
        let input = held.iter().take_while(|m| m.role == "human").count();
        let from = if said.len() == held.len() { 0 } else { input };
        assert_eq!(said, held[from..].iter().map(bare).collect::<Vec<_>>(), "{name}");
    }
    // None may drop out unseen: whoever adds a capture says here what it was held against.
    let own: Vec<_> = own.iter().map(|(server, names)| (*server, names.len())).collect();
    assert_eq!(own, [("aegra-", 4), ("js-", 3), ("python", 21)]);
    assert_eq!((same_run.len(), same_graph.len()), (0, 11), "{same_graph:?}");
    let known = [
        "agent-resume-static",
        "broken-recursion",
        "compress-stream",
        "cors-stream",
        "js-both-messages",
        "js-fanout-many",
    ];
    assert_eq!(alone, [&known[..], &["js-firehose-cancel-resumable"]].concat(), "no state to hold them against");
}

#[test]
fn interrupts_are_told_once() {
    for (name, count) in [
        ("approval-interrupt", 1),
        ("approval-interrupt-values-only", 1),
        ("aegra-approval", 1),
        ("js-approval", 1),
        ("agent-interrupt-before", 1),
        ("thread-all-modes", 1),
    ] {
        let projections = project(events(name));
        let rows = projections.lifecycle.rows().iter().filter(|r| r.kind == LifecycleKind::Interrupt);
        assert_eq!(rows.count(), count, "{name}");
    }
}

#[test]
fn runs_of_a_thread_and_its_states() {
    let projections = project(events("thread-all-modes"));
    let kinds: Vec<_> = projections.lifecycle.rows().iter().map(|r| (r.seq.0, r.kind)).collect();
    use LifecycleKind::{Error, Interrupt, RunDone, RunInterrupted, RunStart};
    assert_eq!(
        kinds,
        [
            (1, RunStart),
            (10, RunDone),
            (12, RunStart),
            (14, Interrupt),
            (15, RunInterrupted),
            (16, RunStart),
            (19, Error),
            (20, RunDone)
        ]
    );
    assert_eq!(projections.lifecycle.rows()[6].text, "ValueError: boom: the node failed — détails");

    let values = projections.values.rows();
    let changed = |i: usize| values[i].keys.iter().filter(|k| k.changed).map(|k| &*k.name).collect::<Vec<_>>();
    assert_eq!(values.iter().map(|v| v.seq.0).collect::<Vec<_>>(), [2, 7, 9, 11, 13, 14, 17, 18]);
    assert_eq!(
        (changed(0), changed(1), changed(2), changed(3)),
        (vec!["topic", "notes", "messages"], vec!["notes", "messages"], vec!["notes"], vec!["notes"])
    );
    assert_eq!((values[4].interrupts, values[5].interrupts, changed(5)), (0, 1, vec![]));
    assert_eq!(projections.values.as_of(Seq(8)).unwrap().seq, Seq(7));

    let updates: Vec<_> = projections.updates.rows().iter().map(|u| (u.seq.0, &*u.node)).collect();
    assert_eq!(updates, [(3, "sub"), (4, "left"), (5, "middle"), (6, "right"), (8, "join")]);
    assert_eq!(projections.updates.rows()[1].keys, [("notes".into(), "[\"left\"]".into())]);
}

#[test]
fn projections_survive_anything() {
    for name in [
        "messages",
        "messages/partial",
        "messages/metadata",
        "values",
        "updates",
        "tasks",
        "metadata",
        "error",
        "lifecycle",
        "state_update",
        "input.requested",
    ] {
        for data in [
            "null",
            "7",
            "[]",
            "{}",
            "[{}]",
            "[[],{}]",
            "{\"messages\":7}",
            "{\"messages\":[7,null,{\"content\":{}}]}",
            "{\"a\":{\"messages\":[{\"type\":9,\"content\":[[]]}]}}",
            "[{\"type\":\"AIMessageChunk\",\"content\":\"a\\ud83d\"},{}]",
            "{\"type\":\"event\",\"method\":\"messages\",\"params\":{\"data\":7}}",
            "{\"type\":\"event\",\"method\":9}",
        ] {
            let data = runtail_stream::Data::Json(data.into());
            let event = Event {
                seq: Seq(1),
                at: jiff::Timestamp::UNIX_EPOCH,
                conn: 1,
                replayed: false,
                name: name.into(),
                ns: [].into(),
                id: None,
                data,
            };
            project([event.clone(), event]);
        }
    }
}

#[test]
fn time_to_the_first_token_and_tokens_a_second() {
    let mut events = events("agent-messages-tuple");
    for event in &mut events {
        event.at = jiff::Timestamp::from_millisecond(100 * event.seq.0 as i64).unwrap();
    }
    let projections = project(events);
    let message = &projections.messages.items()[0];
    assert_eq!(message.time_to_first(), Some(Duration::from_millis(100)));
    // The model counted 7 tokens; the first of the pieces with any came at 0.2 s, the last at 0.7 s.
    let (first, last) = message.token_times.unwrap();
    assert_eq!((first.as_millisecond(), last.as_millisecond(), message.chunks), (200, 700, 6));
    assert_eq!(message.tokens_per_second(), Some(12.0));
    assert_eq!(projections.messages.items()[1].tokens_per_second(), None);
}

#[test]
fn what_came_in_one_burst_has_no_speed() {
    let mut events = events("agent-messages-tuple");
    for event in &mut events {
        event.at = jiff::Timestamp::from_microsecond(100 * event.seq.0 as i64).unwrap();
    }
    let projections = project(events);
    let message = &projections.messages.items()[0];
    assert!(message.token_times.is_some() && message.chunks > 2);
    assert_eq!(message.tokens_per_second(), None);
}
