//! The planned changes. They may contain secrets, so they are kept here and not in the dashboard's state, which only has their
//! numbers and previews.

use super::services::Services;
use super::two_servers::OnTwoServers;
use super::{changes, resources, two_servers};
use crate::session::msg::Applied;
use runtail_api::{AgentServer, ApiError, ControlPlane, ResourcePlan, ThreadPlan};
use runtail_core::model::Plan;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A planned change with the clients that planned it: it is sent to the server that was read for its preview, even if the
/// profile points to another server by then.
pub enum Planned {
    Deployment(ControlPlane, Box<Plan>),
    Thread(AgentServer, Box<ThreadPlan>),
    Resource(AgentServer, Box<ResourcePlan>),
    TwoServers(Box<OnTwoServers>),
}

/// The planned changes, by number.
#[derive(Default)]
pub struct Plans(Mutex<HashMap<u64, Planned>>);

impl Plans {
    /// Returns all planned changes.
    pub fn all(&self) -> MutexGuard<'_, HashMap<u64, Planned>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a planned change until it is sent or cancelled.
    pub fn keep(&self, number: u64, planned: Planned) {
        self.all().insert(number, planned);
    }

    /// Removes a planned change, so that it is sent at most once.
    pub fn take(&self, number: u64) -> Option<Planned> {
        self.all().remove(&number)
    }
}

/// Returns the error for a change that is not planned any more.
pub fn gone(services: &Services, profile: &str) -> ApiError {
    services.refused(profile, "already sent or cancelled; nothing was sent")
}

/// Sends a planned change.
pub async fn send(services: &Services, number: u64, profile: &str) -> Result<Applied, ApiError> {
    match services.plans.take(number) {
        Some(Planned::Deployment(control_plane, plan)) => {
            changes::send(&control_plane, &plan, profile).await
        }
        Some(Planned::Resource(client, plan)) => resources::send(&client, &plan).await,
        Some(Planned::TwoServers(planned)) => two_servers::send(*planned).await,
        Some(Planned::Thread(..)) | None => Err(gone(services, profile)),
    }
}
