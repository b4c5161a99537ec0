//! `deployments create`, `update` and `delete`.

use super::fields::{Fields, document};
use crate::act::{Confirm, Done, Waiting};
use crate::commands::collections::{control_of, only_site};
use crate::commands::wait::{self, WaitSchedule};
use crate::prelude::*;
use crate::resolve::Found;
use runtail_core::model::{DeploymentSpec, Intent};

/// How often to check a deployment that is being deleted.
const LOOK: Duration = Duration::from_secs(5);

/// Options of `deployments create`.
#[derive(Debug, Args)]
#[command(after_long_help = DOCUMENT)]
pub struct Create {
    /// The deployment's settings: TOML or JSON, `-` for stdin
    #[arg(short, long, value_name = "FILE")]
    file: PathBuf,
    /// Its name (overrides the file)
    #[arg(long, value_name = "NAME", value_parser = filled)]
    name: Option<String>,
    #[command(flatten)]
    waiting: Waiting,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `deployments update`.
#[derive(Debug, Args)]
#[command(after_long_help = DOCUMENT)]
pub struct Update {
    /// An id, a name, or PROFILE/NAME
    #[arg(value_name = "D")]
    deployment: String,
    /// The settings to change: TOML or JSON, `-` for stdin
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    waiting: Waiting,
    #[command(flatten)]
    sending: Sending,
    #[command(flatten)]
    fields: Fields,
}

/// Options of `deployments delete`.
#[derive(Debug, Args)]
pub struct Delete {
    /// An id, a name, or PROFILE/NAME
    #[arg(value_name = "D")]
    deployment: String,
    #[command(flatten)]
    confirm: Confirm,
    /// Also delete its tracing project with all traces; only then can the name surely be used again
    #[arg(long)]
    delete_tracing_project: bool,
    /// Force the deletion of a deployment that is already being deleted
    #[arg(long)]
    force: bool,
    /// Wait until it is gone
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,
    /// When to give up waiting (default: from the configuration, else 30m)
    #[arg(long, value_parser = wait::duration)]
    timeout: Option<Duration>,
    /// Poll interval, with 10% jitter (default: 5s)
    #[arg(long, value_parser = wait::duration)]
    interval: Option<Duration>,
    #[command(flatten)]
    sending: Sending,
}

const DOCUMENT: &str = "\
The file uses the service's own field names: source_config, source_revision_config, …; assets/deployment.example.toml shows \
all of them. Secrets are given by reference (NAME = \"env:VARIABLE\" or \"file:PATH\"). JSON may also be in the service's \
own shape, with secrets as a list of {\"name\", \"value\"}; a value there may be the secret itself, which causes a warning \
and is masked everywhere.

An update sends only what changed. A source_revision_config is always sent as given and makes a new revision. The \
service replaces secrets as a whole, so the existing ones are sent again; secrets that are removed are listed.

Exit codes: 0 done, or nothing to do · 1 refused, gone, or changed since the preview · 2 the file or the options are invalid \
· 3 not allowed, or read-only · with --wait those of `revisions wait`.";

impl Create {
    /// Creates a deployment.
    pub async fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut spec = document(&self.file).await?;
        if let Some(name) = self.name {
            spec.set(["", "name"], name.into());
        }
        let (site, _) = only_site(context).await?;
        let intent = Intent::CreateDeployment(Box::new(spec));
        let act = Act {
            context,
            site: &site,
            sending: &self.sending,
            approval: Approval::NotNeeded,
        };
        act.run_intent(&intent, Some(self.waiting)).await
    }
}

impl Update {
    /// Changes a deployment.
    pub async fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut spec = match &self.file {
            Some(file) => document(file).await?,
            None => DeploymentSpec::default(),
        };
        self.fields.apply(&mut spec)?;
        if spec.is_empty() {
            return Err(Failure::usage(
                "nothing to change: use -f FILE or options (see --help)",
            ));
        }
        let Found { site, id, .. } = resolve::deployment(context, &self.deployment).await?;
        let intent = Intent::UpdateDeployment {
            id,
            spec: Box::new(spec),
        };
        let act = Act {
            context,
            site: &site,
            sending: &self.sending,
            approval: Approval::NotNeeded,
        };
        act.run_intent(&intent, Some(self.waiting)).await
    }
}

impl Delete {
    /// Deletes a deployment.
    pub async fn run(self, context: &Context) -> Result<Exit, Failure> {
        let Found { site, id, .. } = resolve::deployment(context, &self.deployment).await?;
        let Delete {
            delete_tracing_project,
            force,
            ..
        } = self;
        let intent = Intent::DeleteDeployment {
            id: id.clone(),
            delete_tracing_project,
            force,
        };
        let signals = self.wait.then(Signals::listen);
        let act = Act {
            context,
            site: &site,
            sending: &self.sending,
            approval: Approval::Name(self.confirm.confirm.as_deref()),
        };
        let done = Signals::guard(signals.as_ref(), act.apply_intent(&intent)).await?;
        let Some(Done { plan, .. }) = done else {
            return Ok(Exit::Done);
        };
        let target = plan.preview.target.as_ref();
        let name = target.map_or(id.as_str(), |target| target.name.as_str());
        let left = match &signals {
            None => control_of(&site)?.what_is_left(&id).await,
            Some(signals) => {
                let timeout = self.timeout.unwrap_or(context.config.poll.timeout);
                let patience = WaitSchedule::new(timeout, self.interval.unwrap_or(LOOK));
                signals
                    .unless_stopped(until_gone(&site, &id, name, &patience))
                    .await?;
                Ok(None)
            }
        };
        complain(&match &left {
            Ok(Some(status)) => format!("{name} is being deleted: {status}"),
            Ok(None) => format!("{name} is gone"),
            // The deletion itself succeeded.
            Err(error) => format!("warning: could not read the current status of {name}: {error}"),
        });
        act.print(json!({
            "id": target.map(|target| &target.id),
            "name": target.map(|target| &target.name),
            "status": left.unwrap_or_default(),
        }))
    }
}

/// Polls until the deployment is gone and prints its status when it changes. Retries temporary errors.
async fn until_gone(
    site: &Site,
    id: &str,
    name: &str,
    patience: &WaitSchedule,
) -> Result<(), Failure> {
    let control = control_of(site)?.retrying(runtail_api::Retry::NONE);
    let mut told: Option<String> = None;
    loop {
        let (now, asked) = match patience.bounded(control.what_is_left(id)).await {
            Some(Ok(None)) => return Ok(()),
            Some(Ok(Some(status))) => (status, None),
            Some(Err(error)) if error.is_transient() => {
                let quiet =
                    matches!(error.kind, runtail_api::Kind::RateLimited(_)).then(|| error.quiet());
                (format!("{}; retrying", short(&error)), quiet)
            }
            Some(Err(error)) => return Err(error.into()),
            None => ("no response".into(), None),
        };
        if told.as_ref() != Some(&now) {
            complain(format!("{name}: {now}"));
            told = Some(now.clone());
        }
        if patience.pause(asked).await.is_err() {
            let why =
                format!("{name} was deleted, but was not gone at the deadline; last status: {now}");
            return Err(Failure::new(Exit::Deadline, why));
        }
    }
}

fn short(error: &ApiError) -> String {
    error.status().map_or_else(
        || error.detail.clone(),
        |code| format!("{} ({code})", error.detail),
    )
}
