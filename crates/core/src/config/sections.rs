//! The sections of the file as they are written, and the [`Config`] that they mean.

use super::base::{self, REGIONS};
use super::env::web_address;
use super::node::{self, Node};
use super::notify::{MIN_STUCK, program};
use super::read::{Source, read};
use super::secret::{file_and_entry, has_langsmith_key, looks_like_key};
use super::theme::{Themes, Written};
use super::{
    Config, ConfigError, EventLogLimits, Keyring, MAX_ANSWER, NotifyRule, Poll, Profile,
    SecretSource, Stuck, Ui, nearest, prices::Prices,
};
use crate::model::{AnswerRule, RuleDecision, ThreadSearch};
use crate::text;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use url::Url;

/// The settings that say where the API key and the bearer token are: a variable, a file, a command or the keychain.
pub const KEY_SETTINGS: [[&str; 4]; 2] = [
    [
        "api_key_env",
        "api_key_file",
        "api_key_command",
        "api_key_keyring",
    ],
    [
        "bearer_env",
        "bearer_file",
        "bearer_command",
        "bearer_keyring",
    ],
];

/// The whole file.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Sections {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    default_profiles: Vec<String>,
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    profiles: IndexMap<String, ProfileTable>,
    poll: Poll,
    limits: EventLogLimits,
    ui: Ui,
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    themes: IndexMap<String, Written>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answer: Vec<AnswerRule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notify: Vec<NotifyRule>,
    stuck: Stuck,
    prices: Prices,
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    searches: IndexMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    keys: BTreeMap<String, Vec<String>>,
}

/// A `[profiles.NAME]`.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ProfileTable {
    region: Option<String>,
    url: Option<String>,
    control_plane: Option<String>,
    agent_server: Option<Each<String>>,
    workspace: Option<String>,
    api_key_env: Option<String>,
    api_key_file: Option<String>,
    #[serde(deserialize_with = "program", skip_serializing_if = "Vec::is_empty")]
    api_key_command: Vec<String>,
    api_key_keyring: Option<String>,
    bearer_env: Option<String>,
    bearer_file: Option<String>,
    #[serde(deserialize_with = "program", skip_serializing_if = "Vec::is_empty")]
    bearer_command: Vec<String>,
    bearer_keyring: Option<String>,
    label: Option<String>,
    read_only: Option<bool>,
    poll: Option<Each<bool>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deployments: Vec<String>,
    allow_http: Option<bool>,
}

/// One value for the whole profile, or values by the names of its servers.
#[derive(Deserialize)]
enum Each<T> {
    All(T),
    Named(IndexMap<String, T>),
}

impl<T: Serialize> Serialize for Each<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Each::All(value) => value.serialize(to),
            Each::Named(values) => values.serialize(to),
        }
    }
}

/// Parses a configuration.
///
/// # Errors
/// The first error. An unknown key is only a warning.
pub(super) fn config(text: &str, path: Option<&Path>) -> Result<Config, ConfigError> {
    let source = Source::new(text, path);
    let mut document = node::of_toml(&source)?;
    document.change("keys", Node::flatten);
    let sections: Sections = read(&source, &document)?;
    let mut config = of_sections(&source, &document, sections)?;
    config.path = path.map(Path::to_path_buf);
    config.warnings = source.into_unknown();
    Ok(config)
}

/// Returns the line of a profile in a file, from 1. Without it, the first one, or that of what is no TOML.
pub fn line_of(path: &Path, profile: &str) -> usize {
    let text = super::files::read_text(path).unwrap_or_default();
    match node::of_toml(&Source::new(&text, None)) {
        Ok(document) => {
            let at = document.at("profiles").key(profile).start;
            text[..at].matches('\n').count() + 1
        }
        Err(error) => error.place.map_or(1, |place| place.line),
    }
}

fn of_sections(
    source: &Source<'_>,
    document: &Node,
    sections: Sections,
) -> Result<Config, ConfigError> {
    let max_answer = Some(sections.limits.max_answer).filter(|size| *size != MAX_ANSWER);
    let mut profiles = Vec::new();
    for (name, table) in sections.profiles {
        let node = document.at("profiles");
        let is_odd = |c: char| c == '/' || c.is_whitespace() || c.is_control();
        if name.is_empty() || name.contains(is_odd) {
            let why = "a profile's name must not be empty or contain spaces or slashes";
            let error = source.error(node.key(&name), why);
            return Err(error.hint("names are used as PROFILE/NAME on the command line"));
        }
        let reader = ProfileReader {
            source,
            node: node.at(&name),
            allow_http: table.allow_http.unwrap_or_default(),
        };
        let profile = Profile {
            max_answer,
            ..reader.profile(name, table)?
        };
        if profile.region.is_none() {
            let why = format!("the profile \"{}\" has no server", profile.name);
            return Err(source
                .error(node.key(&profile.name), why)
                .hint("add a `region`, a `url` or an `agent_server`"));
        }
        profiles.push(profile);
    }
    check_defaults(source, document, &sections.default_profiles, &profiles)?;
    let themes = Themes::of(source, document.at("themes"), sections.themes)?;
    let config = Config {
        default_profiles: sections.default_profiles,
        profiles,
        poll: sections.poll,
        event_log: sections.limits,
        ui: sections.ui,
        themes,
        answer_rules: sections.answer,
        notify: sections.notify,
        stuck: sections.stuck,
        prices: sections.prices,
        searches: sections.searches.into_iter().collect(),
        keys: sections.keys,
        ..Config::default()
    };
    check(source, document, &config)?;
    Ok(config)
}

fn check_defaults(
    source: &Source<'_>,
    document: &Node,
    defaults: &[String],
    profiles: &[Profile],
) -> Result<(), ConfigError> {
    let known: Vec<&str> = profiles.iter().map(|p| p.name.as_str()).collect();
    let is_unknown = |name: &String| !known.contains(&&**name);
    let Some(n) = defaults.iter().position(is_unknown) else {
        return Ok(());
    };
    let why = format!("there is no profile \"{}\"", text::clean(&defaults[n]));
    let hint = match nearest(&defaults[n], known.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None if known.is_empty() => "this file has no [profiles.NAME] table".into(),
        None => format!("there are: {}", known.join(", ")),
    };
    let node = document.at("default_profiles").item(n);
    Err(source.error(node.span.clone(), why).hint(hint))
}

/// Checks what a type can't: the bounds of durations, and names of themes and searches.
fn check(source: &Source<'_>, document: &Node, config: &Config) -> Result<(), ConfigError> {
    let wrong = |table: &str, key: &str, why: &str| {
        source.error(document.at(table).at(key).span.clone(), why)
    };
    if config.poll.interval < Duration::from_secs(1) {
        let why = "the control plane must not be polled more than once a second";
        return Err(wrong("poll", "interval", why).hint("the service recommends 60s"));
    }
    for (key, limit) in [
        ("pending", config.stuck.pending),
        ("silent", config.stuck.silent),
    ] {
        if limit < MIN_STUCK {
            let why = "too short: every run would count as stuck at some point";
            return Err(wrong("stuck", key, why).hint("at least 5s"));
        }
    }
    if config.themes.get(&config.ui.theme).is_none() {
        let (message, hint) = config.themes.unknown(&config.ui.theme);
        return Err(wrong("ui", "theme", &message).hint(hint));
    }
    for (name, search) in &config.searches {
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            let why = "a saved search's name must not be empty or contain spaces";
            return Err(source.error(document.at("searches").key(name), why));
        }
        if let Err(error) = ThreadSearch::parse(search) {
            return Err(wrong(
                "searches",
                name,
                &format!("not a valid search: {error}"),
            ));
        }
    }
    let has_no_use =
        |rule: &AnswerRule| rule.decision == RuleDecision::Approve && rule.message.is_some();
    match config.answer_rules.iter().position(has_no_use) {
        None => Ok(()),
        Some(n) => {
            let message = document.at("answer").item(n).at("message");
            Err(source.error(message.span.clone(), "only a rejection has a message"))
        }
    }
}

/// Reads a profile from its table.
struct ProfileReader<'s> {
    source: &'s Source<'s>,
    node: &'s Node,
    allow_http: bool,
}

/// The sources of a key as they are written: `…_env`, `…_file`, `…_command`, `…_keyring`.
type KeySource = (Option<String>, Option<String>, Vec<String>, Option<String>);

impl ProfileReader<'_> {
    fn wrong(&self, key: &str, why: impl Into<String>) -> ConfigError {
        self.source.error(self.node.at(key).span.clone(), why)
    }

    /// Refuses the second one of settings that exclude each other.
    fn once(&self, keys: &[&str], what: &str) -> Result<(), ConfigError> {
        let Some(second) = self.node.second(keys) else {
            return Ok(());
        };
        let names: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
        let (last, others) = names.split_last().unwrap_or((&names[0], &[]));
        let why = format!("the {what} is given twice");
        Err(self.source.error(second.span.clone(), why).hint(format!(
            "{} and {last} exclude each other: keep one",
            others.join(", ")
        )))
    }

    /// The error for a key where a name or a place is expected. It doesn't repeat the key.
    fn pasted_key(&self, key: &str) -> ConfigError {
        self.source.hide(self.node.at(key).span.clone());
        let hint =
            "say where the key is: api_key_env, api_key_file, api_key_command or api_key_keyring";
        self.wrong(
            key,
            "this looks like a key, and keys don't belong in this file",
        )
        .hint(hint)
    }

    fn address(&self, node: &Node, text: &str) -> Result<Url, ConfigError> {
        let wrong = |why: &str, hint: &str| self.source.error(node.span.clone(), why).hint(hint);
        let hint = "expected an address such as \"https://langsmith.example.com\"";
        let url = web_address(text).map_err(|why| wrong(&why, hint))?;
        if url.scheme() == "http" && !self.allow_http && !base::is_loopback(&url) {
            let why = "plain http to another machine exposes keys and data on the network";
            return Err(wrong(
                why,
                "use https, or set `allow_http = true` in this profile",
            ));
        }
        Ok(url)
    }

    fn profile(&self, name: String, table: ProfileTable) -> Result<Profile, ConfigError> {
        self.once(&["region", "url", "control_plane"], "control plane")?;
        let at = |key: &str| self.node.at(key);
        let control_plane = match (&table.region, &table.url, &table.control_plane) {
            (Some(tag), ..) => Some(base::of_region(tag).ok_or_else(|| self.unknown_region(tag))?),
            (_, Some(url), _) => Some(base::control_plane(&self.address(at("url"), url)?)),
            (.., Some(url)) => Some(base::as_it_stands(&self.address(at("control_plane"), url)?)),
            _ => None,
        };
        let servers = at("agent_server");
        let agent_servers = match table.agent_server {
            None => Vec::new(),
            Some(Each::All(url)) => vec![(name.clone(), self.address(servers, &url)?)],
            Some(Each::Named(urls)) => {
                let urls = urls.into_iter().map(|(name, url)| {
                    let url = self.address(servers.at(&name), &url)?;
                    Ok((name, url))
                });
                urls.collect::<Result<_, ConfigError>>()?
            }
        };
        let agent_servers: Vec<(String, Url)> = agent_servers
            .into_iter()
            .map(|(name, url)| (name, base::as_it_stands(&url)))
            .collect();
        for (key, value) in [("workspace", &table.workspace), ("label", &table.label)] {
            if value.as_deref().is_some_and(has_langsmith_key) {
                return Err(self.pasted_key(key));
            }
        }
        if let Some(id) = &table.workspace
            && !id.bytes().all(|b| b.is_ascii_graphic())
        {
            let why = format!("expected a workspace id (a UUID), found {id:?}");
            return Err(self.wrong("workspace", why));
        }
        let [of_key, of_bearer] = KEY_SETTINGS;
        let key = (
            table.api_key_env,
            table.api_key_file,
            table.api_key_command,
            table.api_key_keyring,
        );
        let bearer = (
            table.bearer_env,
            table.bearer_file,
            table.bearer_command,
            table.bearer_keyring,
        );
        let (is_unpolled, unpolled) = match table.poll {
            None => (false, Vec::new()),
            Some(Each::All(polls)) => (!polls, Vec::new()),
            Some(Each::Named(names)) => {
                let unpolled = names.into_iter().filter(|(_, polls)| !polls);
                (false, unpolled.map(|(name, _)| name).collect())
            }
        };
        let address = control_plane.as_ref();
        Ok(Profile {
            region: address
                .or(agent_servers.first().map(|(_, url)| url))
                .map(base::tag),
            control_plane,
            workspace: table.workspace,
            key: self.secret(&name, of_key, key)?,
            bearer: self.secret(&name, of_bearer, bearer)?,
            label: table.label,
            read_only: table.read_only.unwrap_or_default(),
            is_unpolled,
            unpolled,
            deployments: table.deployments,
            agent_servers,
            allow_http: self.allow_http,
            name,
            ..Profile::default()
        })
    }

    fn unknown_region(&self, tag: &str) -> ConfigError {
        let known = REGIONS.map(|(tag, _)| tag);
        let near = nearest(tag, known).map(|near| format!("did you mean \"{near}\"? "));
        let why = format!("unknown region \"{}\"", text::clean(tag));
        self.wrong("region", why).hint(format!(
            "{}expected one of {}; for another installation use `url`",
            near.unwrap_or_default(),
            known.join(", ")
        ))
    }

    /// Reads the source of a key.
    fn secret(
        &self,
        profile: &str,
        keys: [&str; 4],
        written: KeySource,
    ) -> Result<Option<SecretSource>, ConfigError> {
        self.once(&keys, "key")?;
        let [env, file, _, keyring] = keys;
        Ok(Some(match written {
            (Some(name), ..) => {
                // A pasted key must not be repeated in messages.
                let is_odd = name
                    .contains(|c: char| "=:".contains(c) || c.is_whitespace() || c.is_control());
                if is_odd || name.starts_with("lsv2_") || looks_like_key(&name) {
                    self.source.hide(self.node.at(env).span.clone());
                    let why = "this is not the name of an environment variable";
                    return Err(self.wrong(env, why).hint(format!(
                        "`{env} = \"LANGSMITH_API_KEY\"` names the variable that holds the key"
                    )));
                }
                SecretSource::Env(name)
            }
            (_, Some(path), ..) if has_langsmith_key(&path) => return Err(self.pasted_key(file)),
            (_, Some(path), ..) => {
                match file_and_entry(&path, self.source.path.and_then(Path::parent)) {
                    (path, Some(entry)) => SecretSource::Entry(path, entry),
                    (path, None) => SecretSource::File(path),
                }
            }
            (.., Some(entry)) => {
                SecretSource::Keyring(Keyring::parse(&entry, profile).map_err(|why| {
                    let hint = format!("`{keyring}` is {}", Keyring::FORM);
                    self.wrong(keyring, why).hint(hint)
                })?)
            }
            (.., words, None) if words.is_empty() => return Ok(None),
            (.., words, None) => SecretSource::Command(words),
        }))
    }
}

impl From<&Profile> for ProfileTable {
    fn from(profile: &Profile) -> ProfileTable {
        let url = profile.control_plane.as_ref();
        let region = url.and_then(base::region_of);
        let region = region.filter(|tag| base::of_region(tag).as_ref() == url);
        let control_plane = url.filter(|_| region.is_none());
        let named = |servers: &[(String, Url)]| {
            let servers = servers
                .iter()
                .map(|(name, url)| (name.clone(), url.to_string()));
            Each::Named(servers.collect())
        };
        let agent_server = match profile.agent_servers.as_slice() {
            [] => None,
            [(name, url)] if *name == profile.name => Some(Each::All(url.to_string())),
            servers => Some(named(servers)),
        };
        let poll = match (profile.is_unpolled, profile.unpolled.as_slice()) {
            (true, _) => Some(Each::All(false)),
            (false, []) => None,
            (false, names) => Some(Each::Named(
                names.iter().map(|name| (name.clone(), false)).collect(),
            )),
        };
        let (api_key_env, api_key_file, api_key_command, api_key_keyring) =
            written(&profile.key, &profile.name);
        let (bearer_env, bearer_file, bearer_command, bearer_keyring) =
            written(&profile.bearer, &profile.name);
        ProfileTable {
            region: region.map(str::to_string),
            url: None,
            control_plane: control_plane.map(Url::to_string),
            agent_server,
            workspace: profile.workspace.clone(),
            api_key_env,
            api_key_file,
            api_key_command,
            api_key_keyring,
            bearer_env,
            bearer_file,
            bearer_command,
            bearer_keyring,
            label: profile.label.clone(),
            read_only: profile.is_read_only().then_some(true),
            poll,
            deployments: profile.deployments.clone(),
            allow_http: profile.allow_http.then_some(true),
        }
    }
}

fn written(source: &Option<SecretSource>, profile: &str) -> KeySource {
    let path = |path: &PathBuf| path.to_string_lossy().into_owned();
    match source {
        Some(SecretSource::Env(name)) => (Some(name.clone()), None, Vec::new(), None),
        Some(SecretSource::File(file)) => (None, Some(path(file)), Vec::new(), None),
        Some(SecretSource::Entry(file, entry)) => (
            None,
            Some(format!("{}#{entry}", path(file))),
            Vec::new(),
            None,
        ),
        Some(SecretSource::Command(words)) => (None, None, words.clone(), None),
        Some(SecretSource::Keyring(entry)) => {
            (None, None, Vec::new(), Some(entry.setting(profile)))
        }
        // A key that was given directly has no source to name.
        Some(SecretSource::Given(_)) | None => Default::default(),
    }
}

/// Returns the text of a profile.
pub(super) fn profile_text(profile: &Profile) -> String {
    let table = IndexMap::from([(&profile.name, ProfileTable::from(profile))]);
    to_text(&IndexMap::from([("profiles", table)]))
}

/// Returns a configuration as a file, without the arguments of commands.
pub(super) fn to_toml(config: &Config) -> String {
    // Arguments may contain secrets.
    let shorten = |words: &mut Vec<String>| {
        if words.len() > 1 {
            words.splice(1.., ["…".to_string()]);
        }
    };
    let profiles = config.profiles.iter().map(|profile| {
        let mut table = ProfileTable::from(profile);
        shorten(&mut table.api_key_command);
        shorten(&mut table.bearer_command);
        (profile.name.clone(), table)
    });
    let mut notify = config.notify.clone();
    notify
        .iter_mut()
        .for_each(|rule| shorten(&mut rule.command));
    to_text(&Sections {
        default_profiles: config.default_profiles.clone(),
        profiles: profiles.collect(),
        poll: config.poll.clone(),
        limits: config.event_log.clone(),
        ui: config.ui.clone(),
        themes: config.themes.own.clone(),
        answer: config.answer_rules.clone(),
        notify,
        stuck: config.stuck.clone(),
        prices: config.prices.clone(),
        searches: config.searches.iter().cloned().collect(),
        keys: config.keys.clone(),
    })
}

/// Returns a value in TOML, without control characters.
fn to_text(value: &impl Serialize) -> String {
    let text = toml::to_string(value).unwrap_or_else(|error| format!("# {error}\n"));
    text::clean_lines(&text).into_owned()
}
