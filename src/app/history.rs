//! The revisions of one deployment, with the time spent in each status as we saw it.

use super::msg::NextPoll;
use crate::api::ApiError;
use crate::model::{Deployment, Phase, Revision, RevisionRole, Roles};
use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;

/// A status and since when it was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The status word.
    pub status: String,
    /// When it was first seen.
    pub since: Timestamp,
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
    /// Whether the server had sorted the list, as it promises.
    pub was_sorted: bool,
}

impl History {
    /// Takes a newer list. `skew` is what the server's clock is ahead of ours.
    pub fn take(&mut self, revisions: Vec<Revision>, at: Timestamp, skew: SignedDuration) {
        let first_time = self.loaded_at.is_none();
        for revision in &revisions {
            let seen = self.seen.entry(revision.id.clone()).or_default();
            if seen.last().is_none_or(|last| last.status != revision.status) {
                // A revision that appears between two polls is seen from its beginning, near enough; a status that
                // changes between two polls as well.
                let fresh = !first_time || !seen.is_empty();
                let since = match (seen.is_empty(), revision.created_at) {
                    (true, Some(created)) if fresh => created.checked_sub(skew).unwrap_or(created).min(at),
                    _ => at,
                };
                seen.push(Seen { status: revision.status.clone(), since, from_start: fresh });
            }
        }
        self.seen.retain(|id, _| revisions.iter().any(|r| &r.id == id));
        self.revisions = revisions;
        self.loaded_at = Some(at);
    }

    /// What a revision is for its deployment: the server's word where it gave one, else from the list. `as_of` is when the
    /// server gave that word.
    pub fn role(&self, revision: &Revision, deployment: Option<&Deployment>, as_of: Option<Timestamp>) -> RevisionRole {
        let newest = self.revisions.iter().find(|r| r.phase() == Phase::Deployed);
        // A revision that was seen to become DEPLOYED after the deployment's record was read took over since.
        let took_over = newest.filter(|r| {
            let deployed = self.seen.get(&r.id).and_then(|s| s.last());
            deployed.is_some_and(|s| s.from_start && as_of.is_none_or(|at| s.since > at))
        });
        let active = deployment.and_then(|d| d.active_revision_id.as_deref());
        let serving = took_over.map(|r| r.id.as_str()).or(active);
        Roles::new(serving, newest.map(|r| (r.id.as_str(), r.status.as_str()))).of(&revision.id, &revision.status)
    }

    /// Statuses of a revision with the time spent in each; the last one counts until `now` unless it is final.
    pub fn phases(&self, id: &str, now: Timestamp) -> Vec<(String, std::time::Duration, bool)> {
        let Some(seen) = self.seen.get(id) else { return Vec::new() };
        let ends = seen.iter().skip(1).map(|s| s.since).chain([now]);
        let pairs = seen.iter().zip(ends);
        pairs
            .filter(|(s, _)| !Phase::of(&s.status).is_final())
            .map(|(s, end)| {
                (s.status.clone(), std::time::Duration::try_from(end - s.since).unwrap_or_default(), s.from_start)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(id: &str, status: &str) -> Revision {
        Revision { id: id.into(), status: status.into(), ..Revision::default() }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    #[test]
    fn time_in_each_status_is_what_was_seen() {
        let mut history = History::default();
        history.take(vec![revision("b", "QUEUED"), revision("a", "DEPLOYED")], at(0), SignedDuration::ZERO);
        history.take(vec![revision("b", "BUILDING"), revision("a", "DEPLOYED")], at(20), SignedDuration::ZERO);
        history.take(vec![revision("b", "BUILDING"), revision("a", "DEPLOYED")], at(40), SignedDuration::ZERO);
        let phases = history.phases("b", at(50));
        let shown: Vec<(&str, u64, bool)> = phases.iter().map(|(s, d, f)| (s.as_str(), d.as_secs(), *f)).collect();
        assert_eq!(shown, [("QUEUED", 20, false), ("BUILDING", 30, true)]);
        history.take(vec![revision("b", "DEPLOYED"), revision("a", "DEPLOYED")], at(60), SignedDuration::ZERO);
        assert_eq!(history.phases("b", at(99)).len(), 2, "a final status takes no time");
        assert_eq!(history.role(&history.revisions[0], None, None), RevisionRole::Serving);
        assert_eq!(history.role(&history.revisions[1], None, None), RevisionRole::Superseded);
        // The server's word counts from when it was given: here it was rolled back after what was seen.
        let rolled_back = Deployment { active_revision_id: Some("a".into()), ..Deployment::default() };
        assert_eq!(history.role(&history.revisions[1], Some(&rolled_back), Some(at(70))), RevisionRole::Serving);
        assert_eq!(history.role(&history.revisions[0], Some(&rolled_back), Some(at(70))), RevisionRole::Superseded);
        assert_eq!(history.role(&history.revisions[0], Some(&rolled_back), Some(at(50))), RevisionRole::Serving);
    }
}
