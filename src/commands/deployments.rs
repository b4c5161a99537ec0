//! `deployments list` and `deployments get`; changes are in `change/`.

use crate::commands::collections::{across, with_control_plane};
use crate::commands::{change, revisions::UNSORTED};
use crate::context::has_id;
use crate::exit::report_missing;
use crate::output::status;
use crate::prelude::*;
use futures::{StreamExt, stream};
use runtail_api::{DeploymentQuery, UnreadRows};
use std::pin::pin;

/// Maximum number of concurrent requests to one profile's server.
const MAX_CONCURRENCY: usize = ControlPlane::MAX_CONCURRENCY;

/// Commands for deployments.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the deployments of all chosen profiles
    List(List),
    /// Show one deployment
    Get(Get),
    /// Create a deployment from a file
    Create(Box<change::Create>),
    /// Update a deployment, from a file or from options
    Update(Box<change::Update>),
    /// Delete a deployment
    Delete(change::Delete),
}

/// Options of `deployments list`.
#[derive(Debug, Args)]
pub struct List {
    /// Filter by name: deployments whose name contains this text
    #[arg(long, value_name = "TEXT")]
    name_contains: Option<String>,
    /// Filter by status (READY, AWAITING_DATABASE, …)
    #[arg(long)]
    status: Option<String>,
    /// Filter by type (dev, prod, …)
    #[arg(long = "type", value_name = "TYPE")]
    deployment_type: Option<String>,
    /// Also fetch each newest revision (`latest_revision`, null if there is none); one more request per row
    #[arg(long)]
    revisions: bool,
    #[command(flatten)]
    output: Output,
}

/// Options of `deployments get`.
#[derive(Debug, Args)]
pub struct Get {
    /// An id, a name, or PROFILE/NAME
    #[arg(value_name = "D")]
    deployment: String,
    #[command(flatten)]
    output: Output,
}

pub async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    match command {
        Command::List(options) => list(&context, options).await,
        Command::Get(options) => {
            let found = resolve::deployment(&context, &options.deployment).await?;
            options
                .output
                .one(&placed(&found.site.profile, found.row))?;
            Ok(Exit::Done)
        }
        Command::Create(options) => options.run(&context).await,
        Command::Update(options) => options.run(&context).await,
        Command::Delete(options) => options.run(&context).await,
    }
}

/// Requests all profiles at once and prints the rows of those that answer; each failure is a message on stderr, and the
/// first one sets the exit code.
async fn list(context: &Context, options: List) -> Result<Exit, Failure> {
    let query = DeploymentQuery {
        name_contains: options.name_contains,
        status: options.status,
        deployment_type: options.deployment_type,
        ..DeploymentQuery::default()
    };
    let profiles = with_control_plane(context.profiles.clone())?;
    let format = options.output.format();
    let answers = across(profiles, async |site| {
        let mut listing = rows(site, &query).await?;
        let odd = site.keep_records(&mut listing.items, listing.unread, has_id);
        let unread = if options.revisions {
            add_newest(site, &mut listing.items, format).await
        } else {
            Unread::default()
        };
        let incomplete = listing.incomplete.into_iter().chain(odd);
        Ok((listing.items, incomplete, unread))
    })
    .await;
    let mut all = Vec::new();
    let mut failures: Vec<ApiError> = Vec::new();
    let mut missing = Vec::new();
    for answer in answers {
        match answer {
            Ok((Site { profile, .. }, (rows, incomplete, unread))) => {
                if unread.rows > 0 {
                    let (name, of) = (&profile.name, rows.len());
                    missing.push(format!(
                        "{name}: {} of {of} newest revisions could not be read",
                        unread.rows
                    ));
                }
                all.extend(rows.into_iter().map(|row| placed(&profile, row)));
                failures.extend(incomplete.chain(unread.failures));
            }
            Err(error) => failures.push(error),
        }
    }
    // Don't print an empty table above the errors.
    if !all.is_empty() || failures.is_empty() {
        options.output.rows(&all, &columns(options.revisions))?;
    }
    Ok(report_missing(&failures, &missing))
}

/// Returns the rows of one profile. If the server can't list deployments, the pinned ones are fetched one by one; a
/// missing one is a failure.
pub async fn rows(site: &Site, query: &DeploymentQuery) -> Result<Listing<Value>, ApiError> {
    let Some(control) = &site.control else {
        return Ok(Listing::new(Vec::new(), UnreadRows::of("deployments")));
    };
    let pinned = &site.profile.deployments;
    match control.deployment_rows(query).await {
        Err(e) if matches!(e.kind, Kind::NotFound | Kind::Status(405)) && !pinned.is_empty() => {}
        other => return other,
    }
    let mut listing = Listing::new(Vec::new(), UnreadRows::of("deployments"));
    let mut answers = stream::iter(pinned)
        .map(|id| control.deployment_row(id))
        .buffered(MAX_CONCURRENCY);
    while let Some(answer) = answers.next().await {
        match answer {
            Ok(row) if suits(&row, query) => listing.items.push(row),
            Ok(_) => {}
            Err(error) => listing.incomplete = listing.incomplete.or(Some(error)),
        }
    }
    Ok(listing)
}

/// Applies the server's filters to rows that were fetched one by one.
fn suits(row: &Value, query: &DeploymentQuery) -> bool {
    let name = text_of(row, "name");
    let same = |wanted: &Option<String>, field: &Value| {
        wanted.as_deref().is_none_or(|w| field.as_str() == Some(w))
    };
    query
        .name_contains
        .as_deref()
        .is_none_or(|part| name.contains(part))
        && same(&query.status, &row["status"])
        && same(
            &query.deployment_type,
            &row["source_config"]["deployment_type"],
        )
}

/// The newest revisions that could not be read.
#[derive(Debug, Default)]
struct Unread {
    /// Rows whose newest revision is missing because of it.
    rows: usize,
    /// The reason.
    failures: Vec<ApiError>,
}

/// The result of reading a deployment's newest revision.
#[derive(Debug, Clone)]
enum Newest {
    /// It was read, and whether the list was sorted.
    Revision(Value, bool),
    /// The deployment has no revision.
    None,
    /// The deployment was deleted after the list was read.
    Gone,
    /// It could not be read, or was not requested any more.
    Unread,
}

impl Newest {
    async fn read(control: &ControlPlane, record: &Value) -> Result<Newest, ApiError> {
        let error = match control.newest_row(record).await {
            Ok(newest) => {
                return Ok(newest
                    .row
                    .map_or(Newest::None, |row| Newest::Revision(row, newest.was_sorted)));
            }
            Err(error) if error.kind == Kind::NotFound => error,
            Err(error) => return Err(error),
        };
        // 404 means that the deployment is gone or that the server has no such call.
        match control.deployment_row(text_of(record, "id")).await {
            Err(ApiError {
                kind: Kind::NotFound,
                ..
            }) => Ok(Newest::Gone),
            Ok(row) if row["status"] == "AWAITING_DELETE" => Ok(Newest::Gone),
            _ => Err(error),
        }
    }

    /// Returns the value for the row. In a table, a word replaces a missing revision.
    fn shown(self, format: Format) -> Value {
        let word = match self {
            Newest::Revision(row, _) => return row,
            Newest::None => "none",
            Newest::Gone => "gone",
            Newest::Unread => "unread",
        };
        if format == Format::Table {
            json!({"status": word})
        } else {
            Value::Null
        }
    }
}

/// Adds the newest revision to each row, null if there is none or it can't be read. Returns the failures; a deployment that
/// was deleted after the list was read is only a note. Stops after a failure that the other rows would share.
async fn add_newest(site: &Site, rows: &mut [Value], format: Format) -> Unread {
    let Some(control) = &site.control else {
        return Unread::default();
    };
    let mut answers: Vec<Newest> = Vec::with_capacity(rows.len());
    let mut failures: Vec<ApiError> = Vec::new();
    {
        let mut asked = pin!(
            stream::iter(&*rows)
                .map(|row| Newest::read(control, row))
                .buffered(MAX_CONCURRENCY)
        );
        while let Some(answer) = asked.next().await {
            let error = match answer {
                Ok(newest) => {
                    answers.push(newest);
                    continue;
                }
                Err(error) => error,
            };
            answers.push(Newest::Unread);
            let is_the_end = !is_about_one_row(&error);
            failures.push(error);
            // A whole batch was forbidden and none succeeded, so all are.
            let is_denied = |e: &ApiError| e.kind == Kind::Forbidden;
            let all_denied = answers.len() == MAX_CONCURRENCY
                && failures.len() == MAX_CONCURRENCY
                && failures.iter().all(is_denied);
            if all_denied {
                failures.truncate(1);
            }
            if is_the_end || all_denied {
                break;
            }
        }
    }
    answers.resize(rows.len(), Newest::Unread);
    let profile = &site.profile.name;
    let unsorted = answers
        .iter()
        .filter(|newest| matches!(newest, Newest::Revision(_, false)))
        .count();
    if unsorted > 0 {
        let taken = format!("in {unsorted} rows, the newest is the one with the latest date");
        complain(format!("warning: {profile}: {UNSORTED}; {taken}"));
    }
    let unread = answers
        .iter()
        .filter(|newest| matches!(newest, Newest::Unread))
        .count();
    for (row, newest) in rows.iter_mut().zip(answers) {
        if let Newest::Gone = newest {
            let name = text::clean(
                row["name"]
                    .as_str()
                    .or(row["id"].as_str())
                    .unwrap_or_default(),
            );
            complain(format!(
                "note: {profile}/{name} was deleted after the list was read"
            ));
        }
        if let Some(fields) = row.as_object_mut() {
            fields.insert("latest_revision".into(), newest.shown(format));
        }
    }
    Unread {
        rows: unread,
        failures,
    }
}

/// Whether a failure concerns only its own row: not a rejected key, a rate limit or an unreachable server.
fn is_about_one_row(error: &ApiError) -> bool {
    let is_general = matches!(
        error.kind,
        Kind::Unauthorized
            | Kind::RateLimited(_)
            | Kind::NoConnection
            | Kind::Network
            | Kind::Timeout
            | Kind::Server(502..=504)
    );
    !is_general
}

fn columns(with_newest: bool) -> Vec<Column> {
    let mut columns = vec![
        field_column("PROFILE", "/profile"),
        field_column("REGION", "/region"),
        field_column("NAME", "/name"),
        status_column("STATUS", color::of_revision, |row| status(&row["status"])),
        column("LIVE", live),
        field_column("SOURCE", "/source"),
        field_column("TYPE", "/source_config/deployment_type"),
        time_column("UPDATED", "/updated_at"),
        field_column("ID", "/id"),
    ];
    if with_newest {
        columns.insert(
            4,
            column("NEWEST", |row| status(&row["latest_revision"]["status"])),
        );
    }
    columns
}

/// Returns which revision is serving: the newest or another one, or nothing if the server doesn't say.
fn live(row: &Value) -> String {
    match (
        row["active_revision_id"].as_str(),
        row["latest_revision_id"].as_str(),
    ) {
        (Some(active), newest) if newest == Some(active) => "newest".into(),
        (Some(active), _) => text::short_id(active),
        (None, _) if row.get("active_revision_id").is_some() => "none".into(),
        (None, _) => String::new(),
    }
}
