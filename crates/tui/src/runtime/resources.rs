//! Lists of versions of assistants, of crons and of the store.

use super::services::Services;
use crate::boxed;
use crate::session::msg::ServerRef;
use crate::session::record_list::RecordQuery;
use runtail_api::{ApiError, Listing};
use runtail_core::graph::{self, Graph};
use runtail_core::model::RunRevision;
use serde_json::{Value, json};
use std::sync::Arc;

/// Maximum rows of a list.
const MAX_ROWS: usize = 1000;
/// Maximum items of a namespace, which may be large.
const MAX_ITEMS: usize = 300;
/// Revisions to compare a run with.
const REVISIONS: usize = 50;

/// Fetches records.
#[boxed]
pub async fn list(
    services: &Services,
    server: &ServerRef,
    query: &RecordQuery,
) -> Result<Listing<Value>, ApiError> {
    let client = services.agent_server(server).await?;
    match query {
        RecordQuery::Versions(assistant) => {
            let (versions, current) = tokio::join!(
                client.assistant_versions(assistant),
                client.assistant_row(assistant)
            );
            let (mut versions, current) = (versions?, current?);
            versions
                .items
                .iter_mut()
                .for_each(|row| mark_current(row, &current));
            Ok(versions)
        }
        RecordQuery::Crons => client.crons(MAX_ROWS, 0).await,
        RecordQuery::Namespaces(prefix) => {
            let all = client.store_namespaces(prefix, None, MAX_ROWS, 0).await?;
            Ok(Listing::new(
                all.items.into_iter().map(Value::from).collect(),
                all.unread,
            ))
        }
        RecordQuery::Items(namespace) => {
            client
                .store_items(namespace, None, None, MAX_ITEMS, 0)
                .await
        }
    }
}

/// Marks the current version, and the fields that the assistant itself has differently: the development servers restore a
/// version's number and name, but not its context (acting reference §8).
fn mark_current(version: &mut Value, assistant: &Value) {
    let is_current = version["version"] == assistant["version"];
    version["is_current"] = is_current.into();
    if is_current {
        let changes = runtail_api::assistant_changes(version, assistant);
        let mut fields: Vec<&str> = changes
            .iter()
            .filter_map(|change| change.path.split('.').next())
            .collect();
        fields.dedup();
        version["differs"] = json!(fields);
    }
}

/// Fetches the schemas of an assistant.
#[boxed]
pub async fn schemas(
    services: &Services,
    server: &ServerRef,
    assistant: &str,
) -> Result<Arc<str>, ApiError> {
    let schemas = services
        .agent_server(server)
        .await?
        .assistant_schemas(assistant)
        .await?;
    Ok(schemas.to_string().into())
}

/// Fetches the graph of an assistant, and draws it: a line of the drawing per item, then the server's description.
#[boxed]
pub async fn graph(
    services: &Services,
    server: &ServerRef,
    assistant: &str,
) -> Result<Arc<str>, ApiError> {
    let described = services
        .agent_server(server)
        .await?
        .whole_graph(assistant)
        .await?;
    let graph = Graph::read(&described);
    let drawing = graph::text(
        &graph,
        &graph::layout(&graph, graph::Limits::NONE),
        graph::Glyphs::Unicode,
    );
    let lines: Vec<&str> = drawing.lines().collect();
    Ok(json!({"drawing": lines, "graph": described})
        .to_string()
        .into())
}

/// Fetches a run, and judges which revision of the server's deployment ran it. What can't be read about that is unknown.
#[boxed]
pub async fn run(
    services: &Services,
    server: &ServerRef,
    thread: &str,
    run: &str,
) -> Result<Arc<str>, ApiError> {
    let client = services.agent_server(server).await?;
    let revisions = async {
        let control_plane = services.control_plane(&server.profile).await.ok()?;
        let query = runtail_api::DeploymentQuery {
            name_contains: Some(server.name.to_string()),
            ..runtail_api::DeploymentQuery::default()
        };
        let listed = control_plane.deployment_rows(&query).await.ok()?;
        let row = listed
            .items
            .into_iter()
            .find(|row| row["name"] == *server.name)?;
        Some(
            control_plane
                .revision_rows(row["id"].as_str()?, REVISIONS)
                .await
                .ok()?
                .items,
        )
    };
    let (row, info, revisions) =
        tokio::join!(client.explained_run(thread, run), client.info(), revisions);
    let mut row = row?;
    let info = info.map(|info| info.raw).unwrap_or_default();
    let answered_by = RunRevision::of(&row, &info, revisions.as_deref());
    if let Some(fields) = row.as_object_mut()
        && answered_by.is_known()
    {
        // First, because it is what the server's record doesn't say.
        let own = std::mem::take(fields);
        fields.insert("answered_by".into(), json!(answered_by));
        fields.extend(own);
    }
    Ok(row.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_was_restored_in_part_names_the_fields() {
        let row = |version: u64, tone: &str| json!({"version": version, "name": "a", "context": {"tone": tone}});
        let marked = |mut version: Value, assistant: &Value| {
            mark_current(&mut version, assistant);
            (version["is_current"].clone(), version["differs"].clone())
        };
        let assistant = row(1, "formal");
        assert_eq!(
            marked(row(1, "formal"), &assistant),
            (json!(true), json!([]))
        );
        assert_eq!(
            marked(row(1, "neutral"), &assistant),
            (json!(true), json!(["context"]))
        );
        assert_eq!(
            marked(row(2, "neutral"), &assistant),
            (json!(false), Value::Null)
        );
    }
}
