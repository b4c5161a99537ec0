//! Actions on threads. A planned action is kept here between its preview and its application, with the client that planned
//! it.

use super::services::Services;
use crate::session::msg::{ServerRef, ThreadRef};
use runtail_api::{
    Acted, AgentServer, ApiError, CancelTarget, Choice, LoadedThread, PlanError, RunStart, StartError, StartFailure,
    ThreadIntent, ThreadPlan,
};
use runtail_core::model::Preview;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long to wait for cancelled runs to stop.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(60);

/// The planned actions. An action is sent to the server that was read for its preview, even if the profile points to another
/// server by then.
#[derive(Default)]
pub struct Actions(Mutex<HashMap<u64, (AgentServer, ThreadPlan)>>);

impl Actions {
    fn keep(&self, number: u64, server: AgentServer, plan: ThreadPlan) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(number, (server, plan));
    }

    /// Removes an action, so that it is applied at most once.
    pub fn take(&self, number: u64) -> Option<(AgentServer, ThreadPlan)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&number)
    }
}

/// Plans an action and returns its preview.
pub async fn plan(
    services: &Services,
    number: u64,
    server: &ServerRef,
    intent: &ThreadIntent,
) -> Result<(Box<Preview>, Option<Choice>), PlanError> {
    let client = services.agent_server(server).await?;
    let plan = client.plan_on_thread(intent).await?;
    let shown = (Box::new(plan.preview.clone()), plan.choice.clone());
    services.actions.keep(number, client, plan);
    Ok(shown)
}

/// Applies a planned action.
pub async fn act(services: &Services, number: u64, thread: &ThreadRef) -> Result<Acted, StartError> {
    let Some((client, plan)) = services.actions.take(number) else {
        let detail = "already sent or cancelled; nothing was sent";
        let error = services.refused(&thread.server.profile, detail);
        return Err(StartError { failure: StartFailure::Unchecked, error });
    };
    client.act_on_thread(&plan).await
}

/// Starts a run in the background.
pub async fn start(services: &Services, thread: &ThreadRef, start: &RunStart) -> Result<Acted, StartError> {
    let client = services.agent_server(&thread.server).await;
    let client = client.map_err(|error| StartError { failure: StartFailure::Unchecked, error })?;
    client.start_on_thread(start).await.map(Acted::Started)
}

/// Polls runs that are being cancelled until they have stopped, or until the timeout.
pub async fn follow_cancel(
    services: &Services,
    thread: &ThreadRef,
    mut targets: Vec<CancelTarget>,
) -> Vec<CancelTarget> {
    match services.agent_server(&thread.server).await {
        Ok(client) => client.wait_until_stopped(&thread.id, &mut targets, CANCEL_TIMEOUT).await,
        Err(error) => targets.iter_mut().for_each(|target| target.error = Some(error.clone())),
    }
    targets
}

/// Loads the current records of a thread. `is_waiting`: its stream reported a question.
pub async fn load(services: &Services, thread: &ThreadRef, is_waiting: bool) -> Result<Box<LoadedThread>, ApiError> {
    let client = services.agent_server(&thread.server).await?;
    let loaded = match is_waiting {
        true => client.load_waiting_thread(&thread.id).await,
        false => client.load_thread(&thread.id).await,
    };
    loaded.map(Box::new)
}
