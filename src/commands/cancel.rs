//! `runs cancel`: cancels runs of a thread and reads them back, because an accepted request stops nothing by itself.

use crate::commands::wait;
use crate::fields::one_of;
use crate::prelude::*;
use runtail_api::{CancelAction, CancelState, CancelTarget};
use runtail_core::model::{Preview, shell_word};

/// Options of `runs cancel`.
#[derive(Debug, Args)]
#[command(after_long_help = NOTES)]
pub struct Options {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// The runs' ids, or --all
    #[arg(
        value_name = "R",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    runs: Vec<String>,
    /// Cancel all runs of the thread that are pending or running
    #[arg(long)]
    all: bool,
    /// Keep the steps that finished (interrupt), or delete the run and its checkpoints (rollback)
    #[arg(long, value_parser = one_of(ACTIONS, CancelAction::word, MEANINGS), default_value = "interrupt")]
    action: CancelAction,
    /// Wait until the runs have stopped
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,
    /// When to give up waiting
    #[arg(long, value_parser = wait::duration, default_value = "60s", requires = "wait")]
    timeout: Duration,
    #[command(flatten)]
    yes: Yes,
    #[command(flatten)]
    sending: Sending,
}

const NOTES: &str = "\
A row's status is `stopped`, `stopping` (accepted, but the run is still active), `finished` (it had ended before, or ended by \
itself), `not_found`, `failed` or `unknown` (the server failed, or its reply was lost); `run_status` is the run's own status, or `deleted` after a rollback.

Exit codes: 0 every run has stopped, is stopping or had already ended · 1 a run was not found or could not be cancelled · 2 not \
confirmed · 3 not allowed, or read-only · 4 with --wait: a run had not stopped at the deadline · 5 unknown for a run. Of several, \
that of the first.";

const ACTIONS: [CancelAction; 2] = [CancelAction::Interrupt, CancelAction::Rollback];
const MEANINGS: [&str; 2] = [
    "Keep the steps that finished",
    "Delete the run and its checkpoints",
];

/// Cancels runs of a thread.
pub async fn run(
    context: &Context,
    site: &Site,
    server: &AgentServer,
    options: Options,
) -> Result<Exit, Failure> {
    let act = Act {
        context,
        site,
        sending: &options.sending,
        approval: Approval::Quiet(Some(options.yes)),
    };
    act.check_write()?;
    let call = Call {
        server,
        thread: &options.thread,
        action: options.action,
    };
    let mut targets = if options.all {
        call.active().await?
    } else {
        call.named(&options.runs).await?
    };
    let is_active = |target: &&CancelTarget| target.state == CancelState::Active;
    let active: Vec<&str> = targets
        .iter()
        .filter(is_active)
        .map(|target| target.run_id.as_str())
        .collect();
    if !active.is_empty() && !act.confirm(&call.preview(&active)?).await? {
        return Ok(Exit::Done);
    }
    server
        .cancel_runs(call.thread, &mut targets, call.action)
        .await;
    if options.wait {
        server
            .wait_until_stopped(call.thread, &mut targets, options.timeout)
            .await;
    }
    report(context, &call, &targets, &options)
}

/// Parameters of all requests.
struct Call<'a> {
    server: &'a AgentServer,
    thread: &'a str,
    action: CancelAction,
}

impl Call<'_> {
    /// All active runs, the newest first: a queued run must not start because the one before it was cancelled.
    async fn active(&self) -> Result<Vec<CancelTarget>, ApiError> {
        let runs = self.server.active_runs(self.thread).await?;
        Ok(runs
            .into_iter()
            .map(|run| CancelTarget::new(&run.run_id, Some(&run)))
            .collect())
    }

    async fn named(&self, ids: &[String]) -> Result<Vec<CancelTarget>, ApiError> {
        let mut targets: Vec<CancelTarget> = Vec::new();
        for id in ids {
            if targets.iter().any(|target| target.run_id == *id) {
                continue;
            }
            targets.push(match self.server.run(self.thread, id).await {
                Ok(run) => CancelTarget::new(id, Some(&run)),
                // 422: the id is not a UUID.
                Err(error) => match self.server.or_not_offered(error).await {
                    error if matches!(error.kind, Kind::NotFound | Kind::Invalid(_)) => {
                        CancelTarget::new(id, None)
                    }
                    error => return Err(error),
                },
            });
        }
        Ok(targets)
    }

    fn preview(&self, runs: &[&str]) -> Result<Preview, ApiError> {
        let request = |run: &&str| self.server.cancel_request(self.thread, run, self.action);
        let requests = runs.iter().map(request).collect::<Result<_, _>>()?;
        let (title, thread) = (self.question(runs), Some(self.thread));
        Ok(self.server.preview_of(title, thread, requests, Vec::new()))
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
}

fn report(
    context: &Context,
    call: &Call<'_>,
    targets: &[CancelTarget],
    options: &Options,
) -> Result<Exit, Failure> {
    let row = |target: &CancelTarget| {
        json!({
            "thread_id": options.thread, "run_id": target.run_id, "action": call.action.word(),
            "status": target.state.word(), "run_status": target.run_status,
        })
    };
    let rows: Vec<Value> = targets.iter().map(row).collect();
    let columns = [
        field_column("RUN", "/run_id"),
        status_column("STATUS", color::of_run, |row| cell(&row["status"])),
        status_column("RUN STATUS", color::of_run, |row| cell(&row["run_status"])),
    ];
    options.sending.output.rows(&rows, &columns)?;
    let thread = text::clean(call.thread);
    if targets.is_empty() {
        complain(format!(
            "thread {thread} has no active runs; nothing was sent"
        ));
    }
    let mut exit = Exit::Done;
    for target in targets {
        let run = text::clean(&target.run_id);
        let error = target
            .error
            .as_ref()
            .map(|error| format!(": {error}"))
            .unwrap_or_default();
        let (code, line) = match target.state {
            CancelState::Stopped => continue,
            CancelState::Finished => {
                let how =
                    text::clean(target.run_status.as_deref().unwrap_or_default()).into_owned();
                let what = if target.was_active {
                    "ended before it was cancelled"
                } else {
                    "had already ended"
                };
                (Exit::Done, format!("run {run} {what} ({how})"))
            }
            CancelState::Stopping if options.wait => {
                let waited = text::duration(options.timeout);
                (
                    Exit::Deadline,
                    format!("run {run} has not stopped after {waited}{error}"),
                )
            }
            CancelState::Stopping => (Exit::Done, format!("run {run} is stopping{error}")),
            CancelState::NotFound => (
                Exit::Failed,
                format!("run {run} of thread {thread} was not found"),
            ),
            CancelState::Unknown => {
                let options = context.globals.where_to();
                let ids = format!("{} {}", shell_word(&thread), shell_word(&run));
                let check = format!("`runtail{options} runs get {ids}` shows its status");
                let what = format!("it is unknown whether run {run} was cancelled: {check}{error}");
                (Exit::Network, what)
            }
            CancelState::Active | CancelState::Failed => {
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
