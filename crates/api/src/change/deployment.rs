//! Plans for deployments.

use super::{fetch, name_of};
use crate::DeploymentQuery;
use crate::act::is_being_deleted;
use crate::prelude::*;
use runtail_core::config::region_of;
use runtail_core::model::{Consent, DeploymentSpec, Installation};

impl ControlPlane {
    /// `POST /v2/deployments` (contract §4, control-plane reference §6).
    pub(super) async fn plan_create(&self, spec: &DeploymentSpec) -> Result<Draft, PlanError> {
        let draft = spec
            .create(self.installation(), &fetch(&spec.document).await?)
            .map_err(PlanError::Wrong)?;
        let mut notes = draft.notes;
        let name = text_of(&draft.body, "name").to_string();
        match self.namesake(&name).await {
            Ok(None) => {}
            Ok(Some(record)) => {
                let id = text::clean(text_of(&record, "id")).into_owned();
                return refuse(if is_being_deleted(&record) {
                    format!(
                        "{name} is taken until the deployment {id} with this name is permanently deleted"
                    )
                } else {
                    format!(
                        "the deployment {name} already exists ({id}): update it, or choose another name"
                    )
                });
            }
            // A server without a list reports a taken name itself.
            Err(error) if matches!(error.kind, Kind::NotFound | Kind::Status(405)) => {
                notes.push(Note::warning(
                    "The server can't list deployments, so it is unknown whether the name is free.",
                ));
            }
            Err(error) => return Err(error.into()),
        }
        let kind = StepKind::Deploy(draft.made_from);
        let path = ["v2", "deployments"];
        Ok(Draft {
            title: format!("Create {}", text::clean(&name)),
            changes: draft.changes,
            revision: draft.revision,
            notes,
            steps: vec![Step::new(
                self,
                Method::POST,
                &path,
                Some(draft.body),
                kind,
            )?],
            ..Draft::default()
        })
    }

    /// `PATCH /v2/deployments/{id}` (contract §4, control-plane reference §6).
    pub(super) async fn plan_update(
        &self,
        id: &str,
        spec: &DeploymentSpec,
    ) -> Result<Draft, PlanError> {
        let record = self.changeable(id).await?;
        let name = name_of(&record, id).into_owned();
        let fetched = fetch(&spec.document).await?;
        let draft = spec
            .update(&record, self.installation(), &fetched)
            .map_err(PlanError::Wrong)?;
        if draft.body.as_object().is_none_or(Map::is_empty) {
            return nothing(format!("{name} already has these settings"));
        }
        let path = ["v2", "deployments", id];
        let kind = StepKind::Deploy(draft.made_from);
        Ok(Draft {
            title: format!("Update {name}"),
            target: Some(Target::new("deployment", id, name)),
            changes: draft.changes,
            revision: draft.revision,
            notes: draft.notes,
            guard: Guard::at(self, &path, record, Condition::Parts(draft.parts)),
            steps: vec![Step::new(
                self,
                Method::PATCH,
                &path,
                Some(draft.body),
                kind,
            )?],
            ..Draft::default()
        })
    }

    /// Returns the deployment with exactly this name.
    async fn namesake(&self, name: &str) -> Result<Option<Value>, ApiError> {
        let query = DeploymentQuery {
            name_contains: Some(name.to_string()),
            ..DeploymentQuery::default()
        };
        let listing = self.deployment_rows(&query).await?;
        let found = listing.items.into_iter().find(|row| row["name"] == name);
        match (found, listing.incomplete) {
            (None, Some(error)) => Err(error),
            (found, _) => Ok(found),
        }
    }

    fn installation(&self) -> Installation {
        let region = region_of(&self.base);
        Installation {
            is_cloud: region.is_some(),
            is_aws: region == Some("aws"),
        }
    }

    /// Returns the target of a change.
    ///
    /// # Errors
    /// It doesn't exist, or is being deleted.
    pub(super) async fn changeable(&self, id: &str) -> Result<Value, PlanError> {
        let record = self.deployment_row(id).await?;
        if is_being_deleted(&record) {
            let status = text::clean(text_of(&record, "status"));
            let name = name_of(&record, id);
            return refuse(format!(
                "{name} is being deleted ({status}) and can't be changed"
            ));
        }
        Ok(record)
    }

    /// `DELETE /v2/deployments/{id}` (control-plane reference §2, §4).
    pub(super) async fn plan_delete(
        &self,
        id: &str,
        with_traces: bool,
        force: bool,
    ) -> Result<Draft, PlanError> {
        let record = self.deployment_row(id).await?;
        let name = name_of(&record, id).into_owned();
        let status = text::clean(text_of(&record, "status")).into_owned();
        match (force, is_being_deleted(&record)) {
            (false, true) => {
                let why = format!(
                    "{name} is already being deleted ({status}); `force` completes it at once"
                );
                return refuse(why);
            }
            (true, false) => {
                let why = format!(
                    "{name} is not being deleted ({status}); the service accepts `force` only then"
                );
                return refuse(why);
            }
            _ => {}
        }
        let mut notes = Vec::new();
        if let Some(revision) = record["active_revision_id"].as_str() {
            let revision = text::short_id(revision);
            notes.push(Note::warning(format!(
                "Revision {revision} is serving now: its URL will stop responding."
            )));
        }
        notes.push(if with_traces { Note::warning(format!("The tracing project {name} is deleted with all its traces.")) } else { Note::fact(format!(
                "The tracing project {name} and its traces are kept. While it exists, a new deployment named {name} is \
                 refused (409)."
            )) });
        notes.push(if force { Note::warning("Deletes the deployment permanently and immediately. This can't be undone.") } else { Note::fact(
                "Deletion takes a while. Until then the deployment stays listed as AWAITING_DELETE, then as \
                 AWAITING_FINAL_DELETE.",
            ) });
        let flags = [("delete_tracing_project", with_traces), ("force", force)];
        let query = flags
            .into_iter()
            .filter(|(_, on)| *on)
            .map(|(flag, _)| (flag, "true"));
        let path = ["v2", "deployments", id];
        let step = Step::new(self, Method::DELETE, &path, None, StepKind::Change)?;
        Ok(Draft {
            title: format!("Delete {name}"),
            target: Some(Target::new("deployment", id, name.clone())),
            notes,
            consent: Consent::Name(name),
            guard: Guard::at(self, &path, record, Condition::parts(&["/name"])),
            steps: vec![step.with(query)],
            ..Draft::default()
        })
    }

    /// Returns the status of a deleted deployment, or nothing once it is gone.
    ///
    /// # Errors
    /// The request failed.
    #[boxed]
    pub async fn what_is_left(&self, id: &str) -> Result<Option<String>, ApiError> {
        match self.deployment_row(id).await {
            Ok(record) => Ok(Some(
                text::clean(record["status"].as_str().unwrap_or("no status")).into_owned(),
            )),
            Err(error) if error.kind == Kind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
