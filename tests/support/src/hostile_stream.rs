//! Streams that fill memory. Each kind puts text into a different part of the event.

use serde_json::json;

/// Creates an event from its number and a text, which differs for each event.
pub type MakeEvent = fn(usize, &str) -> String;

/// The kinds, named after what they fill.
pub const KINDS: [(&str, MakeEvent); 24] = [
    ("event names", |_, text| event(text, "1")),
    ("namespaces", |_, text| {
        event(&format!("values|{text}"), "{}")
    }),
    ("segments of namespaces", |n, text| {
        event(&format!("values|{n}{}", "|x".repeat(text.len() / 2)), "{}")
    }),
    ("namespaces in envelopes", |_, text| {
        let params = json!({"namespace": [text], "data": {"a": 1}});
        event(
            "updates",
            &json!({"type": "event", "method": "updates", "params": params}).to_string(),
        )
    }),
    ("event ids", |_, text| {
        format!("id: {text}\n{}", event("values", "{}"))
    }),
    ("the content of one message", |_, text| {
        message_chunk("a", &json!({"content": text}))
    }),
    ("the reasoning of one message", |_, text| {
        message_chunk(
            "a",
            &json!({"content": "", "additional_kwargs": {"reasoning_content": text}}),
        )
    }),
    ("the arguments of one call", |_, text| {
        message_chunk(
            "a",
            &json!({"content": "", "tool_call_chunks": [{"index": 0, "id": "c", "name": "t", "args": text}]}),
        )
    }),
    ("calls of one message", |n, text| {
        message_chunk(
            "a",
            &json!({"content": "", "tool_call_chunks": [{"index": n, "id": n.to_string(), "name": text, "args": "{}"}]}),
        )
    }),
    ("texts so far", |_, text| {
        event(
            "messages/partial",
            &json!([{"id": "a", "type": "ai", "content": text}]).to_string(),
        )
    }),
    ("message ids", |_, text| {
        message_chunk(text, &json!({"content": "x"}))
    }),
    ("messages", |n, text| {
        message_chunk(&n.to_string(), &json!({"content": text}))
    }),
    ("messages of one state", |n, text| {
        let list: Vec<_> = (0..text.len() / 40)
            .map(|i| json!({"id": format!("{n}-{i}"), "type": "ai", "content": ""}))
            .collect();
        event("values", &json!({"messages": list}).to_string())
    }),
    ("the metadata of a message", |n, text| {
        let metadata = json!({"langgraph_node": text, "run_id": text, "ls_model_name": text, "langgraph_step": n});
        event(
            "messages",
            &json!([{"id": n.to_string(), "type": "AIMessageChunk", "content": "x"}, metadata])
                .to_string(),
        )
    }),
    ("announced messages", |_, text| {
        event(
            "messages/metadata",
            &json!({text: {"metadata": {"langgraph_node": text}}}).to_string(),
        )
    }),
    ("run ids", |_, text| {
        event("metadata", &json!({"run_id": text}).to_string())
    }),
    ("attempts", |n, text| {
        event(
            "metadata",
            &json!({"run_id": "r", "attempt": n + 1, "more": text}).to_string(),
        )
    }),
    ("errors", |_, text| {
        event(
            "error",
            &json!({"error": text, "message": text}).to_string(),
        )
    }),
    ("tasks", |n, text| {
        let task = match n % 3 {
            0 => json!({"id": text, "name": text, "triggers": [], "input": {}}),
            1 => json!({"id": text, "name": "n", "result": [], "error": text, "interrupts": []}),
            _ => {
                json!({"id": text, "name": "n", "result": [], "interrupts": [{"id": text, "value": text}]})
            }
        };
        event("tasks", &task.to_string())
    }),
    ("nodes and keys of updates", |_, text| {
        let keys: serde_json::Map<String, _> = key_names(text)
            .map(|key| (key.to_string(), json!(key)))
            .collect();
        event("updates", &json!({text: keys}).to_string())
    }),
    ("keys of states", |_, text| {
        let keys: serde_json::Map<String, _> = key_names(text)
            .map(|key| (key.to_string(), json!(1)))
            .collect();
        event("values", &serde_json::Value::from(keys).to_string())
    }),
    ("questions", |n, text| {
        let run = event("metadata", &json!({"run_id": n.to_string()}).to_string());
        let numbers = vec!["1"; text.len() / 2].join(",");
        run + &event(
            "updates",
            &format!(r#"{{"__interrupt__":[{{"id":"{n}","value":[{numbers}]}}]}}"#),
        )
    }),
    ("custom channels", |_, text| {
        event(&format!("custom:{text}"), &json!({"a": text}).to_string())
    }),
    ("callbacks", |n, text| {
        let data = json!({"event": "on_tool_start", "name": text, "run_id": text, "metadata": {"langgraph_node": text}});
        event(
            "events",
            &if n % 2 == 0 {
                data
            } else {
                json!({"event": "on_custom_event", "name": text, "data": text})
            }
            .to_string(),
        )
    }),
];

/// Returns a text of this size for the event with this number.
pub fn text(n: usize, size: usize) -> String {
    let mut text = format!("{n:08}");
    while text.len() < size {
        let rest = size - text.len();
        text.push_str(
            &format!(
                "{:016x}",
                (n as u64 + text.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            )[..rest.min(16)],
        );
    }
    text
}

fn event(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

fn message_chunk(id: &str, more: &serde_json::Value) -> String {
    let mut message = json!({"id": id, "type": "AIMessageChunk"});
    for (key, value) in more.as_object().into_iter().flatten() {
        message[key] = value.clone();
    }
    event(
        "messages",
        &json!([message, {"langgraph_node": "n"}]).to_string(),
    )
}

/// Splits the text into names of the maximum length.
fn key_names(text: &str) -> impl Iterator<Item = &str> {
    (0..text.len())
        .step_by(1000)
        .map(|at| &text[at..(at + 1000).min(text.len())])
}
