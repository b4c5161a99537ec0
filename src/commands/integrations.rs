//! `integrations`: the GitHub accounts, their repositories, and how Forge's app is installed.

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

/// What can be done with integrations.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the GitHub accounts that are connected
    List(List),
    /// List the repositories that an integration gives
    Repos(Repos),
    /// Install the app of Forge, which no deployment needs
    #[command(subcommand)]
    Forge(Forge),
}

/// What can be done with the app of Forge.
#[derive(Debug, Subcommand)]
pub enum Forge {
    /// Ask for a link by which it is installed
    Link(Link),
    /// Show a session of the picker to which such a link led
    Session(Session),
    /// Choose in a session: an installation that there is, or a new one
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
    /// Take this installation
    #[arg(long, value_name = "NUMBER", required_unless_present = "install_new", conflicts_with = "install_new")]
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

pub(crate) async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
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
        Command::Forge(Forge::Link(Link { sending })) => {
            change(&context, Service::ForgeLink, Written::of(None, []), &sending, Approval::NotNeeded).await
        }
        Command::Forge(Forge::Session(Session { session, output })) => {
            let (site, control) = collections::only_site(&context).await?;
            output.one(&placed(&site.profile, control.forge_session(&session).await?))?;
            Ok(Exit::Done)
        }
        Command::Forge(Forge::Select(Select { session, attach, install_new, sending })) => {
            let action = if install_new { "INSTALL_NEW" } else { "ATTACH" };
            let given = [("action", Some(action.into())), ("installation_id", attach.map(Value::from))];
            change(&context, Service::ForgeSelect(session), Written::of(None, given), &sending, Approval::NotNeeded)
                .await
        }
    }
}
