//! `auth tokens`: records of the caller's own tokens. The service never sends the tokens themselves.

use crate::act::{Approval, Confirm, Sending};
use crate::commands::{
    collections,
    services::{Written, change, change_one},
};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use clap::{Args, Subcommand};
use runtail_core::model::{Collection, Service};

/// Commands for tokens.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List your tokens
    List(List),
    /// Revoke and delete a token, or all tokens for a provider
    Delete(Delete),
}

/// Options of `auth tokens list`.
#[derive(Debug, Args)]
pub struct List {
    /// Only tokens for this provider, by its slug, or PROFILE/SLUG
    #[arg(long, value_name = "P")]
    provider: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Options of `auth tokens delete`.
#[derive(Debug, Args)]
pub struct Delete {
    /// The token's id, or PROFILE/ID
    #[arg(value_name = "ID", required_unless_present = "provider")]
    token: Option<String>,
    /// All your tokens for this provider, by its slug
    #[arg(long, value_name = "P", conflicts_with = "token")]
    provider: Option<String>,
    #[command(flatten)]
    confirm: Confirm,
    #[command(flatten)]
    sending: Sending,
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::List(List { provider, output }) => {
            collections::list(context, &Collection::Tokens(provider), &output).await
        }
        Command::Delete(Delete {
            token,
            provider,
            confirm,
            sending,
        }) => {
            let how = (&sending, Approval::Name(confirm.confirm.as_deref()));
            let nothing = Written::of(None, []);
            match token {
                Some(token) => {
                    let of = Collection::Tokens(None);
                    change_one(context, &of, &token, Service::DeleteToken, nothing, how).await
                }
                None => {
                    let what = Service::DeleteTokensOf(provider.unwrap_or_default());
                    change(context, what, nothing, how.0, how.1).await
                }
            }
        }
    }
}
