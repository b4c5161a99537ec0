//! `revisions list`, `get`, `diff` and `explain`; `wait` is in `wait/`, changes are in `change/`.

use crate::commands::collections::control_of;
use crate::commands::{change, wait};
use crate::context::has_id;
use crate::evidence;
use crate::output::{age, print, status};
use crate::prelude::*;
use crate::resolve::Found;
use runtail_api::named_newest;
use runtail_core::model::{
    DeploymentState, Phase, Roles, SourceRevisionConfig, compare, parse_time, time_taken,
    without_natural,
};

/// Number of revisions to search if none is named.
const HISTORY: usize = 100;
/// The warning about an unsorted list.
pub const UNSORTED: &str = "the server did not sort the revisions by date";

/// Commands for revisions.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the revisions of a deployment, newest first
    List(List),
    /// Show one revision
    Get(Get),
    /// Compare two revisions
    Diff(Diff),
    /// Explain why a revision failed, from its records and its log
    Explain(Explain),
    /// Wait until revisions are deployed or have failed
    Wait(wait::Options),
    /// Deploy the source of a revision again
    Redeploy(change::Redeploy),
    /// Roll back to the source of an earlier revision
    Rollback(change::Rollback),
    /// Interrupt a revision that is in progress
    Interrupt(change::Stop),
}

/// Options of `revisions list`.
#[derive(Debug, Args)]
pub struct List {
    /// An id, a name, or PROFILE/NAME
    #[arg(value_name = "D")]
    deployment: String,
    /// Maximum number
    #[arg(long, default_value = "20", value_parser = limit)]
    limit: usize,
    #[command(flatten)]
    output: Output,
}

fn limit(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|limit| *limit > 0)
        .ok_or_else(|| "expected a number, at least 1".into())
}

/// Options of `revisions get`.
#[derive(Debug, Args)]
pub struct Get {
    /// An id, a name, or PROFILE/NAME
    #[arg(value_name = "D")]
    deployment: String,
    /// The revision's id
    #[arg(value_name = "R")]
    revision: String,
    #[command(flatten)]
    output: Output,
}

/// Options of `revisions diff`.
#[derive(Debug, Args)]
pub struct Diff {
    /// An id, a name, or PROFILE/NAME
    #[arg(value_name = "D")]
    deployment: String,
    /// The older revision's id (default: the last one deployed before the newer one)
    #[arg(value_name = "A")]
    before: Option<String>,
    /// The newer revision's id (default: the newest)
    #[arg(value_name = "B")]
    after: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Options of `revisions explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// An id, a name, or PROFILE/NAME
    #[arg(value_name = "D")]
    deployment: String,
    /// The revision's id (default: the newest)
    #[arg(value_name = "R")]
    revision: Option<String>,
    /// How to print
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FORMAT",
        value_enum,
        default_value_t
    )]
    format: CardFormat,
}

/// How a failure card is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum CardFormat {
    /// For people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// For a summary or an issue
    Markdown,
}

pub async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::List(options) => list(globals, options).await,
        Command::Get(options) => {
            let (found, control) = find(globals, &options.deployment).await?;
            let row = control.revision_row(&found.id, &options.revision).await?;
            options.output.one(&found.revision(row))?;
            Ok(Exit::Done)
        }
        Command::Diff(options) => diff(globals, options).await,
        Command::Explain(options) => explain(globals, options).await,
        Command::Wait(options) => wait::run(globals, options).await,
        Command::Redeploy(options) => options.run(&Context::load(globals)?).await,
        Command::Rollback(options) => options.run(&Context::load(globals)?).await,
        Command::Interrupt(options) => options.run(&Context::load(globals)?).await,
    }
}

async fn find(globals: &Globals, wanted: &str) -> Result<(Found, ControlPlane), Failure> {
    let found = resolve::deployment(&Context::load(globals)?, wanted).await?;
    let control = control_of(&found.site)?;
    Ok((found, control))
}

async fn list(globals: &Globals, options: List) -> Result<Exit, Failure> {
    let (found, control) = find(globals, &options.deployment).await?;
    let mut revisions = control.revision_rows(&found.id, options.limit).await?;
    let odd = found
        .site
        .keep_records(&mut revisions.items, revisions.unread, has_id);
    if !revisions.was_sorted {
        complain(format!("warning: {UNSORTED}; sorted here"));
    }
    let is_missing = |newest: &&str| {
        !revisions
            .items
            .iter()
            .any(|row| text_of(row, "id") == *newest)
    };
    if let Some(newest) = named_newest(&found.row).filter(is_missing) {
        let newest = text::clean(newest);
        complain(format!(
            "warning: the newest revision, {newest}, is not in this list"
        ));
    }
    let active = found.row["active_revision_id"].as_str();
    let state = found.row["status"].as_str();
    let roles = Roles::new(
        active,
        revisions
            .items
            .iter()
            .map(|row| (text_of(row, "id"), text_of(row, "status"))),
    );
    let roles = roles.in_deployment(state);
    if let Some(meaning) = DeploymentState::of(state).meaning(false) {
        complain(format!("note: {meaning}"));
    }
    let with_role = |mut row: Value| {
        let role = roles
            .of(text_of(&row, "id"), text_of(&row, "status"))
            .word();
        if let Some(fields) = row.as_object_mut() {
            fields.entry("role").or_insert(role.into());
            fields
                .entry("role_derived")
                .or_insert(roles.is_assumed().into());
        }
        found.revision(row)
    };
    let rows: Vec<Value> = revisions.items.iter().cloned().map(with_role).collect();
    options
        .output
        .rows(&rows, &columns(found.site.server_time()))?;
    match odd {
        Some(error) => Err(error.into()),
        None => Ok(Exit::Done),
    }
}

async fn diff(globals: &Globals, options: Diff) -> Result<Exit, Failure> {
    let (found, control) = find(globals, &options.deployment).await?;
    let (before, after) = match (&options.before, &options.after) {
        (Some(before), Some(after)) => tokio::try_join!(
            control.revision_row(&found.id, before),
            control.revision_row(&found.id, after)
        )?,
        (Some(before), None) => tokio::try_join!(
            async { Ok(control.revision_row(&found.id, before).await?) },
            newest(&found, &control)
        )?,
        (None, _) => {
            let newest = newest(&found, &control).await?;
            let history = control.revision_rows(&found.id, HISTORY).await?.items;
            let at = history.iter().position(|row| row["id"] == newest["id"]);
            let older = &history[at.map_or(0, |at| at + 1)..];
            let last_good = older.iter().find(|row| phase(row) == Phase::Deployed).cloned().ok_or_else(|| {
                let newest = text::clean(text_of(&newest, "id"));
                Failure::failed(format!(
                    "{}: no revision before the newest, {newest}, was deployed; name both revisions",
                    found.title()
                ))
            })?;
            (last_good, newest)
        }
    };
    let title = |row: &Value| {
        format!(
            "{} ({})",
            text::clean(text_of(row, "id")),
            text::clean(&status(&row["status"]))
        )
    };
    complain(format!(
        "{}: {} → {}",
        found.title(),
        title(&before),
        title(&after)
    ));
    let changes = without_natural(compare(&before, &after));
    if changes.is_empty() {
        complain("no differences; secrets and resources are not recorded with a revision");
    }
    let rows: Vec<Value> = changes
        .iter()
        .map(|change| serde_json::json!(change))
        .collect();
    options.output.rows(
        &rows,
        &[
            field_column("FIELD", "/path"),
            field_column("BEFORE", "/before"),
            field_column("AFTER", "/after"),
        ],
    )?;
    Ok(Exit::Done)
}

async fn explain(globals: &Globals, options: Explain) -> Result<Exit, Failure> {
    let (found, control) = find(globals, &options.deployment).await?;
    let row = match &options.revision {
        Some(id) => control.revision_row(&found.id, id).await?,
        None => newest(&found, &control).await?,
    };
    let card = evidence::card(globals, &found, &control, &row, &[]).await;
    let printed = match options.format {
        CardFormat::Text => card.text(),
        CardFormat::Json => format!("{:#}\n", serde_json::json!(card)),
        CardFormat::Markdown => card.markdown(),
    };
    print(&printed, options.format == CardFormat::Json)?;
    Ok(Exit::Done)
}

/// Returns the newest revision, with a warning if the list was not sorted.
async fn newest(found: &Found, control: &ControlPlane) -> Result<Value, Failure> {
    let newest = control.newest_row(&found.row).await?;
    if !newest.was_sorted {
        complain(format!(
            "warning: {UNSORTED}; the newest is the one with the latest date"
        ));
    }
    newest
        .row
        .ok_or_else(|| Failure::failed(format!("{} has no revision", found.title())))
}

fn phase(row: &Value) -> Phase {
    Phase::of(text_of(row, "status"))
}

/// The columns of a list, with ages by the server's clock.
fn columns(now: Timestamp) -> [Column; 8] {
    [
        field_column("PROFILE", "/profile"),
        field_column("REVISION", "/id"),
        column("ROLE", |row| {
            // The server doesn't say which one is serving, or whether the deployment still serves.
            let guessed = row["role"] == "serving" && row["role_derived"] == true;
            format!(
                "{}{}",
                cell(&row["role"]),
                if guessed { " (derived)" } else { "" }
            )
        }),
        status_column("STATUS", color::of_revision, |row| status(&row["status"])),
        time_column("CREATED", "/created_at"),
        column("AGE", move |row| age(&row["created_at"], now)),
        column("TOOK", move |row| {
            let took = time_taken(
                phase(row),
                made(row, "created_at"),
                made(row, "updated_at"),
                now,
            );
            took.map(text::duration).unwrap_or_default()
        }),
        column("FROM", |row| {
            let config = SourceRevisionConfig::from_row(row);
            config.made_from().unwrap_or_default()
        }),
    ]
}

fn made(row: &Value, name: &str) -> Option<Timestamp> {
    row[name].as_str().and_then(parse_time)
}
