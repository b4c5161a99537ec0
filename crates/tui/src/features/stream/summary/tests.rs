//! Tests of the summaries of every mode, and of every event in the captures of real servers.

use super::*;
use jiff::Timestamp;
use runtail_stream::projection::Projections;
use runtail_stream::{Decoder, Frame, Framer, Item, Record, Seq};

fn event_of(name: &str, data: Data) -> Event {
    Event {
        seq: Seq(1),
        at: Timestamp::UNIX_EPOCH,
        conn: 1,
        replayed: false,
        name: name.into(),
        ns: [].into(),
        id: None,
        data,
    }
}

fn summarize(name: &str, data: &str) -> String {
    event(&event_of(name, Data::Json(data.into())), None, 100)
        .map_or("-".into(), |line| line.text())
}

/// Returns every event of every capture, with its file's name.
fn captured() -> Vec<(String, Event)> {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut all = Vec::new();
    for path in files
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "sse"))
    {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let (mut framer, mut decoder) = (Framer::new(64 << 20), Decoder::default());
        framer.push(std::fs::read(path).unwrap().into());
        let mut seq = 0;
        while let Some(frame) = framer.next_frame() {
            let Frame::Block(block) = frame else { continue };
            let Some(event) = decoder.decode(block) else {
                continue;
            };
            seq += 1;
            let at = Timestamp::from_millisecond(seq as i64 * 100).unwrap();
            all.push((
                name.clone(),
                Event {
                    seq: Seq(seq),
                    at,
                    conn: 1,
                    replayed: false,
                    name: event.name,
                    ns: event.ns,
                    id: event.id,
                    data: event.data,
                },
            ));
        }
    }
    all
}

#[test]
fn every_captured_event_has_a_summary() {
    let all = captured();
    let mut described = 0;
    let mut lines = std::collections::BTreeMap::new();
    let mut projections = Projections::default();
    for (capture, captured_event) in &all {
        if captured_event.seq == Seq(1) {
            projections = Projections::default();
        }
        projections.apply(&Item::Record(Record::Event(captured_event.clone())));
        let rows = projections.values.rows();
        let state = rows
            .last()
            .filter(|snapshot| snapshot.seq == captured_event.seq);
        let line = event(captured_event, state, 90);
        // Only data that is not an event (a page, a document decoded as one) has no renderer.
        let Some(line) = line else {
            assert!(
                captured_event.data.json().is_none() || &*captured_event.name == "message",
                "{capture} {}: {}",
                captured_event.name,
                captured_event.data.text()
            );
            continue;
        };
        described += 1;
        let text = line.text();
        assert!(!text.trim().is_empty(), "{capture}: {captured_event:?}");
        assert!(
            !text.starts_with('{') && !text.starts_with("\"{"),
            "{capture} {}: {text}",
            captured_event.name
        );
        let shape = unwrapped(captured_event).map(|payload| {
            format!(
                "{}{}",
                payload.name,
                if payload.enveloped {
                    " (enveloped)"
                } else {
                    ""
                }
            )
        });
        let seen: &mut Vec<String> = lines.entry(shape.unwrap()).or_default();
        let key: String = text
            .chars()
            .filter(|c| c.is_alphabetic())
            .take(14)
            .collect();
        if seen.len() < 12
            && !seen.iter().any(|s| {
                s.chars()
                    .filter(|c| c.is_alphabetic())
                    .take(14)
                    .eq(key.chars())
            })
        {
            seen.push(text);
        }
    }
    assert!(described > 1300, "{described} of {}", all.len());
    let shapes: Vec<String> = lines
        .into_iter()
        .map(|(name, lines)| format!("{name}\n  {}", lines.join("\n  ")))
        .collect();
    insta::assert_snapshot!("captured", shapes.join("\n"));
}

#[test]
fn malformed_data_never_panics() {
    let names = [
        "metadata",
        "values",
        "updates",
        "messages",
        "messages/partial",
        "messages/complete",
        "messages/metadata",
        "tasks",
        "checkpoints",
        "debug",
        "events",
        "custom",
        "custom:log",
        "state_update",
        "lifecycle",
        "input.requested",
        "error",
        "feedback",
        "end",
        "tools",
        "nonsense",
    ];
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let hostile = format!(
        "{{\"values\":{deep},\"data\":{deep},\"payload\":{deep},\"type\":{deep},\"name\":\"\\u001b[31mred\"}}"
    );
    let datas = [
        "null",
        "\"bare\"",
        "7",
        "[]",
        "{}",
        "[null]",
        "[[],[]]",
        "[{},{}]",
        "{\"a\":null}",
        &deep,
        &hostile,
    ];
    for name in names {
        for data in datas {
            let data = Data::Json(data.into());
            let line = event(&event_of(name, data), None, 60);
            let text = line.map(|line| line.text()).unwrap_or_default();
            assert!(
                !text.contains('\u{1b}') && text.len() < 2_000,
                "{name}: {text}"
            );
        }
        let head: std::sync::Arc<str> =
            "{\"messages\":[{\"type\":\"ai\",\"content\":\"cut in the mid".into();
        let cut = event(
            &event_of(
                name,
                Data::TooLarge {
                    size: 1 << 30,
                    head,
                },
            ),
            None,
            60,
        );
        assert!(
            cut.is_some()
                || matches!(
                    name,
                    "messages" | "messages/partial" | "messages/complete" | "nonsense"
                ),
            "{name}"
        );
        assert_eq!(
            event(&event_of(name, Data::Malformed("{\"a\":".into())), None, 60),
            None
        );
    }
}

#[test]
fn only_the_head_of_a_large_event_is_read() {
    let large = format!(
        "{{\"id\":\"1\",\"name\":\"load\",\"input\":{{\"x\":\"{}\"}},\"triggers\":[\"a\"]}}",
        "x".repeat(5 << 20)
    );
    assert_eq!(summarize("tasks", &large), "▸ load starts");
    let state = format!("{{\"small\":1,\"large\":\"{}\"}}", "x".repeat(5 << 20));
    assert_eq!(summarize("values", &state), "small 1 B, large over 65.5 kB");
}

#[test]
fn shapes_missing_from_the_captures() {
    assert_eq!(
        summarize("updates", r#"{"a":null,"b":[{"x":1},{"x":2}]}"#),
        "a wrote nothing · b → 2 writes [{x 1}, {x 2}]"
    );
    assert_eq!(
        summarize(
            "updates",
            r#"{"__interrupt__":[{"value":"sure?","id":"1"},{"value":{"ok":1},"id":"2"}]}"#
        ),
        "◆ interrupt sure? ok 1"
    );
    assert_eq!(
        summarize(
            "tasks",
            r#"{"id":"1","name":"n","error":"ValueError('x')","result":null,"interrupts":[]}"#
        ),
        "✗ n failed · ValueError('x')"
    );
    assert_eq!(
        summarize(
            "tasks",
            r#"{"id":"1","name":"n","error":null,"interrupts":[{"value":{"q":"ok?"}}]}"#
        ),
        "◆ n interrupted · q ok?"
    );
    assert_eq!(
        summarize("feedback", r#"{"user_score":"https://x"}"#),
        "user_score https://x"
    );
    assert_eq!(
        summarize(
            "messages",
            r#"[{"type":"AIMessageChunk","content":[{"type":"thinking","thinking":"hm"},{"type":"image","base64":"xx"}]},{}]"#
        ),
        "ai thinks \"hm\" [image]"
    );
    // A state can be plain text or null.
    for (data, words) in [
        (r#""hello""#, "hello"),
        ("null", "null"),
        ("[1,2]", "[1, 2]"),
    ] {
        let captured_event = event_of("values", Data::Json(data.into()));
        let mut projections = Projections::default();
        projections.apply(&Item::Record(Record::Event(captured_event.clone())));
        let state = projections.values.rows().last();
        assert!(state.is_some(), "{data}");
        assert_eq!(
            event(&captured_event, state, 100)
                .map(|line| line.text())
                .as_deref(),
            Some(words)
        );
    }
    // A removal names the messages that it removes.
    assert_eq!(
        summarize(
            "updates",
            r#"{"a":{"messages":[{"content":"","type":"remove","name":null,"id":"note-4"}]}}"#
        ),
        "a → messages [removes note-4]"
    );
    let all = r#"{"a":{"messages":[{"content":"","type":"remove","id":"__remove_all__"}]}}"#;
    assert_eq!(
        summarize("updates", all),
        "a → messages [removes all messages]"
    );
    assert_eq!(summarize("something", r#"{"a":1}"#), "a 1");
    assert_eq!(summarize("error", "\"Run not found\""), "Run not found");
}
