//! Searching and counting threads and assistants, and reading assistants.

use super::ThisAgent;
use super::check::{Page, check_assistant_id, check_thread_filters, optional_body, page};
use super::state::{contains, select};
use super::{Agent, rows};
use crate::http::{
    Handled, Refusal, failed, invalid, last_of, missing, ok, query_pairs, set_header,
};
use crate::values::text_of;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use serde_json::{Value, json};
use std::cmp::Ordering;

/// Sorts, pages and selects, and adds the page headers, which are no true total.
fn paged(mut found: Vec<Value>, page: &Page, usual: &str, tie: &str) -> Response {
    let key = page.sort_by.as_deref().unwrap_or(usual);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    found.sort_by(|a, b| match text(&a[key]).cmp(&text(&b[key])) {
        Ordering::Equal => text(&a[tie]).cmp(&text(&b[tie])),
        other => other,
    });
    if page.descending {
        found.reverse();
    }
    let more = found.len() > page.offset + page.limit;
    let shown: Vec<Value> = found
        .into_iter()
        .skip(page.offset)
        .take(page.limit)
        .map(|value| select(value, &page.select))
        .collect();
    let mut response = ok(&json!(shown));
    let total = page.offset + shown.len() + usize::from(more);
    set_header(&mut response, "x-pagination-total", &total.to_string());
    if more {
        let next = page.offset + page.limit;
        set_header(&mut response, "x-pagination-next", &next.to_string());
    }
    response
}

fn found_assistants(agent: &Agent, body: &Value) -> Vec<Value> {
    let memory = agent.memory();
    let name = text_of(&body["name"]).to_lowercase();
    memory
        .assistants
        .iter()
        .filter(|one| {
            body["graph_id"]
                .as_str()
                .is_none_or(|graph| one.graph.name() == graph)
        })
        .filter(|one| one.current.name.to_lowercase().contains(&name))
        .filter(|one| {
            body["metadata"].is_null() || contains(&one.current.metadata, &body["metadata"])
        })
        .map(rows::assistant)
        .collect()
}

/// `POST /assistants/search`.
pub async fn assistants(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = optional_body(&bytes)?;
    let page = page(
        &body,
        &[
            "assistant_id",
            "created_at",
            "updated_at",
            "name",
            "graph_id",
        ],
    )?;
    Ok(paged(
        found_assistants(&agent, &body),
        &page,
        "created_at",
        "assistant_id",
    ))
}

/// `GET /assistants/{id}`.
pub async fn assistant(State(agent): ThisAgent, Path(id): Path<String>) -> Handled {
    check_assistant_id(&id)?;
    let found = agent.assistant(&id);
    let found = found.ok_or_else(|| missing("Not Found"))?;
    Ok(ok(&rows::assistant(&found)))
}

/// `GET /assistants/{id}/graph`: by id or by name.
pub async fn drawing(State(agent): ThisAgent, Path(id): Path<String>, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    let xray = match last_of(&pairs, "xray").map(str::to_lowercase).as_deref() {
        Some("true" | "yes") => 9,
        text => text.and_then(|text| text.parse().ok()).unwrap_or(0),
    };
    if let Some(assistant) = agent.assistant(&id) {
        return Ok(ok(&assistant.graph.drawing(xray)));
    }
    check_assistant_id(&id)?;
    Err(missing("Not Found"))
}

fn found_threads(agent: &Agent, body: &Value) -> Result<Vec<Value>, Refusal> {
    let ids: Option<Vec<&str>> = body["ids"]
        .as_array()
        .map(|ids| ids.iter().filter_map(Value::as_str).collect());
    let memory = agent.memory();
    let mut found: Vec<Value> = memory
        .threads
        .values()
        .filter(|thread| {
            ids.as_ref()
                .is_none_or(|ids| ids.contains(&thread.id.as_str()))
        })
        .filter(|thread| {
            body["status"]
                .as_str()
                .is_none_or(|status| thread.status == status)
        })
        .map(rows::thread)
        .filter(|row| body["metadata"].is_null() || contains(&row["metadata"], &body["metadata"]))
        .collect();
    let wanted = &body["values"];
    if !wanted.is_null() {
        // The server fails at the first thread without a state.
        if found.iter().any(|row| row["values"].is_null()) {
            return Err(failed());
        }
        found.retain(|row| contains(&row["values"], wanted));
    }
    Ok(found)
}

const FIELDS: [&str; 9] = [
    "thread_id",
    "created_at",
    "updated_at",
    "state_updated_at",
    "metadata",
    "config",
    "status",
    "values",
    "interrupts",
];

/// `POST /threads/search`.
pub async fn threads(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = optional_body(&bytes)?;
    let mut page = page(
        &body,
        &[
            "thread_id",
            "status",
            "created_at",
            "updated_at",
            "state_updated_at",
        ],
    )?;
    check_thread_filters(&body)?;
    if let Some((at, field)) = page
        .select
        .iter()
        .enumerate()
        .find(|(_, field)| !FIELDS.contains(&field.as_str()))
    {
        return Err(invalid(&format!(
            "\"{field}\" is not one of \"thread_id\", \"created_at\" or 7 other candidates\n\nFailed validating \
                 \"enum\" in schema[\"properties\"][\"select\"][\"items\"]\n\nOn instance[\"select\"][{at}]:\n    \
                 \"{field}\""
        )));
    }
    const ROOTS: [&str; 4] = ["config", "interrupts", "metadata", "values"];
    for path in body["extract"]
        .as_object()
        .into_iter()
        .flat_map(|paths| paths.values())
    {
        let path = path.as_str().unwrap_or_default();
        if !ROOTS.contains(&path.split(['.', '[']).next().unwrap_or_default()) {
            let text = format!(
                "Extract path '{path}' must start with one of: {}",
                ROOTS.join(", ")
            );
            return Err(invalid(&text));
        }
    }
    let mut found = found_threads(&agent, &body)?;
    if body["extract"].is_object() {
        found
            .iter_mut()
            .for_each(|row| row["extracted"] = extracted(row, &body["extract"]));
        if !page.select.is_empty() {
            page.select.push("extracted".into());
        }
    }
    Ok(paged(found, &page, "updated_at", "thread_id"))
}

/// The values at paths such as `values.messages[-1].content`; null if there is none.
fn extracted(row: &Value, paths: &Value) -> Value {
    let at = |path: &str| {
        let mut value = row.clone();
        for part in path.split(['.', '[']).filter(|part| !part.is_empty()) {
            value = match part.strip_suffix(']').map(str::parse::<i64>) {
                Some(Ok(index)) => {
                    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
                    let index = if index < 0 {
                        list.len() as i64 + index
                    } else {
                        index
                    };
                    usize::try_from(index)
                        .ok()
                        .and_then(|index| list.get(index))
                        .cloned()
                        .unwrap_or_default()
                }
                Some(Err(_)) => Value::Null,
                None => value.get(part).cloned().unwrap_or_default(),
            };
        }
        value
    };
    paths
        .as_object()
        .into_iter()
        .flatten()
        .map(|(alias, path)| (alias.clone(), at(path.as_str().unwrap_or_default())))
        .collect()
}

/// `POST /threads/count`.
pub async fn count_threads(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = optional_body(&bytes)?;
    check_thread_filters(&body)?;
    Ok(ok(&json!(found_threads(&agent, &body)?.len())))
}
