//! What a completion script asks this program at each Tab.

use crate::args::Args;
use crate::commands::completions::ASKED;
use crate::commands::sim;
use crate::context;
use crate::prelude::*;
use clap::{Command, CommandFactory, FromArgMatches};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::CompleteEnv;
use runtail_api::DeploymentQuery;
use runtail_core::config::SecretSource;
use std::ffi::OsStr;

/// How long Tab may wait for the deployments of a profile.
const PATIENCE: Duration = Duration::from_secs(2);

/// Answers a completion script and ends the process, if one asks.
pub fn answer() {
    if std::env::var_os(ASKED).is_some() {
        CompleteEnv::with_factory(|| offering(Args::command()))
            .var(ASKED)
            .complete();
    }
}

/// Adds the names of profiles and deployments to all arguments that take them.
fn offering(command: Command) -> Command {
    let deployment = |id: &str| matches!(id, "deployment" | "deployments");
    let command = command.mut_args(|arg| match arg.get_id().as_str() {
        "profiles" => arg.add(ArgValueCompleter::new(profiles)),
        id if deployment(id) => arg.add(ArgValueCompleter::new(deployments)),
        _ => arg,
    });
    command.mut_subcommands(offering)
}

fn profiles(typed: &OsStr) -> Vec<CompletionCandidate> {
    offered(typed, async |config, _| {
        config.profiles.into_iter().map(|one| one.name).collect()
    })
}

fn deployments(typed: &OsStr) -> Vec<CompletionCandidate> {
    offered(typed, async |config, globals| {
        let chosen = config.choose(&globals.profiles).unwrap_or_default();
        let lists = chosen.into_iter().filter(is_quiet).map(deployments_of);
        let all: Vec<(String, String)> = join_all(lists).await.into_iter().flatten().collect();
        let is_ambiguous = |name: &str| all.iter().filter(|(_, other)| other == name).count() > 1;
        let mut names: Vec<String> = all
            .iter()
            .map(|(of, name)| format!("{of}/{name}"))
            .collect();
        let bare = all.iter().map(|(_, name)| name.clone());
        names.extend(bare.filter(|name| !is_ambiguous(name)));
        names
    })
}

/// Returns the profile and the name of each deployment; none if the profile doesn't answer in time.
async fn deployments_of(profile: Profile) -> Vec<(String, String)> {
    let name = profile.name.clone();
    let listed = async {
        let site = Site::open(profile).await.ok()?;
        let query = DeploymentQuery::default();
        site.control?.deployment_rows(&query).await.ok()
    };
    let listing = tokio::time::timeout(PATIENCE, listed).await.ok().flatten();
    let rows = listing.into_iter().flat_map(|listing| listing.items);
    rows.filter_map(|row| Some((name.clone(), row["name"].as_str()?.to_string())))
        .collect()
}

/// Returns the names that begin with what was typed; none if the configuration can't be read.
fn offered(
    typed: &OsStr,
    names: impl AsyncFnOnce(Config, &Globals) -> Vec<String>,
) -> Vec<CompletionCandidate> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let (Some(mut globals), Ok(runtime)) = (globals(), runtime) else {
        return Vec::new();
    };
    let found = async {
        let simulator = if globals.demo {
            runtail_sim::Sim::demo().await.ok()
        } else {
            None
        };
        globals.simulated = simulator
            .as_ref()
            .and_then(|sim| sim::demo_config(sim).ok());
        match context::unwarned(&globals) {
            Ok(config) => names(config, &globals).await,
            Err(_) => Vec::new(),
        }
    };
    let mut names = runtime.block_on(found);
    runtime.shutdown_background();
    let typed = typed.to_str().unwrap_or_default();
    names.retain(|name| name.starts_with(typed) && is_harmless(name));
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// Whether a name means nothing else to a shell or to this program: scripts insert names unquoted, and a server chooses them.
fn is_harmless(name: &str) -> bool {
    !name.starts_with('-')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c))
}

/// Whether the keys of a profile can be read without a program or a dialog, which nobody expects of Tab.
fn is_quiet(profile: &Profile) -> bool {
    let needs_more = |source: &SecretSource| {
        matches!(source, SecretSource::Command(_) | SecretSource::Keyring(_))
    };
    ![&profile.key, &profile.bearer]
        .into_iter()
        .flatten()
        .any(needs_more)
}

/// Returns the global options among the words that were typed so far.
fn globals() -> Option<Globals> {
    let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
    let grammar = Args::command().ignore_errors(true).disable_help_flag(true);
    Globals::from_arg_matches(&grammar.try_get_matches_from(words).ok()?).ok()
}
