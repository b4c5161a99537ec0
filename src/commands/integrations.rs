//! `integrations`: GitHub accounts and their repositories.

use crate::commands::collections;
use crate::prelude::*;
use runtail_core::model::{Collection, GithubApp};

/// Commands for integrations.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the connected GitHub accounts
    List(List),
    /// List the repositories of an integration
    Repos(Repos),
}

/// Options of `integrations list`.
#[derive(Debug, Args)]
pub struct List {
    /// List the accounts of the Forge app instead
    #[arg(long)]
    forge: bool,
    /// Use the newer API call at once (Forge only); by default it is the fallback
    #[arg(long, requires = "forge")]
    v2: bool,
    #[command(flatten)]
    output: Output,
}

/// Options of `integrations repos`.
#[derive(Debug, Args)]
pub struct Repos {
    /// The integration's id, or PROFILE/ID
    #[arg(value_name = "ID")]
    integration: String,
    /// The integration belongs to the Forge app
    #[arg(long)]
    forge: bool,
    /// Use the newer, paginated API call at once; by default it is the fallback
    #[arg(long, conflicts_with = "forge")]
    v2: bool,
    #[command(flatten)]
    output: Output,
}

pub async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let app = |forge| {
        if forge {
            GithubApp::Forge
        } else {
            GithubApp::Deployments
        }
    };
    match command {
        Command::List(List { forge, v2, output }) => {
            let of = if v2 {
                Collection::ForgeInstallations
            } else {
                Collection::Integrations(app(forge))
            };
            collections::list(&context, &of, &output).await
        }
        Command::Repos(Repos {
            integration,
            forge,
            v2,
            output,
        }) => {
            let of = if v2 {
                Collection::InstallationRepositories(integration)
            } else {
                Collection::Repositories(app(forge), integration)
            };
            collections::list(&context, &of, &output).await
        }
    }
}
