//! Looks an id up on one server.

use super::services::Services;
use crate::session::msg::ServerRef;
use crate::session::msg::{Found, Source};
use futures::StreamExt;
use runtail_api::{AgentServer, ApiError, Kind, ServerKind, ThreadQuery};
use std::time::Duration;

/// Threads that are asked for a run at once.
const AT_ONCE: usize = 8;

/// How long a server may take: others wait for their turn meanwhile.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns what a source has by an id.
pub async fn find(services: &Services, source: &Source, id: &str) -> Result<Option<Found>, ApiError> {
    let asked = async {
        match source {
            Source::Server(server) => on_server(services, server, id).await,
            Source::Deployments(profile) => {
                let plane = services.control_plane(profile).await?;
                let row = known(plane.deployment_row(id).await)?.filter(|row| is_of(row, id));
                Ok(row.map(|row| Found::Deployment(row["name"].as_str().unwrap_or(id).to_string())))
            }
            Source::Revisions(profile, deployment, _) => {
                let plane = services.control_plane(profile).await?;
                let row = known(plane.revision_row(deployment, id).await)?.filter(|row| is_of(row, id));
                Ok(row.map(|_| Found::Revision))
            }
        }
    };
    tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| {
        let late = services.refused(source.profile(), &format!("no answer within {} s", PATIENCE.as_secs()));
        Err(ApiError { kind: Kind::Timeout, ..late })
    })
}

async fn on_server(services: &Services, server: &ServerRef, id: &str) -> Result<Option<Found>, ApiError> {
    let client = services.agent_server(server).await?;
    let thread = client.thread_row(id).await;
    if thread.is_ok() {
        return Ok(Some(Found::Thread));
    }
    let assistant = client.assistant_row(id).await;
    if assistant.is_ok() {
        return Ok(Some(Found::Assistant));
    }
    let is_missing_route = is_bare(&thread) && is_bare(&assistant);
    known(thread)?;
    known(assistant)?;
    // By the contract neither call is there. A server that says nothing of itself may be such a one.
    if is_missing_route && client.info().await?.kind == ServerKind::Other {
        return Ok(Some(Found::Unsupported));
    }
    run_on(&client, id).await
}

/// Looks for a run, which no server finds by its id alone: it is asked for on the newest threads.
async fn run_on(client: &AgentServer, id: &str) -> Result<Option<Found>, ApiError> {
    if uuid::Uuid::try_parse(id).is_err() {
        return Ok(None);
    }
    let query = ThreadQuery { limit: Found::THREADS_LOOKED_AT, ..ThreadQuery::default() };
    let threads = client.threads(&query).await?;
    let looks = threads.into_iter().map(|thread| async move {
        let run = client.run_row(&thread.thread_id, id).await;
        run.is_ok().then(|| Found::Run(thread.thread_id.clone()))
    });
    let mut found =
        std::pin::pin!(futures::stream::iter(looks).buffer_unordered(AT_ONCE).filter_map(std::future::ready));
    Ok(found.next().await)
}

/// Whether a record is the one that was asked for: a server or a proxy may answer with anything.
fn is_of(row: &serde_json::Value, id: &str) -> bool {
    row["id"].as_str().is_some_and(|found| found.eq_ignore_ascii_case(id))
}

/// Turns an answer that means that the server has nothing of that id into none. One that is no UUID is answered with 422.
fn known<T>(result: Result<T, ApiError>) -> Result<Option<T>, ApiError> {
    match result {
        Ok(row) => Ok(Some(row)),
        Err(error) if error.may_lack_call() || matches!(error.kind, Kind::Invalid(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a refusal says nothing of what was asked for, as those of missing routes do.
fn is_bare<T>(result: &Result<T, ApiError>) -> bool {
    let Err(error) = result else { return false };
    let words = ["not found", "404 not found", "method not allowed", "405 method not allowed", "it was not found"];
    error.may_lack_call() && words.contains(&error.detail.to_lowercase().as_str())
}
