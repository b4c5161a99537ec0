//! Changing assistants, their versions and their schemas (acting reference §8).

use super::ThisAgent;
use super::check::{BOTH_SETTINGS, body, check_assistant_id, number, optional_body};
use super::refuse::{Refusal, answer, bad, missing};
use super::state::{Assistant, Version};
use super::{Agent, empty, json_response, rows};
use crate::ids::uuid4;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
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
    ) -> Result<Response, Refusal> {
        let mut memory = self.memory();
        let Some(assistant) = memory.assistants.iter_mut().find(|one| one.id == id) else {
            return Err(missing_assistant(id));
        };
        change(assistant)?;
        assistant.updated_at = Timestamp::now();
        Ok(json_response(StatusCode::OK, &rows::assistant(assistant)))
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
pub async fn create(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(body(&bytes).and_then(|body| {
        let graph = body["graph_id"].as_str().unwrap_or_default();
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
        Ok(json_response(StatusCode::OK, &row))
    }))
}

/// `PATCH /assistants/{id}`: every change makes a version, whatever it changes.
pub async fn patch(State(agent): ThisAgent, Path(id): Path<String>, bytes: Bytes) -> Response {
    answer(body(&bytes).and_then(|body| {
        if body["config"]["configurable"].is_object() && body["context"].is_object() {
            return Err(bad(BOTH_SETTINGS));
        }
        agent.change_assistant(&id, |assistant| {
            let (config, context) = settings(&body, &assistant.config, &assistant.context);
            let mut metadata = assistant.metadata.clone();
            for (key, value) in body["metadata"].as_object().into_iter().flatten() {
                metadata[key] = value.clone();
            }
            let newest = assistant
                .versions
                .iter()
                .map(|version| version.number)
                .max()
                .unwrap_or_default();
            assistant.take(Version {
                number: newest + 1,
                name: body["name"].as_str().unwrap_or(&assistant.name).to_owned(),
                description: body["description"]
                    .as_str()
                    .map(str::to_owned)
                    .or(assistant.description.clone()),
                config,
                context,
                metadata,
                created_at: Timestamp::now(),
            });
            Ok(())
        })
    }))
}

/// `DELETE /assistants/{id}`: also of the assistant that a graph gets.
pub async fn delete(State(agent): ThisAgent, Path(id): Path<String>) -> Response {
    let mut memory = agent.memory();
    let all = memory.assistants.len();
    memory.assistants.retain(|one| one.id != id);
    if memory.assistants.len() == all {
        return *missing_assistant(&id);
    }
    empty(StatusCode::NO_CONTENT)
}

/// `POST /assistants/{id}/versions`, newest first.
pub async fn versions(State(agent): ThisAgent, Path(id): Path<String>, bytes: Bytes) -> Response {
    answer(optional_body(&bytes).and_then(|body| {
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
        Ok(json_response(StatusCode::OK, &json!(rows)))
    }))
}

/// `POST /assistants/{id}/latest`: makes an older version the current one. Its context is not restored.
pub async fn latest(State(agent): ThisAgent, Path(id): Path<String>, bytes: Bytes) -> Response {
    answer(body(&bytes).and_then(|body| {
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
            let context = assistant.context.clone();
            assistant.show(&version);
            assistant.context = context;
            Ok(())
        })
    }))
}

/// `GET /assistants/{id}/schemas`, by id only.
pub async fn schemas(State(agent): ThisAgent, Path(id): Path<String>) -> Response {
    answer(check_assistant_id(&id).and_then(|()| {
        let assistant = agent.assistant(&id);
        let assistant = assistant.ok_or_else(|| missing_assistant(&id))?;
        Ok(json_response(StatusCode::OK, &assistant.graph.schemas()))
    }))
}
