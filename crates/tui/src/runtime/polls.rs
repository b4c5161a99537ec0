//! Polls of the control planes. Each is a task with few concurrent requests; intervals are jittered, longer while the window
//! is unfocused, and respect rate limits.

use super::round::{Round, SHORTEST, Told, pause, quickened};
use super::services::Services;
use super::subs::Out;
use crate::session::msg::{NextPoll, Pace, RevisionRef, ServerRef, SubscriptionEvent, Wanted};
use futures::stream::{FuturesUnordered, StreamExt};
use jiff::SignedDuration;
use runtail_api::{
    ApiError, ControlPlane, DeploymentQuery, Kind, Listing, LogFilter, LogFollower, LogScope, Revisions, ThreadQuery,
};
use runtail_core::backoff::vary;
use runtail_core::config::Poll;
use runtail_core::model::{Deployment, Revision};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a deployment has to stay selected before its revisions are asked for.
const SETTLE: Duration = Duration::from_millis(150);
/// Newest revisions that are asked for at once, in each profile.
const AT_ONCE: usize = ControlPlane::AT_ONCE;
/// A list is read again after so long for each page more than one, where that is longer than the usual pause.
const PER_PAGE: Duration = Duration::from_secs(2);
/// Pause between two looks at a log that is followed.
const LOG_PAUSE: Duration = Duration::from_secs(2);
/// Pause between two looks at a server's threads or runs.
const LIST_PAUSE: Duration = Duration::from_secs(3);
/// Looks in vain after which a log is looked at five times less often; on the way there, bit by bit.
const LOG_QUIET: u32 = 20;
/// Revisions whose last question is remembered.
const REMEMBERED: usize = 20_000;
/// Lines that a log begins with.
const LOG_TAIL: usize = 500;

/// The deployments of a profile.
pub async fn deployments(services: &Services, profile: &str, mut told: Told, out: &Out) {
    let mut round = Round::begin();
    let mut reading = Reading { is_first: true, has_no_list: false };
    loop {
        round.again();
        let (result, torn, pages, skew) = reading.list(services, profile, out).await;
        let error = result.as_ref().map_or_else(Some, |listing| listing.incomplete.as_ref()).cloned();
        services.heed(profile, error.as_ref());
        // A long list is many requests.
        let usual = services.poll.interval.max(PER_PAGE * pages.saturating_sub(1) as u32);
        let goes_on = round.answered(result.as_ref().err()) && !error.is_some_and(|e| e.kind == Kind::Unauthorized);
        let next = match goes_on {
            true => NextPoll::At(round.due_at(pause(usual, told.borrow().pace))),
            false => NextPoll::Stopped,
        };
        if !out.send(SubscriptionEvent::Deployments { result, torn, skew, next }).await || !goes_on {
            return;
        }
        round.rest(&mut told, |pace| pause(usual, pace)).await;
    }
}

/// How a profile's list is read.
struct Reading {
    /// No list was read yet.
    is_first: bool,
    /// The server has no list: the pinned deployments are read each by itself.
    has_no_list: bool,
}

impl Reading {
    /// Reads the list to its end. Says whether that was reached, the pages read, and how the server's clock goes.
    async fn list(
        &mut self,
        services: &Services,
        profile: &str,
        out: &Out,
    ) -> (Result<Listing<Deployment>, ApiError>, bool, usize, SignedDuration) {
        let control_plane = match services.control_plane(profile).await {
            Ok(control_plane) => control_plane,
            Err(error) => return (Err(error), true, 0, SignedDuration::ZERO),
        };
        let (mut items, mut incomplete, mut torn, is_first) = (Vec::new(), None, false, self.is_first);
        let mut take = |row: Result<Value, ApiError>, incomplete: &mut Option<ApiError>| {
            let read = row.and_then(|row| control_plane.read_deployment(services.keep_secrets(profile, row)));
            let deployment = read.map(Deployment::in_a_list).map_err(|error| *incomplete = Some(error)).ok()?;
            items.push(deployment.clone());
            Some(deployment)
        };
        let pinned = services.pinned(profile);
        let mut pages = control_plane.deployment_pages(&DeploymentQuery::default());
        while !self.has_no_list {
            match pages.next().await {
                Ok(Some(rows)) => {
                    let read = rows.iter().map(|row| take(control_plane.read_row(row), &mut incomplete));
                    let page = read.flatten().collect();
                    // The first list is shown as it comes.
                    if is_first && !out.send(SubscriptionEvent::Page(page)).await {
                        break;
                    }
                }
                Ok(None) => break,
                Err(e) if e.may_lack_call() && !pinned.is_empty() => {
                    self.has_no_list = true;
                }
                Err(error) => {
                    (incomplete, torn) = (Some(error), true);
                    break;
                }
            }
        }
        let one = |id: &String| {
            let (control_plane, id) = (control_plane.clone(), id.clone());
            async move { control_plane.deployment_row(&id).await }
        };
        let pinned: Vec<_> = pinned.iter().filter(|_| self.has_no_list).map(one).collect();
        let mut pinned = futures::stream::iter(pinned).buffered(AT_ONCE);
        while let Some(row) = pinned.next().await {
            match row {
                Ok(row) => drop(take(Ok(row), &mut incomplete)),
                // One that cannot be read does not take the others with it, but a refused key does.
                Err(error) => {
                    let refused = error.kind == Kind::Unauthorized;
                    // That one is not there is an answer.
                    torn |= error.kind != Kind::NotFound;
                    incomplete = Some(error);
                    if refused {
                        break;
                    }
                }
            }
        }
        let result = match incomplete {
            Some(error) if items.is_empty() => Err(error),
            incomplete => Ok(Listing { items, incomplete }),
        };
        self.is_first &= result.is_err();
        (result, torn, pages.count().max(1), control_plane.skew())
    }
}

/// The newest revisions of a profile's deployments: those that nobody knows yet once, the most wanted first, and those
/// that move again and again.
pub async fn newest(services: &Services, profile: &str, mut told: Told, out: &Out) {
    let mut asked: HashMap<Arc<str>, Asked> = HashMap::new();
    let mut under_way = FuturesUnordered::new();
    let mut busy: Vec<Arc<str>> = Vec::new();
    let random = fastrand::f64();
    loop {
        let wish = told.borrow_and_update().clone();
        let now = Instant::now();
        let mut next: Option<Instant> = None;
        for wanted in wish.newest.iter().filter(|w| !busy.contains(&w.revision)).collect::<Vec<_>>() {
            let due = asked.get(&wanted.revision).map(|asked| asked.due(wanted, wish.pace, &services.poll, random));
            match due.filter(|due| *due > now) {
                Some(due) => next = Some(next.map_or(due, |n: Instant| n.min(due))),
                // What is on the screen goes before what is not.
                None if busy.len() < if wanted.seen { AT_ONCE } else { AT_ONCE / 2 } => {
                    busy.push(wanted.revision.clone());
                    let wanted = wanted.clone();
                    under_way.push(async move {
                        let found = read_revision(services, profile, &wanted.deployment, &wanted.revision).await;
                        (wanted, found)
                    });
                }
                None => break,
            }
        }
        tokio::select! {
            Some((wanted, revision)) = under_way.next() => {
                busy.retain(|id| *id != wanted.revision);
                // A long session sees many revisions; who is asked once more than needed does not mind.
                if asked.len() > REMEMBERED {
                    asked.clear();
                }
                asked.entry(wanted.revision).or_insert_with(Asked::never).answered(revision.as_ref());
                services.heed(profile, revision.as_ref().err());
                let stop =
                    revision.as_ref().is_err_and(|e| matches!(e.kind, Kind::Unauthorized | Kind::Refused));
                if !out.send(SubscriptionEvent::Newest { deployment: wanted.deployment, revision }).await || stop {
                    return;
                }
            }
            changed = told.changed() => if changed.is_err() { return },
            () = super::sleep_until(next), if next.is_some() => {}
        }
    }
}

/// What is known of the questions for one revision.
struct Asked {
    at: Instant,
    /// How often in vain, in a row.
    vain: u32,
    status: String,
    /// Since when it has this status.
    since: Instant,
}

impl Asked {
    fn never() -> Asked {
        Asked { at: Instant::now(), vain: 0, status: String::new(), since: Instant::now() }
    }

    fn answered(&mut self, answer: Result<&Revision, &ApiError>) {
        self.at = Instant::now();
        match answer {
            Err(_) => self.vain = (self.vain + 1).min(10),
            Ok(revision) => {
                self.vain = 0;
                if self.status != revision.status {
                    (self.status, self.since) = (revision.status.clone(), self.at);
                }
            }
        }
    }

    /// When to ask again. What has stood still for longer than anybody would wait is asked for seldom.
    fn due(&self, wanted: &Wanted, pace: Pace, poll: &Poll, random: f64) -> Instant {
        let wait = match self.vain {
            0 if wanted.moving && self.since.elapsed() < poll.timeout => vary(pause(poll.interval, pace), random),
            0 if wanted.moving => pause(poll.interval, Pace::Slow),
            // Known and final by now: the list has not heard of it yet.
            0 => poll.interval,
            vain => (SHORTEST * 2u32.saturating_pow(vain)).min(poll.interval),
        };
        self.at + wait
    }
}

/// A revision, without anything that is a secret of its deployment.
async fn read_revision(services: &Services, profile: &str, deployment: &str, id: &str) -> Result<Revision, ApiError> {
    let control_plane = services.control_plane(profile).await?;
    let row = control_plane.revision_row(deployment, id).await?;
    control_plane.read_revision(services.without_secrets(profile, deployment, row))
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
pub async fn revisions(services: &Services, profile: &str, id: &str, limit: usize, mut told: Told, out: &Out) {
    // Who only scrolls past a deployment does not ask for its revisions.
    tokio::time::sleep(SETTLE).await;
    let mut patience = Patience { limit: services.poll.timeout, moving_since: None };
    let mut round = Round::begin();
    loop {
        round.again();
        let result = read_revisions(services, profile, id, limit).await;
        services.heed(profile, result.as_ref().err());
        let moving = result.as_ref().ok().and_then(|r| r.items.first()).filter(|r| !r.phase().is_final());
        let moves = moving.is_some();
        let over = moving.is_some_and(|r| patience.is_over(&r.id));
        let wait = |pace| pause(services.poll.interval, quickened(pace, moves));
        let next = match round.answered(result.as_ref().err()) {
            _ if over => NextPoll::GaveUp,
            true => NextPoll::At(round.due_at(wait(told.borrow().pace))),
            false => NextPoll::Stopped,
        };
        if !out.send(SubscriptionEvent::Revisions(result, next)).await || !matches!(next, NextPoll::At(_)) {
            return;
        }
        round.rest(&mut told, wait).await;
    }
}

async fn read_revisions(services: &Services, profile: &str, id: &str, limit: usize) -> Result<Revisions, ApiError> {
    let control_plane = services.control_plane(profile).await?;
    let Revisions { items: rows, was_sorted } = control_plane.revision_rows(id, limit).await?;
    let mut items = Vec::with_capacity(rows.len());
    for row in rows {
        items.push(control_plane.read_revision(services.without_secrets(profile, id, row))?);
    }
    Ok(Revisions { items, was_sorted })
}

/// A deployment that is being deleted, until the server does not know it any more: it deletes softly, and the record can
/// be read for a while (control-plane reference §4).
pub async fn vanish(services: &Services, profile: &str, id: &str, mut told: Told, out: &Out) {
    let mut patience = Patience { limit: services.poll.timeout, moving_since: None };
    let mut round = Round::begin();
    loop {
        round.again();
        let result = match services.control_plane(profile).await {
            Ok(control_plane) => match control_plane.deployment_row(id).await {
                Ok(row) => control_plane.read_deployment(services.keep_secrets(profile, row)),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        services.heed(profile, result.as_ref().err());
        let gone = result.as_ref().is_err_and(|e| e.kind == Kind::NotFound);
        let over = patience.is_over(id);
        let goes_on = round.answered(result.as_ref().err());
        let wait = |_| pause(services.poll.interval, Pace::Fast);
        let next = match goes_on && !gone {
            _ if over && !gone => NextPoll::GaveUp,
            true => NextPoll::At(round.due_at(wait(Pace::Fast))),
            false => NextPoll::Stopped,
        };
        if !out.send(SubscriptionEvent::Vanishing(result, next)).await || !matches!(next, NextPoll::At(_)) {
            return;
        }
        round.rest(&mut told, wait).await;
    }
}

/// A revision that is watched, until it ends. Who asked to be told does not have to look: the pace is always the same.
pub async fn watch(services: &Services, of: &RevisionRef, mut told: Told, out: &Out) {
    let mut patience = Patience { limit: services.poll.timeout, moving_since: None };
    let mut round = Round::begin();
    loop {
        round.again();
        let result = read_revision(services, &of.profile, &of.deployment, &of.revision).await;
        services.heed(&of.profile, result.as_ref().err());
        let gone = result.as_ref().is_err_and(|e| e.kind == Kind::NotFound);
        let ended = gone || result.as_ref().is_ok_and(|r| r.phase().is_final());
        let over = patience.is_over(&of.revision);
        let goes_on = round.answered(result.as_ref().err());
        let wait = |_| pause(services.poll.interval, Pace::Fast);
        let next = match goes_on && !ended {
            _ if over && !ended => NextPoll::GaveUp,
            true => NextPoll::At(round.due_at(wait(Pace::Fast))),
            false => NextPoll::Stopped,
        };
        if !out.send(SubscriptionEvent::Watched(result, next)).await || !matches!(next, NextPoll::At(_)) {
            return;
        }
        round.rest(&mut told, wait).await;
    }
}

/// The lines of a log, as they come. A failed look changes nothing: the next one gives what it missed. A log that is quiet
/// is looked at less often.
pub async fn log(
    services: &Services,
    (profile, scope, filter): (&str, LogScope, LogFilter),
    mut told: Told,
    out: &Out,
) {
    let mut follower: Option<LogFollower> = None;
    let mut round = Round::begin();
    let mut quiet = 0u32;
    loop {
        round.again();
        let result = match (services.control_plane(profile).await, &mut follower) {
            (Err(error), _) => Err(error),
            (Ok(control_plane), follower) => {
                let fresh = || LogFollower::new(control_plane, scope.clone(), filter.clone(), LOG_TAIL);
                follower.get_or_insert_with(fresh).poll().await
            }
        };
        let result = result.map(|lines| services.open_lines(profile, &scope.deployment, lines));
        services.heed(profile, result.as_ref().err());
        quiet = if result.as_ref().is_ok_and(Vec::is_empty) { (quiet + 1).min(LOG_QUIET) } else { 0 };
        let goes_on = round.answered(result.as_ref().err());
        let incomplete = follower.as_ref().is_some_and(LogFollower::is_incomplete);
        // An empty look says nothing, but the first one says that there is nothing.
        if !out.send(SubscriptionEvent::Lines { lines: result, incomplete }).await || !goes_on {
            return;
        }
        let usual = LOG_PAUSE * (1 + quiet / 5);
        round.rest(&mut told, |pace| if pace == Pace::Slow { usual * 5 } else { usual }).await;
    }
}

/// The threads of an agent server, newest first.
pub async fn threads(services: &Services, server: &ServerRef, limit: usize, mut told: Told, out: &Out) {
    let mut round = Round::begin();
    loop {
        round.again();
        let query = ThreadQuery { limit, ..ThreadQuery::default() };
        let result = match services.agent_server(server).await {
            Ok(client) => client.threads(&query).await,
            Err(error) => Err(error),
        };
        services.heed(&server.profile, result.as_ref().err());
        let goes_on = round.answered(result.as_ref().err());
        if !out.send(SubscriptionEvent::Threads(result)).await || !goes_on {
            return;
        }
        round.rest(&mut told, list_pause).await;
    }
}

/// The runs of a thread, newest first.
pub async fn runs(services: &Services, server: &ServerRef, thread: &str, limit: usize, mut told: Told, out: &Out) {
    let mut round = Round::begin();
    loop {
        round.again();
        let result = match services.agent_server(server).await {
            Ok(client) => client.runs(thread, limit).await,
            Err(error) => Err(error),
        };
        services.heed(&server.profile, result.as_ref().err());
        let goes_on = round.answered(result.as_ref().err());
        if !out.send(SubscriptionEvent::Runs(result)).await || !goes_on {
            return;
        }
        round.rest(&mut told, list_pause).await;
    }
}

/// The pause between two looks at a list of an agent server.
fn list_pause(pace: Pace) -> Duration {
    if pace == Pace::Slow { LIST_PAUSE * 5 } else { LIST_PAUSE }
}
