//! `integrations list` and `integrations repos`.

use super::{Context, Exit, Failure, Globals, Output, collections};
use crate::model::{Collection, GithubApp};
use clap::{Args, Subcommand};

/// What can be done with integrations.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the GitHub accounts that are connected
    List(List),
    /// List the repositories that an integration gives
    Repos(Repos),
}

/// Options of `integrations list`.
#[derive(Debug, Args)]
pub struct List {
    /// Those of Forge instead, which no deployment needs
    #[arg(long)]
    forge: bool,
    /// Ask by the newer call at once (Forge only); otherwise only where the older one is gone
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
    /// It is one of Forge
    #[arg(long)]
    forge: bool,
    /// Ask by the newer call at once, which answers page by page; otherwise only where the older one is gone
    #[arg(long, conflicts_with = "forge")]
    v2: bool,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let app = |forge| if forge { GithubApp::Forge } else { GithubApp::Deployments };
    match command {
        Command::List(List { forge, v2, output }) => {
            let of = if v2 { Collection::ForgeInstallations } else { Collection::Integrations(app(forge)) };
            collections::list(&context, &of, &output).await
        }
        Command::Repos(Repos { integration, forge, v2, output }) => {
            let of = match v2 {
                true => Collection::InstallationRepositories(integration),
                false => Collection::Repositories(app(forge), integration),
            };
            collections::list(&context, &of, &output).await
        }
    }
}
