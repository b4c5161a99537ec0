//! `auth tokens`: what is kept of the caller's own tokens. The tokens themselves are never sent by the service.

use super::output::{cell, column, placed};
use super::{Context, Exit, Failure, Output, Site, collections, resolve};
use crate::api::ApiError;
use crate::model::Collection;
use clap::{Args, Subcommand};
use futures::future::join_all;

/// What can be done with tokens.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List your tokens
    List(List),
    /// Say whether you have a token of a provider: exit code 0 if so, 1 if not
    Exists(Exists),
}

/// Options of `auth tokens list`.
#[derive(Debug, Args)]
pub struct List {
    /// Only those of this provider, by its slug, or PROFILE/SLUG
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
    /// Whether anybody in the workspace has a token of Slack
    #[arg(long, conflicts_with = "provider")]
    workspace_slack: bool,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::List(List { provider, output }) => {
            collections::list(context, &Collection::Tokens(provider), &output).await
        }
        Command::Exists(options) => exists(context, options).await,
    }
}

/// Asks all profiles at once. The code says yes only where all of them have one.
async fn exists(context: &Context, options: Exists) -> Result<Exit, Failure> {
    let (profiles, provider) = match &options.provider {
        Some(provider) => {
            let (profiles, provider) = resolve::narrowed(context, provider);
            (profiles, Some(provider))
        }
        None => (context.profiles.clone(), None),
    };
    let answers = join_all(collections::with_control_plane(profiles)?.into_iter().map(|profile| async {
        let site = Site::open(profile).await?;
        let row = collections::control_of(&site)?.has_token(provider).await?;
        Ok::<_, ApiError>(placed(&site.profile, row))
    }))
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
    Ok(failures.first().map_or(if all { Exit::Done } else { Exit::Failed }, Exit::of))
}
