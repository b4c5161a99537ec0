//! Changing assistants, their versions and their schemas (acting reference §8).

use super::check::BOTH_SETTINGS;
use crate::agent::prelude::*;

fn missing_assistant(id: &str) -> Refusal {
    missing(&format!("Assistant {id} not found"))
}

fn found<'m>(memory: &'m mut Memory, id: &str) -> Result<&'m mut Assistant, Refusal> {
    let mut all = memory.assistants.iter_mut();
    all.find(|one| one.id == id)
        .ok_or_else(|| missing_assistant(id))
}

/// Sets the configuration and the context of a request. The context is mirrored into the configuration.
fn set(version: &mut Version, body: &Value) {
    for (key, own) in [
        ("config", &mut version.config),
        ("context", &mut version.context),
    ] {
        if body[key].is_object() {
            *own = body[key].clone();
        }
    }
    if fields_of(&body["context"]).next().is_some() {
        version.config["configurable"] = body["context"].clone();
    }
}

/// `POST /assistants`.
pub async fn create(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = body(&bytes)?;
    let graph = text_of(&body["graph_id"]);
    let mut memory = agent.memory();
    let own = memory
        .assistants
        .iter()
        .find(|one| one.graph.name() == graph);
    let Some(graph) = own.map(|one| one.graph) else {
        return Err(missing(&format!("Graph '{graph}' not found")));
    };
    let mut version = Version {
        number: 1,
        name: body["name"].as_str().unwrap_or("Untitled").to_owned(),
        description: body["description"].as_str().map(str::to_owned),
        config: json!({}),
        context: json!({}),
        metadata: json!(object_of(&body["metadata"])),
        created_at: now(),
    };
    set(&mut version, &body);
    let assistant = Assistant::new(uuid4(), graph, version);
    let row = rows::assistant(&assistant);
    memory.assistants.push(assistant);
    Ok(ok(&row))
}

/// `PATCH /assistants/{id}`: every change makes a version, whatever it changes.
pub async fn patch(State(agent): ThisAgent, Path(id): Path<String>, bytes: Bytes) -> Handled {
    let body = body(&bytes)?;
    if body["config"]["configurable"].is_object() && body["context"].is_object() {
        return Err(bad(BOTH_SETTINGS));
    }
    let mut memory = agent.memory();
    let assistant = found(&mut memory, &id)?;
    let mut version = assistant.current.clone();
    set(&mut version, &body);
    for (key, value) in fields_of(&body["metadata"]) {
        version.metadata[key] = value.clone();
    }
    if let Some(name) = body["name"].as_str() {
        version.name = name.to_owned();
    }
    if let Some(description) = body["description"].as_str() {
        version.description = Some(description.to_owned());
    }
    let numbers = assistant.versions.iter().map(|version| version.number);
    version.number = numbers.max().unwrap_or_default() + 1;
    version.created_at = now();
    assistant.add(version);
    Ok(ok(&rows::assistant(assistant)))
}

/// `DELETE /assistants/{id}`: also of the assistant that a graph gets.
pub async fn delete(State(agent): ThisAgent, Path(id): Path<String>) -> Handled {
    let mut memory = agent.memory();
    found(&mut memory, &id)?;
    memory.assistants.retain(|one| one.id != id);
    Ok(done())
}

/// `POST /assistants/{id}/versions`, newest first.
pub async fn versions(State(agent): ThisAgent, Path(id): Path<String>, bytes: Bytes) -> Handled {
    let body = optional_body(&bytes)?;
    let mut memory = agent.memory();
    let assistant = found(&mut memory, &id)?;
    let page = assistant
        .versions
        .iter()
        .rev()
        .skip(number(&body, "offset", 0));
    let page = page.take(number(&body, "limit", 10));
    Ok(ok(&page.map(|one| rows::version(assistant, one)).collect()))
}

/// `POST /assistants/{id}/latest`: makes an older version the current one. Its context is not restored.
pub async fn latest(State(agent): ThisAgent, Path(id): Path<String>, bytes: Bytes) -> Handled {
    let body = body(&bytes)?;
    let mut memory = agent.memory();
    let assistant = found(&mut memory, &id)?;
    let wanted = &body["version"];
    let mut versions = assistant.versions.iter();
    let version = versions.find(|version| *wanted == version.number).cloned();
    let version = version
        .ok_or_else(|| missing(&format!("Version {wanted} not found for assistant {id}")))?;
    let context = std::mem::take(&mut assistant.current.context);
    assistant.current = Version { context, ..version };
    assistant.updated_at = now();
    Ok(ok(&rows::assistant(assistant)))
}

/// `GET /assistants/{id}/schemas`, by id only.
pub async fn schemas(State(agent): ThisAgent, Path(id): Path<String>) -> Handled {
    check_id("assistant", &id)?;
    let assistant = agent.assistant(&id);
    let assistant = assistant.ok_or_else(|| missing_assistant(&id))?;
    Ok(ok(&assistant.graph.schemas()))
}
