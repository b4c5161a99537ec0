//! Real streams captured from the Python, JavaScript and Aegra servers: decoding loses nothing, and each message appears once,
//! whichever events carry it.

use crate::differential::oracle_event;
use crate::entries::oracle;
use bytes::Bytes;
use runtail_stream::projection::{LifecycleKind, Message, Projections, Role};
use runtail_stream::{Decoded, Decoder, Event, Frame, Framer, Item, RawEvent, Record, Seq};
use runtail_testkit::final_state;
use runtail_testkit::final_state::StateMessage;
use runtail_testkit::projected::{project, shown};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

/// The body of every capture, by name.
static CAPTURES: LazyLock<BTreeMap<String, Bytes>> = LazyLock::new(|| {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let files = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let captures = files.filter(|path| path.extension().is_some_and(|e| e == "sse"));
    captures
        .map(|path| {
            (
                path.file_stem().unwrap().to_str().unwrap().to_string(),
                std::fs::read(path).unwrap().into(),
            )
        })
        .collect()
});

fn decode(body: &Bytes) -> Vec<Decoded> {
    let (mut framer, mut decoder) = (Framer::new(64 << 20), Decoder::default());
    framer.push(body.clone());
    let mut events = Vec::new();
    while let Some(frame) = framer.next_frame() {
        if let Frame::Block(block) = frame {
            events.extend(decoder.decode(block));
        }
    }
    events
}

/// Agent servers of all three kinds send one shape of block, which is read without a copy. This fails when one doesn't, or when
/// the shape is no longer recognized.
#[test]
fn every_captured_block_is_parsed_in_place() {
    let (mut canonical, mut others) = (0, Vec::new());
    // One capture begins with an HTTP response head.
    for (name, bytes) in CAPTURES
        .iter()
        .filter(|(_, bytes)| !bytes.starts_with(b"HTTP/"))
    {
        let mut framer = Framer::new(64 << 20);
        framer.push(bytes.clone());
        while let Some(frame) = framer.next_frame() {
            if let Frame::Block(block) = frame {
                match RawEvent::parse(block.clone()) {
                    Some(event) if event.is_canonical => canonical += 1,
                    _ => others.push((name, block)),
                }
            }
        }
    }
    assert!(
        others.is_empty() && canonical > 1300,
        "{canonical} {others:?}"
    );
}

fn is_stream(body: &[u8]) -> bool {
    [&b"event:"[..], b": heartbeat", b"id:"]
        .iter()
        .any(|start| body.starts_with(start))
}

/// `differential` compares the decoders in random chunks, too.
#[test]
fn captures_decode_without_loss() {
    assert!(CAPTURES.len() >= 245);
    let mut total = 0;
    for (name, body) in CAPTURES.iter() {
        let events = decode(body);
        let plain: Vec<_> = events.iter().map(oracle_event).collect();
        assert_eq!(plain, oracle::events(body).events, "{name}");
        total += events.len();
        let is_json = events.iter().all(|event| event.data.json().is_some());
        assert!(is_json || !is_stream(body), "{name}: data is not JSON");
    }
    assert!(total > 1000, "{total}");
}

fn events(name: &str) -> Vec<Event> {
    let decoded = decode(&CAPTURES[name]);
    let at = jiff::Timestamp::UNIX_EPOCH;
    decoded
        .into_iter()
        .zip(1..)
        .map(|(e, seq)| e.at(Seq(seq), at, 1, false))
        .collect()
}

/// The same run of an agent in every mode and of every server, with its subgraphs, and in the newer protocol: messages are
/// assembled from tokens, and none is there twice. Only JavaScript and the newer protocol leave nodes out.
#[test]
fn messages_of_every_mode_match_the_snapshot() {
    let servers = ["", "aegra-", "js-"].into_iter();
    let modes = ["messages-tuple", "messages", "updates", "values"];
    let names = servers.flat_map(|server| modes.map(|mode| format!("{server}agent-{mode}")));
    let others = [
        "fanout-many-subgraphs",
        "fanout-both-messages",
        "fanout-many-nosub",
        "aegra-fanout-many",
        "js-fanout-many",
        "legacy-run-for-v2",
        "legacy-stream-of-v2-run",
        "v2-events-agent",
    ];
    let mut all = String::new();
    for name in names.chain(others.map(String::from)) {
        let projections = project(events(&name));
        for message in projections.messages.items() {
            assert_eq!(message.text_at(Seq::MAX), message.text, "{name}");
            let spans = &message.spans;
            assert!(spans.iter().is_sorted(), "{name}: {spans:?}");
        }
        let lines = shown(projections.messages.items()).join("\n");
        all += &format!("{name}\n{lines}\n\n");
    }
    insta::assert_snapshot!("messages_of_every_mode", all);
}

/// JavaScript sends both dialects for one message when both are requested.
#[test]
fn both_dialects_do_not_duplicate_text() {
    let all = events("js-both-messages");
    let finished = project(all.clone());
    let last: BTreeMap<_, _> = finished
        .messages
        .items()
        .iter()
        .map(|m| (m.id.clone(), (m.text.clone(), m.tool_calls.len())))
        .collect();
    assert_eq!(last.len(), 4, "{last:?}");
    // Either dialect may be the first to mention a message.
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
                assert!(
                    text.starts_with(&message.text),
                    "event {seq}: {:?}",
                    message.text
                );
                assert!(
                    message.tool_calls.len() <= *calls,
                    "event {seq}: {:?}",
                    message.tool_calls
                );
                assert_eq!(message.rewrites, 0, "event {seq}");
            }
        }
        let usage = |m: &Message| m.usage.map(|usage| usage.output);
        let output_tokens = |projections: &Projections| {
            projections
                .messages
                .items()
                .iter()
                .map(usage)
                .collect::<Vec<_>>()
        };
        assert_eq!(output_tokens(&projections), output_tokens(&finished));
        assert!(
            output_tokens(&projections).iter().flatten().count() >= 2,
            "{:?}",
            output_tokens(&projections)
        );
    }
}

/// Replaces ids in a capture, so that captures of several modes look like one run that streamed all of them.
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
fn messages_from_any_mode_combination_are_merged() {
    let names = [
        "agent-messages-tuple",
        "agent-messages",
        "agent-updates",
        "agent-values",
    ];
    let ids = |name: &str| -> Vec<String> {
        let projections = project(events(name));
        let said = projections
            .messages
            .items()
            .iter()
            .filter(|m| m.role != Role::Human);
        said.map(|m| m.id.as_deref().unwrap().to_string()).collect()
    };
    let target = ids(names[0]);
    for mask in 1..16u32 {
        for suffix in ["", "-0"] {
            let chosen: Vec<_> = names
                .iter()
                .enumerate()
                .filter(|(i, _)| mask & (1 << i) != 0)
                .map(|(_, n)| *n)
                .collect();
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
            let said: Vec<_> = projections
                .messages
                .items()
                .iter()
                .filter(|m| m.role != Role::Human)
                .collect();
            let texts: Vec<_> = said.iter().map(|m| m.text.as_str()).collect();
            assert_eq!(
                texts,
                [
                    "Let me check.",
                    "21C sunny in Kraków",
                    "It is 21 °C and sunny in Kraków ☀️ — bring 日焼け止め."
                ],
                "{chosen:?}"
            );
            assert_eq!(said[0].tool_calls.len(), 1);
            assert!(said.iter().all(|m| m.complete), "{chosen:?}");
        }
    }
}

/// Converts an assembled message to the form used in states.
fn assembled(message: &Message) -> StateMessage {
    let args = |args: &str| serde_json::from_str(args).unwrap_or(serde_json::Value::Null);
    StateMessage {
        role: message.role.word().into(),
        id: message.id.as_deref().unwrap_or_default().into(),
        text: message.text.clone(),
        calls: message
            .tool_calls
            .iter()
            .map(|c| (c.id.clone(), c.name.clone(), args(&c.args)))
            .collect(),
        result_of: message.tool_call_id.clone().unwrap_or_default(),
    }
}

/// Returns the name of a capture without its mode. Captures of one graph and input differ only in the mode.
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
    let mode = MODES
        .iter()
        .find_map(|mode| name.strip_suffix(mode)?.strip_suffix('-'));
    mode.unwrap_or(name)
}

#[test]
fn assembled_messages_match_the_final_state() {
    let streams: Vec<(&str, Vec<Event>)> = CAPTURES
        .iter()
        .filter(|(_, b)| is_stream(b))
        .map(|(name, _)| (name.as_str(), events(name)))
        .collect();
    let states: Vec<_> = streams
        .iter()
        .map(|(_, events)| final_state::of(events))
        .collect();
    // The captures compared with a state: their own, one of the same run, or one of the same graph and input.
    let (mut own, mut same_run, mut same_graph) = (
        BTreeMap::<_, Vec<&str>>::new(),
        Vec::<&str>::new(),
        Vec::new(),
    );
    let mut alone = Vec::new();
    for (i, (name, events)) in streams.iter().enumerate() {
        let has_messages = events.iter().any(final_state::has_messages);
        let projections = project(events.clone());
        let said = |seq: Seq| -> Vec<StateMessage> {
            let there =
                projections.messages.items().iter().filter(|m| {
                    m.first_seq <= seq && m.removed_at.is_none_or(|removed| removed > seq)
                });
            there.map(assembled).collect()
        };
        let server = ["js-", "aegra-"]
            .into_iter()
            .find(|server| name.starts_with(server))
            .unwrap_or("python");
        if let Some((seq, held)) = states[i]
            .as_ref()
            .filter(|_| has_messages || !said(Seq::MAX).is_empty())
        {
            assert_eq!(&said(*seq), held, "{name}");
            own.entry(server).or_default().push(*name);
            continue;
        }
        if !has_messages {
            continue;
        }
        let run = final_state::run(events);
        let of_run = |j: &usize| run.is_some() && final_state::run(&streams[*j].1) == run;
        let of_graph = |j: &usize| family(streams[*j].0) == family(name) && family(name) != *name;
        let known = |j: &usize| states[*j].is_some();
        let mut others = (0..streams.len()).filter(known);
        let sibling = others
            .clone()
            .find(of_run)
            .inspect(|_| same_run.push(*name));
        let sibling = sibling.or_else(|| others.find(of_graph).inspect(|_| same_graph.push(*name)));
        let Some((_, held)) = sibling.and_then(|j| states[j].as_ref()) else {
            alone.push(*name);
            continue;
        };
        // The input is output_tokens by some modes only; and another run has other ids.
        let bare = |held: &StateMessage| {
            (
                held.role.clone(),
                held.text.clone(),
                held.calls.clone(),
                held.result_of.clone(),
            )
        };
        let said: Vec<_> = said(Seq::MAX).iter().map(bare).collect();
        let input = held.iter().take_while(|m| m.role == "human").count();
        let from = if said.len() == held.len() { 0 } else { input };
        assert_eq!(
            said,
            held[from..].iter().map(bare).collect::<Vec<_>>(),
            "{name}"
        );
    }
    // Every capture must be counted here, so that none is skipped unnoticed.
    let own: Vec<_> = own
        .iter()
        .map(|(server, names)| (*server, names.len()))
        .collect();
    assert_eq!(own, [("aegra-", 4), ("js-", 3), ("python", 21)]);
    assert_eq!(
        (same_run.len(), same_graph.len()),
        (0, 11),
        "{same_graph:?}"
    );
    let known = [
        "agent-resume-static",
        "broken-recursion",
        "compress-stream",
        "cors-stream",
        "js-both-messages",
        "js-fanout-many",
    ];
    assert_eq!(
        alone,
        [&known[..], &["js-firehose-cancel-resumable"]].concat(),
        "captures without a state to compare with"
    );
}

#[test]
fn interrupts_appear_once() {
    for (name, count) in [
        ("approval-interrupt", 1),
        ("approval-interrupt-values-only", 1),
        ("aegra-approval", 1),
        ("js-approval", 1),
        ("agent-interrupt-before", 1),
        ("thread-all-modes", 1),
    ] {
        let projections = project(events(name));
        let rows = projections
            .lifecycle
            .rows()
            .iter()
            .filter(|r| r.kind == LifecycleKind::Interrupt);
        assert_eq!(rows.count(), count, "{name}");
    }
}

#[test]
fn thread_streams_are_split_into_runs_and_states() {
    let projections = project(events("thread-all-modes"));
    let kinds: Vec<_> = projections
        .lifecycle
        .rows()
        .iter()
        .map(|r| (r.seq.0, r.kind))
        .collect();
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
    assert_eq!(
        projections.lifecycle.rows()[6].text,
        "ValueError: boom: the node failed — détails"
    );

    let values = projections.values.rows();
    let changed = |i: usize| {
        values[i]
            .keys
            .iter()
            .filter(|k| k.changed)
            .map(|k| &*k.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        values.iter().map(|v| v.seq.0).collect::<Vec<_>>(),
        [2, 7, 9, 11, 13, 14, 17, 18]
    );
    assert_eq!(
        (changed(0), changed(1), changed(2), changed(3)),
        (
            vec!["topic", "notes", "messages"],
            vec!["notes", "messages"],
            vec!["notes"],
            vec!["notes"]
        )
    );
    assert_eq!(
        (values[4].interrupts, values[5].interrupts, changed(5)),
        (0, 1, vec![])
    );
    assert_eq!(projections.values.as_of(Seq(8)).unwrap().seq, Seq(7));

    let updates: Vec<_> = projections
        .updates
        .rows()
        .iter()
        .map(|u| (u.seq.0, &*u.node))
        .collect();
    assert_eq!(
        updates,
        [
            (3, "sub"),
            (4, "left"),
            (5, "middle"),
            (6, "right"),
            (8, "join")
        ]
    );
    assert_eq!(
        projections.updates.rows()[1].keys,
        [("notes".into(), "[\"left\"]".into())]
    );
}

#[test]
fn time_to_first_token_and_tokens_per_second() {
    let mut events = events("agent-messages-tuple");
    for event in &mut events {
        event.at = jiff::Timestamp::from_millisecond(100 * event.seq.0 as i64).unwrap();
    }
    let projections = project(events);
    let message = &projections.messages.items()[0];
    assert_eq!(
        message.first_token().map(|first| first.after),
        Some(Duration::from_millis(100))
    );
    // The model counted 7 tokens; the first chunk with a token arrived at 0.2s, the last at 0.7s.
    let (first, last) = message.token_times.unwrap();
    assert_eq!(
        (
            first.as_millisecond(),
            last.as_millisecond(),
            message.chunks
        ),
        (200, 700, 6)
    );
    assert_eq!(message.tokens_per_second(), Some(12.0));
    assert_eq!(projections.messages.items()[1].tokens_per_second(), None);
}

#[test]
fn a_burst_has_no_tokens_per_second() {
    let mut events = events("agent-messages-tuple");
    for event in &mut events {
        event.at = jiff::Timestamp::from_microsecond(100 * event.seq.0 as i64).unwrap();
    }
    let projections = project(events);
    let message = &projections.messages.items()[0];
    assert!(message.token_times.is_some() && message.chunks > 2);
    assert_eq!(message.tokens_per_second(), None);
}
