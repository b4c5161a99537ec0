//! The serving revision if a deployed one is not serving, and the differences.

use super::super::compare::{Change, compare, without_natural};
use super::super::{Phase, RevisionRole, Roles, time_in};
use super::{Evidence, made_from};
use crate::text;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// The serving revision, if the explained one was deployed but is not serving.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServesInstead {
    pub id: String,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// Its source in short.
    pub made_from: Option<String>,
    /// Whether it is older than the explained one, that is, a rollback; nothing if unknown.
    pub is_older: Option<bool>,
    /// Whether the server doesn't report the serving one, so that the newest deployed one is assumed.
    pub derived: bool,
    /// Whether the deployment is unused or being deleted, so that it's unknown whether any revision serves.
    #[serde(skip)]
    pub is_idle: bool,
    /// Changes from the older to the newer of the two; nothing if its record is unknown.
    pub changes: Option<Vec<Change>>,
}

impl ServesInstead {
    /// Returns the serving revision if the explained one was deployed but is not serving.
    pub(super) fn find(evidence: &Evidence<'_>) -> Option<ServesInstead> {
        let row = evidence.revision;
        let (id, status) = (field(row, "id"), field(row, "status"));
        let roles = roles(evidence);
        if Phase::of(status) != Phase::Deployed || roles.of(id, status) == RevisionRole::Serving {
            return None;
        }
        let serving = roles.serving()?;
        let other = evidence
            .history
            .iter()
            .find(|other| field(other, "id") == serving);
        let made = |row: &Value| time_in(row, "created_at");
        let created_at = other.and_then(made);
        let is_older = created_at.zip(made(row)).map(|(other, own)| other < own);
        let changes = other.map(|other| match is_older {
            Some(true) => compare(other, row),
            _ => compare(row, other),
        });
        Some(ServesInstead {
            id: text::clean(serving).into_owned(),
            created_at,
            made_from: other.and_then(made_from),
            is_older,
            derived: roles.derived,
            is_idle: roles.is_assumed() && !roles.derived,
            changes: changes.map(without_natural),
        })
    }

    /// Returns what that means for the explained one.
    pub(super) fn meaning(&self) -> &'static str {
        match self.is_older {
            _ if self.is_idle => {
                "Deployed, but the control plane names another revision as the active one."
            }
            _ if self.derived => {
                "Deployed, but presumably no longer serving: a newer revision was deployed."
            }
            Some(true) => "Deployed, but not serving: an older revision is.",
            Some(false) => "Deployed, but no longer serving: a newer revision is.",
            None => "Deployed, but not serving: another revision is.",
        }
    }
}

/// The roles of the revisions that are known.
pub(super) fn roles(evidence: &Evidence<'_>) -> Roles {
    let active = evidence.deployment["active_revision_id"].as_str();
    let rows = evidence
        .history
        .iter()
        .map(|row| (field(row, "id"), field(row, "status")));
    Roles::new(active, rows).in_deployment(evidence.deployment["status"].as_str())
}

fn field<'r>(row: &'r Value, name: &str) -> &'r str {
    row[name].as_str().unwrap_or_default()
}
