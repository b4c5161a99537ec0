//! What an agent server keeps besides threads: versions of assistants, crons and the store (acting reference §8 and §9). A change
//! becomes a plan with a preview, and is sent once if its target has not changed since.

mod assistants;
mod crons;
mod store;

pub use assistants::{changes_between as assistant_changes, only_fields as assistant_fields};

use super::act::{Draft, Plan, PlanError};
use crate::prelude::*;

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

impl AgentServer {
    /// Plans a change. Sends no write request, so it works for read-only profiles too.
    ///
    /// # Errors
    /// See [`PlanError`]. [`Kind::NotOffered`] if the server doesn't have the calls.
    #[boxed]
    pub async fn plan_resource(&self, intent: &ResourceIntent) -> Result<Plan, PlanError> {
        let draft: Draft = match intent {
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
        }?;
        Ok(draft.plan())
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
        if is_missing {
            ApiError {
                kind: Kind::NotOffered,
                detail: format!("this server doesn't offer {what} ({})", error.cause()),
                hint: None,
                ..error
            }
        } else {
            error
        }
    }
}
