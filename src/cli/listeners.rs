//! `listeners list` and `listeners get`.

use super::{Context, Exit, Failure, Globals, Output, collections};
use crate::model::Collection;
use clap::{Args, Subcommand};

/// What can be done with listeners.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the listeners of all chosen profiles
    List(List),
    /// Show one listener
    Get(Get),
}

/// Options of `listeners list`.
#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    output: Output,
}

/// Options of `listeners get`.
#[derive(Debug, Args)]
pub struct Get {
    /// The listener's id, or PROFILE/ID
    #[arg(value_name = "L")]
    listener: String,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    match command {
        Command::List(List { output }) => collections::list(&context, &Collection::Listeners, &output).await,
        Command::Get(Get { listener, output }) => {
            collections::get(&context, &Collection::Listeners, &listener, &output).await
        }
    }
}
