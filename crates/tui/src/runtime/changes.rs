//! The effects that prepare, send and follow a change.

use super::effects::on_server;
use super::services::Services;
use super::{actions, browse, local, plans};
use crate::boxed;
use crate::session::effect::DeploymentDocument;
use crate::session::msg::{Effect, EffectResult, Sent};
use runtail_api::{AgentServer, ApiError, PlanError};
use runtail_core::model::{DeploymentSpec, SpecForm};

/// Runs an effect and returns its result; `None` if it has none or if the loop runs it.
#[boxed]
pub async fn perform(services: &Services, effect: Effect) -> Option<EffectResult> {
    Some(match effect {
        Effect::Write(profile, id, name) => {
            let document = services.noted(&profile, document(services, &profile, &id).await);
            EffectResult::Written(profile, id, name, document)
        }
        Effect::Plan(number, profile, proposal) => {
            let planned = plans::plan(services, number, &profile, *proposal).await;
            let error = planned.as_ref().err().and_then(PlanError::request);
            services.apply_error(&profile, error);
            EffectResult::Planned(number, planned)
        }
        Effect::Send(number, profile, thread) => {
            let sent = plans::send(services, number, &profile, thread).await;
            services.apply_error(&profile, sent.error());
            EffectResult::Sent(number, sent)
        }
        Effect::CheckTarget(number, profile) => {
            let checked = plans::check(services, number).await?;
            services.apply_error(&profile, checked.as_ref().err());
            EffectResult::TargetChecked(number, checked)
        }
        Effect::Forget(number) => {
            drop(services.plans.take(number));
            return None;
        }
        Effect::StartRun(number, thread, start) => {
            let profile = thread.server.profile.clone();
            let acted = actions::start(services, &thread, &start).await;
            let sent = Sent::Thread(thread, acted);
            services.apply_error(&profile, sent.error());
            EffectResult::Sent(number, sent)
        }
        Effect::FollowCancel(thread, targets) => {
            let targets = actions::follow_cancel(services, &thread, targets).await;
            EffectResult::CancelFollowed(thread, targets)
        }
        Effect::LoadThread(number, of) => {
            let load = async |it: AgentServer| it.load_thread(&of.id).await;
            let loaded = on_server(services, &of.server, load).await;
            EffectResult::ThreadLoaded(number, loaded.map(Box::new))
        }
        Effect::LoadWaitingThread(number, of) => {
            let load = async |it: AgentServer| it.load_waiting_thread(&of.id).await;
            let loaded = on_server(services, &of.server, load).await;
            EffectResult::ThreadLoaded(number, loaded.map(Box::new))
        }
        Effect::Authenticate(number, profile, request) => {
            let answer = browse::authenticate(services, &profile, &request).await;
            EffectResult::Authenticated(number, services.noted(&profile, answer))
        }
        Effect::ReadJournal => EffectResult::Journal(services.journal.entries()),
        effect => return local::perform(services, effect).await,
    })
}

/// Returns a deployment's current settings as a document to edit.
#[boxed]
async fn document(
    services: &Services,
    profile: &str,
    id: &str,
) -> Result<DeploymentDocument, ApiError> {
    let row = services
        .control_plane(profile)
        .await?
        .deployment_row(id)
        .await?;
    Ok(DeploymentDocument {
        text: DeploymentSpec::template_of(&row),
        current: SpecForm::of_record(&row),
    })
}
