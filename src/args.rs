//! The grammar of the command line.

use crate::commands::{
    answer, assistants, auth, bisect, compare, completions, config, crons, deployments, doctor,
    fork, inbox, integrations, join, listeners, logs, man, redact, replay, reproduce, rerun,
    revisions, run, runs, sim, skill, state, store, tail, threads, verify,
};
use crate::exit::{Exit, Failure};
use crate::globals::Globals;
use crate::help;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use futures::FutureExt;
use futures::future::{LocalBoxFuture, ready};
use std::ffi::OsString;
use std::path::PathBuf;

/// The version with its commit, date and target (`build.rs`).
pub const VERSION: &str = env!("RUNTAIL_VERSION");

/// The id of `--profile`.
const PROFILES: &str = "profiles";

/// A dashboard and a command line for agent deployments and their live streams. Without a command: the dashboard.
#[derive(Debug, Parser)]
#[command(name = "runtail", version = VERSION, about, max_term_width = 100, help_template = help::template::<Command>())]
pub struct Args {
    /// Options valid everywhere.
    #[command(flatten)]
    pub globals: Globals,
    /// Open a recording in the dashboard, without network
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// The command. Without one, the dashboard opens.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Args {
    /// Reads the arguments of the process. Ends it with a message if they are wrong.
    pub fn read() -> Args {
        Args::checked(std::env::args_os().collect()).unwrap_or_else(|error| error.exit())
    }

    /// Parses arguments. clap uses global options either before or after the command and checks for conflicts on each side
    /// separately, so options that it would drop and conflicts that it would miss are errors here.
    fn checked(words: Vec<OsString>) -> Result<Args, clap::Error> {
        let args = Args::try_parse_from(&words)?;
        let why = match args.globals.conflict() {
            None if named_profiles(&words) > args.globals.profiles.len() => {
                Some("write all -p before the command, or all after it")
            }
            conflict => conflict,
        };
        why.map_or(Ok(args), |why| {
            Err(Args::command().error(ErrorKind::ArgumentConflict, why))
        })
    }
}

/// Returns how many profiles the arguments name, before and after the command together; 0 if they name one at most.
fn named_profiles(words: &[OsString]) -> usize {
    // A quick look first: a second grammar takes time. `p` may be in a cluster such as `-fp`.
    let may_name = |word: &&OsString| {
        word.to_str().is_some_and(|w| {
            w.starts_with("--profile")
                || w.starts_with('-') && !w.starts_with("--") && w.contains('p')
        })
    };
    if words.iter().filter(may_name).count() < 2 {
        return 0;
    }
    let grammar = Args::command();
    let Some(option) = grammar
        .get_arguments()
        .find(|option| option.get_id() == PROFILES)
        .cloned()
    else {
        return 0;
    };
    let option = option.global(false);
    // An option that is not global is parsed by the command that it follows.
    let grammar = with_option(grammar.mut_arg(PROFILES, |own| own.global(false)), &option);
    let Ok(matches) = grammar.try_get_matches_from(words) else {
        return 0;
    };
    let levels = std::iter::successors(Some(&matches), |level| {
        level.subcommand().map(|(_, below)| below)
    });
    levels
        .map(|level| {
            level
                .get_many::<String>(PROFILES)
                .map_or(0, |names| names.len())
        })
        .sum()
}

/// Adds an option to all commands below one.
fn with_option(command: clap::Command, option: &clap::Arg) -> clap::Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|below| below.get_name().to_string())
        .collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |below| with_option(below.arg(option.clone()), option))
    })
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Deployments of the control plane
    #[command(subcommand)]
    Deployments(deployments::Command),
    /// Revisions of a deployment
    #[command(subcommand)]
    Revisions(revisions::Command),
    /// Build and server logs of deployments
    Logs(logs::Options),
    /// GitHub accounts that deployments are built from
    #[command(subcommand)]
    Integrations(integrations::Command),
    /// Listeners of an organization that hosts its own deployments
    #[command(subcommand)]
    Listeners(listeners::Command),
    /// OAuth providers and tokens
    #[command(subcommand)]
    Auth(auth::Command),
    /// List threads that wait for a person or have failed, over all agent servers
    Inbox(inbox::Options),
    /// Threads of an agent server
    #[command(subcommand)]
    Threads(threads::Command),
    /// Assistants of an agent server
    #[command(subcommand)]
    Assistants(assistants::Command),
    /// Crons of an agent server: runs that a schedule starts
    #[command(subcommand)]
    Crons(crons::Command),
    /// The store of an agent server: items in namespaces
    #[command(subcommand)]
    Store(store::Command),
    /// Runs of a thread
    #[command(subcommand)]
    Runs(runs::Command),
    /// Start a run and stream it
    Run(run::Options),
    /// Answer a question that a thread is waiting for
    Answer(answer::Options),
    /// Run again from a checkpoint of a thread, with a new input, or after an edit of the state
    Fork(fork::Options),
    /// Run the input of a run again
    Rerun(rerun::Options),
    /// Copy a thread with its history to another server, to debug it there
    Reproduce(reproduce::Options),
    /// Find the step at which a value of a thread's state first became wrong
    Bisect(bisect::Options),
    /// Edit the state of a thread
    #[command(subcommand)]
    State(state::Command),
    /// Stream an existing run, with its earlier events if the server replays them
    Join(join::Options),
    /// Follow everything that runs on a thread
    Tail(tail::Options),
    /// Print a recording, without network
    Replay(replay::Options),
    /// Compare two runs, threads or recordings step by step
    Compare(compare::Options),
    /// Check that a recording is complete and was not changed
    Verify(verify::Options),
    /// Write a copy of a recording without secrets, and without what --path and --pattern match
    Redact(redact::Options),
    /// Diagnose connection problems; the output contains no secrets and is safe to share
    Doctor(doctor::Options),
    /// The configuration file
    #[command(subcommand)]
    Config(config::Command),
    /// Run the simulator as servers for other programs
    Sim(sim::Options),
    /// Print a page that teaches coding agents to use this command, or install it as a skill
    Skill(skill::Options),
    /// Print completions for a shell
    Completions(completions::Options),
    /// Print the manual page, or write the pages of all commands
    Man(man::Options),
}

impl Args {
    /// Whether the command only prints one stream.
    pub fn follows_one_stream(&self) -> bool {
        matches!(
            self.command,
            Some(Command::Run(_) | Command::Join(_) | Command::Tail(_) | Command::Replay(_))
        )
    }
}

impl Command {
    /// Runs the command. Each one is a boxed future: one future of all of them would be generated twice, and is large.
    pub fn run(self, globals: &Globals) -> LocalBoxFuture<'_, Result<Exit, Failure>> {
        use Command::*;
        match self {
            Deployments(command) => deployments::run(globals, command).boxed_local(),
            Revisions(command) => revisions::run(globals, command).boxed_local(),
            Logs(options) => logs::run(globals, options).boxed_local(),
            Integrations(command) => integrations::run(globals, command).boxed_local(),
            Listeners(command) => listeners::run(globals, command).boxed_local(),
            Auth(command) => auth::run(globals, command).boxed_local(),
            Inbox(options) => inbox::run(globals, options).boxed_local(),
            Threads(command) => threads::run(globals, command).boxed_local(),
            Assistants(command) => assistants::run(globals, command).boxed_local(),
            Crons(command) => crons::run(globals, command).boxed_local(),
            Store(command) => store::run(globals, command).boxed_local(),
            Runs(command) => runs::run(globals, command).boxed_local(),
            Run(options) => run::run(globals, options).boxed_local(),
            Answer(options) => answer::run(globals, options).boxed_local(),
            Fork(options) => fork::run(globals, options).boxed_local(),
            Rerun(options) => rerun::run(globals, options).boxed_local(),
            Reproduce(options) => reproduce::run(globals, options).boxed_local(),
            Bisect(options) => bisect::run(globals, options).boxed_local(),
            State(command) => state::run(globals, command).boxed_local(),
            Join(options) => join::run(globals, options).boxed_local(),
            Tail(options) => tail::run(globals, options).boxed_local(),
            Sim(options) => sim::run(options).boxed_local(),
            Replay(options) => replay::run(globals, options).boxed_local(),
            Compare(options) => compare::run(globals, options).boxed_local(),
            Verify(options) => async move { verify::run(&options).await }.boxed_local(),
            Redact(options) => async move { redact::run(globals, &options).await }.boxed_local(),
            Doctor(options) => doctor::run(globals, options).boxed_local(),
            Config(command) => config::run(globals, command).boxed_local(),
            Skill(options) => skill::run(options).boxed_local(),
            Completions(options) => ready(completions::run(&options)).boxed_local(),
            Man(options) => ready(man::run(&options, Args::command())).boxed_local(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn options_are_valid_everywhere() {
        let args = Args::try_parse_from([
            "runtail",
            "--read-only",
            "deployments",
            "list",
            "-p",
            "a",
            "-p",
            "b",
        ])
        .unwrap();
        assert_eq!(args.globals.profiles, ["a", "b"]);
        assert!(args.globals.read_only);
        assert!(Args::try_parse_from(["runtail"]).unwrap().command.is_none());
        assert!(Args::try_parse_from(["runtail", "--url", "x", "-p", "a"]).is_err());
        assert!(Args::try_parse_from(["runtail", "--read-only", "--write"]).is_err());
    }

    #[test]
    fn options_stand_on_one_side_of_the_command() {
        let read = |words: &[&str]| {
            let words = ["runtail"]
                .iter()
                .chain(words)
                .map(OsString::from)
                .collect();
            Args::checked(words).map(|args| args.globals.profiles)
        };
        assert_eq!(
            read(&["-pa", "--profile=b", "deployments", "list"]).unwrap(),
            ["a", "b"]
        );
        assert_eq!(
            read(&["deployments", "list", "-p", "c", "-p", "d"]).unwrap(),
            ["c", "d"]
        );
        assert_eq!(read(&["-p", "a"]).unwrap(), ["a"]);
        assert_eq!(read(&["logs", "x", "-fp", "b"]).unwrap(), ["b"]);
        assert_eq!(read(&["logs", "x", "-fpb", "-p", "c"]).unwrap(), ["b", "c"]);
        assert_eq!(
            read(&["-p", "a", "logs", "x", "-f", "-qprod"]).unwrap(),
            ["a"]
        );
        assert_eq!(read(&["deployments", "get", "--", "-p"]).unwrap(), [""; 0]);
        for (words, said) in [
            (
                &["-p", "a", "deployments", "list", "-p", "b"][..],
                "all after it",
            ),
            (
                &["auth", "-p", "b", "tokens", "-p", "c", "list"],
                "all after it",
            ),
            (&["-p", "a", "logs", "x", "-fp", "b"], "all after it"),
            (&["-p", "a", "logs", "x", "-fpb"], "all after it"),
            (&["--url", "x", "deployments", "list", "-p", "a"], "--url"),
            (&["-d", "x", "deployments", "list", "--url", "a"], "--url"),
            (
                &["--read-only", "deployments", "list", "--write"],
                "--read-only",
            ),
        ] {
            let error = read(words).unwrap_err().to_string();
            assert!(error.contains(said), "{words:?}: {error}");
        }
    }
}
