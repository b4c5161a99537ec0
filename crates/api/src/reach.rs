//! Whether a control plane can be reached with its key: one small request, before anybody relies on it.

use super::control_plane::{ControlPlane, DeploymentQuery};
use super::{ApiError, Kind};

impl ControlPlane {
    /// Asks for one deployment of the list; where the server has no list (contract §4 knows none), for the first of those
    /// that are pinned.
    ///
    /// # Errors
    /// Why the key, the workspace or the address is no good. That the pinned deployment is not there is an answer too.
    pub async fn reach(&self, pinned: &[String]) -> Result<(), ApiError> {
        let paging = [("limit", "1".to_string()), ("offset", "0".to_string())];
        let asked = self.page(&DeploymentQuery::default().list(), &paging).await;
        let listed = asked.and_then(|answer| answer.rows("resources"));
        match (listed, pinned.first()) {
            (Err(error), Some(id)) if matches!(error.kind, Kind::NotFound | Kind::Status(405)) => {
                match self.deployment_row(id).await {
                    Err(error) if error.kind != Kind::NotFound => Err(error),
                    _ => Ok(()),
                }
            }
            (Err(error), _) => Err(error),
            (Ok(_), _) => Ok(()),
        }
    }
}
