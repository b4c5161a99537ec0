//! `auth providers`.

use super::{Context, Exit, Failure, Output, collections};
use crate::model::Collection;
use clap::{Args, Subcommand};

/// What can be done with OAuth providers.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the providers of all chosen profiles
    List(List),
    /// Show one provider
    Get(Get),
}

/// Options of `auth providers list`.
#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    output: Output,
}

/// Options of `auth providers get`.
#[derive(Debug, Args)]
pub struct Get {
    /// The provider's slug, or PROFILE/SLUG
    #[arg(value_name = "P")]
    provider: String,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::List(List { output }) => collections::list(context, &Collection::Providers, &output).await,
        Command::Get(Get { provider, output }) => {
            collections::get(context, &Collection::Providers, &provider, &output).await
        }
    }
}
