//! Changing assistants, their versions and their schemas (acting reference §8).

use super::ThisAgent;
use super::refuse::{Problem, Refusal};
use super::state::{Assistant, Version};
use super::{Agent, empty, json_response, rows, text_response};
use crate::Dialect;
use crate::ids::{uuid4, uuid7};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Value, json};

fn answer(result: Result<Response, Refusal>) -> Response {
    result.unwrap_or_else(|refusal| *refusal)
}

impl Agent {
    fn missing_assistant(&self, id: &str) -> Refusal {
        match self.dialect {
            Dialect::Python | Dialect::Contract => self.refuse(Problem::Python(
                StatusCode::NOT_FOUND,
                format!("Assistant {id} not found"),
            )),
            Dialect::JavaScript => Box::new(text_response(
                StatusCode::NOT_FOUND,
                "text/plain;charset=UTF-8",
                &format!("Assistant \"{id}\" not found."),
            )),
            Dialect::Aegra => Box::new(json_response(
                StatusCode::NOT_FOUND,
                &json!({"error": "not_found", "message": format!("Assistant '{id}' not found"), "details": null}),
            )),
        }
    }

    fn missing_version(&self, id: &str, version: &Value) -> Refusal {
        let (status, aegra) = (
            StatusCode::NOT_FOUND,
            format!("Version '{version}' for Assistant '{id}' not found"),
        );
        match self.dialect {
            Dialect::Python | Dialect::Contract => self.refuse(Problem::Python(
                status,
                format!("Version {version} not found for assistant {id}"),
            )),
            Dialect::JavaScript => Box::new(text_response(
                status,
                "text/plain;charset=UTF-8",
                "Assistant version not found",
            )),
            Dialect::Aegra => Box::new(json_response(
                status,
                &json!({"error": "not_found", "message": aegra, "details": null}),
            )),
        }
    }

    /// Changes an assistant and returns its row.
    fn change_assistant(
        &self,
        id: &str,
        change: impl FnOnce(&mut Assistant) -> Result<(), Refusal>,
    ) -> Result<Response, Refusal> {
        let mut memory = self.memory();
        let Some(assistant) = memory.assistants.iter_mut().find(|one| one.id == id) else {
            return Err(self.missing_assistant(id));
        };
        change(assistant)?;
        assistant.updated_at = Timestamp::now();
        Ok(json_response(
            StatusCode::OK,
            &rows::assistant(self.dialect, assistant),
        ))
    }
}

/// The configuration and the context of a request. Python and Aegra mirror the context into the configuration.
fn settings(dialect: Dialect, body: &Value, config: &Value, context: &Value) -> (Value, Value) {
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
    if body["context"].is_object() && !is_empty && dialect != Dialect::JavaScript {
        new_config["configurable"] = new_context.clone();
    }
    (new_config, new_context)
}

/// `POST /assistants`.
pub async fn create(State(agent): ThisAgent, bytes: Bytes) -> Response {
    answer(agent.body(&bytes).and_then(|body| {
        let graph = body["graph_id"].as_str().unwrap_or_default();
        let own = agent
            .memory()
            .assistants
            .iter()
            .find(|one| one.graph.name() == graph)
            .map(|one| one.graph);
        let Some(graph) = own else {
            return Err(agent.refuse(Problem::Python(
                StatusCode::NOT_FOUND,
                format!("Graph '{graph}' not found"),
            )));
        };
        let now = Timestamp::now();
        let (config, context) = settings(agent.dialect, &body, &json!({}), &json!({}));
        let id = if agent.dialect == Dialect::JavaScript {
            uuid7(now)
        } else {
            uuid4()
        };
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
        let assistant = Assistant::new(id, graph, version);
        let row = rows::assistant(agent.dialect, &assistant);
        agent.memory().assistants.push(assistant);
        Ok(json_response(StatusCode::OK, &row))
    }))
}

/// `PATCH /assistants/{id}`: every change makes a version, whatever it changes.
pub async fn patch(State(agent): ThisAgent, Path(id): Path<String>, bytes: Bytes) -> Response {
    answer(agent.body(&bytes).and_then(|body| {
        if body["config"]["configurable"].is_object() && body["context"].is_object() && agent.dialect != Dialect::JavaScript {
            let text = "Cannot specify both configurable and context. Prefer setting context alone. Context was introduced in \
                        LangGraph 0.6.0 and is the long term planned replacement for configurable.";
            return Err(agent.refuse(Problem::Python(StatusCode::BAD_REQUEST, text.into())));
        }
        agent.change_assistant(&id, |assistant| {
            let (config, context) = settings(agent.dialect, &body, &assistant.config, &assistant.context);
            let mut metadata = assistant.metadata.clone();
            if agent.dialect == Dialect::Aegra {
                // Aegra replaces the metadata, also by nothing.
                metadata = json!({});
            }
            for (key, value) in body["metadata"].as_object().into_iter().flatten() {
                metadata[key] = value.clone();
            }
            let newest = assistant.versions.iter().map(|version| version.number).max().unwrap_or_default();
            assistant.take(Version {
                number: newest + 1,
                name: body["name"].as_str().unwrap_or(&assistant.name).to_owned(),
                description: body["description"].as_str().map(str::to_owned).or(assistant.description.clone()),
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
        return *agent.missing_assistant(&id);
    }
    match agent.dialect {
        Dialect::JavaScript => json_response(StatusCode::OK, &json!([id])),
        Dialect::Aegra => json_response(StatusCode::OK, &json!({"status": "deleted"})),
        Dialect::Python | Dialect::Contract => empty(StatusCode::NO_CONTENT),
    }
}

/// `POST /assistants/{id}/versions`, newest first.
pub async fn versions(State(agent): ThisAgent, Path(id): Path<String>, bytes: Bytes) -> Response {
    answer(agent.optional_body(&bytes).and_then(|body| {
        let number = |field: &str, usual: u64| body[field].as_u64().unwrap_or(usual) as usize;
        let (limit, offset) = (number("limit", 10), number("offset", 0));
        let memory = agent.memory();
        let Some(assistant) = memory.assistants.iter().find(|one| one.id == id) else {
            return Err(agent.missing_assistant(&id));
        };
        let rows: Vec<Value> = assistant
            .versions
            .iter()
            .rev()
            .skip(offset)
            .take(limit)
            .map(|one| rows::version(agent.dialect, assistant, one))
            .collect();
        Ok(json_response(StatusCode::OK, &json!(rows)))
    }))
}

/// `POST /assistants/{id}/latest`: makes an older version the current one. Python and JavaScript don't restore its context.
pub async fn latest(State(agent): ThisAgent, Path(id): Path<String>, bytes: Bytes) -> Response {
    answer(agent.body(&bytes).and_then(|body| {
        agent.change_assistant(&id, |assistant| {
            let wanted = assistant
                .versions
                .iter()
                .find(|version| body["version"] == version.number)
                .cloned();
            let Some(version) = wanted else {
                return Err(agent.missing_version(&id, &body["version"]));
            };
            let context = assistant.context.clone();
            assistant.show(&version);
            if agent.dialect != Dialect::Aegra {
                assistant.context = context;
            }
            Ok(())
        })
    }))
}

/// `GET /assistants/{id}/schemas`, by id only.
pub async fn schemas(State(agent): ThisAgent, Path(id): Path<String>) -> Response {
    if uuid::Uuid::try_parse(&id).is_err() {
        return match agent.dialect {
            Dialect::Aegra => *agent.missing_assistant(&id),
            _ => *agent.refuse(Problem::NotAnAssistantId(id)),
        };
    }
    let Some(assistant) = agent.assistant(&id) else {
        return *agent.missing_assistant(&id);
    };
    json_response(StatusCode::OK, &assistant.graph.schemas())
}
