//! A revision of a deployment, and how its status word is read.

use super::{Extra, SourceRevisionConfig, lenient, lenient_time};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One revision, as `GET /v2/deployments/{id}/revisions[/{rid}]` answers it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Revision {
    /// The identifier used in paths.
    pub id: String,
    /// The status word, as the server said it.
    #[serde(default, deserialize_with = "lenient")]
    pub status: String,
    /// When the revision was made; lists are newest first by this.
    #[serde(default, deserialize_with = "lenient_time", skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(default, deserialize_with = "lenient_time", skip_serializing_if = "Option::is_none")]
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
}

/// What a revision's status word means. Status words are open text: containing FAILED is failed, else DEPLOYED is
/// deployed (contract §2; a word like `NOT_DEPLOYED` is therefore compared whole), SKIPPED and INTERRUPTED are final too
/// (control-plane reference §3), and anything else is still in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Waiting its turn (`QUEUED`, `AWAITING_…`, `CREATING`).
    Waiting,
    /// Being built or rolled out.
    Moving,
    /// Live, or live once.
    Deployed,
    /// Final: it failed.
    Failed,
    /// Final: overtaken by a newer revision.
    Skipped,
    /// Final: stopped by somebody.
    Interrupted,
    /// A word that Runtail does not know: shown as it is, and polled on.
    Unknown,
}

impl Phase {
    /// Classifies a status word.
    pub fn of(status: &str) -> Phase {
        match status {
            s if s.contains("FAILED") => Phase::Failed,
            "DEPLOYED" => Phase::Deployed,
            "SKIPPED" => Phase::Skipped,
            "INTERRUPTED" => Phase::Interrupted,
            "CREATING" | "QUEUED" | "AWAITING_BUILD" | "AWAITING_DEPLOY" => Phase::Waiting,
            "BUILDING" | "DEPLOYING" => Phase::Moving,
            _ => Phase::Unknown,
        }
    }

    /// Whether the status will not change any more.
    pub fn is_final(self) -> bool {
        matches!(self, Phase::Deployed | Phase::Failed | Phase::Skipped | Phase::Interrupted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_words_are_open_text() {
        for (word, phase) in [
            ("DEPLOYED", Phase::Deployed),
            ("BUILD_FAILED", Phase::Failed),
            ("DEPLOYED_BUT_FAILED", Phase::Failed),
            ("NOT_DEPLOYED", Phase::Unknown),
            ("AWAITING_DEPLOY", Phase::Waiting),
            ("SKIPPED", Phase::Skipped),
            ("INTERRUPTED", Phase::Interrupted),
            ("", Phase::Unknown),
            ("SOMETHING_NEW", Phase::Unknown),
        ] {
            assert_eq!(Phase::of(word), phase, "{word}");
        }
        assert!(!Phase::Unknown.is_final());
    }

    #[test]
    fn nulls_missing_and_unknown_fields_survive() {
        let text =
            r#"{"id":"r1","status":null,"created_at":"not a date","source_revision_config":null,"novel":{"a":1}}"#;
        let revision: Revision = serde_json::from_str(text).unwrap();
        assert_eq!(revision.phase(), Phase::Unknown);
        assert_eq!(revision.extra["novel"]["a"], 1);
    }
}
