//! Shared by the commands that start a run on a thread: plan, preview, check again, send once, and follow the run.

use super::{Sending, preview, unplanned};
use crate::context::{Context, Site};
use crate::exit::{Exit, Failure};
use crate::output::complain;
use crate::output::stream::{self, Playing, StreamOutput};
use crate::signals::Signals;
use runtail_api::{
    Acted, AgentServer, PlanError, Retry, StartError, StartFailure, Started, ThreadIntent,
    ThreadPlan,
};
use runtail_core::model::shell_word;
use runtail_stream::{End, Head, JoinTransport, SourceOptions};

/// The id before a run's first event.
const START: &str = "-1";

/// A run that a command started.
pub(crate) struct StartedRun {
    /// What was planned.
    pub plan: ThreadPlan,
    pub run_id: String,
}

/// Plans an action that starts a run, previews it on stderr and sends it. Returns nothing for a dry run.
///
/// # Errors
/// A read-only profile is an error before any request; see [`PlanError`] and [`StartFailure`] for the rest.
pub(crate) async fn start(
    context: &Context,
    site: &Site,
    server: &AgentServer,
    intent: &ThreadIntent,
    sending: &Sending,
) -> Result<Option<StartedRun>, Failure> {
    if !sending.dry_run {
        context.check_write(&site.profile)?;
    }
    let plan = server.plan_on_thread(intent).await.map_err(unplanned_run)?;
    if sending.dry_run {
        preview::print(&plan.preview, &sending.output)?;
        return Ok(None);
    }
    preview::tell(&plan.preview);
    match server.act_on_thread(&plan).await {
        Ok(Acted::Started(Started { run_id, was_found })) => {
            if was_found {
                complain(
                    "warning: the server's reply was lost or an error, but the run was started",
                );
            }
            complain(&format!("started: {}", plan.preview.title));
            Ok(Some(StartedRun { plan, run_id }))
        }
        Ok(_) => Err(Failure::new(Exit::Failed, "this action starts no run")),
        Err(failed) => Err(not_started(
            failed,
            &context.globals.where_to(),
            intent.thread(),
        )),
    }
}

/// Follows a run to its end, without printing its events. Returns the exit code as `run` does, and how the run ended.
pub(crate) async fn follow(
    context: &Context,
    signals: &Signals,
    server: &AgentServer,
    thread: &str,
    run: &str,
) -> (Result<Exit, Failure>, Option<End>) {
    let head = Head {
        server: server.base().to_string(),
        thread_id: Some(thread.into()),
        run_id: Some(run.into()),
        ..Head::default()
    };
    let source = SourceOptions {
        first_after: Some(START.into()),
        ..stream::source(context, signals, head)
    };
    let server = server.clone().retrying(Retry::NONE);
    // The run was started here, so no application is waiting for its events.
    let transport =
        JoinTransport::new(server.clone(), thread.into(), run.into(), Vec::new()).shared(true);
    let output = StreamOutput::default();
    let playing = Playing {
        context,
        server,
        assistant: None,
        output: &output,
        signals,
    };
    stream::wait(playing, transport, source).await
}

pub(crate) fn unplanned_run(error: PlanError) -> Failure {
    match error {
        PlanError::Unfit(why) | PlanError::NeedsNode(why, _) | PlanError::Nothing(why) => {
            Failure::new(Exit::Failed, format!("nothing was sent\n  {why}"))
        }
        other => unplanned(other),
    }
}

/// Returns the message for a run that was not started, or is not known to be. `options` select the server in a command.
pub(crate) fn not_started(failed: StartError, options: &str, thread: &str) -> Failure {
    let thread = shell_word(thread);
    let check = format!("`runtail{options} runs list {thread}` shows it");
    not_done(failed, "the run was started", &check)
}

/// Returns the failure of a change that was not made, or of which that is unknown: `what` says then what may have been done, and
/// `check` how to find out.
pub(crate) fn not_done(failed: StartError, what: &str, check: &str) -> Failure {
    let StartError { failure, error } = failed;
    let exit = match failure {
        unknown if unknown.is_unknown() => Exit::Network,
        StartFailure::AfterEdit => Exit::Failed,
        _ => Exit::of(&error),
    };
    let said = match (failure, error.status()) {
        (StartFailure::Unknown, Some(status)) => {
            format!("The server failed ({status}). It is unknown whether {what}: {check}.")
        }
        (StartFailure::Unknown, None) => {
            format!("The server's reply was lost. It is unknown whether {what}: {check}.")
        }
        (unknown, _) if unknown.is_unknown() => {
            format!("{}: {check}.", unknown.sentence().trim_end_matches('.'))
        }
        (known, _) => known.sentence().to_string(),
    };
    Failure::new(exit, format!("{said}\n  {error}"))
}
