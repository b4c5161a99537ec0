//! Changing things: from what a person wants to a plan that can be looked at, and from that plan to what is sent, once. The
//! command line and the dashboard have no other way to change a control plane.

mod carry_out;
mod deployment;
mod revision;
mod service;

pub use carry_out::Made;

use super::{ApiError, ControlPlane};
use reqwest::Method;
use runtail_core::model::{Change, Consent, Guard, Intent, NewRevision, Note, Plan, Preview, Secrets, Target};
use runtail_core::text;
use serde_json::Value;
use std::fmt;

/// Why there is no plan. Nothing was sent that writes.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanError {
    /// A server could not be asked, or refused.
    Asked(ApiError),
    /// What is wanted is wrong in itself, or the service would refuse it: every reason.
    Wrong(Vec<String>),
    /// What it is about is not in a state for it, and why.
    Unfit(String),
    /// All is as it is wanted already.
    Nothing(String),
}

impl PlanError {
    /// The request that failed, if that is why.
    pub fn request(&self) -> Option<&ApiError> {
        match self {
            PlanError::Asked(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ApiError> for PlanError {
    fn from(error: ApiError) -> PlanError {
        PlanError::Asked(error)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Asked(error) => error.fmt(f),
            PlanError::Wrong(reasons) => f.write_str(&reasons.join("\n")),
            PlanError::Unfit(why) | PlanError::Nothing(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for PlanError {}

/// What the parts of a plan have in common; [`ControlPlane::plan_of`] makes one of it.
pub(super) struct Draft {
    pub title: String,
    pub target: Option<Target>,
    pub method: Method,
    pub path: Vec<String>,
    pub query: Vec<(String, String)>,
    pub body: Option<Value>,
    pub expect: &'static [u16],
    pub changes: Vec<Change>,
    pub revision: NewRevision,
    pub notes: Vec<Note>,
    pub consent: Consent,
    pub before: Option<Value>,
    pub guard: Guard,
    pub made_from: Value,
}

impl ControlPlane {
    /// Plans a change: reads what it is about, checks what can be checked here, and says exactly what would be sent and what
    /// that does. It sends nothing that writes, and works for profiles that are read-only too.
    ///
    /// # Errors
    /// See [`PlanError`]. Secrets are fetched here, so one that cannot be had is an error here.
    pub async fn plan(&self, intent: &Intent) -> Result<Plan, PlanError> {
        match intent {
            Intent::CreateDeployment(spec) => self.plan_create(spec).await,
            Intent::UpdateDeployment { id, spec } => self.plan_update(id, spec).await,
            Intent::DeleteDeployment { id, delete_tracing_project, force } => {
                self.plan_delete(id, *delete_tracing_project, *force).await
            }
            Intent::Service(change) => self.plan_service(change).await,
            Intent::Redeploy { deployment, revision } => self.plan_redeploy(deployment, revision).await,
            Intent::Rollback { deployment, revision } => self.plan_rollback(deployment, revision).await,
            Intent::Interrupt { deployment, revision } => self.plan_interrupt(deployment, revision).await,
        }
    }

    pub(super) fn plan_of(&self, draft: Draft) -> Result<Plan, ApiError> {
        let Draft { method, path, query, body, expect, before, guard, made_from, .. } = draft;
        let url = self.plan_url(&method, &path, &query)?;
        let mut request = self.http.shown(super::answer::Plane::Control, method.to_string(), &url, body.as_ref());
        // What is given, and what differs, may repeat a secret that is not sent at all.
        let secrets = self.http.secrets(body.as_ref()).and(&Secrets::of_records(&before.iter().collect::<Vec<_>>()));
        if let Some(body) = &mut request.body {
            secrets.mask(body);
        }
        let preview = Preview {
            title: draft.title,
            profile: self.http.profile().to_string(),
            target: draft.target,
            request,
            changes: draft.changes.into_iter().map(|change| change.without(&secrets)).collect(),
            revision: draft.revision,
            notes: draft.notes,
            consent: draft.consent,
        };
        Ok(Plan { preview, method: method.to_string(), path, query, body, expect, before, guard, made_from })
    }

    fn plan_url(&self, method: &Method, path: &[String], query: &[(String, String)]) -> Result<reqwest::Url, ApiError> {
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        let mut url = self.url(method, &parts)?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }
}

/// A path below the base.
pub(super) fn path(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_string()).collect()
}

/// Where a deployment is read.
fn of_deployment(id: &str) -> Vec<String> {
    path(&["v2", "deployments", id])
}

/// Where a revision is read.
fn of_revision(deployment: &str, revision: &str) -> Vec<String> {
    path(&["v2", "deployments", deployment, "revisions", revision])
}

/// What people call a record: its name, else its id. Clean.
fn name_of<'r>(record: &'r Value, id: &'r str) -> std::borrow::Cow<'r, str> {
    text::clean(record["name"].as_str().filter(|name| !name.is_empty()).unwrap_or(id))
}

/// Whether a deployment is on its way out: it can still be read for a while (control-plane reference §4).
fn is_being_deleted(record: &Value) -> bool {
    matches!(record["status"].as_str(), Some("AWAITING_DELETE" | "AWAITING_FINAL_DELETE"))
}
