//! Plans for deployments.

use super::{Draft, PlanError, is_being_deleted, name_of, of_deployment};
use crate::api::{ApiError, ControlPlane, Kind};
use crate::model::{Consent, Guard, NewRevision, Note, Plan, Target};
use crate::text;
use reqwest::Method;
use serde_json::Value;

impl ControlPlane {
    /// The deployment that a change is about.
    ///
    /// # Errors
    /// It is not there, or on its way out.
    pub(super) async fn changeable(&self, id: &str) -> Result<Value, PlanError> {
        let record = self.deployment_row(id).await?;
        if is_being_deleted(&record) {
            let status = text::clean(record["status"].as_str().unwrap_or_default());
            let name = name_of(&record, id);
            return Err(PlanError::Unfit(format!("{name} is being deleted ({status}): nothing of it can be changed")));
        }
        Ok(record)
    }

    /// `DELETE /v2/deployments/{id}` (control-plane reference §2, §4).
    pub(super) async fn plan_delete(&self, id: &str, with_traces: bool, force: bool) -> Result<Plan, PlanError> {
        let record = self.deployment_row(id).await?;
        let name = name_of(&record, id).into_owned();
        let status = text::clean(record["status"].as_str().unwrap_or_default()).into_owned();
        match (force, is_being_deleted(&record)) {
            (false, true) => {
                let why = format!("{name} is being deleted already ({status}); `force` ends that at once");
                return Err(PlanError::Unfit(why));
            }
            (true, false) => {
                let why = format!("{name} is not being deleted ({status}), and the service takes `force` only then");
                return Err(PlanError::Unfit(why));
            }
            _ => {}
        }
        let mut notes = Vec::new();
        if let Some(revision) = record["active_revision_id"].as_str() {
            let revision = text::short_id(revision);
            notes.push(Note::warning(format!("Revision {revision} serves now: its address stops answering.")));
        }
        notes.push(match with_traces {
            true => Note::warning(format!("The tracing project {name} is deleted with all its traces.")),
            false => Note::fact(format!(
                "The tracing project {name} and its traces are kept. While it is there the name stays taken: a new \
                 deployment of that name is refused (409)."
            )),
        });
        notes.push(match force {
            true => Note::fact("It is taken away for good at once."),
            false => Note::fact(
                "The service deletes softly: for a while it can still be read, as AWAITING_DELETE and then \
                 AWAITING_FINAL_DELETE.",
            ),
        });
        let flags = [("delete_tracing_project", with_traces), ("force", force)];
        let query = flags.into_iter().filter(|(_, on)| *on).map(|(flag, _)| (flag.into(), "true".into())).collect();
        Ok(self.plan_of(Draft {
            title: format!("Delete {name}"),
            target: Some(Target { kind: "deployment", id: id.into(), name: name.clone() }),
            method: Method::DELETE,
            path: of_deployment(id),
            query,
            body: None,
            expect: &[204],
            changes: Vec::new(),
            revision: NewRevision::NotAsked,
            notes,
            consent: Consent::Name(name),
            guard: Guard::Same { record: of_deployment(id), parts: vec!["/name".into()] },
            before: Some(record),
            made_from: Value::Null,
        })?)
    }

    /// The status of a deployment that was deleted, or nothing once it is gone.
    ///
    /// # Errors
    /// The server could not be asked.
    pub async fn what_is_left(&self, id: &str) -> Result<Option<String>, ApiError> {
        match self.deployment_row(id).await {
            Ok(record) => Ok(Some(text::clean(record["status"].as_str().unwrap_or("no status")).into_owned())),
            Err(error) if error.kind == Kind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
