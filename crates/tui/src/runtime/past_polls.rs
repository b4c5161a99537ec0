//! Reads the past of the deployments on the screen: the revisions of the last day, and the subjects of commits.

use super::out::Out;
use super::poll_schedule::ParamsReceiver;
use super::polls::{MAX_REMEMBERED, read_revisions};
use super::services::Services;
use crate::boxed;
use crate::features::deployments::last_day::MAX_REVISIONS;
use crate::session::msg::{SubscriptionEvent, WantedSubject};
use runtail_api::{ApiError, Kind, LogAsk, LogFilter, LogKind, LogScope, Revisions};
use runtail_core::model::LogLine;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The pause after a failure.
const RETRY: Duration = Duration::from_secs(60);
/// The pause until the log of a running build is read again.
const BUILDING_RETRY: Duration = Duration::from_secs(5);
/// Lines of a build log that are read: a build begins with the checkout.
const LOG_HEAD: usize = 100;

/// What was requested, and when to request it again after a failure.
struct Requested<K>(HashMap<K, Option<Instant>>);

impl<K: Eq + Hash + Clone> Requested<K> {
    fn new() -> Requested<K> {
        Requested(HashMap::new())
    }

    /// Returns the first of these that is to be requested now.
    fn due(&self, wanted: &[K]) -> Option<K> {
        let is_due = |of: &&K| {
            self.0
                .get(*of)
                .is_none_or(|again| again.is_some_and(|at| at <= Instant::now()))
        };
        wanted.iter().find(is_due).cloned()
    }

    /// Returns when the first of these is to be requested again.
    fn again(&self, wanted: &[K]) -> Option<Instant> {
        wanted.iter().filter_map(|of| *self.0.get(of)?).min()
    }

    fn insert(&mut self, of: K, again: Option<Duration>) {
        if self.0.len() > MAX_REMEMBERED {
            self.0.clear();
        }
        self.0.insert(of, again.map(|pause| Instant::now() + pause));
    }
}

/// Reads the revisions of the last day of a profile's deployments, each once, and the subjects of their commits; after a failure again
/// after a pause.
#[boxed]
pub async fn past(services: &Services, profile: &str, mut params: ParamsReceiver, out: &Out) {
    let (mut days, mut subjects) = (Requested::new(), Requested::new());
    // Some keys may not read logs. The rows are complete without subjects.
    let mut may_read_logs = true;
    loop {
        let mut wanted = params.borrow_and_update().clone();
        if !may_read_logs {
            wanted.subjects = Arc::new([]);
        }
        let event = if let Some(of) = days.due(&wanted.past) {
            let result = services.noted(
                profile,
                read_revisions(services, profile, &of.0, MAX_REVISIONS).await,
            );
            days.insert(of.clone(), result.is_err().then_some(RETRY));
            match result {
                Ok(Revisions {
                    items: revisions, ..
                }) => SubscriptionEvent::Past {
                    deployment: of.0,
                    revisions,
                },
                Err(error)
                    if matches!(error.kind, Kind::Unauthorized | Kind::Refused | Kind::NoKey) =>
                {
                    return;
                }
                Err(_) => continue,
            }
        } else if let Some(of) = subjects.due(&wanted.subjects) {
            let result = services.noted(profile, read_subject(services, profile, &of).await);
            let is_early = of.is_building && matches!(result, Ok(None));
            subjects.insert(
                of.clone(),
                result
                    .is_err()
                    .then_some(RETRY)
                    .or(is_early.then_some(BUILDING_RETRY)),
            );
            match result {
                _ if is_early => continue,
                Ok(subject) => SubscriptionEvent::CommitSubject {
                    revision: of.revision,
                    commit: of.commit,
                    subject,
                },
                Err(error) if error.kind == Kind::Unauthorized => return,
                Err(error) => {
                    may_read_logs &= !matches!(error.kind, Kind::Refused | Kind::NoKey);
                    continue;
                }
            }
        } else {
            let again = [days.again(&wanted.past), subjects.again(&wanted.subjects)]
                .into_iter()
                .flatten()
                .min();
            tokio::select! {
                changed = params.changed() => if changed.is_err() { return },
                () = super::poll_schedule::sleep_until(again), if again.is_some() => {}
            }
            continue;
        };
        if !out.send(event).await {
            return;
        }
    }
}

/// Reads the subject of the commit of a revision from the beginning of its build log. A missing log has none.
async fn read_subject(
    services: &Services,
    profile: &str,
    of: &WantedSubject,
) -> Result<Option<String>, ApiError> {
    let control_plane = services.control_plane(profile).await?;
    let (deployment, revision) = (of.deployment.to_string(), Some(of.revision.to_string()));
    let scope = LogScope {
        deployment,
        revision,
        kind: LogKind::Build,
    };
    let ask = LogAsk {
        limit: LOG_HEAD,
        ..LogAsk::default()
    };
    let rows = match control_plane
        .log_page(&scope, &LogFilter::default(), &ask)
        .await
    {
        Err(error) if error.kind == Kind::NotFound => return Ok(None),
        page => page?.rows,
    };
    let found = rows
        .into_iter()
        .take(LOG_HEAD)
        .map(LogLine::from)
        .find(|line| line.commit_subject().is_some());
    let line = services
        .mask_lines(profile, &of.deployment, found.into_iter().collect())
        .pop();
    Ok(line
        .as_ref()
        .and_then(LogLine::commit_subject)
        .map(str::to_string))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_failed_is_requested_again() {
        let mut requested = Requested::new();
        assert_eq!(requested.due(&["a", "b"]), Some("a"));
        requested.insert("a", Some(RETRY));
        requested.insert("b", None);
        assert_eq!(requested.due(&["a", "b"]), None);
        assert!(requested.again(&["a", "b"]).is_some() && requested.again(&["b"]).is_none());
        requested.insert("a", Some(Duration::ZERO));
        assert_eq!(requested.due(&["b", "a"]), Some("a"));
    }
}
