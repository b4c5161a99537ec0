//! The store: items in namespaces (acting reference §9).

use crate::agent::prelude::*;
use crate::http::plain;

impl StoreItem {
    fn row(&self) -> Value {
        json!({
            "namespace": self.namespace, "key": self.key, "value": self.value, "created_at": iso(self.created_at),
            "updated_at": iso(self.updated_at),
        })
    }
}

/// The labels of a namespace. Bad ones are refused as plain text.
fn labels(value: &Value) -> Result<Vec<String>, Refusal> {
    let namespace = texts_of(value);
    match namespace
        .iter()
        .find(|label| label.is_empty() || label.contains('.'))
    {
        None => Ok(namespace),
        Some(bad) => {
            let text =
                format!("Namespace label '{bad}' must be a non-empty string without periods");
            Err(plain(StatusCode::UNPROCESSABLE_ENTITY, &text))
        }
    }
}

/// `PUT /store/items`.
pub async fn put(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = body(&bytes)?;
    let (namespace, key) = (
        labels(&body["namespace"])?,
        text_of(&body["key"]).to_owned(),
    );
    if namespace.is_empty() {
        return Err(bad("Namespace cannot be empty."));
    }
    let value = body["value"].clone();
    if !value.is_object() {
        return Err(wrong_type("object", &property("value"), "value", &value));
    }
    let at = now();
    let items = &mut agent.memory().items;
    match items
        .iter_mut()
        .find(|item| item.namespace == namespace && item.key == key)
    {
        Some(item) => (item.value, item.updated_at) = (value, at),
        None => items.push(StoreItem {
            namespace,
            key,
            value,
            created_at: at,
            updated_at: at,
        }),
    }
    Ok(done())
}

/// `GET /store/items?namespace=a.b&key=k`.
pub async fn get(State(agent): ThisAgent, uri: Uri) -> Response {
    let pairs = query_pairs(&uri);
    let asked = |name: &str| last_of(&pairs, name).unwrap_or_default();
    let namespace: Vec<&str> = asked("namespace").split('.').collect();
    let items = &agent.memory().items;
    let mut items = items.iter();
    let found = items.find(|item| item.namespace == namespace && item.key == asked("key"));
    ok(&json!(found.map(StoreItem::row)))
}

/// `DELETE /store/items`: a success even if there is nothing to delete.
pub async fn delete(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = body(&bytes)?;
    let (namespace, key) = (texts_of(&body["namespace"]), text_of(&body["key"]));
    let items = &mut agent.memory().items;
    items.retain(|item| item.namespace != namespace || item.key != key);
    Ok(done())
}

/// `POST /store/items/search`.
pub async fn search(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = optional_body(&bytes)?;
    let has_operator =
        |(_, value): (&String, &Value)| fields_of(value).any(|(key, _)| key.starts_with('$'));
    if !body["namespace_prefix"].is_array() || fields_of(&body["filter"]).any(has_operator) {
        return Err(failed());
    }
    let prefix = labels(&body["namespace_prefix"])?;
    let memory = agent.memory();
    let found = memory.items.iter().filter(|item| {
        item.namespace.starts_with(&prefix)
            && (body["filter"].is_null() || contains(&item.value, &body["filter"]))
    });
    let found = found
        .skip(number(&body, "offset", 0))
        .take(number(&body, "limit", 10));
    let row = |item: &StoreItem| {
        let mut row = item.row();
        // No index is configured, so a query neither sorts nor scores.
        row["score"] = Value::Null;
        row
    };
    let rows: Vec<Value> = found.map(row).collect();
    Ok(ok(&json!({"items": rows})))
}

/// `POST /store/namespaces`.
pub async fn namespaces(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = optional_body(&bytes)?;
    let (prefix, suffix) = (texts_of(&body["prefix"]), texts_of(&body["suffix"]));
    let depth = number(&body, "max_depth", u64::MAX);
    let memory = agent.memory();
    let all = memory.items.iter().map(|item| &item.namespace);
    let all = all.filter(|one| one.starts_with(&prefix) && one.ends_with(&suffix));
    let found: BTreeSet<&[String]> = all.map(|one| &one[..depth.min(one.len())]).collect();
    let page = found.into_iter().skip(number(&body, "offset", 0));
    let page: Vec<_> = page.take(number(&body, "limit", 100)).collect();
    Ok(ok(&json!({"namespaces": page})))
}
