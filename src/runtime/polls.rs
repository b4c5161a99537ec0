//! Polls of the control planes: what asks, how often, and what it tells. Each is a task of its own with at most one
//! request under way, jittered, slow when nobody looks, silent where the server wants to be left alone.

use super::services::Services;
use super::subs::Out;
use crate::api::{ApiError, DeploymentQuery, Kind, Listing, LogFilter, LogFollower, LogScope, ThreadQuery};
use crate::app::msg::{Answer, NextPoll, Pace, RevisionRef, ServerRef, Wanted, Wish};
use crate::model::Deployment;
use futures::stream::{FuturesUnordered, StreamExt};
use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a deployment has to stay selected before its revisions are asked for.
const SETTLE: Duration = Duration::from_millis(150);
/// Newest revisions that are asked for at once, in each profile.
const AT_ONCE: usize = 4;
/// What a page of a long list adds to the pause before the list is read again.
const PER_PAGE: Duration = Duration::from_secs(2);
/// The shortest pause, however short the configured one is.
const SHORTEST: Duration = Duration::from_secs(1);
/// Pause between two looks at a log that is followed.
const LOG_PAUSE: Duration = Duration::from_secs(2);
/// Pause between two looks at a server's threads or runs.
const LIST_PAUSE: Duration = Duration::from_secs(3);
/// Lines that a log begins with.
const LOG_TAIL: usize = 500;

/// What a running poll is told.
pub type Told = watch::Receiver<Wish>;

/// The pause between two requests, before its jitter. `usual` is the configured one; what moves is asked for more often,
/// what nobody looks at less.
fn pause(usual: Duration, pace: Pace) -> Duration {
    match pace {
        Pace::Fast => (usual / 6).max(SHORTEST.min(usual)),
        Pace::Usual => usual,
        Pace::Slow => usual * 5,
    }
}

/// A number around 1, by which a pause is multiplied: many clients do not come back together.
fn dice() -> f64 {
    0.9 + fastrand::f64() * 0.2
}

/// The pause after a failure, where it is longer; none where asking again is pointless until somebody acts.
fn after(pause: Duration, error: Option<&ApiError>) -> Option<Duration> {
    match error {
        Some(e) if crate::app::stops_polling(e) => None,
        Some(ApiError { kind: Kind::RateLimited(Some(wait)), .. }) => Some(pause.max(*wait)),
        _ => Some(pause),
    }
}

fn time_in(wait: Duration) -> Timestamp {
    let now = Timestamp::now();
    now.checked_add(SignedDuration::try_from(wait).unwrap_or_default()).unwrap_or(now)
}

/// Sleeps until the next request is due. Another pace counts at once, from when the last request was made.
async fn rest(told: &mut Told, asked: Instant, dice: f64, wait: impl Fn(Pace) -> Duration) {
    loop {
        let pace = told.borrow_and_update().pace;
        tokio::select! {
            () = tokio::time::sleep_until(asked + wait(pace).mul_f64(dice)) => return,
            changed = told.changed() => if changed.is_err() { return },
        }
    }
}

/// The deployments of a profile.
pub async fn deployments(services: &Services, profile: &str, mut told: Told, out: &Out) {
    let mut is_first = true;
    loop {
        let asked = Instant::now();
        let (result, pages, skew) = list(services, profile, out, is_first).await;
        if let Some(error) = result.as_ref().map_or_else(Some, |l| l.incomplete.as_ref()) {
            services.heed(profile, error);
        }
        is_first &= result.is_err();
        let stops = after(Duration::ZERO, result.as_ref().err());
        let failed = result.as_ref().err().cloned();
        if !out.send(Answer::Deployments(result, skew)).await || stops.is_none() {
            return;
        }
        let usual = services.poll.interval.max(PER_PAGE * pages.saturating_sub(1) as u32);
        let wait = |pace| after(pause(usual, pace), failed.as_ref()).unwrap_or(usual);
        rest(&mut told, asked, dice(), wait).await;
    }
}

/// Reads the list, or the pinned deployments one by one. The first list is shown as it comes. Says the pages read, and
/// how the server's clock goes.
async fn list(
    services: &Services,
    profile: &str,
    out: &Out,
    is_first: bool,
) -> (Result<Listing<Deployment>, ApiError>, usize, SignedDuration) {
    let control_plane = match services.control_plane(profile).await {
        Ok(control_plane) => control_plane,
        Err(error) => return (Err(error), 0, SignedDuration::ZERO),
    };
    let (mut items, mut incomplete) = (Vec::new(), None);
    let pinned = services.pinned(profile);
    for id in pinned {
        // One that cannot be read does not take the others with it.
        match control_plane.deployment(id).await {
            Ok(deployment) => items.push(deployment),
            Err(error) => incomplete = Some(error),
        }
    }
    let mut pages = control_plane.deployment_pages(&DeploymentQuery::default());
    while pinned.is_empty() {
        let rows = match pages.next().await {
            Ok(Some(rows)) => rows,
            Ok(None) => break,
            Err(error) => {
                incomplete = Some(error);
                break;
            }
        };
        let mut page = Vec::with_capacity(rows.len());
        for row in rows {
            match control_plane.read_deployment(row) {
                Ok(deployment) => page.push(deployment),
                Err(error) => incomplete = Some(error),
            }
        }
        if is_first && !out.send(Answer::Page(page.clone())).await {
            break;
        }
        items.extend(page);
    }
    let skew = control_plane.skew();
    let result = match incomplete {
        Some(error) if items.is_empty() => Err(error),
        incomplete => Ok(Listing { items, incomplete }),
    };
    (result, pages.count().max(1), skew)
}

/// The newest revisions of a profile's deployments: those that nobody knows yet once, the most wanted first, and those
/// that move again and again.
pub async fn newest(services: &Services, profile: &str, mut told: Told, out: &Out) {
    let usual = services.poll.interval;
    // When each was asked for, and how often in vain since.
    let mut asked: HashMap<Arc<str>, (Instant, u32)> = HashMap::new();
    let mut under_way = FuturesUnordered::new();
    let mut busy: Vec<Arc<str>> = Vec::new();
    let luck = dice();
    loop {
        let wish = told.borrow_and_update().clone();
        let due = |wanted: &Wanted| match asked.get(&wanted.revision) {
            None => None,
            Some((at, 0)) if wanted.moving => Some(*at + pause(usual, wish.pace).mul_f64(luck)),
            // Known and final by now: the list has not heard of it yet.
            Some((at, 0)) => Some(*at + usual),
            Some((at, vain)) => Some(*at + (SHORTEST * 2u32.saturating_pow(*vain)).min(usual)),
        };
        let now = Instant::now();
        let mut next: Option<Instant> = None;
        for wanted in wish.newest.iter().filter(|w| !busy.contains(&w.revision)).collect::<Vec<_>>() {
            match due(wanted).filter(|due| *due > now) {
                Some(due) => next = Some(next.map_or(due, |n: Instant| n.min(due))),
                None if busy.len() < if wanted.seen { AT_ONCE } else { AT_ONCE / 2 } => {
                    busy.push(wanted.revision.clone());
                    let wanted = wanted.clone();
                    under_way.push(async move {
                        let found = match services.control_plane(profile).await {
                            Ok(control_plane) => control_plane.revision(&wanted.deployment, &wanted.revision).await,
                            Err(error) => Err(error),
                        };
                        (wanted, found)
                    });
                }
                None => break,
            }
        }
        if wish.newest.is_empty() {
            asked.clear();
        }
        tokio::select! {
            Some((wanted, revision)) = under_way.next() => {
                busy.retain(|id| *id != wanted.revision);
                let vain = asked.get(&wanted.revision).map_or(0, |(_, vain)| *vain);
                let vain = if revision.is_ok() { 0 } else { (vain + 1).min(10) };
                asked.insert(wanted.revision, (Instant::now(), vain));
                let mut stop = false;
                if let Err(error) = &revision {
                    services.heed(profile, error);
                    stop = error.kind == Kind::Unauthorized;
                }
                if !out.send(Answer::Newest { deployment: wanted.deployment, revision }).await || stop {
                    return;
                }
            }
            changed = told.changed() => if changed.is_err() { return },
            () = sleep_until(next), if next.is_some() => {}
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// The limit of a poll: how long a revision may move before nobody asks any more.
struct Patience {
    limit: Duration,
    moving_since: Option<(String, Instant)>,
}

impl Patience {
    /// Whether a revision has moved for too long.
    fn is_over(&mut self, id: &str) -> bool {
        let since = match &self.moving_since {
            Some((known, since)) if known == id => *since,
            _ => Instant::now(),
        };
        self.moving_since = Some((id.to_string(), since));
        since.elapsed() > self.limit
    }
}

/// The revisions of a deployment.
pub async fn revisions(services: &Services, at: (&str, &str), limit: usize, mut told: Told, out: &Out) {
    // Who only scrolls past a deployment does not ask for its revisions.
    tokio::time::sleep(SETTLE).await;
    let (profile, id) = at;
    let mut patience = Patience { limit: services.poll.timeout, moving_since: None };
    loop {
        let asked = Instant::now();
        let result = match services.control_plane(profile).await {
            Ok(control_plane) => control_plane.revisions(id, limit).await,
            Err(error) => Err(error),
        };
        let error = result.as_ref().err().cloned();
        if let Some(error) = &error {
            services.heed(profile, error);
        }
        // The pace that the application wishes lags one answer behind what this answer says.
        let moving = result.as_ref().ok().and_then(|r| r.items.first()).filter(|r| !r.phase().is_final());
        let over = moving.is_some_and(|r| patience.is_over(&r.id));
        let pace = told.borrow().pace;
        let pace = if moving.is_some() && pace == Pace::Usual { Pace::Fast } else { pace };
        let luck = dice();
        let wait = |pace| after(pause(services.poll.interval, pace), error.as_ref());
        let next = match wait(pace) {
            _ if over => NextPoll::GaveUp,
            Some(wait) => NextPoll::At(time_in(wait.mul_f64(luck))),
            None => NextPoll::Stopped,
        };
        if !out.send(Answer::Revisions(result, next)).await || !matches!(next, NextPoll::At(_)) {
            return;
        }
        rest(&mut told, asked, luck, |pace| wait(pace).unwrap_or(services.poll.interval)).await;
    }
}

/// A revision that is watched, until it ends.
pub async fn watch(services: &Services, of: &RevisionRef, mut told: Told, out: &Out) {
    let mut patience = Patience { limit: services.poll.timeout, moving_since: None };
    loop {
        let asked = Instant::now();
        let result = match services.control_plane(&of.profile).await {
            Ok(control_plane) => control_plane.revision(&of.deployment, &of.revision).await,
            Err(error) => Err(error),
        };
        let error = result.as_ref().err().cloned();
        if let Some(error) = &error {
            services.heed(&of.profile, error);
        }
        let gone = error.as_ref().is_some_and(|e| e.kind == Kind::NotFound);
        let ended = gone || result.as_ref().is_ok_and(|r| r.phase().is_final());
        let over = patience.is_over(&of.revision);
        let luck = dice();
        let wait = |pace| after(pause(services.poll.interval, pace), error.as_ref());
        let next = match wait(told.borrow().pace) {
            _ if over && !ended => NextPoll::GaveUp,
            Some(wait) if !ended => NextPoll::At(time_in(wait.mul_f64(luck))),
            _ => NextPoll::Stopped,
        };
        if !out.send(Answer::Watched(result, next)).await || !matches!(next, NextPoll::At(_)) {
            return;
        }
        rest(&mut told, asked, luck, |pace| wait(pace).unwrap_or(services.poll.interval)).await;
    }
}

/// The lines of a log, as they come. A failed look changes nothing: the next one gives what it missed.
pub async fn log(
    services: &Services,
    (profile, scope, filter): (&str, LogScope, LogFilter),
    mut told: Told,
    out: &Out,
) {
    let mut follower: Option<LogFollower> = None;
    let mut vain = 0u32;
    loop {
        let asked = Instant::now();
        // Waits where the server wants to be left alone, and makes the follower where there is none yet.
        let result = match (services.control_plane(profile).await, &mut follower) {
            (Err(error), _) => Err(error),
            (Ok(control_plane), follower) => {
                let fresh = || LogFollower::new(control_plane, scope.clone(), filter.clone(), LOG_TAIL);
                follower.get_or_insert_with(fresh).poll().await
            }
        };
        let error = result.as_ref().err().cloned();
        if let Some(error) = &error {
            services.heed(profile, error);
        }
        vain = if error.is_some() { (vain + 1).min(5) } else { 0 };
        if after(Duration::ZERO, error.as_ref()).is_none() {
            out.send(Answer::Lines(result)).await;
            return;
        }
        // An empty look says nothing, but the first one says that there is nothing.
        if !out.send(Answer::Lines(result)).await {
            return;
        }
        let usual = LOG_PAUSE * 2u32.pow(vain);
        let wait = |pace| if pace == Pace::Slow { usual * 5 } else { usual };
        rest(&mut told, asked, dice(), |pace| after(wait(pace), error.as_ref()).unwrap_or(usual)).await;
    }
}

/// The threads of an agent server, newest first.
pub async fn threads(services: &Services, server: &ServerRef, limit: usize, mut told: Told, out: &Out) {
    loop {
        let asked = Instant::now();
        let query = ThreadQuery { limit, ..ThreadQuery::default() };
        let result = match services.agent_server(server).await {
            Ok(client) => client.threads(&query).await,
            Err(error) => Err(error),
        };
        let error = result.as_ref().err().cloned();
        if !out.send(Answer::Threads(result)).await || !rest_of_list(&mut told, asked, error.as_ref()).await {
            return;
        }
    }
}

/// The runs of a thread, newest first.
pub async fn runs(services: &Services, of: (&ServerRef, &str), limit: usize, mut told: Told, out: &Out) {
    let (server, thread) = of;
    loop {
        let asked = Instant::now();
        let result = match services.agent_server(server).await {
            Ok(client) => client.runs(thread, limit).await,
            Err(error) => Err(error),
        };
        let error = result.as_ref().err().cloned();
        if !out.send(Answer::Runs(result)).await || !rest_of_list(&mut told, asked, error.as_ref()).await {
            return;
        }
    }
}

/// The pause between two looks at a list of an agent server. False where asking again is pointless.
async fn rest_of_list(told: &mut Told, asked: Instant, error: Option<&ApiError>) -> bool {
    if after(Duration::ZERO, error).is_none() {
        return false;
    }
    let wait = |pace| if pace == Pace::Slow { LIST_PAUSE * 5 } else { LIST_PAUSE };
    rest(told, asked, dice(), |pace| after(wait(pace), error).unwrap_or(LIST_PAUSE)).await;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_is_asked_for_often_and_what_nobody_looks_at_seldom() {
        let minute = Duration::from_secs(60);
        assert_eq!(pause(minute, Pace::Fast), Duration::from_secs(10));
        assert_eq!(pause(minute, Pace::Usual), minute);
        assert_eq!(pause(minute, Pace::Slow), minute * 5);
        assert_eq!(pause(Duration::from_secs(2), Pace::Fast), Duration::from_secs(1));
        assert_eq!(pause(Duration::from_millis(200), Pace::Fast), Duration::from_millis(200));
    }
}
