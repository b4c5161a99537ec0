//! `config init`, `config path`, `config show` and `config import`.

use crate::consent::Yes;
use crate::context;
use crate::exit::{Exit, Failure};
use crate::globals::Globals;
use crate::output::{self, Output};
use clap::{Args, Subcommand};
use runtail_core::config::{Config, MAX_ANSWER, Profile, SecretSource, private_folder};
use runtail_core::text;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

/// Commands for the configuration file.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a commented example, unless the file exists
    Init,
    /// Print the path of the file
    Path,
    /// Print the configuration in use, without secrets
    Show,
    /// Add the profiles of the official tools
    #[command(after_long_help = IMPORT_NOTES)]
    Import(Import),
}

const IMPORT_NOTES: &str = "\
Reads ~/.langsmith/config.json (or the file in LANGSMITH_CONFIG_FILE), and .env and langgraph.json in the current folder, and never \
changes them. Keys stay there: a new profile refers to its key. The changes to the configuration file are shown, and written only \
after a confirmation. Existing profiles stay as they are, and so does default_profiles: if it is set, new profiles are not in use by \
themselves.

A row's status is `added`, `new` (with --dry-run) or `skipped`, which has a `reason`.

Exit codes: 0 done, or nothing to add · 1 not written · 2 not confirmed, a NAME that can't be imported, or the configuration file is \
invalid.";

/// Options of `config import`.
#[derive(Debug, Args)]
pub struct Import {
    /// Only the profiles with these names
    #[arg(value_name = "NAME")]
    pub(super) names: Vec<String>,
    /// Show the changes, and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) yes: Yes,
    #[command(flatten)]
    pub(super) output: Output,
}

pub(crate) async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Init => init(&place(globals)?)?,
        Command::Path => tell(&place(globals)?)?,
        Command::Show => output::print(&show(&context::load_config(globals)?), false)?,
        Command::Import(options) => super::config_import::run(place(globals)?, options).await?,
    }
    Ok(Exit::Done)
}

fn place(globals: &Globals) -> Result<PathBuf, Failure> {
    let usual = || {
        Config::default_path()
            .ok_or_else(|| Failure::usage("no home directory found; use --config FILE"))
    };
    globals.config.clone().map_or_else(usual, Ok)
}

fn init(path: &PathBuf) -> Result<(), Failure> {
    let failed =
        |e: std::io::Error| Failure::usage(format!("cannot write {}: {e}", path.display()));
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        private_folder(folder).map_err(failed)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(mut file) => file.write_all(Config::EXAMPLE.as_bytes()).map_err(failed)?,
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Failure::usage(format!(
                "{} already exists and was not changed",
                path.display()
            )));
        }
        Err(e) => return Err(failed(e)),
    }
    tell(path)
}

/// Prints a path: unchanged in a pipe, sanitized on a terminal.
fn tell(path: &Path) -> Result<(), Failure> {
    let path = path.display().to_string();
    let shown = if std::io::stdout().is_terminal() {
        text::clean(&path)
    } else {
        (&path).into()
    };
    output::print(&format!("{shown}\n"), false)
}

/// Returns the configuration in use, in the format of the file.
fn show(config: &Config) -> String {
    let mut out = String::new();
    let source = match &config.path {
        Some(path) => path.display().to_string(),
        None if config.profiles.is_empty() => "no file; all defaults".to_string(),
        None => "no file; the profile comes from the environment or the arguments".to_string(),
    };
    let _ = writeln!(out, "# {}", text::clean(&source));
    if !config.default_profiles.is_empty() {
        let _ = writeln!(out, "default_profiles = {}", list(&config.default_profiles));
    }
    config
        .profiles
        .iter()
        .for_each(|profile| show_profile(&mut out, profile));
    let seconds = |d: std::time::Duration| format!("\"{}ms\"", d.as_millis()).replace("000ms", "s");
    let _ = writeln!(
        out,
        "\n[poll]\ninterval = {}\ntimeout = {}",
        seconds(config.poll.interval),
        seconds(config.poll.timeout)
    );
    let event_log = &config.event_log;
    let max_answer = config.max_answer.unwrap_or(MAX_ANSWER);
    let _ = writeln!(
        out,
        "\n[limits]\nmax_rows = {}\nmax_bytes = {}\nmax_event = {}\ntotal = {}\nmax_answer = {max_answer}",
        event_log.max_rows, event_log.max_bytes, event_log.max_event, event_log.total
    );
    let ui = &config.ui;
    let _ = writeln!(
        out,
        "\n[ui]\ntheme = {}\nmouse = {}\nascii = {}\ntimestamps = {}\nwrap = {}\nrestore = {}\nnotify = {}",
        quoted(&ui.theme),
        quoted(&ui.mouse.to_string()),
        ui.ascii,
        quoted(&ui.timestamps.to_string()),
        ui.wrap,
        ui.restore,
        quoted(&ui.notify.to_string())
    );
    out.push_str(&config.themes.to_toml());
    if !config.keys.is_empty() {
        let _ = writeln!(out, "\n[keys]");
    }
    for (name, keys) in &config.keys {
        let _ = writeln!(out, "{} = {}", quoted(name), list(keys));
    }
    out
}

fn show_profile(out: &mut String, profile: &Profile) {
    let _ = writeln!(out, "\n[profiles.{}]", text::clean(&profile.name));
    if let Some(region) = &profile.region {
        let _ = writeln!(out, "# region {}", text::clean(region));
    }
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(out, "{name} = {value}");
        }
    };
    line(
        "control_plane",
        profile
            .control_plane
            .as_ref()
            .map(|url| quoted(url.as_str())),
    );
    line("workspace", profile.workspace.as_deref().map(quoted));
    for (kind, source) in [("api_key", &profile.key), ("bearer", &profile.bearer)] {
        match source {
            Some(SecretSource::Env(name)) => line(&format!("{kind}_env"), Some(quoted(name))),
            Some(SecretSource::File(path)) => line(
                &format!("{kind}_file"),
                Some(quoted(&path.display().to_string())),
            ),
            Some(SecretSource::Entry(path, entry)) => {
                line(
                    &format!("{kind}_file"),
                    Some(quoted(&format!("{}#{entry}", path.display()))),
                );
            }
            Some(SecretSource::Keyring(entry)) => {
                line(&format!("{kind}_keyring"), Some(quoted(&entry.to_string())))
            }
            // Arguments may contain secrets.
            Some(SecretSource::Command(words)) => {
                let program = words.first().map_or("", |w| w);
                line(
                    &format!("{kind}_command"),
                    Some(format!("[{}, …]", quoted(program))),
                );
            }
            Some(SecretSource::Given(_)) | None => {}
        }
    }
    line("label", profile.label.as_deref().map(quoted));
    line(
        "read_only",
        profile.is_read_only().then(|| "true".to_string()),
    );
    line("poll", profile.poll_setting());
    line(
        "deployments",
        (!profile.deployments.is_empty()).then(|| list(&profile.deployments)),
    );
    line("allow_http", profile.allow_http.then(|| "true".to_string()));
    let servers: Vec<String> = profile
        .agent_servers
        .iter()
        .map(|(name, url)| format!("{} = {}", quoted(name), quoted(url.as_str())))
        .collect();
    line(
        "agent_server",
        (!servers.is_empty()).then(|| format!("{{ {} }}", servers.join(", "))),
    );
}

/// Quotes a text for TOML; a JSON string is valid TOML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text::clean(text).as_ref()).to_string()
}

fn list(texts: &[String]) -> String {
    format!(
        "[{}]",
        texts
            .iter()
            .map(|t| quoted(t))
            .collect::<Vec<_>>()
            .join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_read_again() {
        let text = "[profiles.a]\nurl = \"https://x.example.com\"\napi_key_env = \"K\"\nlabel = \"x\"\n\
                    deployments = [\"d\"]\n[profiles.b]\nagent_server = \"http://localhost:1\"\n[keys]\n\"a.b\" = \"G\"\n";
        let mut config = Config::parse(text, None).unwrap();
        let mut again = Config::parse(&show(&config), None).unwrap_or_else(|e| panic!("{e}"));
        // How each profile is written may differ: what it says may not.
        (config.tables, again.tables) = Default::default();
        assert_eq!(again.warnings, Vec::<String>::new());
        assert_eq!(format!("{again:?}"), format!("{config:?}"));
    }
}
