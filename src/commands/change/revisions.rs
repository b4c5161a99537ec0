//! `revisions redeploy`, `rollback` and `interrupt`.

use crate::act::Waiting;
use crate::commands::collections::control_of;
use crate::prelude::*;
use crate::resolve::Found;
use runtail_core::model::Intent;

/// Options of `revisions redeploy`.
#[derive(Debug, Args)]
pub struct Redeploy {
    /// An id, a name, or PROFILE/NAME
    #[arg(value_name = "D")]
    deployment: String,
    /// The revision's id (default: the newest)
    #[arg(value_name = "R")]
    revision: Option<String>,
    #[command(flatten)]
    waiting: Waiting,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `revisions rollback`.
#[derive(Debug, Args)]
pub struct Rollback {
    /// An id, a name, or PROFILE/NAME
    #[arg(value_name = "D")]
    deployment: String,
    /// The id of the earlier revision
    #[arg(value_name = "R")]
    revision: String,
    /// Change the deployment's source to that of the revision, instead of deploying the revision again
    #[arg(long)]
    change_source: bool,
    #[command(flatten)]
    yes: Yes,
    #[command(flatten)]
    waiting: Waiting,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `revisions interrupt`.
#[derive(Debug, Args)]
pub struct Stop {
    /// An id, a name, or PROFILE/NAME
    #[arg(value_name = "D")]
    deployment: String,
    /// The revision's id (default: the newest)
    #[arg(value_name = "R")]
    revision: Option<String>,
    #[command(flatten)]
    yes: Yes,
    #[command(flatten)]
    sending: Sending,
}

impl Redeploy {
    /// Deploys a revision again.
    pub async fn run(self, context: &Context) -> Result<Exit, Failure> {
        let (found, revision) = meant(context, &self.deployment, self.revision).await?;
        let intent = Intent::Redeploy {
            deployment: found.id,
            revision,
        };
        let act = Act {
            context,
            site: &found.site,
            sending: &self.sending,
            approval: Approval::NotNeeded,
        };
        act.run_intent(&intent, Some(self.waiting)).await
    }
}

impl Rollback {
    /// Rolls back to the source of an earlier revision.
    pub async fn run(self, context: &Context) -> Result<Exit, Failure> {
        let (found, revision) = meant(context, &self.deployment, Some(self.revision)).await?;
        let intent = Intent::Rollback {
            deployment: found.id,
            revision,
            changes_source: self.change_source,
        };
        let act = Act {
            context,
            site: &found.site,
            sending: &self.sending,
            approval: Approval::Yes(self.yes),
        };
        act.run_intent(&intent, Some(self.waiting)).await
    }
}

impl Stop {
    /// Interrupts a revision that is in progress and prints the resulting revision.
    pub async fn run(self, context: &Context) -> Result<Exit, Failure> {
        let (found, revision) = meant(context, &self.deployment, self.revision).await?;
        let intent = Intent::Interrupt {
            deployment: found.id.clone(),
            revision: revision.clone(),
        };
        let act = Act {
            context,
            site: &found.site,
            sending: &self.sending,
            approval: Approval::Yes(self.yes),
        };
        if act.apply_intent(&intent).await?.is_some() {
            let row = control_of(&found.site)?
                .revision_row(&found.id, &revision)
                .await?;
            self.sending.output.one(&found.revision(row))?;
        }
        Ok(Exit::Done)
    }
}

/// Returns the deployment and the revision: the named one, else the newest.
async fn meant(
    context: &Context,
    deployment: &str,
    revision: Option<String>,
) -> Result<(Found, String), Failure> {
    let found = resolve::deployment(context, deployment).await?;
    if let Some(revision) = revision {
        return Ok((found, revision));
    }
    let newest = control_of(&found.site)?.newest_row(&found.row).await?;
    let id = newest
        .row
        .as_ref()
        .and_then(|row| row["id"].as_str())
        .map(str::to_string);
    let none = || Failure::failed(format!("{} has no revision", found.title()));
    let id = id.ok_or_else(none)?;
    Ok((found, id))
}
