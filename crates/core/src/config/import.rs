//! Profiles of the official tools, as profiles of Runtail. Their files are only read, and a key stays where it is: the new
//! profile refers to it.

use super::env::web_address;
use super::env_file::{self, Variable};
use super::secret_file::MAX_DOCUMENT;
use super::{Config, ConfigError, Draft, Profile, SecretSource, base, files};
use crate::exact_json;
use crate::text;
use serde_json::{Map, Value};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use url::Url;

/// Maximum number of profiles that are taken from one file.
const MAX_PROFILES: usize = 100;
/// The variables with a key, in the order of the official tools.
const KEY_VARIABLES: [&str; 3] = [
    "LANGGRAPH_HOST_API_KEY",
    "LANGSMITH_API_KEY",
    "LANGCHAIN_API_KEY",
];

/// Where the files of the official tools are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The profiles of the `langsmith` command and of the SDKs.
    pub langsmith: Option<PathBuf>,
    /// The folder of a project, with `.env` and `langgraph.json`.
    pub project: Option<PathBuf>,
}

impl Places {
    /// Returns the places of this process: `LANGSMITH_CONFIG_FILE` or `~/.langsmith/config.json`, and the working directory.
    pub fn usual() -> Places {
        let named = std::env::var_os("LANGSMITH_CONFIG_FILE")
            .filter(|path| !path.is_empty())
            .map(PathBuf::from);
        let usual = || {
            Some(
                directories::BaseDirs::new()?
                    .home_dir()
                    .join(".langsmith/config.json"),
            )
        };
        Places {
            langsmith: named.or_else(usual),
            project: std::env::current_dir().ok(),
        }
    }
}

/// The content of the official tools' files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Import {
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// The files that don't exist.
    pub missing: Vec<PathBuf>,
    /// The profiles that can be added, in the order of their files.
    pub profiles: Vec<Imported>,
    /// What can't be added, and why.
    pub skipped: Vec<Skipped>,
    /// Whether the configuration sets `default_profiles`, so that new profiles are not in use by themselves.
    pub has_defaults: bool,
}

/// A profile that can be added.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    pub profile: Profile,
    /// The file that defines it.
    pub file: PathBuf,
    /// What to do before it works.
    pub to_do: Option<String>,
}

/// A profile, or a whole file, that can't be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its name; none for a whole file.
    pub name: Option<String>,
    pub file: PathBuf,
    pub why: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = short(&self.file);
        match &self.name {
            Some(name) => write!(f, "{} ({file}): {}", text::clean(name), self.why),
            None => write!(f, "{file}: {}", self.why),
        }
    }
}

impl Imported {
    /// Returns its definition for the configuration file.
    pub fn text(&self) -> Arc<str> {
        let definition = super::sections::profile_text(&self.profile);
        // The comment says where the profile comes from, in case the other file is removed.
        let (head, rest) = definition.split_once('\n').unwrap_or((&definition, ""));
        format!(
            "{head}\n# From {}.\n{rest}",
            text::clean(&short(&self.file))
        )
        .into()
    }

    /// Returns where its key stays.
    pub fn key(&self) -> String {
        match self.profile.key.as_ref().or(self.profile.bearer.as_ref()) {
            None => "none".into(),
            Some(SecretSource::Command(words)) => format!("printed by {}", words.join(" ")),
            Some(SecretSource::File(path)) => format!("stays in {}", short(path)),
            Some(SecretSource::Entry(path, entry)) => {
                // The last part of a JSON pointer names the value.
                format!(
                    "stays in {}, as {}",
                    short(path),
                    entry.rsplit('/').next().unwrap_or_default()
                )
            }
            Some(source) => format!("stays in {source}"),
        }
    }

    /// Returns its region, or the address of its control plane.
    pub fn server(&self) -> String {
        let url = self.profile.control_plane.as_ref();
        match url.and_then(base::region_of) {
            Some(region) => region.to_string(),
            None => url.map(Url::to_string).unwrap_or_default(),
        }
    }
}

/// Returns a path with `~` for the home directory.
pub fn short(path: &Path) -> String {
    let home = directories::BaseDirs::new();
    match home
        .as_ref()
        .and_then(|home| path.strip_prefix(home.home_dir()).ok())
    {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

impl Import {
    /// Reads the files. A missing file is no problem. Blocks, so don't call it on an async thread.
    pub fn read(places: &Places) -> Import {
        let mut found = Import::default();
        if let Some(path) = &places.langsmith {
            found.read_langsmith(path);
        }
        if let Some(folder) = &places.project {
            found.read_project(folder);
        }
        found
    }

    /// Moves the profiles to the skipped ones whose names the configuration has. They are never overwritten.
    pub fn without_known(mut self, known: &[String]) -> Import {
        let (taken, free) = self
            .profiles
            .into_iter()
            .partition(|one| known.contains(&one.profile.name));
        self.profiles = free;
        let conflict = |one: Imported| Skipped {
            name: Some(one.profile.name),
            file: one.file,
            why: "your configuration has a profile of this name, which stays as it is".into(),
        };
        self.skipped.extend(Vec::into_iter(taken).map(conflict));
        self
    }

    /// Keeps only the profiles with these names; all if there are none.
    ///
    /// # Errors
    /// A profile with one of the names can't be added.
    pub fn only(mut self, names: &[String]) -> Result<Import, ConfigError> {
        if names.is_empty() {
            return Ok(self);
        }
        for name in names {
            if self.profiles.iter().any(|one| one.profile.name == *name) {
                continue;
            }
            let why = self
                .skipped
                .iter()
                .find(|one| one.name.as_ref() == Some(name))
                .map(Skipped::to_string);
            let known: Vec<&str> = self
                .profiles
                .iter()
                .map(|one| one.profile.name.as_str())
                .collect();
            let hint = match (why, known.is_empty()) {
                (Some(why), _) => why,
                (None, true) => self.nothing(),
                (None, false) => format!("there are: {}", known.join(", ")),
            };
            let message = format!("no profile named {} can be imported", text::clean(name));
            return Err(ConfigError::new(message).hint(text::clean(&hint).into_owned()));
        }
        self.profiles
            .retain(|one| names.contains(&one.profile.name));
        self.skipped.retain(|one| one.name.is_none());
        Ok(self)
    }

    /// Explains that new profiles with these names are not in use; nothing if they are.
    pub fn not_in_use(&self, names: &[&str]) -> Option<String> {
        let (is, it) = if names.len() == 1 {
            ("is", "it")
        } else {
            ("are", "them")
        };
        let names = names.join(", ");
        (self.has_defaults && !names.is_empty()).then(|| {
            format!(
                "{names} {is} not in use, because default_profiles doesn't name {it}: add {it} there, or use --profile."
            )
        })
    }

    /// Explains that there is nothing to add.
    pub fn nothing(&self) -> String {
        let names = |files: &[PathBuf], last: &str| {
            let names: Vec<String> = files
                .iter()
                .map(|file| text::clean(&short(file)).into_owned())
                .collect();
            match names.split_last() {
                Some((end, before)) if !before.is_empty() => {
                    format!("{}{last}{end}", before.join(", "))
                }
                _ => names.concat(),
            }
        };
        let verb = if self.files.len() == 1 { "has" } else { "have" };
        match (self.files.is_empty(), self.skipped.is_empty()) {
            (true, true) => format!(
                "Nothing to import: there is no {}.",
                names(&self.missing, " or ")
            ),
            (false, true) => {
                format!(
                    "Nothing to import: {} {verb} no LangSmith key or address.",
                    names(&self.files, " and ")
                )
            }
            (_, false) => "Nothing to import.".into(),
        }
    }

    /// Prepares the configuration file with the profiles, or only with those named; nothing if there is none to add.
    ///
    /// # Errors
    /// The configuration file can't be read, or is invalid; or a named profile can't be added.
    pub fn draft(
        places: &Places,
        file: &Path,
        names: &[String],
    ) -> Result<(Import, Option<Box<Draft>>), ConfigError> {
        let (known, has_defaults) = match std::fs::symlink_metadata(file) {
            Err(e) if e.kind() == ErrorKind::NotFound => (Vec::new(), false),
            _ => {
                let config = Config::read(file)?;
                let names = config
                    .profiles
                    .into_iter()
                    .map(|profile| profile.name)
                    .collect();
                (names, !config.default_profiles.is_empty())
            }
        };
        let mut found = Import::read(places).without_known(&known).only(names)?;
        found.has_defaults = has_defaults;
        let texts: Vec<Arc<str>> = found.profiles.iter().map(Imported::text).collect();
        let draft = if texts.is_empty() {
            None
        } else {
            Some(Box::new(Draft::new(file, texts)?))
        };
        Ok((found, draft))
    }

    fn skip(&mut self, name: Option<&str>, file: &Path, why: impl Into<String>) {
        self.skipped.push(Skipped {
            name: name.map(str::to_string),
            file: file.to_path_buf(),
            why: why.into(),
        });
    }

    /// Returns the text of a file; nothing if there is no such file, or it can't be read, which is reported.
    fn text_of(&mut self, path: &Path) -> Option<String> {
        match files::read_text_most(path, MAX_DOCUMENT) {
            Ok(text) => {
                self.files.push(path.to_path_buf());
                Some(text)
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {
                match std::fs::symlink_metadata(path) {
                    Ok(_) => self.skip(None, path, "this is a link to a file that does not exist"),
                    Err(_) => self.missing.push(path.to_path_buf()),
                }
                None
            }
            Err(e) if e.kind() == ErrorKind::InvalidData => {
                self.skip(None, path, "this is not a text file (UTF-8)");
                None
            }
            Err(e) => {
                self.skip(None, path, format!("can't be read: {e}"));
                None
            }
        }
    }

    fn json_of(&mut self, path: &Path) -> Option<Map<String, Value>> {
        let text = self.text_of(path)?;
        if text.trim().is_empty() {
            return None;
        }
        let why = match exact_json::parse(text.strip_prefix('\u{feff}').unwrap_or(&text)) {
            Ok(Value::Object(fields)) => return Some(fields),
            Ok(_) => "this is not a JSON object".to_string(),
            Err(exact_json::Unreadable::Invalid(error)) => format!("this is not JSON ({error})"),
            // A name that is there twice: the tools would read the last one, but which one is meant?
            Err(exact_json::Unreadable::Inexact(inexact)) => {
                text::clean(&inexact.to_string()).into_owned()
            }
        };
        self.skip(None, path, why);
        None
    }

    /// Reads the profiles of the `langsmith` command.
    fn read_langsmith(&mut self, path: &Path) {
        let Some(document) = self.json_of(path) else {
            return;
        };
        let Some(Value::Object(profiles)) = document.get("profiles") else {
            return;
        };
        if profiles.len() > MAX_PROFILES {
            self.skip(
                None,
                path,
                format!(
                    "only the first {MAX_PROFILES} of {} profiles are read",
                    profiles.len()
                ),
            );
        }
        for (name, fields) in profiles.iter().take(MAX_PROFILES) {
            match langsmith_profile(path, name, fields) {
                Ok(profile) => self.add(profile, path),
                Err(why) => self.skip(Some(name), path, why),
            }
        }
    }

    /// Reads the variables of a project: `.env`, and what `langgraph.json` names as its environment.
    fn read_project(&mut self, folder: &Path) {
        let own = folder.join(".env");
        self.read_env_file(&own, folder);
        let manifest = folder.join("langgraph.json");
        let Some(document) = self.json_of(&manifest) else {
            return;
        };
        match document.get("env") {
            Some(Value::String(file)) => {
                let named = folder.join(file);
                if std::fs::symlink_metadata(&named).is_err_and(|e| e.kind() == ErrorKind::NotFound)
                {
                    return self.skip(
                        None,
                        &named,
                        "langgraph.json names this file, which does not exist",
                    );
                }
                let same = |a: &Path, b: &Path| matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b);
                if named != own && !same(&named, &own) {
                    self.read_env_file(&named, folder);
                }
            }
            Some(Value::Object(fields)) => {
                let text = |(name, value): (&String, &Value)| {
                    let value = value.as_str()?.to_string();
                    Some(Variable {
                        name: name.clone(),
                        is_literal: !value.contains("${"),
                        value,
                    })
                };
                let variables: Vec<Variable> = fields.iter().filter_map(text).collect();
                self.read_variables(&manifest, folder, &variables, |name| format!("/env/{name}"));
            }
            _ => {}
        }
    }

    fn read_env_file(&mut self, path: &Path, folder: &Path) {
        let Some(text) = self.text_of(path) else {
            return;
        };
        self.read_variables(path, folder, &env_file::variables(&text), str::to_string);
    }

    /// Makes a profile of official variables, named after the project's folder. `entry`: how a key file names a variable.
    fn read_variables(
        &mut self,
        path: &Path,
        folder: &Path,
        all: &[Variable],
        entry: impl Fn(&str) -> String,
    ) {
        let get = |name: &str| {
            all.iter()
                .rfind(|one| one.name == name && !one.value.trim().is_empty())
        };
        let name = folder.canonicalize().ok();
        let name = name
            .as_deref()
            .and_then(Path::file_name)
            .map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_else(|| "project".into());
        let key = KEY_VARIABLES.iter().find_map(|name| get(name));
        let places = ["LANGGRAPH_HOST_URL", "LANGSMITH_ENDPOINT"];
        let place = places.iter().find_map(|name| get(name));
        if key.is_none() && place.is_none() {
            return;
        }
        let spaces = ["LANGSMITH_WORKSPACE_ID", "LANGSMITH_TENANT_ID"];
        let workspace = spaces.iter().find_map(|name| get(name));
        let unclear = [key, place, workspace]
            .into_iter()
            .flatten()
            .find(|one| !one.is_literal);
        let control_plane = match (unclear, place) {
            (Some(one), _) => Err(format!(
                "{} refers to another variable, which Runtail doesn't expand; export it and use a profile with api_key_env",
                one.name
            )),
            (None, Some(place)) if place.name == "LANGGRAPH_HOST_URL" => {
                address(&place.value).map(|url| base::as_it_stands(&url))
            }
            (None, Some(place)) => address(&place.value).map(|url| base::control_plane(&url)),
            (None, None) => base::of_region("us").ok_or_else(String::new),
        };
        let key = key.map(|key| SecretSource::Entry(absolute(path), entry(&key.name)));
        let profile = control_plane.and_then(|control_plane| {
            let workspace = workspace.map(|one| one.value.trim());
            profile(&name, control_plane, workspace, key, None)
        });
        match profile {
            Ok(profile) => self.add(profile, path),
            Err(why) => self.skip(Some(&name), path, why),
        }
    }

    /// Adds a profile, unless the files define another one of its name.
    fn add(&mut self, profile: Profile, file: &Path) {
        if self
            .profiles
            .iter()
            .any(|one| one.profile.name == profile.name)
        {
            let why = "another file or profile above has this name";
            return self.skip(Some(&profile.name), file, why);
        }
        let to_do = match &profile.key {
            Some(SecretSource::Entry(path, _) | SecretSource::File(path)) => exposed(path),
            _ => None,
        };
        self.profiles.push(Imported {
            profile,
            file: file.to_path_buf(),
            to_do,
        });
    }
}

/// Returns the profile of one of the `langsmith` command.
fn langsmith_profile(path: &Path, name: &str, fields: &Value) -> Result<Profile, String> {
    if name.contains('#') {
        return Err("its name has a #; add the profile by hand".into());
    }
    if !fields.is_object() {
        return Err("this is not a profile".into());
    }
    let text = |fields: &Value, key: &str| match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            Ok(Some(text.trim().to_string()).filter(|text| !text.is_empty()))
        }
        Some(_) => Err(format!("its {key} is not a text")),
    };
    let api_url = text(fields, "api_url")?;
    let is_anywhere = api_url.is_some();
    let control_plane = match api_url {
        Some(url) => base::control_plane(&address(&url)?),
        None => base::of_region("us").ok_or_else(String::new)?,
    };
    let oauth = fields.get("oauth").unwrap_or(&Value::Null);
    let has_token =
        text(oauth, "access_token")?.is_some() || text(oauth, "refresh_token")?.is_some();
    let key_file = text(fields, "api_key_file")?;
    let key = match text(fields, "api_key")? {
        // `@FILE` is how that command refers to a file.
        Some(key) if key.starts_with('@') => key_in_file(key.trim_start_matches('@').trim())?,
        Some(_) => {
            let name = name.replace('~', "~0").replace('/', "~1");
            Some(SecretSource::Entry(
                absolute(path),
                format!("/profiles/{name}/api_key"),
            ))
        }
        None => key_file
            .map(|file| key_in_file(&file))
            .transpose()?
            .flatten(),
    };
    // That command refreshes the token, which lives for minutes.
    let words = || {
        ["langsmith", "auth", "token", "--profile", name]
            .map(str::to_string)
            .to_vec()
    };
    let bearer = (key.is_none() && has_token).then(|| SecretSource::Command(words()));
    if key.is_none() && bearer.is_none() && !is_anywhere {
        return Err("it has no key and no address".into());
    }
    let workspace = text(fields, "workspace_id")?;
    profile(name, control_plane, workspace.as_deref(), key, bearer)
}

fn key_in_file(file: &str) -> Result<Option<SecretSource>, String> {
    let path = super::secret::expand(file, None);
    match path.is_absolute() {
        true => Ok(Some(SecretSource::File(path))),
        false => Err(
            "its key is in a file with a relative path; add the profile by hand with api_key_file"
                .into(),
        ),
    }
}

/// Returns a profile with a name that the configuration allows.
fn profile(
    name: &str,
    control_plane: Url,
    workspace: Option<&str>,
    key: Option<SecretSource>,
    bearer: Option<SecretSource>,
) -> Result<Profile, String> {
    let is_odd = |c: char| c == '/' || c.is_whitespace() || c.is_control();
    let name = text::clean(name).replace(is_odd, "-");
    if name.is_empty() {
        return Err("it has no name".into());
    }
    // Anything else could be a key that was put into the wrong place.
    if workspace.is_some_and(|id| uuid::Uuid::try_parse(id).is_err()) {
        return Err("its workspace is not an id (UUID)".into());
    }
    Ok(Profile {
        name,
        region: Some(base::tag(&control_plane)),
        control_plane: Some(control_plane),
        workspace: workspace.map(str::to_string),
        key,
        bearer,
        ..Profile::default()
    })
}

fn address(text: &str) -> Result<Url, String> {
    let url = web_address(text.trim()).map_err(|why| format!("its address: {why}"))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(
            "its address has a query or a fragment, which may contain a key; add it by hand".into(),
        );
    }
    match url.scheme() == "http" && !base::is_loopback(&url) {
        true => Err(
            "its address is plain http to another machine; add it by hand with allow_http".into(),
        ),
        false => Ok(url),
    }
}

/// Returns a path that is valid in every working directory.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Returns what to do about a key file that others can read.
fn exposed(path: &Path) -> Option<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path).ok()?.permissions().mode();
        if mode & 0o077 != 0 {
            let path = crate::model::shell_word(&path.to_string_lossy());
            return Some(format!(
                "others can read the file with the key, so Runtail won't use it until you run: chmod 600 {path}"
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    None
}

#[cfg(test)]
mod tests;
