//! The revisions of one deployment, with the time spent in each status as we saw it.

use super::list::Listed;
use crate::session::msg::NextPoll;
use jiff::{SignedDuration, Timestamp};
use runtail_api::{ApiError, Revisions};
use runtail_core::model::{Phase, Revision, Roles};
use std::collections::HashMap;

/// How much later than promised a poll may come and still have seen all there was to see.
const LATE: SignedDuration = SignedDuration::from_secs(15);

/// Deployments whose revisions are kept. The user returns to few of the rows that were scrolled past.
pub const MOST: usize = 200;

/// Evicts the least recently loaded revisions over the limit, except those of one row.
pub fn make_room(histories: &mut HashMap<String, History>, but: &str) {
    while histories.len() > MOST {
        let others = histories.iter().filter(|(row, _)| *row != but);
        let Some(oldest) = others.min_by_key(|(_, history)| history.loaded_at).map(|(row, _)| row.clone()) else {
            return;
        };
        histories.remove(&oldest);
    }
}

/// A status and since when it was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The status word.
    pub status: String,
    /// When it was first seen.
    pub since: Timestamp,
    /// When it was last seen, or seen to be over.
    pub until: Timestamp,
    /// Whether its beginning was seen too; else it may be older.
    pub from_start: bool,
}

/// What is known of a deployment's revisions.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Newest first.
    pub revisions: Vec<Revision>,
    /// Per revision the statuses that were seen, oldest first.
    pub seen: HashMap<String, Vec<Seen>>,
    /// When the list was last answered.
    pub loaded_at: Option<Timestamp>,
    /// When it will be asked for again.
    pub next_poll: Option<NextPoll>,
    /// Why the last request failed.
    pub error: Option<ApiError>,
    /// Whether the server's list was sorted, as documented.
    pub was_sorted: bool,
}

impl History {
    /// Takes what a poll answered, and when it asks again. `skew` is what the server's clock is ahead of ours.
    pub fn take(&mut self, result: Result<Revisions, ApiError>, next: NextPoll, at: Timestamp, skew: SignedDuration) {
        // Who looked elsewhere meanwhile, or slept, or got no answer, did not see what happened.
        let promised = match self.next_poll.replace(next) {
            Some(NextPoll::At(promised)) => Some(promised),
            _ => None,
        };
        let watched =
            self.loaded_at.is_some() && self.error.is_none() && promised.is_some_and(|promised| at <= promised + LATE);
        let revisions = match result {
            Ok(Revisions { items, was_sorted }) => {
                (self.error, self.was_sorted) = (None, was_sorted);
                items
            }
            Err(error) => return self.error = Some(error),
        };
        for revision in &revisions {
            let seen = self.seen.entry(revision.id.clone()).or_default();
            if let Some(last) = seen.last_mut().filter(|last| last.status == revision.status) {
                last.until = at;
                continue;
            }
            // A revision that appears between two polls is seen from its beginning, near enough; a status that changes
            // between two polls as well.
            let since = match (seen.is_empty(), revision.created_at) {
                (true, Some(created)) if watched => created.checked_sub(skew).unwrap_or(created).min(at),
                _ => at,
            };
            if let Some(last) = seen.last_mut().filter(|_| watched) {
                last.until = at;
            }
            seen.push(Seen { status: revision.status.clone(), since, until: at, from_start: watched });
        }
        self.seen.retain(|id, _| revisions.iter().any(|r| &r.id == id));
        self.revisions = revisions;
        self.loaded_at = Some(at);
    }

    /// What each revision is for its deployment: the server's word where it gave one, else from the list. `as_of` is when
    /// the server gave that word.
    pub fn roles(&self, deployment: Option<&Listed>, as_of: Option<Timestamp>) -> Roles {
        let newest = self.revisions.iter().find(|r| r.phase() == Phase::Deployed);
        // A revision that was seen to become DEPLOYED after the deployment's record was read took over since.
        let took_over = newest.filter(|r| {
            let deployed = self.seen.get(&r.id).and_then(|s| s.last());
            deployed.is_some_and(|s| s.from_start && as_of.is_none_or(|at| s.since > at))
        });
        let active = deployment.and_then(|d| d.active_revision_id.as_deref());
        let serving = took_over.map(|r| r.id.as_str()).or(active);
        Roles::new(serving, newest.map(|r| (r.id.as_str(), r.status.as_str())))
    }

    /// Statuses of a revision with the time that each was seen for, and whether that is all of it; the last one counts
    /// until `now` unless it is final.
    pub fn phases(&self, id: &str, now: Timestamp) -> Vec<(String, std::time::Duration, bool)> {
        let Some(seen) = self.seen.get(id) else { return Vec::new() };
        let count = seen.len();
        let phases = seen.iter().enumerate().filter(|(_, s)| !Phase::of(&s.status).is_final());
        phases
            .map(|(i, s)| {
                let end = if i + 1 == count { now } else { s.until };
                let spent = std::time::Duration::try_from(end - s.since).unwrap_or_default();
                // What came next was there already when one looked again.
                let to_end = seen.get(i + 1).is_none_or(|next| next.from_start);
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
        Revision { id: id.into(), status: status.into(), ..Revision::default() }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    /// A poll that answers at a time and promises the next one in 20 s.
    fn take(history: &mut History, second: i64, statuses: &[(&str, &str)]) {
        let items = statuses.iter().map(|(id, status)| revision(id, status)).collect();
        let revisions = Revisions { items, was_sorted: true };
        history.take(Ok(revisions), NextPoll::At(at(second + 20)), at(second), SignedDuration::ZERO);
    }

    fn shown(history: &History, id: &str, second: i64) -> Vec<(String, u64, bool)> {
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
    fn time_in_each_status_is_what_was_seen() {
        let mut history = History::default();
        take(&mut history, 0, &[("b", "QUEUED"), ("a", "DEPLOYED")]);
        take(&mut history, 20, &[("b", "BUILDING"), ("a", "DEPLOYED")]);
        take(&mut history, 40, &[("b", "BUILDING"), ("a", "DEPLOYED")]);
        assert_eq!(shown(&history, "b", 50), [phase("QUEUED", 20, false), phase("BUILDING", 30, true)]);
        take(&mut history, 60, &[("b", "DEPLOYED"), ("a", "DEPLOYED")]);
        assert_eq!(history.phases("b", at(99)).len(), 2, "a final status takes no time");
        let role = |id: &str, deployment: Option<&Listed>, as_of: Option<i64>| {
            history.roles(deployment, as_of.map(at)).of(id, "DEPLOYED")
        };
        assert_eq!(role("b", None, None), RevisionRole::Serving);
        assert_eq!(role("a", None, None), RevisionRole::Superseded);
        // The server's word counts from when it was given: here it was rolled back after what was seen.
        let rolled_back = Listed::from(Deployment { active_revision_id: Some("a".into()), ..Deployment::default() });
        assert_eq!(role("a", Some(&rolled_back), Some(70)), RevisionRole::Serving);
        assert_eq!(role("b", Some(&rolled_back), Some(70)), RevisionRole::Superseded);
        assert_eq!(role("b", Some(&rolled_back), Some(50)), RevisionRole::Serving);
    }

    #[test]
    fn what_happened_while_nobody_looked_is_not_made_up() {
        let mut history = History::default();
        take(&mut history, 0, &[("b", "QUEUED")]);
        take(&mut history, 20, &[("b", "QUEUED")]);
        // Half an hour elsewhere: it was built meanwhile, and another one was made.
        take(&mut history, 1800, &[("c", "BUILDING"), ("b", "DEPLOYING")]);
        assert_eq!(shown(&history, "b", 1810), [phase("QUEUED", 20, false), phase("DEPLOYING", 10, false)]);
        assert_eq!(shown(&history, "c", 1810), [phase("BUILDING", 10, false)]);
        // Nor is what happened while every look failed.
        let error =
            ApiError { kind: runtail_api::Kind::Network, at: Default::default(), detail: String::new(), hint: None };
        for second in [1820, 1840] {
            history.take(Err(error.clone()), NextPoll::At(at(second + 20)), at(second), SignedDuration::ZERO);
        }
        take(&mut history, 1860, &[("c", "DEPLOYING"), ("b", "DEPLOYED")]);
        assert_eq!(shown(&history, "c", 1870), [phase("BUILDING", 0, false), phase("DEPLOYING", 10, false)]);
    }
}
