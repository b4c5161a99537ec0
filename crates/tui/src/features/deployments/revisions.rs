//! The revisions of one deployment, with the time that each was observed in each status.

use super::list::Listed;
use crate::session::msg::NextPoll;
use jiff::{SignedDuration, Timestamp};
use runtail_api::{ApiError, Revisions};
use runtail_core::model::{Phase, Revision, Roles};
use std::collections::HashMap;

/// Maximum delay of a poll after its scheduled time. After a longer delay, statuses may have been missed.
const MAX_DELAY: SignedDuration = SignedDuration::from_secs(15);

/// Maximum deployments whose revisions are kept. The user returns to few of the rows that were scrolled past.
pub const MAX_HISTORIES: usize = 200;

/// Evicts the least recently loaded revisions over the limit, except those of one row.
pub fn make_room(histories: &mut HashMap<String, RevisionHistory>, except: &str) {
    while histories.len() > MAX_HISTORIES {
        let others = histories.iter().filter(|(row, _)| *row != except);
        let Some(oldest) = others
            .min_by_key(|(_, history)| history.loaded_at)
            .map(|(row, _)| row.clone())
        else {
            return;
        };
        histories.remove(&oldest);
    }
}

/// A period in which a revision was observed in a status.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusPeriod {
    /// The status word.
    pub status: String,
    /// When it was first observed.
    pub since: Timestamp,
    /// When it was last observed, or observed to have ended.
    pub until: Timestamp,
    /// Whether its beginning was observed; otherwise it may have begun earlier.
    pub from_start: bool,
}

/// The known revisions of a deployment.
#[derive(Debug, Clone, Default)]
pub struct RevisionHistory {
    /// Newest first.
    pub revisions: Vec<Revision>,
    /// The observed statuses of each revision, oldest first.
    pub periods: HashMap<String, Vec<StatusPeriod>>,
    /// When the list was last loaded.
    pub loaded_at: Option<Timestamp>,
    /// When it is polled again.
    pub next_poll: Option<NextPoll>,
    /// Why the last request failed.
    pub error: Option<ApiError>,
    /// Whether the server's list was sorted by date, as documented.
    pub was_sorted: bool,
    /// Says which rows of it couldn't be read.
    pub unread: Option<String>,
}

impl RevisionHistory {
    /// Applies the result of a poll, and when it polls again. `skew`: how far the server's clock is ahead of ours.
    pub fn apply(
        &mut self,
        result: Result<Revisions, ApiError>,
        next: NextPoll,
        at: Timestamp,
        skew: SignedDuration,
    ) {
        // After a break (another selection, system sleep, a failed poll) statuses may have been missed.
        let scheduled = match self.next_poll.replace(next) {
            Some(NextPoll::At(at)) => Some(at),
            _ => None,
        };
        let is_continuous = self.loaded_at.is_some()
            && self.error.is_none()
            && scheduled.is_some_and(|scheduled| at <= scheduled + MAX_DELAY);
        let revisions = match result {
            Ok(Revisions {
                items,
                was_sorted,
                unread,
            }) => {
                (self.error, self.was_sorted, self.unread) = (None, was_sorted, unread.sentence());
                items
            }
            Err(error) => return self.error = Some(error),
        };
        for revision in &revisions {
            let periods = self.periods.entry(revision.id.clone()).or_default();
            if let Some(last) = periods
                .last_mut()
                .filter(|last| last.status == revision.status)
            {
                last.until = at;
                continue;
            }
            // A revision that appears between two polls counts as observed from its beginning, and so does a status that
            // changes between two polls.
            let since = match (periods.is_empty(), revision.created_at) {
                (true, Some(created)) if is_continuous => {
                    created.checked_sub(skew).unwrap_or(created).min(at)
                }
                _ => at,
            };
            if let Some(last) = periods.last_mut().filter(|_| is_continuous) {
                last.until = at;
            }
            periods.push(StatusPeriod {
                status: revision.status.clone(),
                since,
                until: at,
                from_start: is_continuous,
            });
        }
        self.periods
            .retain(|id, _| revisions.iter().any(|r| &r.id == id));
        self.revisions = revisions;
        self.loaded_at = Some(at);
    }

    /// Returns the role of each revision: as the server reports it, otherwise derived from the list. `as_of`: when the server
    /// reported it.
    pub fn roles(&self, deployment: Option<&Listed>, as_of: Option<Timestamp>) -> Roles {
        let newest = self.revisions.iter().find(|r| r.phase() == Phase::Deployed);
        // A revision that was observed to become DEPLOYED after the deployment's record was loaded is serving now.
        let took_over = newest.filter(|r| {
            let deployed = self.periods.get(&r.id).and_then(|s| s.last());
            deployed.is_some_and(|s| s.from_start && as_of.is_none_or(|at| s.since > at))
        });
        let active = deployment.and_then(|d| d.active_revision_id.as_deref());
        let serving = took_over.map(|r| r.id.as_str()).or(active);
        Roles::new(serving, newest.map(|r| (r.id.as_str(), r.status.as_str())))
    }

    /// Returns the statuses of a revision with the time that each was observed, and whether it was observed in full. The last
    /// one counts until `now` unless it is final.
    pub fn phases(&self, id: &str, now: Timestamp) -> Vec<(String, std::time::Duration, bool)> {
        let Some(periods) = self.periods.get(id) else {
            return Vec::new();
        };
        let count = periods.len();
        let phases = periods
            .iter()
            .enumerate()
            .filter(|(_, s)| !Phase::of(&s.status).is_final());
        phases
            .map(|(i, s)| {
                let end = if i + 1 == count { now } else { s.until };
                let spent = std::time::Duration::try_from(end - s.since).unwrap_or_default();
                // If the beginning of the next status was missed, the end of this one was missed too.
                let to_end = periods.get(i + 1).is_none_or(|next| next.from_start);
                (s.status.clone(), spent, s.from_start && to_end)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtail_core::model::{Deployment, RevisionRole};

    fn revision(id: &str, status: &str) -> Revision {
        Revision {
            id: id.into(),
            status: status.into(),
            ..Revision::default()
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    /// Applies a poll at a time that schedules the next one in 20 s.
    fn apply(history: &mut RevisionHistory, second: i64, statuses: &[(&str, &str)]) {
        let items = statuses
            .iter()
            .map(|(id, status)| revision(id, status))
            .collect();
        let revisions = Revisions {
            items,
            was_sorted: true,
            unread: Default::default(),
        };
        history.apply(
            Ok(revisions),
            NextPoll::At(at(second + 20)),
            at(second),
            SignedDuration::ZERO,
        );
    }

    fn shown(history: &RevisionHistory, id: &str, second: i64) -> Vec<(String, u64, bool)> {
        history
            .phases(id, at(second))
            .into_iter()
            .map(|(status, spent, whole)| (status, spent.as_secs(), whole))
            .collect()
    }

    fn phase(status: &str, seconds: u64, whole: bool) -> (String, u64, bool) {
        (status.to_string(), seconds, whole)
    }

    #[test]
    fn the_time_in_each_status_is_what_was_observed() {
        let mut history = RevisionHistory::default();
        apply(&mut history, 0, &[("b", "QUEUED"), ("a", "DEPLOYED")]);
        apply(&mut history, 20, &[("b", "BUILDING"), ("a", "DEPLOYED")]);
        apply(&mut history, 40, &[("b", "BUILDING"), ("a", "DEPLOYED")]);
        assert_eq!(
            shown(&history, "b", 50),
            [phase("QUEUED", 20, false), phase("BUILDING", 30, true)]
        );
        apply(&mut history, 60, &[("b", "DEPLOYED"), ("a", "DEPLOYED")]);
        assert_eq!(
            history.phases("b", at(99)).len(),
            2,
            "a final status takes no time"
        );
        let role = |id: &str, deployment: Option<&Listed>, as_of: Option<i64>| {
            history.roles(deployment, as_of.map(at)).of(id, "DEPLOYED")
        };
        assert_eq!(role("b", None, None), RevisionRole::Serving);
        assert_eq!(role("a", None, None), RevisionRole::Superseded);
        // The server's report counts from its own time: here the rollback came after the observed deployment.
        let rolled_back = Listed::from(Deployment {
            active_revision_id: Some("a".into()),
            ..Deployment::default()
        });
        assert_eq!(
            role("a", Some(&rolled_back), Some(70)),
            RevisionRole::Serving
        );
        assert_eq!(
            role("b", Some(&rolled_back), Some(70)),
            RevisionRole::Superseded
        );
        assert_eq!(
            role("b", Some(&rolled_back), Some(50)),
            RevisionRole::Serving
        );
    }

    #[test]
    fn unobserved_statuses_are_not_guessed() {
        let mut history = RevisionHistory::default();
        apply(&mut history, 0, &[("b", "QUEUED")]);
        apply(&mut history, 20, &[("b", "QUEUED")]);
        // No polls for half an hour: it was built meanwhile, and another revision was created.
        apply(&mut history, 1800, &[("c", "BUILDING"), ("b", "DEPLOYING")]);
        assert_eq!(
            shown(&history, "b", 1810),
            [phase("QUEUED", 20, false), phase("DEPLOYING", 10, false)]
        );
        assert_eq!(shown(&history, "c", 1810), [phase("BUILDING", 10, false)]);
        // Statuses are unobserved also while every poll fails.
        let error = ApiError {
            kind: runtail_api::Kind::Network,
            at: Default::default(),
            detail: String::new(),
            hint: None,
        };
        for second in [1820, 1840] {
            history.apply(
                Err(error.clone()),
                NextPoll::At(at(second + 20)),
                at(second),
                SignedDuration::ZERO,
            );
        }
        apply(&mut history, 1860, &[("c", "DEPLOYING"), ("b", "DEPLOYED")]);
        assert_eq!(
            shown(&history, "c", 1870),
            [phase("BUILDING", 0, false), phase("DEPLOYING", 10, false)]
        );
    }
}
