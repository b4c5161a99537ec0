//! Threads over REST: creating, reading, changing, copying and deleting them, and their states and histories.

use super::ThisAgent;
use super::feed::{Ended, Item, Kind};
use super::history::{self, Asked};
use super::refuse::{Problem, Refusal};
use super::state::Thread;
use super::{Agent, edit, empty, json_response, query_pairs, rows, supersteps};
use crate::Dialect;
use crate::ids::{uuid4, uuid7};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

fn answer(result: Result<Response, Refusal>) -> Response {
    result.unwrap_or_else(|refusal| *refusal)
}

fn ok(value: &Value) -> Response {
    json_response(StatusCode::OK, value)
}

/// `POST /threads`.
pub async fn create(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(agent.optional_body(&bytes).and_then(|body| {
        agent.check_fields(&body, &[])?;
        let now = Timestamp::now();
        let fresh = || {
            if agent.dialect == Dialect::Aegra {
                uuid4()
            } else {
                uuid7(now)
            }
        };
        let id = body["thread_id"].as_str().map_or_else(fresh, str::to_owned);
        agent.check_thread_id(&id, false)?;
        agent.check_ttl(&body)?;
        let mut metadata = body["metadata"].as_object().cloned().unwrap_or_default();
        if agent.dialect == Dialect::Aegra {
            // It drops the graph and the assistant that a client names here.
            for (key, value) in [
                ("graph_id", Value::Null),
                ("thread_name", json!("")),
                ("assistant_id", Value::Null),
            ] {
                metadata.insert(key.into(), value);
            }
            metadata.insert("owner".into(), json!("anonymous"));
        }
        let mut memory = agent.memory();
        if let Some(there) = memory.threads.get(&id) {
            if body["if_exists"] == "do_nothing" {
                return Ok(ok(&rows::thread(agent.dialect, there)));
            }
            return Err(agent.refuse(Problem::ThreadExists(id)));
        }
        let mut thread = Thread::new(id.clone(), now, metadata);
        let built = match agent.dialect {
            Dialect::Aegra => Ok(()),
            _ => supersteps::build(agent.dialect, &mut thread, &body["supersteps"], now),
        };
        let shown = rows::thread(agent.dialect, &thread);
        // The thread stays, even if its supersteps are refused.
        memory.threads.insert(id, thread);
        built.map_err(|problem| agent.refuse(problem))?;
        Ok(ok(&shown))
    }))
}

/// Reads a part of an existing thread.
fn of_thread(
    agent: &Agent,
    id: &str,
    read: impl FnOnce(&Thread) -> Result<Value, Refusal>,
) -> Response {
    answer(agent.check_thread_id(id, false).and_then(|()| {
        let memory = agent.memory();
        let thread = memory
            .threads
            .get(id)
            .ok_or_else(|| agent.refuse(Problem::NoThread(id.to_owned())))?;
        Ok(ok(&read(thread)?))
    }))
}

/// `GET /threads/{t}`.
pub async fn get(State(agent): ThisAgent, Path(id): Path<String>) -> Response {
    of_thread(&agent, &id, |thread| {
        Ok(rows::thread(agent.dialect, thread))
    })
}

/// `PATCH /threads/{t}`: metadata is merged. The Python server accepts a wish for an empty response.
pub async fn patch(
    State(agent): ThisAgent,
    Path(id): Path<String>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    answer(agent.body(&bytes).and_then(|body| {
        agent.check_ttl(&body)?;
        agent.with_thread(&id, |thread| {
            thread
                .metadata
                .extend(body["metadata"].as_object().cloned().unwrap_or_default());
            thread.updated_at = Timestamp::now();
        });
        let minimal = headers
            .get("prefer")
            .is_some_and(|wish| wish == "return=minimal");
        let shown = of_thread(&agent, &id, |thread| {
            Ok(rows::thread(agent.dialect, thread))
        });
        let short = minimal && agent.dialect == Dialect::Python && shown.status().is_success();
        Ok(if short {
            empty(StatusCode::NO_CONTENT)
        } else {
            shown
        })
    }))
}

/// `DELETE /threads/{t}`, also while runs are active.
pub async fn delete(State(agent): ThisAgent, Path(id): Path<String>) -> Response {
    answer(agent.check_thread_id(&id, false).and_then(|()| {
        let removed = agent.memory().threads.remove(&id);
        let thread = removed.ok_or_else(|| agent.refuse(Problem::NoThread(id.clone())))?;
        agent.stop_runs(&thread.runs);
        agent.wake();
        Ok(match agent.dialect {
            Dialect::Aegra => ok(&json!({"status": "deleted"})),
            _ => empty(StatusCode::NO_CONTENT),
        })
    }))
}

/// `POST /threads/prune`: deletes several threads. The Python server only.
pub async fn prune(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(agent.body(&bytes).and_then(|body| {
        if body["strategy"] == "keep_latest" {
            let text = "keep_latest strategy is not supported in in-memory runtime";
            return Err(agent.refuse(Problem::Python(
                StatusCode::UNPROCESSABLE_ENTITY,
                text.into(),
            )));
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
    answer(agent.check_thread(&id).map(|()| {
        ok(&rows::thread(
            agent.dialect,
            &agent.copy_thread(&id, Timestamp::now()),
        ))
    }))
}

impl Agent {
    /// Copies a thread: the whole history and no runs. The copy's row is idle, even if its state has a question.
    pub fn copy_thread(&self, id: &str, now: Timestamp) -> Thread {
        let copy = if self.dialect == Dialect::JavaScript {
            uuid7(now)
        } else {
            uuid4()
        };
        let mut memory = self.memory();
        let original = memory.threads.get(id);
        let (mut metadata, mut checkpoints) = original
            .map(|one| (one.metadata.clone(), one.checkpoints.clone()))
            .unwrap_or_default();
        checkpoints
            .iter_mut()
            .for_each(|checkpoint| checkpoint.metadata["thread_id"] = json!(copy));
        if self.dialect == Dialect::JavaScript {
            metadata.insert("thread_id".into(), json!(copy));
        }
        let thread = Thread {
            copied: true,
            checkpoints,
            ..Thread::new(copy.clone(), now, metadata)
        };
        memory.threads.insert(copy, thread.clone());
        thread
    }
}

fn state_of(agent: &Agent, thread: &Thread, asked: Option<&str>) -> Value {
    match thread.checkpoint(asked) {
        Some(checkpoint) => {
            let mut state = rows::state(agent.dialect, thread, checkpoint, asked.is_none());
            // The Python server repeats the requested configuration, which has no namespace.
            if asked.is_some()
                && agent.dialect == Dialect::Python
                && let Some(place) = state["checkpoint"].as_object_mut()
            {
                place.remove("checkpoint_ns");
            }
            state
        }
        // Before the first run, these servers do not even repeat the id.
        None if agent.dialect != Dialect::Aegra && thread.checkpoints.is_empty() => {
            rows::no_state(agent.dialect, &thread.id, None)
        }
        None => rows::no_state(agent.dialect, &thread.id, asked),
    }
}

/// `GET /threads/{t}/state`.
pub async fn state(State(agent): ThisAgent, Path(id): Path<String>) -> Response {
    of_thread(&agent, &id, |thread| Ok(state_of(&agent, thread, None)))
}

/// `GET /threads/{t}/state/{checkpoint}`.
pub async fn state_at(
    State(agent): ThisAgent,
    Path((id, checkpoint)): Path<(String, String)>,
) -> Response {
    if agent.dialect == Dialect::JavaScript && Uuid::try_parse(&checkpoint).is_err() {
        return *agent.refuse(Problem::BadCheckpointId);
    }
    of_thread(&agent, &id, |thread| {
        if agent.dialect == Dialect::Aegra && thread.graph().is_none() {
            return Err(agent.refuse(Problem::NoState(id.clone())));
        }
        Ok(state_of(&agent, thread, Some(&checkpoint)))
    })
}

/// `POST /threads/{t}/state/checkpoint`.
pub async fn state_at_post(
    State(agent): ThisAgent,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Response {
    answer(agent.body(&bytes).map(|body| {
        let asked = body["checkpoint"]["checkpoint_id"].as_str();
        of_thread(&agent, &id, |thread| Ok(state_of(&agent, thread, asked)))
    }))
}

/// `POST /threads/{t}/state`: a manual state edit.
pub async fn update_state(
    State(agent): ThisAgent,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Response {
    answer(agent.body(&bytes).and_then(|body| {
        agent.check_thread(&id)?;
        if agent.dialect == Dialect::Aegra && body["values"].is_null() {
            // It treats this as a request to read the state.
            return Ok(of_thread(&agent, &id, |thread| {
                Ok(state_of(&agent, thread, None))
            }));
        }
        let now = Timestamp::now();
        let edited = agent.with_thread(&id, |thread| edit::edit(agent.dialect, thread, &body, now));
        let gone = || Err(Problem::NoThread(id.clone()));
        let (saved, state) = edited
            .unwrap_or_else(gone)
            .map_err(|problem| match problem {
                Problem::EditWhileBusy { thread, .. } => {
                    let runs = agent.active_runs(&thread);
                    agent.refuse(Problem::EditWhileBusy { thread, runs })
                }
                other => agent.refuse(other),
            })?;
        if matches!(agent.dialect, Dialect::Python | Dialect::Contract) {
            let data = json!({"state": state, "thread_id": id}).to_string();
            let event = agent.clock.ids(1).pop().unwrap_or_default();
            let (name, ended) = ("state_update".to_owned(), Ended::default());
            let item = Item {
                id: event,
                name,
                data,
                kind: Kind::State,
                stored: false,
                ended,
            };
            agent.thread_feed(&id).push(&[Arc::new(item)]);
        }
        let place = json!({"thread_id": id, "checkpoint_ns": "", "checkpoint_id": saved});
        Ok(ok(&match agent.dialect {
            Dialect::Python | Dialect::Contract => {
                json!({"checkpoint": place, "configurable": place, "checkpoint_id": saved})
            }
            Dialect::JavaScript | Dialect::Aegra => json!({"checkpoint": place}),
        }))
    }))
}

/// `GET /threads/{t}/history`. The default `limit` is 1 on the Python server and 10 on the others.
pub async fn history_get(State(agent): ThisAgent, Path(id): Path<String>, uri: Uri) -> Response {
    let pairs = query_pairs(&uri);
    let value = |key: &str| {
        pairs
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.clone())
    };
    answer(
        history::limit(&agent, value("limit").as_deref()).and_then(|limit| {
            let asked = Asked {
                limit,
                before: value("before"),
                ..Asked::default()
            };
            if agent.dialect == Dialect::Aegra && asked.before.is_some() {
                return Err(agent.refuse(Problem::NoBefore));
            }
            Ok(of_thread(&agent, &id, |thread| {
                Ok(history::list(agent.dialect, thread, &asked))
            }))
        }),
    )
}

/// `POST /threads/{t}/history`.
pub async fn history_post(
    State(agent): ThisAgent,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Response {
    answer(agent.optional_body(&bytes).and_then(|body| {
        let asked = history::read(&agent, &body)?;
        Ok(of_thread(&agent, &id, |thread| {
            Ok(history::list(agent.dialect, thread, &asked))
        }))
    }))
}
