//! Loads the sides of a comparison. A side that is running is loaded again until it ends.

use super::out::Out;
use super::services::Services;
use crate::boxed;
use crate::session::compare::{ConfigurationRef, SideContents, SideLoaded, SideRef};
use crate::session::msg::SubscriptionEvent;
use jiff::Timestamp;
use runtail_api::ApiError;
use runtail_core::model::Configuration;
use runtail_stream::comparison::{FileContents, load_side, open_file};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Pause between two loads of a side that is running.
const RELOAD: Duration = Duration::from_secs(3);
/// The same of a revision that is being built or rolled out.
const RELOAD_REVISION: Duration = Duration::from_secs(10);
/// Longest pause after errors.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Sends the side; if it is running, again after each change.
#[boxed]
pub async fn load(services: &Services, of: &SideRef, out: &Out) {
    let mut pause = RELOAD;
    let mut known = false;
    loop {
        let loaded = side(services, of).await;
        let (is_running, usual) = match &loaded {
            Ok(SideContents::Steps(contents)) => (
                matches!(&**contents, FileContents::Side(side) if side.is_running),
                RELOAD,
            ),
            Ok(SideContents::Configuration(loaded)) => (loaded.is_moving(), RELOAD_REVISION),
            Err(_) => (false, RELOAD),
        };
        // While it is running, an error may be temporary, and the last steps stay visible.
        let is_temporary = known && loaded.is_err();
        pause = if is_temporary {
            (pause * 2).min(MAX_PAUSE)
        } else {
            usual
        };
        if !is_temporary && !out.send(SubscriptionEvent::Side(loaded)).await {
            return;
        }
        known |= is_running;
        if !is_running && !is_temporary {
            return;
        }
        tokio::time::sleep(pause).await;
    }
}

async fn side(services: &Services, of: &SideRef) -> SideLoaded {
    match of {
        SideRef::Thread(thread, run) => {
            let result = async {
                let client = services.agent_server(&thread.server).await?;
                load_side(&client, &SideRef::request(thread, run.as_deref())).await
            };
            let result = services.noted(&thread.server.profile, result.await);
            let steps = |side| SideContents::Steps(Arc::new(FileContents::Side(Box::new(side))));
            result.map(steps).map_err(|error| error.story())
        }
        SideRef::Configuration(of) => {
            let result = services.noted(&of.profile, configuration(services, of).await);
            result
                .map(|loaded| SideContents::Configuration(Arc::new(loaded)))
                .map_err(|error| error.story())
        }
        SideRef::File(path) => {
            let owned = path.clone();
            let read = tokio::task::spawn_blocking(move || open_file(&owned)).await;
            let read = read.unwrap_or_else(|error| Err(std::io::Error::other(error)));
            let steps = |contents| SideContents::Steps(Arc::new(contents));
            read.map(steps)
                .map_err(|error| format!("couldn't read the file: {error}"))
        }
    }
}

/// Loads the records of a deployment and of its revision, without values of secrets.
async fn configuration(
    services: &Services,
    of: &ConfigurationRef,
) -> Result<Configuration, ApiError> {
    let plane = services.control_plane(&of.profile).await?;
    let deployment = plane.deployment_row(&of.deployment).await?;
    let newest = deployment["latest_revision_id"]
        .as_str()
        .map(str::to_string);
    let revision = match of.revision.as_deref().map(str::to_string).or(newest) {
        Some(id) => plane.revision_row(&of.deployment, &id).await?,
        None => Value::Null,
    };
    let deployment = services.keep_secrets(&of.profile, deployment);
    let revision = services.without_secrets(&of.profile, &of.deployment, revision);
    let now = Timestamp::now();
    Ok(Configuration::of(
        &deployment,
        &revision,
        now.checked_add(plane.skew()).unwrap_or(now),
    ))
}
