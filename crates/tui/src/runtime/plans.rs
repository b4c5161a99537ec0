//! The planned changes. They may contain secrets, so they are kept here and not in the dashboard's state, which only has their
//! numbers and previews.

use super::services::Services;
use crate::session::compare::SideRef;
use crate::session::msg::{Applied, ResultPage, RevisionRef, ThreadRef};
use crate::session::proposal::{Proposal, TwoServerIntent};
use crate::session::thread::explained;
use runtail_api::{Acted, ApiError, Choice, Plan, PlanError, StartError, StartFailure};
use runtail_core::model::{Intent, PlainRequest, Preview};
use runtail_core::text::{self, short_id};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum bytes of a request's body in the preview of a copy. Longer ones would make the dialog slow.
const MAX_SHOWN: usize = 256 << 10;

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
        Proposal::TwoServers(from, to, intent) => {
            let source = services.agent_server(&from.server).await?;
            let target = services.agent_server(to).await?;
            match intent {
                TwoServerIntent::Reproduce(intent) => {
                    source.plan_reproduction(&target, intent).await?
                }
                TwoServerIntent::RunOnBoth(run) => {
                    let run = run.as_deref();
                    source.plan_on_both(&target, &from.id, run).await?
                }
            }
        }
    };
    let mut preview = Box::new(plan.preview.clone());
    if let Proposal::TwoServers(..) = proposal {
        std::iter::once(&mut preview.request)
            .chain(&mut preview.then)
            .for_each(shorten);
    }
    let choice = plan.choice.clone();
    services.plans.all().insert(number, (plan, proposal));
    Ok((preview, choice))
}

/// Replaces a large body with its size.
fn shorten(request: &mut PlainRequest) {
    let size = request
        .body
        .as_ref()
        .map_or(0, |body| body.to_string().len());
    if size > MAX_SHOWN {
        let size = text::bytes(size as u64);
        request.body = Some(
            format!("{size}, too long to show here; runtail reproduce or compare --run with --dry-run prints it")
                .into(),
        );
    }
}

/// Reads the target of a planned change again; nothing if the plan was sent or cancelled meanwhile.
pub async fn check(
    services: &Services,
    number: u64,
) -> Option<Result<Option<Vec<String>>, ApiError>> {
    let plan = services.plans.all().get(&number)?.0.clone();
    Some(plan.check().await)
}

/// Applies a planned action on a thread.
pub async fn act(services: &Services, number: u64, profile: &str) -> Result<Acted, StartError> {
    match taken(services, number, profile) {
        Ok((plan, _)) => plan.apply().await,
        Err(error) => Err(StartError {
            failure: StartFailure::Unchecked,
            error,
        }),
    }
}

fn taken(services: &Services, number: u64, profile: &str) -> Result<(Plan, Proposal), ApiError> {
    let gone = || services.refused(profile, "already sent or cancelled; nothing was sent");
    services.plans.take(number).ok_or_else(gone)
}

/// Applies another planned change.
pub async fn send(services: &Services, number: u64, profile: &str) -> Result<Applied, ApiError> {
    let (plan, proposal) = taken(services, number, profile)?;
    let acted = plan.apply().await.map_err(|failed| match proposal {
        Proposal::TwoServers(..) => explained(failed),
        _ => failed.into(),
    })?;
    let title = &plan.preview.title;
    let sentence = |text: Option<String>, but: &str| {
        text.map(|text| format!(" {but}{text}."))
            .unwrap_or_default()
    };
    match (proposal, acted) {
        (Proposal::TwoServers(_, to, _), Acted::Copied(made)) => {
            let complaint = sentence(made.complaint(), "But ");
            let copy = ThreadRef {
                server: to,
                id: made.thread,
            };
            Ok(Applied {
                said: format!("{title}: done.{complaint}"),
                page: Some(ResultPage::Thread(copy)),
                ..Applied::default()
            })
        }
        (Proposal::TwoServers(from, to, _), Acted::Both(results)) => {
            let servers = [from.server, to].into_iter();
            let threads = servers
                .zip(plan.targets())
                .map(|(server, target)| ThreadRef {
                    server,
                    id: target.id.clone(),
                });
            let page = both(threads.zip(*results).collect())?;
            Ok(Applied {
                said: format!("{title}: started."),
                page: Some(page),
                ..Applied::default()
            })
        }
        (proposal, acted) => {
            let made = acted.applied();
            let service = match &proposal {
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
                page: None,
            })
        }
    }
}

/// Returns the comparison of the runs on both servers.
///
/// # Errors
/// At least one was not started. The error of the first one that failed also reports the result of the other.
fn both(mut runs: Vec<(ThreadRef, Result<Acted, StartError>)>) -> Result<ResultPage, ApiError> {
    let run_of = |acted: &Acted| match acted {
        Acted::Started(started) => started.run_id.clone(),
        _ => String::new(),
    };
    let Some(at) = runs.iter().position(|(_, result)| result.is_err()) else {
        let side = |(thread, result): (ThreadRef, Result<Acted, StartError>)| {
            SideRef::Thread(thread, result.ok().as_ref().map(run_of))
        };
        return Ok(ResultPage::Comparison(runs.into_iter().map(side).collect()));
    };
    let (_, failed) = runs.remove(at);
    let error = match failed {
        Err(failed) => explained(failed),
        Ok(_) => return Ok(ResultPage::Comparison(Vec::new())),
    };
    let mut hints: Vec<String> = error.hint.clone().into_iter().collect();
    for (thread, other) in runs {
        let (place, id) = (text::clean(&thread.server.name), short_id(&thread.id));
        hints.push(match other {
            Ok(acted) => format!(
                "the other run was started: {} on thread {id} of {place}",
                short_id(&run_of(&acted))
            ),
            Err(other) => format!("{place}: {}", explained(other).cause()),
        });
    }
    Err(ApiError {
        hint: Some(hints.join("; ")),
        ..error
    })
}
