//! Threads and assistants over REST: searching, reading, changing, their states and histories.

use super::check::{self, Page, Refusal, refuse};
use super::feed::{Item, Kind};
use super::graphs::Graph;
use super::state::{Checkpoint, Object, Thread, contains, select};
use super::{Agent, detail, empty, json_response, query_pairs, set_header};
use crate::sim::ids::{checkpoint_id, uuid4, uuid7};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::sync::Arc;
use uuid::Uuid;

fn answer(result: Result<Response, Refusal>) -> Response {
    result.unwrap_or_else(|refusal| *refusal)
}

fn ok(value: &Value) -> Response {
    json_response(StatusCode::OK, value)
}

/// Sorts, cuts and selects, and tells the page in headers the way the real server does: the total is not a total.
fn paged(mut found: Vec<Value>, page: &Page, tie: &str) -> Response {
    let key = page.sort_by.as_deref().unwrap_or("created_at");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    found.sort_by(|a, b| match text(&a[key]).cmp(&text(&b[key])) {
        Ordering::Equal => text(&a[tie]).cmp(&text(&b[tie])),
        other => other,
    });
    if page.descending {
        found.reverse();
    }
    let more = found.len() > page.offset + page.limit;
    let shown: Vec<Value> =
        found.into_iter().skip(page.offset).take(page.limit).map(|value| select(value, &page.select)).collect();
    let mut response = ok(&json!(shown));
    set_header(&mut response, "x-pagination-total", &(page.offset + shown.len() + usize::from(more)).to_string());
    if more {
        set_header(&mut response, "x-pagination-next", &(page.offset + page.limit).to_string());
    }
    response
}

fn assistants(agent: &Agent, body: &Value) -> Vec<Value> {
    let memory = agent.memory();
    let name = body["name"].as_str().unwrap_or_default().to_lowercase();
    memory
        .assistants
        .iter()
        .filter(|one| body["graph_id"].as_str().is_none_or(|graph| one.graph.name() == graph))
        .filter(|one| one.name.to_lowercase().contains(&name))
        .filter(|one| body["metadata"].is_null() || contains(&one.metadata, &body["metadata"]))
        .map(super::state::Assistant::json)
        .collect()
}

/// `POST /assistants/search`.
pub async fn search_assistants(State(agent): State<Arc<Agent>>, bytes: Bytes) -> Response {
    answer(check::optional_body(&bytes).and_then(|body| {
        let page = check::page(&body, &["assistant_id", "created_at", "updated_at", "name", "graph_id"])?;
        Ok(paged(assistants(&agent, &body), &page, "assistant_id"))
    }))
}

/// `POST /assistants/count`.
pub async fn count_assistants(State(agent): State<Arc<Agent>>, bytes: Bytes) -> Response {
    answer(check::optional_body(&bytes).map(|body| ok(&json!(assistants(&agent, &body).len()))))
}

/// `GET /assistants/{id}`: only by id, not by name.
pub async fn assistant(State(agent): State<Arc<Agent>>, Path(id): Path<String>) -> Response {
    if Uuid::try_parse(&id).is_err() {
        return detail(StatusCode::UNPROCESSABLE_ENTITY, "Invalid assistant ID: must be a UUID");
    }
    match agent.assistant(&id) {
        Some(assistant) => ok(&assistant.json()),
        None => detail(StatusCode::NOT_FOUND, "Not Found"),
    }
}

/// `GET /assistants/{id}/graph`: by id or by name.
pub async fn drawing(State(agent): State<Arc<Agent>>, Path(id): Path<String>, uri: Uri) -> Response {
    let xray = query_pairs(&uri).iter().rev().find(|(key, _)| key == "xray").map_or(0, |(_, value)| {
        match value.to_lowercase().as_str() {
            "true" | "yes" => 9,
            text => text.parse().unwrap_or(0),
        }
    });
    match agent.assistant(&id) {
        Some(assistant) => ok(&assistant.graph.drawing(xray)),
        None if Uuid::try_parse(&id).is_ok() => detail(StatusCode::NOT_FOUND, "Not Found"),
        None => detail(StatusCode::UNPROCESSABLE_ENTITY, "Invalid assistant ID: must be a UUID"),
    }
}

/// `POST /threads`.
pub async fn create(State(agent): State<Arc<Agent>>, bytes: Bytes) -> Response {
    answer(check::optional_body(&bytes).and_then(|body| {
        let now = Timestamp::now();
        let id = body["thread_id"].as_str().map_or_else(|| uuid7(now), str::to_owned);
        check::thread_id(&id, false)?;
        let metadata = body["metadata"].as_object().cloned().unwrap_or_default();
        let mut memory = agent.memory();
        if let Some(there) = memory.threads.get(&id) {
            if body["if_exists"] == "do_nothing" {
                return Ok(ok(&there.json()));
            }
            return Err(refuse(StatusCode::CONFLICT, &format!("Thread with ID {id} already exists")));
        }
        let thread = Thread::new(id.clone(), now, metadata);
        let shown = thread.json();
        memory.threads.insert(id, thread);
        Ok(ok(&shown))
    }))
}

fn found(agent: &Agent, body: &Value) -> Vec<Value> {
    let ids: Option<Vec<&str>> =
        body["ids"].as_array().map(|ids| ids.iter().filter_map(Value::as_str).collect::<Vec<_>>());
    let memory = agent.memory();
    memory
        .threads
        .values()
        .filter(|thread| ids.as_ref().is_none_or(|ids| ids.contains(&thread.id.as_str())))
        .filter(|thread| body["status"].as_str().is_none_or(|status| thread.status == status))
        .map(Thread::json)
        .filter(|thread| body["metadata"].is_null() || contains(&thread["metadata"], &body["metadata"]))
        .filter(|thread| body["values"].is_null() || contains(&thread["values"], &body["values"]))
        .collect()
}

/// `POST /threads/search`.
pub async fn search(State(agent): State<Arc<Agent>>, bytes: Bytes) -> Response {
    answer(check::optional_body(&bytes).and_then(|body| {
        let page = check::page(&body, &["thread_id", "status", "created_at", "updated_at", "state_updated_at"])?;
        Ok(paged(found(&agent, &body), &page, "thread_id"))
    }))
}

/// `POST /threads/count`.
pub async fn count(State(agent): State<Arc<Agent>>, bytes: Bytes) -> Response {
    answer(check::optional_body(&bytes).map(|body| ok(&json!(found(&agent, &body).len()))))
}

/// Reads something of a thread that must exist.
fn of_thread(agent: &Agent, id: &str, read: impl FnOnce(&Thread) -> Response) -> Response {
    if let Err(refusal) = check::thread_id(id, false) {
        return *refusal;
    }
    match agent.memory().threads.get(id) {
        Some(thread) => read(thread),
        None => detail(StatusCode::NOT_FOUND, &format!("Thread with ID {id} not found")),
    }
}

/// `GET /threads/{t}`.
pub async fn get(State(agent): State<Arc<Agent>>, Path(id): Path<String>) -> Response {
    of_thread(&agent, &id, |thread| ok(&thread.json()))
}

/// `PATCH /threads/{t}`.
pub async fn patch(State(agent): State<Arc<Agent>>, Path(id): Path<String>, bytes: Bytes) -> Response {
    answer(check::body(&bytes).map(|body| {
        agent.with_thread(&id, |thread| {
            thread.metadata.extend(body["metadata"].as_object().cloned().unwrap_or_default());
            thread.updated_at = Timestamp::now();
        });
        of_thread(&agent, &id, |thread| ok(&thread.json()))
    }))
}

/// `DELETE /threads/{t}`.
pub async fn delete(State(agent): State<Arc<Agent>>, Path(id): Path<String>) -> Response {
    if let Err(refusal) = check::thread_id(&id, false) {
        return *refusal;
    }
    match agent.memory().threads.remove(&id) {
        Some(thread) => {
            thread.runs.iter().for_each(|run| run.stop.cancel());
            empty(StatusCode::NO_CONTENT)
        }
        None => detail(StatusCode::NOT_FOUND, &format!("Thread with ID {id} not found")),
    }
}

/// `GET /threads/{t}/state`.
pub async fn state(State(agent): State<Arc<Agent>>, Path(id): Path<String>) -> Response {
    of_thread(&agent, &id, |thread| ok(&thread.state(None)))
}

/// `GET /threads/{t}/state/{checkpoint}`.
pub async fn state_at(State(agent): State<Arc<Agent>>, Path((id, checkpoint)): Path<(String, String)>) -> Response {
    of_thread(&agent, &id, |thread| ok(&thread.state(Some(&checkpoint))))
}

/// `POST /threads/{t}/state`: a person changes the state by hand.
pub async fn update_state(State(agent): State<Arc<Agent>>, Path(id): Path<String>, bytes: Bytes) -> Response {
    answer(check::body(&bytes).and_then(|body| {
        check::thread_id(&id, false)?;
        check::thread_exists(&agent, &id)?;
        let now = Timestamp::now();
        let change = agent.with_thread(&id, |thread| edit(thread, &body, now));
        let (saved, state) = change.unwrap_or_else(|| Err(refuse(StatusCode::NOT_FOUND, "Not Found")))?;
        let data = json!({"state": state, "thread_id": id}).to_string();
        let item = agent.ids.burst(1).into_iter().map(|event| {
            Arc::new(Item {
                id: event,
                name: "state_update".into(),
                data: data.clone(),
                kind: Kind::State,
                stored: false,
            })
        });
        agent.thread_feed(&id).push(&item.collect::<Vec<_>>());
        let place = json!({"thread_id": id, "checkpoint_ns": "", "checkpoint_id": saved});
        Ok(ok(&json!({"checkpoint": place, "configurable": place, "checkpoint_id": saved})))
    }))
}

/// Makes the new checkpoint and returns its id and the state as it is then.
fn edit(thread: &mut Thread, body: &Value, now: Timestamp) -> Result<(String, Value), Refusal> {
    let graph = thread.metadata.get("graph_id").and_then(Value::as_str).and_then(Graph::named);
    let asked = body["checkpoint_id"].as_str().or(body["checkpoint"]["checkpoint_id"].as_str());
    let base = match asked {
        Some(id) => thread.checkpoints.iter().find(|checkpoint| checkpoint.id == id),
        None => thread.checkpoints.last(),
    }
    .cloned();
    let Some(graph) = graph else {
        let text = format!("Thread with ID {} has no associated graph", thread.id);
        return Err(refuse(StatusCode::BAD_REQUEST, &text));
    };
    let node = body["as_node"].as_str();
    if let Some(node) = node
        && !graph.nodes().contains(&node)
        && !node.starts_with("__")
    {
        return Err(refuse(StatusCode::BAD_REQUEST, &format!("Node {node} does not exist")));
    }
    let mut values: Object = base.as_ref().map_or_else(|| graph.initial(), |base| base.values.clone());
    let updates = match &body["values"] {
        Value::Array(list) => list.clone(),
        one => vec![one.clone()],
    };
    for update in &updates {
        graph.merge(&mut values, update);
    }
    let step = base.as_ref().and_then(|base| base.metadata["step"].as_i64()).unwrap_or(-2) + 1;
    let next: Vec<&str> = match node {
        Some("__start__") => graph.start(),
        Some(node) => graph.next(&[node], &values),
        None => Vec::new(),
    };
    let (next, tasks) = match (node, &base) {
        (None, Some(base)) => (base.next.clone(), base.tasks.clone()),
        _ => {
            let task = |name: &&str| {
                json!({
                    "id": uuid4(), "name": name, "path": ["__pregel_pull", name], "error": null, "interrupts": [],
                    "checkpoint": null, "state": null, "result": null,
                })
            };
            (next.iter().map(|&name| name.to_owned()).collect(), next.iter().map(task).collect())
        }
    };
    let metadata = json!({
        "graph_id": graph.name(), "thread_id": thread.id, "source": "update", "step": step, "parents": {},
    });
    let id = checkpoint_id(now, step);
    let parent = base.map(|base| base.id);
    thread.checkpoints.push(Checkpoint { id: id.clone(), parent, values, next, tasks, metadata, at: now });
    thread.state_updated_at = now;
    thread.error = None;
    thread.settle(now);
    Ok((id, thread.state(None)))
}

/// `GET /threads/{t}/history`: one entry unless more are asked for.
pub async fn history_get(State(agent): State<Arc<Agent>>, Path(id): Path<String>, uri: Uri) -> Response {
    let pairs = query_pairs(&uri);
    let value = |key: &str| pairs.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.clone());
    let limit = value("limit").and_then(|limit| limit.parse().ok()).unwrap_or(1);
    of_thread(&agent, &id, |thread| history(thread, limit, value("before").as_deref(), &Value::Null))
}

/// `POST /threads/{t}/history`.
pub async fn history_post(State(agent): State<Arc<Agent>>, Path(id): Path<String>, bytes: Bytes) -> Response {
    answer(check::optional_body(&bytes).and_then(|body| {
        let page = check::page(&body, &[])?;
        let limit = if body["limit"].is_null() { 1 } else { page.limit };
        let before = &body["before"];
        let before = before["configurable"]["checkpoint_id"].as_str().or(before["checkpoint_id"].as_str());
        let before = before.or(body["before"].as_str());
        Ok(of_thread(&agent, &id, |thread| history(thread, limit, before, &body["metadata"])))
    }))
}

fn history(thread: &Thread, limit: usize, before: Option<&str>, metadata: &Value) -> Response {
    let states: Vec<Value> = thread
        .checkpoints
        .iter()
        .rev()
        .filter(|checkpoint| before.is_none_or(|before| checkpoint.id.as_str() < before))
        .filter(|checkpoint| metadata.is_null() || contains(&checkpoint.metadata, metadata))
        .take(limit)
        .map(|checkpoint| checkpoint.json(&thread.id))
        .collect();
    ok(&json!(states))
}
