//! Starts the dashboard from arguments and configuration.

use crate::commands::sim;
use crate::context::load_config;
use crate::prelude::*;
use jiff::tz::TimeZone;
use runtail_core::config::Watch;
use runtail_sim::Sim;
use runtail_tui::runtime;
use runtail_tui::runtime::{Demo, Ended, Environment, Options};
use runtail_tui::session::catalog::{KEY_VARIABLE, ProfileOrigin};
use runtail_tui::session::saved_tabs::{Scope, TabsFile};
use std::sync::{Arc, Mutex, PoisonError};

/// Runs the dashboard and returns its exit code.
pub async fn run(globals: &Globals, replay: Option<PathBuf>) -> Result<Exit, Failure> {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        // `isatty` fails with this error for a terminal that was closed.
        if std::io::Error::last_os_error().raw_os_error() == Some(runtime::EIO) {
            return Ok(Exit::Signal(1));
        }
        return Err(Failure::usage(
            "the dashboard needs a terminal on stdin and stdout\n  \
             in a pipe or in CI, use a command such as `runtail deployments list` or `runtail tail`; see `runtail --help`",
        ));
    }
    if std::env::var("TERM").is_ok_and(|t| t == "dumb") {
        return Err(Failure::usage(
            "TERM is \"dumb\": this terminal cannot show a dashboard; `runtail --help` lists commands",
        ));
    }
    // Watch the file if it decides what is shown.
    let is_followed =
        !globals.demo && globals.url.is_none() && globals.deployment.is_none() && replay.is_none();
    let file = globals.config.clone().or_else(Config::default_path);
    let watch = file.clone().filter(|_| is_followed).map(Watch::new);
    let config = load_config(globals)?;
    let config = match &globals.deployment {
        Some(_) if replay.is_none() => only_server(globals, config).await?,
        _ => config,
    };
    let profiles = match &replay {
        Some(_) => Vec::new(),
        None => config.choose(&globals.profiles)?,
    };
    // Without configuration, the dashboard shows the first-run screen.
    if profiles.is_empty() && !is_followed && replay.is_none() {
        return Err(crate::context::no_profile());
    }
    let tz = time_zone();
    let mut options = Options::new(&config, profiles, tz);
    options.settings.demo = globals.demo;
    options.tabs = tabs_file(globals).filter(|_| !globals.demo && replay.is_none());
    if let Some(file) = replay {
        // A recording that can't be read is an error before the terminal is taken.
        drop(crate::commands::replay::lines(&file)?);
        options.replay = Some(file);
    }
    let Globals {
        read_only,
        write,
        ascii,
        ..
    } = *globals;
    let has_key = std::env::var_os(KEY_VARIABLE).is_some_and(|key| !key.is_empty());
    options.origin = ProfileOrigin {
        file,
        names: globals.profiles.clone(),
        read_only,
        write,
        ascii,
        has_key,
    };
    options.watch = watch;
    options.command_options = globals.where_configured();
    options.settings.ascii |= globals.ascii;
    let given = globals.clone();
    options.environment =
        Environment::new(move || crate::commands::doctor::environment_checks(&given));
    options.demo = demo(globals);
    options.color = globals.color.is_on(true);
    options.rgb =
        std::env::var("COLORTERM").is_ok_and(|says| matches!(says.as_str(), "truecolor" | "24bit"));
    match runtime::run(options).await {
        Ok(Ended::Quit) => Ok(Exit::Done),
        Ok(Ended::Signal(number)) => Ok(Exit::Signal(u8::try_from(number).unwrap_or(1))),
        // As if SIGHUP had been received.
        Ok(Ended::TerminalGone) => Ok(Exit::Signal(1)),
        Err(e) => Err(Failure::failed(format!("the terminal failed: {e}"))),
    }
}

/// Returns where the open tabs are kept. Those of the demo and of a recording are worth nothing later.
fn tabs_file(globals: &Globals) -> Option<TabsFile> {
    let scope = match (&globals.url, &globals.deployment) {
        (_, Some(_)) => Scope::OneServer,
        (Some(_), None) => Scope::Address,
        (None, None) => Scope::Profiles,
    };
    Some(TabsFile {
        path: Config::state_folder()?.join("tabs.json"),
        scope,
    })
}

/// Returns what starts the demo from the first-run screen. The simulator runs until the dashboard ends.
fn demo(globals: &Globals) -> Demo {
    let running = Arc::new(Mutex::new(None));
    let (read_only, write) = (globals.read_only, globals.write);
    Demo::new(move || {
        let running = running.clone();
        Box::pin(async move {
            let sim = Sim::demo()
                .await
                .map_err(|e| format!("the simulator can't listen on loopback: {e}"))?;
            let mut config = sim::demo_config(&sim).map_err(|failure| failure.message)?;
            config.seal(read_only, write);
            *running.lock().unwrap_or_else(PoisonError::into_inner) = Some(sim);
            Ok(config)
        })
    })
}

/// Returns the local time zone. Without `TZ` it reads only the system's zone file; jiff would scan all zones to learn its
/// name, which is never shown.
fn time_zone() -> TimeZone {
    let unnamed = || TimeZone::tzif("", &std::fs::read("/etc/localtime").ok()?).ok();
    std::env::var_os("TZ")
        .map_or_else(unnamed, |_| None)
        .unwrap_or_else(TimeZone::system)
}

/// With `-d`, the dashboard shows one agent server.
async fn only_server(globals: &Globals, config: Config) -> Result<Config, Failure> {
    let context = crate::context::Context::load(globals)?;
    let (site, server) = resolve::agent_server(&context).await?;
    let mut profile = site.profile;
    let name = globals.deployment.clone().unwrap_or_default();
    let url = server
        .base()
        .parse()
        .map_err(|e| Failure::usage(format!("{}: {e}", server.base())))?;
    profile.control_plane = None;
    profile.agent_servers = vec![(name, url)];
    Ok(Config {
        profiles: vec![profile],
        default_profiles: Vec::new(),
        ..config
    })
}
