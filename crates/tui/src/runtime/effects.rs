//! Runs effects and returns their results.

use super::services::Services;
use super::{browse, changes, find, resources, row_detail};
use crate::boxed;
use crate::session::msg::{Described, Effect, EffectResult, RevisionRef, ServerRef};
use runtail_api::{AgentServer, ApiError, CardOf};
use runtail_core::model::{FailureCard, StatusTime};
use serde_json::Value;
use std::sync::Arc;

/// Maximum size of a thread's state, and of its record, in bytes.
const MAX_RECORD: usize = 64 << 20;

/// Runs an effect and returns its result; `None` if it has none or if the loop runs it.
#[boxed]
pub async fn perform(services: &Services, effect: Effect) -> Option<EffectResult> {
    Some(match effect {
        Effect::FetchInfo(server) => {
            let info = on_server(services, &server, async |it| it.info().await).await;
            EffectResult::Info(server, info)
        }
        Effect::FetchAssistants(server) => {
            let listed = on_server(services, &server, async |it| it.assistants(1000, 0).await);
            EffectResult::Assistants(server.clone(), listed.await)
        }
        Effect::FetchGraphFacts(server, of) => {
            let facts = on_server(services, &server, async |it| it.graph_facts(&of).await).await;
            EffectResult::GraphFacts(server, of, facts.map(Box::new))
        }
        Effect::FetchInputs(server, of, thread) => {
            let inputs = on_server(services, &server, async |it| {
                it.past_inputs(&of, thread.as_deref()).await
            });
            let inputs = inputs.await;
            EffectResult::Inputs(server, of, inputs)
        }
        Effect::Describe(what) => {
            let result = services.noted(what.profile(), record(services, &what).await);
            EffectResult::Described(what, result)
        }
        Effect::Find(number, source, id) => {
            let result = services.noted(source.profile(), find::find(services, &source, &id).await);
            EffectResult::Found(number, source, result)
        }
        Effect::Explain(of, address, times) => {
            let result = services.noted(&of.profile, card(services, &of, &address, &times).await);
            EffectResult::Card(of, result)
        }
        Effect::ReadRow(of) => {
            let result = services.noted(of.profile(), row_detail::read(services, &of).await);
            EffectResult::RowRead(of, result)
        }
        Effect::Browse(number, profile, of) => {
            let result = browse::list(services, &profile, &of).await;
            let error = result
                .as_ref()
                .map_or_else(Some, |listing| listing.incomplete.as_ref());
            services.apply_error(&profile, error);
            EffectResult::Browsed(number, result)
        }
        Effect::ListRecords(number, server, query) => {
            let rows = resources::list(services, &server, &query).await;
            EffectResult::RecordsListed(number, query, services.noted(&server.profile, rows))
        }
        effect => return changes::perform(services, effect).await,
    })
}

/// Sends a request to an agent server.
pub(super) async fn on_server<T>(
    services: &Services,
    server: &ServerRef,
    call: impl AsyncFnOnce(AgentServer) -> Result<T, ApiError>,
) -> Result<T, ApiError> {
    let result = match services.agent_server(server).await {
        Ok(client) => call(client).await,
        Err(error) => Err(error),
    };
    services.noted(&server.profile, result)
}

/// Fetches a record. Secrets are masked, because the dashboard's state must not contain any.
async fn record(services: &Services, what: &Described) -> Result<Arc<str>, ApiError> {
    let row = match what {
        Described::Thread(server, id) => return thread(services, server, id).await,
        Described::Run(server, thread, run) => {
            return resources::run(services, server, thread, run).await;
        }
        Described::Schemas(server, assistant) => {
            return resources::schemas(services, server, assistant).await;
        }
        Described::Graph(server, assistant) => {
            return resources::graph(services, server, assistant).await;
        }
        Described::Deployment(profile, id, _) => {
            let row = services
                .control_plane(profile)
                .await?
                .deployment_row(id)
                .await?;
            services.keep_secrets(profile, row)
        }
        Described::Revision(of) => {
            let row = services
                .control_plane(&of.profile)
                .await?
                .revision_row(&of.deployment, &of.revision)
                .await?;
            services.without_secrets(&of.profile, &of.deployment, row)
        }
    };
    Ok(row.to_string().into())
}

/// Fetches a thread's state and record. The state is authoritative for values and questions. If the server has only one of
/// the two, returns that one.
async fn thread(services: &Services, server: &ServerRef, id: &str) -> Result<Arc<str>, ApiError> {
    let client = services.agent_server(server).await?;
    let (state, record) = tokio::join!(
        client.thread_state_raw(id, MAX_RECORD),
        client.thread_raw(id, MAX_RECORD)
    );
    let text = match (state, record) {
        (Ok(state), Ok(record)) => {
            format!("{{\"state\":{},\"thread\":{}}}", state.get(), record.get())
        }
        (Ok(state), Err(_)) => format!("{{\"state\":{}}}", state.get()),
        (Err(_), Ok(record)) => format!("{{\"thread\":{}}}", record.get()),
        (Err(error), Err(_)) => return Err(client.or_not_offered(error).await),
    };
    Ok(text.into())
}

/// Fetches the explanation of a revision.
pub(super) async fn card(
    services: &Services,
    of: &RevisionRef,
    address: &str,
    times: &[StatusTime],
) -> Result<Box<FailureCard>, ApiError> {
    let control_plane = services.control_plane(&of.profile).await?;
    let revision = control_plane
        .revision_row(&of.deployment, &of.revision)
        .await?;
    let options = &services.command_options;
    let of = CardOf {
        deployment: &of.deployment,
        address,
        options,
        known: &Value::Null,
        revision: &revision,
        times,
    };
    Ok(Box::new(control_plane.failure_card(of).await.0))
}
