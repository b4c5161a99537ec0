//! Lists of other resources, and authentications.

use super::out::Out;
use super::services::Services;
use crate::boxed;
use crate::session::msg::SubscriptionEvent;
use runtail_api::{ApiError, AuthWaited, Listing};
use runtail_core::model::{AuthAnswer, AuthAuthenticateRequest, Collection, mask_record};
use serde_json::Value;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long to wait for an authentication before the user is asked whether to continue.
const AUTH_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Fetches a list. Secrets are masked, because the dashboard's state must not contain any.
#[boxed]
pub async fn list(
    services: &Services,
    profile: &str,
    of: &Collection,
) -> Result<Listing<Value>, ApiError> {
    let mut listing = services
        .control_plane(profile)
        .await?
        .collection(of)
        .await?;
    listing.items.iter_mut().for_each(mask_record);
    Ok(listing)
}

/// Starts an authentication.
#[boxed]
pub async fn authenticate(
    services: &Services,
    profile: &str,
    request: &AuthAuthenticateRequest,
) -> Result<AuthAnswer, ApiError> {
    services
        .control_plane(profile)
        .await?
        .authenticate(request)
        .await
}

/// Waits for an authentication, and reports errors meanwhile.
#[boxed]
pub async fn wait(services: &Services, profile: &str, auth_id: &str, out: &Out) {
    let (error_sender, mut errors) = mpsc::unbounded_channel();
    let waiting = async move {
        let control_plane = services.control_plane(profile).await?;
        control_plane
            .wait_for_auth(auth_id, AUTH_TIMEOUT, |error| {
                drop(error_sender.send(error.clone()))
            })
            .await
    };
    let reporting = async {
        while let Some(error) = errors.recv().await {
            out.send(SubscriptionEvent::WaitTrouble(error)).await;
        }
    };
    let (result, ()): (Result<AuthWaited, ApiError>, ()) = tokio::join!(waiting, reporting);
    services.apply_error(profile, result.as_ref().err());
    out.send(SubscriptionEvent::Waited(result)).await;
}
