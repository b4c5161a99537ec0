//! Polls of control planes and agent servers. Each is a task with few concurrent requests; intervals are jittered, longer
//! while the window is unfocused, and respect rate limits.

use super::out::Out;
use super::poll_schedule::{
    MIN_PAUSE, ParamsReceiver, PollSchedule, moving_pause, pause, speed_up,
};
use super::services::Services;
use crate::boxed;
use crate::session::msg::{
    NextPoll, Pace, RevisionRef, ServerRef, SubscriptionEvent, WantedRevision,
};
use futures::stream::{FuturesUnordered, StreamExt};
use jiff::{SignedDuration, Timestamp};
use runtail_api::{
    ApiError, ControlPlane, DeploymentQuery, Kind, Listing, LogFilter, LogFollower, LogScope,
    Revisions, UnreadRows,
};
use runtail_core::backoff::vary;
use runtail_core::config::Poll;
use runtail_core::model::{Deployment, Revision};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a deployment must stay selected before its revisions are requested.
const SELECTION_DELAY: Duration = Duration::from_millis(150);
/// Maximum number of newest revisions that are requested at once, per profile.
const MAX_CONCURRENCY: usize = ControlPlane::MAX_CONCURRENCY;
/// Minimum pause between two reads of a list, for each page after the first.
const PAUSE_PER_PAGE: Duration = Duration::from_secs(2);
/// Pause between two requests for a followed log.
const LOG_PAUSE: Duration = Duration::from_secs(2);
/// Pause between two requests for a server's threads or runs.
const LIST_PAUSE: Duration = Duration::from_secs(3);
/// Number of empty responses in a row after which a log is polled five times less often. Until then, the pause grows in steps.
const MAX_QUIET: u32 = 20;
/// Maximum number of revisions whose last request is remembered.
pub(super) const MAX_REMEMBERED: usize = 20_000;
/// Number of earlier lines to load when a log is opened.
const LOG_TAIL: usize = 500;

/// Polls the deployments of a profile.
#[boxed]
pub async fn deployments(
    services: &Services,
    profile: &str,
    mut params: ParamsReceiver,
    out: &Out,
) {
    let mut schedule = PollSchedule::new();
    let mut reader = ListReader {
        is_first: true,
        has_no_list: false,
    };
    loop {
        schedule.begin_request();
        let began = Instant::now();
        let (result, is_truncated, pages, skew) = reader.list(services, profile, out).await;
        let took = began.elapsed() / u32::try_from(pages).unwrap_or(u32::MAX).max(1);
        let error = result
            .as_ref()
            .map_or_else(Some, |listing| listing.incomplete.as_ref())
            .cloned();
        services.apply_error(profile, error.as_ref());
        // A long list takes many requests, so it is polled less often.
        let usual = services
            .poll
            .interval
            .max(PAUSE_PER_PAGE * pages.saturating_sub(1) as u32);
        let continues = schedule.end_request(result.as_ref().err())
            && !error.is_some_and(|e| e.kind == Kind::Unauthorized);
        let next = match continues {
            true if services.is_unpolled(profile) => NextPoll::Off,
            true => NextPoll::At(schedule.due_at(pause(usual, params.borrow().pace))),
            false => NextPoll::Stopped,
        };
        let event = SubscriptionEvent::Deployments {
            result,
            is_truncated,
            skew,
            took,
            next,
        };
        if !out.send(event).await || !matches!(next, NextPoll::At(_)) {
            return;
        }
        schedule.wait(&mut params, |pace| pause(usual, pace)).await;
    }
}

/// Reads a profile's list of deployments.
struct ListReader {
    /// Whether no list was read yet.
    is_first: bool,
    /// Whether the server has no list, so that the pinned deployments are requested one by one.
    has_no_list: bool,
}

impl ListReader {
    /// Reads the whole list. Returns it, whether reading failed before its end, the number of pages, and how far the server's
    /// clock is ahead of ours.
    async fn list(
        &mut self,
        services: &Services,
        profile: &str,
        out: &Out,
    ) -> (
        Result<Listing<Deployment>, ApiError>,
        bool,
        usize,
        SignedDuration,
    ) {
        let control_plane = match services.control_plane(profile).await {
            Ok(control_plane) => control_plane,
            Err(error) => return (Err(error), true, 0, SignedDuration::ZERO),
        };
        let (mut items, mut incomplete, mut is_truncated, is_first) =
            (Vec::new(), None, false, self.is_first);
        let mut unread = UnreadRows::of("deployments");
        let mut add = |row: Value, unread: &mut UnreadRows| {
            let read = control_plane.read_deployment(services.keep_secrets(profile, row));
            let deployment = unread.keep(read)?.in_a_list();
            items.push(deployment.clone());
            Some(deployment)
        };
        let pinned = services.pinned(profile);
        let mut pages = control_plane.deployment_pages(&DeploymentQuery::default());
        while !self.has_no_list {
            match out.watch(None, pages.next()).await {
                Ok(Some(rows)) => {
                    let page = rows
                        .iter()
                        .filter_map(|row| add(unread.parse(row)?, &mut unread))
                        .collect();
                    // The first list is shown page by page.
                    if is_first && !out.send(SubscriptionEvent::Page(page)).await {
                        break;
                    }
                }
                Ok(None) => break,
                Err(e) if e.may_lack_call() && !pinned.is_empty() => {
                    self.has_no_list = true;
                }
                Err(error) => {
                    (incomplete, is_truncated) = (Some(error), true);
                    break;
                }
            }
        }
        let request = |id: &String| {
            let (control_plane, id) = (control_plane.clone(), id.clone());
            async move { control_plane.deployment_row(&id).await }
        };
        let pinned: Vec<_> = pinned
            .iter()
            .filter(|_| self.has_no_list)
            .map(request)
            .collect();
        let mut pinned = futures::stream::iter(pinned).buffered(MAX_CONCURRENCY);
        while let Some(row) = pinned.next().await {
            match row {
                Ok(row) => drop(add(row, &mut unread)),
                // After an error the next deployment is requested, unless the key was rejected.
                Err(error) => {
                    let refused = error.kind == Kind::Unauthorized;
                    // A deployment that doesn't exist doesn't count as a failed read.
                    is_truncated |= error.kind != Kind::NotFound;
                    incomplete = Some(error);
                    if refused {
                        break;
                    }
                }
            }
        }
        let incomplete = incomplete.or_else(|| Some(control_plane.odd(unread.sentence()?)));
        let result = match incomplete {
            Some(error) if items.is_empty() => Err(error),
            incomplete => Ok(Listing {
                items,
                incomplete,
                unread,
            }),
        };
        self.is_first &= result.is_err();
        (
            result,
            is_truncated,
            pages.count().max(1),
            control_plane.skew(),
        )
    }
}

/// Requests the newest revisions of a profile's deployments, most important first: unknown ones once, and those in progress
/// repeatedly.
#[boxed]
pub async fn newest(services: &Services, profile: &str, mut params: ParamsReceiver, out: &Out) {
    let mut polled: HashMap<Arc<str>, RevisionPoll> = HashMap::new();
    let mut in_flight = FuturesUnordered::new();
    let mut pending: Vec<Arc<str>> = Vec::new();
    let random = fastrand::f64();
    loop {
        let current = params.borrow_and_update().clone();
        let now = Instant::now();
        let mut next: Option<Instant> = None;
        for wanted in current
            .newest
            .iter()
            .filter(|w| !pending.contains(&w.revision))
            .collect::<Vec<_>>()
        {
            let due = polled
                .get(&wanted.revision)
                .map(|poll| poll.due(wanted, current.pace, &services.poll, random));
            match due.filter(|due| *due > now || services.is_unpolled(profile)) {
                Some(_) if services.is_unpolled(profile) => {}
                Some(due) => next = Some(next.map_or(due, |n: Instant| n.min(due))),
                // Invisible rows use at most half of the concurrent requests.
                None if pending.len()
                    < if wanted.seen {
                        MAX_CONCURRENCY
                    } else {
                        MAX_CONCURRENCY / 2
                    } =>
                {
                    pending.push(wanted.revision.clone());
                    let wanted = wanted.clone();
                    in_flight.push(async move {
                        let found =
                            read_revision(services, profile, &wanted.deployment, &wanted.revision)
                                .await;
                        (wanted, found)
                    });
                }
                None => break,
            }
        }
        tokio::select! {
            Some((wanted, revision)) = in_flight.next() => {
                pending.retain(|id| *id != wanted.revision);
                // Limits the memory of a long session. Requesting a revision again does no harm.
                if polled.len() > MAX_REMEMBERED {
                    polled.clear();
                }
                polled.entry(wanted.revision).or_insert_with(RevisionPoll::new).update(revision.as_ref());
                services.apply_error(profile, revision.as_ref().err());
                let stop =
                    revision.as_ref().is_err_and(|e| matches!(e.kind, Kind::Unauthorized | Kind::Refused | Kind::NoKey));
                if !out.send(SubscriptionEvent::Newest { deployment: wanted.deployment, revision }).await || stop {
                    return;
                }
            }
            changed = params.changed() => if changed.is_err() { return },
            () = super::poll_schedule::sleep_until(next), if next.is_some() => {}
        }
    }
}

/// Reads the explanation of a failed revision once.
#[boxed]
pub async fn card(services: &Services, of: &RevisionRef, out: &Out) {
    // Scrolling past a deployment must not read its log.
    tokio::time::sleep(SELECTION_DELAY).await;
    let card = services.noted(
        &of.profile,
        super::effects::card(services, of, "", &[]).await,
    );
    if out.send(SubscriptionEvent::Card(card)).await {
        // The subscription ends once the explanation is stored.
        std::future::pending::<()>().await;
    }
}

/// The poll state of one revision.
struct RevisionPoll {
    at: Instant,
    /// Number of failed requests in a row.
    failures: u32,
    status: String,
    /// Since when it has this status.
    since: Instant,
}

impl RevisionPoll {
    fn new() -> RevisionPoll {
        RevisionPoll {
            at: Instant::now(),
            failures: 0,
            status: String::new(),
            since: Instant::now(),
        }
    }

    fn update(&mut self, response: Result<&Revision, &ApiError>) {
        self.at = Instant::now();
        match response {
            Err(_) => self.failures = (self.failures + 1).min(10),
            Ok(revision) => {
                self.failures = 0;
                if self.status != revision.status {
                    (self.status, self.since) = (revision.status.clone(), self.at);
                }
            }
        }
    }

    /// Returns when to request it again. One whose status hasn't changed for longer than the time limit is requested rarely.
    fn due(&self, wanted: &WantedRevision, pace: Pace, poll: &Poll, random: f64) -> Instant {
        let wait = match self.failures {
            0 if wanted.moving && self.since.elapsed() < poll.timeout => {
                vary(moving_pause(poll.interval, pace, None), random)
            }
            0 if wanted.moving => pause(poll.interval, Pace::Slow),
            // Final by now, but the list doesn't show that yet.
            0 => poll.interval,
            failures => (MIN_PAUSE * 2u32.saturating_pow(failures)).min(poll.interval),
        };
        self.at + wait
    }
}

/// Reads a revision. The secrets of its deployment are masked.
async fn read_revision(
    services: &Services,
    profile: &str,
    deployment: &str,
    id: &str,
) -> Result<Revision, ApiError> {
    let control_plane = services.control_plane(profile).await?;
    let row = control_plane.revision_row(deployment, id).await?;
    control_plane.read_revision(services.without_secrets(profile, deployment, row))
}

/// The time limit of a poll: how long a revision may be in progress before polling stops.
struct PollTimeout {
    limit: Duration,
    in_progress_since: Option<(String, Instant)>,
}

impl PollTimeout {
    /// Returns whether a revision has been in progress for longer than the limit.
    fn is_exceeded(&mut self, id: &str) -> bool {
        let since = match &self.in_progress_since {
            Some((known, since)) if known == id => *since,
            _ => Instant::now(),
        };
        self.in_progress_since = Some((id.to_string(), since));
        since.elapsed() > self.limit
    }
}

/// Polls the revisions of a deployment.
#[boxed]
pub async fn revisions(
    services: &Services,
    profile: &str,
    id: &str,
    limit: usize,
    mut params: ParamsReceiver,
    out: &Out,
) {
    // Scrolling past a deployment must not request its revisions.
    tokio::time::sleep(SELECTION_DELAY).await;
    let mut timeout = PollTimeout {
        limit: services.poll.timeout,
        in_progress_since: None,
    };
    let mut schedule = PollSchedule::new();
    loop {
        schedule.begin_request();
        let result = services.noted(profile, read_revisions(services, profile, id, limit).await);
        let active = result
            .as_ref()
            .ok()
            .and_then(|r| r.items.first())
            .filter(|r| !r.phase().is_final());
        let timed_out = active.is_some_and(|r| timeout.is_exceeded(&r.id));
        let skew = services
            .control_plane(profile)
            .await
            .map(|control| control.skew())
            .unwrap_or_default();
        // One without a time is not known to be young.
        let created = active.map(|revision| revision.created_at.unwrap_or(Timestamp::UNIX_EPOCH));
        let interval = |pace| match created {
            Some(created) => {
                let age = Timestamp::now().duration_since(created) + skew;
                moving_pause(services.poll.interval, speed_up(pace, true), Some(age))
            }
            None => pause(services.poll.interval, pace),
        };
        let next = match schedule.end_request(result.as_ref().err()) {
            _ if timed_out => NextPoll::GaveUp,
            true if services.is_unpolled(profile) => NextPoll::Off,
            true => NextPoll::At(schedule.due_at(interval(params.borrow().pace))),
            false => NextPoll::Stopped,
        };
        if !out.send(SubscriptionEvent::Revisions(result, next)).await
            || !matches!(next, NextPoll::At(_))
        {
            return;
        }
        schedule.wait(&mut params, interval).await;
    }
}

pub(super) async fn read_revisions(
    services: &Services,
    profile: &str,
    id: &str,
    limit: usize,
) -> Result<Revisions, ApiError> {
    let control_plane = services.control_plane(profile).await?;
    let Revisions {
        items: rows,
        was_sorted,
        mut unread,
    } = control_plane.revision_rows(id, limit).await?;
    let read = |row| control_plane.read_revision(services.without_secrets(profile, id, row));
    let items = rows
        .into_iter()
        .filter_map(|row| unread.keep(read(row)))
        .collect();
    Ok(Revisions {
        items,
        was_sorted,
        unread,
    })
}

/// Polls a deployment that is being deleted until the server no longer finds it. Deletion is soft: the record stays readable
/// for a while (control-plane reference §4).
#[boxed]
pub async fn deletion(
    services: &Services,
    profile: &str,
    id: &str,
    params: ParamsReceiver,
    out: &Out,
) {
    let read = || async move {
        let control_plane = services.control_plane(profile).await?;
        let row = control_plane.deployment_row(id).await?;
        control_plane.read_deployment(services.keep_secrets(profile, row))
    };
    let event = SubscriptionEvent::Deleting;
    until_final(services, (profile, id), read, |_| false, event, params, out).await
}

/// Polls a watched revision until it is final.
#[boxed]
pub async fn watch(services: &Services, of: &RevisionRef, params: ParamsReceiver, out: &Out) {
    let read = || read_revision(services, &of.profile, &of.deployment, &of.revision);
    let is_final = |revision: &Revision| revision.phase().is_final();
    let (of, event) = ((&*of.profile, &*of.revision), SubscriptionEvent::Watched);
    until_final(services, of, read, is_final, event, params, out).await
}

/// Polls an object of a profile until it is final or gone. The pace doesn't depend on the focus of the window.
async fn until_final<T, R: Future<Output = Result<T, ApiError>>>(
    services: &Services,
    (profile, id): (&str, &str),
    read: impl Fn() -> R,
    is_final: impl Fn(&T) -> bool,
    event: impl Fn(Result<T, ApiError>, NextPoll) -> SubscriptionEvent,
    mut params: ParamsReceiver,
    out: &Out,
) {
    let mut timeout = PollTimeout {
        limit: services.poll.timeout,
        in_progress_since: None,
    };
    let mut schedule = PollSchedule::new();
    loop {
        schedule.begin_request();
        let result = services.noted(profile, read().await);
        let is_over = match &result {
            Ok(object) => is_final(object),
            Err(error) => error.kind == Kind::NotFound,
        };
        let timed_out = timeout.is_exceeded(id);
        let continues = schedule.end_request(result.as_ref().err());
        let interval = |_| pause(services.poll.interval, Pace::Fast);
        let next = match continues && !is_over {
            _ if timed_out && !is_over => NextPoll::GaveUp,
            true => NextPoll::At(schedule.due_at(interval(Pace::Fast))),
            false => NextPoll::Stopped,
        };
        if !out.send(event(result, next)).await || !matches!(next, NextPoll::At(_)) {
            return;
        }
        schedule.wait(&mut params, interval).await;
    }
}

/// Polls a log for new lines. A failed request loses none, because the next one returns them. A quiet log is polled less
/// often.
#[boxed]
pub async fn log(
    services: &Services,
    (profile, scope, filter): (&str, LogScope, LogFilter),
    mut params: ParamsReceiver,
    out: &Out,
) {
    let mut follower: Option<LogFollower> = None;
    let mut schedule = PollSchedule::new();
    let mut quiet = 0u32;
    loop {
        schedule.begin_request();
        let result = match (services.control_plane(profile).await, &mut follower) {
            (Err(error), _) => Err(error),
            (Ok(control_plane), follower) => {
                let new_follower =
                    || LogFollower::new(control_plane, scope.clone(), filter.clone(), LOG_TAIL);
                follower.get_or_insert_with(new_follower).poll().await
            }
        };
        let result = result.map(|lines| services.mask_lines(profile, &scope.deployment, lines));
        services.apply_error(profile, result.as_ref().err());
        quiet = if result.as_ref().is_ok_and(Vec::is_empty) {
            (quiet + 1).min(MAX_QUIET)
        } else {
            0
        };
        let continues = schedule.end_request(result.as_ref().err());
        let incomplete = follower.as_ref().is_some_and(LogFollower::is_incomplete);
        // Empty results are sent too, because the first one shows that the log is empty.
        if !out
            .send(SubscriptionEvent::Lines {
                lines: result,
                incomplete,
            })
            .await
            || !continues
        {
            return;
        }
        let usual = LOG_PAUSE * (1 + quiet / 5);
        schedule
            .wait(&mut params, |pace| {
                if pace == Pace::Slow { usual * 5 } else { usual }
            })
            .await;
    }
}

/// Polls the runs of a thread, newest first.
#[boxed]
pub async fn runs(
    services: &Services,
    server: &ServerRef,
    thread: &str,
    limit: usize,
    mut params: ParamsReceiver,
    out: &Out,
) {
    let mut schedule = PollSchedule::new();
    loop {
        schedule.begin_request();
        let result = services.noted(
            &server.profile,
            async {
                services
                    .agent_server(server)
                    .await?
                    .runs(thread, limit)
                    .await
            }
            .await,
        );
        let continues = schedule.end_request(result.as_ref().err());
        if !out.send(SubscriptionEvent::Runs(result)).await || !continues {
            return;
        }
        schedule.wait(&mut params, list_pause).await;
    }
}

/// Returns the pause between two requests for a list of an agent server.
pub(super) fn list_pause(pace: Pace) -> Duration {
    if pace == Pace::Slow {
        LIST_PAUSE * 5
    } else {
        LIST_PAUSE
    }
}
