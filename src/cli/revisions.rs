//! `revisions list`, `revisions get` and `revisions wait`.

use super::output::{cell, column, complain, placed, time};
use super::resolve::{self, Found};
use super::{Context, Exit, Failure, Globals, Output};
use crate::api::{ApiError, Kind};
use crate::config::parse_duration;
use crate::model::Phase;
use crate::text;
use clap::{Args, Subcommand};
use futures::future::join_all;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// What can be done with revisions.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the revisions of a deployment, newest first
    List(List),
    /// Show one revision
    Get(Get),
    /// Wait until a revision is deployed or failed
    Wait(Wait),
}

/// Options of `revisions list`.
#[derive(Debug, Args)]
pub struct List {
    /// An id, a name, or PROFILE/NAME
    #[arg(value_name = "D")]
    deployment: String,
    /// At most so many
    #[arg(long, default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    output: Output,
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

/// Options of `revisions wait`.
#[derive(Debug, Args)]
pub struct Wait {
    /// Ids, names, or PROFILE/NAME
    #[arg(value_name = "D", required = true)]
    deployments: Vec<String>,
    /// This revision (of one deployment), instead of the newest
    #[arg(long, value_name = "R")]
    revision: Option<String>,
    /// When to give up (default: the configuration's, else 30m)
    #[arg(long, value_parser = duration)]
    timeout: Option<Duration>,
    /// How often to ask (default: the configuration's, else 60s)
    #[arg(long, value_parser = duration)]
    interval: Option<Duration>,
    #[command(flatten)]
    output: Output,
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "a duration such as 60s or 30m was expected".to_string())
}

pub(super) async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    match command {
        Command::List(options) => list(&context, options).await,
        Command::Get(options) => {
            let found = resolve::deployment(&context, &options.deployment).await?;
            let Some(control) = &found.site.control else { return Ok(Exit::Failed) };
            let row = control.revision_row(&found.id, &options.revision).await?;
            options.output.one(&placed(&found.site.profile, row))?;
            Ok(Exit::Done)
        }
        Command::Wait(options) => wait(&context, options).await,
    }
}

async fn list(context: &Context, options: List) -> Result<Exit, Failure> {
    let found = resolve::deployment(context, &options.deployment).await?;
    let Some(control) = &found.site.control else { return Ok(Exit::Failed) };
    let revisions = control.revision_rows(&found.id, options.limit).await?;
    if !revisions.was_sorted {
        complain("warning: the server did not sort the revisions by their date, as it promises; they are sorted here");
    }
    let rows: Vec<Value> = revisions.items.into_iter().map(|row| placed(&found.site.profile, row)).collect();
    options.output.rows(&rows, &columns())?;
    Ok(Exit::Done)
}

/// Waits for all at once. Each change of a status is a line on stderr; the revisions as they ended are the data.
async fn wait(context: &Context, options: Wait) -> Result<Exit, Failure> {
    if options.revision.is_some() && options.deployments.len() > 1 {
        return Err(Failure::usage("--revision belongs to one deployment, but several were given"));
    }
    let interval = options.interval.unwrap_or(context.config.poll.interval);
    if interval < Duration::from_millis(100) {
        return Err(Failure::usage("--interval is too short: ask ten times a second at most, better once a minute"));
    }
    let patience =
        Patience { deadline: Instant::now() + options.timeout.unwrap_or(context.config.poll.timeout), interval };
    let waits = options.deployments.iter().map(|name| one(context, name, options.revision.as_deref(), &patience));
    let mut rows = Vec::new();
    let mut exit = Exit::Done;
    for ended in join_all(waits).await {
        let this = match ended {
            Ok((this, row)) => {
                rows.extend(row);
                this
            }
            Err(failure) => {
                failure.report();
                failure.exit
            }
        };
        exit = graver(exit, this);
    }
    options.output.rows(&rows, &columns())?;
    Ok(exit)
}

/// Of several endings the one that says most: trouble of our own, a failed revision, a deadline.
fn graver(a: Exit, b: Exit) -> Exit {
    let rank = |exit: Exit| match exit {
        Exit::Done => 0,
        Exit::Deadline => 1,
        Exit::Failed => 2,
        _ => 3,
    };
    if rank(b) > rank(a) { b } else { a }
}

struct Patience {
    deadline: Instant,
    interval: Duration,
}

impl Patience {
    /// Sleeps until the next question, or until the deadline, at which one last question is asked. False when that was
    /// the last.
    async fn pause(&self, error: Option<&ApiError>) -> bool {
        if Instant::now() >= self.deadline {
            return false;
        }
        let asked = match error.map(|e| &e.kind) {
            Some(Kind::RateLimited(Some(asked))) => *asked,
            _ => Duration::ZERO,
        };
        let next = Instant::now() + self.interval.max(asked);
        tokio::time::sleep_until(next.min(self.deadline)).await;
        true
    }

    /// Asks until there is an answer. What may pass (429, 5xx, the network) is told and outlived, until the deadline.
    async fn insist<T, F, E>(&self, title: &str, mut ask: F) -> Result<Option<T>, E>
    where
        F: AsyncFnMut() -> Result<T, E>,
        E: Trouble,
    {
        loop {
            match ask().await {
                Ok(answer) => return Ok(Some(answer)),
                Err(trouble) if !trouble.may_pass() => return Err(trouble),
                Err(trouble) => {
                    complain(&format!("{title}: {}; asking again", trouble.line()));
                    if !self.pause(trouble.api()).await {
                        return Ok(None);
                    }
                }
            }
        }
    }
}

/// What `insist` needs to know of an error.
trait Trouble {
    fn may_pass(&self) -> bool;
    fn line(&self) -> String;
    fn api(&self) -> Option<&ApiError>;
}

impl Trouble for ApiError {
    fn may_pass(&self) -> bool {
        self.is_transient()
    }
    fn line(&self) -> String {
        format!("{} ({})", self.detail, self.badge())
    }
    fn api(&self) -> Option<&ApiError> {
        Some(self)
    }
}

impl Trouble for Failure {
    fn may_pass(&self) -> bool {
        self.exit == Exit::Network
    }
    fn line(&self) -> String {
        self.message.lines().next().unwrap_or_default().to_string()
    }
    fn api(&self) -> Option<&ApiError> {
        None
    }
}

/// Waits for one revision.
async fn one(
    context: &Context,
    name: &str,
    revision: Option<&str>,
    patience: &Patience,
) -> Result<(Exit, Option<Value>), Failure> {
    let shown = text::clean(name).into_owned();
    let gave_up = |title: &str, status: &str| {
        complain(&format!("{title}: the deadline was reached at {status}"));
        Exit::Deadline
    };
    let Some(found) = patience.insist(&shown, async || resolve::deployment(context, name).await).await? else {
        return Ok((gave_up(&shown, "an unknown status"), None));
    };
    let title = found.title();
    let Some(control) = found.site.control.clone().map(|c| c.retrying(crate::api::Retry::NONE)) else {
        return Err(Failure::usage(format!("{title} has no control plane")));
    };
    let id = match revision {
        Some(id) => id.to_string(),
        None => {
            let newest = patience.insist(&title, async || newest(&found, &control).await).await?;
            match newest {
                Some(Some(id)) => id,
                Some(None) => return Err(Failure::not_found(format!("{title} has no revision"))),
                None => return Ok((gave_up(&title, "an unknown status"), None)),
            }
        }
    };
    let mut last = String::new();
    loop {
        let Some(row) = patience.insist(&title, async || control.revision_row(&found.id, &id).await).await? else {
            return Ok((gave_up(&title, if last.is_empty() { "an unknown status" } else { &last }), None));
        };
        let status = row["status"].as_str().unwrap_or_default().to_string();
        let phase = Phase::of(&status);
        if status != last {
            complain(&format!("{title} {}: {}", text::short_id(&id), text::clean(&status)));
            last = status;
        }
        let exit = match phase {
            Phase::Deployed => Exit::Done,
            Phase::Failed | Phase::Skipped | Phase::Interrupted => Exit::Failed,
            Phase::Waiting | Phase::Moving | Phase::Unknown => {
                if patience.pause(None).await {
                    continue;
                }
                gave_up(&title, &last)
            }
        };
        let mut row = placed(&found.site.profile, row);
        row["deployment_id"] = found.id.clone().into();
        return Ok((exit, Some(row)));
    }
}

/// The newest revision at this moment: what the deployment's record names, else the first of the list.
async fn newest(found: &Found, control: &crate::api::ControlPlane) -> Result<Option<String>, ApiError> {
    if let Some(id) = found.row["latest_revision_id"].as_str() {
        return Ok(Some(id.to_string()));
    }
    let revisions = control.revisions(&found.id, 1).await?;
    Ok(revisions.items.into_iter().next().map(|r| r.id))
}

fn columns() -> [super::output::Column; 5] {
    [
        column("PROFILE", |row| cell(&row["profile"])),
        column("REVISION", |row| cell(&row["id"])),
        column("STATUS", |row| cell(&row["status"])),
        column("CREATED", |row| time(&row["created_at"])),
        column("FROM", |row| {
            let from = &row["source_revision_config"];
            let commit: String = cell(&from["repo_commit_sha"]).chars().take(9).collect();
            [cell(&from["repo_ref"]), commit, cell(&from["image_uri"])]
                .into_iter()
                .filter(|s| !s.is_empty())
                .collect::<Vec<_>>()
                .join(" ")
        }),
    ]
}
