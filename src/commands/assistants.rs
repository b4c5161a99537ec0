//! `assistants list` and `assistants graph`.

use crate::args::Globals;
use crate::commands::graph;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Output, cell, column, time};
use crate::resolve;
use clap::{Args, Subcommand};

/// Commands for assistants.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the assistants of an agent server
    List(List),
    /// Show the graph of an assistant
    Graph(graph::Options),
}

/// Options of `assistants list`.
#[derive(Debug, Args)]
pub struct List {
    /// Maximum number
    #[arg(long, default_value_t = 100)]
    limit: usize,
    /// Skip this many
    #[arg(long, default_value_t = 0)]
    offset: usize,
    #[command(flatten)]
    output: Output,
}

pub(crate) async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let (_, server) = resolve::agent_server(&context).await?;
    let options = match command {
        Command::List(options) => options,
        Command::Graph(options) => return graph::run(&server, &options).await,
    };
    let listed = server.assistant_rows(options.limit, options.offset).await;
    let rows = listed.map_err(|error| crate::exit::Failure::of_optional(error, "listing assistants"))?;
    let columns = [
        column("GRAPH", |row| cell(&row["graph_id"])),
        column("NAME", |row| cell(&row["name"])),
        column("VERSION", |row| cell(&row["version"])),
        column("UPDATED", |row| time(&row["updated_at"])),
        column("ASSISTANT", |row| cell(&row["assistant_id"])),
    ];
    options.output.rows(&rows, &columns)?;
    Ok(Exit::Done)
}
