//! Threads over REST: creating, reading, changing, copying and deleting them, and their states and histories.

use super::ThisAgent;
use super::check::{body, check_thread_id, check_ttl, optional_body};
use super::feed::{Ended, Item, Kind};
use super::history::{self, Asked};
use super::refuse::{answer, conflict, invalid, no_thread};
use super::state::Thread;
use super::{Agent, edit, empty, json_response, last_of, query_pairs, rows, supersteps};
use crate::ids::{uuid4, uuid7};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;

fn ok(value: &Value) -> Response {
    json_response(StatusCode::OK, value)
}

/// `POST /threads`.
pub async fn create(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(optional_body(&bytes).and_then(|body| {
        agent.check_fields(&body, &[])?;
        let now = Timestamp::now();
        let id = body["thread_id"]
            .as_str()
            .map_or_else(|| uuid7(now), str::to_owned);
        check_thread_id(&id)?;
        check_ttl(&body)?;
        let metadata = body["metadata"].as_object().cloned().unwrap_or_default();
        let mut memory = agent.memory();
        if let Some(there) = memory.threads.get(&id) {
            if body["if_exists"] == "do_nothing" {
                return Ok(ok(&rows::thread(there)));
            }
            return Err(conflict(&format!("Thread with ID {id} already exists")));
        }
        let mut thread = Thread::new(id.clone(), now, metadata);
        let built = supersteps::build(&mut thread, &body["supersteps"], now);
        let shown = rows::thread(&thread);
        // The thread stays, even if its supersteps are refused.
        memory.threads.insert(id, thread);
        built.map(|()| ok(&shown))
    }))
}

/// Reads a part of an existing thread.
fn of_thread(agent: &Agent, id: &str, read: impl FnOnce(&Thread) -> Value) -> Response {
    answer(check_thread_id(id).and_then(|()| {
        let memory = agent.memory();
        let thread = memory.threads.get(id).ok_or_else(|| no_thread(id))?;
        Ok(ok(&read(thread)))
    }))
}

/// `GET /threads/{t}`.
pub async fn get(State(agent): ThisAgent, Path(id): Path<String>) -> Response {
    of_thread(&agent, &id, rows::thread)
}

/// `PATCH /threads/{t}`: metadata is merged. A client may wish for an empty response.
pub async fn patch(
    State(agent): ThisAgent,
    Path(id): Path<String>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    answer(body(&bytes).and_then(|body| {
        check_ttl(&body)?;
        agent.with_thread(&id, |thread| {
            thread
                .metadata
                .extend(body["metadata"].as_object().cloned().unwrap_or_default());
            thread.updated_at = Timestamp::now();
        });
        let minimal = headers
            .get("prefer")
            .is_some_and(|wish| wish == "return=minimal");
        let shown = of_thread(&agent, &id, rows::thread);
        Ok(if minimal && shown.status().is_success() {
            empty(StatusCode::NO_CONTENT)
        } else {
            shown
        })
    }))
}

/// `DELETE /threads/{t}`, also while runs are active.
pub async fn delete(State(agent): ThisAgent, Path(id): Path<String>) -> Response {
    answer(check_thread_id(&id).and_then(|()| {
        let removed = agent.memory().threads.remove(&id);
        let thread = removed.ok_or_else(|| no_thread(&id))?;
        agent.stop_runs(&thread.runs);
        agent.wake();
        Ok(empty(StatusCode::NO_CONTENT))
    }))
}

/// `POST /threads/prune`: deletes several threads.
pub async fn prune(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(body(&bytes).and_then(|body| {
        if body["strategy"] == "keep_latest" {
            let text = "keep_latest strategy is not supported in in-memory runtime";
            return Err(invalid(text));
        }
        let ids = body["thread_ids"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let removed: Vec<Thread> = {
            let mut memory = agent.memory();
            ids.filter_map(|id| memory.threads.remove(id)).collect()
        };
        removed
            .iter()
            .for_each(|thread| agent.stop_runs(&thread.runs));
        agent.wake();
        Ok(ok(&json!({"pruned_count": removed.len()})))
    }))
}

/// `POST /threads/{t}/copy`.
pub async fn copy(State(agent): ThisAgent, Path(id): Path<String>) -> Response {
    answer(
        agent
            .check_thread(&id)
            .map(|()| ok(&rows::thread(&agent.copy_thread(&id, Timestamp::now())))),
    )
}

impl Agent {
    /// Copies a thread: the whole history and no runs. The copy's row is idle, even if its state has a question.
    pub fn copy_thread(&self, id: &str, now: Timestamp) -> Thread {
        let copy = uuid4();
        let mut memory = self.memory();
        let original = memory.threads.get(id);
        let (metadata, mut checkpoints) = original
            .map(|one| (one.metadata.clone(), one.checkpoints.clone()))
            .unwrap_or_default();
        checkpoints
            .iter_mut()
            .for_each(|checkpoint| checkpoint.metadata["thread_id"] = json!(copy));
        let thread = Thread {
            copied: true,
            checkpoints,
            ..Thread::new(copy.clone(), now, metadata)
        };
        memory.threads.insert(copy, thread.clone());
        thread
    }
}

fn state_of(thread: &Thread, asked: Option<&str>) -> Value {
    match thread.checkpoint(asked) {
        Some(checkpoint) => {
            let mut state = rows::state(thread, checkpoint, asked.is_none());
            // The server repeats the requested configuration, which has no namespace.
            if asked.is_some()
                && let Some(place) = state["checkpoint"].as_object_mut()
            {
                place.remove("checkpoint_ns");
            }
            state
        }
        // Before the first run, the server does not even repeat the id.
        None => rows::no_state(&thread.id, asked.filter(|_| !thread.checkpoints.is_empty())),
    }
}

/// `GET /threads/{t}/state`.
pub async fn state(State(agent): ThisAgent, Path(id): Path<String>) -> Response {
    of_thread(&agent, &id, |thread| state_of(thread, None))
}

/// `GET /threads/{t}/state/{checkpoint}`.
pub async fn state_at(
    State(agent): ThisAgent,
    Path((id, checkpoint)): Path<(String, String)>,
) -> Response {
    of_thread(&agent, &id, |thread| state_of(thread, Some(&checkpoint)))
}

/// `POST /threads/{t}/state/checkpoint`.
pub async fn state_at_post(
    State(agent): ThisAgent,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Response {
    answer(body(&bytes).map(|body| {
        let asked = body["checkpoint"]["checkpoint_id"].as_str();
        of_thread(&agent, &id, |thread| state_of(thread, asked))
    }))
}

/// `POST /threads/{t}/state`: a manual state edit.
pub async fn update_state(
    State(agent): ThisAgent,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Response {
    answer(body(&bytes).and_then(|body| {
        agent.check_thread(&id)?;
        let now = Timestamp::now();
        let edited = agent.with_thread(&id, |thread| edit::edit(thread, &body, now));
        let (saved, state) = edited.unwrap_or_else(|| Err(no_thread(&id)))?;
        let item = Item {
            id: agent.clock.ids(1).pop().unwrap_or_default(),
            name: "state_update".to_owned(),
            data: json!({"state": state, "thread_id": id}).to_string(),
            kind: Kind::State,
            stored: false,
            ended: Ended::default(),
        };
        agent.thread_feed(&id).push(&[Arc::new(item)]);
        let place = json!({"thread_id": id, "checkpoint_ns": "", "checkpoint_id": saved});
        Ok(ok(
            &json!({"checkpoint": place, "configurable": place, "checkpoint_id": saved}),
        ))
    }))
}

/// `GET /threads/{t}/history`.
pub async fn history_get(State(agent): ThisAgent, Path(id): Path<String>, uri: Uri) -> Response {
    let pairs = query_pairs(&uri);
    answer(history::limit(last_of(&pairs, "limit")).map(|limit| {
        let asked = Asked {
            limit,
            before: last_of(&pairs, "before").map(str::to_owned),
            ..Asked::default()
        };
        of_thread(&agent, &id, |thread| history::list(thread, &asked))
    }))
}

/// `POST /threads/{t}/history`.
pub async fn history_post(
    State(agent): ThisAgent,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Response {
    answer(optional_body(&bytes).and_then(|body| {
        let asked = history::read(&body)?;
        Ok(of_thread(&agent, &id, |thread| {
            history::list(thread, &asked)
        }))
    }))
}
