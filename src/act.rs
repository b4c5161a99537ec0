//! How a command changes something: plan, preview (`--dry-run` stops there), confirm, check again, send once, and report.

mod preview;
mod thread;

pub(crate) use preview::{print_dry_run, print_preview};
pub(crate) use thread::{follow, made, not_done, not_started, on_thread};

use crate::commands::collections::control_of;
use crate::commands::wait::{self, Timing};
use crate::consent::{self, Yes};
use crate::context::{Context, Site};
use crate::exit::{Exit, Failure};
use crate::output::{ResultOutput, complain, placed};
use crate::signals::Signals;
use clap::Args;
use runtail_api::{AgentServer, ApiError, Applied, Plan, PlanError, ResourceIntent};
use runtail_core::model::{Consent, Intent, NewRevision, Preview, shell_option};
use serde_json::Value;

/// Options of every change.
#[derive(Debug, Clone, Args)]
pub struct Sending {
    /// Preview the request, the changes and their consequences; send nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: ResultOutput,
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
    /// The preview is printed only for `--dry-run`, and confirmed with a yes if this is given.
    Quiet(Option<Yes>),
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

/// An applied change of a control plane.
pub(crate) struct Done {
    /// What was planned.
    pub plan: Plan,
    /// The result.
    pub made: Applied,
}

impl Done {
    /// The resulting record. Secrets that were sent may also occur outside of its list of secrets.
    fn record(&self) -> Value {
        let mut record = self.made.record.clone();
        self.plan.mask(&mut record);
        record
    }
}

/// Where a command changes something, and how that is confirmed and printed.
#[derive(Clone, Copy)]
pub(crate) struct Act<'a> {
    pub context: &'a Context,
    pub site: &'a Site,
    pub sending: &'a Sending,
    pub approval: Approval<'a>,
}

impl Act<'_> {
    /// Returns an error if a change is to be sent with a read-only profile. Called before any request.
    pub fn check_write(&self) -> Result<(), Failure> {
        match self.sending.dry_run {
            true => Ok(()),
            false => self.context.check_write(&self.site.profile),
        }
    }

    /// Plans a change, previews it and asks for confirmation. Returns nothing if nothing is to be sent.
    ///
    /// # Errors
    /// A read-only profile is an error before any request; see [`PlanError`] for the rest.
    pub async fn plan_and_confirm(
        &self,
        plan: impl Future<Output = Result<Plan, PlanError>>,
    ) -> Result<Option<Plan>, Failure> {
        self.check_write()?;
        match plan.await {
            Ok(plan) => Ok(self.confirm(&plan.preview).await?.then_some(plan)),
            Err(PlanError::Nothing(why)) => {
                complain(format!("nothing to do: {why}"));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Prints a preview and asks for confirmation. Returns whether the change is to be sent.
    pub async fn confirm(&self, preview: &Preview) -> Result<bool, Failure> {
        if self.sending.dry_run {
            print_dry_run(&[preview], &self.sending.output)?;
            return Ok(false);
        }
        let title = &preview.title;
        let given = match self.approval {
            Approval::Name(given) => given,
            _ => None,
        };
        if let Consent::Name(name) = &preview.consent {
            let why = match given {
                Some(given) if given != name => "--confirm doesn't match the name",
                None if !consent::is_interactive() => "not confirmed",
                _ => "",
            };
            if !why.is_empty() {
                let option = shell_option("--confirm", name);
                return Err(Failure::usage(format!(
                    "{title}: {why}; nothing was sent\n  add {option}"
                )));
            }
        }
        if !matches!(self.approval, Approval::Quiet(_)) {
            print_preview(preview);
        }
        match (&preview.consent, self.approval) {
            (Consent::Name(name), _) if given.is_none() => consent::name(name).await?,
            (_, Approval::Yes(yes) | Approval::Quiet(Some(yes))) => {
                consent::yes(title, yes).await?;
            }
            _ => {}
        }
        Ok(true)
    }

    /// Applies a change of a control plane. Returns nothing for a dry run or if there is nothing to do.
    ///
    /// # Errors
    /// As [`Act::plan_and_confirm`] and [`Plan::apply`].
    pub async fn apply_intent(&self, intent: &Intent) -> Result<Option<Done>, Failure> {
        let control = control_of(self.site)?;
        let plan = control.plan(intent);
        let Some(plan) = self.plan_and_confirm(plan).await? else {
            return Ok(None);
        };
        let made = plan.apply().await.map_err(ApiError::from)?.applied();
        let doubt = made.doubt.as_ref();
        let doubt = doubt.map(|doubt| format!("the resulting revision is uncertain: {doubt}"));
        report(
            &plan.preview,
            made.complaint.clone().into_iter().chain(doubt),
        );
        Ok(Some(Done { plan, made }))
    }

    /// Applies a change of a control plane and prints the resulting record, if there is one, or waits for the resulting revision.
    pub async fn run_intent(
        &self,
        intent: &Intent,
        waiting: Option<Waiting>,
    ) -> Result<Exit, Failure> {
        let waiting = waiting.filter(|waiting| waiting.wait);
        let signals = waiting.is_some().then(Signals::listen);
        let Some(done) = Signals::guard(signals.as_ref(), self.apply_intent(intent)).await? else {
            return Ok(Exit::Done);
        };
        let (Some(waiting), Some(signals)) = (waiting, signals) else {
            return self.print(done.record());
        };
        let Done { plan, made } = &done;
        let before = plan.before().map(|before| &before["id"]);
        let deployment = made.record["id"]
            .as_str()
            .or(before.and_then(Value::as_str));
        match (deployment, &made.revision) {
            (Some(deployment), Some(revision)) => {
                let (ids, output) = ([deployment, revision], self.sending.output.clone());
                wait::for_made(
                    self.context,
                    &signals,
                    self.site,
                    ids,
                    waiting.timing,
                    output,
                )
                .await
            }
            _ if matches!(plan.preview.revision, NewRevision::Yes(_)) => Err(Failure::failed(
                "the change was made, but the resulting revision is unknown, so there is nothing to wait for",
            )),
            _ => {
                complain("this created no revision; nothing to wait for");
                self.print(done.record())
            }
        }
    }

    /// Applies a change of an assistant, a cron or the store, and prints the resulting record, if there is one.
    ///
    /// # Errors
    /// As [`Act::plan_and_confirm`] and [`Plan::apply`].
    pub async fn run_resource_intent(
        &self,
        server: &AgentServer,
        intent: &ResourceIntent,
    ) -> Result<Exit, Failure> {
        let plan = server.plan_resource(intent);
        let Some(plan) = self.plan_and_confirm(plan).await? else {
            return Ok(Exit::Done);
        };
        let made = plan.apply().await.map_err(ApiError::from)?.applied();
        report(&plan.preview, made.complaint);
        self.print(made.record)
    }

    /// Prints a record, if there is one.
    pub fn print(&self, record: Value) -> Result<Exit, Failure> {
        if !record.is_null() {
            let record = placed(&self.site.profile, record);
            self.sending.output.one(&record)?;
        }
        Ok(Exit::Done)
    }
}

/// Reports that a change was made, with warnings.
pub(crate) fn report(preview: &Preview, warnings: impl IntoIterator<Item = String>) {
    complain(format!("done: {}", preview.title));
    for warning in warnings {
        complain(format!("warning: {warning}"));
    }
}

/// Why there is no plan.
impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Failure {
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
                // A sentence has a line of its own.
                let gap = match why.starts_with(char::is_uppercase) {
                    true => "\n  ",
                    false => ": ",
                };
                Failure::new(Exit::Failed, format!("nothing was sent{gap}{why}"))
            }
        }
    }
}
