//! Dispatches parsed arguments and returns the exit code.

use crate::args::Args;
use crate::commands::{dashboard, sim};
use crate::log;
use crate::prelude::*;
use crate::signals::Interrupts;
use runtail_tui::runtime::is_ascii_locale;
use std::process::ExitCode;

/// How long an interrupted command may take to exit.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs one command, or the dashboard. Data goes to stdout, everything else to stderr.
pub async fn run(args: Args) -> ExitCode {
    // The dashboard handles signals itself, because it has to restore the terminal first.
    let ended = if args.command.is_none() {
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
        command,
    } = args;
    color::choose(globals.color);
    globals.ascii |=
        std::io::stdout().is_terminal() && is_ascii_locale(|name| std::env::var(name).ok());
    if replay.is_some() && command.is_some() {
        return Err(Failure::usage(
            "--replay opens the dashboard; `runtail replay FILE` prints a recording",
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
        None => dashboard::run(&globals, replay).await,
        Some(command) => command.run(&globals).await,
    }
}

async fn demo() -> Result<runtail_sim::Sim, Failure> {
    let started = runtail_sim::Sim::demo().await;
    started.map_err(|e| Failure::failed(format!("the simulator can't listen on loopback: {e}")))
}
