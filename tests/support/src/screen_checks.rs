//! Hostile server data that must not break the screen or hide other content.

/// Returns responses with one or a few events each.
pub fn responses() -> Vec<String> {
    let deep = format!("{}7{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep_object = format!("{}null{}", r#"{"a":"#.repeat(10_000), "}".repeat(10_000));
    let evil = r"\u001b[2J\u001b]0;owned\u0007\u202eevil\u2066\u200b\u0000\r\n\t";
    let data: Vec<String> = [
        "",
        "null",
        "7",
        "true",
        r#""a bare string""#,
        "[]",
        "{}",
        "[{}]",
        "[null,null]",
        "[[],[]]",
        r#"{"messages":null}"#,
        r#"{"messages":"bare"}"#,
        r#"{"messages":[null,7,"x",[],{},{"content":{}},{"type":9,"content":[[]]}]}"#,
        r#"{"node":null}"#,
        r#"{"node":{"messages":{"type":"ai","content":null}},"__interrupt__":7}"#,
        r#"{"__interrupt__":[null,{"id":7,"value":null}]}"#,
        // A message without an id, a chunk of an unknown message, a result of an unknown call, a removal of an unknown message.
        r#"[{"type":"ai","content":"no id"},null]"#,
        r#"[{"type":"AIMessageChunk","id":"unknown","content":"a chunk","tool_call_chunks":[{"index":-1,"args":null}]},{"langgraph_node":7}]"#,
        r#"[{"type":"tool","tool_call_id":"nobody","content":[{"type":"image_url"}]},{"langgraph_checkpoint_ns":"never:seen|x:y"}]"#,
        r#"[{"type":"remove","id":"unknown"},{}]"#,
        r#"[{"type":"AIMessageChunk","id":"half","content":"\ud83d"},{}]"#,
        // Empty tasks and checkpoints.
        r#"{"id":null,"name":null,"result":null,"error":null,"interrupts":null}"#,
        r#"{"id":"t","name":"never started","result":{},"interrupts":[null]}"#,
        r#"{"type":"task","step":-9223372036854775808,"payload":{"id":"t","name":"x","triggers":[]}}"#,
        r#"{"type":"checkpoint","payload":{"values":[],"tasks":7,"next":{}}}"#,
        r#"{"run_id":"r","attempt":18446744073709551615}"#,
        r#"{"run_id":"","status":"run_done"}"#,
        r#"{"type":"event","method":"values","params":{"namespace":["a",7],"data":null}}"#,
        r#"{"event":"on_chat_model_stream","data":{"chunk":null},"run_id":7,"tags":{}}"#,
        r#"{"values":null,"next":7}"#,
        r#"{"progress":1e999,"done":-3,"total":0}"#,
        "{no json",
        "{\"cut\":\"off",
    ]
    .map(String::from)
    .into_iter()
    .chain([
        deep,
        deep_object,
        format!(r#"{{"{evil}":"{evil}","messages":[{{"type":"{evil}","id":"e","content":"{evil}"}}]}}"#),
        format!(r#"[{{"type":"ai","id":"{evil}","content":"{evil}"}},{{"langgraph_node":"{evil}"}}]"#),
        format!(r#"{{"id":"x","name":"{evil}","error":"{evil}","interrupts":[]}}"#),
        "\u{1b}[31m\u{202e}no json\u{2066}\u{0}".to_string(),
        format!(r#"{{"wide":"{}"}}"#, "日本語👩‍👩‍👧‍👦e\u{301}\u{302}שלום".repeat(9)),
    ])
    .collect();
    let names = [
        "values",
        "updates",
        "messages",
        "messages/partial",
        "messages/complete",
        "messages/metadata",
        "custom",
        "tasks",
        "checkpoints",
        "debug",
        "events",
        "metadata",
        "error",
        "state_update",
        "lifecycle",
        "input.requested",
        "tools",
        "",
        "brand_new",
        "values|never:seen|a|b:",
        "tasks|never:seen",
        "messages|\u{202e}evil:\u{1b}[2J",
        "|||",
    ];
    let event = |name: &str| {
        let data = data
            .iter()
            .map(|data| format!("event: {name}\ndata: {data}\n\n"));
        // Also without data.
        format!("{}event: {name}\n\n", data.collect::<String>())
    };
    names.into_iter().map(event).collect()
}

/// Returns lines of five megabytes without a space: as a value, in a message, as a name, and as invalid JSON.
pub fn long_lines() -> Vec<String> {
    let long = "x".repeat(5_000_000);
    vec![
        format!("event: custom\ndata: \"{long}\"\n\n"),
        format!("event: values\ndata: {{\"{long}\":\"{long}\"}}\n\n"),
        format!(
            "event: messages\ndata: [{{\"type\":\"ai\",\"id\":\"long\",\"content\":\"{long}\"}},{{}}]\n\n"
        ),
        format!("event: updates\ndata: {{\"{long}\":{{\"k\":\"{long}\"}}}}\n\n"),
        format!(
            "event: tasks\ndata: {{\"id\":\"l\",\"name\":\"{long}\",\"error\":\"{long}\",\"interrupts\":[]}}\n\n"
        ),
        format!("event: {long}\ndata: {long}\n\n"),
    ]
}
