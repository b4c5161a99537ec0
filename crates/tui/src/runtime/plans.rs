//! The planned changes. They may contain secrets, so they are kept here and not in the dashboard's state, which only has their
//! numbers and previews.

use super::services::Services;
use crate::boxed;
use crate::session::msg::{Applied, RevisionRef, ThreadRef};
use crate::session::proposal::{Proposal, Sent};
use runtail_api::{ApiError, Choice, Plan, PlanError, StartError, StartFailure};
use runtail_core::model::{Intent, Preview};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The planned changes, by number, and what they were planned for.
#[derive(Default)]
pub struct Plans(Mutex<HashMap<u64, (Plan, Proposal)>>);

impl Plans {
    fn all(&self) -> MutexGuard<'_, HashMap<u64, (Plan, Proposal)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a planned change, so that it is sent at most once.
    pub fn take(&self, number: u64) -> Option<(Plan, Proposal)> {
        self.all().remove(&number)
    }
}

/// Plans a change and returns its preview.
#[boxed]
pub async fn plan(
    services: &Services,
    number: u64,
    profile: &str,
    proposal: Proposal,
) -> Result<(Box<Preview>, Option<Choice>), PlanError> {
    let plan = match &proposal {
        Proposal::Service(intent) => services.control_plane(profile).await?.plan(intent).await?,
        Proposal::Thread(server, intent) => {
            let client = services.agent_server(server).await?;
            client.plan_on_thread(intent).await?
        }
        Proposal::Resource(server, intent) => {
            let client = services.agent_server(server).await?;
            client.plan_resource(intent).await?
        }
    };
    let preview = Box::new(plan.preview.clone());
    let choice = plan.choice.clone();
    services.plans.all().insert(number, (plan, proposal));
    Ok((preview, choice))
}

/// Reads the target of a planned change again; nothing if the plan was sent or cancelled meanwhile.
#[boxed]
pub async fn check(
    services: &Services,
    number: u64,
) -> Option<Result<Option<Vec<String>>, ApiError>> {
    let plan = services.plans.all().get(&number)?.0.clone();
    Some(plan.check().await)
}

/// Sends a planned change, once. `thread`: the thread that it is an action on.
#[boxed]
pub async fn send(
    services: &Services,
    number: u64,
    profile: &str,
    thread: Option<ThreadRef>,
) -> Sent {
    let gone = || services.refused(profile, "already sent or cancelled; nothing was sent");
    let taken = services.plans.take(number).ok_or_else(gone);
    match (taken, thread) {
        (Ok((plan, _)), Some(thread)) => Sent::Thread(thread, plan.apply().await),
        (Ok((plan, proposal)), None) => Sent::Record(apply(&plan, &proposal, profile).await),
        (Err(error), Some(thread)) => {
            let failure = StartFailure::Unchecked;
            Sent::Thread(thread, Err(StartError { failure, error }))
        }
        (Err(error), None) => Sent::Record(Err(error)),
    }
}

/// Applies a plan, and says what it did.
async fn apply(plan: &Plan, proposal: &Proposal, profile: &str) -> Result<Applied, ApiError> {
    let made = plan.apply().await?.applied();
    let title = &plan.preview.title;
    let sentence = |text: Option<String>, but: &str| {
        text.map(|text| format!(" {but}{text}."))
            .unwrap_or_default()
    };
    let service = match proposal {
        Proposal::Service(intent) => Some(intent),
        _ => None,
    };
    let created = || made.record["id"].as_str();
    let deployment = service.and_then(|intent| intent.deployment().or_else(created));
    let revision = made.revision.as_deref().zip(deployment);
    let revision = revision.map(|(revision, deployment)| RevisionRef {
        profile: profile.into(),
        deployment: deployment.into(),
        revision: revision.into(),
    });
    let is_deletion = matches!(service, Some(Intent::DeleteDeployment { .. }));
    let target = plan.preview.target.as_ref().filter(|_| is_deletion);
    let deleting = target.map(|target| {
        let id = target.id.as_str().into();
        (profile.into(), id, target.name.clone())
    });
    let (outcome, follow) = match (&deleting, &revision) {
        (Some(_), _) => ("started", " You'll be notified when it is deleted."),
        (None, Some(_)) => ("started", ""),
        (None, None) => ("done", ""),
    };
    let (complaint, doubt) = (sentence(made.complaint, "But "), sentence(made.doubt, ""));
    Ok(Applied {
        said: format!("{title}: {outcome}.{complaint}{doubt}{follow}"),
        revision,
        deleting,
    })
}
