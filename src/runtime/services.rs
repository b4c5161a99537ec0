//! The clients of each profile, made when they are first needed.

use crate::api::{AgentServer, ApiError, ControlPlane, Http, Kind, Place};
use crate::app::msg::ServerRef;
use crate::config::{Poll, Profile};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// The profiles with their clients.
pub struct Services {
    profiles: HashMap<Arc<str>, (Profile, OnceCell<Http>)>,
    /// Poll interval and time limit.
    pub poll: Poll,
}

impl Services {
    /// Nothing is resolved yet: a key command may take its time, and the first frame does not wait for it.
    pub fn new(profiles: &[Profile], poll: Poll) -> Services {
        let entry = |p: &Profile| (Arc::from(p.name.as_str()), (p.clone(), OnceCell::new()));
        Services { profiles: profiles.iter().map(entry).collect(), poll }
    }

    async fn http(&self, profile: &str) -> Result<(&Profile, Http), ApiError> {
        let Some((profile, cell)) = self.profiles.get(profile) else {
            return Err(refused(profile, "there is no such profile"));
        };
        // A failure is not kept: after `r` the key is looked for again.
        let http = cell
            .get_or_try_init(|| async {
                let wanted = profile.clone();
                tokio::task::spawn_blocking(move || Http::new(&wanted))
                    .await
                    .unwrap_or_else(|_| Err(refused(&profile.name, "the key could not be read")))
            })
            .await?;
        Ok((profile, http.clone()))
    }

    /// The control plane of a profile.
    pub async fn control_plane(&self, profile: &str) -> Result<ControlPlane, ApiError> {
        let (profile, http) = self.http(profile).await?;
        match &profile.control_plane {
            Some(base) => Ok(ControlPlane::new(http, base.clone())),
            None => Err(refused(&profile.name, "this profile has no control plane")),
        }
    }

    /// Ids of the deployments that a profile pins.
    pub fn pinned(&self, profile: &str) -> &[String] {
        self.profiles.get(profile).map_or(&[], |(p, _)| p.deployments.as_slice())
    }

    /// A client for an agent server.
    pub async fn agent_server(&self, server: &ServerRef) -> Result<AgentServer, ApiError> {
        let (profile, http) = self.http(&server.profile).await?;
        let base =
            server.url.parse().map_err(|e| refused(&profile.name, &format!("{} is no address: {e}", server.url)))?;
        Ok(AgentServer::new(http, base))
    }
}

fn refused(profile: &str, detail: &str) -> ApiError {
    ApiError {
        kind: Kind::Refused,
        at: Place { profile: profile.to_string(), ..Place::default() },
        detail: detail.to_string(),
        hint: None,
    }
}
