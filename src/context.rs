//! What a command works with: the configuration, the chosen profiles, and their clients.

use crate::args::Globals;
use crate::exit::Failure;
use crate::output;
use jiff::Timestamp;
use runtail_api::{ApiError, Connections, ControlPlane, Http, Journal, Kind, Place, Retry};
use runtail_core::config::{Config, ConfigError, Profile};
use runtail_core::text;
use serde_json::Value;
use std::sync::LazyLock;

/// The configuration as the arguments chose from it.
#[derive(Debug, Clone)]
pub struct Context {
    /// All of it.
    pub config: Config,
    /// The profiles that were chosen; at least one.
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
    /// Its control plane, where it has one.
    pub control: Option<ControlPlane>,
}

impl Context {
    /// Loads the configuration that the arguments name and chooses from it. Warnings go to stderr.
    pub fn load(globals: &Globals) -> Result<Context, Failure> {
        let config = load_config(globals)?;
        let profiles = config.choose(&globals.profiles)?;
        if profiles.is_empty() {
            return Err(no_profile());
        }
        Ok(Context { config, profiles, globals: globals.clone() })
    }

    /// Refuses to write where that is ruled out.
    pub fn check_write(&self, profile: &Profile) -> Result<(), Failure> {
        match &profile.sealed {
            None => Ok(()),
            Some(why) => {
                Err(Failure::new(crate::exit::Exit::Forbidden, format!("nothing was changed: {}", text::clean(why))))
            }
        }
    }
}

impl Site {
    /// Opens a profile. Its keys may come from a command that takes its time, so that happens on a thread of its own.
    pub async fn open(profile: Profile) -> Result<Site, ApiError> {
        let owned = profile.clone();
        // A process runs one command.
        static CONNECTIONS: LazyLock<Connections> = LazyLock::new(Connections::default);
        let http = |profile: &Profile| Http::sharing(profile, Journal::default(), CONNECTIONS.clone());
        let http = match tokio::task::spawn_blocking(move || http(&owned)).await {
            Ok(made) => made?,
            // The task neither panics nor is cancelled; if it did, trying here is as good.
            Err(_) => http(&profile)?,
        };
        let control = profile.control_plane.clone();
        let control = control.map(|base| ControlPlane::new(http.clone(), base).retrying(Retry::PATIENT));
        Ok(Site { profile, http, control })
    }

    /// The time on the control plane's clock, as far as its answers told it until now.
    pub(crate) fn server_time(&self) -> Timestamp {
        let skew = self.control.as_ref().map(ControlPlane::skew).unwrap_or_default();
        Timestamp::now().saturating_add(skew).unwrap_or(Timestamp::MAX)
    }

    /// Takes out of a list of the control plane what is no record of anything: an entry without an id. Gives what is to be
    /// said of it, where there was one.
    pub(crate) fn keep_records(&self, rows: &mut Vec<Value>, what: &str) -> Option<ApiError> {
        let all = rows.len();
        rows.retain(|row| row["id"].as_str().is_some_and(|id| !id.is_empty()));
        let detail = match all - rows.len() {
            0 => return None,
            1 => format!("1 entry of the server's list is no {what}, and is left out"),
            n => format!("{n} entries of the server's list are no {what}s, and are left out"),
        };
        let at = Place { profile: self.profile.name.clone(), ..Place::default() };
        Some(ApiError { kind: Kind::Protocol, at, detail, hint: None })
    }
}

/// Nothing is configured: what exactly can be done.
pub(crate) fn no_profile() -> Failure {
    let path = Config::default_path().map(|p| format!(" ({})", p.display())).unwrap_or_default();
    Failure::usage(format!(
        "there is no profile to work with: no configuration file{path}, and neither LANGSMITH_API_KEY nor \
         LANGSMITH_BEARER_TOKEN is set\n  \
         `runtail config init` writes a commented example; --url takes one agent server; --demo needs nothing"
    ))
}

/// The configuration that the arguments name: `--url`, `--config`, or what is found; sealed as they say.
pub(crate) fn load_config(globals: &Globals) -> Result<Config, Failure> {
    let mut config = unsealed(globals)?;
    config.seal(globals.read_only, globals.write);
    Ok(config)
}

fn unsealed(globals: &Globals) -> Result<Config, Failure> {
    let config = unwarned(globals)?;
    for warning in &config.warnings {
        output::complain(&format!("warning: {warning}"));
    }
    Ok(config)
}

/// The same without a word on what is odd in it: whoever takes it says that.
pub(crate) fn unwarned(globals: &Globals) -> Result<Config, ConfigError> {
    if let Some(config) = &globals.simulated {
        return Ok(config.clone());
    }
    match &globals.url {
        Some(url) => Config::for_url(url),
        None => Config::load(globals.config.as_deref()),
    }
}
