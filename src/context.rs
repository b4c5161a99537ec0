//! The context of a command: the configuration, the chosen profiles, and their clients.

use crate::prelude::*;
use runtail_api::{Connections, Http, Journal, Place, UnreadRows};
use runtail_core::config::ConfigError;
use std::sync::LazyLock;

/// The configuration and what the arguments chose from it.
#[derive(Debug, Clone)]
pub struct Context {
    /// The whole configuration.
    pub config: Config,
    /// The chosen profiles, at least one.
    pub profiles: Vec<Profile>,
    /// The arguments.
    pub globals: Globals,
}

/// A profile with its clients.
#[derive(Debug, Clone)]
pub struct Site {
    pub profile: Profile,
    /// Its HTTP client.
    pub http: Http,
    /// Its control plane, if it has one.
    pub control: Option<ControlPlane>,
}

impl Context {
    /// Loads the configuration and the profiles that the arguments name. Warnings go to stderr.
    pub fn load(globals: &Globals) -> Result<Context, Failure> {
        let config = load_config(globals)?;
        let profiles = config.choose(&globals.profiles)?;
        if profiles.is_empty() {
            return Err(no_profile());
        }
        Ok(Context {
            config,
            profiles,
            globals: globals.clone(),
        })
    }

    /// Returns an error if a profile is read-only.
    pub fn check_write(&self, profile: &Profile) -> Result<(), Failure> {
        match &profile.sealed {
            None => Ok(()),
            Some(why) => Err(Failure::new(
                crate::exit::Exit::Forbidden,
                format!("nothing was changed: {}", text::clean(why)),
            )),
        }
    }
}

impl Site {
    /// Opens a profile, on a thread of its own because its key may come from a slow command.
    pub async fn open(profile: Profile) -> Result<Site, ApiError> {
        let owned = profile.clone();
        // A process runs only one command.
        static CONNECTIONS: LazyLock<Connections> = LazyLock::new(Connections::default);
        let http =
            |profile: &Profile| Http::sharing(profile, Journal::default(), CONNECTIONS.clone());
        let http = match tokio::task::spawn_blocking(move || http(&owned)).await {
            Ok(made) => made?,
            // The task neither panics nor is cancelled; if it ever did, open the profile here.
            Err(_) => http(&profile)?,
        };
        let control = profile.control_plane.clone();
        let control =
            control.map(|base| ControlPlane::new(http.clone(), base).retrying(Retry::PATIENT));
        Ok(Site {
            profile,
            http,
            control,
        })
    }

    /// Returns the time on the control plane's clock, as far as known from its responses.
    pub fn server_time(&self) -> Timestamp {
        let skew = self
            .control
            .as_ref()
            .map(ControlPlane::skew)
            .unwrap_or_default();
        Timestamp::now()
            .saturating_add(skew)
            .unwrap_or(Timestamp::MAX)
    }

    /// Removes rows without an id from a list of the control plane, and returns the error for all of its rows that couldn't be read.
    pub fn keep_records(
        &self,
        rows: &mut Vec<Value>,
        mut unread: UnreadRows,
        has_id: impl Fn(&Value) -> bool,
    ) -> Option<ApiError> {
        rows.retain(|row| has_id(row) || unread.keep(Err::<(), _>("it has no id")).is_some());
        let detail = unread.sentence()?;
        let at = Place::of(&self.profile.name);
        Some(ApiError::new(Kind::Protocol, at, detail))
    }
}

/// Returns whether a deployment or a revision has an id.
pub fn has_id(row: &Value) -> bool {
    row["id"].as_str().is_some_and(|id| !id.is_empty())
}

/// Returns the error for a missing configuration, with what to do.
pub fn no_profile() -> Failure {
    let path = Config::default_path()
        .map(|p| format!(" ({})", p.display()))
        .unwrap_or_default();
    Failure::usage(format!(
        "no profile configured: there is no configuration file{path}, and neither LANGSMITH_API_KEY nor \
         LANGSMITH_BEARER_TOKEN is set\n  \
         try `runtail config init`, `runtail config import` for the profiles of the official tools, `--url URL` for a single \
         agent server, or `--demo`"
    ))
}

/// Loads the configuration that the arguments name: `--url`, `--config`, or the default; sealed as they require.
pub fn load_config(globals: &Globals) -> Result<Config, Failure> {
    let mut config = unsealed(globals)?;
    config.seal(globals.read_only, globals.write);
    Ok(config)
}

fn unsealed(globals: &Globals) -> Result<Config, Failure> {
    let config = unwarned(globals)?;
    for warning in &config.warnings {
        output::complain(format!("warning: {warning}"));
    }
    Ok(config)
}

/// The same without printing warnings; the caller prints them.
pub fn unwarned(globals: &Globals) -> Result<Config, ConfigError> {
    if let Some(config) = &globals.simulated {
        return Ok(config.clone());
    }
    match &globals.url {
        Some(url) => Config::for_url(url, globals.config.as_deref()),
        None => Config::load(globals.config.as_deref()),
    }
}
