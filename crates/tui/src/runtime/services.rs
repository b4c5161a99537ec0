//! The clients of each profile, created on first use, and the state that all requests of a profile share.

use super::abilities::Surroundings;
use super::actions::Actions;
use super::changes::Changes;
use super::export::Files;
use crate::session::msg::ServerRef;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared, join_all};
use runtail_api::{AgentServer, ApiError, Connections, ControlPlane, Http, Journal, Kind, Place, Retry};
use runtail_core::config::{Poll, Profile};
use runtail_core::model::{LogLine, Secrets};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The profiles in force with their clients. It never changes: another configuration makes other services, in which what
/// did not change is shared. So what was begun with one definition of a profile ends with it.
#[derive(Clone)]
pub struct Services {
    profiles: HashMap<Arc<str>, Arc<Entry>>,
    /// Definitions that were tried: who asks for a key may have to ask a person, so that is done once.
    tried: Arc<Mutex<HashMap<Arc<str>, Arc<Entry>>>>,
    /// What was sent to change something, in the whole session.
    pub journal: Journal,
    /// The connections to all servers.
    connections: Connections,
    /// Poll interval and time limit.
    pub poll: Poll,
    /// Options that a suggested command needs to see the same servers, each with a blank before it.
    pub command_options: String,
    /// Changes between their preview and their sending.
    pub changes: Arc<Changes>,
    /// Actions on threads between their preview and being carried out.
    pub actions: Arc<Actions>,
    /// What the doctor says of this machine.
    pub surroundings: Surroundings,
    /// Files that views are written to.
    pub files: Files,
}

/// Forms of a deployment's secrets that are remembered at most.
const MOST_SECRETS: usize = 4_000;

/// The clients of a profile, being made or made.
type Making = Shared<BoxFuture<'static, Result<Clients, ApiError>>>;

#[derive(Clone)]
struct Clients {
    http: Http,
    control_plane: Option<ControlPlane>,
}

struct Entry {
    profile: Profile,
    journal: Journal,
    connections: Connections,
    making: Mutex<Option<Making>>,
    /// The secrets of each deployment, to take them out of what others write. They never leave this floor.
    secrets: Arc<Mutex<HashMap<String, Arc<Secrets>>>>,
}

impl Services {
    /// Nothing is resolved yet: a key command may take its time, and the first frame does not wait for it.
    pub fn new(profiles: &[Profile], poll: Poll, command_options: String) -> Services {
        let none = Services {
            profiles: HashMap::new(),
            tried: Arc::default(),
            journal: Journal::default(),
            connections: Connections::default(),
            poll,
            command_options,
            changes: Arc::default(),
            actions: Arc::default(),
            surroundings: Surroundings::default(),
            files: Files::default(),
        };
        none.with(profiles)
    }

    /// The services of these profiles instead. Those that are defined as before keep their clients and what is known of
    /// their secrets; those that were just tried, the clients that the trial made.
    pub fn with(&self, profiles: &[Profile]) -> Services {
        let entry = |profile: &Profile| {
            let same = |entry: &Arc<Entry>| entry.profile == *profile;
            let before = self.profiles.get(profile.name.as_str());
            if let Some(known) = before.cloned().filter(same) {
                return known;
            }
            if let Some(tried) = lock(&self.tried).remove(profile.name.as_str()).filter(same) {
                return tried;
            }
            let mut entry = Entry::new(profile, self);
            // The rows on the screen stay, and with them what may stand in their logs.
            if let Some(before) = before.filter(|before| before.profile.same_target(profile)) {
                entry.secrets = before.secrets.clone();
            }
            Arc::new(entry)
        };
        let profiles = profiles.iter().map(|p| (Arc::from(p.name.as_str()), entry(p))).collect();
        Services { profiles, ..self.clone() }
    }

    /// The services with another pace.
    pub fn polling(&self, poll: Poll) -> Services {
        Services { poll, ..self.clone() }
    }

    /// Whether a profile's servers can be reached with its keys, before it is one of ours.
    pub async fn reach(&self, profile: &Profile) -> Result<(), ApiError> {
        let known = self.profiles.get(profile.name.as_str()).filter(|entry| entry.profile == *profile);
        let entry = known.cloned().unwrap_or_else(|| {
            let entry = Arc::new(Entry::new(profile, self));
            lock(&self.tried).insert(profile.name.as_str().into(), entry.clone());
            entry
        });
        let result = entry.reach().await;
        if result.as_ref().is_err_and(|e| e.kind == Kind::Unauthorized) {
            *lock(&entry.making) = None;
        }
        result
    }

    /// An error that is said here, before anything was sent.
    pub fn refused(&self, profile: &str, detail: &str) -> ApiError {
        refused(profile, detail)
    }

    fn entry(&self, profile: &str) -> Result<&Entry, ApiError> {
        self.profiles.get(profile).map(|entry| &**entry).ok_or_else(|| refused(profile, "unknown profile"))
    }

    /// The control plane of a profile.
    pub async fn control_plane(&self, profile: &str) -> Result<ControlPlane, ApiError> {
        let clients = self.entry(profile)?.clients().await?;
        clients.control_plane.ok_or_else(|| refused(profile, "this profile has no control plane"))
    }

    /// A client for an agent server.
    pub async fn agent_server(&self, server: &ServerRef) -> Result<AgentServer, ApiError> {
        let clients = self.entry(&server.profile)?.clients().await?;
        let no_address = |e| refused(&server.profile, &format!("{} is not a valid address: {e}", server.url));
        Ok(AgentServer::new(clients.http, server.url.parse().map_err(no_address)?))
    }

    /// Applies the effect of a failed request on the next ones of its profile: a rejected key is resolved again.
    pub fn heed(&self, profile: &str, error: Option<&ApiError>) {
        if let (Some(Kind::Unauthorized), Ok(entry)) = (error.map(|e| &e.kind), self.entry(profile)) {
            *lock(&entry.making) = None;
        }
    }

    /// A profile by its name.
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.get(name).map(|entry| &entry.profile)
    }

    /// Ids of the deployments that a profile pins.
    pub fn pinned(&self, profile: &str) -> &[String] {
        self.profiles.get(profile).map_or(&[], |e| e.profile.deployments.as_slice())
    }

    /// A deployment's record without its secrets, which are remembered here for [`Services::without_secrets`].
    pub fn keep_secrets(&self, profile: &str, mut record: Value) -> Value {
        let id = record["id"].as_str().unwrap_or_default().to_string();
        let new = Secrets::of_records(&[&record]);
        // One that was changed still stands in older logs; and a list may leave out what a record says.
        let all = match self.secrets(profile, &id) {
            Some(old) if old.len() + new.len() < MOST_SECRETS => old.and(&new),
            _ => new,
        };
        all.mask(&mut record);
        if let Ok(entry) = self.entry(profile) {
            lock(&entry.secrets).insert(id, Arc::new(all));
        }
        record
    }

    fn secrets(&self, profile: &str, deployment: &str) -> Option<Arc<Secrets>> {
        lock(&self.entry(profile).ok()?.secrets).get(deployment).cloned()
    }

    /// A record that belongs to a deployment, such as a revision, without anything that is a secret of it.
    pub fn without_secrets(&self, profile: &str, deployment: &str, mut record: Value) -> Value {
        let own = Secrets::of_records(&[&record]);
        match self.secrets(profile, deployment) {
            Some(secrets) => secrets.and(&own).mask(&mut record),
            None => own.mask(&mut record),
        }
        record
    }

    /// Lines of a deployment's log without anything that is a secret of it.
    pub fn open_lines(&self, profile: &str, deployment: &str, mut lines: Vec<LogLine>) -> Vec<LogLine> {
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

impl Entry {
    fn new(profile: &Profile, services: &Services) -> Entry {
        let (journal, connections) = (services.journal.clone(), services.connections.clone());
        Entry { profile: profile.clone(), journal, connections, making: Mutex::default(), secrets: Arc::default() }
    }

    /// The control plane, and every agent server that the profile names.
    async fn reach(&self) -> Result<(), ApiError> {
        let clients = self.clients().await?;
        if let Some(control_plane) = &clients.control_plane {
            control_plane.clone().retrying(Retry::NONE).reach(&self.profile.deployments).await?;
        }
        let servers = self.profile.agent_servers.iter();
        let asked = servers.map(|(_, url)| AgentServer::new(clients.http.clone(), url.clone()));
        let answers = join_all(asked.map(|server| async move { server.info().await })).await;
        answers.into_iter().find_map(Result::err).map_or(Ok(()), Err)
    }

    /// The clients. Who asks for a key may have to ask a person, so that is done once at a time, and goes on when the one
    /// who wanted it does not want it any more.
    async fn clients(&self) -> Result<Clients, ApiError> {
        let make = || make(self.profile.clone(), self.journal.clone(), self.connections.clone());
        let making = lock(&self.making).get_or_insert_with(make).clone();
        let made = making.clone().await;
        if made.is_err() {
            // A failure is not kept: after `r` the key is looked for again.
            let mut kept = lock(&self.making);
            if kept.as_ref().is_some_and(|kept| kept.ptr_eq(&making)) {
                *kept = None;
            }
        }
        made
    }
}

fn make(profile: Profile, journal: Journal, connections: Connections) -> Making {
    let name = profile.name.clone();
    let task = tokio::task::spawn_blocking(move || {
        let http = Http::sharing(&profile, journal, connections)?;
        let base = profile.control_plane.clone();
        let control_plane = base.map(|base| ControlPlane::new(http.clone(), base).retrying(Retry::HEEDING));
        Ok(Clients { http, control_plane })
    });
    async move { task.await.unwrap_or_else(|_| Err(refused(&name, "couldn't read the key"))) }.boxed().shared()
}

/// What is held is never left half changed, so a panic elsewhere does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused(profile: &str, detail: &str) -> ApiError {
    ApiError {
        kind: Kind::Refused,
        at: Place { profile: profile.to_string(), ..Place::default() },
        detail: detail.to_string(),
        hint: None,
    }
}
