//! `auth connections`.

use super::{Context, Exit, Failure, Output, collections};
use crate::model::Collection;
use clap::{Args, Subcommand};

/// What can be done with an agent's connections.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the connections of an agent
    List(List),
}

/// Options of `auth connections list`.
#[derive(Debug, Args)]
pub struct List {
    /// The agent's id, or PROFILE/ID
    #[arg(value_name = "AGENT")]
    agent: String,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::List(List { agent, output }) => {
            collections::list(context, &Collection::Connections(agent), &output).await
        }
    }
}
