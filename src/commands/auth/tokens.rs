//! `auth tokens`: records of the caller's own tokens. The service never sends the tokens themselves.

use crate::act::Confirm;
use crate::commands::collections;
use crate::commands::records::{make, make_on};
use crate::prelude::*;
use runtail_core::catalog::{Collection, Service, ServiceChange};
use runtail_core::config::Document;

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

pub async fn run(context: &Context, command: Command) -> Result<Exit, Failure> {
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
            match (token, provider) {
                (Some(token), _) => {
                    let what = (
                        Service::DeleteToken as fn(String) -> Service,
                        Document::default(),
                    );
                    make_on(context, &Collection::Tokens(None), &token, what, how).await
                }
                (None, provider) => {
                    let change = ServiceChange {
                        what: Service::DeleteTokensOf(provider.unwrap_or_default()),
                        document: Document::default(),
                    };
                    make(context, change, how).await
                }
            }
        }
    }
}
