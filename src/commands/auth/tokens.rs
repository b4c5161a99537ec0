//! `auth tokens`: records of the caller's own tokens. The service never sends the tokens themselves.

use crate::commands::{
    change::{Approval, Confirm, Sending},
    collections,
    services::{Written, change, change_one},
};
use crate::context::{Context, Site};
use crate::exit::{Exit, Failure};
use crate::output::{Output, cell, column, placed};
use crate::resolve;
use clap::{Args, Subcommand};
use futures::future::join_all;
use runtail_api::ApiError;
use runtail_core::model::{Collection, Service};
use serde_json::Value;

/// Commands for tokens.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List your tokens
    List(List),
    /// Check whether you have a token for a provider: exit code 0 if so, 1 if not
    Exists(Exists),
    /// Update a token's label, or make it the default
    Metadata(Metadata),
    /// Revoke and delete a token, all tokens for a provider, or all Slack tokens in the workspace
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

/// Options of `auth tokens exists`.
#[derive(Debug, Args)]
pub struct Exists {
    /// The provider's slug, or PROFILE/SLUG
    #[arg(value_name = "P", required_unless_present = "workspace_slack")]
    provider: Option<String>,
    /// Check whether anyone in the workspace has a Slack token
    #[arg(long, conflicts_with = "provider")]
    workspace_slack: bool,
    #[command(flatten)]
    output: Output,
}

/// Options of `auth tokens metadata`.
#[derive(Debug, Args)]
pub struct Metadata {
    /// The token's id, or PROFILE/ID
    #[arg(value_name = "ID")]
    token: String,
    /// The name of its account
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// Whether it is the default token
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    is_default: Option<bool>,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `auth tokens delete`.
#[derive(Debug, Args)]
pub struct Delete {
    /// The token's id, or PROFILE/ID
    #[arg(value_name = "ID", required_unless_present_any = ["provider", "workspace_slack"])]
    token: Option<String>,
    /// All your tokens for this provider, by its slug
    #[arg(long, value_name = "P", conflicts_with = "token")]
    provider: Option<String>,
    /// All Slack tokens in the workspace (administrators only)
    #[arg(long, conflicts_with_all = ["token", "provider"])]
    workspace_slack: bool,
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
        Command::Exists(options) => exists(context, options).await,
        Command::Metadata(Metadata {
            token,
            label,
            is_default,
            sending,
        }) => {
            let given = [
                ("provider_account_label", label.map(Value::from)),
                ("is_default", is_default.map(Value::from)),
            ];
            let (of, written) = (Collection::Tokens(None), Written::of(None, given));
            change_one(
                context,
                &of,
                &token,
                Service::UpdateToken,
                written,
                (&sending, Approval::NotNeeded),
            )
            .await
        }
        Command::Delete(Delete {
            token,
            provider,
            confirm,
            sending,
            ..
        }) => {
            let how = (&sending, Approval::Name(confirm.confirm.as_deref()));
            let nothing = Written::of(None, []);
            match (token, provider) {
                (Some(token), _) => {
                    let of = Collection::Tokens(None);
                    change_one(context, &of, &token, Service::DeleteToken, nothing, how).await
                }
                (None, Some(provider)) => {
                    change(
                        context,
                        Service::DeleteTokensOf(provider),
                        nothing,
                        how.0,
                        how.1,
                    )
                    .await
                }
                (None, None) => change(context, Service::RevokeSlack, nothing, how.0, how.1).await,
            }
        }
    }
}

/// Requests all profiles at once. The exit code is 0 only if all of them have a token.
async fn exists(context: &Context, options: Exists) -> Result<Exit, Failure> {
    let (profiles, provider) = match &options.provider {
        Some(provider) => {
            let (profiles, provider) = resolve::narrowed(context, provider);
            (profiles, Some(provider))
        }
        None => (context.profiles.clone(), None),
    };
    let answers = join_all(collections::with_control_plane(profiles)?.into_iter().map(
        |profile| async {
            let site = Site::open(profile).await?;
            let row = collections::control_of(&site)?.has_token(provider).await?;
            Ok::<_, ApiError>(placed(&site.profile, row))
        },
    ))
    .await;
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok(row) => rows.push(row),
            Err(error) => failures.push(error),
        }
    }
    let columns = [
        column("PROFILE", |row| cell(&row["profile"])),
        column("REGION", |row| cell(&row["region"])),
        column("HAS TOKEN", |row| cell(&row["has_token"])),
    ];
    if !rows.is_empty() {
        options.output.rows(&rows, &columns)?;
    }
    for error in &failures {
        Failure::from(error.clone()).report();
    }
    let all = rows.iter().all(|row| row["has_token"] == true);
    Ok(failures
        .first()
        .map_or(if all { Exit::Done } else { Exit::Failed }, Exit::of))
}
