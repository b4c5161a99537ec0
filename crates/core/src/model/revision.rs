//! A revision of a deployment, and how its status word is read.

use super::{Extra, SourceRevisionConfig, lenient, lenient_time};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One revision, as `GET /v2/deployments/{id}/revisions[/{rid}]` answers it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Revision {
    /// The identifier used in paths.
    pub id: String,
    /// The status word, as the server said it.
    #[serde(default, deserialize_with = "lenient")]
    pub status: String,
    /// When the revision was made; lists are newest first by this.
    #[serde(default, deserialize_with = "lenient_time")]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(default, deserialize_with = "lenient_time")]
    pub updated_at: Option<Timestamp>,
    /// What it was made from.
    #[serde(default, deserialize_with = "lenient")]
    pub source_revision_config: SourceRevisionConfig,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Revision {
    /// The status word, classified.
    pub fn phase(&self) -> Phase {
        Phase::of(&self.status)
    }

    /// How long it took until it was final, or has been in progress until `now`, by the server's record and clock.
    pub fn took(&self, now: Timestamp) -> Option<Duration> {
        time_taken(self.phase(), self.created_at, self.updated_at, now)
    }
}

/// A record may change long after the rollout, so that its last change says nothing of the end of a rollout that seems longer.
const LONGEST_ROLLOUT: Duration = Duration::from_secs(6 * 3600);

/// Returns how long a revision took, or has been in progress until `now`, by the times of its record and the
/// server's clock. `None` if a time is unknown or impossible, or the status says neither.
pub fn time_taken(
    phase: Phase,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    now: Timestamp,
) -> Option<Duration> {
    let until = |end: Timestamp| Duration::try_from(end.duration_since(created_at?)).ok();
    match phase {
        Phase::Waiting | Phase::Moving => until(now),
        Phase::Unknown => None,
        Phase::Deployed | Phase::Failed | Phase::Skipped | Phase::Interrupted => {
            until(updated_at?).filter(|took| *took <= LONGEST_ROLLOUT)
        }
    }
}

/// What a revision's status means. Status words are open text, so [`Phase::of`] reads the parts that the contract names
/// (contract §2) and takes every other word to be in progress: waiting too long is better than reporting a wrong success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Queued (`QUEUED`, `AWAITING_…`, `CREATING`).
    Waiting,
    /// Being built or rolled out.
    Moving,
    /// Serving traffic now or earlier.
    Deployed,
    /// Final: failed.
    Failed,
    /// Final: superseded by a newer revision before it was built.
    Skipped,
    /// Final: interrupted by a user.
    Interrupted,
    /// A word that Runtail does not know: shown as received, and still polled.
    Unknown,
}

impl Phase {
    /// Classifies a status word. FAILED anywhere in it wins; DEPLOYED counts only as a word of its own and without a
    /// negation, so `DEPLOYED_WITH_WARNINGS` is deployed, and `UNDEPLOYED` and `NOT_DEPLOYED_YET` are not.
    pub fn of(status: &str) -> Phase {
        let is_negated = || status.split('_').any(|word| word.ends_with("NOT"));
        match status {
            s if s.contains("FAILED") => Phase::Failed,
            s if s.split('_').any(|word| word == "DEPLOYED") && !is_negated() => Phase::Deployed,
            "SKIPPED" => Phase::Skipped,
            "INTERRUPTED" => Phase::Interrupted,
            "CREATING" | "QUEUED" | "AWAITING_BUILD" | "AWAITING_DEPLOY" => Phase::Waiting,
            "BUILDING" | "DEPLOYING" => Phase::Moving,
            _ => Phase::Unknown,
        }
    }

    /// Whether the status will not change any more.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Phase::Deployed | Phase::Failed | Phase::Skipped | Phase::Interrupted
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revision_statuses_are_classified_by_their_parts() {
        for (status, phase) in [
            ("DEPLOYED", Phase::Deployed),
            ("DEPLOYED_WITH_WARNINGS", Phase::Deployed),
            ("PARTIALLY_DEPLOYED", Phase::Deployed),
            ("NOT_DEPLOYED", Phase::Unknown),
            ("NOT_DEPLOYED_YET", Phase::Unknown),
            ("CANNOT_BE_DEPLOYED", Phase::Unknown),
            ("UNDEPLOYED", Phase::Unknown),
            ("REDEPLOYED", Phase::Unknown),
            ("deployed", Phase::Unknown),
            ("NOT DEPLOYED", Phase::Unknown),
            ("FAILED", Phase::Failed),
            ("BUILD_FAILED", Phase::Failed),
            ("DEPLOYED_BUT_FAILED", Phase::Failed),
            ("FAILED_NOT_DEPLOYED", Phase::Failed),
            ("AWAITING_DEPLOY", Phase::Waiting),
            ("DEPLOYING", Phase::Moving),
            ("SKIPPED", Phase::Skipped),
            ("INTERRUPTED", Phase::Interrupted),
            ("", Phase::Unknown),
            ("SOMETHING_NEW", Phase::Unknown),
        ] {
            assert_eq!(Phase::of(status), phase, "{status}");
        }
        for (phase, is_final) in [
            (Phase::Deployed, true),
            (Phase::Failed, true),
            (Phase::Skipped, true),
            (Phase::Interrupted, true),
            (Phase::Waiting, false),
            (Phase::Moving, false),
            (Phase::Unknown, false),
        ] {
            assert_eq!(phase.is_final(), is_final, "{phase:?}");
        }
    }

    #[test]
    fn the_time_of_a_revision_counts_from_its_creation() {
        let at = |second: i64| Timestamp::from_second(1_000_000 + second).ok();
        let took = |status: &str, created: Option<Timestamp>, updated: Option<Timestamp>| {
            let took = time_taken(Phase::of(status), created, updated, at(180).unwrap());
            took.map(|took| took.as_secs())
        };
        assert_eq!(
            took("BUILDING", at(0), at(20)),
            Some(180),
            "its last change is not its end"
        );
        assert_eq!(took("QUEUED", at(0), None), Some(180));
        assert_eq!(took("DEPLOYED", at(0), at(20)), Some(20));
        assert_eq!(
            took("DEPLOYED", at(0), at(7 * 3600)),
            None,
            "changed after its rollout"
        );
        for (status, created, updated) in [
            ("BUILDING", None, at(20)),
            ("BUILDING", at(200), None),
            ("DEPLOYED", at(0), None),
            ("NEW", at(0), at(20)),
        ] {
            assert_eq!(took(status, created, updated), None, "{status}");
        }
    }

    #[test]
    fn null_missing_and_unknown_fields_are_accepted() {
        let text = r#"{"id":"r1","status":null,"created_at":"not a date","source_revision_config":null,"novel":{"a":1}}"#;
        let revision: Revision = serde_json::from_str(text).unwrap();
        assert_eq!(revision.phase(), Phase::Unknown);
        assert_eq!(revision.extra["novel"]["a"], 1);
    }
}
