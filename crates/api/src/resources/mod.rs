//! What an agent server keeps besides threads: versions of assistants, crons and the store (acting reference §8 and §9). A change
//! becomes a plan with a preview, and is sent once if its target has not changed since.

mod assistants;
mod crons;
mod store;

pub use assistants::{changes_between as assistant_changes, only_fields as assistant_fields};

use super::answer::Service;
use super::http::{Call, MAX_BODY, REQUEST_TIMEOUT};
use super::{AgentServer, ApiError, Kind, PlanError, Retry};
use reqwest::{Method, Url};
use runtail_core::model::{Change, Consent, NewRevision, Note, Preview, Target, compare};
use runtail_core::text;
use serde_json::Value;

/// A change of something that an agent server keeps besides threads.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceIntent {
    /// Makes an earlier version of an assistant the current one.
    RestoreVersion {
        assistant: String,
        version: i64,
    },
    /// Creates a cron. `fields` is the request's body without the thread.
    CreateCron {
        /// The thread on which its runs start; none means a new thread for each.
        thread: Option<String>,
        fields: Value,
    },
    /// Changes fields of a cron.
    UpdateCron {
        cron: String,
        fields: Value,
    },
    /// Stops a cron from starting runs, or lets it start them again.
    EnableCron {
        cron: String,
        enabled: bool,
    },
    DeleteCron {
        cron: String,
    },
    /// Writes an item of the store.
    PutItem {
        namespace: Vec<String>,
        key: String,
        value: Value,
        /// The value that was edited; there is no plan if the item has another one by now.
        edited_from: Option<Value>,
    },
    DeleteItem {
        namespace: Vec<String>,
        key: String,
    },
}

impl ResourceIntent {
    /// Returns the verb of its title.
    pub fn verb(&self) -> &'static str {
        match self {
            ResourceIntent::RestoreVersion { .. } => "Restore",
            ResourceIntent::CreateCron { .. } => "Create",
            ResourceIntent::UpdateCron { .. } => "Update",
            ResourceIntent::EnableCron { enabled: true, .. } => "Resume",
            ResourceIntent::EnableCron { enabled: false, .. } => "Pause",
            ResourceIntent::DeleteCron { .. } | ResourceIntent::DeleteItem { .. } => "Delete",
            ResourceIntent::PutItem { .. } => "Write",
        }
    }
}

/// A planned change. Its body may hold secrets, so it has no `Debug` and stays out of the dashboard's state.
#[derive(Clone)]
pub struct ResourcePlan {
    pub preview: Preview,
    method: Method,
    url: Url,
    body: Option<Value>,
    /// What is read again just before sending, and what it was.
    guard: Option<(Guarded, Value)>,
}

/// A record that is read before a change.
#[derive(Debug, Clone)]
enum Guarded {
    Assistant(String),
    Cron(String),
    Item(Vec<String>, String),
}

/// A change that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedResource {
    /// The record after it; null if there is none.
    pub record: Value,
    /// What the server accepted but did not do.
    pub complaint: Option<String>,
}

/// A plan before its preview is made.
struct Draft {
    title: String,
    target: Option<Target>,
    method: Method,
    url: Url,
    body: Option<Value>,
    changes: Vec<Change>,
    notes: Vec<Note>,
    guard: Option<(Guarded, Value)>,
}

impl AgentServer {
    /// Plans a change. Sends no write request, so it works for read-only profiles too.
    ///
    /// # Errors
    /// See [`PlanError`]. [`Kind::NotOffered`] if the server doesn't have the calls.
    pub async fn plan_resource(&self, intent: &ResourceIntent) -> Result<ResourcePlan, PlanError> {
        match intent {
            ResourceIntent::RestoreVersion { assistant, version } => {
                self.plan_version(assistant, *version).await
            }
            ResourceIntent::CreateCron { thread, fields } => {
                self.plan_new_cron(thread.as_deref(), fields).await
            }
            ResourceIntent::UpdateCron { cron, fields } => {
                self.plan_cron_update(cron, fields).await
            }
            ResourceIntent::EnableCron { cron, enabled } => {
                self.plan_cron_switch(cron, *enabled).await
            }
            ResourceIntent::DeleteCron { cron } => self.plan_cron_deletion(cron).await,
            ResourceIntent::PutItem {
                namespace,
                key,
                value,
                edited_from,
            } => {
                self.plan_put(namespace, key, value, edited_from.as_ref())
                    .await
            }
            ResourceIntent::DeleteItem { namespace, key } => {
                self.plan_item_deletion(namespace, key).await
            }
        }
    }

    fn resource_plan(&self, draft: Draft) -> ResourcePlan {
        let Draft {
            title,
            target,
            method,
            url,
            body,
            changes,
            notes,
            guard,
        } = draft;
        let request = self
            .http
            .shown(Service::Agent, method.to_string(), &url, body.as_ref());
        let secrets = self.http.secrets(body.as_ref());
        let preview = Preview {
            title,
            profile: self.http.profile().to_string(),
            target,
            request,
            then: Vec::new(),
            changes: changes
                .into_iter()
                .map(|change| change.without(&secrets))
                .collect(),
            revision: NewRevision::NotAsked,
            branch: None,
            notes,
            consent: Consent::Key,
        };
        ResourcePlan {
            preview,
            method,
            url,
            body,
            guard,
        }
    }

    /// Applies a planned change: reads its target again, then sends the request once.
    ///
    /// # Errors
    /// `Kind::ReadOnly` before any request. `Kind::Stale` if the target is gone or has changed: nothing was sent. Else the
    /// server's error; its hint says if the change may have been made nevertheless.
    pub async fn apply_resource(&self, plan: &ResourcePlan) -> Result<AppliedResource, ApiError> {
        let place = self.http.place(&plan.method, &plan.url);
        self.http.check_write(&place)?;
        let stale = |why: String| ApiError {
            kind: Kind::Stale,
            at: place.clone(),
            detail: format!("{why}: nothing was sent"),
            hint: Some("preview the change again".into()),
        };
        if let Some((guarded, before)) = &plan.guard {
            let name = plan
                .preview
                .target
                .as_ref()
                .map_or("the target", |target| target.name.as_str());
            match self.guarded(guarded).await {
                Ok(now) if is_same(guarded, before, &now) => {}
                Ok(_) => return Err(stale(format!("{name} changed after the preview"))),
                Err(ApiError {
                    kind: Kind::NotFound,
                    ..
                }) => {
                    return Err(stale(format!("{name} was deleted after the preview")));
                }
                Err(error) => return Err(error.hinted("nothing was sent")),
            }
        }
        let call = Call {
            plane: Service::Agent,
            method: plan.method.clone(),
            url: plan.url.clone(),
            body: plan.body.as_ref(),
            about: None,
            expect: &[200, 201, 204],
            is_list: false,
            reads: false,
            retry: Retry::NONE,
            timeout: REQUEST_TIMEOUT,
            max_body: MAX_BODY,
        };
        let journal = (plan.preview.title.as_str(), Some(&plan.preview.request));
        let answer = self.http.once(&call, &mut None, Some(journal)).await;
        let answer = answer.and_then(|answer| answer.maybe_json())?;
        Ok(self.applied(plan, answer).await)
    }

    /// Returns the record after a change. What can't be read again is unknown, not an error: the change was made.
    async fn applied(&self, plan: &ResourcePlan, answer: Value) -> AppliedResource {
        let sent = plan.body.as_ref().unwrap_or(&Value::Null);
        match &plan.guard {
            Some((Guarded::Assistant(id), _)) => {
                let complaint = self.not_restored(id, sent, &answer).await;
                AppliedResource {
                    record: answer,
                    complaint,
                }
            }
            Some((Guarded::Cron(_), before)) if plan.method != Method::DELETE => {
                let complaint = crons::complaint(sent, before, &answer);
                AppliedResource {
                    record: answer,
                    complaint,
                }
            }
            Some((item @ Guarded::Item(..), _)) if plan.method != Method::DELETE => {
                let record = self.guarded(item).await.unwrap_or_default();
                let is_other = !record.is_null() && record["value"] != sent["value"];
                let complaint =
                    is_other.then(|| "the server has another value than the one sent".to_string());
                AppliedResource { record, complaint }
            }
            Some(_) => AppliedResource {
                record: Value::Null,
                complaint: None,
            },
            None => AppliedResource {
                record: answer,
                complaint: None,
            },
        }
    }

    async fn guarded(&self, guarded: &Guarded) -> Result<Value, ApiError> {
        match guarded {
            Guarded::Assistant(id) => self.assistant_row(id).await,
            Guarded::Cron(id) => self.cron(id).await,
            Guarded::Item(namespace, key) => self.store_item(namespace, key).await,
        }
    }

    /// Returns the error of an optional call as "not offered" if the server has no such call. JavaScript answers 500 where
    /// `/info` says so by a flag; `is_missing` decides by that answer.
    async fn offered(
        &self,
        error: ApiError,
        what: &str,
        is_missing: impl FnOnce(&super::ServerInfo) -> bool,
    ) -> ApiError {
        let is_missing = match error.kind {
            Kind::Status(405) | Kind::Server(501) => true,
            Kind::NotFound | Kind::Invalid(_) | Kind::Server(500) => {
                self.info().await.is_ok_and(|info| is_missing(&info))
            }
            _ => false,
        };
        match is_missing {
            true => ApiError {
                kind: Kind::NotOffered,
                detail: format!("this server doesn't offer {what} ({})", error.cause()),
                hint: None,
                ..error
            },
            false => error,
        }
    }
}

/// Whether a record is as it was, in what a change is about.
fn is_same(guarded: &Guarded, before: &Value, now: &Value) -> bool {
    match guarded {
        Guarded::Assistant(_) => compare(before, now).is_empty(),
        Guarded::Cron(_) => crons::is_same(before, now),
        Guarded::Item(..) => before["value"] == now["value"],
    }
}

/// Returns a target with a name for sentences.
fn target(kind: &'static str, id: &str, name: &str) -> Target {
    Target {
        kind,
        id: id.into(),
        name: text::clean(name).into_owned(),
    }
}
