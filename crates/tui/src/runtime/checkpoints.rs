//! Loads what the Steps view shows. A task of its own parses the pages, which repeat all values of the thread.

use super::out::Out;
use super::services::Services;
use crate::boxed;
use crate::session::checkpoints::{
    CheckpointDetails, CheckpointPage, CheckpointState, HistoryRequest,
};
use crate::session::msg::{ServerRef, SubscriptionEvent, ThreadRef};
use runtail_api::ApiError;
use runtail_core::graph::Graph;
use runtail_core::model::{Checkpoint, StateFacts};
use runtail_stream::bisect::{BisectQuery, HistoryError, bisect_history};
use std::sync::Arc;

/// Maximum size of a page, in bytes. If a page is larger, a shorter one is requested.
const MAX_PAGE: usize = 32 << 20;
/// Maximum size of the state at a checkpoint, in bytes.
const MAX_STATE: usize = 64 << 20;

/// Sends what was requested, once.
#[boxed]
pub async fn load(services: &Services, thread: &ThreadRef, request: HistoryRequest, out: &Out) {
    let event = match request {
        HistoryRequest::Page { before, limit } => {
            let page = services.noted(
                &thread.server.profile,
                page(services, thread, before.as_deref(), limit).await,
            );
            SubscriptionEvent::Checkpoints(page)
        }
        HistoryRequest::State { checkpoint } => {
            let state = services.noted(
                &thread.server.profile,
                state(services, thread, &checkpoint).await,
            );
            SubscriptionEvent::CheckpointState(state)
        }
        HistoryRequest::Details { checkpoint } => {
            let details = services.noted(
                &thread.server.profile,
                details(services, thread, &checkpoint).await,
            );
            SubscriptionEvent::CheckpointDetails(details)
        }
    };
    out.send(event).await;
}

/// Loads the graph of an assistant, and sends it.
#[boxed]
pub async fn graph(services: &Services, server: &ServerRef, assistant: &str, out: &Out) {
    let graph = services.noted(
        &server.profile,
        async {
            services
                .agent_server(server)
                .await?
                .whole_graph(assistant)
                .await
        }
        .await,
    );
    out.send(SubscriptionEvent::Graph(
        graph.map(|graph| Arc::new(Graph::read(&graph))),
    ))
    .await;
}

/// Bisects the history of a thread, and sends the result.
#[boxed]
pub async fn bisect(
    services: &Services,
    thread: &ThreadRef,
    tip: Option<&str>,
    query: &BisectQuery,
    out: &Out,
) {
    let result = match services.agent_server(&thread.server).await {
        Ok(client) => bisect_history(&client, &thread.id, query, tip).await,
        Err(error) => Err(HistoryError::Request(Box::new(error))),
    };
    if let Err(HistoryError::Request(error)) = &result {
        services.apply_error(&thread.server.profile, Some(error.as_ref()));
    }
    out.send(SubscriptionEvent::Bisected(result.map(Arc::new)))
        .await;
}

async fn page(
    services: &Services,
    thread: &ThreadRef,
    before: Option<&str>,
    limit: usize,
) -> Result<CheckpointPage, ApiError> {
    let client = services.agent_server(&thread.server).await?;
    let mut pages = client.history_pages(&thread.id, before, (limit, limit), MAX_PAGE);
    let rows = pages.next().await?.unwrap_or_default();
    let rows: Vec<&str> = rows.iter().map(|row| row.get()).collect();
    Ok(CheckpointPage {
        checkpoints: Checkpoint::read_rows(&rows),
        is_last: pages.is_whole(),
    })
}

async fn state(
    services: &Services,
    thread: &ThreadRef,
    checkpoint: &str,
) -> Result<Option<Arc<CheckpointState>>, ApiError> {
    let client = services.agent_server(&thread.server).await?;
    let text: Box<str> = client
        .checkpoint_state_raw(&thread.id, checkpoint, MAX_STATE)
        .await?
        .into();
    Ok(CheckpointState::read(text.into()).map(Arc::new))
}

async fn details(
    services: &Services,
    thread: &ThreadRef,
    checkpoint: &str,
) -> Result<Option<CheckpointDetails>, ApiError> {
    let client = services.agent_server(&thread.server).await?;
    let nested = client
        .nested_state(&thread.id, checkpoint, MAX_STATE)
        .await?;
    let is_saved = StateFacts::read(nested.state.get()).is_ok_and(|state| state.is_saved());
    let text: Box<str> = nested.state.into();
    Ok(is_saved.then(|| CheckpointDetails::new(text.into(), nested.missing)))
}
