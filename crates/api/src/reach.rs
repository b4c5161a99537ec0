//! Tests whether a control plane is reachable with its key, with one small request.

use crate::boxed;
use crate::control_plane::{ControlPlane, DeploymentQuery};
use crate::{ApiError, Kind};

impl ControlPlane {
    /// Requests one deployment of the list; if the server has no list (it is not in contract §4), the first pinned one.
    ///
    /// # Errors
    /// Why the key, the workspace or the address is wrong. A missing pinned deployment is a success.
    #[boxed]
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
