//! Configuration: profiles, limits, key bindings; its location and its defaults.

mod base;
mod document;
pub mod edit;
mod env;
mod env_file;
mod error;
pub mod files;
pub mod import;
mod keyring;
mod node;
mod notify;
pub mod prices;
mod read;
#[cfg(test)]
#[path = "schema/tests.rs"]
mod schema_tests;
mod secret;
mod secret_command;
mod secret_error;
mod secret_file;
mod sections;
mod store;
pub mod theme;
pub(crate) mod toml_fields;
mod units;
mod watch;

pub use base::{
    REGIONS, control_plane as control_plane_of, deployment_page, deployments_page, is_loopback,
    of_region, region_of, studio_page,
};
pub use document::{Document, Format};
pub use error::{ConfigError, Place};
pub use keyring::Keyring;
pub use notify::{NotifyPlace, NotifyRule, NotifyWhen, Stuck};
pub use secret::{SecretRef, SecretSource, expand_home, has_langsmith_key, looks_like_key};
pub use secret_error::SecretError;
pub use sections::{KEY_SETTINGS, line_of};
pub use store::{DiffLine, Draft, create_private, private_folder, replace_private};
pub use units::{duration as parse_duration, size as parse_size};
pub use watch::Watch;

use crate::model::AnswerRule;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::{written_duration, written_size};
use url::Url;

pub use error::{nearest, nearest_few};

/// The whole configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// The file, if there is one.
    pub path: Option<PathBuf>,
    /// Profiles to use by default.
    pub default_profiles: Vec<String>,
    /// All profiles, in the file's order.
    pub profiles: Vec<Profile>,
    /// Polling of waits.
    pub poll: Poll,
    /// Limits of memory and responses.
    pub event_log: EventLogLimits,
    /// Appearance of the dashboard.
    pub ui: Ui,
    /// All themes.
    pub themes: theme::Themes,
    /// Rules that answer questions in bulk, the first that matches counts.
    pub answer_rules: Vec<AnswerRule>,
    /// What to notify about; empty for the usual events.
    pub notify: Vec<NotifyRule>,
    /// When a run counts as stuck.
    pub stuck: Stuck,
    /// Prices of models.
    pub prices: prices::Prices,
    /// Saved searches for threads, by name, in the file's order.
    pub searches: Vec<(String, String)>,
    /// Keys by the name of the action.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Warnings with their positions, one line each.
    pub warnings: Vec<String>,
}

/// Interval and timeout of a wait. One minute and half an hour are recommended by the service (contract §8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Poll {
    /// Time between two requests.
    #[serde(with = "written_duration")]
    pub interval: Duration,
    /// When to give up.
    #[serde(with = "written_duration")]
    pub timeout: Duration,
}

impl Default for Poll {
    fn default() -> Poll {
        Poll {
            interval: Duration::from_secs(60),
            timeout: Duration::from_secs(1800),
        }
    }
}

/// Default of `[limits] max_answer`: maximum decompressed size of a response, in bytes. A thread's state may have 50 MB.
pub const MAX_ANSWER: u64 = 64 << 20;

/// Limits of event logs and responses, in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventLogLimits {
    /// Maximum memory of a log.
    #[serde(with = "written_size")]
    pub max_bytes: u64,
    /// Maximum size of an event that is kept whole.
    #[serde(with = "written_size")]
    pub max_event: u64,
    /// Maximum memory of all open pages together.
    #[serde(with = "written_size")]
    pub total: u64,
    /// Maximum decompressed size of a response, which each profile has too.
    #[serde(with = "written_size")]
    pub max_answer: u64,
}

impl Default for EventLogLimits {
    fn default() -> EventLogLimits {
        EventLogLimits {
            max_bytes: 256 << 20,
            max_event: 64 << 20,
            total: 512 << 20,
            max_answer: MAX_ANSWER,
        }
    }
}

/// Appearance of the dashboard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ui {
    /// The name of the theme.
    pub theme: String,
    /// Who handles the mouse.
    pub mouse: Mouse,
    /// Draw with ASCII only.
    pub ascii: bool,
    /// How times in a stream are shown.
    pub timestamps: Timestamps,
    /// Whether long lines in a stream are wrapped.
    pub wrap: bool,
    /// Whether to open the tabs of the last session again.
    pub restore: bool,
    /// How to notify in the terminal.
    pub notify: Notify,
}

/// Who handles the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mouse {
    /// Runtail in lists, the terminal in streams, so that text can be selected.
    #[default]
    Auto,
    /// Runtail everywhere.
    On,
    /// Always the terminal.
    Off,
}

impl Mouse {
    /// The words of the configuration.
    pub const WORDS: [(&str, Mouse); 3] = [
        ("auto", Mouse::Auto),
        ("on", Mouse::On),
        ("off", Mouse::Off),
    ];
}

/// How times in a stream are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timestamps {
    /// Local time of day.
    #[default]
    Absolute,
    /// Relative to the start of the run.
    Relative,
    /// Relative to the previous entry.
    Delta,
}

impl Timestamps {
    /// The words of the configuration, in the order in which the key cycles.
    pub const WORDS: [(&str, Timestamps); 3] = [
        ("absolute", Timestamps::Absolute),
        ("relative", Timestamps::Relative),
        ("delta", Timestamps::Delta),
    ];
}

/// How to notify.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notify {
    /// The terminal's bell.
    #[default]
    Bell,
    /// A desktop notification by OSC 9 (iTerm2, WezTerm, Windows Terminal, kitty, …).
    Osc9,
    /// A desktop notification with a title by OSC 777 (urxvt, foot, Ghostty, VTE, …).
    Osc777,
    /// Only the message on the screen.
    Off,
}

impl Default for Ui {
    fn default() -> Ui {
        Ui {
            theme: theme::AUTO.into(),
            mouse: Mouse::default(),
            ascii: false,
            timestamps: Timestamps::default(),
            wrap: false,
            restore: false,
            notify: Notify::default(),
        }
    }
}

/// A profile: a control plane, agent servers, or both, and their keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profile {
    pub name: String,
    /// Its region on screen: `us`, `eu`, `apac`, `aws`, or the host of anything else.
    pub region: Option<String>,
    /// Base of the control plane, prefix included.
    pub control_plane: Option<Url>,
    /// The workspace, sent as `X-Tenant-Id`.
    pub workspace: Option<String>,
    /// Where the API key comes from.
    pub key: Option<SecretSource>,
    /// Where the bearer token comes from.
    pub bearer: Option<SecretSource>,
    /// Its label, such as `PROD`.
    pub label: Option<String>,
    /// Whether the file sets `read_only`.
    pub read_only: bool,
    /// Whether nothing is asked of its servers unless the user opens or refreshes something (`poll = false`).
    pub is_unpolled: bool,
    /// The deployments and agent servers of which nothing is asked unless the user opens them (`poll = { NAME = false }`).
    pub unpolled: Vec<String>,
    /// Why it is read-only, if so; set by [`Config::seal`]. No client of such a profile can build a write request.
    pub sealed: Option<String>,
    /// Pinned deployment ids, for servers that can't list deployments.
    pub deployments: Vec<String>,
    /// Agent servers without a control plane, by name.
    pub agent_servers: Vec<(String, Url)>,
    /// Whether plain http to other machines is allowed.
    pub allow_http: bool,
    /// Whether nothing may be sent to other machines. The simulator's records name servers that don't exist.
    pub only_local: bool,
    /// Maximum decompressed size of a response, in bytes (`[limits] max_answer`); none means [`MAX_ANSWER`]. Streams have
    /// other limits.
    pub max_answer: Option<u64>,
}

impl Profile {
    /// Whether it is read-only.
    pub fn is_read_only(&self) -> bool {
        self.read_only || self.sealed.is_some()
    }

    /// Whether both have the same servers and keys, so that responses to one are valid for the other.
    pub fn same_target(&self, other: &Profile) -> bool {
        let target = |p: &Profile| {
            (
                p.control_plane.clone(),
                p.workspace.clone(),
                p.agent_servers.clone(),
                p.allow_http,
            )
        };
        target(self) == target(other) && self.key == other.key && self.bearer == other.bearer
    }

    /// Decides whether it is read-only. A production label is read-only unless `write` is set; `read_only` in the file always
    /// applies.
    pub fn seal(&mut self, read_only: bool, write: bool) {
        self.sealed = if read_only {
            Some("--read-only was given".into())
        } else if self.read_only {
            Some(format!(
                "the profile \"{}\" has `read_only = true`",
                self.name
            ))
        } else if self.is_production() && !write {
            let label = self.label.as_deref().unwrap_or_default();
            Some(format!(
                "the label \"{label}\" of the profile \"{}\" contains PROD, and --write was not given",
                self.name
            ))
        } else {
            None
        };
    }

    /// Whether its label contains PROD, in any case: NON-PROD too, because a wrong guess must not allow writing.
    pub fn is_production(&self) -> bool {
        self.label
            .as_deref()
            .is_some_and(|label| label.to_ascii_uppercase().contains("PROD"))
    }
}

impl Config {
    /// A commented example with every key, which `config init` writes.
    pub const EXAMPLE: &str = include_str!("../../assets/config.example.toml");

    /// Loads the named file, else the default file, else the environment (see [`Config::from_env`]). Without any of them the
    /// configuration has no profiles.
    pub fn load(path: Option<&Path>) -> Result<Config, ConfigError> {
        Config::of_file(path)?.map_or_else(Config::of_env, Ok)
    }

    /// Reads the named file, else the default file if there is one.
    fn of_file(path: Option<&Path>) -> Result<Option<Config>, ConfigError> {
        if let Some(path) = path {
            return Config::read(path).map(Some);
        }
        let is_there = |path: &PathBuf| {
            !std::fs::metadata(path).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound)
        };
        Config::default_path()
            .filter(is_there)
            .map(|path| Config::read(&path))
            .transpose()
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Config, ConfigError> {
        match files::read_text(path) {
            Ok(text) => {
                let config = Config::parse(&text, Some(path))?;
                if config.runs_programs() {
                    files::refuse_writable(path)?;
                }
                Ok(config)
            }
            Err(e) => {
                let mut error = ConfigError::new(match e.kind() {
                    std::io::ErrorKind::NotFound => "the file does not exist".to_string(),
                    std::io::ErrorKind::InvalidData => {
                        "this is not a text file (UTF-8)".to_string()
                    }
                    _ => format!("can't be read: {e}"),
                });
                error.path = Some(path.to_path_buf());
                Err(error.hint("`runtail config init` writes a commented example"))
            }
        }
    }

    /// Returns whether it names programs: for keys or for notifications.
    fn runs_programs(&self) -> bool {
        let mut sources = self
            .profiles
            .iter()
            .flat_map(|profile| profile.key.iter().chain(&profile.bearer));
        sources.any(|source| matches!(source, SecretSource::Command(_)))
            || self.notify.iter().any(|rule| !rule.command.is_empty())
    }

    /// Decides for every profile whether it is read-only: under `--read-only`, if its file says so, or if it is labeled as
    /// production without `--write`.
    pub fn seal(&mut self, read_only: bool, write: bool) {
        self.profiles
            .iter_mut()
            .for_each(|profile| profile.seal(read_only, write));
    }

    /// Parses a configuration; `path` is for messages and for relative paths of key files.
    pub fn parse(text: &str, path: Option<&Path>) -> Result<Config, ConfigError> {
        sections::config(text, path)
    }

    /// Returns it in the format of the file, without arguments of commands, which may contain secrets.
    pub fn to_toml(&self) -> String {
        sections::to_toml(self)
    }

    /// Returns the profile of the official environment variables, if any is set: `LANGSMITH_API_KEY`, or without it
    /// `LANGSMITH_BEARER_TOKEN`; `LANGSMITH_WORKSPACE_ID` or `LANGSMITH_TENANT_ID`, and `LANGGRAPH_HOST_URL` (the control plane's full address) or
    /// `LANGSMITH_ENDPOINT` (any address of the installation). An invalid address makes no profile.
    pub fn from_env(env: impl Fn(&str) -> Option<String>) -> Option<Profile> {
        env::profile(env).ok().flatten()
    }

    /// Returns the configuration of `--url`: one agent server, without control plane and key. An address without a scheme is
    /// https, or http on this machine. Plain http elsewhere is allowed, because the user asked for it and no key is sent.
    /// Everything but the profiles comes from the named file, else from the default file if there is one.
    pub fn for_url(url: &str, path: Option<&Path>) -> Result<Config, ConfigError> {
        let mut profile = env::url_profile(url)?;
        let file = Config::of_file(path)?.unwrap_or_default();
        profile.max_answer = Some(file.event_log.max_answer);
        // It is not a profile of the file.
        let profiles = vec![profile];
        Ok(Config {
            path: None,
            default_profiles: Vec::new(),
            profiles,
            ..file
        })
    }

    /// Returns the default path: `$XDG_CONFIG_HOME/runtail/config.toml` if that is set, on every system, else the system's
    /// usual location.
    pub fn default_path() -> Option<PathBuf> {
        let xdg = std::env::var_os("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|p| p.is_absolute());
        let folder = match xdg {
            Some(base) => base.join("runtail"),
            None => directories::ProjectDirs::from("", "", "runtail")?
                .config_dir()
                .to_path_buf(),
        };
        Some(folder.join("config.toml"))
    }

    /// Returns the folder for what lasts from one session to the next: `$XDG_STATE_HOME/runtail` if that is set, on every
    /// system, else the system's usual location.
    pub fn state_folder() -> Option<PathBuf> {
        let xdg = std::env::var_os("XDG_STATE_HOME")
            .map(PathBuf::from)
            .filter(|p| p.is_absolute());
        if let Some(base) = xdg {
            return Some(base.join("runtail"));
        }
        let folders = directories::ProjectDirs::from("", "", "runtail")?;
        Some(
            folders
                .state_dir()
                .unwrap_or(folders.data_local_dir())
                .to_path_buf(),
        )
    }

    /// Returns the profiles with these names; without names the default ones, and without defaults all.
    ///
    /// # Errors
    /// An unknown name; the error lists all names and the nearest one.
    pub fn choose(&self, names: &[String]) -> Result<Vec<Profile>, ConfigError> {
        let names = if names.is_empty() {
            &self.default_profiles
        } else {
            names
        };
        if names.is_empty() {
            return Ok(self.profiles.clone());
        }
        let mut chosen: Vec<Profile> = Vec::new();
        for name in names {
            let found = self
                .profiles
                .iter()
                .find(|p| p.name == *name)
                .ok_or_else(|| self.unknown(name))?;
            if !chosen.iter().any(|p| p.name == found.name) {
                chosen.push(found.clone());
            }
        }
        Ok(chosen)
    }

    /// Returns the names that [`Config::choose`] would choose, without unknown ones.
    pub fn chosen(&self, names: &[String]) -> Vec<String> {
        let names = if names.is_empty() {
            &self.default_profiles
        } else {
            names
        };
        let wanted = |profile: &&Profile| names.is_empty() || names.contains(&profile.name);
        self.profiles
            .iter()
            .filter(wanted)
            .map(|profile| profile.name.clone())
            .collect()
    }

    fn unknown(&self, name: &str) -> ConfigError {
        let known: Vec<&str> = self.profiles.iter().map(|p| p.name.as_str()).collect();
        let error = ConfigError::new(format!(
            "there is no profile \"{}\"",
            crate::text::clean(name)
        ));
        if known.is_empty() {
            return error.hint(
                "no profile is configured; `runtail config init` writes a commented example",
            );
        }
        let list = known.join(", ");
        match nearest(name, known) {
            Some(near) => error.hint(format!("did you mean \"{near}\"? There are: {list}")),
            None => error.hint(format!("profiles: {list}")),
        }
    }

    fn of_env() -> Result<Config, ConfigError> {
        let profile = env::profile(|name| std::env::var(name).ok())?;
        Ok(Config {
            profiles: profile.into_iter().collect(),
            ..Config::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Profile {
        Profile {
            name: name.into(),
            ..Profile::default()
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_change_must_not_name_programs() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let read = |text: &str, mode: u32| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            Config::read(&path).map_err(|e| e.to_string())
        };
        let profile = "[profiles.p]\nagent_server = \"http://127.0.0.1:1\"\n";
        let key = format!("{profile}api_key_command = [\"pass\", \"langsmith\"]\n");
        for text in [
            &key,
            &format!("{profile}[[notify]]\nwhen = \"failed\"\ncommand = [\"notify-send\"]\n"),
        ] {
            let error = read(text, 0o666).unwrap_err();
            assert!(
                error.contains("can be changed by others (mode 666), so no program"),
                "{error}"
            );
            assert!(
                error.ends_with(&format!("run: chmod go-w {}", path.display())),
                "{error}"
            );
            assert!(read(text, 0o644).is_ok());
        }
        assert!(read(profile, 0o666).is_ok());
    }

    /// Compares each mistake in `mistakes.txt` with its whole message. The table as it is now is written to the folder for temporary
    /// files if they differ.
    #[test]
    fn mistakes_show_their_place_and_what_to_do() {
        const TABLE: &str = include_str!("mistakes.txt");
        let mut table = String::new();
        for block in TABLE.split_terminator("----\n") {
            let (text, _) = block.split_once("=>\n").unwrap();
            let read = Config::parse(text, Some(Path::new("c.toml")));
            let said = match &read {
                Ok(config) => config.warnings.join("\n"),
                Err(error) => error.to_string(),
            };
            assert!(
                !said.contains("canary") || text.contains("api_key = "),
                "{said}"
            );
            table.push_str(&format!("{text}=>\n{said}\n----\n"));
        }
        let actual = std::env::temp_dir().join("runtail-mistakes.txt");
        if table != TABLE {
            std::fs::write(&actual, &table).unwrap();
        }
        assert!(table == TABLE, "compare it with {}", actual.display());
    }

    #[test]
    fn profiles_are_chosen_by_name_or_default() {
        let mut config = Config {
            profiles: vec![named("prod-us"), named("prod-eu"), named("local")],
            ..Config::default()
        };
        let names = |list: &[Profile]| list.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
        assert_eq!(
            names(&config.choose(&[]).unwrap()),
            ["prod-us", "prod-eu", "local"]
        );
        config.default_profiles = vec!["prod-eu".into()];
        assert_eq!(names(&config.choose(&[]).unwrap()), ["prod-eu"]);
        assert_eq!(
            names(&config.choose(&["local".into(), "local".into()]).unwrap()),
            ["local"]
        );
        let error = config.choose(&["prod-su".into()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no profile \"prod-su\"\n  did you mean \"prod-us\"? There are: prod-us, prod-eu, local"
        );
    }

    #[test]
    fn production_is_read_only_by_default() {
        let is_read_only = |label: &str, own: bool, read_only: bool, write: bool| {
            let profile = Profile {
                label: Some(label.into()),
                read_only: own,
                ..named("p")
            };
            let mut config = Config {
                profiles: vec![profile],
                ..Config::default()
            };
            config.seal(read_only, write);
            config.profiles[0].is_read_only()
        };
        for label in ["PROD", "prod", " Production ", "NON-PROD"] {
            assert!(is_read_only(label, false, false, false), "{label}");
            assert!(!is_read_only(label, false, false, true), "{label}");
            assert!(is_read_only(label, true, false, true), "{label}");
        }
        assert!(!is_read_only("staging", false, false, false));
        assert!(is_read_only("staging", false, true, false));
        assert!(is_read_only("staging", true, false, false));
    }

    #[test]
    fn explicit_configuration_file_must_exist() {
        let error = Config::load(Some(Path::new("/nonexistent/runtail.toml"))).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("/nonexistent/runtail.toml: the file does not exist"),
            "{error}"
        );
    }

    #[test]
    fn example_configuration_is_complete_and_valid() {
        let config = Config::parse(Config::EXAMPLE, None).unwrap();
        assert_eq!(config.warnings, Vec::<String>::new());
        assert_eq!(
            (config.poll, config.event_log, config.ui),
            (Poll::default(), EventLogLimits::default(), Ui::default())
        );
        // The commented lines must be valid as well.
        let all: String = Config::EXAMPLE
            .lines()
            .map(|line| match line.strip_prefix("#: ") {
                Some(code) => format!("{code}\n"),
                None => format!("{line}\n"),
            })
            .collect();
        let config = Config::parse(&all, None).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(config.warnings, Vec::<String>::new());
        assert!(config.profiles.len() >= 4);
        // Every setting has a line; the ways to give a secret are described together.
        let (structs, _) = include_str!("sections.rs").split_once("enum Each").unwrap();
        let defaults = Config::default().to_toml();
        let others =
            "when match decision message command currency input output cached reasoning inherits ";
        let others = others.replace(' ', " = \n");
        let keys: std::collections::BTreeSet<String> =
            regex::Regex::new(r"(?m)^    (\w+): |^(\w+) = ")
                .unwrap()
                .captures_iter(&format!("{structs}{defaults}{others}"))
                .map(|found| found.get(1).or(found.get(2)).unwrap().as_str().to_string())
                .collect();
        assert!(keys.len() > 40, "{keys:?}");
        let lines = || {
            Config::EXAMPLE
                .lines()
                .map(|line| line.trim_start_matches("#: ").trim_start_matches("# "))
        };
        for name in keys {
            let (set, table) = (format!("{name} = "), format!("[{name}"));
            let list = format!("[{table}");
            let starts = |line: &str| {
                [&set, &table, &list]
                    .iter()
                    .any(|start| line.starts_with(*start))
            };
            let has_line =
                lines().any(starts) || lines().any(|line| line.contains(&format!("{{ {set}")));
            let is_mentioned = ["bearer_", "cached", "reasoning", "output"]
                .iter()
                .any(|start| name.starts_with(start) && Config::EXAMPLE.contains(&name));
            assert!(
                has_line || is_mentioned,
                "the example does not contain {name}"
            );
        }
    }
}
