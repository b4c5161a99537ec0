//! Tests of secrets that are streamed in parts.

use super::*;

/// Returns the parts of an ASCII text, of this size each.
pub(super) fn cut(text: &str, size: usize) -> Vec<&str> {
    let end = |at: usize| text.len().min(at + size);
    let starts = (0..text.len()).step_by(size);
    starts.map(|at| &text[at..end(at)]).collect()
}

/// A way of streaming a message.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    Tuple,
    Bare,
    Blocks,
    Arguments,
    Literal,
    Accumulated,
    Events,
    NewerProtocol,
}

pub(super) const WAYS: [Way; 8] = [
    Way::Tuple,
    Way::Bare,
    Way::Blocks,
    Way::Arguments,
    Way::Literal,
    Way::Accumulated,
    Way::Events,
    Way::NewerProtocol,
];

/// Returns the events of a message.
pub(super) fn streamed(way: Way, id: &str, pieces: &[&str]) -> Vec<Record> {
    let chunk = |content: Value| json!({"type": "AIMessageChunk", "id": id, "content": content, "tool_call_chunks": []});
    let meta = json!({"langgraph_node": "chat"});
    let mut so_far = String::new();
    let newer = |data: Value| {
        (
            "messages",
            json!({"type": "event", "method": "messages", "params": {"namespace": [id], "data": data}}),
        )
    };
    let mut events = Vec::new();
    if let Way::NewerProtocol = way {
        events.push(newer(
            json!({"event": "message-start", "id": id, "role": "ai"}),
        ));
    }
    for piece in pieces {
        so_far.push_str(piece);
        events.push(match way {
            Way::Tuple => ("messages", json!([chunk(json!(piece)), meta])),
            Way::Bare => ("messages", json!([{"id": id, "content": piece}, meta])),
            Way::Blocks => ("messages", json!([chunk(json!([{"type": "text", "text": piece, "index": 0}])), meta])),
            Way::Arguments => {
                let calls = json!([{"type": "tool_call_chunk", "index": 0, "id": null, "name": null, "args": piece}]);
                (
                    "messages",
                    json!([{"type": "AIMessageChunk", "id": id, "content": "", "tool_call_chunks": calls}, meta]),
                )
            }
            Way::Literal => ("message", json!([["sub:1"], "messages-tuple", [chunk(json!(piece)), meta]])),
            Way::Accumulated => ("messages/partial", json!([{"type": "ai", "id": id, "content": so_far}])),
            Way::Events => (
                "events",
                json!({"event": "on_chat_model_stream", "run_id": "r", "data": {"chunk": chunk(json!(piece))}}),
            ),
            Way::NewerProtocol => newer(json!({"event": "content-block-delta", "index": 0, "delta": {"text": piece}})),
        });
    }
    let events = events.iter();
    events.map(|(name, data)| event(name, data)).collect()
}

/// Returns the text of a message from its events.
pub(super) fn text_of(way: Way, events: &[Arc<str>]) -> String {
    let at = match way {
        Way::Tuple | Way::Bare | Way::Accumulated => "/0/content",
        Way::Blocks => "/0/content/0/text",
        Way::Arguments => "/0/tool_call_chunks/0/args",
        Way::Literal => "/2/0/content",
        Way::Events => "/data/chunk/content",
        Way::NewerProtocol => "/params/data/delta/text",
    };
    let read = |data: &Arc<str>| {
        let data: Value = serde_json::from_str(data).unwrap();
        let text = data.pointer(at).and_then(Value::as_str);
        text.unwrap_or_default().to_string()
    };
    let texts: Vec<String> = events.iter().map(read).collect();
    match way {
        Way::Accumulated => texts.last().cloned().unwrap_or_default(),
        _ => texts.concat(),
    }
}

#[test]
fn a_secret_that_is_streamed_letter_by_letter_is_removed_from_every_event() {
    let rules = &*DEFAULT_RULES;
    let mut keys = Keys::new(3);
    let pem = keys.private_key();
    let mut secrets: Vec<(String, String)> = keys
        .all()
        .into_iter()
        .map(|(_, prefix, secret)| (format!("{prefix}{secret}"), secret))
        .collect();
    secrets.push((pem.clone(), pem));
    for (key, secret) in secrets {
        let secret = &secret[..secret.find('@').unwrap_or(secret.len())];
        let text = format!("The key is\n{key}\n and that is all.");
        for (way, size) in WAYS.into_iter().zip([1, 2, 3].into_iter().cycle()) {
            let pieces = cut(&text, size);
            let left = all_redacted(rules, &streamed(way, "m1", &pieces), usize::MAX);
            let joined = text_of(way, &left);
            assert!(
                joined.starts_with("The key is\n") && joined.ends_with("\n and that is all."),
                "{way:?}: {joined}"
            );
            assert!(joined.matches(MASK).count() == 1, "{way:?}: {joined}");
            let shown = json!(joined).to_string();
            for data in left.iter().map(|data| &**data).chain([&*shown]) {
                assert_eq!(leaked(secret, data), None, "{way:?}: {data}");
            }
            // Not even a short part of it remains.
            assert!(
                joined.len() + secret.len() <= text.len() + 20,
                "{way:?}: {joined}"
            );
        }
    }
}

#[test]
fn streamed_arguments_are_redacted_as_json() {
    let rules = &*DEFAULT_RULES;
    let text = r#"{"user": "anna", "password": "hun\"ter2", "pin": {"secret": [1, 2]}, "n": 1.50}"#;
    for size in [1, 2, 7, 100] {
        let pieces = cut(text, size);
        let left = all_redacted(rules, &streamed(Way::Arguments, "m1", &pieces), usize::MAX);
        assert_eq!(
            text_of(Way::Arguments, &left),
            r#"{"user": "anna", "password": "***", "pin": {"secret": "***"}, "n": 1.50}"#
        );
    }
}

#[test]
fn interleaved_messages_and_calls_are_joined_separately() {
    let rules = &*DEFAULT_RULES;
    let (_, prefix, secret) = Keys::new(4).all().swap_remove(0);
    let key = format!("{prefix}{secret}");
    let letters = cut(&key, 1);
    let (one, other) = (
        streamed(Way::Tuple, "m1", &letters),
        streamed(Way::Tuple, "m2", &letters),
    );
    let mixed: Vec<Record> = one
        .into_iter()
        .zip(other)
        .flat_map(|(a, b)| [a, b])
        .collect();
    let left = all_redacted(rules, &mixed, usize::MAX);
    let of = |first: usize| {
        let own: Vec<_> = left.iter().skip(first).step_by(2).cloned().collect();
        text_of(Way::Tuple, &own)
    };
    assert_eq!((of(0).as_str(), of(1).as_str()), (MASK, MASK));
    let call = |id: Value, args: &str| {
        let calls = json!([{"index": 0, "id": id, "args": args}]);
        event(
            "messages",
            &json!([{"type": "AIMessageChunk", "id": "m", "content": "", "tool_call_chunks": calls}, {}]),
        )
    };
    let calls = [
        call(json!("a"), r#"{"pass"#),
        call(Value::Null, r#"word": "hunter2"}"#),
        call(json!("b"), r#"{"tok"#),
        call(Value::Null, r#"en": 12345678}"#),
    ];
    let left = all_redacted(rules, &calls, usize::MAX);
    assert_eq!(
        text_of(Way::Arguments, &left),
        r#"{"password": "***"}{"token": "***"}"#
    );
}

#[test]
fn texts_beyond_the_limit_are_searched_in_parts_and_reported() {
    let rules = &*DEFAULT_RULES;
    let (_, prefix, secret) = Keys::new(5).all().swap_remove(0);
    let key = format!("{prefix}{secret}");
    let padding = " word".repeat(100);
    let pieces = [
        padding.as_str(),
        &key[..20],
        &key[20..],
        padding.as_str(),
        padding.as_str(),
    ];
    let events = streamed(Way::Tuple, "m1", &pieces);
    let mut joined = Joined::with_limit(rules, 1500);
    (0..)
        .zip(&events)
        .for_each(|(number, event)| joined.read(number, event));
    assert!(joined.finish().is_partial());
    let left = all_redacted(rules, &events, 1500);
    assert_eq!(text_of(Way::Tuple, &left).replace(&padding, ""), MASK);
}

#[test]
fn requested_patterns_match_joined_texts() {
    let rules = Rules::new(&[], &[r"\w+@\w+\.org".into()]).unwrap();
    let left = all_redacted(
        &rules,
        &streamed(Way::Tuple, "m1", &["mail an", "na@x", ".or", "g now"]),
        usize::MAX,
    );
    assert_eq!(text_of(Way::Tuple, &left), "mail *** now");
}
