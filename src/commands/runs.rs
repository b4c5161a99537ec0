//! `runs list` and `runs get`; `runs cancel` is in `cancel.rs`.

use crate::args::Globals;
use crate::commands::cancel;
use crate::context::Context;
use crate::exit::{Exit, Failure, offered};
use crate::output::{Column, Output, cell, color, column, status_column, time};
use crate::resolve;
use clap::{Args, Subcommand};

/// Commands for runs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the runs of a thread, newest first
    List(List),
    /// Show one run
    Get(Get),
    /// Cancel runs and report whether they stopped
    Cancel(cancel::Options),
}

/// Options of `runs list`.
#[derive(Debug, Args)]
pub struct List {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// Maximum number
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Skip this many of the newest
    #[arg(long, default_value_t = 0)]
    offset: usize,
    #[command(flatten)]
    output: Output,
}

/// Options of `runs get`.
#[derive(Debug, Args)]
pub struct Get {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// The run's id
    #[arg(value_name = "R")]
    run: String,
    #[command(flatten)]
    output: Output,
}

pub(crate) async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let (site, server) = resolve::agent_server(&context).await?;
    match command {
        Command::List(List { thread, limit, offset, output }) => {
            let rows = server.run_rows(&thread, limit, offset).await;
            output.rows(&offered(&server, rows, "listing runs").await?, &columns())?;
        }
        Command::Get(Get { thread, run, output }) => {
            output.one(&offered(&server, server.run_row(&thread, &run).await, "reading a run").await?)?;
        }
        Command::Cancel(options) => return cancel::run(&context, &site, &server, options).await,
    }
    Ok(Exit::Done)
}

fn columns() -> [Column; 5] {
    [
        column("RUN", |row| cell(&row["run_id"])),
        status_column("STATUS", color::of_run, |row| cell(&row["status"])),
        column("CREATED", |row| time(&row["created_at"])),
        column("UPDATED", |row| time(&row["updated_at"])),
        column("ASSISTANT", |row| cell(&row["assistant_id"])),
    ]
}
