//! The statuses of the threads that a list shows. A thread's own record says `idle` of a run that was cancelled or of a copy
//! that waits, and `interrupted` of four different things, so each row on the screen is read once more, and again when its
//! record changes.

use super::round::Told;
use super::services::Services;
use super::subs::Out;
use crate::session::msg::{ServerRef, SubscriptionEvent, WantedStatus};
use futures::stream::{FuturesUnordered, StreamExt};
use runtail_api::{ApiError, Kind};
use runtail_core::model::{ThreadFacts, ThreadStatus};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Threads that are read at once.
const AT_ONCE: usize = 4;
/// The pause between two looks at a thread that is busy: its record does not change while nodes and queue do.
const BUSY_PAUSE: Duration = Duration::from_secs(10);
/// The pause between two looks at any other, whose record may stay the same over a short run, and after a failure.
const PAUSE: Duration = Duration::from_secs(60);
/// Threads whose last look is remembered.
const REMEMBERED: usize = 5_000;

/// Reads the threads that are wished for, the first ones first.
pub async fn thread_statuses(services: &Services, server: &ServerRef, mut told: Told, out: &Out) {
    let mut read: HashMap<Arc<str>, (Arc<ThreadFacts>, Instant)> = HashMap::new();
    let mut under_way = FuturesUnordered::new();
    let mut busy: Vec<Arc<str>> = Vec::new();
    loop {
        let wish = told.borrow_and_update().clone();
        let now = Instant::now();
        let mut next: Option<Instant> = None;
        for wanted in wish.statuses.iter().filter(|wanted| !busy.contains(&wanted.thread)).collect::<Vec<_>>() {
            match read.get(&wanted.thread).and_then(|(facts, at)| due(wanted, facts, *at)).filter(|due| *due > now) {
                Some(due) => next = Some(next.map_or(due, |next: Instant| next.min(due))),
                None if busy.len() < AT_ONCE => {
                    busy.push(wanted.thread.clone());
                    let wanted = wanted.clone();
                    under_way.push(async move {
                        let status = read_status(services, server, &wanted).await;
                        (wanted, status)
                    });
                }
                None => break,
            }
        }
        tokio::select! {
            Some((wanted, status)) = under_way.next() => {
                busy.retain(|thread| *thread != wanted.thread);
                if read.len() > REMEMBERED {
                    read.clear();
                }
                read.insert(wanted.thread.clone(), (wanted.facts.clone(), Instant::now()));
                services.heed(&server.profile, status.as_ref().err());
                let stop = status.as_ref().is_err_and(|e| matches!(e.kind, Kind::Unauthorized | Kind::Refused));
                if !out.send(SubscriptionEvent::ThreadStatus { of: wanted, status }).await || stop {
                    return;
                }
            }
            changed = told.changed() => if changed.is_err() { return },
            () = super::sleep_until(next), if next.is_some() => {}
        }
    }
}

/// When a thread is read again; none where its record has changed since.
fn due(wanted: &WantedStatus, facts: &ThreadFacts, at: Instant) -> Option<Instant> {
    let pause = if wanted.facts.status == "busy" { BUSY_PAUSE } else { PAUSE };
    (*wanted.facts == *facts).then(|| at + pause)
}

async fn read_status(services: &Services, server: &ServerRef, wanted: &WantedStatus) -> Result<ThreadStatus, ApiError> {
    services.agent_server(server).await?.listed_status(&wanted.thread, &wanted.facts).await
}
