//! Parses and validates requests.

use super::emit::MODES;
use crate::agent::prelude::*;
use crate::http::{check_range, not_one_of, run_schema};
use uuid::Uuid;

/// The Python server's error for a run with both kinds of settings.
pub const BOTH_SETTINGS: &str = "Cannot specify both configurable and context. Prefer setting context alone. Context was \
                                 introduced in LangGraph 0.6.0 and is the long term planned replacement for configurable.";

/// Reads a body that must be JSON; its media type does not matter, as on the real servers.
pub fn body(bytes: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(bytes).map_err(|_| bad_json())
}

/// Reads a body that may be missing.
pub fn optional_body(bytes: &[u8]) -> Result<Value, Refusal> {
    body(if bytes.is_empty() { b"{}" } else { bytes })
}

/// A number of a body.
pub fn number(body: &Value, field: &str, usual: u64) -> usize {
    body[field].as_u64().unwrap_or(usual) as usize
}

/// Checks an id in a path.
pub fn check_id(what: &str, id: &str) -> Result<(), Refusal> {
    let says = |_| invalid(&format!("Invalid {what} ID: must be a UUID"));
    Uuid::try_parse(id).map(drop).map_err(says)
}

/// Checks a thread's and a run's id in a path.
pub fn check_run_ids(thread: &str, run: &str) -> Result<(), Refusal> {
    check_id("thread", thread)?;
    check_id("run", run)
}

fn check_word(body: &Value, field: &str, allowed: &[&str], place: &str) -> Result<(), Refusal> {
    let value = &body[field];
    if value.is_null() || allowed.iter().any(|word| value == word) {
        return Ok(());
    }
    if !value.is_string() {
        return Err(wrong_type("string", place, field, value));
    }
    Err(not_one_of(allowed, place, field, value))
}

/// Checks how long a thread is to be kept.
pub fn check_ttl(body: &Value) -> Result<(), Refusal> {
    let ttl = &body["ttl"];
    if ttl.is_null() || ttl.is_object() {
        return Ok(());
    }
    Err(wrong_type("object", &property("ttl"), "ttl", ttl))
}

/// Checks the body of a new run. Unknown fields are ignored.
pub fn check_run(body: &Value) -> Result<(), Refusal> {
    let wrong = |kind: &str, field: &str| wrong_type(kind, &run_schema(field), field, &body[field]);
    if !body.is_object() {
        return Err(wrong_type("object", &run_schema(""), "", body));
    }
    if body.get("assistant_id").is_none() {
        let says = "\"assistant_id\" is a required property";
        return Err(violation(says, "required", &run_schema(""), "", body));
    }
    check_modes(&body["stream_mode"])?;
    let strategies = ["reject", "rollback", "interrupt", "enqueue"];
    for (field, allowed) in [
        ("multitask_strategy", &strategies[..]),
        ("if_not_exists", &["create", "reject"]),
        ("on_disconnect", &["cancel", "continue"]),
    ] {
        check_word(body, field, allowed, &run_schema(field))?;
    }
    let durabilities = ["sync", "async", "exit"];
    check_word(body, "durability", &durabilities, &property("durability"))?;
    check_webhook(body)?;
    for field in ["config", "metadata", "context"] {
        if !body[field].is_null() && !body[field].is_object() {
            return Err(wrong("object", field));
        }
    }
    for field in ["stream_subgraphs", "stream_resumable"] {
        if !body[field].is_null() && !body[field].is_boolean() {
            return Err(wrong("boolean", field));
        }
    }
    let given = |value: &Value| fields_of(value).next().is_some();
    if given(&body["context"]) && given(&body["config"]["configurable"]) {
        return Err(bad(BOTH_SETTINGS));
    }
    Ok(())
}

/// Checks where a run reports its end: the server calls no address of its own machine or network.
fn check_webhook(body: &Value) -> Result<(), Refusal> {
    let Some(webhook) = body["webhook"].as_str() else {
        return Ok(());
    };
    let url = url::Url::parse(webhook).ok();
    let is_local = match url.as_ref().and_then(url::Url::host) {
        None => return Err(invalid("Invalid webhook hostname ''")),
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(_)) => false,
    };
    match is_local {
        true => Err(invalid("Webhook host blocked: loopback IP range")),
        false => Ok(()),
    }
}

fn check_modes(asked: &Value) -> Result<(), Refusal> {
    let known = |mode: &Value| MODES.iter().any(|known| mode == known);
    if asked.is_null() || known(asked) || asked.as_array().is_some_and(|all| all.iter().all(known))
    {
        return Ok(());
    }
    let says =
        format!("{asked} is not valid under any of the schemas listed in the 'anyOf' keyword");
    let place = run_schema("stream_mode");
    Err(violation(&says, "anyOf", &place, "stream_mode", asked))
}

/// Checks the parts of a search that threads and assistants share.
pub fn check_page(body: &Value, sorts: &[&str]) -> Result<(), Refusal> {
    check_range("limit", &body["limit"], 1, 1000)?;
    check_range("offset", &body["offset"], 0, i64::MAX)?;
    check_word(body, "sort_by", sorts, &property("sort_by"))?;
    let orders = ["asc", "desc"];
    check_word(body, "sort_order", &orders, &property("sort_order"))
}

/// Checks the filters of a thread search.
pub fn check_thread_filters(body: &Value) -> Result<(), Refusal> {
    let statuses = ["idle", "busy", "interrupted", "error"];
    check_word(body, "status", &statuses, &property("status"))
}

impl Agent {
    /// Refuses fields that the contract doesn't have, on a contract-only server.
    pub fn check_fields(&self, body: &Value, known: &[&str]) -> Result<(), Refusal> {
        let extra = fields_of(body).filter(|(name, _)| !known.contains(&name.as_str()));
        let problem = |(name, _)| json!({"loc": ["body", name], "msg": "Extra inputs are not permitted", "type": "extra_forbidden"});
        let problems: Vec<Value> = extra.map(problem).collect();
        if !self.contract || problems.is_empty() {
            return Ok(());
        }
        let detail = json!({ "detail": problems });
        Err(json_response(StatusCode::UNPROCESSABLE_ENTITY, &detail).into())
    }

    /// Checks that a thread exists.
    pub fn check_thread(&self, id: &str) -> Result<(), Refusal> {
        check_id("thread", id)?;
        if self.memory().threads.contains_key(id) {
            return Ok(());
        }
        Err(no_thread(id))
    }

    /// Finds the assistant that a new run names: by id, or by the name of its graph.
    pub fn assistant_to_run(&self, asked: &Value) -> Result<Assistant, Refusal> {
        let text = asked.as_str().unwrap_or_default();
        if let Some(found) = self.assistant(text) {
            return Ok(found);
        }
        if Uuid::try_parse(text).is_ok() {
            return Err(missing("Thread or assistant not found."));
        }
        let memory = self.memory();
        let mut graphs: Vec<&str> = memory
            .assistants
            .iter()
            .map(|one| one.graph.name())
            .collect();
        let mut seen = BTreeSet::new();
        graphs.retain(|name| seen.insert(*name));
        Err(invalid(&format!(
            "Invalid assistant: '{text}'. Must be either:\n- A valid assistant UUID, or\n- One of the registered graphs: {}",
            graphs.join(", ")
        )))
    }

    /// Reads the modes of a thread's stream. The Python server splits one value at commas and uses the last value of a repeated
    /// parameter; the contract uses every repetition and does not split at commas.
    pub fn thread_modes(&self, pairs: &[(String, String)]) -> Result<Vec<String>, Refusal> {
        let given = pairs.iter().filter(|(key, _)| key == "stream_modes");
        let given: Vec<&str> = given.map(|(_, value)| value.as_str()).collect();
        let asked: Vec<String> = match given.last() {
            None => vec!["run_modes".into()],
            Some(_) if self.contract => given.iter().map(|&mode| mode.to_owned()).collect(),
            Some(list) => list.split(',').map(|mode| mode.trim().to_owned()).collect(),
        };
        let known = ["run_modes", "lifecycle", "state_update"];
        match asked.iter().find(|mode| !known.contains(&mode.as_str())) {
            Some(unknown) => Err(invalid(&format!("Invalid stream mode: {unknown}"))),
            None => Ok(asked),
        }
    }
}
