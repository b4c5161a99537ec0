//! Changes: from an intent to a plan with a preview, and from the plan to one request. The command line and the dashboard
//! have no other way to change a control plane.

mod apply;
mod deployment;
mod revision;
mod service;

pub use apply::Applied;

use super::{ApiError, ControlPlane};
use crate::thread_actions::Writer;
use reqwest::Method;
use runtail_core::model::{
    Change, Consent, Guard, Intent, NewRevision, Note, Plan, Preview, Secrets, Target,
};
use runtail_core::text;
use serde_json::Value;
use std::fmt;

/// Why there is no plan. No write request was sent.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanError {
    /// A request failed.
    Asked(ApiError),
    /// The change is invalid, or the service would reject it: all reasons.
    Wrong(Vec<String>),
    /// The target's status doesn't allow it, and why.
    Unfit(String),
    /// An edit of a state has to name the node in whose name it writes: why, and the nodes.
    NeedsNode(String, Vec<Writer>),
    /// The target already has these settings.
    Nothing(String),
}

impl PlanError {
    /// Returns the failed request, if that is the reason.
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
            PlanError::Unfit(why) | PlanError::NeedsNode(why, _) | PlanError::Nothing(why) => {
                f.write_str(why)
            }
        }
    }
}

impl std::error::Error for PlanError {}

/// A plan before its preview is made; [`ControlPlane::plan_of`] completes it.
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
    /// Plans a change: reads the target, validates the change, and previews the exact request and its consequences. Sends no
    /// write request, so it works for read-only profiles too.
    ///
    /// # Errors
    /// See [`PlanError`]. Secrets are fetched here, so a missing one is an error.
    pub async fn plan(&self, intent: &Intent) -> Result<Plan, PlanError> {
        match intent {
            Intent::CreateDeployment(spec) => self.plan_create(spec).await,
            Intent::UpdateDeployment { id, spec } => self.plan_update(id, spec).await,
            Intent::DeleteDeployment {
                id,
                delete_tracing_project,
                force,
            } => self.plan_delete(id, *delete_tracing_project, *force).await,
            Intent::Service(change) => self.plan_service(change).await,
            Intent::Redeploy {
                deployment,
                revision,
            } => self.plan_redeploy(deployment, revision).await,
            Intent::Rollback {
                deployment,
                revision,
            } => self.plan_rollback(deployment, revision).await,
            Intent::Interrupt {
                deployment,
                revision,
            } => self.plan_interrupt(deployment, revision).await,
        }
    }

    pub(super) fn plan_of(&self, draft: Draft) -> Result<Plan, ApiError> {
        let Draft {
            method,
            path,
            query,
            body,
            expect,
            before,
            guard,
            made_from,
            ..
        } = draft;
        let url = self.plan_url(&method, &path, &query)?;
        let mut request = self.http.shown(
            super::answer::Service::Control,
            method.to_string(),
            &url,
            body.as_ref(),
        );
        // The input and the changes may repeat a secret that is not sent.
        let secrets = self
            .http
            .secrets(body.as_ref())
            .and(&Secrets::of_records(&before.iter().collect::<Vec<_>>()));
        if let Some(body) = &mut request.body {
            secrets.mask(body);
        }
        let preview = Preview {
            title: draft.title,
            profile: self.http.profile().to_string(),
            target: draft.target,
            request,
            then: Vec::new(),
            changes: draft
                .changes
                .into_iter()
                .map(|change| change.without(&secrets))
                .collect(),
            revision: draft.revision,
            branch: None,
            notes: draft.notes,
            consent: draft.consent,
        };
        Ok(Plan {
            preview,
            method: method.to_string(),
            path,
            query,
            body,
            expect,
            before,
            guard,
            made_from,
        })
    }

    fn plan_url(
        &self,
        method: &Method,
        path: &[String],
        query: &[(String, String)],
    ) -> Result<reqwest::Url, ApiError> {
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

/// The path of a deployment.
fn of_deployment(id: &str) -> Vec<String> {
    path(&["v2", "deployments", id])
}

/// The path of a revision.
fn of_revision(deployment: &str, revision: &str) -> Vec<String> {
    path(&["v2", "deployments", deployment, "revisions", revision])
}

/// Returns a record's name, else its id, sanitized.
fn name_of<'r>(record: &'r Value, id: &'r str) -> std::borrow::Cow<'r, str> {
    text::clean(
        record["name"]
            .as_str()
            .filter(|name| !name.is_empty())
            .unwrap_or(id),
    )
}

/// Whether a deployment is being deleted; it can still be read for a while (control-plane reference §4).
fn is_being_deleted(record: &Value) -> bool {
    matches!(
        record["status"].as_str(),
        Some("AWAITING_DELETE" | "AWAITING_FINAL_DELETE")
    )
}
