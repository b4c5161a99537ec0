//! Checks of this machine, without network: the configuration file, its permissions, the environment.

use super::{Check, Fault, MIN_SECRET, safe};
use runtail_core::config::{Config, ConfigError};
use runtail_core::model::Secrets;
use std::path::Path;

/// Variables with addresses and credentials, which the official clients read too.
const VARIABLES: [&str; 6] = [
    "LANGSMITH_API_KEY",
    "LANGSMITH_BEARER_TOKEN",
    "LANGSMITH_WORKSPACE_ID",
    "LANGSMITH_TENANT_ID",
    "LANGGRAPH_HOST_URL",
    "LANGSMITH_ENDPOINT",
];
/// Variables with a key that only the official clients read.
const THEIRS: [&str; 2] = ["LANGGRAPH_HOST_API_KEY", "LANGCHAIN_API_KEY"];
/// Variables that affect every connection.
const WAYS: [&str; 6] = [
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// The source of the configuration.
#[derive(Debug, Clone, Copy)]
pub enum Origin<'a> {
    /// A file, or the environment.
    Found(&'a Config),
    /// An invalid file or environment.
    Broken(&'a ConfigError),
    /// Not read, and why.
    Unread(&'a str),
}

/// Checks the configuration and the environment.
pub fn machine(origin: Origin<'_>, env: impl Fn(&str) -> Option<String>) -> Vec<Check> {
    let get = |name: &str| env(name).filter(|value| !value.trim().is_empty());
    let mut checks = configuration(origin);
    checks.extend(variables(origin, &get));
    checks.push(ways(&get));
    let secrets: Vec<String> = VARIABLES[..2]
        .iter()
        .chain(&THEIRS)
        .filter_map(|name| get(name))
        .collect();
    let secrets = Secrets::new(secrets.iter().map(String::as_str), MIN_SECRET);
    let home = home();
    checks
        .into_iter()
        .map(|check| check.map(|text| safe(text, &secrets, home.as_deref())))
        .collect()
}

fn configuration(origin: Origin<'_>) -> Vec<Check> {
    let name = "configuration";
    let config = match origin {
        Origin::Unread(why) => return vec![Check::skipped(name, why)],
        Origin::Broken(error) => return vec![broken(error)],
        Origin::Found(config) => config,
    };
    let Some(path) = &config.path else {
        let usual = Config::default_path().map_or_else(
            || "no home directory found".into(),
            |p| p.display().to_string(),
        );
        return vec![if config.profiles.is_empty() {
            Check::bad(Fault::Configuration, name, "no profile configured")
                .seen(format!("no file: {usual}"))
                .seen("neither LANGSMITH_API_KEY nor LANGSMITH_BEARER_TOKEN is set")
                .to_do("try `runtail config init`, or `--url URL` for a single agent server")
        } else {
            Check::good(
                name,
                format!("no file ({usual}); the environment makes the profile"),
            )
        }];
    };
    let profiles = match config.profiles.len() {
        1 => "1 profile".to_string(),
        n => format!("{n} profiles"),
    };
    let found = format!("{}, {profiles}", path.display());
    let mut checks = vec![if config.warnings.is_empty() {
        Check::good(name, found)
    } else {
        let mut check =
            Check::warn(name, found).likely("a mistyped name; such settings have no effect");
        check.evidence = config.warnings.clone();
        check
    }];
    checks.extend(rights(path));
    checks
}

fn broken(error: &ConfigError) -> Check {
    let mut check = Check::bad(Fault::Configuration, "configuration", &error.message);
    let path = error.path.as_ref().map(|path| path.display().to_string());
    match (&error.place, path) {
        (Some(place), path) => {
            let file = path.map(|path| format!("{path}:")).unwrap_or_default();
            check = check.seen(format!(
                "{file}{}:{}: {}",
                place.line,
                place.column,
                place.excerpt.trim()
            ));
        }
        (None, Some(path)) => check = check.seen(path),
        (None, None) => {}
    }
    check.todo = error.hint.clone();
    check
}

/// Checks who can change the file. It contains no key, but the address that a key is sent to.
fn rights(path: &Path) -> Option<Check> {
    let mode = mode(path)?;
    Some(match mode & 0o022 {
        0 => Check::good(
            "rights",
            format!("only you can change it (mode {mode:03o})"),
        ),
        _ => Check::warn("rights", format!("others can change it (mode {mode:03o})"))
            .likely("anyone who changes it can redirect your key")
            .to_do(format!("chmod go-w {}", path.display())),
    })
}

/// Returns the permission bits of a file, if the system has them.
pub(super) fn mode(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Some(std::fs::metadata(path).ok()?.permissions().mode() & 0o777)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

fn variables(origin: Origin<'_>, get: &impl Fn(&str) -> Option<String>) -> Vec<Check> {
    let name = "variables";
    let set: Vec<&str> = VARIABLES
        .into_iter()
        .filter(|name| get(name).is_some())
        .collect();
    let used = match origin {
        Origin::Found(config) => config.path.is_none(),
        _ => false,
    };
    let list = if set.is_empty() {
        "no LANGSMITH_* variable is set".to_string()
    } else {
        format!("set: {}", set.join(", "))
    };
    let why = if used || set.is_empty() {
        ""
    } else {
        "; used only if a profile names them"
    };
    let found = format!("{list}{why}");
    let ids = [get("LANGSMITH_WORKSPACE_ID"), get("LANGSMITH_TENANT_ID")];
    let mut checks = vec![match ids {
        [Some(one), Some(other)] if one.trim() != other.trim() => Check::warn(name, found)
            .likely("LANGSMITH_WORKSPACE_ID and LANGSMITH_TENANT_ID differ, and programs use different ones")
            .to_do("set only one, or both to the same value; runtail uses LANGSMITH_WORKSPACE_ID"),
        _ => Check::good(name, found),
    }];
    let theirs: Vec<&str> = THEIRS
        .into_iter()
        .filter(|name| get(name).is_some())
        .collect();
    if !theirs.is_empty() {
        checks.push(Check::good(
            name,
            format!("{} set, which runtail does not read", theirs.join(" and ")),
        ));
    }
    checks
}

fn ways(get: &impl Fn(&str) -> Option<String>) -> Check {
    let set = WAYS
        .into_iter()
        .filter(|name| get(name).or_else(|| get(&name.to_lowercase())).is_some());
    match set.collect::<Vec<_>>() {
        none if none.is_empty() => {
            Check::good("network", "no proxy or certificate variables are set")
        }
        set => Check::good("network", format!("set: {}", set.join(", "))),
    }
}

/// Returns the home directory, unless it is too short.
pub(super) fn home() -> Option<String> {
    let home = directories::BaseDirs::new()?
        .home_dir()
        .to_str()?
        .trim_end_matches('/')
        .to_string();
    (home.len() > 1).then_some(home)
}

/// Replaces the home directory with `~`, because it often contains the user's name.
pub(super) fn short(text: &str, home: Option<&str>) -> String {
    let Some(home) = home else {
        return text.to_string();
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(home) {
        let (before, after) = (&rest[..at], &rest[at + home.len()..]);
        out.push_str(before);
        // `/home/ann` is not a parent of `/home/anna`.
        let ends =
            !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        out.push_str(if ends { "~" } else { home });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    fn with(pairs: &[(&str, &str)]) -> Vec<Check> {
        machine(Origin::Unread("--url was given"), |name| {
            pairs
                .iter()
                .find(|(k, _)| *k == name)
                .map(|(_, v)| v.to_string())
        })
    }

    #[test]
    fn variables_are_named_but_their_values_never_shown() {
        let checks = with(&[
            ("LANGSMITH_API_KEY", "lsv2_pt_canary"),
            ("LANGSMITH_WORKSPACE_ID", "w-canary-1"),
            ("LANGSMITH_TENANT_ID", "w-canary-2"),
            ("LANGCHAIN_API_KEY", "canary"),
            ("https_proxy", "http://user:canary@proxy:3128"),
        ]);
        let [skipped, variables, theirs, proxies] = checks.as_slice() else {
            panic!("{checks:?}")
        };
        assert_eq!(
            (skipped.state, skipped.found.as_str()),
            (State::Skipped, "--url was given")
        );
        assert_eq!(variables.state, State::Warn);
        assert!(variables.found.contains(
            "set: LANGSMITH_API_KEY, LANGSMITH_WORKSPACE_ID, LANGSMITH_TENANT_ID; used only"
        ));
        assert!(theirs.found.starts_with("LANGCHAIN_API_KEY set"));
        assert_eq!(proxies.found, "set: HTTPS_PROXY");
        assert!(!format!("{checks:?}").contains("canary"));
        let same = with(&[
            ("LANGSMITH_WORKSPACE_ID", "w"),
            ("LANGSMITH_TENANT_ID", " w"),
        ]);
        assert_eq!(same[1].state, State::Good);
    }

    #[test]
    fn configuration_errors_are_shown_with_their_position() {
        let error =
            Config::parse("[ui]\nascii = \"lsv2_pt_canary0123456789\"\n", None).unwrap_err();
        let check = &machine(Origin::Broken(&error), |_| None)[0];
        assert_eq!(check.fault(), Some(Fault::Configuration));
        assert!(check.evidence[0].starts_with("2:9: ascii = "), "{check:?}");
        assert!(!format!("{check:?}").contains("canary"), "{check:?}");
    }

    #[test]
    fn missing_configuration_is_reported() {
        let check = &machine(Origin::Found(&Config::default()), |_| None)[0];
        assert_eq!(check.fault(), Some(Fault::Configuration));
        assert!(check.todo.as_ref().unwrap().contains("config init"));
    }

    #[test]
    fn home_folder_is_abbreviated() {
        let home = Some("/home/ann");
        assert_eq!(
            short("read /home/ann/x and /home/ann, not /home/anna/x", home),
            "read ~/x and ~, not /home/anna/x"
        );
        assert_eq!(short("/home/ann", None), "/home/ann");
    }
}
