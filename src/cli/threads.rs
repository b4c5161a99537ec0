//! `threads list`, `threads get` and `threads create`.

use super::output::{Column, cell, column, time};
use super::{Context, Exit, Failure, Globals, Output, resolve};
use crate::api::ThreadQuery;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

/// What can be done with threads.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List threads, the last changed first
    List(List),
    /// Show one thread
    Get(Get),
    /// Create a thread
    Create(Create),
}

/// Options of `threads list`.
#[derive(Debug, Args)]
pub struct List {
    /// At most so many
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Leave out so many
    #[arg(long, default_value_t = 0)]
    offset: usize,
    /// Only those with this status (idle, busy, interrupted, error)
    #[arg(long)]
    status: Option<String>,
    /// Only those with these notes
    #[arg(long, value_name = "JSON", value_parser = object)]
    metadata: Option<Value>,
    #[command(flatten)]
    output: Output,
}

/// Options of `threads get`.
#[derive(Debug, Args)]
pub struct Get {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    #[command(flatten)]
    output: Output,
}

/// Options of `threads create`.
#[derive(Debug, Args)]
pub struct Create {
    /// Give it this id (a UUID)
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Notes on it
    #[arg(long, value_name = "JSON", value_parser = object)]
    metadata: Option<Value>,
    #[command(flatten)]
    output: Output,
}

/// Reads a JSON object out of an argument.
fn object(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("a JSON object such as {\"owner\": \"ana\"} was expected".into()),
        Err(e) => Err(format!("this is not JSON: {e}")),
    }
}

pub(super) async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let (site, server) = resolve::agent_server(&context).await?;
    match command {
        Command::List(List { limit, offset, status, metadata, output }) => {
            let rows = server.thread_rows(&ThreadQuery { limit, offset, status, metadata }).await?;
            output.rows(&rows, &columns())?;
        }
        Command::Get(options) => options.output.one(&server.thread_row(&options.thread).await?)?,
        Command::Create(options) => {
            context.check_write(&site.profile)?;
            let mut body = json!({});
            if let Some(id) = options.id {
                body["thread_id"] = id.into();
            }
            if let Some(metadata) = options.metadata {
                body["metadata"] = metadata;
            }
            options.output.one(&server.create_thread_row(&body).await?)?;
        }
    }
    Ok(Exit::Done)
}

fn columns() -> [Column; 5] {
    [
        column("THREAD", |row| cell(&row["thread_id"])),
        column("STATUS", |row| cell(&row["status"])),
        column("UPDATED", |row| time(&row["updated_at"])),
        column("GRAPH", |row| cell(&row["metadata"]["graph_id"])),
        column("WAITING", |row| {
            let waiting =
                row["interrupts"].as_object().map_or(0, |o| o.values().filter_map(Value::as_array).map(Vec::len).sum());
            if waiting == 0 { String::new() } else { waiting.to_string() }
        }),
    ]
}
