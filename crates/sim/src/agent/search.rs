//! Searching and counting threads and assistants, and reading assistants.

use super::check::{check_page, check_thread_filters};
use crate::agent::prelude::*;

/// Sorts, pages and selects, and adds the page headers, which are no true total.
fn paged(
    mut found: Vec<Value>,
    body: &Value,
    (usual, tie): (&str, &str),
    fields: &[String],
) -> Response {
    let key = body["sort_by"].as_str().unwrap_or(usual);
    let text = |row: &Value, key: &str| text_of(&row[key]).to_owned();
    found.sort_by_cached_key(|row| (text(row, key), text(row, tie)));
    if body["sort_order"] != "asc" {
        found.reverse();
    }
    let (limit, offset) = (number(body, "limit", 10), number(body, "offset", 0));
    let more = found.len() > offset + limit;
    let page = found.into_iter().skip(offset).take(limit);
    let shown: Vec<Value> = page.map(|row| select(row, fields)).collect();
    let mut response = ok(&json!(shown));
    let total = offset + shown.len() + usize::from(more);
    set_header(&mut response, "x-pagination-total", &total.to_string());
    if more {
        set_header(
            &mut response,
            "x-pagination-next",
            &(offset + limit).to_string(),
        );
    }
    response
}

/// `POST /assistants/search`.
pub async fn assistants(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = optional_body(&bytes)?;
    let sorts = [
        "assistant_id",
        "created_at",
        "updated_at",
        "name",
        "graph_id",
    ];
    check_page(&body, &sorts)?;
    let (name, metadata) = (text_of(&body["name"]).to_lowercase(), &body["metadata"]);
    let memory = agent.memory();
    let found = memory.assistants.iter().filter(|one| {
        body["graph_id"]
            .as_str()
            .is_none_or(|graph| one.graph.name() == graph)
            && one.current.name.to_lowercase().contains(&name)
            && (metadata.is_null() || contains(&one.current.metadata, metadata))
    });
    let found = found.map(rows::assistant).collect();
    let fields = texts_of(&body["select"]);
    Ok(paged(found, &body, ("created_at", "assistant_id"), &fields))
}

/// `GET /assistants/{id}`.
pub async fn assistant(State(agent): ThisAgent, Path(id): Path<String>) -> Handled {
    check_id("assistant", &id)?;
    let found = agent.assistant(&id).ok_or_else(|| missing("Not Found"))?;
    Ok(ok(&rows::assistant(&found)))
}

/// `GET /assistants/{id}/graph`: by id or by name.
pub async fn drawing(State(agent): ThisAgent, Path(id): Path<String>, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    let xray = match last_of(&pairs, "xray")
        .unwrap_or_default()
        .to_lowercase()
        .as_str()
    {
        "true" | "yes" => 9,
        text => text.parse().unwrap_or(0),
    };
    if let Some(assistant) = agent.assistant(&id) {
        return Ok(ok(&assistant.graph.drawing(xray)));
    }
    check_id("assistant", &id)?;
    Err(missing("Not Found"))
}

fn found_threads(agent: &Agent, body: &Value) -> Result<Vec<Value>, Refusal> {
    let (ids, metadata) = (&body["ids"], &body["metadata"]);
    let memory = agent.memory();
    let found = memory.threads.values().filter(|thread| {
        (ids.is_null() || items_of(ids).any(|id| *id == thread.id.as_str()))
            && body["status"]
                .as_str()
                .is_none_or(|status| thread.status == status)
    });
    let mut found: Vec<Value> = found.map(rows::thread).collect();
    found.retain(|row| metadata.is_null() || contains(&row["metadata"], metadata));
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
const SORTS: [&str; 5] = [
    "thread_id",
    "status",
    "created_at",
    "updated_at",
    "state_updated_at",
];
/// The fields that values can be extracted from.
const ROOTS: [&str; 4] = ["config", "interrupts", "metadata", "values"];

/// `POST /threads/search`.
pub async fn threads(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = optional_body(&bytes)?;
    check_page(&body, &SORTS)?;
    check_thread_filters(&body)?;
    let mut fields = texts_of(&body["select"]);
    let mut unknown = fields.iter().enumerate();
    if let Some((at, field)) = unknown.find(|(_, field)| !FIELDS.contains(&field.as_str())) {
        return Err(invalid(&format!(
            "\"{field}\" is not one of \"thread_id\", \"created_at\" or 7 other candidates\n\nFailed validating \
                 \"enum\" in schema[\"properties\"][\"select\"][\"items\"]\n\nOn instance[\"select\"][{at}]:\n    \
                 \"{field}\""
        )));
    }
    for (_, path) in fields_of(&body["extract"]) {
        let path = text_of(path);
        let root = path.split(['.', '[']).next().unwrap_or_default();
        if !ROOTS.contains(&root) {
            let roots = ROOTS.join(", ");
            return Err(invalid(&format!(
                "Extract path '{path}' must start with one of: {roots}"
            )));
        }
    }
    let mut found = found_threads(&agent, &body)?;
    if body["extract"].is_object() {
        let extract = |row: &mut Value| row["extracted"] = extracted(row, &body["extract"]);
        found.iter_mut().for_each(extract);
        if !fields.is_empty() {
            fields.push("extracted".into());
        }
    }
    Ok(paged(found, &body, ("updated_at", "thread_id"), &fields))
}

/// The values at paths such as `values.messages[-1].content`; null if there is none.
fn extracted(row: &Value, paths: &Value) -> Value {
    let step = |value: Option<Value>, part: &str| {
        let value = value?;
        let Some(index) = part.strip_suffix(']') else {
            return value.get(part).cloned();
        };
        let (list, index) = (value.as_array()?, index.parse::<i64>().ok()?);
        let from_end = if index < 0 { list.len() as i64 } else { 0 };
        list.get(usize::try_from(index + from_end).ok()?).cloned()
    };
    let at = |path: &Value| {
        let parts = text_of(path)
            .split(['.', '['])
            .filter(|part| !part.is_empty());
        json!(parts.fold(Some(row.clone()), step))
    };
    fields_of(paths)
        .map(|(alias, path)| (alias.clone(), at(path)))
        .collect()
}

/// `POST /threads/count`.
pub async fn count_threads(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = optional_body(&bytes)?;
    check_thread_filters(&body)?;
    Ok(ok(&json!(found_threads(&agent, &body)?.len())))
}
