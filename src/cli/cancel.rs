//! `runs cancel`: cancels runs of a thread and reads them back, because an accepted request stops nothing by itself.

use super::consent::{self, Yes};
use super::output::{cell, column, complain, status_column};
use super::{Context, Exit, Failure, Output, Site, color, wait};
use crate::api::{AgentServer, ApiError, CancelAction, Kind};
use crate::model::Run;
use crate::text;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// Pause before a run is read again: the first and the longest one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Options of `runs cancel`.
#[derive(Debug, Args)]
#[command(after_long_help = NOTES)]
pub struct Options {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// The runs' ids
    #[arg(value_name = "R", required_unless_present = "all", conflicts_with = "all")]
    runs: Vec<String>,
    /// Cancel all runs of the thread that are pending or running
    #[arg(long)]
    all: bool,
    /// Keep the steps that finished (interrupt), or delete the run and its checkpoints (rollback)
    #[arg(long, value_enum, default_value_t = Action::Interrupt)]
    action: Action,
    /// Wait until the runs have stopped
    #[arg(long)]
    wait: bool,
    /// When to give up waiting
    #[arg(long, value_parser = wait::duration, default_value = "60s", requires = "wait")]
    timeout: Duration,
    #[command(flatten)]
    yes: Yes,
    #[command(flatten)]
    output: Output,
}

const NOTES: &str = "\
A row's status is `stopped`, `stopping` (accepted, but the run is still active), `finished` (it was over before, or ended by \
itself), `not_found` or `failed`; `run_status` is the run's own status, or `deleted` after a rollback.

Exit codes: 0 every run has stopped, is stopping or was over · 1 a run was not found, or could not be cancelled · 2 not \
confirmed · 3 not allowed, or read-only · 4 with --wait: a run had not stopped at the deadline.";

/// How a run is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Action {
    /// Keep the steps that finished.
    Interrupt,
    /// Delete the run and its checkpoints.
    Rollback,
}

impl From<Action> for CancelAction {
    fn from(action: Action) -> CancelAction {
        match action {
            Action::Interrupt => CancelAction::Interrupt,
            Action::Rollback => CancelAction::Rollback,
        }
    }
}

/// What became of one run.
struct Target {
    run: String,
    status: Status,
    /// The run's own status when it was last read.
    run_status: Option<String>,
    /// Whether it was active when it was first read.
    was_active: bool,
    error: Option<ApiError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    /// Pending or running, and not cancelled yet.
    Active,
    Stopping,
    Stopped,
    Finished,
    NotFound,
    Failed,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Stopping => "stopping",
            Status::Stopped => "stopped",
            Status::Finished => "finished",
            Status::NotFound => "not_found",
            Status::Failed => "failed",
        }
    }
}

/// Cancels runs of a thread.
pub(super) async fn run(
    context: &Context,
    site: &Site,
    server: &AgentServer,
    options: Options,
) -> Result<Exit, Failure> {
    context.check_write(&site.profile)?;
    let call = Call { server, thread: &options.thread, action: options.action.into() };
    let mut targets = match options.all {
        true => call.active().await?,
        false => call.named(&options.runs).await?,
    };
    let active: Vec<&str> =
        targets.iter().filter(|target| target.status == Status::Active).map(|target| target.run.as_str()).collect();
    if !active.is_empty() {
        consent::yes(&call.question(&active), options.yes).await?;
    }
    for target in targets.iter_mut().filter(|target| target.status == Status::Active) {
        call.cancel(target).await;
    }
    if options.wait {
        call.wait(&mut targets, options.timeout).await;
    }
    report(&call, &targets, &options)
}

/// What all requests have in common.
struct Call<'a> {
    server: &'a AgentServer,
    thread: &'a str,
    action: CancelAction,
}

impl Call<'_> {
    /// All active runs, the newest first: a queued run must not start because the one before it was cancelled.
    async fn active(&self) -> Result<Vec<Target>, ApiError> {
        let runs = self.server.active_runs(self.thread).await?;
        Ok(runs.into_iter().map(|run| Target::new(&run.run_id, Some(&run))).collect())
    }

    async fn named(&self, ids: &[String]) -> Result<Vec<Target>, ApiError> {
        let mut targets: Vec<Target> = Vec::new();
        for id in ids {
            if targets.iter().any(|target| target.run == *id) {
                continue;
            }
            targets.push(match self.server.run(self.thread, id).await {
                Ok(run) => Target::new(id, Some(&run)),
                // 422: the id is no UUID.
                Err(error) if matches!(error.kind, Kind::NotFound | Kind::Invalid(_)) => Target::new(id, None),
                Err(error) => return Err(error),
            });
        }
        Ok(targets)
    }

    fn question(&self, runs: &[&str]) -> String {
        let what = match runs {
            [one] => format!("run {}", text::clean(one)),
            several => format!("{} runs", several.len()),
        };
        let how = match self.action {
            CancelAction::Interrupt => "Cancel",
            CancelAction::Rollback => "Cancel and delete, with all checkpoints,",
        };
        format!("{how} {what} of thread {}", text::clean(self.thread))
    }

    /// Cancels one run and reads it back.
    async fn cancel(&self, target: &mut Target) {
        match self.server.cancel(self.thread, &target.run, self.action).await {
            Ok(()) => self.look(target, true).await,
            Err(error) => {
                // It may have ended since it was read: then there was nothing to cancel.
                self.look(target, false).await;
                if target.status == Status::Active {
                    let hint = match (self.action, &error.kind) {
                        (CancelAction::Rollback, Kind::Invalid(_)) => {
                            Some("the server may not support rollback".into())
                        }
                        _ => error.hint.clone(),
                    };
                    (target.status, target.error) = (Status::Failed, Some(ApiError { hint, ..error }));
                }
            }
        }
    }

    /// Reads a run. `accepted`: whether the server accepted the request to cancel it.
    async fn look(&self, target: &mut Target, accepted: bool) {
        match self.server.run(self.thread, &target.run).await {
            Ok(run) => {
                target.status = match (run.is_active(), accepted) {
                    (true, false) => Status::Active,
                    (true, true) => Status::Stopping,
                    // The servers have several words for a run that was cancelled, JavaScript's rollback even `error`.
                    (false, true) if run.status != "success" => Status::Stopped,
                    (false, _) => Status::Finished,
                };
                target.run_status = Some(run.status);
            }
            Err(error) if error.kind == Kind::NotFound && accepted => {
                (target.status, target.run_status) = (Status::Stopped, Some("deleted".into()));
            }
            // Still the last that is known.
            Err(error) => {
                if accepted {
                    target.status = Status::Stopping;
                }
                target.error = Some(error);
            }
        }
    }

    /// Reads the runs that are stopping until they have stopped, or until the deadline.
    async fn wait(&self, targets: &mut [Target], timeout: Duration) {
        let deadline = Instant::now() + timeout;
        let mut pause = FIRST_PAUSE;
        while targets.iter().any(|target| target.status == Status::Stopping) && Instant::now() < deadline {
            tokio::time::sleep_until(deadline.min(Instant::now() + pause)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            for target in targets.iter_mut().filter(|target| target.status == Status::Stopping) {
                target.error = None;
                let _ = tokio::time::timeout_at(deadline, self.look(target, true)).await;
            }
        }
    }
}

impl Target {
    fn new(id: &str, run: Option<&Run>) -> Target {
        let status = match run {
            None => Status::NotFound,
            Some(run) if run.is_active() => Status::Active,
            Some(_) => Status::Finished,
        };
        let was_active = status == Status::Active;
        Target { run: id.to_string(), status, run_status: run.map(|run| run.status.clone()), was_active, error: None }
    }
}

fn report(call: &Call<'_>, targets: &[Target], options: &Options) -> Result<Exit, Failure> {
    let row = |target: &Target| {
        json!({
            "thread_id": options.thread, "run_id": target.run, "action": call.action.word(),
            "status": target.status.word(), "run_status": target.run_status,
        })
    };
    let rows: Vec<Value> = targets.iter().map(row).collect();
    let columns = [
        column("RUN", |row| cell(&row["run_id"])),
        status_column("STATUS", color::of_run, |row| cell(&row["status"])),
        status_column("RUN STATUS", color::of_run, |row| cell(&row["run_status"])),
    ];
    options.output.rows(&rows, &columns)?;
    let thread = text::clean(call.thread);
    if targets.is_empty() {
        complain(&format!("thread {thread} has no active runs: nothing was sent"));
    }
    let mut exit = Exit::Done;
    for target in targets {
        let run = text::clean(&target.run);
        let error = target.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        let (code, line) = match target.status {
            Status::Stopped => continue,
            Status::Finished => {
                let how = text::clean(target.run_status.as_deref().unwrap_or_default()).into_owned();
                let what = if target.was_active { "ended before it was cancelled" } else { "is already over" };
                (Exit::Done, format!("run {run} {what} ({how})"))
            }
            Status::Stopping if options.wait => {
                let waited = text::duration(options.timeout);
                (Exit::Deadline, format!("run {run} has not stopped after {waited}{error}"))
            }
            Status::Stopping => (Exit::Done, format!("run {run} is stopping{error}")),
            Status::NotFound => (Exit::Failed, format!("run {run} of thread {thread} was not found")),
            Status::Active | Status::Failed => {
                let code = target.error.as_ref().map_or(Exit::Failed, Exit::of);
                (code, format!("run {run} could not be cancelled{error}"))
            }
        };
        complain(&line);
        if exit == Exit::Done {
            exit = code;
        }
    }
    Ok(exit)
}
