//! The store: items in namespaces (acting reference §9).

use super::ThisAgent;
use super::check::{body, number, optional_body};
use super::state::{StoreItem, contains};
use crate::http::{
    Handled, Refusal, bad, done, failed, last_of, ok, plain, property, query_pairs, wrong_type,
};
use crate::ids::iso;
use crate::values::text_of;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Value, json};

fn labels(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

impl StoreItem {
    fn row(&self) -> Value {
        json!({
            "namespace": self.namespace, "key": self.key, "value": self.value, "created_at": iso(self.created_at),
            "updated_at": iso(self.updated_at),
        })
    }
}

/// Such labels are refused as plain text.
fn check_labels(namespace: &[String]) -> Result<(), Refusal> {
    let is_bad = |label: &&String| label.is_empty() || label.contains('.');
    let Some(bad) = namespace.iter().find(is_bad) else {
        return Ok(());
    };
    let text = format!("Namespace label '{bad}' must be a non-empty string without periods");
    Err(plain(StatusCode::UNPROCESSABLE_ENTITY, &text))
}

/// `PUT /store/items`.
pub async fn put(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = body(&bytes)?;
    let (namespace, key) = (labels(&body["namespace"]), text_of(&body["key"]).to_owned());
    check_labels(&namespace)?;
    if namespace.is_empty() {
        return Err(bad("Namespace cannot be empty."));
    }
    if !body["value"].is_object() {
        return Err(wrong_type(
            "object",
            &property("value"),
            "value",
            &body["value"],
        ));
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
            memory.items.push(StoreItem {
                namespace,
                key,
                value,
                created_at: now,
                updated_at: now,
            });
        }
    }
    Ok(done())
}

/// `GET /store/items?namespace=a.b&key=k`.
pub async fn get(State(agent): ThisAgent, uri: Uri) -> Response {
    let pairs = query_pairs(&uri);
    let namespace = last_of(&pairs, "namespace").unwrap_or_default();
    let namespace: Vec<&str> = namespace.split('.').collect();
    let key = last_of(&pairs, "key").unwrap_or_default();
    let memory = agent.memory();
    let mut items = memory.items.iter();
    let found = items.find(|item| item.namespace == namespace && item.key == key);
    ok(&json!(found.map(StoreItem::row)))
}

/// `DELETE /store/items`: a success even if there is nothing to delete.
pub async fn delete(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = body(&bytes)?;
    let (namespace, key) = (labels(&body["namespace"]), text_of(&body["key"]));
    agent
        .memory()
        .items
        .retain(|item| item.namespace != namespace || item.key != key);
    Ok(done())
}

/// `POST /store/items/search`.
pub async fn search(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = optional_body(&bytes)?;
    let is_operator = |value: &Value| {
        value
            .as_object()
            .is_some_and(|map| map.keys().any(|key| key.starts_with('$')))
    };
    let has_operator = body["filter"]
        .as_object()
        .is_some_and(|filter| filter.values().any(is_operator));
    if !body["namespace_prefix"].is_array() || has_operator {
        return Err(failed());
    }
    let prefix = labels(&body["namespace_prefix"]);
    check_labels(&prefix)?;
    let memory = agent.memory();
    let found = memory
        .items
        .iter()
        .filter(|item| item.namespace.starts_with(&prefix))
        .filter(|item| body["filter"].is_null() || contains(&item.value, &body["filter"]));
    let rows: Vec<Value> = found
        .skip(number(&body, "offset", 0))
        .take(number(&body, "limit", 10))
        .map(|item| {
            let mut row = item.row();
            // No index is configured, so a query neither sorts nor scores.
            row["score"] = Value::Null;
            row
        })
        .collect();
    Ok(ok(&json!({"items": rows})))
}

/// `POST /store/namespaces`.
pub async fn namespaces(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = optional_body(&bytes)?;
    let (prefix, suffix) = (labels(&body["prefix"]), labels(&body["suffix"]));
    let depth = number(&body, "max_depth", u64::from(u32::MAX));
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
        .skip(number(&body, "offset", 0))
        .take(number(&body, "limit", 100))
        .collect();
    Ok(ok(&json!({"namespaces": rows})))
}
