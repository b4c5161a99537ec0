//! Actions on a thread: sent once, and the run that they start is followed.

use super::{Act, Approval, Sending};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::globals::Globals;
use crate::output::stream::{self, Playing, StreamOutput};
use crate::output::{complain, placed};
use crate::resolve;
use crate::signals::Signals;
use runtail_api::{
    Acted, AgentServer, Plan, Retry, StartError, StartFailure, Started, ThreadIntent, WriteKind,
};
use runtail_core::model::shell_word;
use runtail_stream::{End, Head, JoinTransport, SourceOptions};
use serde_json::{Value, json};

/// The id before a run's first event.
const START: &str = "-1";

/// Applies an action on a thread and prints the result: the run that it started, or the checkpoint that it made.
///
/// # Errors
/// A read-only profile is an error before any request; see [`StartFailure`] for the rest.
pub(crate) async fn on_thread(
    globals: &Globals,
    intent: ThreadIntent,
    sending: &Sending,
    wait: bool,
) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let signals = wait.then(Signals::listen);
    let work = async {
        let (site, server) = resolve::agent_server(&context).await?;
        let act = Act {
            context: &context,
            site: &site,
            sending,
            approval: Approval::NotNeeded,
        };
        act.check_write()?;
        let plan = server.plan_on_thread(&intent).await?;
        if !act.confirm(&plan.preview).await? {
            return Ok(None);
        }
        let row = act.send(&intent, &plan).await?;
        Ok(Some((site, server, row)))
    };
    let Some((site, server, mut row)) = Signals::guard(signals.as_ref(), work).await? else {
        return Ok(Exit::Done);
    };
    let exit = match (&signals, row["run_id"].as_str().map(str::to_string)) {
        (Some(signals), Some(run)) => {
            let (exit, end) = follow(&context, signals, &server, intent.thread(), &run).await;
            let outcome = end.as_ref().map_or("unknown", |end| end.outcome.as_str());
            row["outcome"] = outcome.into();
            if let Some(detail) = end.and_then(|end| end.detail) {
                row["detail"] = detail.into();
            }
            exit
        }
        _ => Ok(Exit::Done),
    };
    sending.output.one(&placed(&site.profile, row))?;
    exit
}

impl Act<'_> {
    /// Sends a planned action on a thread and reports it. Returns the row of the result.
    pub async fn send(&self, intent: &ThreadIntent, plan: &Plan) -> Result<Value, Failure> {
        let acted = plan.apply().await;
        let acted = acted.map_err(|failed| self.not_sent(failed, intent.thread(), plan))?;
        let (started, _) = made(&acted);
        if started.is_some_and(|started| started.was_found) {
            complain("warning: the server's reply was lost or an error, but the run was started");
        }
        if let Acted::Written(written) = &acted
            && written.kind == WriteKind::Release
            && written.status.as_deref() == Some("busy")
        {
            complain(
                "warning: the server accepted the update, but the thread is still busy; a new run releases it",
            );
        }
        let word = if started.is_some() { "started" } else { "done" };
        complain(format!("{word}: {}", plan.preview.title));
        Ok(row(intent, plan, &acted))
    }

    fn not_sent(&self, failed: StartError, thread: &str, plan: &Plan) -> Failure {
        let options = self.context.globals.where_to();
        if plan.run().is_some() && plan.preview.then.is_empty() {
            return not_started(failed, &options, thread);
        }
        let thread = shell_word(thread);
        let check = match plan.is_label() {
            true => format!("`runtail{options} threads get {thread}` shows it"),
            false => format!(
                "`runtail{options} runs list {thread}` and `runtail{options} threads history {thread}` show it"
            ),
        };
        not_done(failed, "it was done", &check)
    }
}

/// Returns the run that was started, and the checkpoint that was made.
pub(crate) fn made(acted: &Acted) -> (Option<&Started>, Option<&str>) {
    match acted {
        Acted::Started(started) => (Some(started), None),
        Acted::Forked {
            checkpoint,
            started,
        } => (Some(started), Some(checkpoint)),
        Acted::Written(written) => (None, written.checkpoint.as_deref()),
        _ => (None, None),
    }
}

fn row(intent: &ThreadIntent, plan: &Plan, acted: &Acted) -> Value {
    let mut row = json!({"thread_id": intent.thread()});
    let (started, checkpoint) = made(acted);
    let run = plan.run();
    if let Some(started) = started {
        row["run_id"] = started.run_id.as_str().into();
    }
    if let ThreadIntent::Answer { .. } = intent {
        let ids = plan
            .asked()
            .iter()
            .filter_map(|question| question.id.as_deref());
        let mut ids: Vec<&str> = ids.collect();
        // Questions may share an id.
        ids.dedup();
        row["interrupt_id"] = json!(if ids.len() == 1 { ids.first() } else { None });
        row["interrupt_ids"] = json!(ids);
    }
    if let (Some(run), Some(_)) = (run, started) {
        row["assistant_id"] = run.assistant_id.as_str().into();
    }
    if let Acted::Written(written) = acted {
        row["status"] = json!(written.status);
    }
    match intent {
        ThreadIntent::Label { label, .. } => {
            row["name"] = json!(label.name);
            row["starred"] = json!(label.starred);
        }
        ThreadIntent::Rerun { run, .. } => row["rerun_of"] = run.as_str().into(),
        ThreadIntent::Answer { .. } => {}
        _ => {
            let extra = run.map(|run| &run.extra);
            let planned = extra.and_then(|extra| {
                let nested = || extra.get("checkpoint")?.get("checkpoint_id");
                extra.get("checkpoint_id").or_else(nested)
            });
            let made = checkpoint.map(Value::from);
            row["checkpoint_id"] = made.or(planned.cloned()).unwrap_or_default();
        }
    }
    row
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
        runs_before_answer: None,
    };
    stream::wait(playing, transport, source).await
}

/// Returns the failure of a run that was not started, or may not have been started. `options` select the server in a command.
pub(crate) fn not_started(failed: StartError, options: &str, thread: &str) -> Failure {
    let thread = shell_word(thread);
    let check = format!("`runtail{options} runs list {thread}` shows it");
    not_done(failed, "the run was started", &check)
}

/// Returns the failure of a change that was not made, or may not have been made. `what` is then what may have been done, and `check`
/// how to find out.
pub(crate) fn not_done(failed: StartError, what: &str, check: &str) -> Failure {
    let StartError { failure, error } = failed;
    let exit = match failure {
        unknown if unknown.is_unknown() => Exit::Network,
        StartFailure::AfterEdit => Exit::Failed,
        _ => Exit::of(&error),
    };
    let message = match (failure, error.status()) {
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
    Failure::new(exit, format!("{message}\n  {error}"))
}
