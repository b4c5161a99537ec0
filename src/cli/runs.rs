//! `runs list`, `runs get` and `runs cancel`.

use super::output::{Column, cell, column, complain, time};
use super::{Context, Exit, Failure, Globals, Output, resolve};
use crate::text;
use clap::{Args, Subcommand};

/// What can be done with runs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the runs of a thread
    List(List),
    /// Show one run
    Get(Get),
    /// Cancel a run, without waiting for its end
    Cancel(Cancel),
}

/// Options of `runs list`.
#[derive(Debug, Args)]
pub struct List {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// At most so many
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Leave out so many
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

/// Options of `runs cancel`.
#[derive(Debug, Args)]
pub struct Cancel {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// The run's id
    #[arg(value_name = "R")]
    run: String,
}

pub(super) async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let (site, server) = resolve::agent_server(&context).await?;
    match command {
        Command::List(List { thread, limit, offset, output }) => {
            output.rows(&server.run_rows(&thread, limit, offset).await?, &columns())?;
        }
        Command::Get(Get { thread, run, output }) => output.one(&server.run_row(&thread, &run).await?)?,
        Command::Cancel(Cancel { thread, run }) => {
            context.check_write(&site.profile)?;
            server.cancel(&thread, &run, crate::api::CancelAction::Interrupt).await?;
            complain(&format!("run {} is being cancelled", text::short_id(&run)));
        }
    }
    Ok(Exit::Done)
}

fn columns() -> [Column; 5] {
    [
        column("RUN", |row| cell(&row["run_id"])),
        column("STATUS", |row| cell(&row["status"])),
        column("CREATED", |row| time(&row["created_at"])),
        column("UPDATED", |row| time(&row["updated_at"])),
        column("ASSISTANT", |row| cell(&row["assistant_id"])),
    ]
}
