//! The lists beside the deployments, and authentications: asked for once, waited for while the screen does.

use super::services::Services;
use super::subs::Out;
use crate::session::msg::SubscriptionEvent;
use runtail_api::{ApiError, AuthWaited, Listing};
use runtail_core::model::{AuthAnswer, AuthAuthenticateRequest, Collection, mask_record};
use serde_json::Value;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long an authentication is waited for before the person is asked whether to wait on.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// A list, without secrets: the state of the dashboard holds none.
pub async fn list(services: &Services, profile: &str, of: &Collection) -> Result<Listing<Value>, ApiError> {
    let mut listing = services.control_plane(profile).await?.collection(of).await?;
    listing.items.iter_mut().for_each(mask_record);
    Ok(listing)
}

/// Begins an authentication.
pub async fn authenticate(
    services: &Services,
    profile: &str,
    request: &AuthAuthenticateRequest,
) -> Result<AuthAnswer, ApiError> {
    services.control_plane(profile).await?.authenticate(request).await
}

/// Waits for an authentication, and tells what goes wrong meanwhile.
pub async fn wait(services: &Services, profile: &str, auth_id: &str, out: &Out) {
    let (trouble, mut troubles) = mpsc::unbounded_channel();
    let waiting = async move {
        let control_plane = services.control_plane(profile).await?;
        control_plane.wait_for_auth(auth_id, PATIENCE, |error| drop(trouble.send(error.clone()))).await
    };
    let telling = async {
        while let Some(error) = troubles.recv().await {
            out.send(SubscriptionEvent::WaitTrouble(error)).await;
        }
    };
    let (result, ()): (Result<AuthWaited, ApiError>, ()) = tokio::join!(waiting, telling);
    services.heed(profile, result.as_ref().err());
    out.send(SubscriptionEvent::Waited(result)).await;
}
