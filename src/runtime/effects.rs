//! Effects: what is done once and answered by one message.

use super::services::Services;
use crate::api::{ApiError, ControlPlane, LogFilter, LogFollower, LogKind, LogScope};
use crate::app::msg::{Done, Effect, Msg, RevisionRef};
use crate::model::{CardLog, Evidence, FailureCard, LogEvidence, LogLine, LogText, StatusTime, mask_secrets};
use serde_json::Value;

/// Revisions that are looked at to explain one.
const REVISIONS: usize = 50;
/// Lines of a log that explain a revision.
const LINES: usize = 200;

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
            let result = match services.control_plane(&of.profile).await {
                Ok(control_plane) => card(&control_plane, &of, &address, &times).await,
                Err(error) => Err(error),
            };
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

/// All that explains a revision, asked for at once. What cannot be had but the revision itself is left out.
async fn card(
    control_plane: &ControlPlane,
    of: &RevisionRef,
    address: &str,
    times: &[StatusTime],
) -> Result<Box<FailureCard>, ApiError> {
    let (deployment, revision) = (&*of.deployment, &*of.revision);
    let (record, this, revisions) = tokio::join!(
        control_plane.deployment_row(deployment),
        control_plane.revision_row(deployment, revision),
        control_plane.revision_rows(deployment, REVISIONS),
    );
    let this = this?;
    let which = CardLog::of(this["status"].as_str().unwrap_or_default());
    let lines = match which {
        Some(log) => Some((log, tail(control_plane, of, log).await)),
        None => None,
    };
    let read = lines.iter().flat_map(|(_, lines)| lines.iter().flatten());
    let texts: Vec<LogText<'_>> =
        read.map(|l| LogText { at: l.at, level: l.level.as_deref(), message: &l.message }).collect();
    let why = lines.as_ref().and_then(|(_, lines)| lines.as_ref().err()).map(ToString::to_string);
    let log = match (which, &why) {
        (None, _) => LogEvidence::None,
        (Some(log), None) => LogEvidence::Read(log, &texts),
        (Some(log), Some(why)) => LogEvidence::Unread(log, why),
    };
    let history = revisions.map(|r| r.items).unwrap_or_default();
    let deployment = record.unwrap_or_default();
    let evidence = Evidence { address, deployment: &deployment, revision: &this, history: &history, times, log };
    Ok(Box::new(FailureCard::new(&evidence)))
}

async fn tail(control_plane: &ControlPlane, of: &RevisionRef, log: CardLog) -> Result<Vec<LogLine>, ApiError> {
    let kind = match log {
        CardLog::Build => LogKind::Build,
        CardLog::Server => LogKind::Server,
    };
    let scope = LogScope { deployment: of.deployment.to_string(), revision: Some(of.revision.to_string()), kind };
    LogFollower::new(control_plane.clone(), scope, LogFilter::default(), LINES).poll().await
}
