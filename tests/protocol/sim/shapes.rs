//! The shapes of events: the same names, orders and keys as on the real Python server.

use crate::sim::{Event, events, fast, keys, names, world};
use serde_json::{Value, json};

async fn chat(modes: Value) -> Vec<Event> {
    let world = world(fast()).await;
    let thread = world.thread().await;
    let input = json!({"messages": [{"role": "user", "content": "weather in Kraków?"}]});
    world
        .run(
            &thread,
            json!({"assistant_id": "agent", "input": input, "stream_mode": modes}),
        )
        .await
        .1
}

const AI: [&str; 9] = [
    "additional_kwargs",
    "content",
    "id",
    "invalid_tool_calls",
    "name",
    "response_metadata",
    "tool_calls",
    "type",
    "usage_metadata",
];
const TOOL: [&str; 9] = [
    "additional_kwargs",
    "artifact",
    "content",
    "id",
    "name",
    "response_metadata",
    "status",
    "tool_call_id",
    "type",
];
const HUMAN: [&str; 6] = [
    "additional_kwargs",
    "content",
    "id",
    "name",
    "response_metadata",
    "type",
];
const BASE: [&str; 9] = [
    "assistant_id",
    "created_by",
    "graph_id",
    "langgraph_api_url",
    "langgraph_api_version",
    "langgraph_host",
    "langgraph_plan",
    "langgraph_version",
    "run_attempt",
];

fn with(more: &[&'static str]) -> Vec<&'static str> {
    let mut all: Vec<&str> = BASE.iter().chain(more).copied().collect();
    all.sort_unstable();
    all
}

fn node_keys() -> Vec<&'static str> {
    with(&[
        "thread_id",
        "run_id",
        "ls_integration",
        "langgraph_step",
        "langgraph_node",
        "langgraph_triggers",
        "langgraph_path",
        "langgraph_checkpoint_ns",
    ])
}

fn model_keys() -> Vec<&'static str> {
    let mut all = node_keys();
    all.extend([
        "checkpoint_ns",
        "ls_provider",
        "ls_model_type",
        "lc_versions",
    ]);
    all.sort_unstable();
    all
}

#[tokio::test]
async fn values_and_updates_match_the_python_server() {
    let all = chat(json!(["values", "updates"])).await;
    assert_eq!(
        names(&all),
        [
            "metadata", "values", "updates", "values", "updates", "values", "updates", "values"
        ]
    );
    assert_eq!(keys(&all[0].data), ["attempt", "run_id"]);
    let last = &all[7].data["messages"];
    assert_eq!(last.as_array().map(Vec::len), Some(4));
    assert_eq!(keys(&last[0]), HUMAN);
    assert_eq!(keys(&last[1]), AI);
    assert_eq!(keys(&last[2]), TOOL);
    assert_eq!(last[1]["tool_calls"][0]["args"], json!({"city": "Kraków"}));
    assert_eq!(
        keys(&last[1]["tool_calls"][0]),
        ["args", "id", "name", "type"]
    );
    assert_eq!(
        keys(&last[1]["usage_metadata"]),
        ["input_tokens", "output_tokens", "total_tokens"]
    );
    assert_eq!(last[2]["tool_call_id"], last[1]["tool_calls"][0]["id"]);
    assert_eq!(all[2].data["chat"]["messages"][0], last[1]);
    assert!(
        last[1]["id"]
            .as_str()
            .is_some_and(|id| id.starts_with("lc_run--") && id.ends_with("-0"))
    );
}

#[tokio::test]
async fn token_chunks_match_the_python_server() {
    let all = chat(json!(["messages-tuple", "values"])).await;
    let tokens: Vec<&Event> = all
        .iter()
        .filter(|event| event.name == "messages")
        .collect();
    let mut chunk_keys = AI.to_vec();
    chunk_keys.extend(["chunk_position", "tool_call_chunks"]);
    chunk_keys.sort_unstable();
    let first = &tokens[0].data;
    assert_eq!(keys(&first[0]), chunk_keys);
    assert_eq!(first[0]["type"], "AIMessageChunk");
    assert_eq!(keys(&first[1]), model_keys());
    assert!(
        tokens[0].data.to_string().len() > 900,
        "a token is mostly its metadata"
    );
    let of = |id: &Value| {
        tokens
            .iter()
            .filter(|event| event.data[0]["id"] == *id)
            .map(|event| &event.data[0])
            .collect::<Vec<_>>()
    };
    let chunks = of(&first[0]["id"]);
    let args: String = chunks
        .iter()
        .filter_map(|chunk| chunk["tool_call_chunks"][0]["args"].as_str())
        .collect();
    assert_eq!(args, r#"{"city":"Kraków"}"#);
    let call = chunks
        .iter()
        .find(|chunk| !chunk["tool_call_chunks"][0].is_null())
        .expect("a call");
    assert_eq!(
        keys(&call["tool_call_chunks"][0]),
        ["args", "id", "index", "name", "type"]
    );
    assert_eq!(
        chunks.last().map(|chunk| &chunk["chunk_position"]),
        Some(&json!("last"))
    );
    assert_eq!(
        chunks[chunks.len() - 2]["response_metadata"]["finish_reason"],
        "tool_calls"
    );
    let tool = tokens
        .iter()
        .find(|event| event.data[0]["type"] == "tool")
        .expect("the tool's result");
    assert_eq!(keys(&tool.data[0]), TOOL);
    assert_eq!(keys(&tool.data[1]), node_keys());
    // The same ids in values and in messages, and the same text.
    let state = &all
        .iter()
        .rev()
        .find(|event| event.name == "values")
        .expect("values")
        .data["messages"];
    assert_eq!(state[1]["id"], first[0]["id"]);
    assert_eq!(state[2]["id"], tool.data[0]["id"]);
    let text: String = of(&state[3]["id"])
        .iter()
        .filter_map(|chunk| chunk["content"].as_str())
        .collect();
    assert_eq!(state[3]["content"], json!(text));
}

#[tokio::test]
async fn legacy_messages_repeat_the_whole_text() {
    let all = chat(json!("messages")).await;
    assert_eq!(all[1].name, "messages/metadata");
    let introduced = all[1]
        .data
        .as_object()
        .and_then(|all| all.values().next())
        .expect("one message");
    assert_eq!(keys(&introduced["metadata"]), model_keys());
    let partial: Vec<&Event> = all
        .iter()
        .filter(|event| event.name == "messages/partial")
        .collect();
    assert_eq!(keys(&partial[0].data[0]), AI);
    assert_eq!(partial[0].data[0]["type"], "ai");
    assert_eq!(
        names(&all)
            .iter()
            .filter(|name| **name == "messages/metadata")
            .count(),
        3
    );
    let complete: Vec<&Event> = all
        .iter()
        .filter(|event| event.name == "messages/complete")
        .collect();
    assert_eq!(
        (complete.len(), keys(&complete[0].data[0])),
        (1, TOOL.to_vec())
    );
    let last = partial.last().expect("some").data[0]["content"]
        .as_str()
        .expect("text")
        .to_owned();
    assert!(last.ends_with("日焼け止め."), "{last}");
    let both = chat(json!(["messages", "messages-tuple"])).await;
    assert!(
        names(&both)[1..].iter().all(|name| *name == "messages"),
        "messages-tuple takes precedence"
    );
}

#[tokio::test]
async fn tasks_checkpoints_and_debug_match_the_python_server() {
    let all = chat(json!(["tasks"])).await;
    assert_eq!(all.len(), 7);
    assert_eq!(
        keys(&all[1].data),
        ["id", "input", "metadata", "name", "triggers"]
    );
    assert_eq!(keys(&all[1].data["metadata"]), with(&["run_id"]));
    assert_eq!(
        keys(&all[2].data),
        ["error", "id", "interrupts", "name", "result"]
    );
    assert_eq!(all[1].data["id"], all[2].data["id"]);

    let all = chat(json!(["checkpoints"])).await;
    assert_eq!(all.len(), 6);
    let shape = [
        "config",
        "metadata",
        "next",
        "parent_config",
        "tasks",
        "values",
    ];
    assert!(all[1..].iter().all(|event| keys(&event.data) == shape));
    let steps: Vec<&Value> = all[1..]
        .iter()
        .map(|event| &event.data["metadata"]["step"])
        .collect();
    assert_eq!(json!(steps), json!([-1, 0, 1, 2, 3]));
    assert_eq!(
        (&all[1].data["next"], &all[1].data["parent_config"]),
        (&json!(["__start__"]), &Value::Null)
    );
    assert_eq!(all[2].data["parent_config"], all[1].data["config"]);
    assert_eq!(
        keys(&all[1].data["tasks"][0]),
        ["id", "interrupts", "name", "state"]
    );
    assert_eq!(
        keys(&all[1].data["config"]["configurable"]),
        [
            "__after_seconds__",
            "__request_start_time_ms__",
            "assistant_id",
            "checkpoint_id",
            "checkpoint_ns",
            "graph_id",
            "langgraph_auth_permissions",
            "langgraph_auth_user",
            "langgraph_auth_user_id",
            "langgraph_request_id",
            "run_id",
            "thread_id",
            "user_id"
        ]
    );

    let all = chat(json!(["debug"])).await;
    assert_eq!(all.len(), 12);
    assert!(
        all[1..]
            .iter()
            .all(|event| keys(&event.data) == ["payload", "step", "timestamp", "type"])
    );
    let kinds: Vec<&str> = all[1..]
        .iter()
        .filter_map(|event| event.data["type"].as_str())
        .collect();
    assert_eq!(
        kinds[..5],
        [
            "checkpoint",
            "checkpoint",
            "task",
            "task_result",
            "checkpoint"
        ]
    );
    assert_eq!(
        keys(&all[2].data["payload"]),
        [
            "checkpoint",
            "config",
            "metadata",
            "next",
            "parent_checkpoint",
            "parent_config",
            "tasks",
            "values"
        ]
    );
}

#[tokio::test]
async fn langchain_events_match_the_python_server() {
    let all = chat(json!(["events"])).await;
    let shape = [
        "data",
        "event",
        "metadata",
        "name",
        "parent_ids",
        "run_id",
        "tags",
    ];
    assert!(all[1..].iter().all(|event| keys(&event.data) == shape));
    let kinds: Vec<&str> = all[1..]
        .iter()
        .filter_map(|event| event.data["event"].as_str())
        .collect();
    assert_eq!(
        (kinds[0], kinds.last()),
        ("on_chain_start", Some(&"on_chain_end"))
    );
    for kind in [
        "on_chat_model_start",
        "on_chat_model_stream",
        "on_chat_model_end",
        "on_chain_stream",
    ] {
        assert!(kinds.contains(&kind), "{kind}");
    }
}

async fn research(subgraphs: bool) -> Vec<Event> {
    let world = world(fast()).await;
    let body = json!({"assistant_id": "research", "input": {"topic": "x"}, "stream_subgraphs": subgraphs,
        "stream_mode": ["values", "updates", "messages-tuple", "custom", "tasks", "checkpoints"]});
    events(
        &world
            .post("/runs/stream", body)
            .await
            .text()
            .await
            .expect("text"),
    )
}

#[tokio::test]
async fn subgraphs_carry_their_namespace() {
    let all = research(true).await;
    let task = |name: &str| {
        all.iter().find(|event| {
            event.name.starts_with("tasks")
                && event.data["name"] == name
                && !event.data["input"].is_null()
        })
    };
    let critic = format!(
        "critic:{}",
        task("critic").expect("started").data["id"]
            .as_str()
            .expect("id")
    );
    let sources = format!(
        "{critic}|sources:{}",
        task("sources").expect("started").data["id"]
            .as_str()
            .expect("id")
    );
    assert_eq!(
        task("read").expect("started").name,
        format!("tasks|{critic}")
    );
    assert_eq!(
        task("check").expect("started").name,
        format!("tasks|{sources}")
    );
    for mode in [
        "values",
        "updates",
        "messages",
        "custom",
        "tasks",
        "checkpoints",
    ] {
        assert!(
            names(&all).contains(&format!("{mode}|{sources}").as_str()),
            "{mode}"
        );
    }
    let token = all
        .iter()
        .find(|event| event.name == format!("messages|{critic}"))
        .expect("a token");
    assert_eq!(token.data[1]["checkpoint_ns"], json!(critic));
    assert!(
        token.data[1]["langgraph_checkpoint_ns"]
            .as_str()
            .is_some_and(|ns| ns.starts_with(&format!("{critic}|read:")))
    );
    let inner = all
        .iter()
        .find(|event| event.name == format!("checkpoints|{critic}"))
        .expect("a checkpoint");
    assert_eq!(
        keys(&inner.data["config"]["configurable"]["checkpoint_map"]),
        ["", critic.as_str()]
    );
    assert_eq!(keys(&inner.data["metadata"]["parents"]), [""]);
    // Three parallel nodes all start before the first ends.
    let starts: Vec<usize> = ["web", "papers", "critic"]
        .iter()
        .filter_map(|name| {
            all.iter()
                .position(|event| event.name == "tasks" && event.data["name"] == *name)
        })
        .collect();
    let end = all
        .iter()
        .position(|event| event.name == "updates" && event.data.get("web").is_some())
        .expect("an end");
    assert!(starts.iter().all(|start| *start < end));
}

#[tokio::test]
async fn without_subgraphs_messages_are_sent_whole() {
    let all = research(false).await;
    assert!(names(&all).iter().all(|name| !name.contains('|')));
    let whole: Vec<&Event> = all
        .iter()
        .filter(|event| event.name == "messages" && event.data[1]["langgraph_node"] == "critic")
        .collect();
    assert_eq!(whole.len(), 2);
    assert!(whole.iter().all(|event| event.data[0]["type"] == "ai"));
}

/// Returns an event's name without its namespace, its type and its keys.
fn shape(event: &Event) -> String {
    let name = event.name.split('|').next().unwrap_or_default();
    let data = &event.data;
    let keyed = |value: &Value| {
        value.as_object().map(|o| {
            let mut keys: Vec<_> = o.keys().cloned().collect();
            keys.sort();
            keys.join(",")
        })
    };
    match name {
        // Their keys are names of nodes or channels, or arbitrary.
        "updates" | "values" | "custom" => name.into(),
        "messages/metadata" => {
            format!(
                "{name} {:?}",
                data.as_object()
                    .map(|o| o.values().map(keyed).collect::<Vec<_>>())
            )
        }
        "debug" => format!(
            "{name} {} {:?} {:?}",
            data["type"],
            keyed(data),
            keyed(&data["payload"])
        ),
        "events" => format!("{name} {} {:?}", data["event"], keyed(data)),
        _ if data.is_array() => {
            // A partial message has the keys of its type.
            format!(
                "{name} {} {:?}",
                data[0]["type"],
                data.as_array()
                    .map(|a| a.iter().map(keyed).collect::<Vec<_>>())
            )
        }
        _ => format!("{name} {:?}", keyed(data)),
    }
}

fn captured(name: &str) -> Vec<Event> {
    let path = format!("{}/tests/captures/{name}.sse", env!("CARGO_MANIFEST_DIR"));
    events(&std::fs::read_to_string(path).expect("a capture"))
}

#[tokio::test]
async fn every_mode_matches_the_real_server() {
    use std::collections::BTreeSet;
    // `custom` is not compared, because the captured graph writes no custom events.
    for mode in [
        "values",
        "updates",
        "messages-tuple",
        "messages",
        "tasks",
        "checkpoints",
        "debug",
        "events",
    ] {
        let ours: BTreeSet<_> = chat(json!([mode])).await.iter().map(shape).collect();
        let theirs: BTreeSet<_> = captured(&format!("agent-{mode}"))
            .iter()
            .map(shape)
            .collect();
        let missing: Vec<_> = theirs.difference(&ours).collect();
        let more: Vec<_> = ours.difference(&theirs).collect();
        assert!(
            missing.is_empty() && more.is_empty(),
            "{mode}: missing {missing:#?}, unexpected {more:#?}"
        );
    }
}
