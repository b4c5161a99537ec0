//! `auth providers`.

use crate::commands::collections;
use crate::commands::records::{Create, Delete, Get, Record, Update, make};
use crate::fields::{Fields, Kind};
use crate::prelude::*;
use runtail_core::catalog::{Collection, DISCOVERY, Field, PROVIDER, Service, ServiceChange};

#[derive(Debug, Clone)]
pub struct Provider;

impl Kind for Provider {
    const FIELDS: &'static [Field] = PROVIDER;
}

impl Record for Provider {
    const OF: Collection = Collection::Providers;
    const ID: [&'static str; 2] = ["P", "The provider's slug, or PROFILE/SLUG"];
    const FILE: &'static str = "; can't be combined with the options for fields";
}

/// A provider that is made from the metadata of an MCP server.
#[derive(Debug, Clone)]
pub struct Discovery;

impl Kind for Discovery {
    const FIELDS: &'static [Field] = DISCOVERY;
}

/// Options of `auth providers discover`.
#[derive(Debug, Args)]
pub struct Discover {
    #[command(flatten)]
    fields: Fields<Discovery, true>,
    #[command(flatten)]
    sending: Sending,
}

/// Commands for OAuth providers.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the providers of all chosen profiles
    List(Output),
    /// Show one provider
    Get(Get<Provider>),
    /// Create a provider, from a file or from options
    Create(Create<Provider>),
    /// Create the provider of an MCP server from its own metadata
    Discover(Discover),
    /// Update a provider, from a file or from options
    Update(Update<Provider>),
    /// Delete a provider
    Delete(Delete<Provider>),
}

pub async fn run(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::List(output) => collections::list(context, &Provider::OF, &output).await,
        Command::Get(options) => options.run(context).await,
        Command::Create(options) => options.run(context, Service::CreateProvider).await,
        Command::Discover(Discover { fields, sending }) => {
            let change = ServiceChange {
                what: Service::DiscoverProvider,
                document: fields.document().await?,
            };
            make(context, change, (&sending, Approval::NotNeeded)).await
        }
        Command::Update(options) => options.run(context, Service::UpdateProvider).await,
        Command::Delete(options) => options.run(context, Service::DeleteProvider).await,
    }
}
