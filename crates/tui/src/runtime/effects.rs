//! Runs effects and returns their results.

use super::actions;
use super::browse;
use super::changes;
use super::composing;
use super::find;
use super::first_run::{LOCAL_PORTS, find_local_server};
use super::plans;
use super::services::Services;
use super::{resources, row_detail};
use crate::boxed;
use crate::session::msg::{Described, Effect, EffectResult, RevisionRef, Sent, ServerRef};
use runtail_api::{ApiError, CardOf, PlanError};
use runtail_core::config::import::{Import, Places};
use runtail_core::config::{ConfigError, Draft, SecretRef};
use runtail_core::model::{FailureCard, StatusTime};
use serde_json::Value;
use std::sync::Arc;

/// Maximum size of a thread's state, and of its record, in bytes.
const MAX_RECORD: usize = 64 << 20;

/// Runs an effect and returns its result; `None` if it has none or if the loop runs it.
#[boxed]
pub async fn perform(services: &Services, effect: Effect) -> Option<EffectResult> {
    let done = match effect {
        Effect::FetchInfo(server) => {
            let result = services.noted(
                &server.profile,
                async { services.agent_server(&server).await?.info().await }.await,
            );
            EffectResult::Info(server, result)
        }
        Effect::FetchAssistants(server) => {
            let result = services.noted(
                &server.profile,
                async {
                    services
                        .agent_server(&server)
                        .await?
                        .assistants(1000, 0)
                        .await
                }
                .await,
            );
            EffectResult::Assistants(server, result)
        }
        Effect::FetchGraphFacts(server, assistant) => {
            composing::facts(services, server, assistant).await
        }
        Effect::FetchInputs(server, assistant, thread) => {
            composing::inputs(services, server, assistant, thread).await
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
        Effect::Write(profile, id, name) => {
            let document =
                services.noted(&profile, changes::document(services, &profile, &id).await);
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
        Effect::LoadThread(number, thread) => {
            let loaded = services.noted(
                &thread.server.profile,
                actions::load(services, &thread, false).await,
            );
            EffectResult::ThreadLoaded(number, loaded)
        }
        Effect::LoadWaitingThread(number, thread) => {
            let loaded = services.noted(
                &thread.server.profile,
                actions::load(services, &thread, true).await,
            );
            EffectResult::ThreadLoaded(number, loaded)
        }
        Effect::Forget(number) => {
            drop(services.plans.take(number));
            return None;
        }
        Effect::ReadJournal => EffectResult::Journal(services.journal.entries()),
        Effect::Browse(number, profile, of) => {
            let result = browse::list(services, &profile, &of).await;
            let error = result
                .as_ref()
                .map_or_else(Some, |listing| listing.incomplete.as_ref());
            services.apply_error(&profile, error);
            EffectResult::Browsed(number, result)
        }
        Effect::ListRecords(number, server, query) => {
            let result = services.noted(
                &server.profile,
                resources::list(services, &server, &query).await,
            );
            EffectResult::RecordsListed(number, query, result)
        }
        Effect::Authenticate(number, profile, request) => {
            let result = services.noted(
                &profile,
                browse::authenticate(services, &profile, &request).await,
            );
            EffectResult::Authenticated(number, result)
        }
        Effect::File(number, step) => {
            EffectResult::FileStepped(number, services.files.step(number, step).await)
        }
        Effect::OpenLink(link) => {
            let why = super::open_link(&link).await.err()?;
            EffectResult::LinkNotOpened(link, why)
        }
        Effect::Hook(hook) => EffectResult::HookFailed(super::hooks::run(*hook).await.err()?),
        Effect::EditOutside(_)
        | Effect::EditFile(..)
        | Effect::Alert(..)
        | Effect::Copy(_)
        | Effect::Suspend
        | Effect::Redraw => return None,
        Effect::DraftFile(path, typed) => {
            let drafted = blocking(move || Draft::new(&path, typed).map(Box::new)).await;
            EffectResult::Drafted(drafted)
        }
        Effect::SaveFile(draft) => {
            EffectResult::Saved(blocking(move || draft.write().map(|()| draft)).await)
        }
        Effect::SaveTabs(path, number, tabs) => {
            let writer = services.tabs.clone();
            let written =
                tokio::task::spawn_blocking(move || writer.write(&path, number, &tabs)).await;
            EffectResult::TabsSaved(written.unwrap_or_else(|_| Err("the task failed".into())))
        }
        Effect::Try(number, profile) => EffectResult::Tried(number, services.reach(&profile).await),
        Effect::FindLocalServer => {
            EffectResult::LocalServer(find_local_server(&LOCAL_PORTS, services.connections()).await)
        }
        Effect::FindImports => {
            let read = || Box::new(Import::read(&Places::usual()));
            EffectResult::ImportsFound(tokio::task::spawn_blocking(read).await.ok()?)
        }
        Effect::DraftImport(file) => {
            let draft = move || {
                Import::draft(&Places::usual(), &file, &[])
                    .map(|(found, draft)| (Box::new(found), draft))
            };
            EffectResult::ImportDrafted(blocking(draft).await)
        }
        Effect::CheckSecrets(references) => EffectResult::SecretsChecked(
            tokio::task::spawn_blocking(|| check_secrets(references))
                .await
                .ok()?,
        ),
        Effect::StartDemo => EffectResult::DemoStarted(services.demo.start().await),
        Effect::UseProfiles(..) | Effect::Configure(_) | Effect::UseDemo(_) => return None,
    };
    Some(done)
}

/// Reads or writes the configuration file on a thread for blocking work.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ConfigError> + Send + 'static,
) -> Result<T, ConfigError> {
    let broken = |_| {
        Err(ConfigError::new(
            "the configuration file could not be read or written",
        ))
    };
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(broken)
}

/// Returns why each reference to a secret can't be read.
fn check_secrets(references: Vec<String>) -> Vec<(String, Option<String>)> {
    let why = |reference: &str| match SecretRef::parse(reference, None)
        .map(|reference| (reference.resolve(), reference))
    {
        None => Some("not a reference; write env:VARIABLE or file:PATH".to_string()),
        Some((Ok(_), _)) => None,
        Some((Err(_), SecretRef::Env(_))) => Some("not set in this shell".into()),
        Some((Err(error), _)) => Some(error.to_string()),
    };
    references
        .into_iter()
        .map(|reference| (reference.clone(), why(&reference)))
        .collect()
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
