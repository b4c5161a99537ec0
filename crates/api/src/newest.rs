//! Determines the newest revision of a deployment, with one rule for all callers.

use crate::control_plane::ControlPlane;
use crate::prelude::*;

/// Number of revisions to search for the newest one, if the deployment's record does not name it.
pub const LOOKED_THROUGH: usize = 100;

/// The newest revision of a deployment.
#[derive(Debug, Clone)]
pub struct Newest {
    /// The revision as received; nothing if there is none.
    pub row: Option<Value>,
    /// Whether the list was sorted as the server promises. Also true if the record named the revision and no list was needed.
    pub was_sorted: bool,
}

impl ControlPlane {
    /// Returns the newest revision of a deployment: the one that the record names, else the newest by date of a long list.
    /// The first row of a list is not enough, because not all servers sort their lists (contract §4 rule 2).
    ///
    /// # Errors
    /// `Kind::NotFound` if the server has no revision list for this deployment, which may be gone.
    #[boxed]
    pub async fn newest_row(&self, record: &Value) -> Result<Newest, ApiError> {
        let deployment = text_of(record, "id");
        if let Some(id) = named_newest(record) {
            match self.revision_row(deployment, id).await {
                Ok(row) if has_id(&row) => {
                    return Ok(Newest {
                        row: Some(row),
                        was_sorted: true,
                    });
                }
                // The record may be outdated.
                Ok(_)
                | Err(ApiError {
                    kind: Kind::NotFound,
                    ..
                }) => {}
                Err(error) => return Err(error),
            }
        }
        let revisions = self.revision_rows(deployment, LOOKED_THROUGH).await?;
        let row = revisions.items.into_iter().find(has_id);
        Ok(Newest {
            row,
            was_sorted: revisions.was_sorted,
        })
    }
}

/// Returns the id of the newest revision from the deployment's record, if it has one.
pub fn named_newest(record: &Value) -> Option<&str> {
    record["latest_revision_id"]
        .as_str()
        .filter(|id| !id.is_empty())
}

fn has_id(row: &Value) -> bool {
    row["id"].as_str().is_some_and(|id| !id.is_empty())
}
