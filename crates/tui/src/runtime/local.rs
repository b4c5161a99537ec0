//! The effects on this machine: files, the configuration, the demo, other programs.

use super::first_run::{LOCAL_PORTS, find_local_server};
use super::services::Services;
use crate::boxed;
use crate::session::msg::{Effect, EffectResult};
use runtail_core::config::import::{Import, Places};
use runtail_core::config::{ConfigError, Draft, SecretRef};

/// Runs an effect and returns its result; `None` if it has none or if the loop runs it.
#[boxed]
pub async fn perform(services: &Services, effect: Effect) -> Option<EffectResult> {
    Some(match effect {
        Effect::File(number, step) => {
            EffectResult::FileStepped(number, services.files.step(number, step).await)
        }
        Effect::SaveTabs(path, number, tabs) => {
            let writer = services.tabs.clone();
            let written =
                tokio::task::spawn_blocking(move || writer.write(&path, number, &tabs)).await;
            EffectResult::TabsSaved(written.unwrap_or_else(|_| Err("the task failed".into())))
        }
        Effect::OpenLink(link) => {
            let why = super::open_link(&link).await.err()?;
            EffectResult::LinkNotOpened(link, why)
        }
        Effect::Hook(hook) => EffectResult::HookFailed(super::hooks::run(*hook).await.err()?),
        Effect::DraftFile(path, typed) => {
            let drafted = blocking(move || Draft::new(&path, typed).map(Box::new)).await;
            EffectResult::Drafted(drafted)
        }
        Effect::SaveFile(draft) => {
            EffectResult::Saved(blocking(move || draft.write().map(|()| draft)).await)
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
        _ => return None,
    })
}

/// Reads or writes the configuration file on a thread for blocking work.
///
/// # Errors
/// Those of the work, or that its thread failed.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ConfigError> + Send + 'static,
) -> Result<T, ConfigError> {
    let broken = |_| {
        Err(ConfigError::new(
            "couldn't read or write the configuration file",
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
