//! Streams from public bug reports, as `-o text` prints them.

use runtail_stream::{Decoder, Event, Frame, Framer, Record, Seq, write_record};
use runtail_testkit::process;
use std::path::Path;

const HEAD: &str = r#"{"kind":"tape","version":1,"at":"2026-11-26T20:00:00Z","server":"http://127.0.0.1:1","thread_id":"t","run_id":"r","modes":["values","updates"]}"#;

/// Returns what `replay -o text` prints of a stream.
fn replayed(sse: &[u8]) -> String {
    let (mut framer, mut decoder) = (Framer::new(1 << 20), Decoder::default());
    framer.push(sse.to_vec().into());
    let mut events: Vec<Event> = Vec::new();
    while let Some(frame) = framer.next_frame() {
        let Frame::Block(block) = frame else { continue };
        if let Some(event) = decoder.decode(block) {
            let seq = Seq(events.len() as u64 + 1);
            events.push(event.at(seq, "2026-11-26T20:00:00Z".parse().unwrap(), 1, false));
        }
    }
    let mut lines = format!("{HEAD}\n").into_bytes();
    for event in events {
        write_record(&mut lines, &Record::Event(event)).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("case.jsonl");
    std::fs::write(&file, lines).unwrap();
    process::run(["replay", file.to_str().unwrap(), "-o", "text"]).stdout
}

fn case(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/cases")
        .join(name)
        .join("run.sse");
    replayed(&std::fs::read(file).unwrap())
}

#[test]
fn errors_of_any_form_are_one_line_with_their_reason() {
    for (name, reason) in [
        ("20-error-d-nested", "overloaded_error: Overloaded"),
        ("20-error-e-html", "502 Bad Gateway"),
        ("20-error-f-detail", "Thread is busy"),
        ("20-error-i-empty", "no reason reported"),
    ] {
        let text = case(name);
        let errors: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("· error"))
            .collect();
        assert_eq!(errors, [format!("· error    {reason}")], "{name}:\n{text}");
    }
}

#[test]
fn no_text_of_a_message_is_lost() {
    let text = case("02a-reasoning-with-text-in-one-block");
    assert!(text.contains("Here are the results: 42."), "{text}");
    let text = case("26-mcp-tool-result-blocks");
    for line in [
        "Chart generated",
        "[image image/png, 1.6 kB]",
        "[audio audio/wav, 750 B]",
        "IMPORTANT NOTE",
        "[file doc.pdf application/pdf]",
    ] {
        assert!(
            text.lines().any(|shown| shown.trim() == line),
            "{line}:\n{text}"
        );
    }
    let text = case("04-overwrite-in-updates");
    for line in ["one", "two", "summary: one, two", "three"] {
        assert!(
            text.lines().any(|shown| shown.trim() == line),
            "{line}:\n{text}"
        );
    }
    assert!(
        !text.lines().any(|line| line.starts_with("__overwrite__")),
        "{text}"
    );
}

/// Two subagents of one name write at the same time.
#[test]
fn messages_that_are_written_at_once_are_printed_one_after_another() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/agents/deep-stream.sse");
    let text = replayed(&std::fs::read(file).unwrap());
    let labels: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("tools") && line.starts_with("ai"))
        .collect();
    assert!(
        labels.iter().any(|label| label.contains("tools #1")),
        "{labels:#?}"
    );
    assert!(
        labels.iter().any(|label| label.contains("tools #2")),
        "{labels:#?}"
    );
    assert!(labels.len() <= 8, "{labels:#?}");
}
