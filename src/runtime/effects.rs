//! Effects: what is done once and answered by one message.

use super::services::Services;
use crate::api::{ApiError, CardOf};
use crate::app::msg::{Done, Effect, Msg, RevisionRef};
use crate::model::{FailureCard, StatusTime, mask_secrets};
use serde_json::Value;

/// Does an effect and gives its answer; none for those that the loop does itself.
pub async fn perform(services: &Services, effect: Effect) -> Option<Msg> {
    let done = match effect {
        Effect::FetchInfo(server) => {
            let result = match services.agent_server(&server).await {
                Ok(client) => client.info().await,
                Err(error) => Err(error),
            };
            Done::Info(server, result)
        }
        Effect::FetchAssistants(server) => {
            let result = match services.agent_server(&server).await {
                Ok(client) => client.assistants(1000, 0).await,
                Err(error) => Err(error),
            };
            Done::Assistants(server, result)
        }
        Effect::FetchThread(server, thread) => {
            let result = match services.agent_server(&server).await {
                Ok(client) => client.thread(&thread).await,
                Err(error) => Err(error),
            };
            Done::Thread(result)
        }
        Effect::FetchDeployment(profile, id, title) => {
            let result = match services.control_plane(&profile).await {
                Ok(control_plane) => control_plane.deployment_row(&id).await,
                Err(error) => Err(error),
            };
            Done::Record(title, result.map(masked))
        }
        Effect::FetchRevision(of) => {
            let result = match services.control_plane(&of.profile).await {
                Ok(control_plane) => control_plane.revision_row(&of.deployment, &of.revision).await,
                Err(error) => Err(error),
            };
            Done::Record(format!("revision {}", crate::text::short_id(&of.revision)), result.map(masked))
        }
        Effect::Explain(of, address, times) => {
            let result = card(services, &of, &address, &times).await;
            Done::Card(of, result)
        }
        Effect::Alert(..) | Effect::Copy(_) | Effect::Suspend | Effect::Redraw => return None,
    };
    Some(Msg::Done(done))
}

/// A record without its secrets: the state of the dashboard holds none.
fn masked(mut record: Value) -> Value {
    mask_secrets(&mut record);
    record
}

/// The card of a revision as it is now.
async fn card(
    services: &Services,
    of: &RevisionRef,
    address: &str,
    times: &[StatusTime],
) -> Result<Box<FailureCard>, ApiError> {
    let control_plane = services.control_plane(&of.profile).await?;
    let revision = control_plane.revision_row(&of.deployment, &of.revision).await?;
    let options = &services.command_options;
    let of = CardOf { deployment: &of.deployment, address, options, known: &Value::Null, revision: &revision, times };
    Ok(Box::new(control_plane.failure_card(of).await.0))
}
