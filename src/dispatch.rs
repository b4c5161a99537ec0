//! Dispatches parsed arguments and returns the exit code.

use crate::args::{Args, Command};
use crate::commands::{
    answer, assistants, auth, bisect, compare, completions, config, crons, dashboard, deployments,
    doctor, fork, inbox, integrations, join, listeners, logs, man, redact, replay, reproduce,
    rerun, revisions, run, runs, sim, state, store, tail, threads, verify,
};
use crate::exit::{Exit, Failure};
use crate::log;
use crate::output::color;
use crate::signals::Interrupts;
use clap::CommandFactory;
use std::process::ExitCode;
use std::time::Duration;

/// How long an interrupted command may take to exit.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs one command, or the dashboard. Data goes to stdout, everything else to stderr.
pub async fn run(args: Args) -> ExitCode {
    // The dashboard handles signals itself, because it has to restore the terminal first.
    let ended = if args.command.as_ref().is_none_or(Command::hears_signals) {
        dispatch(args).await
    } else {
        // Listen before the command does anything that takes time.
        let mut interrupts = Interrupts::listen();
        tokio::spawn(end_what_does_not(Interrupts::listen()));
        tokio::select! {
            ended = dispatch(args) => ended,
            // Dropping the other commands is enough to clean them up.
            () = interrupts.next() => Ok(Exit::Interrupted),
        }
    };
    match ended {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.report();
            failure.exit.into()
        }
    }
}

/// Ends a command that does not react to Ctrl-C, for example because it decompresses a file or opens a pipe without a
/// writer.
async fn end_what_does_not(mut interrupts: Interrupts) {
    interrupts.next().await;
    tokio::time::sleep(PATIENCE).await;
    std::process::exit(Exit::Interrupted.code().into());
}

async fn dispatch(args: Args) -> Result<Exit, Failure> {
    let Args {
        mut globals,
        replay,
        glance,
        command,
    } = args;
    color::choose(globals.color);
    if replay.is_some() && command.is_some() {
        return Err(Failure::usage(
            "--replay opens the dashboard; `runtail replay FILE` prints a recording",
        ));
    }
    if glance && command.is_some() {
        return Err(Failure::usage(
            "--glance opens the dashboard; it has no effect on a command",
        ));
    }
    // The simulator runs until the command ends.
    let simulator = if globals.demo {
        Some(demo().await?)
    } else {
        None
    };
    globals.simulated = simulator.as_ref().map(sim::demo_config).transpose()?;
    log::start(&globals)?;
    match command {
        None => dashboard::run(&globals, replay, glance).await,
        Some(Command::Deployments(command)) => deployments::run(&globals, command).await,
        Some(Command::Revisions(command)) => revisions::run(&globals, command).await,
        Some(Command::Logs(options)) => logs::run(&globals, options).await,
        Some(Command::Integrations(command)) => integrations::run(&globals, command).await,
        Some(Command::Listeners(command)) => listeners::run(&globals, command).await,
        Some(Command::Auth(command)) => auth::run(&globals, command).await,
        Some(Command::Inbox(options)) => inbox::run(&globals, options).await,
        Some(Command::Threads(command)) => threads::run(&globals, command).await,
        Some(Command::Assistants(command)) => assistants::run(&globals, command).await,
        Some(Command::Crons(command)) => crons::run(&globals, command).await,
        Some(Command::Store(command)) => store::run(&globals, command).await,
        Some(Command::Runs(command)) => runs::run(&globals, command).await,
        Some(Command::Run(options)) => run::run(&globals, options).await,
        Some(Command::Answer(options)) => answer::run(&globals, options).await,
        Some(Command::Fork(options)) => fork::run(&globals, options).await,
        Some(Command::Rerun(options)) => rerun::run(&globals, options).await,
        Some(Command::Reproduce(options)) => reproduce::run(&globals, options).await,
        Some(Command::Bisect(options)) => bisect::run(&globals, options).await,
        Some(Command::State(command)) => state::run(&globals, command).await,
        Some(Command::Join(options)) => join::run(&globals, options).await,
        Some(Command::Tail(options)) => tail::run(&globals, options).await,
        Some(Command::Sim(options)) => sim::run(options).await,
        Some(Command::Replay(options)) => replay::run(&globals, options).await,
        Some(Command::Compare(options)) => compare::run(&globals, options).await,
        Some(Command::Verify(options)) => verify::run(&options).await,
        Some(Command::Redact(options)) => redact::run(&globals, &options).await,
        Some(Command::Doctor(options)) => doctor::run(&globals, options).await,
        Some(Command::Config(command)) => config::run(&globals, command).await,
        Some(Command::Completions(options)) => completions::run(&options),
        Some(Command::Man(options)) => man::run(&options, Args::command()),
    }
}

async fn demo() -> Result<runtail_sim::Sim, Failure> {
    let started = runtail_sim::Sim::demo().await;
    started.map_err(|e| {
        Failure::new(
            Exit::Failed,
            format!("the simulator can't listen on loopback: {e}"),
        )
    })
}
