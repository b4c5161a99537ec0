//! `auth connections`.

use crate::commands::{
    change::{Approval, Confirm, Sending},
    collections,
    services::{Written, change},
};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::resolve;
use clap::{Args, Subcommand};
use runtail_core::model::{Collection, Service};

/// Commands for an agent's connections.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the connections of an agent
    List(List),
    /// Let an agent use one of your tokens
    Create(Create),
    /// Stop an agent from using a token; the token is kept
    Delete(Delete),
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

/// Options of `auth connections create`.
#[derive(Debug, Args)]
pub struct Create {
    /// The agent's id, or PROFILE/ID
    #[arg(value_name = "AGENT")]
    agent: String,
    /// The token, by its id (`auth tokens list` shows them)
    #[arg(long, value_name = "ID")]
    token: String,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `auth connections delete`.
#[derive(Debug, Args)]
pub struct Delete {
    /// The agent's id, or PROFILE/ID
    #[arg(value_name = "AGENT")]
    agent: String,
    /// The connection's id (`auth connections list` shows them)
    #[arg(value_name = "CONNECTION")]
    connection: String,
    #[command(flatten)]
    confirm: Confirm,
    #[command(flatten)]
    sending: Sending,
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::List(List { agent, output }) => {
            collections::list(context, &Collection::Connections(agent), &output).await
        }
        Command::Create(Create {
            agent,
            token,
            sending,
        }) => {
            let (context, agent) = narrowed(context, &agent);
            let written = Written::of(None, [("oauth_token_id", Some(token.into()))]);
            change(
                &context,
                Service::Connect { agent },
                written,
                &sending,
                Approval::NotNeeded,
            )
            .await
        }
        Command::Delete(Delete {
            agent,
            connection,
            confirm,
            sending,
        }) => {
            let (context, agent) = narrowed(context, &agent);
            let what = Service::Disconnect { agent, connection };
            change(
                &context,
                what,
                Written::of(None, []),
                &sending,
                Approval::Name(confirm.confirm.as_deref()),
            )
            .await
        }
    }
}

/// PROFILE/AGENT names the agent's profile. Nothing shows which profile has an agent, so exactly one must be chosen.
fn narrowed(context: &Context, agent: &str) -> (Context, String) {
    let (profiles, agent) = resolve::narrowed(context, agent);
    (
        Context {
            profiles,
            ..context.clone()
        },
        agent.to_string(),
    )
}
