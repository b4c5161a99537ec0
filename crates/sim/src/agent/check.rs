//! Parses and validates requests.

use super::emit::MODES;
use super::refuse::{Problem, Refusal, run_schema};
use super::state::Assistant;
use super::{Agent, json_response};
use crate::Dialect;
use axum::http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

impl Agent {
    /// Reads a body that must be JSON; its media type does not matter, as on the real servers.
    pub fn body(&self, bytes: &[u8]) -> Result<Value, Refusal> {
        serde_json::from_slice(bytes).map_err(|_| self.refuse(Problem::BadJson))
    }

    /// Reads a body that may be missing.
    pub fn optional_body(&self, bytes: &[u8]) -> Result<Value, Refusal> {
        if bytes.is_empty() {
            Ok(json!({}))
        } else {
            self.body(bytes)
        }
    }

    /// Refuses fields that the contract doesn't have, on a contract-only server.
    pub fn check_fields(&self, body: &Value, known: &[&str]) -> Result<(), Refusal> {
        let extra = body
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name)
            .filter(|name| !known.contains(&&***name));
        let problems: Vec<Value> = extra
            .map(|name| json!({"loc": ["body", name], "msg": "Extra inputs are not permitted", "type": "extra_forbidden"}))
            .collect();
        match self.dialect {
            Dialect::Contract if !problems.is_empty() => Err(Box::new(json_response(
                StatusCode::UNPROCESSABLE_ENTITY,
                &json!({ "detail": problems }),
            ))),
            _ => Ok(()),
        }
    }

    /// Checks a thread's id in a path. Reads and runs are refused in different words. Aegra accepts any text.
    pub fn check_thread_id(&self, id: &str, running: bool) -> Result<(), Refusal> {
        if self.dialect == Dialect::Aegra || Uuid::try_parse(id).is_ok() {
            return Ok(());
        }
        Err(self.refuse(Problem::BadThreadId {
            id: id.to_owned(),
            running,
        }))
    }

    /// Checks a thread's and a run's id in a path.
    pub fn check_run_ids(&self, thread: &str, run: &str) -> Result<(), Refusal> {
        self.check_thread_id(thread, false)?;
        self.check_run_id(run)
    }

    /// Checks a run's id in a path.
    pub fn check_run_id(&self, run: &str) -> Result<(), Refusal> {
        if self.dialect == Dialect::Aegra || Uuid::try_parse(run).is_ok() {
            return Ok(());
        }
        Err(self.refuse(Problem::BadRunId(run.to_owned())))
    }

    /// Checks that a thread exists.
    pub fn check_thread(&self, id: &str) -> Result<(), Refusal> {
        self.check_thread_id(id, false)?;
        if self.memory().threads.contains_key(id) {
            return Ok(());
        }
        Err(self.refuse(Problem::NoThread(id.to_owned())))
    }

    /// Finds the assistant that a new run names: by id, or by the name of its graph.
    pub fn assistant_to_run(&self, asked: &Value) -> Result<Assistant, Refusal> {
        let text = asked.as_str().unwrap_or_default();
        if let Some(found) = self.assistant(text) {
            return Ok(found);
        }
        if Uuid::try_parse(text).is_ok() {
            return Err(self.refuse(Problem::UnknownAssistant(text.to_owned())));
        }
        let mut graphs: Vec<&'static str> = Vec::new();
        for assistant in &self.memory().assistants {
            let name = assistant.graph.name();
            if !graphs.contains(&name) {
                graphs.push(name);
            }
        }
        Err(self.refuse(Problem::UnknownName {
            name: text.to_owned(),
            graphs,
        }))
    }

    fn check_word(
        &self,
        body: &Value,
        field: &'static str,
        allowed: &'static [&'static str],
        place: String,
    ) -> Result<(), Refusal> {
        let value = &body[field];
        if value.is_null() || allowed.iter().any(|word| value == word) {
            return Ok(());
        }
        if !value.is_string() {
            let says = format!("{value} is not of type \"string\"");
            return Err(self.refuse(Problem::Schema {
                says,
                rule: "type",
                place,
                at: field,
                value: value.clone(),
            }));
        }
        Err(self.refuse(Problem::NotOneOf {
            field,
            value: value.clone(),
            allowed,
            place,
        }))
    }

    /// Checks the body of a new run. Unknown fields are ignored.
    pub fn check_run(&self, body: &Value) -> Result<(), Refusal> {
        let wrong = |says: String, field: &'static str| {
            let value = if field.is_empty() { body } else { &body[field] }.clone();
            self.refuse(Problem::Schema {
                says,
                rule: "type",
                place: run_schema(field),
                at: field,
                value,
            })
        };
        if !body.is_object() {
            return Err(wrong(format!("{body} is not of type \"object\""), ""));
        }
        if body.get("assistant_id").is_none() {
            return Err(self.refuse(Problem::NoAssistantNamed(body.clone())));
        }
        if self.dialect == Dialect::Aegra {
            // It checks neither modes nor strategies, and an input of null counts as none.
            let nothing = body["input"].is_null() && body["command"].is_null();
            return if nothing {
                Err(self.refuse(Problem::NoInput(body.clone())))
            } else {
                Ok(())
            };
        }
        self.check_modes(&body["stream_mode"])?;
        let words: [(&'static str, &'static [&'static str]); 3] = [
            (
                "multitask_strategy",
                &["reject", "rollback", "interrupt", "enqueue"],
            ),
            ("if_not_exists", &["create", "reject"]),
            ("on_disconnect", &["cancel", "continue"]),
        ];
        for (field, allowed) in words {
            self.check_word(body, field, allowed, run_schema(field))?;
        }
        self.check_word(
            body,
            "durability",
            &["sync", "async", "exit"],
            "[\"properties\"][\"durability\"]".into(),
        )?;
        self.check_webhook(body)?;
        for field in ["config", "metadata", "context"] {
            let value = &body[field];
            if !value.is_null() && !value.is_object() {
                return Err(wrong(format!("{value} is not of type \"object\""), field));
            }
        }
        for field in ["stream_subgraphs", "stream_resumable"] {
            let value = &body[field];
            if !value.is_null() && !value.is_boolean() {
                return Err(wrong(format!("{value} is not of type \"boolean\""), field));
            }
        }
        let given = |value: &Value| value.as_object().is_some_and(|object| !object.is_empty());
        if given(&body["context"]) && given(&body["config"]["configurable"]) {
            let text = "Cannot specify both configurable and context. Prefer setting context alone. Context was \
                        introduced in LangGraph 0.6.0 and is the long term planned replacement for configurable.";
            return Err(self.refuse(Problem::Python(StatusCode::BAD_REQUEST, text.into())));
        }
        Ok(())
    }

    /// Checks how long a thread is to be kept. Only the Python server looks at it.
    pub fn check_ttl(&self, body: &Value) -> Result<(), Refusal> {
        let ttl = &body["ttl"];
        if ttl.is_null() || ttl.is_object() || self.dialect != Dialect::Python {
            return Ok(());
        }
        let (says, place) = (
            format!("{ttl} is not of type \"object\""),
            "[\"properties\"][\"ttl\"]".to_owned(),
        );
        Err(self.refuse(Problem::Schema {
            says,
            rule: "type",
            place,
            at: "ttl",
            value: ttl.clone(),
        }))
    }

    /// Checks where a run reports its end: the Python server calls no address of its own machine or network.
    fn check_webhook(&self, body: &Value) -> Result<(), Refusal> {
        let Some(webhook) = body["webhook"]
            .as_str()
            .filter(|_| self.dialect == Dialect::Python)
        else {
            return Ok(());
        };
        let refused = |text: &str| {
            self.refuse(Problem::Python(
                StatusCode::UNPROCESSABLE_ENTITY,
                text.to_owned(),
            ))
        };
        let url = url::Url::parse(webhook).ok();
        match url.as_ref().and_then(url::Url::host) {
            None => Err(refused("Invalid webhook hostname ''")),
            Some(url::Host::Ipv4(ip)) if ip.is_loopback() => {
                Err(refused("Webhook host blocked: loopback IP range"))
            }
            Some(url::Host::Ipv6(ip)) if ip.is_loopback() => {
                Err(refused("Webhook host blocked: loopback IP range"))
            }
            Some(_) => Ok(()),
        }
    }

    fn check_modes(&self, asked: &Value) -> Result<(), Refusal> {
        let known = |mode: &Value| MODES.iter().any(|known| mode == known);
        let valid = match asked {
            Value::Null => true,
            Value::Array(modes) => modes.iter().all(known),
            mode => known(mode),
        };
        if valid {
            Ok(())
        } else {
            Err(self.refuse(Problem::BadMode(asked.clone())))
        }
    }

    /// Reads the parts of a search that threads, assistants and histories share.
    pub fn page(&self, body: &Value, sorts: &'static [&'static str]) -> Result<Page, Refusal> {
        let (most, usual) = if self.dialect == Dialect::Aegra {
            (100, 20)
        } else {
            (1000, 10)
        };
        for (field, least, most) in [("limit", 1, most), ("offset", 0, i64::MAX)] {
            let value = &body[field];
            match value.as_i64() {
                None if value.is_null() => {}
                None => {
                    let says = format!("{value} is not of type \"integer\"");
                    let place = format!("[\"properties\"][\"{field}\"]");
                    let value = value.clone();
                    return Err(self.refuse(Problem::Schema {
                        says,
                        rule: "type",
                        place,
                        at: field,
                        value,
                    }));
                }
                Some(number) if number > most => {
                    return Err(self.refuse(Problem::Range {
                        field,
                        value: number,
                        bound: most,
                        greatest: true,
                    }));
                }
                Some(number) if number < least => {
                    return Err(self.refuse(Problem::Range {
                        field,
                        value: number,
                        bound: least,
                        greatest: false,
                    }));
                }
                Some(_) => {}
            }
        }
        self.check_word(
            body,
            "sort_by",
            sorts,
            "[\"properties\"][\"sort_by\"]".into(),
        )?;
        self.check_word(
            body,
            "sort_order",
            &["asc", "desc"],
            "[\"properties\"][\"sort_order\"]".into(),
        )?;
        let strings = |value: &Value| {
            value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|field| field.as_str().map(str::to_owned))
                .collect()
        };
        Ok(Page {
            limit: body["limit"].as_u64().unwrap_or(usual) as usize,
            offset: body["offset"].as_u64().unwrap_or(0) as usize,
            sort_by: body["sort_by"].as_str().map(str::to_owned),
            descending: body["sort_order"] != "asc",
            select: strings(&body["select"]),
        })
    }

    /// Checks the filters of a thread search.
    pub fn check_thread_filters(&self, body: &Value) -> Result<(), Refusal> {
        let place = "[\"properties\"][\"status\"]".to_owned();
        self.check_word(
            body,
            "status",
            &["idle", "busy", "interrupted", "error"],
            place,
        )
    }

    /// Reads the modes of a thread's stream. The Python server splits one value at commas and uses the last value of a repeated
    /// parameter; the contract uses every repetition and does not split at commas.
    pub fn thread_modes(&self, pairs: &[(String, String)]) -> Result<Vec<String>, Refusal> {
        let given: Vec<&str> = pairs
            .iter()
            .filter(|(key, _)| key == "stream_modes")
            .map(|(_, value)| value.as_str())
            .collect();
        let asked: Vec<String> = match (self.dialect, given.last()) {
            (_, None) => vec!["run_modes".into()],
            (Dialect::Contract, Some(_)) => given.iter().map(|&mode| mode.to_owned()).collect(),
            (_, Some(list)) => list.split(',').map(|mode| mode.trim().to_owned()).collect(),
        };
        match asked
            .iter()
            .find(|mode| !["run_modes", "lifecycle", "state_update"].contains(&mode.as_str()))
        {
            Some(unknown) => {
                let text = format!("Invalid stream mode: {unknown}");
                Err(self.refuse(Problem::Python(StatusCode::UNPROCESSABLE_ENTITY, text)))
            }
            None => Ok(asked),
        }
    }
}

/// The options of a search besides its filters.
#[derive(Debug)]
pub struct Page {
    /// Maximum number of entries.
    pub limit: usize,
    /// Entries to skip.
    pub offset: usize,
    /// The field to sort by.
    pub sort_by: Option<String>,
    /// Whether the order is descending.
    pub descending: bool,
    /// The requested fields; an empty list means all.
    pub select: Vec<String>,
}
