//! The shapes of events: the same names and keys as on the real Python server.

use crate::sim::{Event, events, fast, world};
use serde_json::{Value, json};
use std::collections::BTreeSet;

async fn streamed(graph: &str, input: &Value, modes: &Value) -> BTreeSet<String> {
    let world = world(fast()).await;
    let body = json!({"assistant_id": graph, "input": input, "stream_mode": modes, "stream_subgraphs": true});
    let (_, all) = world.run(&world.thread().await, body).await;
    all.iter().map(shape).collect()
}

/// Returns an event's name with a mark for its namespace, its type and its keys.
fn shape(event: &Event) -> String {
    let (name, inner) = event.name.split_once('|').unwrap_or((&event.name, ""));
    let name = &format!("{name}{}", if inner.is_empty() { "" } else { "|" });
    let data = &event.data;
    let keyed = |value: &Value| {
        value.as_object().map(|o| {
            let mut keys: Vec<_> = o.keys().cloned().collect();
            keys.sort();
            keys.join(",")
        })
    };
    match name.trim_end_matches('|') {
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

fn captured(name: &str) -> BTreeSet<String> {
    let path = format!("{}/tests/captures/{name}.sse", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("a capture");
    events(&text).iter().map(shape).collect()
}

fn check(mode: &str, ours: &BTreeSet<String>, theirs: &BTreeSet<String>) {
    let missing: Vec<_> = theirs.difference(ours).collect();
    let more: Vec<_> = ours.difference(theirs).collect();
    assert!(
        missing.is_empty() && more.is_empty(),
        "{mode}: missing {missing:#?}, unexpected {more:#?}"
    );
}

#[tokio::test]
async fn every_mode_matches_the_real_server() {
    let input = json!({"messages": [{"role": "user", "content": "weather in Kraków?"}]});
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
        let ours = streamed("agent", &input, &json!([mode])).await;
        check(mode, &ours, &captured(&format!("agent-{mode}")));
    }
    let modes = json!([
        "values",
        "updates",
        "messages-tuple",
        "custom",
        "tasks",
        "checkpoints"
    ]);
    // Outside its subgraph, the captured graph has no model.
    let inner = |mut all: BTreeSet<String>| {
        all.retain(|shape| shape.contains('|'));
        all
    };
    let ours = streamed("research", &json!({"topic": "x"}), &modes).await;
    let theirs = captured("fanout-many-subgraphs");
    check("subgraphs", &inner(ours), &inner(theirs));
}
