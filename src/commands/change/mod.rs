//! Shared by all commands that change something: plan, preview, confirm, send once.

pub(crate) mod acting;
mod deployments;
pub(crate) mod fields;
pub(crate) mod preview;
pub(crate) mod resources;
mod revisions;
pub(crate) mod threads;

pub use deployments::{Create, Delete, Update};
pub use revisions::{Redeploy, Rollback, Stop};

use crate::commands::wait::{self, Timing};
use crate::consent;
use crate::consent::Yes;
use crate::context::{Context, Site};
use crate::exit::{Exit, Failure};
use crate::output::{Output, complain, placed};
use crate::signals::Signals;
use clap::Args;
use runtail_api::{Applied, ControlPlane, PlanError};
use runtail_core::model::{Consent, Intent, NewRevision, Plan, Preview, Secrets};
use runtail_core::text;
use serde_json::Value;

/// Options of every change.
#[derive(Debug, Clone, Args)]
pub struct Sending {
    /// Preview the request, the changes and their consequences; send nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: Output,
}

/// The option of deletions.
#[derive(Debug, Clone, Default, Args)]
pub struct Confirm {
    /// The exact name of what is deleted (--dry-run shows it); required without a terminal
    #[arg(long, value_name = "NAME")]
    pub confirm: Option<String>,
}

/// How a change is confirmed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Approval<'a> {
    /// No confirmation: the change is not destructive.
    NotNeeded,
    /// `--yes`, or a yes on the terminal.
    Yes(Yes),
    /// `--confirm NAME`, or the name typed on the terminal.
    Name(Option<&'a str>),
}

/// Options of changes that create a revision.
#[derive(Debug, Clone, Args)]
pub struct Waiting {
    /// Wait for the revision that this change creates; output and exit codes as for `revisions wait`
    #[arg(long, conflicts_with = "dry_run")]
    pub wait: bool,
    #[command(flatten)]
    pub timing: Timing,
}

/// An applied change.
pub(crate) struct Done {
    /// What was planned.
    pub plan: Plan,
    /// The result.
    pub made: Applied,
}

impl Done {
    /// The resulting record. Secrets that were sent may also occur outside of its list of secrets.
    fn record(&self, site: &Site) -> Value {
        let mut record = self.made.record.clone();
        let known: Vec<&Value> = [&self.plan.body, &self.plan.before]
            .into_iter()
            .flatten()
            .chain([&record])
            .collect();
        Secrets::of_records(&known).mask(&mut record);
        placed(&site.profile, record)
    }
}

/// Returns the control plane of a site.
pub(crate) fn control(site: &Site) -> Result<&ControlPlane, Failure> {
    let without = || {
        Failure::usage(format!(
            "the profile \"{}\" has no control plane",
            site.profile.name
        ))
    };
    site.control.as_ref().ok_or_else(without)
}

/// Plans a change, previews it on stderr, and applies it. Returns nothing for a dry run or if there is nothing to do.
///
/// # Errors
/// A read-only profile is an error before any request; see [`PlanError`] and [`ControlPlane::apply`] for the rest.
pub(crate) async fn make(
    context: &Context,
    site: &Site,
    intent: &Intent,
    sending: &Sending,
    approval: Approval<'_>,
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
    approve(&plan.preview, approval).await?;
    let made = control.apply(&plan).await?;
    complain(&format!("done: {}", plan.preview.title));
    if let Some(complaint) = made.complaint() {
        complain(&format!("warning: {complaint}"));
    }
    if let Some(doubt) = &made.doubt {
        complain(&format!(
            "warning: the resulting revision is uncertain: {doubt}"
        ));
    }
    Ok(Some(Done { plan, made }))
}

/// Previews a change on stderr and asks for confirmation.
async fn approve(preview: &Preview, approval: Approval<'_>) -> Result<(), Failure> {
    let title = &preview.title;
    let given = match approval {
        Approval::Name(given) => given,
        Approval::NotNeeded | Approval::Yes(_) => None,
    };
    match (&preview.consent, given) {
        (Consent::Name(name), Some(given)) if given != name => {
            let name = text::clean(name);
            let why = "--confirm doesn't match the name; nothing was sent";
            return Err(Failure::usage(format!(
                "{title}: {why}\n  add --confirm '{name}'"
            )));
        }
        (Consent::Name(name), None) if !consent::is_interactive() => {
            let name = text::clean(name);
            let why = "not confirmed; nothing was sent";
            return Err(Failure::usage(format!(
                "{title}: {why}\n  add --confirm '{name}'"
            )));
        }
        _ => preview::tell(preview),
    }
    match (&preview.consent, approval) {
        (Consent::Name(name), _) if given.is_none() => consent::name(name).await,
        (Consent::Key, Approval::Yes(yes)) => consent::yes(title, yes).await,
        _ => Ok(()),
    }
}

/// Plans, applies and prints a change that creates no revision: the resulting record, if the server returns one.
pub(crate) async fn make_and_print(
    context: &Context,
    site: &Site,
    intent: &Intent,
    sending: &Sending,
    approval: Approval<'_>,
) -> Result<Exit, Failure> {
    match make(context, site, intent, sending, approval).await? {
        Some(done) if !done.made.record.is_null() => {
            sending.output.one(&done.record(site))?;
        }
        _ => {}
    }
    Ok(Exit::Done)
}

/// The same for a change that may create a revision: prints the resulting deployment, or waits for the revision.
pub(crate) async fn make_and_wait(
    context: &Context,
    site: &Site,
    intent: &Intent,
    sending: &Sending,
    (waiting, approval): (Waiting, Approval<'_>),
) -> Result<Exit, Failure> {
    if !waiting.wait {
        return make_and_print(context, site, intent, sending, approval).await;
    }
    let signals = Signals::listen();
    let made = signals
        .unless_stopped(make(context, site, intent, sending, approval))
        .await?;
    let Some(done) = made else {
        return Ok(Exit::Done);
    };
    let Done { plan, made } = &done;
    let deployment = made.record["id"].as_str().or(plan
        .before
        .as_ref()
        .and_then(|before| before["id"].as_str()));
    match (deployment, &made.revision) {
        (Some(deployment), Some(revision)) => {
            let ids = [deployment, revision.as_str()];
            wait::for_made(
                context,
                &signals,
                site,
                ids,
                waiting.timing,
                sending.output.clone(),
            )
            .await
        }
        _ if matches!(plan.preview.revision, NewRevision::Yes(_)) => Err(Failure::not_found(
            "the change was made, but the resulting revision is unknown, so there is nothing to wait for",
        )),
        _ => {
            complain("this created no revision; nothing to wait for");
            sending.output.one(&done.record(site))?;
            Ok(Exit::Done)
        }
    }
}

/// Returns the message if there is no plan.
pub(crate) fn unplanned(error: PlanError) -> Failure {
    match error {
        PlanError::Asked(error) => error.into(),
        PlanError::Wrong(reasons) => Failure::usage(match reasons.as_slice() {
            [one] => format!("nothing was sent: {one}"),
            several => format!(
                "nothing was sent, for {} reasons:\n  {}",
                several.len(),
                several.join("\n  ")
            ),
        }),
        PlanError::Unfit(why) | PlanError::NeedsNode(why, _) | PlanError::Nothing(why) => {
            Failure::new(Exit::Failed, format!("nothing was sent: {why}"))
        }
    }
}

/// Returns the row of something that the server doesn't return as a record: its id and status.
fn row_of(plan: &Plan, status: Option<String>) -> Value {
    let target = plan.preview.target.as_ref();
    serde_json::json!({
        "id": target.map(|target| &target.id), "name": target.map(|target| &target.name), "status": status,
    })
}
