//! Which revision of a deployment is its newest: one rule for all who ask.

use super::control_plane::ControlPlane;
use super::{ApiError, Kind};
use serde_json::Value;

/// Revisions among which the newest is looked for where the deployment's record does not name it.
pub(super) const LOOKED_THROUGH: usize = 100;

/// The newest revision of a deployment.
#[derive(Debug, Clone)]
pub struct Newest {
    /// As the server describes it; nothing where there is none.
    pub row: Option<Value>,
    /// Whether the list that it was taken from was sorted as the server promises. Where the record named it no list was
    /// needed, and none was out of order.
    pub was_sorted: bool,
}

impl ControlPlane {
    /// The newest revision of the deployment that a record describes: the one which the record names, else the newest by
    /// its date of a long list. The first row of a list is not asked: servers sort their lists, but not all of them
    /// (contract §4 rule 2).
    ///
    /// # Errors
    /// `Kind::NotFound` where the server has no revisions of this deployment to list, which may be gone.
    pub async fn newest_row(&self, record: &Value) -> Result<Newest, ApiError> {
        let deployment = record["id"].as_str().unwrap_or_default();
        if let Some(id) = named_newest(record) {
            match self.revision_row(deployment, id).await {
                Ok(row) if has_id(&row) => return Ok(Newest { row: Some(row), was_sorted: true }),
                // The record may be older than what it speaks of.
                Ok(_) | Err(ApiError { kind: Kind::NotFound, .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let revisions = self.revision_rows(deployment, LOOKED_THROUGH).await?;
        let row = revisions.items.into_iter().find(has_id);
        Ok(Newest { row, was_sorted: revisions.was_sorted })
    }
}

/// The identifier of the newest revision by the deployment's record, where it names one.
pub fn named_newest(record: &Value) -> Option<&str> {
    record["latest_revision_id"].as_str().filter(|id| !id.is_empty())
}

fn has_id(row: &Value) -> bool {
    row["id"].as_str().is_some_and(|id| !id.is_empty())
}
