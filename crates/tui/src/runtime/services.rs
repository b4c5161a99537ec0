//! The clients of each profile, created on first use, and the state that all requests of a profile share.

use super::export::Files;
use super::first_run::Demo;
use super::plans::Plans;
use super::saved_tabs::TabsWriter;
use super::terminal_caps::Environment;
use crate::boxed;
use crate::session::msg::ServerRef;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared, join_all};
use runtail_api::{
    AgentServer, ApiError, Connections, ControlPlane, Http, Journal, Kind, Place, Retry,
};
use runtail_core::config::{Poll, Profile};
use runtail_core::model::{LogLine, Secrets};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The profiles in use with their clients. Immutable: a new configuration creates a new value, which shares the unchanged
/// parts. So a task keeps using the definition of a profile with which it started.
#[derive(Clone)]
pub struct Services {
    profiles: HashMap<Arc<str>, Arc<ProfileServices>>,
    /// Tested definitions, with their clients. They are kept because reading a key may prompt the user.
    tested: Arc<Mutex<HashMap<Arc<str>, Arc<ProfileServices>>>>,
    /// The requests of the session that change something.
    pub journal: Journal,
    /// The connections to all servers.
    connections: Connections,
    /// Poll interval and time limit.
    pub poll: Poll,
    /// Options that a suggested command needs to use the same servers, each after a space.
    pub command_options: String,
    /// The planned changes.
    pub plans: Arc<Plans>,
    /// The doctor's checks of this machine.
    pub environment: Environment,
    /// Starts the demo.
    pub demo: Demo,
    /// The files being written.
    pub files: Files,
    /// Writes the open tabs.
    pub tabs: TabsWriter,
}

/// Maximum number of remembered forms of a deployment's secrets.
const MAX_SECRETS: usize = 4_000;

/// The clients of a profile, once they are created.
type SharedClients = Shared<BoxFuture<'static, Result<Clients, ApiError>>>;

#[derive(Clone)]
struct Clients {
    http: Http,
    control_plane: Option<ControlPlane>,
}

struct ProfileServices {
    profile: Profile,
    journal: Journal,
    connections: Connections,
    /// `None` until a client is needed, and again after an error.
    clients: Mutex<Option<SharedClients>>,
    /// The secrets of each deployment, which are masked in other responses. They never leave the runtime.
    secrets: Arc<Mutex<HashMap<String, Arc<Secrets>>>>,
}

impl Services {
    /// Creates the services without reading keys: a key command may be slow, and the first frame must not wait for it.
    pub fn new(profiles: &[Profile], poll: Poll, command_options: String) -> Services {
        let empty = Services {
            profiles: HashMap::new(),
            tested: Arc::default(),
            journal: Journal::default(),
            connections: Connections::default(),
            poll,
            command_options,
            plans: Arc::default(),
            environment: Environment::default(),
            demo: Demo::default(),
            files: Files::default(),
            tabs: TabsWriter::default(),
        };
        empty.with_profiles(profiles)
    }

    /// Returns services for other profiles. Unchanged definitions keep their clients and known secrets; a definition that was
    /// just tested keeps the clients of the test.
    pub fn with_profiles(&self, profiles: &[Profile]) -> Services {
        let entry = |profile: &Profile| {
            let same = |entry: &Arc<ProfileServices>| entry.profile == *profile;
            let before = self.profiles.get(profile.name.as_str());
            if let Some(known) = before.cloned().filter(same) {
                return known;
            }
            if let Some(tested) = lock(&self.tested)
                .remove(profile.name.as_str())
                .filter(same)
            {
                return tested;
            }
            let mut entry = ProfileServices::new(profile, self);
            // The listed deployments stay, and their logs may contain these secrets.
            if let Some(before) = before.filter(|before| before.profile.same_target(profile)) {
                entry.secrets = before.secrets.clone();
            }
            Arc::new(entry)
        };
        let profiles = profiles
            .iter()
            .map(|p| (Arc::from(p.name.as_str()), entry(p)))
            .collect();
        Services {
            profiles,
            ..self.clone()
        }
    }

    /// Returns services with other poll settings.
    pub fn with_poll(&self, poll: Poll) -> Services {
        Services {
            poll,
            ..self.clone()
        }
    }

    /// Returns services with the demo's poll settings, whose suggested commands use the demo.
    pub fn of_demo(&self, poll: Poll) -> Services {
        Services {
            poll,
            command_options: " --demo".into(),
            ..self.clone()
        }
    }

    /// Returns the connections to all servers.
    pub(super) fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Tests whether a profile's servers can be reached with its keys. The definition need not be in use.
    #[boxed]
    pub async fn reach(&self, profile: &Profile) -> Result<(), ApiError> {
        let known = self
            .profiles
            .get(profile.name.as_str())
            .filter(|entry| entry.profile == *profile);
        let entry = known.cloned().unwrap_or_else(|| {
            let entry = Arc::new(ProfileServices::new(profile, self));
            lock(&self.tested).insert(profile.name.as_str().into(), entry.clone());
            entry
        });
        let result = entry.reach().await;
        if result.as_ref().is_err_and(|e| e.kind == Kind::Unauthorized) {
            *lock(&entry.clients) = None;
        }
        result
    }

    /// Creates an error for a request that was not sent.
    pub fn refused(&self, profile: &str, detail: &str) -> ApiError {
        refused(profile, detail)
    }

    fn entry(&self, profile: &str) -> Result<&ProfileServices, ApiError> {
        self.profiles
            .get(profile)
            .map(|entry| &**entry)
            .ok_or_else(|| refused(profile, "unknown profile"))
    }

    /// Returns the client of a profile's control plane.
    #[boxed]
    pub async fn control_plane(&self, profile: &str) -> Result<ControlPlane, ApiError> {
        let clients = self.entry(profile)?.clients().await?;
        clients
            .control_plane
            .ok_or_else(|| refused(profile, "this profile has no control plane"))
    }

    /// Returns a client of an agent server.
    #[boxed]
    pub async fn agent_server(&self, server: &ServerRef) -> Result<AgentServer, ApiError> {
        let clients = self.entry(&server.profile)?.clients().await?;
        let no_address = |e| {
            refused(
                &server.profile,
                &format!("{} is not a valid address: {e}", server.url),
            )
        };
        Ok(AgentServer::new(
            clients.http,
            server.url.parse().map_err(no_address)?,
        ))
    }

    /// Applies the error of a request to the next requests of its profile: a rejected key is read again.
    pub fn apply_error(&self, profile: &str, error: Option<&ApiError>) {
        if let (Some(Kind::Unauthorized), Ok(entry)) = (error.map(|e| &e.kind), self.entry(profile))
        {
            *lock(&entry.clients) = None;
        }
    }

    /// Applies the error of a request like [`Services::apply_error`], and returns the result.
    pub fn noted<T>(&self, profile: &str, result: Result<T, ApiError>) -> Result<T, ApiError> {
        self.apply_error(profile, result.as_ref().err());
        result
    }

    /// Returns the definition of a profile by its name.
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.get(name).map(|entry| &entry.profile)
    }

    /// Returns whether a profile is only asked what the user asks.
    pub fn is_unpolled(&self, name: &str) -> bool {
        self.profile(name)
            .is_some_and(|profile| profile.is_unpolled)
    }

    /// Returns the ids of a profile's pinned deployments.
    pub fn pinned(&self, profile: &str) -> &[String] {
        self.profiles
            .get(profile)
            .map_or(&[], |e| e.profile.deployments.as_slice())
    }

    /// Masks the secrets in a deployment's record, and remembers them for [`Services::without_secrets`].
    pub fn keep_secrets(&self, profile: &str, mut record: Value) -> Value {
        let id = record["id"].as_str().unwrap_or_default().to_string();
        let new = Secrets::of_records(&[&record]);
        // Old secrets are kept: they may be in older logs, and a list may omit secrets that the record has.
        let all = match self.secrets(profile, &id) {
            Some(old) if old.len() + new.len() < MAX_SECRETS => old.and(&new),
            _ => new,
        };
        all.mask(&mut record);
        if let Ok(entry) = self.entry(profile) {
            lock(&entry.secrets).insert(id, Arc::new(all));
        }
        record
    }

    fn secrets(&self, profile: &str, deployment: &str) -> Option<Arc<Secrets>> {
        lock(&self.entry(profile).ok()?.secrets)
            .get(deployment)
            .cloned()
    }

    /// Masks the deployment's secrets in a record that belongs to it, such as a revision.
    pub fn without_secrets(&self, profile: &str, deployment: &str, mut record: Value) -> Value {
        let own = Secrets::of_records(&[&record]);
        match self.secrets(profile, deployment) {
            Some(secrets) => secrets.and(&own).mask(&mut record),
            None => own.mask(&mut record),
        }
        record
    }

    /// Masks the deployment's secrets in lines of its log.
    pub fn mask_lines(
        &self,
        profile: &str,
        deployment: &str,
        mut lines: Vec<LogLine>,
    ) -> Vec<LogLine> {
        let none = || Arc::new(Secrets::new([], 1));
        let secrets = self.secrets(profile, deployment).unwrap_or_else(none);
        for line in &mut lines {
            line.message = secrets.scrub(&line.message);
            let mut extra = Value::Object(std::mem::take(&mut line.extra));
            secrets.mask(&mut extra);
            if let Value::Object(extra) = extra {
                line.extra = extra;
            }
        }
        lines
    }
}

impl ProfileServices {
    fn new(profile: &Profile, services: &Services) -> ProfileServices {
        let (journal, connections) = (services.journal.clone(), services.connections.clone());
        ProfileServices {
            profile: profile.clone(),
            journal,
            connections,
            clients: Mutex::default(),
            secrets: Arc::default(),
        }
    }

    /// Tests the control plane, and every agent server of the profile.
    async fn reach(&self) -> Result<(), ApiError> {
        let clients = self.clients().await?;
        if let Some(control_plane) = &clients.control_plane {
            control_plane
                .clone()
                .retrying(Retry::NONE)
                .reach(&self.profile.deployments)
                .await?;
        }
        let servers = self.profile.agent_servers.iter();
        let agent_servers =
            servers.map(|(_, url)| AgentServer::new(clients.http.clone(), url.clone()));
        let answers =
            join_all(agent_servers.map(|server| async move { server.info().await })).await;
        answers
            .into_iter()
            .find_map(Result::err)
            .map_or(Ok(()), Err)
    }

    /// Returns the clients, and creates them first if necessary. Reading a key may prompt the user, so it runs only once at a
    /// time, and continues even if the task that started it is stopped.
    async fn clients(&self) -> Result<Clients, ApiError> {
        let create = || {
            create_clients(
                self.profile.clone(),
                self.journal.clone(),
                self.connections.clone(),
            )
        };
        let shared = lock(&self.clients).get_or_insert_with(create).clone();
        let result = shared.clone().await;
        if result.is_err() {
            // The error is dropped, so that the next request reads the key again.
            let mut current = lock(&self.clients);
            if current
                .as_ref()
                .is_some_and(|current| current.ptr_eq(&shared))
            {
                *current = None;
            }
        }
        result
    }
}

fn create_clients(profile: Profile, journal: Journal, connections: Connections) -> SharedClients {
    let name = profile.name.clone();
    let task = tokio::task::spawn_blocking(move || {
        let http = Http::sharing(&profile, journal, connections)?;
        let base = profile.control_plane.clone();
        let control_plane =
            base.map(|base| ControlPlane::new(http.clone(), base).retrying(Retry::HEEDING));
        Ok(Clients {
            http,
            control_plane,
        })
    });
    async move {
        task.await
            .unwrap_or_else(|_| Err(refused(&name, "couldn't read the key")))
    }
    .boxed()
    .shared()
}

/// Locks a mutex. Its data is never left inconsistent, so the panic of another holder is ignored.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused(profile: &str, detail: &str) -> ApiError {
    ApiError {
        kind: Kind::Refused,
        at: Place {
            profile: profile.to_string(),
            ..Place::default()
        },
        detail: detail.to_string(),
        hint: None,
    }
}
