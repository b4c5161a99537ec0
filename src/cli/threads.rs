//! `threads list`, `get`, `create`, `state`, `history` and `delete`.

use super::output::{Column, cell, column, complain, time};
use super::{Context, Exit, Failure, Globals, Output, resolve};
use crate::api::{AgentServer, ThreadQuery};
use crate::text;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

/// States fetched at once.
const PAGE: usize = 100;

/// What can be done with threads.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List threads, the last changed first
    List(List),
    /// Show one thread
    Get(Get),
    /// Create a thread
    Create(Create),
    /// Show the state that a thread is in
    State(Get),
    /// List the states that a thread went through, newest first
    History(History),
    /// Delete a thread with its runs
    Delete(Delete),
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

/// Options of `threads history`.
#[derive(Debug, Args)]
pub struct History {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// At most so many
    #[arg(long, default_value_t = 100)]
    limit: usize,
    /// Only those before this checkpoint
    #[arg(long, value_name = "CHECKPOINT")]
    before: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Options of `threads delete`.
#[derive(Debug, Args)]
pub struct Delete {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
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
        Command::State(options) => options.output.one(&server.thread_state(&options.thread).await?)?,
        Command::History(options) => {
            let rows = history(&server, &options).await?;
            options.output.rows(&rows, &history_columns())?;
        }
        Command::Delete(Delete { thread }) => {
            context.check_write(&site.profile)?;
            server.delete_thread(&thread).await?;
            complain(&format!("thread {} is deleted", text::short_id(&thread)));
        }
    }
    Ok(Exit::Done)
}

/// States carry all values, so they are fetched in pages that a server can bear.
async fn history(server: &AgentServer, options: &History) -> Result<Vec<Value>, Failure> {
    let mut all: Vec<Value> = Vec::new();
    let mut before = options.before.clone();
    while all.len() < options.limit {
        let wanted = PAGE.min(options.limit - all.len());
        let page = server.thread_history(&options.thread, wanted, before.as_deref()).await?;
        let is_last = page.len() < wanted;
        let oldest = page.last().and_then(|state| state["checkpoint"]["checkpoint_id"].as_str()).map(String::from);
        all.extend(page);
        // A server that does not know `before` would give the same page for ever.
        if is_last || oldest.is_none() || oldest == before {
            break;
        }
        before = oldest;
    }
    Ok(all)
}

fn history_columns() -> [Column; 5] {
    [
        column("CHECKPOINT", |row| cell(&row["checkpoint"]["checkpoint_id"])),
        column("CREATED", |row| time(&row["created_at"])),
        column("STEP", |row| cell(&row["metadata"]["step"])),
        column("SOURCE", |row| cell(&row["metadata"]["source"])),
        column("NEXT", |row| {
            let next = row["next"].as_array().into_iter().flatten().map(cell);
            next.collect::<Vec<_>>().join(", ")
        }),
    ]
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
