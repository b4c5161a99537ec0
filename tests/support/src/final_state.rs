//! The messages of a stream's last state, read independently of the code that assembles messages.

use runtail_stream::{Event, Seq};
use serde_json::Value;

/// A message in a state.
#[derive(Debug, PartialEq)]
pub struct StateMessage {
    pub role: String,
    pub id: String,
    pub text: String,
    /// Identifier, name and arguments of each call.
    pub calls: Vec<(String, String, Value)>,
    /// For a tool's result: the id of its call.
    pub result_of: String,
}

/// Returns the last root state with messages, and the event that contains it.
pub fn of(events: &[Event]) -> Option<(Seq, Vec<StateMessage>)> {
    let state = |event: &Event| -> Option<Vec<StateMessage>> {
        let (name, ns, data) = unwrapped(event)?;
        let state = match name.as_str() {
            _ if !ns => return None,
            "values" => data,
            "state_update" => data["state"]["values"].clone(),
            "checkpoints" => data["values"].clone(),
            "debug" if data["type"] == "checkpoint" => data["payload"]["values"].clone(),
            _ => return None,
        };
        Some(
            state["messages"]
                .as_array()?
                .iter()
                .map(state_message)
                .collect(),
        )
    };
    events
        .iter()
        .rev()
        .find_map(|event| Some((event.seq, state(event)?)))
}

/// Returns whether an event contains messages. States don't count.
pub fn has_messages(event: &Event) -> bool {
    let Some((name, _, data)) = unwrapped(event) else {
        return false;
    };
    let writes = || {
        data.as_object()
            .is_some_and(|nodes| nodes.values().any(|write| !write["messages"].is_null()))
    };
    name.starts_with("messages") && name != "messages/metadata" || name == "updates" && writes()
}

/// Returns the run id in a stream's metadata.
pub fn run(events: &[Event]) -> Option<String> {
    let first = events.iter().find(|event| &*event.name == "metadata")?;
    let data: Value = serde_json::from_str(first.data.text()).ok()?;
    Some(data["run_id"].as_str()?.to_string())
}

/// Returns an event's name, whether it is of the root graph, and its data, which the v2 protocol wraps.
fn unwrapped(event: &Event) -> Option<(String, bool, Value)> {
    let data: Value = serde_json::from_str(event.data.text()).ok()?;
    if data["type"] == "event" && data["params"].is_object() {
        let ns = data["params"]["namespace"]
            .as_array()
            .is_none_or(Vec::is_empty);
        return Some((
            data["method"].as_str()?.to_string(),
            ns,
            data["params"]["data"].clone(),
        ));
    }
    Some((event.name.to_string(), event.ns.is_empty(), data))
}

fn state_message(message: &Value) -> StateMessage {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let text = match &message["content"] {
        Value::Array(blocks) => blocks
            .iter()
            .filter(|b| b["type"] == "text")
            .map(|b| word(&b["text"]))
            .collect(),
        content => word(content),
    };
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    StateMessage {
        role: word(&message["type"]),
        id: word(&message["id"]),
        text,
        calls: calls
            .map(|call| (word(&call["id"]), word(&call["name"]), call["args"].clone()))
            .collect(),
        result_of: word(&message["tool_call_id"]),
    }
}
