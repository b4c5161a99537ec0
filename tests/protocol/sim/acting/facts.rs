//! What is compared of two responses, and the request that the simulator gets in place of a recorded one.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The ids that the simulator has in place of recorded ones.
pub struct Own<'a>(pub &'a BTreeMap<String, String>);

/// Graphs of the recorded servers and those of the simulator that do the same.
const GRAPHS: [(&str, &str); 3] = [
    ("chain", "release"),
    ("inbox", "mailer"),
    ("typed", "schema"),
];

/// Their nodes.
const NODES: [(&str, &str); 4] = [
    ("a", "build"),
    ("b", "test"),
    ("c", "release"),
    ("judge", "ask"),
];

impl Own<'_> {
    /// A recorded body with the simulator's ids, graphs and nodes.
    pub fn body(&self, body: &Value) -> Value {
        match body {
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| {
                    let key = self.0.get(key).cloned().unwrap_or_else(|| key.clone());
                    let value = match key.as_str() {
                        "assistant_id" => translated(value, &GRAPHS),
                        "goto" | "as_node" | "interrupt_before" => translated(value, &NODES),
                        "decisions" => value
                            .as_array()
                            .into_iter()
                            .flatten()
                            .take(2)
                            .cloned()
                            .collect(),
                        _ => self.body(value),
                    };
                    (key, value)
                })
                .collect(),
            Value::Array(list) => list.iter().map(|item| self.body(item)).collect(),
            Value::String(text) => json!(self.0.get(text).unwrap_or(text)),
            other => other.clone(),
        }
    }
}

fn translated(value: &Value, words: &[(&str, &str)]) -> Value {
    match value {
        Value::String(text) => {
            json!(
                words
                    .iter()
                    .find(|(theirs, _)| theirs == text)
                    .map_or(text.as_str(), |(_, own)| own)
            )
        }
        Value::Array(list) => list.iter().map(|item| translated(item, words)).collect(),
        other => other.clone(),
    }
}

/// A node, or an entry of a log, in the recorded graphs' words.
fn word(text: &str) -> String {
    let text = text
        .split([' ', '='])
        .next()
        .filter(|first| *first == "acted")
        .unwrap_or(text);
    match text {
        "put aside" | "paid" => "acted".into(),
        _ => NODES
            .iter()
            .find(|(_, own)| *own == text)
            .map_or(text, |(theirs, _)| theirs)
            .to_owned(),
    }
}

fn keys(value: &Value) -> Vec<String> {
    let mut keys: Vec<String> = value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key.clone())
        .collect();
    keys.sort_unstable();
    keys
}

/// What differs between two facts, by place.
pub fn differences(own: &Value, recorded: &Value, at: &str, found: &mut Vec<String>) {
    match (own, recorded) {
        (Value::Object(a), Value::Object(b))
            if a.keys().all(|key| b.contains_key(key)) && a.len() == b.len() =>
        {
            a.iter()
                .for_each(|(key, own)| differences(own, &b[key], &format!("{at}.{key}"), found));
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter()
                .zip(b)
                .enumerate()
                .for_each(|(n, (own, recorded))| {
                    differences(own, recorded, &format!("{at}[{n}]"), found);
                });
        }
        _ if own == recorded => {}
        _ => found.push(format!("{at}: {own} instead of {recorded}")),
    }
}

/// The facts of a response.
pub fn facts(value: &Value) -> Value {
    match value {
        Value::Array(list) if list.iter().any(|one| !one["parent_checkpoint"].is_null()) => {
            tree(list)
        }
        Value::Array(list) => list.iter().map(facts).collect(),
        Value::Object(map) if map.contains_key("__error__") => {
            json!({"error": value["__error__"]["error"]})
        }
        Value::Object(map) if map.contains_key("__interrupt__") => {
            let asked = value["__interrupt__"].as_array().into_iter().flatten();
            json!({"asked": asked.map(keys).collect::<Vec<_>>(), "values": values(value)})
        }
        Value::Object(map) if map.contains_key("tasks") => state(value),
        Value::Object(map) if map.contains_key("run_id") => {
            json!({"keys": keys(value), "status": value["status"], "strategy": value["multitask_strategy"],
                "kwargs": keys(&value["kwargs"])})
        }
        Value::Object(map) if map.contains_key("thread_id") => thread(value),
        Value::Object(map) if map.contains_key("checkpoint") => {
            json!({"keys": keys(value), "place": keys(&value["checkpoint"])})
        }
        Value::Object(map) if map.contains_key("detail") => {
            let text = value["detail"].as_str().unwrap_or_default();
            json!({"detail": text.lines().next()})
        }
        Value::Object(map) if map.contains_key("success") => {
            json!({"issue": value["error"]["issues"][0]["message"], "at": value["error"]["issues"][0]["path"]})
        }
        Value::Object(_) => values(value),
        other => other.clone(),
    }
}

/// The parts of a state that the recorded graphs and the simulator's have in common.
fn values(value: &Value) -> Value {
    let mut facts = json!({});
    // What the simulator's `mailer` writes besides is its own matter.
    let log = value["log"]
        .as_array()
        .filter(|_| value["answers"].as_array().is_none_or(Vec::is_empty));
    let log = log.filter(|_| value.get("subject").is_none());
    if let Some(log) = log.filter(|log| !log.is_empty()) {
        // Nodes of one step write in the order of their names, which differ; the tree has the order of the steps.
        let mut log: Vec<String> = log
            .iter()
            .map(|one| word(one.as_str().unwrap_or_default()))
            .collect();
        log.sort_unstable();
        facts["log"] = json!(log);
    }
    if let Some(messages) = value["messages"].as_array() {
        let mut types: Vec<&Value> = messages.iter().map(|message| &message["type"]).collect();
        types.dedup();
        facts["messages"] = json!(types);
    }
    for key in ["decision", "answers"] {
        let given = &value[key];
        if !given.is_null() && *given != json!([]) {
            facts[key] = given.clone();
        }
    }
    facts
}

fn thread(row: &Value) -> Value {
    let asked: usize = row["interrupts"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(_, all)| all.as_array())
        .map(Vec::len)
        .sum();
    json!({"keys": keys(row), "status": row["status"], "error": row["error"]["error"], "asked": asked,
        "values": values(&row["values"])})
}

/// A state without its parent.
fn state(state: &Value) -> Value {
    let tasks: Vec<Value> = state["tasks"]
        .as_array()
        .into_iter()
        .flatten()
        .map(task)
        .collect();
    let next: Vec<String> = state["next"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(word)
        .collect();
    // Metadata of the recorded threads, of the recorder's HTTP library, and of langchain's agents.
    let own = [
        "user",
        "kind",
        "user-agent",
        "ls_integration",
        "lc_agent_name",
    ];
    let metadata: Vec<String> = keys(&state["metadata"])
        .into_iter()
        .filter(|key| !own.contains(&key.as_str()))
        .collect();
    let asked = state["interrupts"].as_array().map(Vec::len);
    let about = &state["metadata"];
    json!({"keys": keys(state), "values": values(&state["values"]), "next": next, "tasks": tasks, "asked": asked,
        "source": about["source"], "step": about["step"], "attempt": about["run_attempt"], "metadata": metadata})
}

fn task(task: &Value) -> Value {
    // The class. pydantic's text has none, but a number of errors and the name of a class of the graph.
    let class = |text: &str| {
        text.split(['(', '\n'])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let pydantic = |text: &str| {
        text.contains("validation error")
            .then(|| "ValidationError".to_owned())
    };
    let error = task["error"]
        .as_str()
        .map(|text| pydantic(text).unwrap_or_else(|| class(text)));
    let asked: Vec<Value> = task["interrupts"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| json!(keys(one)))
        .collect();
    json!({"keys": keys(task), "name": word(task["name"].as_str().unwrap_or_default()), "path": task["path"][0],
        "error": error, "asked": asked, "result": if task["result"].is_null() { Value::Null } else { values(&task["result"]) }})
}

/// The states of a history, oldest first, each with the number of its parent and of its run.
fn tree(history: &[Value]) -> Value {
    let oldest_first: Vec<&Value> = history.iter().rev().collect();
    let id = |place: &Value| {
        place["checkpoint_id"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let ids: Vec<String> = oldest_first
        .iter()
        .map(|one| id(&one["checkpoint"]))
        .collect();
    let mut runs: Vec<&Value> = Vec::new();
    let sorted = ids.is_sorted();
    let states = oldest_first.iter().map(|one| {
        let run = &one["metadata"]["run_id"];
        if !runs.contains(&run) {
            runs.push(run);
        }
        let parent = ids.iter().position(|known| *known == id(&one["parent_checkpoint"]));
        json!({"parent": parent, "run": runs.iter().position(|known| *known == run), "state": state(one)})
    });
    let states: Vec<Value> = states.collect();
    json!({"sorted": sorted, "states": states})
}
