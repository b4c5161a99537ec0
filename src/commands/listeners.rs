//! `listeners`: list, get, create, update, delete.

use crate::act::{Approval, Confirm, Sending};
use crate::commands::{
    collections,
    services::{Written, change, change_one},
};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::globals::Globals;
use crate::output::Output;
use clap::{Args, Subcommand};
use runtail_core::model::{Collection, Service};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Commands for listeners.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the listeners of all chosen profiles
    List(List),
    /// Show one listener
    Get(Get),
    /// Create a listener, from a file or from options
    Create(Create),
    /// Update a listener, from a file or from options
    Update(Update),
    /// Delete a listener
    Delete(Delete),
}

/// Options of `listeners list`.
#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    output: Output,
}

/// Options of `listeners get`.
#[derive(Debug, Args)]
pub struct Get {
    /// The listener's id, or PROFILE/ID
    #[arg(value_name = "L")]
    listener: String,
    #[command(flatten)]
    output: Output,
}

/// Options of `listeners create`.
#[derive(Debug, Args)]
pub struct Create {
    /// What to create, as TOML or JSON, - for stdin
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["compute_id", "namespaces", "version_"])]
    file: Option<PathBuf>,
    /// Your name for the cluster; can never be changed
    #[arg(long, value_name = "NAME", required_unless_present = "file")]
    compute_id: Option<String>,
    /// A Kubernetes namespace that it serves (repeatable)
    #[arg(long = "namespace", value_name = "NS")]
    namespaces: Vec<String>,
    /// Version of the listener
    #[arg(id = "version_", long = "listener-version", value_name = "V")]
    version: Option<String>,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `listeners update`.
#[derive(Debug, Args)]
pub struct Update {
    /// The listener's id, or PROFILE/ID
    #[arg(value_name = "L")]
    listener: String,
    /// What to change, as TOML or JSON, - for stdin
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["namespaces", "version_"])]
    file: Option<PathBuf>,
    /// A Kubernetes namespace that it serves (repeatable); replaces the whole list
    #[arg(long = "namespace", value_name = "NS")]
    namespaces: Vec<String>,
    /// Version of the listener
    #[arg(id = "version_", long = "listener-version", value_name = "V")]
    version: Option<String>,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `listeners delete`.
#[derive(Debug, Args)]
pub struct Delete {
    /// The listener's id, or PROFILE/ID
    #[arg(value_name = "L")]
    listener: String,
    #[command(flatten)]
    confirm: Confirm,
    #[command(flatten)]
    sending: Sending,
}

fn config(namespaces: Vec<String>) -> Option<Value> {
    (!namespaces.is_empty()).then(|| json!({"k8s_namespaces": namespaces}))
}

pub(crate) async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    match command {
        Command::List(List { output }) => {
            collections::list(&context, &Collection::Listeners, &output).await
        }
        Command::Get(Get { listener, output }) => {
            collections::get(&context, &Collection::Listeners, &listener, &output).await
        }
        Command::Create(Create {
            file,
            compute_id,
            namespaces,
            version,
            sending,
        }) => {
            let options = [
                ("compute_type", Some("k8s".into())),
                ("compute_id", compute_id.map(Value::from)),
                ("compute_config", config(namespaces).or(Some(json!({})))),
                ("version", version.map(Value::from)),
            ];
            change(
                &context,
                Service::CreateListener,
                Written::of(file, options),
                &sending,
                Approval::NotNeeded,
            )
            .await
        }
        Command::Update(Update {
            listener,
            file,
            namespaces,
            version,
            sending,
        }) => {
            let options = [
                ("compute_config", config(namespaces)),
                ("version", version.map(Value::from)),
            ];
            let written = Written::of(file, options);
            let of = Collection::Listeners;
            change_one(
                &context,
                &of,
                &listener,
                Service::UpdateListener,
                written,
                (&sending, Approval::NotNeeded),
            )
            .await
        }
        Command::Delete(Delete {
            listener,
            confirm,
            sending,
        }) => {
            let how = (&sending, Approval::Name(confirm.confirm.as_deref()));
            let of = Collection::Listeners;
            change_one(
                &context,
                &of,
                &listener,
                Service::DeleteListener,
                Written::of(None, []),
                how,
            )
            .await
        }
    }
}
