//! One way for every command that changes something: plan it, show what would be sent, and send it once.

mod deployments;
mod fields;
mod preview;
mod revisions;

pub use deployments::{Create, Delete, Update};
pub use revisions::{Redeploy, Rollback, Stop};

use super::output::{complain, placed};
use super::signals::Signals;
use super::wait::{self, Timing};
use super::{Context, Exit, Failure, Output, Site};
use crate::api::{ControlPlane, Made, PlanError};
use crate::model::{Consent, Intent, NewRevision, Plan, Secrets};
use crate::text;
use clap::Args;
use serde_json::Value;

/// What every change can be asked for.
#[derive(Debug, Clone, Args)]
pub struct Sending {
    /// Show exactly what would be sent, what it changes and what that does; send nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: Output,
}

/// The option of changes that take something away.
#[derive(Debug, Clone, Default, Args)]
pub struct Confirm {
    /// The exact name of what goes, without which nothing is sent; --dry-run shows it
    #[arg(long, value_name = "NAME")]
    pub confirm: Option<String>,
}

/// What can be asked for where a change makes a revision.
#[derive(Debug, Clone, Args)]
pub struct Waiting {
    /// Wait for the revision that this very change makes; prints and exits as `revisions wait` does
    #[arg(long, conflicts_with = "dry_run")]
    pub wait: bool,
    #[command(flatten)]
    pub timing: Timing,
}

/// A change that was made.
pub(super) struct Done {
    /// What was planned.
    pub plan: Plan,
    /// What came of it.
    pub made: Made,
}

impl Done {
    /// The record as it is then, to print. What was sent is not always listed among its secrets, and may stand elsewhere in it.
    fn record(&self, site: &Site) -> Value {
        let mut record = self.made.record.clone();
        let known: Vec<&Value> = [&self.plan.body, &self.plan.before].into_iter().flatten().chain([&record]).collect();
        Secrets::of_records(&known).mask(&mut record);
        placed(&site.profile, record)
    }
}

/// The control plane of a site.
pub(super) fn control(site: &Site) -> Result<&ControlPlane, Failure> {
    let without = || Failure::usage(format!("the profile \"{}\" has no control plane", site.profile.name));
    site.control.as_ref().ok_or_else(without)
}

/// Plans a change, shows it on stderr, and makes it. Nothing where it was only to be shown, or where there is nothing to do:
/// then all is said. `confirm` is the name that the person gave where a change wants one.
///
/// # Errors
/// Where nothing may be written nothing is even asked; see [`PlanError`] and [`ControlPlane::carry_out`] for the rest.
pub(super) async fn make(
    context: &Context,
    site: &Site,
    intent: &Intent,
    sending: &Sending,
    confirm: Option<&str>,
) -> Result<Option<Done>, Failure> {
    if !sending.dry_run {
        context.check_write(&site.profile)?;
    }
    let control = control(site)?;
    let plan = match control.plan(intent).await {
        Ok(plan) => plan,
        Err(PlanError::Nothing(why)) => {
            complain(&format!("nothing to do: {why}"));
            return Ok(None);
        }
        Err(error) => return Err(unplanned(error)),
    };
    if sending.dry_run {
        preview::print(&plan.preview, &sending.output)?;
        return Ok(None);
    }
    if let Consent::Name(name) = &plan.preview.consent
        && !confirm.is_some_and(|typed| plan.preview.consent.is_given(typed))
    {
        let why = if confirm.is_some() { "--confirm names something else" } else { "it has to be confirmed" };
        let (title, name) = (&plan.preview.title, text::clean(name));
        return Err(Failure::usage(format!("{title}: {why}, and nothing was sent\n  give --confirm '{name}'")));
    }
    preview::tell(&plan.preview);
    let made = control.carry_out(&plan).await?;
    complain(&format!("done: {}", plan.preview.title));
    if let Some(complaint) = made.complaint() {
        complain(&format!("warning: {complaint}"));
    }
    if let Some(doubt) = &made.doubt {
        complain(&format!("warning: which revision came of it is not sure: {doubt}"));
    }
    Ok(Some(Done { plan, made }))
}

/// Plans, makes and prints a change that makes no revision: the record as it is then, where the server answers one.
pub(super) async fn make_and_print(
    context: &Context,
    site: &Site,
    intent: &Intent,
    sending: &Sending,
    confirm: Option<&str>,
) -> Result<Exit, Failure> {
    match make(context, site, intent, sending, confirm).await? {
        Some(done) if !done.made.record.is_null() => {
            sending.output.one(&done.record(site))?;
        }
        _ => {}
    }
    Ok(Exit::Done)
}

/// The same for a change that may make a revision of a deployment: prints the deployment as it is then, or waits for the
/// revision.
pub(super) async fn make_and_wait(
    context: &Context,
    site: &Site,
    intent: &Intent,
    sending: &Sending,
    waiting: Waiting,
) -> Result<Exit, Failure> {
    if !waiting.wait {
        return make_and_print(context, site, intent, sending, None).await;
    }
    let signals = Signals::listen();
    let made = signals.unless_stopped(make(context, site, intent, sending, None)).await?;
    let Some(done) = made else { return Ok(Exit::Done) };
    let Done { plan, made } = &done;
    let deployment = made.record["id"].as_str().or(plan.before.as_ref().and_then(|before| before["id"].as_str()));
    match (deployment, &made.revision) {
        (Some(deployment), Some(revision)) => {
            let ids = [deployment, revision.as_str()];
            wait::for_made(context, &signals, site, ids, waiting.timing, sending.output.clone()).await
        }
        _ if matches!(plan.preview.revision, NewRevision::Yes(_)) => Err(Failure::not_found(
            "the change was made, but the server does not say which revision came of it: there is none to wait for",
        )),
        _ => {
            complain("this made no revision: there is nothing to wait for");
            sending.output.one(&done.record(site))?;
            Ok(Exit::Done)
        }
    }
}

/// What a person reads where there is no plan.
fn unplanned(error: PlanError) -> Failure {
    match error {
        PlanError::Asked(error) => error.into(),
        PlanError::Wrong(reasons) => Failure::usage(match reasons.as_slice() {
            [one] => format!("nothing was sent: {one}"),
            several => format!("nothing was sent, for {} reasons:\n  {}", several.len(), several.join("\n  ")),
        }),
        PlanError::Unfit(why) | PlanError::Nothing(why) => {
            Failure::new(Exit::Failed, format!("nothing was sent: {why}"))
        }
    }
}

/// The row of a thing that is not answered with a record: who it is, and how it is now.
fn row_of(plan: &Plan, status: Option<String>) -> Value {
    let target = plan.preview.target.as_ref();
    serde_json::json!({
        "id": target.map(|target| &target.id), "name": target.map(|target| &target.name), "status": status,
    })
}
