//! The revision that serves in the place of one that was deployed, and what differs between the two.

use super::super::compare::{Change, compare, without_natural};
use super::super::{Phase, RevisionRole, Roles, parse_time};
use super::{Evidence, made_from};
use crate::text;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// The revision that serves while the one at hand, which was deployed, does not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServesInstead {
    /// Its id.
    pub id: String,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// What it was made from, in few words.
    pub made_from: Option<String>,
    /// Whether it is older than the one at hand, so that the deployment was rolled back; nothing where that is not known.
    pub is_older: Option<bool>,
    /// Whether the server does not say which one serves, so that the newest deployed one is taken for it.
    pub derived: bool,
    /// What differs, from the older of the two to the newer; nothing where its record is not known.
    pub changes: Option<Vec<Change>>,
}

impl ServesInstead {
    /// Looks whether another revision serves than the one at hand, where that was deployed.
    pub(super) fn find(evidence: &Evidence<'_>) -> Option<ServesInstead> {
        let row = evidence.revision;
        let (id, status) = (field(row, "id"), field(row, "status"));
        let roles = roles(evidence);
        if Phase::of(status) != Phase::Deployed || roles.of(id, status) == RevisionRole::Serving {
            return None;
        }
        let serving = roles.serving()?;
        let other = evidence.history.iter().find(|other| field(other, "id") == serving);
        let made = |row: &Value| row["created_at"].as_str().and_then(parse_time);
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
            changes: changes.map(without_natural),
        })
    }

    /// What that means for the one at hand.
    pub(super) fn meaning(&self) -> &'static str {
        match self.is_older {
            _ if self.derived => "it was deployed, and should not serve any more: a newer revision was deployed since",
            Some(true) => "it was deployed, but it does not serve: an older revision does",
            Some(false) => "it was deployed, and does not serve any more: a newer revision does",
            None => "it was deployed, but it does not serve: another revision does",
        }
    }
}

/// The roles of the revisions that are known.
pub(super) fn roles(evidence: &Evidence<'_>) -> Roles {
    let active = evidence.deployment["active_revision_id"].as_str();
    Roles::new(active, evidence.history.iter().map(|row| (field(row, "id"), field(row, "status"))))
}

fn field<'r>(row: &'r Value, name: &str) -> &'r str {
    row[name].as_str().unwrap_or_default()
}
