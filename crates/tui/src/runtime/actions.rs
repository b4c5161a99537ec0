//! Actions on threads.

use super::services::Services;
use crate::boxed;
use crate::session::msg::ThreadRef;
use runtail_api::{Acted, CancelTarget, RunStart, StartError, StartFailure};
use std::time::Duration;

/// How long to wait for cancelled runs to stop.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(60);

/// Starts a run in the background.
#[boxed]
pub async fn start(
    services: &Services,
    thread: &ThreadRef,
    start: &RunStart,
) -> Result<Acted, StartError> {
    let client = services.agent_server(&thread.server).await;
    let client = client.map_err(|error| StartError {
        failure: StartFailure::Unchecked,
        error,
    })?;
    client.start_on_thread(start).await.map(Acted::Started)
}

/// Polls runs that are being cancelled until they have stopped, or until the timeout.
#[boxed]
pub async fn follow_cancel(
    services: &Services,
    thread: &ThreadRef,
    mut targets: Vec<CancelTarget>,
) -> Vec<CancelTarget> {
    match services.agent_server(&thread.server).await {
        Ok(client) => {
            client
                .wait_until_stopped(&thread.id, &mut targets, CANCEL_TIMEOUT)
                .await
        }
        Err(error) => targets
            .iter_mut()
            .for_each(|target| target.error = Some(error.clone())),
    }
    targets
}
