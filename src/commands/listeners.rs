//! `listeners`.

use crate::commands::collections;
use crate::commands::records::{Create, Delete, Get, Record, Update};
use crate::fields::Kind;
use crate::prelude::*;
use runtail_core::catalog::{Collection, Field, LISTENER, Service};

#[derive(Debug, Clone)]
pub struct Listener;

impl Kind for Listener {
    const FIELDS: &'static [Field] = LISTENER;
}

impl Record for Listener {
    const OF: Collection = Collection::Listeners;
    const ID: [&'static str; 2] = ["L", "The listener's id, or PROFILE/ID"];
    const FILE: &'static str = "";
}

/// Commands for listeners.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the listeners of all chosen profiles
    List(Output),
    /// Show one listener
    Get(Get<Listener>),
    /// Create a listener, from a file or from options
    Create(Create<Listener>),
    /// Update a listener, from a file or from options
    Update(Update<Listener>),
    /// Delete a listener
    Delete(Delete<Listener>),
}

pub async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = &Context::load(globals)?;
    match command {
        Command::List(output) => collections::list(context, &Listener::OF, &output).await,
        Command::Get(options) => options.run(context).await,
        Command::Create(options) => options.run(context, Service::CreateListener).await,
        Command::Update(options) => options.run(context, Service::UpdateListener).await,
        Command::Delete(options) => options.run(context, Service::DeleteListener).await,
    }
}
