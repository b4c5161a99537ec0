//! Assistants: their records, versions, schemas and graphs.

use crate::commands::graph;
use crate::output::{List, report_unread};
use crate::prelude::*;
use runtail_api::{ResourceIntent, assistant_changes};

/// Commands for assistants.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the assistants of an agent server
    #[command(mut_arg("limit", |limit| limit.default_value("100")))]
    List(List),
    /// Show one assistant
    Get(Named),
    /// Show the JSON schemas of an assistant's input, output, state and context
    Schemas(Named),
    /// List the versions of an assistant, newest first
    Versions(Named),
    /// Compare two versions of an assistant
    Diff(Diff),
    /// Make an earlier version the current one
    Restore(Restore),
    /// Show the graph of an assistant
    Graph(graph::Options),
}

/// One assistant.
#[derive(Debug, Args)]
pub struct Named {
    /// An assistant's id or name, or a graph's name
    #[arg(value_name = "A")]
    assistant: String,
    #[command(flatten)]
    output: Output,
}

/// Options of `assistants diff`.
#[derive(Debug, Args)]
pub struct Diff {
    /// An assistant's id or name, or a graph's name
    #[arg(value_name = "A")]
    assistant: String,
    /// The older version's number
    #[arg(value_name = "V1")]
    before: i64,
    /// The newer version's number
    #[arg(value_name = "V2")]
    after: i64,
    #[command(flatten)]
    output: Output,
}

/// Options of `assistants restore`.
#[derive(Debug, Args)]
#[command(after_long_help = RESTORE)]
pub struct Restore {
    /// An assistant's id or name, or a graph's name
    #[arg(value_name = "A")]
    assistant: String,
    /// The version's number
    #[arg(value_name = "V")]
    version: i64,
    #[command(flatten)]
    yes: Yes,
    #[command(flatten)]
    sending: Sending,
}

const RESTORE: &str = "\
New runs use the restored version; active runs keep theirs. All versions are kept. The Python and JavaScript development servers \
don't restore `context`: the preview shows both values, and the result is compared with the version afterwards.

Exit codes: 0 done, or it is the current version · 1 no such assistant or version, it changed since the preview, or the server \
refused · 3 not allowed, or read-only · 5 the reply was lost.";

pub async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let (site, server) = resolve::agent_server(&context).await?;
    match command {
        Command::List(options) => list(&server, &options).await?,
        Command::Graph(options) => return graph::run(&server, &options).await,
        Command::Get(Named { assistant, output }) => {
            let id = resolve::assistant_id(&server, &assistant).await?;
            output.one(
                &server
                    .assistant_row(&id)
                    .await
                    .map_err(|error| gone(error, &assistant))?,
            )?;
        }
        Command::Schemas(Named { assistant, output }) => {
            let id = resolve::assistant_id(&server, &assistant).await?;
            output.one(
                &server
                    .assistant_schemas(&id)
                    .await
                    .map_err(|error| gone(error, &assistant))?,
            )?;
        }
        Command::Versions(Named { assistant, output }) => {
            let (mut rows, current) = versions(&server, &assistant).await?;
            rows.items
                .iter_mut()
                .for_each(|row| row["is_current"] = json!(row["version"] == current));
            let columns = [
                field_column("VERSION", "/version"),
                column("CURRENT", |row| {
                    if row["is_current"] == true {
                        "yes".into()
                    } else {
                        String::new()
                    }
                }),
                field_column("NAME", "/name"),
                time_column("CREATED", "/created_at"),
                field_column("CONTEXT", "/context"),
                field_column("CONFIG", "/config"),
            ];
            output.listing(&rows, &columns)?;
        }
        Command::Diff(options) => diff(&server, &options).await?,
        Command::Restore(Restore {
            assistant,
            version,
            yes,
            sending,
        }) => {
            let id = resolve::assistant_id(&server, &assistant).await?;
            let intent = ResourceIntent::RestoreVersion {
                assistant: id,
                version,
            };
            let act = Act {
                context: &context,
                site: &site,
                sending: &sending,
                approval: Approval::Yes(yes),
            };
            return act.run_resource_intent(&server, &intent).await;
        }
    }
    Ok(Exit::Done)
}

async fn list(server: &AgentServer, options: &List) -> Result<(), Failure> {
    let listed = server
        .assistant_rows(options.paging.limit, options.paging.offset)
        .await;
    let rows = listed.map_err(|error| Failure::of_optional(error, "listing assistants"))?;
    let columns = [
        field_column("GRAPH", "/graph_id"),
        field_column("NAME", "/name"),
        field_column("VERSION", "/version"),
        time_column("UPDATED", "/updated_at"),
        field_column("ASSISTANT", "/assistant_id"),
    ];
    options.output.listing(&rows, &columns)
}

/// Returns the versions of an assistant, newest first, and the number of the current one.
async fn versions(server: &AgentServer, wanted: &str) -> Result<(Listing<Value>, Value), Failure> {
    let id = resolve::assistant_id(server, wanted).await?;
    let (rows, current) = tokio::join!(server.assistant_versions(&id), server.assistant_row(&id));
    let gone = |error| gone(error, wanted);
    Ok((
        rows.map_err(gone)?,
        current.map_err(gone)?["version"].clone(),
    ))
}

async fn diff(server: &AgentServer, options: &Diff) -> Result<(), Failure> {
    let (
        Listing {
            items: rows,
            unread,
            ..
        },
        _,
    ) = versions(server, &options.assistant).await?;
    // One of them may be the version that is missing.
    report_unread(&unread);
    let version = |number: i64| {
        let known: Vec<String> = rows.iter().map(|row| row["version"].to_string()).collect();
        let missing = || {
            let name = text::clean(&options.assistant);
            Failure::failed(format!(
                "{name} has no version {number}; its versions are {}",
                known.join(", ")
            ))
        };
        rows.iter()
            .find(|row| row["version"] == number)
            .ok_or_else(missing)
    };
    let changes = assistant_changes(version(options.before)?, version(options.after)?);
    let rows: Vec<Value> = changes.iter().map(|change| json!(change)).collect();
    let shown = |field: &'static str| {
        move |row: &Value| {
            if row[field].is_null() {
                "-".to_string()
            } else {
                cell(&row[field])
            }
        }
    };
    let columns = [
        field_column("FIELD", "/path"),
        column("BEFORE", shown("before")),
        column("AFTER", shown("after")),
    ];
    options.output.rows(&rows, &columns)
}

/// An assistant may be deleted while a command runs.
fn gone(error: ApiError, wanted: &str) -> Failure {
    match error.kind {
        Kind::NotFound => Failure::failed(format!(
            "there is no assistant \"{}\"\n  {error}",
            text::clean(wanted)
        )),
        _ => error.into(),
    }
}
