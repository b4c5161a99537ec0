//! Shared by the commands that fork, edit or rerun a thread: plan, preview, check again, send once, follow the run.

use super::threads::{self, unplanned_run};
use super::{Sending, preview};
use crate::consent;
use crate::consent::Yes;
use crate::context::{Context, Site};
use crate::exit::{Exit, Failure};
use crate::globals::Globals;
use crate::output::{complain, placed};
use crate::resolve;
use crate::signals::Signals;
use runtail_api::{Acted, AgentServer, Started, StateEdit, ThreadIntent, ThreadPlan, WriteKind};
use runtail_core::text;
use serde_json::{Value, json};

/// What a command did, and its plan.
struct ActionResult {
    plan: ThreadPlan,
    acted: Acted,
}

/// Plans an edit of a state, asks for confirmation and makes it. `check` sees the plan first, because the thread may have changed
/// since the values were read.
///
/// # Errors
/// As for [`run`].
pub(crate) async fn edit_state(
    context: &Context,
    (site, server): (&Site, &AgentServer),
    edit: (String, StateEdit),
    (sending, yes): (&Sending, Yes),
    check: impl FnOnce(&ThreadPlan) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let (thread, edit) = edit;
    let intent = ThreadIntent::EditState { thread, edit };
    let Some(plan) = planned(context, site, server, &intent, sending).await? else {
        return Ok(Exit::Done);
    };
    check(&plan)?;
    consent::yes(&plan.preview.title, yes).await?;
    let ActionResult { plan, acted } = send(context, server, intent.thread(), plan).await?;
    sending
        .output
        .one(&placed(&site.profile, row(&intent, &plan, &acted)))?;
    Ok(Exit::Done)
}

/// Carries out an action on a thread and prints the result: the run that it started, or the checkpoint that it made.
///
/// # Errors
/// A read-only profile is an error before any request; see [`runtail_api::StartFailure`] for the rest.
pub(crate) async fn run(
    globals: &Globals,
    intent: ThreadIntent,
    sending: &Sending,
    wait: bool,
) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let signals = wait.then(Signals::listen);
    let work = async {
        let (site, server) = resolve::agent_server(&context).await?;
        let sent = match planned(&context, &site, &server, &intent, sending).await? {
            Some(plan) => Some(send(&context, &server, intent.thread(), plan).await?),
            None => None,
        };
        Ok((site, server, sent))
    };
    let (site, server, sent) = match &signals {
        Some(signals) => signals.unless_stopped(work).await?,
        None => work.await?,
    };
    let Some(ActionResult { plan, acted }) = sent else {
        return Ok(Exit::Done);
    };
    let mut row = row(&intent, &plan, &acted);
    let exit = match (&signals, row["run_id"].as_str().map(str::to_string)) {
        (Some(signals), Some(run)) => {
            let (exit, end) =
                threads::follow(&context, signals, &server, intent.thread(), &run).await;
            row["outcome"] = end
                .as_ref()
                .map_or("unknown", |end| end.outcome.as_str())
                .into();
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

/// Plans an action and previews it on stderr. Returns nothing for a dry run.
async fn planned(
    context: &Context,
    site: &Site,
    server: &AgentServer,
    intent: &ThreadIntent,
    sending: &Sending,
) -> Result<Option<ThreadPlan>, Failure> {
    if !sending.dry_run {
        context.check_write(&site.profile)?;
    }
    let plan = server.plan_on_thread(intent).await.map_err(unplanned_run)?;
    if sending.dry_run {
        preview::print(&plan.preview, &sending.output)?;
        return Ok(None);
    }
    preview::tell(&plan.preview);
    Ok(Some(plan))
}

/// Sends what was planned.
async fn send(
    context: &Context,
    server: &AgentServer,
    thread: &str,
    plan: ThreadPlan,
) -> Result<ActionResult, Failure> {
    match server.act_on_thread(&plan).await {
        Ok(acted) => {
            if let Acted::Started(Started {
                was_found: true, ..
            })
            | Acted::Forked {
                started: Started {
                    was_found: true, ..
                },
                ..
            } = &acted
            {
                complain("warning: the server's reply was lost, but the run was started");
            }
            if let Acted::Written(written) = &acted
                && written.kind == WriteKind::Release
                && written.status.as_deref() == Some("busy")
            {
                complain(
                    "warning: the server accepted the update, but the thread is still busy; a new run releases it",
                );
            }
            let is_started = matches!(acted, Acted::Started(_) | Acted::Forked { .. });
            complain(&format!(
                "{}: {}",
                if is_started { "started" } else { "done" },
                plan.preview.title
            ));
            Ok(ActionResult { plan, acted })
        }
        Err(failed) => {
            let (options, thread) = (context.globals.where_to(), text::clean(thread));
            let check = match plan.is_label() {
                true => format!("`runtail{options} threads get {thread}` shows it"),
                false => format!(
                    "`runtail{options} runs list {thread}` and `runtail{options} threads history {thread}` show it"
                ),
            };
            Err(threads::not_done(failed, "it was done", &check))
        }
    }
}

fn row(intent: &ThreadIntent, plan: &ThreadPlan, acted: &Acted) -> Value {
    let mut row = json!({"thread_id": intent.thread()});
    let extra = plan
        .run_start()
        .map(|start| (&start.body.assistant_id, &start.body.extra));
    let planned = extra.and_then(|(_, extra)| {
        extra
            .get("checkpoint_id")
            .or_else(|| extra.get("checkpoint")?.get("checkpoint_id"))
            .cloned()
    });
    let (run, checkpoint) = match acted {
        Acted::Started(started) => (Some(&started.run_id), planned),
        Acted::Forked {
            checkpoint,
            started,
        } => (Some(&started.run_id), Some(checkpoint.as_str().into())),
        Acted::Written(written) => {
            row["status"] = json!(written.status);
            (None, Some(json!(written.checkpoint)))
        }
        Acted::Cancelling(_) | Acted::Deleted | Acted::Labeled => (None, None),
    };
    if let Some(run) = run {
        row["run_id"] = run.as_str().into();
        row["assistant_id"] = json!(extra.map(|(assistant, _)| assistant));
    }
    match intent {
        ThreadIntent::Label { label, .. } => {
            row["name"] = json!(label.name);
            row["starred"] = json!(label.starred);
        }
        ThreadIntent::Rerun { run, .. } => row["rerun_of"] = run.as_str().into(),
        _ => row["checkpoint_id"] = checkpoint.unwrap_or_default(),
    }
    row
}
