//! The clients of each profile, made when they are first needed, and what all requests of a profile share.

use crate::api::{AgentServer, ApiError, ControlPlane, Http, Kind, Place};
use crate::app::msg::ServerRef;
use crate::config::{Poll, Profile};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;
use tokio::time::Instant;

/// The profiles with their clients.
pub struct Services {
    profiles: HashMap<Arc<str>, Entry>,
    /// Poll interval and time limit.
    pub poll: Poll,
    /// Options that a suggested command needs to see the same servers, each with a blank before it.
    pub command_options: String,
}

struct Entry {
    profile: Profile,
    http: OnceCell<Http>,
    control_plane: OnceCell<ControlPlane>,
    /// When its control plane may be asked again, after it said 429.
    quiet_until: Mutex<Option<Instant>>,
}

impl Services {
    /// Nothing is resolved yet: a key command may take its time, and the first frame does not wait for it.
    pub fn new(profiles: &[Profile], poll: Poll, command_options: String) -> Services {
        let entry = |profile: &Profile| Entry {
            profile: profile.clone(),
            http: OnceCell::new(),
            control_plane: OnceCell::new(),
            quiet_until: Mutex::default(),
        };
        Services {
            profiles: profiles.iter().map(|p| (Arc::from(p.name.as_str()), entry(p))).collect(),
            poll,
            command_options,
        }
    }

    fn entry(&self, profile: &str) -> Result<&Entry, ApiError> {
        self.profiles.get(profile).ok_or_else(|| refused(profile, "there is no such profile"))
    }

    /// The control plane of a profile, as soon as it may be asked: where it said 429, every request waits.
    pub async fn control_plane(&self, profile: &str) -> Result<ControlPlane, ApiError> {
        let entry = self.entry(profile)?;
        // It may say so again while this one waits.
        while let Some(until) = entry.quiet_until().filter(|until| *until > Instant::now()) {
            tokio::time::sleep_until(until).await;
        }
        let make = || async {
            let Some(base) = entry.profile.control_plane.clone() else {
                return Err(refused(profile, "this profile has no control plane"));
            };
            Ok(ControlPlane::new(entry.http().await?, base))
        };
        entry.control_plane.get_or_try_init(make).await.cloned()
    }

    /// Looks at a failed request for what it means for the others of its profile.
    pub fn heed(&self, profile: &str, error: &ApiError) {
        if let (Kind::RateLimited(asked), Ok(entry)) = (&error.kind, self.entry(profile)) {
            let until = Instant::now() + asked.unwrap_or(QUIET);
            let mut quiet = entry.quiet_until.lock().unwrap_or_else(PoisonError::into_inner);
            *quiet = Some(quiet.map_or(until, |q| q.max(until)));
        }
    }

    /// Ids of the deployments that a profile pins.
    pub fn pinned(&self, profile: &str) -> &[String] {
        self.profiles.get(profile).map_or(&[], |e| e.profile.deployments.as_slice())
    }

    /// A client for an agent server.
    pub async fn agent_server(&self, server: &ServerRef) -> Result<AgentServer, ApiError> {
        let entry = self.entry(&server.profile)?;
        let no_address = |e| refused(&server.profile, &format!("{} is no address: {e}", server.url));
        Ok(AgentServer::new(entry.http().await?, server.url.parse().map_err(no_address)?))
    }
}

/// How long a server that says 429 without a time is left alone.
use crate::app::QUIET;

impl Entry {
    async fn http(&self) -> Result<Http, ApiError> {
        // A failure is not kept: after `r` the key is looked for again.
        let make = || async {
            let wanted = self.profile.clone();
            tokio::task::spawn_blocking(move || Http::new(&wanted))
                .await
                .unwrap_or_else(|_| Err(refused(&self.profile.name, "the key could not be read")))
        };
        self.http.get_or_try_init(make).await.cloned()
    }

    fn quiet_until(&self) -> Option<Instant> {
        *self.quiet_until.lock().unwrap_or_else(PoisonError::into_inner)
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
