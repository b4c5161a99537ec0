//! `auth providers`.

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
use serde_json::Value;
use std::path::PathBuf;

/// Commands for OAuth providers.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the providers of all chosen profiles
    List(List),
    /// Show one provider
    Get(Get),
    /// Create a provider, from a file or from options
    Create(Box<Create>),
    /// Create the provider of an MCP server from its own metadata
    Discover(Discover),
    /// Update a provider, from a file or from options
    Update(Box<Update>),
    /// Delete a provider
    Delete(Delete),
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

/// Fields that can be set at any time. A client secret is given by reference, never by value.
#[derive(Debug, Args)]
pub struct Fields {
    /// Its display name
    #[arg(long)]
    name: Option<String>,
    /// The client's id at the provider
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// The client's secret, by reference: env:NAME or file:PATH
    #[arg(long, value_name = "REF")]
    client_secret: Option<String>,
    /// The authorization URL
    #[arg(long, value_name = "URL")]
    auth_url: Option<String>,
    /// The token URL
    #[arg(long, value_name = "URL")]
    token_url: Option<String>,
    /// Whether it uses PKCE
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    uses_pkce: Option<bool>,
    /// The PKCE method (S256)
    #[arg(long, value_name = "M")]
    code_challenge_method: Option<String>,
}

impl Fields {
    fn given(self) -> [(&'static str, Option<Value>); 7] {
        [
            ("name", self.name.map(Value::from)),
            ("client_id", self.client_id.map(Value::from)),
            ("client_secret", self.client_secret.map(Value::from)),
            ("auth_url", self.auth_url.map(Value::from)),
            ("token_url", self.token_url.map(Value::from)),
            ("uses_pkce", self.uses_pkce.map(Value::from)),
            (
                "code_challenge_method",
                self.code_challenge_method.map(Value::from),
            ),
        ]
    }
}

/// Options of `auth providers create`.
#[derive(Debug, Args)]
pub struct Create {
    /// What to create, as TOML or JSON, - for stdin; can't be combined with the options for fields
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Its slug, which identifies it; can never be changed
    #[arg(
        long,
        value_name = "SLUG",
        required_unless_present = "file",
        conflicts_with = "file"
    )]
    provider_id: Option<String>,
    #[command(flatten)]
    fields: Fields,
    /// microsoft, salesforce or slack, if it is one of these
    #[arg(long, value_name = "TYPE")]
    provider_type: Option<String>,
    /// none, client_secret_basic or client_secret_post
    #[arg(long, value_name = "M")]
    token_endpoint_auth_method: Option<String>,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `auth providers discover`.
#[derive(Debug, Args)]
pub struct Discover {
    /// Its slug, which identifies it; can never be changed
    #[arg(long, value_name = "SLUG")]
    provider_id: String,
    /// Its display name
    #[arg(long)]
    name: String,
    /// URL of the MCP server
    #[arg(long, value_name = "URL")]
    mcp_server_url: String,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `auth providers update`.
#[derive(Debug, Args)]
pub struct Update {
    /// The provider's slug, or PROFILE/SLUG
    #[arg(value_name = "P")]
    provider: String,
    /// What to change, as TOML or JSON, - for stdin; can't be combined with the options for fields
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    fields: Fields,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `auth providers delete`.
#[derive(Debug, Args)]
pub struct Delete {
    /// The provider's slug, or PROFILE/SLUG
    #[arg(value_name = "P")]
    provider: String,
    #[command(flatten)]
    confirm: Confirm,
    #[command(flatten)]
    sending: Sending,
}

/// Checks that a file and options are not combined.
fn written(
    file: Option<PathBuf>,
    options: Vec<(&'static str, Option<Value>)>,
) -> Result<Written, Failure> {
    let given = options
        .iter()
        .find(|(_, value)| value.is_some())
        .map(|(name, _)| name.replace('_', "-"));
    match (&file, given) {
        (Some(_), Some(option)) => Err(Failure::usage(format!(
            "-f can't be combined with --{option}"
        ))),
        _ => Ok(Written::of(file, options)),
    }
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::List(List { output }) => {
            collections::list(context, &Collection::Providers, &output).await
        }
        Command::Get(Get { provider, output }) => {
            collections::get(context, &Collection::Providers, &provider, &output).await
        }
        Command::Create(options) => {
            let Create {
                file,
                provider_id,
                fields,
                provider_type,
                token_endpoint_auth_method,
                sending,
            } = *options;
            let mut given = vec![("provider_id", provider_id.map(Value::from))];
            given.extend(fields.given());
            given.push(("provider_type", provider_type.map(Value::from)));
            given.push((
                "token_endpoint_auth_method",
                token_endpoint_auth_method.map(Value::from),
            ));
            change(
                context,
                Service::CreateProvider,
                written(file, given)?,
                &sending,
                Approval::NotNeeded,
            )
            .await
        }
        Command::Discover(Discover {
            provider_id,
            name,
            mcp_server_url,
            sending,
        }) => {
            let given = [
                ("provider_id", provider_id),
                ("name", name),
                ("mcp_server_url", mcp_server_url),
            ];
            let given = given.map(|(name, value)| (name, Some(value.into())));
            change(
                context,
                Service::DiscoverProvider,
                Written::of(None, given),
                &sending,
                Approval::NotNeeded,
            )
            .await
        }
        Command::Update(options) => {
            let Update {
                provider,
                file,
                fields,
                sending,
            } = *options;
            let written = written(file, fields.given().into())?;
            let of = Collection::Providers;
            change_one(
                context,
                &of,
                &provider,
                Service::UpdateProvider,
                written,
                (&sending, Approval::NotNeeded),
            )
            .await
        }
        Command::Delete(Delete {
            provider,
            confirm,
            sending,
        }) => {
            let how = (&sending, Approval::Name(confirm.confirm.as_deref()));
            let of = Collection::Providers;
            change_one(
                context,
                &of,
                &provider,
                Service::DeleteProvider,
                Written::of(None, []),
                how,
            )
            .await
        }
    }
}
