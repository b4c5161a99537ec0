//! Threads over REST: creating, reading, changing, copying and deleting them, and their states and histories.

use super::check::check_ttl;
use super::{edit, supersteps};
use crate::agent::prelude::*;
use axum::http::HeaderMap;

/// `POST /threads`.
pub async fn create(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = optional_body(&bytes)?;
    agent.check_fields(&body, &[])?;
    let now = Timestamp::now();
    let id = body["thread_id"]
        .as_str()
        .map_or_else(|| uuid7(now), str::to_owned);
    check_id("thread", &id)?;
    check_ttl(&body)?;
    let metadata = object_of(&body["metadata"]);
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
}

/// Reads a part of an existing thread.
fn of_thread(agent: &Agent, id: &str, read: impl FnOnce(&Thread) -> Value) -> Handled {
    check_id("thread", id)?;
    let memory = agent.memory();
    let thread = memory.threads.get(id).ok_or_else(|| no_thread(id))?;
    Ok(ok(&read(thread)))
}

/// `GET /threads/{t}`.
pub async fn get(State(agent): ThisAgent, Path(id): Path<String>) -> Handled {
    of_thread(&agent, &id, rows::thread)
}

/// `PATCH /threads/{t}`: metadata is merged. A client may ask for an empty response.
pub async fn patch(
    State(agent): ThisAgent,
    Path(id): Path<String>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Handled {
    let body = body(&bytes)?;
    check_ttl(&body)?;
    agent.with_thread(&id, |thread| {
        thread.metadata.extend(object_of(&body["metadata"]));
        thread.updated_at = Timestamp::now();
    });
    let minimal = headers
        .get("prefer")
        .is_some_and(|wish| wish == "return=minimal");
    let shown = of_thread(&agent, &id, rows::thread)?;
    Ok(if minimal { done() } else { shown })
}

/// `DELETE /threads/{t}`, also while runs are active.
pub async fn delete(State(agent): ThisAgent, Path(id): Path<String>) -> Handled {
    check_id("thread", &id)?;
    if agent.delete_thread(&id) {
        Ok(done())
    } else {
        Err(no_thread(&id))
    }
}

/// `POST /threads/prune`: deletes several threads.
pub async fn prune(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = body(&bytes)?;
    if body["strategy"] == "keep_latest" {
        let text = "keep_latest strategy is not supported in in-memory runtime";
        return Err(invalid(text));
    }
    let asked = items_of(&body["thread_ids"]);
    let pruned = asked.filter(|id| agent.delete_thread(text_of(id)));
    Ok(ok(&json!({"pruned_count": pruned.count()})))
}

/// `POST /threads/{t}/copy`.
pub async fn copy(State(agent): ThisAgent, Path(id): Path<String>) -> Handled {
    agent.check_thread(&id)?;
    Ok(ok(&rows::thread(&agent.copy_thread(&id, Timestamp::now()))))
}

impl Agent {
    /// Copies a thread: the whole history and no runs. The copy's row is idle, even if its state has a question.
    pub fn copy_thread(&self, id: &str, now: Timestamp) -> Thread {
        let copy = uuid4();
        let mut memory = self.memory();
        let original = memory.threads.get(id).cloned();
        let original = original.unwrap_or_else(|| Thread::new(copy.clone(), now, Object::new()));
        let mut thread = Thread {
            copied: true,
            checkpoints: original.checkpoints,
            ..Thread::new(copy.clone(), now, original.metadata)
        };
        for checkpoint in &mut thread.checkpoints {
            checkpoint.metadata["thread_id"] = json!(copy);
        }
        memory.threads.insert(copy, thread.clone());
        thread
    }
}

fn state_of(thread: &Thread, asked: Option<&str>) -> Value {
    let Some(checkpoint) = thread.checkpoint(asked) else {
        // Before the first run, the server does not even repeat the id.
        let asked = asked.filter(|_| !thread.checkpoints.is_empty());
        return rows::no_state(&thread.id, asked);
    };
    let mut state = rows::state(thread, checkpoint, asked.is_none());
    if asked.is_some() {
        // The server repeats the requested configuration, which has no namespace.
        state["checkpoint"] = json!({"checkpoint_id": checkpoint.id, "thread_id": thread.id});
    }
    state
}

/// `GET /threads/{t}/state`.
pub async fn state(State(agent): ThisAgent, Path(id): Path<String>) -> Handled {
    of_thread(&agent, &id, |thread| state_of(thread, None))
}

/// `GET /threads/{t}/state/{checkpoint}`.
pub async fn state_at(
    State(agent): ThisAgent,
    Path((id, checkpoint)): Path<(String, String)>,
) -> Handled {
    of_thread(&agent, &id, |thread| state_of(thread, Some(&checkpoint)))
}

/// `POST /threads/{t}/state`: a manual state edit.
pub async fn update_state(
    State(agent): ThisAgent,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Handled {
    let body = body(&bytes)?;
    agent.check_thread(&id)?;
    let now = Timestamp::now();
    let edited = agent.with_thread(&id, |thread| edit::edit(thread, &body, now));
    let (saved, state) = edited.unwrap_or_else(|| Err(no_thread(&id)))?;
    let data = json!({"state": state, "thread_id": id});
    let item = Item {
        id: agent.clock.ids(1).pop().unwrap_or_default(),
        ..Item::new("state_update", &data, Kind::State)
    };
    agent.thread_feed(&id).push(&[Arc::new(item)]);
    let place = json!({"thread_id": id, "checkpoint_ns": "", "checkpoint_id": saved});
    Ok(ok(
        &json!({"checkpoint": place, "configurable": place, "checkpoint_id": saved}),
    ))
}

/// `GET /threads/{t}/history`: the checkpoints, newest first over all branches.
pub async fn history(State(agent): ThisAgent, Path(id): Path<String>, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    let limit = last_of(&pairs, "limit").unwrap_or("1");
    let wrong = |_| invalid(&format!("Invalid limit {limit}"));
    let limit = limit.parse().map_err(wrong)?;
    let before = last_of(&pairs, "before");
    of_thread(&agent, &id, |thread| {
        let newest = thread.checkpoints.iter().rev();
        let older = newest.filter(|one| before.is_none_or(|before| one.id.as_str() < before));
        let page = older.take(limit);
        page.map(|one| rows::state(thread, one, false)).collect()
    })
}
