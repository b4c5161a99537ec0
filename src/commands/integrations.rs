//! `integrations`: GitHub accounts, their repositories, and the installation of the Forge app.

use crate::args::Globals;
use crate::commands::{
    change::{Approval, Sending},
    collections,
    services::{Written, change},
};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Output, placed};
use clap::{Args, Subcommand};
use runtail_core::model::{Collection, GithubApp, Service};
use serde_json::Value;

/// Commands for integrations.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the connected GitHub accounts
    List(List),
    /// List the repositories of an integration
    Repos(Repos),
    /// Install the Forge app (not needed for deployments)
    #[command(subcommand)]
    Forge(Forge),
}

/// Commands for the Forge app.
#[derive(Debug, Subcommand)]
pub enum Forge {
    /// Request an installation link
    Link(Link),
    /// Show an installation session, to which such a link leads
    Session(Session),
    /// Choose an existing or a new installation in a session
    Select(Select),
}

/// Options of `integrations forge link`.
#[derive(Debug, Args)]
pub struct Link {
    #[command(flatten)]
    sending: Sending,
}

/// Options of `integrations forge session`.
#[derive(Debug, Args)]
pub struct Session {
    /// The session's id
    #[arg(value_name = "SESSION")]
    session: String,
    #[command(flatten)]
    output: Output,
}

/// Options of `integrations forge select`.
#[derive(Debug, Args)]
pub struct Select {
    /// The session's id
    #[arg(value_name = "SESSION")]
    session: String,
    /// Use this installation
    #[arg(
        long,
        value_name = "NUMBER",
        required_unless_present = "install_new",
        conflicts_with = "install_new"
    )]
    attach: Option<u64>,
    /// Install it on another account
    #[arg(long)]
    install_new: bool,
    #[command(flatten)]
    sending: Sending,
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

pub(crate) async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
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
            let of = match v2 {
                true => Collection::InstallationRepositories(integration),
                false => Collection::Repositories(app(forge), integration),
            };
            collections::list(&context, &of, &output).await
        }
        Command::Forge(Forge::Link(Link { sending })) => {
            change(
                &context,
                Service::ForgeLink,
                Written::of(None, []),
                &sending,
                Approval::NotNeeded,
            )
            .await
        }
        Command::Forge(Forge::Session(Session { session, output })) => {
            let (site, control) = collections::only_site(&context).await?;
            output.one(&placed(
                &site.profile,
                control.forge_session(&session).await?,
            ))?;
            Ok(Exit::Done)
        }
        Command::Forge(Forge::Select(Select {
            session,
            attach,
            install_new,
            sending,
        })) => {
            let action = if install_new { "INSTALL_NEW" } else { "ATTACH" };
            let given = [
                ("action", Some(action.into())),
                ("installation_id", attach.map(Value::from)),
            ];
            change(
                &context,
                Service::ForgeSelect(session),
                Written::of(None, given),
                &sending,
                Approval::NotNeeded,
            )
            .await
        }
    }
}
