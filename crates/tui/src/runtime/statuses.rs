//! The statuses of listed threads. A thread's own record says `idle` after a cancelled run or for a copy that waits for
//! input, and `interrupted` for four different states. So the status of each visible row is read separately, and again when
//! its record changes.

use super::out::Out;
use super::poll_schedule::ParamsReceiver;
use super::services::Services;
use crate::boxed;
use crate::session::msg::{ServerRef, SubscriptionEvent, WantedStatus};
use futures::stream::{FuturesUnordered, StreamExt};
use runtail_api::{ApiError, Kind};
use runtail_core::model::{ThreadFacts, ThreadStatus};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Number of threads that are read at once.
const MAX_CONCURRENCY: usize = 4;
/// Pause between two reads of a busy thread. Its record stays the same while its nodes and its queue change.
const BUSY_PAUSE: Duration = Duration::from_secs(10);
/// Pause between two reads of any other thread, and after a failure. A short run may leave the record unchanged.
const PAUSE: Duration = Duration::from_secs(60);
/// Maximum number of threads whose last read is remembered.
const MAX_REMEMBERED: usize = 5_000;

/// Reads the wanted statuses, most important first.
#[boxed]
pub async fn thread_statuses(
    services: &Services,
    server: &ServerRef,
    mut params: ParamsReceiver,
    out: &Out,
) {
    let mut read: HashMap<Arc<str>, (Arc<ThreadFacts>, Instant)> = HashMap::new();
    let mut in_flight = FuturesUnordered::new();
    let mut pending: Vec<Arc<str>> = Vec::new();
    loop {
        let current = params.borrow_and_update().clone();
        let now = Instant::now();
        let mut next: Option<Instant> = None;
        for wanted in current
            .statuses
            .iter()
            .filter(|wanted| !pending.contains(&wanted.thread))
            .collect::<Vec<_>>()
        {
            match read
                .get(&wanted.thread)
                .and_then(|(facts, at)| due(wanted, facts, *at))
                .filter(|due| *due > now)
            {
                Some(due) => next = Some(next.map_or(due, |next: Instant| next.min(due))),
                None if pending.len() < MAX_CONCURRENCY => {
                    pending.push(wanted.thread.clone());
                    let wanted = wanted.clone();
                    in_flight.push(async move {
                        let status = read_status(services, server, &wanted).await;
                        (wanted, status)
                    });
                }
                None => break,
            }
        }
        tokio::select! {
            Some((wanted, status)) = in_flight.next() => {
                pending.retain(|thread| *thread != wanted.thread);
                if read.len() > MAX_REMEMBERED {
                    read.clear();
                }
                read.insert(wanted.thread.clone(), (wanted.facts.clone(), Instant::now()));
                services.apply_error(&server.profile, status.as_ref().err());
                let stop = status.as_ref().is_err_and(|e| matches!(e.kind, Kind::Unauthorized | Kind::Refused | Kind::NoKey));
                if !out.send(SubscriptionEvent::ThreadStatus { of: wanted, status }).await || stop {
                    return;
                }
            }
            changed = params.changed() => if changed.is_err() { return },
            () = super::poll_schedule::sleep_until(next), if next.is_some() => {}
        }
    }
}

/// Returns when to read a thread again; `None` (now) if its record has changed.
fn due(wanted: &WantedStatus, facts: &ThreadFacts, at: Instant) -> Option<Instant> {
    let pause = if wanted.facts.status == "busy" {
        BUSY_PAUSE
    } else {
        PAUSE
    };
    (*wanted.facts == *facts).then(|| at + pause)
}

async fn read_status(
    services: &Services,
    server: &ServerRef,
    wanted: &WantedStatus,
) -> Result<ThreadStatus, ApiError> {
    services
        .agent_server(server)
        .await?
        .listed_status(&wanted.thread, &wanted.facts)
        .await
}
