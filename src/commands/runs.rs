//! `runs list` and `runs get`; `runs cancel` is in `cancel.rs`.

use crate::commands::cancel;
use crate::exit::offered;
use crate::output::List;
use crate::prelude::*;
use runtail_core::model::RunRevision;

/// Revisions to compare a run with.
const REVISIONS: usize = 50;

/// Commands for runs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the runs of a thread, newest first
    List(RunList),
    /// Show one run
    Get(Get),
    /// Cancel runs and report whether they stopped
    Cancel(cancel::Options),
}

/// Options of `runs list`.
#[derive(Debug, Args)]
#[command(mut_arg("offset", |offset| offset.help("Skip this many of the newest")))]
pub struct RunList {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    #[command(flatten)]
    list: List,
}

/// Options of `runs get`.
#[derive(Debug, Args)]
#[command(after_long_help = GET)]
pub struct Get {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// The run's id
    #[arg(value_name = "R")]
    run: String,
    #[command(flatten)]
    output: Output,
}

const GET: &str = "\
`cause` is why a run failed: the most specific text that the server's records have.\n\n\
`answered_by` says whether the newest revision of the deployment (-d) ran it: `revision` is `new`, `old` or `unknown`, and `why` says \
how this is known. It is compared by the run's metadata, where the server records a revision or a commit there, and by its times. \
`server_revision_id` is the revision that answers now. It is left out where nothing shows the revision.";

pub async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let (site, server) = resolve::agent_server(&context).await?;
    match command {
        Command::List(RunList {
            thread,
            list: List { paging, output },
        }) => {
            let rows = server.run_rows(&thread, paging.limit, paging.offset).await;
            output.listing(&offered(&server, rows, "listing runs").await?, &columns())?;
        }
        Command::Get(Get {
            thread,
            run,
            output,
        }) => {
            let mut row = offered(
                &server,
                server.explained_run(&thread, &run).await,
                "reading a run",
            )
            .await?;
            let answered_by = answered_by(&context, &server, &row).await;
            if let Some(fields) = row.as_object_mut()
                && answered_by.is_known()
            {
                fields.insert("answered_by".into(), serde_json::json!(answered_by));
            }
            output.one(&row)?;
        }
        Command::Cancel(options) => return cancel::run(&context, &site, &server, options).await,
    }
    Ok(Exit::Done)
}

/// Judges which revision of the deployment ran a run. What can't be read is unknown: the run itself was read.
async fn answered_by(context: &Context, server: &AgentServer, run: &Value) -> RunRevision {
    let revisions = async {
        let found = resolve::deployment(context, context.globals.deployment.as_deref()?)
            .await
            .ok()?;
        Some(
            found
                .site
                .control
                .as_ref()?
                .revision_rows(&found.id, REVISIONS)
                .await
                .ok()?
                .items,
        )
    };
    let (info, revisions) = tokio::join!(server.info(), revisions);
    RunRevision::of(
        run,
        &info.map(|info| info.raw).unwrap_or_default(),
        revisions.as_deref(),
    )
}

fn columns() -> [Column; 5] {
    [
        field_column("RUN", "/run_id"),
        status_column("STATUS", color::of_run, |row| cell(&row["status"])),
        time_column("CREATED", "/created_at"),
        time_column("UPDATED", "/updated_at"),
        field_column("ASSISTANT", "/assistant_id"),
    ]
}
