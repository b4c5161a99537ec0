//! Changing assistants, their versions and their schemas (acting reference §8).

use super::ThisAgent;
use super::check::{BOTH_SETTINGS, body, check_assistant_id, number, optional_body};
use super::state::{Assistant, Version};
use super::{Agent, rows};
use crate::http::{Handled, Refusal, bad, done, missing, ok};
use crate::ids::uuid4;
use crate::values::text_of;
use axum::body::Bytes;
use axum::extract::{Path, State};
use jiff::Timestamp;
use serde_json::{Value, json};

fn missing_assistant(id: &str) -> Refusal {
    missing(&format!("Assistant {id} not found"))
}

impl Agent {
    /// Changes an assistant and returns its row.
    fn change_assistant(
        &self,
        id: &str,
        change: impl FnOnce(&mut Assistant) -> Result<(), Refusal>,
    ) -> Handled {
        let mut memory = self.memory();
        let Some(assistant) = memory.assistants.iter_mut().find(|one| one.id == id) else {
            return Err(missing_assistant(id));
        };
        change(assistant)?;
        assistant.updated_at = Timestamp::now();
        Ok(ok(&rows::assistant(assistant)))
    }
}

/// The configuration and the context of a request. The context is mirrored into the configuration.
fn settings(body: &Value, config: &Value, context: &Value) -> (Value, Value) {
    let object = |value: &Value, old: &Value| {
        if value.is_object() {
            value.clone()
        } else {
            old.clone()
        }
    };
    let (mut new_config, new_context) = (
        object(&body["config"], config),
        object(&body["context"], context),
    );
    let is_empty = new_context
        .as_object()
        .is_none_or(serde_json::Map::is_empty);
    if body["context"].is_object() && !is_empty {
        new_config["configurable"] = new_context.clone();
    }
    (new_config, new_context)
}

/// `POST /assistants`.
pub async fn create(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = body(&bytes)?;
    let graph = text_of(&body["graph_id"]);
    let own = agent
        .memory()
        .assistants
        .iter()
        .find(|one| one.graph.name() == graph)
        .map(|one| one.graph);
    let Some(graph) = own else {
        return Err(missing(&format!("Graph '{graph}' not found")));
    };
    let now = Timestamp::now();
    let (config, context) = settings(&body, &json!({}), &json!({}));
    let version = Version {
        number: 1,
        name: body["name"].as_str().unwrap_or("Untitled").to_owned(),
        description: body["description"].as_str().map(str::to_owned),
        config,
        context,
        metadata: if body["metadata"].is_object() {
            body["metadata"].clone()
        } else {
            json!({})
        },
        created_at: now,
    };
    let assistant = Assistant::new(uuid4(), graph, version);
    let row = rows::assistant(&assistant);
    agent.memory().assistants.push(assistant);
    Ok(ok(&row))
}

/// `PATCH /assistants/{id}`: every change makes a version, whatever it changes.
pub async fn patch(State(agent): ThisAgent, Path(id): Path<String>, bytes: Bytes) -> Handled {
    let body = body(&bytes)?;
    if body["config"]["configurable"].is_object() && body["context"].is_object() {
        return Err(bad(BOTH_SETTINGS));
    }
    agent.change_assistant(&id, |assistant| {
        let mut version = assistant.current.clone();
        (version.config, version.context) = settings(&body, &version.config, &version.context);
        for (key, value) in body["metadata"].as_object().into_iter().flatten() {
            version.metadata[key] = value.clone();
        }
        if let Some(name) = body["name"].as_str() {
            version.name = name.to_owned();
        }
        if let Some(description) = body["description"].as_str() {
            version.description = Some(description.to_owned());
        }
        let newest = assistant
            .versions
            .iter()
            .map(|version| version.number)
            .max();
        version.number = newest.unwrap_or_default() + 1;
        version.created_at = Timestamp::now();
        assistant.add(version);
        Ok(())
    })
}

/// `DELETE /assistants/{id}`: also of the assistant that a graph gets.
pub async fn delete(State(agent): ThisAgent, Path(id): Path<String>) -> Handled {
    let mut memory = agent.memory();
    let all = memory.assistants.len();
    memory.assistants.retain(|one| one.id != id);
    if memory.assistants.len() == all {
        return Err(missing_assistant(&id));
    }
    Ok(done())
}

/// `POST /assistants/{id}/versions`, newest first.
pub async fn versions(State(agent): ThisAgent, Path(id): Path<String>, bytes: Bytes) -> Handled {
    let body = optional_body(&bytes)?;
    let (limit, offset) = (number(&body, "limit", 10), number(&body, "offset", 0));
    let memory = agent.memory();
    let Some(assistant) = memory.assistants.iter().find(|one| one.id == id) else {
        return Err(missing_assistant(&id));
    };
    let rows: Vec<Value> = assistant
        .versions
        .iter()
        .rev()
        .skip(offset)
        .take(limit)
        .map(|one| rows::version(assistant, one))
        .collect();
    Ok(ok(&json!(rows)))
}

/// `POST /assistants/{id}/latest`: makes an older version the current one. Its context is not restored.
pub async fn latest(State(agent): ThisAgent, Path(id): Path<String>, bytes: Bytes) -> Handled {
    let body = body(&bytes)?;
    agent.change_assistant(&id, |assistant| {
        let wanted = assistant
            .versions
            .iter()
            .find(|version| body["version"] == version.number)
            .cloned();
        let Some(version) = wanted else {
            let version = &body["version"];
            return Err(missing(&format!(
                "Version {version} not found for assistant {id}"
            )));
        };
        let context = assistant.current.context.clone();
        assistant.current = Version { context, ..version };
        Ok(())
    })
}

/// `GET /assistants/{id}/schemas`, by id only.
pub async fn schemas(State(agent): ThisAgent, Path(id): Path<String>) -> Handled {
    check_assistant_id(&id)?;
    let assistant = agent.assistant(&id);
    let assistant = assistant.ok_or_else(|| missing_assistant(&id))?;
    Ok(ok(&assistant.graph.schemas()))
}
