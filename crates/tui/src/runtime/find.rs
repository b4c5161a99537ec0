//! Looks up an id on one server.

use super::services::Services;
use crate::boxed;
use crate::session::msg::ServerRef;
use crate::session::msg::{Found, Source};
use futures::StreamExt;
use runtail_api::{AgentServer, ApiError, Kind, ServerKind, ThreadQuery};
use std::time::Duration;

/// Number of threads searched for a run at once.
const MAX_CONCURRENCY: usize = 8;

/// Timeout of a server's lookup, because others wait for their turn.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the object that a source has with an id.
#[boxed]
pub async fn find(
    services: &Services,
    source: &Source,
    id: &str,
) -> Result<Option<Found>, ApiError> {
    let lookup =
        async {
            match source {
                Source::Server(server) => on_server(services, server, id).await,
                Source::Deployments(profile) => {
                    let plane = services.control_plane(profile).await?;
                    let row =
                        found_or_none(plane.deployment_row(id).await)?.filter(|row| is_of(row, id));
                    Ok(row.map(|row| {
                        Found::Deployment(row["name"].as_str().unwrap_or(id).to_string())
                    }))
                }
                Source::Revisions(profile, deployment, _) => {
                    let plane = services.control_plane(profile).await?;
                    let row = found_or_none(plane.revision_row(deployment, id).await)?
                        .filter(|row| is_of(row, id));
                    Ok(row.map(|_| Found::Revision))
                }
            }
        };
    tokio::time::timeout(LOOKUP_TIMEOUT, lookup)
        .await
        .unwrap_or_else(|_| {
            let timeout = services.refused(
                source.profile(),
                &format!("no response within {}s", LOOKUP_TIMEOUT.as_secs()),
            );
            Err(ApiError {
                kind: Kind::Timeout,
                ..timeout
            })
        })
}

async fn on_server(
    services: &Services,
    server: &ServerRef,
    id: &str,
) -> Result<Option<Found>, ApiError> {
    let client = services.agent_server(server).await?;
    let thread = client.thread_row(id).await;
    if thread.is_ok() {
        return Ok(Some(Found::Thread));
    }
    let assistant = client.assistant_row(id).await;
    if assistant.is_ok() {
        return Ok(Some(Found::Assistant));
    }
    let is_missing_route = is_missing_route_error(&thread) && is_missing_route_error(&assistant);
    found_or_none(thread)?;
    found_or_none(assistant)?;
    // A server that has only the contract's calls has neither of these, and doesn't identify itself.
    if is_missing_route && client.info().await?.kind == ServerKind::Other {
        return Ok(Some(Found::Unsupported));
    }
    find_run(&client, id).await
}

/// Searches the newest threads for a run, because no server finds a run by its id alone.
async fn find_run(client: &AgentServer, id: &str) -> Result<Option<Found>, ApiError> {
    if uuid::Uuid::try_parse(id).is_err() {
        return Ok(None);
    }
    let query = ThreadQuery {
        limit: Found::THREADS_LOOKED_AT,
        ..ThreadQuery::default()
    };
    let threads = client.threads(&query).await?;
    let lookups = threads.into_iter().map(|thread| async move {
        let run = client.run_row(&thread.thread_id, id).await;
        run.is_ok().then(|| Found::Run(thread.thread_id.clone()))
    });
    let mut found = std::pin::pin!(
        futures::stream::iter(lookups)
            .buffer_unordered(MAX_CONCURRENCY)
            .filter_map(std::future::ready)
    );
    Ok(found.next().await)
}

/// Returns whether a record has the requested id: a server or a proxy may respond with anything.
fn is_of(row: &serde_json::Value, id: &str) -> bool {
    row["id"]
        .as_str()
        .is_some_and(|found| found.eq_ignore_ascii_case(id))
}

/// Returns `None` for an error that means that nothing has this id. To an id that is not a UUID, servers respond with 422.
fn found_or_none<T>(result: Result<T, ApiError>) -> Result<Option<T>, ApiError> {
    match result {
        Ok(row) => Ok(Some(row)),
        Err(error) if error.may_lack_call() || matches!(error.kind, Kind::Invalid(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether an error doesn't mention the requested object, as the error of a missing route does.
fn is_missing_route_error<T>(result: &Result<T, ApiError>) -> bool {
    result.as_ref().is_err_and(ApiError::names_no_object)
}
