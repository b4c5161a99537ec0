//! The store: items in namespaces (acting reference §9).

use super::ThisAgent;
use super::refuse::{Problem, Refusal};
use super::state::contains;
use super::{Agent, empty, json_response, query_pairs, text_response};
use crate::Dialect;
use crate::ids::{iso, iso_millis};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Value, json};

/// An item of the store.
#[derive(Debug, Clone)]
pub struct Item {
    pub namespace: Vec<String>,
    pub key: String,
    pub value: Value,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

fn answer(result: Result<Response, Refusal>) -> Response {
    result.unwrap_or_else(|refusal| *refusal)
}

fn labels(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

impl Agent {
    fn item_row(&self, item: &Item) -> Value {
        let mut row = json!({"namespace": item.namespace, "key": item.key, "value": item.value});
        match self.dialect {
            Dialect::Aegra => {}
            Dialect::JavaScript => {
                row["created_at"] = json!(iso_millis(item.created_at));
                row["updated_at"] = json!(iso_millis(item.updated_at));
            }
            Dialect::Python | Dialect::Contract => {
                row["created_at"] = json!(iso(item.created_at));
                row["updated_at"] = json!(iso(item.updated_at));
            }
        }
        row
    }

    /// Python refuses such labels as plain text.
    fn check_labels(&self, namespace: &[String]) -> Result<(), Refusal> {
        let Some(bad) = namespace
            .iter()
            .find(|label| label.is_empty() || label.contains('.'))
        else {
            return Ok(());
        };
        let text = format!("Namespace label '{bad}' must be a non-empty string without periods");
        Err(Box::new(text_response(
            StatusCode::UNPROCESSABLE_ENTITY,
            "text/plain; charset=utf-8",
            &text,
        )))
    }

    /// The namespace of a query. Python and JavaScript take one parameter with dots, Aegra one for each label.
    fn asked_namespace(&self, uri: &Uri) -> Result<Vec<String>, Refusal> {
        let given: Vec<String> = query_pairs(uri)
            .into_iter()
            .filter(|(name, _)| name == "namespace")
            .map(|(_, label)| label)
            .collect();
        match (self.dialect, given.as_slice()) {
            (Dialect::Aegra, labels) if labels.iter().any(|label| label.contains('.')) => {
                Err(Box::new(json_response(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    &json!({"error": "internal_error", "message": "An unexpected error occurred", "details": null}),
                )))
            }
            (Dialect::Aegra, labels) => Ok(labels.to_vec()),
            (Dialect::JavaScript, [_, _, ..]) => Err(self.refuse(Problem::BadJson)),
            (_, labels) => Ok(labels
                .last()
                .map_or("", String::as_str)
                .split('.')
                .map(str::to_owned)
                .collect()),
        }
    }
}

/// `PUT /store/items`.
pub async fn put(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(agent.body(&bytes).and_then(|body| {
        let (namespace, key) = (
            labels(&body["namespace"]),
            body["key"].as_str().unwrap_or_default().to_owned(),
        );
        agent.check_labels(&namespace)?;
        if namespace.is_empty() {
            let text = "Namespace cannot be empty.".to_owned();
            return Err(agent.refuse(Problem::Python(StatusCode::BAD_REQUEST, text)));
        }
        if !body["value"].is_object() {
            return Err(agent.refuse(Problem::Schema {
                says: format!("{} is not of type \"object\"", body["value"]),
                rule: "type",
                place: "[\"properties\"][\"value\"]".into(),
                at: "value",
                value: body["value"].clone(),
            }));
        }
        let now = Timestamp::now();
        let mut memory = agent.memory();
        let old = memory
            .items
            .iter_mut()
            .find(|item| item.namespace == namespace && item.key == key);
        match old {
            Some(item) => (item.value, item.updated_at) = (body["value"].clone(), now),
            None => {
                let value = body["value"].clone();
                memory.items.push(Item {
                    namespace,
                    key,
                    value,
                    created_at: now,
                    updated_at: now,
                });
            }
        }
        Ok(match agent.dialect {
            Dialect::Aegra => json_response(StatusCode::OK, &json!({"status": "stored"})),
            _ => empty(StatusCode::NO_CONTENT),
        })
    }))
}

/// `GET /store/items?namespace=a.b&key=k`.
pub async fn get(State(agent): ThisAgent, uri: Uri) -> Response {
    answer(agent.asked_namespace(&uri).map(|namespace| {
        let key = query_pairs(&uri)
            .into_iter()
            .find(|(name, _)| name == "key")
            .map(|(_, key)| key)
            .unwrap_or_default();
        let memory = agent.memory();
        let found = memory
            .items
            .iter()
            .find(|item| item.namespace == namespace && item.key == key);
        match (found, agent.dialect) {
            (Some(item), _) => json_response(StatusCode::OK, &agent.item_row(item)),
            (None, Dialect::Aegra) => json_response(
                StatusCode::NOT_FOUND,
                &json!({"error": "not_found", "message": "Item not found", "details": null}),
            ),
            (None, _) => json_response(StatusCode::OK, &Value::Null),
        }
    }))
}

/// `DELETE /store/items`: a success even if there is nothing to delete.
pub async fn delete(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(agent.body(&bytes).map(|body| {
        let (namespace, key) = (
            labels(&body["namespace"]),
            body["key"].as_str().unwrap_or_default(),
        );
        agent
            .memory()
            .items
            .retain(|item| item.namespace != namespace || item.key != key);
        match agent.dialect {
            Dialect::Aegra => json_response(StatusCode::OK, &json!({"status": "deleted"})),
            _ => empty(StatusCode::NO_CONTENT),
        }
    }))
}

/// `POST /store/items/search`.
pub async fn search(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(agent.optional_body(&bytes).and_then(|body| {
        let is_operator = |value: &Value| {
            value
                .as_object()
                .is_some_and(|map| map.keys().any(|key| key.starts_with('$')))
        };
        let has_operator = body["filter"]
            .as_object()
            .is_some_and(|filter| filter.values().any(is_operator));
        if agent.dialect == Dialect::Python
            && (!body["namespace_prefix"].is_array() || has_operator)
        {
            let text = "Internal Server Error".to_owned();
            return Err(agent.refuse(Problem::Python(StatusCode::INTERNAL_SERVER_ERROR, text)));
        }
        let prefix = labels(&body["namespace_prefix"]);
        agent.check_labels(&prefix)?;
        let number = |field: &str, usual: u64| body[field].as_u64().unwrap_or(usual) as usize;
        let (limit, offset) = (number("limit", 10), number("offset", 0));
        let memory = agent.memory();
        // Aegra finds nothing without a namespace.
        let is_all = prefix.is_empty() && agent.dialect == Dialect::Aegra;
        let found = memory
            .items
            .iter()
            .filter(|item| !is_all && item.namespace.starts_with(&prefix));
        let found =
            found.filter(|item| body["filter"].is_null() || contains(&item.value, &body["filter"]));
        let rows: Vec<Value> = found
            .skip(offset)
            .take(limit)
            .map(|item| {
                let mut row = agent.item_row(item);
                if agent.dialect == Dialect::Python {
                    // No index is configured, so a query neither sorts nor scores.
                    row["score"] = Value::Null;
                }
                row
            })
            .collect();
        Ok(json_response(StatusCode::OK, &json!({"items": rows})))
    }))
}

/// `POST /store/namespaces`.
pub async fn namespaces(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(agent.optional_body(&bytes).and_then(|body| {
        if agent.dialect == Dialect::JavaScript
            && body["prefix"].as_array().is_some_and(Vec::is_empty)
        {
            let text = "Namespace is required";
            return Err(Box::new(text_response(
                StatusCode::BAD_REQUEST,
                "text/plain;charset=UTF-8",
                text,
            )));
        }
        let (prefix, suffix) = (labels(&body["prefix"]), labels(&body["suffix"]));
        let number = |field: &str, usual: u64| body[field].as_u64().unwrap_or(usual) as usize;
        let depth = number("max_depth", u64::from(u32::MAX));
        let mut found: Vec<Vec<String>> = agent
            .memory()
            .items
            .iter()
            .map(|item| &item.namespace)
            .filter(|namespace| namespace.starts_with(&prefix) && namespace.ends_with(&suffix))
            .map(|namespace| namespace.iter().take(depth).cloned().collect())
            .collect();
        found.sort();
        found.dedup();
        let rows: Vec<Vec<String>> = found
            .into_iter()
            .skip(number("offset", 0))
            .take(number("limit", 100))
            .collect();
        Ok(json_response(StatusCode::OK, &json!({"namespaces": rows})))
    }))
}
