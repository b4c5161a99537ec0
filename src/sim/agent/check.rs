//! What the Python server says to a request that it does not take, in its own words.

use super::emit::MODES;
use super::{Agent, detail};
use crate::sim::Dialect;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use uuid::Uuid;

/// An answer that refuses, boxed because it is rare and large.
pub type Refusal = Box<Response>;

/// A refusal with a text.
pub fn refuse(status: StatusCode, text: &str) -> Refusal {
    Box::new(detail(status, text))
}

/// Reads a body that must be JSON; its media type does not matter, as on the real server.
pub fn body(bytes: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(bytes).map_err(|_| refuse(StatusCode::UNPROCESSABLE_ENTITY, "Invalid JSON in request body"))
}

/// Reads a body that may be left out.
pub fn optional_body(bytes: &[u8]) -> Result<Value, Refusal> {
    if bytes.is_empty() { Ok(json!({})) } else { body(bytes) }
}

/// A thread's id in a path. Reading and running answer differently.
pub fn thread_id(id: &str, running: bool) -> Result<(), Refusal> {
    if Uuid::try_parse(id).is_ok() {
        Ok(())
    } else if running {
        Err(refuse(StatusCode::BAD_REQUEST, "badly formed hexadecimal UUID string"))
    } else {
        Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, "Invalid thread ID: must be a UUID"))
    }
}

/// A run's id in a path.
pub fn run_id(id: &str) -> Result<(), Refusal> {
    if Uuid::try_parse(id).is_ok() {
        return Ok(());
    }
    Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, "Invalid run ID: must be a UUID"))
}

/// That a thread exists.
pub fn thread_exists(agent: &Agent, id: &str) -> Result<(), Refusal> {
    if agent.memory().threads.contains_key(id) {
        return Ok(());
    }
    Err(refuse(StatusCode::NOT_FOUND, &format!("Thread with ID {id} not found")))
}

fn schema(says: &str, rule: &str, place: &str, at: &str, value: &Value) -> Refusal {
    let at = if at.is_empty() { String::new() } else { format!("[\"{at}\"]") };
    let text = format!("{says}\n\nFailed validating \"{rule}\" in schema{place}\n\nOn instance{at}:\n    {value}");
    refuse(StatusCode::UNPROCESSABLE_ENTITY, &text)
}

fn property(name: &str) -> String {
    format!("[\"components\"][\"schemas\"][\"RunCreateStateful\"][\"properties\"][\"{name}\"]")
}

fn one_of(body: &Value, key: &str, allowed: &[&str], place: &str) -> Result<(), Refusal> {
    let value = &body[key];
    if value.is_null() || allowed.iter().any(|word| value == word) {
        return Ok(());
    }
    let says = match allowed {
        [first, second, rest @ ..] if !rest.is_empty() => {
            format!("{value} is not one of \"{first}\", \"{second}\" or {} other candidates", rest.len())
        }
        [first, second] => format!("{value} is not one of \"{first}\" or \"{second}\""),
        _ => format!("{value} is not one of the allowed values"),
    };
    Err(schema(&says, "enum", place, key, value))
}

/// The body of a new run. Unknown fields are ignored.
pub fn run_create(body: &Value) -> Result<(), Refusal> {
    if !body.is_object() {
        let place = "[\"components\"][\"schemas\"][\"RunCreateStateful\"]";
        return Err(schema(&format!("{body} is not of type \"object\""), "type", place, "", body));
    }
    if body.get("assistant_id").is_none() {
        let place = "[\"components\"][\"schemas\"][\"RunCreateStateful\"]";
        return Err(schema("\"assistant_id\" is a required property", "required", place, "", body));
    }
    let asked = &body["stream_mode"];
    let known = |mode: &Value| MODES.iter().any(|known| mode == known);
    let valid = match asked {
        Value::Null => true,
        Value::Array(modes) => modes.iter().all(known),
        mode => known(mode),
    };
    if !valid {
        let says = format!("{asked} is not valid under any of the schemas listed in the 'anyOf' keyword");
        return Err(schema(&says, "anyOf", &property("stream_mode"), "stream_mode", asked));
    }
    let strategies = ["reject", "rollback", "interrupt", "enqueue"];
    one_of(body, "multitask_strategy", &strategies, &property("multitask_strategy"))?;
    one_of(body, "if_not_exists", &["create", "reject"], &property("if_not_exists"))?;
    one_of(body, "on_disconnect", &["cancel", "continue"], &property("on_disconnect"))?;
    one_of(body, "durability", &["sync", "async", "exit"], &property("durability"))?;
    for (key, kind) in [("config", "object"), ("metadata", "object"), ("context", "object")] {
        let value = &body[key];
        if !value.is_null() && !value.is_object() {
            let says = format!("{value} is not of type \"{kind}\"");
            return Err(schema(&says, "type", &property(key), key, value));
        }
    }
    for key in ["stream_subgraphs", "stream_resumable"] {
        let value = &body[key];
        if !value.is_null() && !value.is_boolean() {
            let says = format!("{value} is not of type \"boolean\"");
            return Err(schema(&says, "type", &property(key), key, value));
        }
    }
    Ok(())
}

/// That the assistant exists. A name that is none lists the graphs; an id that is none is a 404.
pub fn assistant(agent: &Agent, asked: &Value) -> Result<super::state::Assistant, Refusal> {
    let text = asked.as_str().unwrap_or_default();
    if let Some(found) = agent.assistant(text) {
        return Ok(found);
    }
    if Uuid::try_parse(text).is_ok() {
        return Err(refuse(StatusCode::NOT_FOUND, "Thread or assistant not found."));
    }
    let mut graphs: Vec<&str> = Vec::new();
    for assistant in &agent.memory().assistants {
        let name = assistant.graph.name();
        if !graphs.contains(&name) {
            graphs.push(name);
        }
    }
    let text = format!(
        "Invalid assistant: '{text}'. Must be either:\n- A valid assistant UUID, or\n- One of the registered graphs: {}",
        graphs.join(", ")
    );
    Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, &text))
}

/// What a search asks for beyond its filters.
#[derive(Debug)]
pub struct Page {
    /// Entries at most.
    pub limit: usize,
    /// Entries left out at the start.
    pub offset: usize,
    /// What it sorts by.
    pub sort_by: Option<String>,
    /// Whether the largest comes first.
    pub descending: bool,
    /// Fields that are wanted; none means all.
    pub select: Vec<String>,
}

/// The part of a search that is the same for threads and assistants.
pub fn page(body: &Value, sorts: &[&str]) -> Result<Page, Refusal> {
    for (key, least, most) in [("limit", 1, 1000), ("offset", 0, i64::MAX)] {
        let value = &body[key];
        let place = format!("[\"properties\"][\"{key}\"]");
        match value.as_i64() {
            None if value.is_null() => {}
            None => return Err(schema(&format!("{value} is not of type \"integer\""), "type", &place, key, value)),
            Some(number) if number > most => {
                let says = format!("{number} is greater than the maximum of {most}");
                return Err(schema(&says, "maximum", &place, key, value));
            }
            Some(number) if number < least => {
                let says = format!("{number} is less than the minimum of {least}");
                return Err(schema(&says, "minimum", &place, key, value));
            }
            Some(_) => {}
        }
    }
    one_of(body, "sort_by", sorts, "[\"properties\"][\"sort_by\"]")?;
    one_of(body, "sort_order", &["asc", "desc"], "[\"properties\"][\"sort_order\"]")?;
    let strings = |value: &Value| {
        value.as_array().into_iter().flatten().filter_map(|field| field.as_str().map(str::to_owned)).collect()
    };
    Ok(Page {
        limit: body["limit"].as_u64().unwrap_or(10) as usize,
        offset: body["offset"].as_u64().unwrap_or(0) as usize,
        sort_by: body["sort_by"].as_str().map(str::to_owned),
        descending: body["sort_order"] != "asc",
        select: strings(&body["select"]),
    })
}

/// The modes of a thread's stream. The Python server takes one comma list and of a repeated parameter the last one; the
/// contract takes every repeat and knows no commas.
pub fn thread_modes(dialect: Dialect, pairs: &[(String, String)]) -> Result<Vec<String>, Refusal> {
    let given: Vec<&str> =
        pairs.iter().filter(|(key, _)| key == "stream_modes").map(|(_, value)| value.as_str()).collect();
    let asked: Vec<String> = match (dialect, given.last()) {
        (_, None) => vec!["run_modes".into()],
        (Dialect::Contract, Some(_)) => given.iter().map(|&mode| mode.to_owned()).collect(),
        (Dialect::Python, Some(list)) => list.split(',').map(|mode| mode.trim().to_owned()).collect(),
    };
    match asked.iter().find(|mode| !["run_modes", "lifecycle", "state_update"].contains(&mode.as_str())) {
        Some(unknown) => Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, &format!("Invalid stream mode: {unknown}"))),
        None => Ok(asked),
    }
}
