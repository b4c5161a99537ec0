//! Polls of inboxes: one search per status of each agent server, few servers at a time.

use super::out::Out;
use super::poll_schedule::{ParamsReceiver, PollSchedule, pause};
use super::services::Services;
use crate::boxed;
use crate::session::msg::{Pace, ServerRef, SubscriptionEvent};
use futures::stream::{FuturesUnordered, StreamExt};
use jiff::Timestamp;
use runtail_api::{ApiError, InboxMemory, ServerInbox};
use runtail_core::config::Stuck;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Servers of a profile that are read at once.
const MAX_CONCURRENCY: usize = 4;
/// Shortest pause between two reads of a server, whatever `[poll] interval` and the pace say.
const MIN_PAUSE: Duration = Duration::from_secs(15);
/// Pause before the first read, so that the lists on the screen come first.
const START_DELAY: Duration = Duration::from_millis(400);
/// How long ago a thread may have failed to be shown.
const FAILED_SINCE: Duration = Duration::from_secs(24 * 3600);

/// The poll of one server.
struct ServerPoll {
    schedule: PollSchedule,
    memory: InboxMemory,
    /// Whether it was read.
    is_read: bool,
    /// Whether it is not read again until the user refreshes: its key was rejected, or it can't list threads.
    is_stopped: bool,
}

impl ServerPoll {
    fn new() -> ServerPoll {
        ServerPoll {
            schedule: PollSchedule::new(),
            memory: InboxMemory::default(),
            is_read: false,
            is_stopped: false,
        }
    }
}

/// Returns the pause between two reads of a server.
fn inbox_pause(interval: Duration, pace: Pace) -> Duration {
    pause(interval, pace).max(MIN_PAUSE)
}

/// Reads the inboxes of a profile's servers repeatedly.
#[boxed]
pub async fn inbox(services: &Services, profile: &str, mut params: ParamsReceiver, out: &Out) {
    tokio::time::sleep(START_DELAY).await;
    let mut polls: BTreeMap<ServerRef, ServerPoll> = BTreeMap::new();
    let mut in_flight = FuturesUnordered::new();
    let mut pending: Vec<ServerRef> = Vec::new();
    loop {
        let (servers, stuck, pace) = {
            let current = params.borrow_and_update();
            (current.servers.clone(), current.stuck.clone(), current.pace)
        };
        polls.retain(|server, _| servers.contains(server));
        let interval = inbox_pause(services.poll.interval, pace);
        let mut next: Option<Instant> = None;
        for server in servers
            .iter()
            .filter(|server| !pending.contains(server))
            .collect::<Vec<_>>()
        {
            let poll = polls.entry(server.clone()).or_insert_with(ServerPoll::new);
            if poll.is_stopped {
                continue;
            }
            let due = poll.is_read.then(|| poll.schedule.due(interval));
            match due.filter(|due| *due > Instant::now()) {
                Some(due) => next = Some(next.map_or(due, |next: Instant| next.min(due))),
                None if pending.len() < MAX_CONCURRENCY => {
                    poll.schedule.begin_request();
                    pending.push(server.clone());
                    in_flight.push(read(
                        services,
                        server.clone(),
                        stuck.clone(),
                        std::mem::take(&mut poll.memory),
                        out,
                    ));
                }
                None => break,
            }
        }
        tokio::select! {
            Some((server, memory, began, result)) = in_flight.next() => {
                pending.retain(|other| *other != server);
                let error = result.as_ref().map_or_else(Some, |answer: &ServerInbox| answer.failures.first()).cloned();
                services.apply_error(profile, error.as_ref());
                if let Some(poll) = polls.get_mut(&server) {
                    let continues = poll.schedule.end_request(error.as_ref());
                    poll.is_stopped = !continues || result.as_ref().is_ok_and(|answer| answer.is_unlisted);
                    (poll.memory, poll.is_read) = (memory, true);
                }
                if !out.send(SubscriptionEvent::Inbox { server, began, result }).await {
                    return;
                }
            }
            changed = params.changed() => if changed.is_err() { return },
            () = super::poll_schedule::sleep_until(next), if next.is_some() => {}
        }
    }
}

async fn read(
    services: &Services,
    server: ServerRef,
    stuck: Stuck,
    mut memory: InboxMemory,
    out: &Out,
) -> (
    ServerRef,
    InboxMemory,
    Timestamp,
    Result<ServerInbox, ApiError>,
) {
    let began = Timestamp::now();
    let result = match services.agent_server(&server).await {
        Ok(client) => Ok(out
            .watch(
                Some(&server),
                client.poll_inbox(FAILED_SINCE, &stuck, &mut memory),
            )
            .await),
        Err(error) => Err(error),
    };
    (server, memory, began, result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_setting_polls_a_server_more_than_every_15_seconds() {
        let second = Duration::from_secs(1);
        for (interval, pace, expected) in [
            (second, Pace::Fast, 15),
            (second * 60, Pace::Fast, 15),
            (second * 60, Pace::Usual, 60),
            (second * 60, Pace::Slow, 300),
            (second * 300, Pace::Fast, 50),
        ] {
            assert_eq!(
                inbox_pause(interval, pace).as_secs(),
                expected,
                "{interval:?} {pace:?}"
            );
        }
    }
}
