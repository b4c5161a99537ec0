//! The poll of an agent server's health and queue, while its lists are on the screen.

use super::out::Out;
use super::poll_schedule::{ParamsReceiver, PollSchedule, pause};
use super::services::Services;
use crate::boxed;
use crate::session::msg::{Pace, ServerRef, SubscriptionEvent};
use std::time::Duration;

/// Pause between two requests. It is never shorter, because a loaded server has other work.
const PAUSE: Duration = Duration::from_secs(5);

/// Polls the health of a server, and ends if the server doesn't report it. Failed requests are not reported: those of the
/// lists are.
#[boxed]
pub async fn server_health(
    services: &Services,
    server: &ServerRef,
    mut params: ParamsReceiver,
    out: &Out,
) {
    let mut schedule = PollSchedule::new();
    loop {
        schedule.begin_request();
        let health = async { services.agent_server(server).await?.health().await }.await;
        let is_offered = health.as_ref().map_or(true, |health| health.is_offered());
        let continues = schedule.end_request(health.as_ref().err()) && is_offered;
        if !out.send(SubscriptionEvent::Health(health.ok())).await || !continues {
            return;
        }
        schedule
            .wait(&mut params, |pace| pause(PAUSE, pace.min(Pace::Usual)))
            .await;
    }
}
