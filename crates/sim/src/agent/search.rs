//! Searching and counting threads and assistants, and reading assistants.

use super::ThisAgent;
use super::check::Page;
use super::refuse::{Problem, Refusal};
use super::state::{contains, select};
use super::{Agent, json_response, query_pairs, rows, set_header};
use crate::Dialect;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde_json::{Value, json};
use std::cmp::Ordering;
use uuid::Uuid;

fn answer(result: Result<Response, Refusal>) -> Response {
    result.unwrap_or_else(|refusal| *refusal)
}

fn ok(value: &Value) -> Response {
    json_response(StatusCode::OK, value)
}

/// Sorts, pages and selects, and adds the page headers of each server, none of which is a true total.
fn paged(agent: &Agent, mut found: Vec<Value>, page: &Page, usual: &str, tie: &str) -> Response {
    let key = page.sort_by.as_deref().unwrap_or(usual);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    found.sort_by(|a, b| match text(&a[key]).cmp(&text(&b[key])) {
        Ordering::Equal => text(&a[tie]).cmp(&text(&b[tie])),
        other => other,
    });
    if page.descending {
        found.reverse();
    }
    let total = found.len();
    let more = total > page.offset + page.limit;
    let shown: Vec<Value> = found
        .into_iter()
        .skip(page.offset)
        .take(page.limit)
        .map(|value| select(value, &page.select))
        .collect();
    let mut response = ok(&json!(shown));
    match agent.dialect {
        Dialect::Aegra => {}
        Dialect::JavaScript => {
            // It reports more pages only if the total equals the limit.
            let next = page.offset + total;
            let exact = total == page.limit;
            if exact {
                set_header(&mut response, "x-pagination-next", &next.to_string());
            }
            set_header(
                &mut response,
                "x-pagination-total",
                &(next + usize::from(exact)).to_string(),
            );
        }
        Dialect::Python | Dialect::Contract => {
            let total = page.offset + shown.len() + usize::from(more);
            set_header(&mut response, "x-pagination-total", &total.to_string());
            if more {
                set_header(
                    &mut response,
                    "x-pagination-next",
                    &(page.offset + page.limit).to_string(),
                );
            }
        }
    }
    response
}

fn found_assistants(agent: &Agent, body: &Value) -> Vec<Value> {
    let memory = agent.memory();
    let name = body["name"].as_str().unwrap_or_default().to_lowercase();
    memory
        .assistants
        .iter()
        .filter(|one| {
            body["graph_id"]
                .as_str()
                .is_none_or(|graph| one.graph.name() == graph)
        })
        .filter(|one| one.name.to_lowercase().contains(&name))
        .filter(|one| body["metadata"].is_null() || contains(&one.metadata, &body["metadata"]))
        .map(|one| rows::assistant(agent.dialect, one))
        .collect()
}

/// `POST /assistants/search`.
pub async fn assistants(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(agent.optional_body(&bytes).and_then(|body| {
        let page = agent.page(
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
            &agent,
            found_assistants(&agent, &body),
            &page,
            "created_at",
            "assistant_id",
        ))
    }))
}

/// `POST /assistants/count`.
pub async fn count_assistants(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(
        agent
            .optional_body(&bytes)
            .map(|body| ok(&json!(found_assistants(&agent, &body).len()))),
    )
}

/// `GET /assistants/{id}`: by id, on the JavaScript server also by the name of its graph.
pub async fn assistant(State(agent): ThisAgent, Path(id): Path<String>) -> Response {
    let is_id = Uuid::try_parse(&id).is_ok();
    if !is_id && agent.dialect != Dialect::JavaScript {
        return *agent.refuse(Problem::NotAnAssistantId(id));
    }
    match agent.assistant(&id) {
        Some(assistant) => ok(&rows::assistant(agent.dialect, &assistant)),
        None if agent.dialect == Dialect::Python => *agent.refuse(Problem::NoRun(id)),
        None => *agent.refuse(Problem::NotAnAssistantId(id)),
    }
}

/// `GET /assistants/{id}/graph`: by id or by name, on Aegra by id only.
pub async fn drawing(State(agent): ThisAgent, Path(id): Path<String>, uri: Uri) -> Response {
    let is_id = Uuid::try_parse(&id).is_ok();
    if !is_id && agent.dialect == Dialect::Aegra {
        return *agent.refuse(Problem::NotAnAssistantId(id));
    }
    let xray = query_pairs(&uri)
        .iter()
        .rev()
        .find(|(key, _)| key == "xray")
        .map_or(0, |(_, value)| match value.to_lowercase().as_str() {
            "true" | "yes" => 9,
            text => text.parse().unwrap_or(0),
        });
    match agent.assistant(&id) {
        Some(assistant) => ok(&assistant.graph.drawing(agent.dialect, xray)),
        None if is_id && agent.dialect == Dialect::Python => *agent.refuse(Problem::NoRun(id)),
        None => *agent.refuse(Problem::NotAnAssistantId(id)),
    }
}

fn found_threads(agent: &Agent, body: &Value) -> Result<Vec<Value>, Refusal> {
    // Aegra ignores the field.
    let ids: Option<Vec<&str>> = body["ids"]
        .as_array()
        .filter(|_| agent.dialect != Dialect::Aegra)
        .map(|ids| ids.iter().filter_map(Value::as_str).collect::<Vec<_>>());
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
        .map(|thread| rows::thread(agent.dialect, thread))
        .filter(|row| has_metadata(agent.dialect, &row["metadata"], &body["metadata"]))
        .collect();
    let wanted = &body["values"];
    match agent.dialect {
        _ if wanted.is_null() => {}
        // The Python server fails at the first thread without a state.
        Dialect::Python if found.iter().any(|row| row["values"].is_null()) => {
            let text = "Internal Server Error".to_owned();
            return Err(agent.refuse(Problem::Python(StatusCode::INTERNAL_SERVER_ERROR, text)));
        }
        Dialect::Python | Dialect::Contract => found.retain(|row| contains(&row["values"], wanted)),
        // The JavaScript server also lists the threads without a state.
        Dialect::JavaScript => {
            found.retain(|row| row["values"].is_null() || contains(&row["values"], wanted))
        }
        // Aegra ignores the field.
        Dialect::Aegra => {}
    }
    Ok(found)
}

/// Aegra compares the text of top-level values with Python's `str`, so it never finds an object, a list or a boolean.
fn has_metadata(dialect: Dialect, metadata: &Value, wanted: &Value) -> bool {
    if dialect != Dialect::Aegra {
        return wanted.is_null() || contains(metadata, wanted);
    }
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let is_same = |(key, wanted): (&String, &Value)| {
        (wanted.is_string() || wanted.is_number())
            && metadata
                .get(key)
                .is_some_and(|value| text(value) == text(wanted))
    };
    wanted.as_object().into_iter().flatten().all(is_same)
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
pub async fn threads(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(agent.optional_body(&bytes).and_then(|body| {
        let mut page = agent.page(&body, &["thread_id", "status", "created_at", "updated_at", "state_updated_at"])?;
        agent.check_thread_filters(&body)?;
        let python = agent.dialect == Dialect::Python;
        if let Some((at, field)) = page.select.iter().enumerate().find(|(_, field)| !FIELDS.contains(&field.as_str()))
            && python
        {
            let text = format!(
                "\"{field}\" is not one of \"thread_id\", \"created_at\" or 7 other candidates\n\nFailed validating \
                 \"enum\" in schema[\"properties\"][\"select\"][\"items\"]\n\nOn instance[\"select\"][{at}]:\n    \
                 \"{field}\""
            );
            return Err(agent.refuse(Problem::Python(StatusCode::UNPROCESSABLE_ENTITY, text)));
        }
        const ROOTS: [&str; 4] = ["config", "interrupts", "metadata", "values"];
        for path in body["extract"].as_object().into_iter().flat_map(|paths| paths.values()).filter(|_| python) {
            let path = path.as_str().unwrap_or_default();
            if !ROOTS.contains(&path.split(['.', '[']).next().unwrap_or_default()) {
                let text = format!("Extract path '{path}' must start with one of: {}", ROOTS.join(", "));
                return Err(agent.refuse(Problem::Python(StatusCode::UNPROCESSABLE_ENTITY, text)));
            }
        }
        let mut found = found_threads(&agent, &body)?;
        if python && body["extract"].is_object() {
            found.iter_mut().for_each(|row| row["extracted"] = extracted(row, &body["extract"]));
            if !page.select.is_empty() {
                page.select.push("extracted".into());
            }
        }
        if agent.dialect == Dialect::Aegra {
            // It supports neither `select` nor `sort_by`.
            page.select.clear();
            page.sort_by = None;
            page.descending = true;
        }
        let usual = if python { "updated_at" } else { "created_at" };
        Ok(paged(&agent, found, &page, usual, "thread_id"))
    }))
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
pub async fn count_threads(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(agent.optional_body(&bytes).and_then(|body| {
        agent.check_thread_filters(&body)?;
        Ok(ok(&json!(found_threads(&agent, &body)?.len())))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_index_lists_from_both_ends() {
        let row = json!({"values": {"messages": [{"content": "first"}, {"content": "last"}]}});
        let paths = json!({"a": "values.messages[0].content", "b": "values.messages[-1].content", "c": "values.x[3]"});
        assert_eq!(
            extracted(&row, &paths),
            json!({"a": "first", "b": "last", "c": null})
        );
    }
}
